from __future__ import annotations

import numpy as np
import pytest

from mnemic.capture import edges as module
from mnemic.capture.edges import Edges
from mnemic.recall.codebook import matrix
from tests.capture.test_indexing import indexer
from tests.homes import Home

TEXTS = [f"The {animal} {verb} on the {place}." for animal in ("walrus", "seal", "gull") for verb in ("sleeps", "sings")
         for place in ("ice", "pier", "roof")]  # fmt: skip
LEAST = 0.3


def pairs(home: Home) -> dict[int, list[int]]:
    """The targets of each node's edges, nearest first."""
    found: dict[int, list[tuple[float, int]]] = {}
    for source, target, weight in home.store.edges("default", range(1, 1_000), "similar"):
        found.setdefault(source, []).append((weight, target))
    return {source: [target for _, target in sorted(rows, reverse=True)] for source, rows in found.items()}


def brute(home: Home, rebuilt: Edges) -> dict[int, list[int]]:
    rows = home.store.vectors_since("default", rebuilt._embedder.id, 0, 1_000)
    nodes, vectors = [node for _, node, _ in rows], matrix([vector for *_, vector in rows], rebuilt._embedder.dim)
    cosines = np.round((vectors @ vectors.T).astype(float), 6)
    found = {}
    for place, node in enumerate(nodes):
        near = sorted(((cosines[place, other], nodes[other]) for other in range(len(nodes)) if other != place), reverse=True)
        if best := [number for cosine, number in near[:3] if cosine >= LEAST]:
            found[node] = best
    return found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 5)
    monkeypatch.setattr(module, "TILE", 3)


def test_every_node_gets_the_nearest_of_all_however_old_they_are(home: Home, small: None) -> None:
    for place, text in enumerate(TEXTS):
        home.remember(text, title=f"Day {place}")
    index = indexer(home)
    index.drain()
    rebuilt = index.edges("default")
    assert pairs(home) != brute(home, rebuilt)  # a write looks back only
    assert rebuilt.rebuild().nodes == len(TEXTS)
    assert pairs(home) == brute(home, rebuilt)


def test_night_after_night_it_comes_to_the_same_and_what_was_compared_is_not_again(home: Home, small: None) -> None:
    index = indexer(home)
    rebuilt = index.edges("default")
    for place, text in enumerate(TEXTS):
        home.remember(text, title=f"Day {place}")
        if place % 4 == 3:
            index.drain()
            assert rebuilt.due() == 4
            assert rebuilt.rebuild().nodes == 4
    index.drain()
    rebuilt.rebuild()
    assert pairs(home) == brute(home, rebuilt)
    assert (rebuilt.due(), rebuilt.rebuild()) == (0, module.Rebuilt())


def test_a_block_that_was_killed_is_compared_again(home: Home, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, text in enumerate(TEXTS):
        home.remember(text, title=f"Day {place}")
    index = indexer(home)
    index.drain()
    rebuilt = index.edges("default")
    with monkeypatch.context() as patch:
        patch.setattr(type(home.store), "set_meta", lambda *parts: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            rebuilt.rebuild()
    assert rebuilt.due() == len(TEXTS)
    rebuilt.rebuild()
    assert pairs(home) == brute(home, rebuilt)


def test_an_edge_to_what_was_moved_to_another_shelf_stays_where_it_is_one_of_the_nearest(home: Home) -> None:
    home.remember("The walrus sleeps on the ice.", title="Old")
    home.remember("The walrus sleeps on the ice!", title="New")
    index = indexer(home)
    index.drain()
    old = home.store.document("default", "/notes/old")
    assert old is not None
    with home.store.write("default") as tx:
        tx.note_stray(old.id, "warm")
    with home.store.write("default") as tx:
        tx.move(old.id, "hot", "warm", with_vectors=True)
    before = home.store.edges("default", range(1, 10), "similar")
    index.edges("default").rebuild()
    assert home.store.edges("default", range(1, 10), "similar") == before != []
