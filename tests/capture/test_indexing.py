from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemic.capture.indexing import Indexer, passages_of
from mnemic.embed import Vectors
from mnemic.embed.base import BadVectors, Kind
from mnemic.embed.hashing import HashingEmbedder
from mnemic.errors import ModelError
from tests.homes import Home


class Flaky:
    """The hashing embedder behind a server that is down, or that chokes on one word."""

    def __init__(self, *, down: bool = False, chokes: str = "") -> None:
        self.inner, self.down, self.chokes = HashingEmbedder(64), down, chokes
        self.identity, self.dim = "fake/flaky@64+none", 64
        self.meanwhile: list[tuple[str, str]] = []
        self.home: Home | None = None

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if self.down:
            raise ModelError("the server does not answer")
        bad = tuple(place for place, text in enumerate(texts) if self.chokes and self.chokes in text)
        if bad:
            raise BadVectors("NaN", bad)
        while self.home and self.meanwhile:
            self.home.capture(self.meanwhile.pop())
        return self.inner.embed(texts, kind)


def indexer(home: Home, embedder: Flaky | None = None) -> Indexer:
    return Indexer(home.store, embedder or Flaky(), home.clock, similar=0.3, retry_seconds=120)


def vectors(home: Home, index: Indexer) -> int:
    return home.store.vector_count("default", index.row.id)


def test_every_node_with_words_gets_a_unit_vector(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal.", title="Zoo")
    index = indexer(home)
    assert (index.drain().indexed, vectors(home, index)) == (1, 3)
    assert home.store.queue(None) == []
    stored = home.store.vectors("default", index.row.id, [1, 2, 3])
    lengths = [float(np.linalg.norm(np.frombuffer(v, np.float16).astype(np.float32))) for v in stored.values()]
    assert np.allclose(lengths, 1, atol=2e-3)


def test_a_failure_waits_its_time_and_is_tried_again(home: Home) -> None:
    home.remember("tea", title="T")
    [(_, before)] = home.store.queue("default")
    embedder = Flaky(down=True)
    index = indexer(home, embedder)
    assert index.drain().error == "the server does not answer"
    [(_, waiting)] = home.store.queue("default")
    assert (before.state, waiting.state, waiting.attempts, waiting.error) == (
        "pending", "failed", 1, "the server does not answer",
    )  # fmt: skip
    assert home.search("tea") == ["/notes/t"]
    embedder.down = False
    home.clock.advance(seconds=119)
    assert index.drain().indexed == 0
    home.clock.advance(seconds=1)
    assert index.drain().indexed == 1
    assert (vectors(home, index), home.store.queue(None)) == (1, [])


def test_a_text_that_the_model_chokes_on_does_not_hold_up_the_others(home: Home) -> None:
    home.remember("The walrus.\n\nThe poison.\n\nThe seal.", title="Zoo")
    home.remember("tea", title="T")
    index = indexer(home, Flaky(chokes="poison"))
    assert (index.drain().indexed, vectors(home, index)) == (2, 3)


def test_what_came_while_the_model_worked_is_indexed_too(home: Home) -> None:
    embedder = Flaky()
    embedder.home, embedder.meanwhile = home, [("assistant", "on the ice")]
    home.capture(("user", "where is the walrus?"))
    index = indexer(home, embedder)
    index.drain()
    assert (vectors(home, index), home.store.queue(None)) == (2, [])


def test_a_node_has_at_most_three_similar_edges_to_earlier_ones(home: Home) -> None:
    for n in range(6):
        home.remember(f"The walrus sleeps on the ice, day {n}.", title=f"Day {n}")
    index = indexer(home)
    index.drain()
    edges = home.store.edges("default", range(1, 7), "similar")
    assert [sum(edge[0] == node for edge in edges) for node in range(1, 7)] == [0, 1, 2, 3, 3, 3]
    assert all(target < source and weight >= 0.3 for source, target, weight in edges)


def test_indexing_again_asks_the_model_for_nothing(home: Home) -> None:
    home.remember("tea", title="T")
    indexer(home).drain()
    with home.store.write("default") as tx:
        tx.enqueue(1, 0)
    assert indexer(home, Flaky(down=True)).drain().indexed == 1


def test_an_extension_keeps_the_vectors_of_what_was_there(home: Home) -> None:
    home.capture(("user", "where is the walrus?"))
    index = indexer(home)
    index.drain()
    home.capture(("assistant", "on the ice"))
    document = home.store.document("default", "/sessions/s/1")
    assert document is not None
    known = home.store.digests("default", index.row.id, [n.id for n, _ in passages_of(home.store, "default", document)])
    assert len(known) == 1
    index.drain()
    assert vectors(home, index) == 2


def test_erasing_takes_vectors_and_edges_and_the_place_in_the_queue(home: Home) -> None:
    home.remember("The walrus sleeps.", title="A")
    home.remember("The walrus sleeps!", title="B")
    index = indexer(home)
    index.drain()
    assert home.store.counts("default")["edges"] == 1
    home.forgetting.erase("default", "/notes/a", reason="")
    assert (home.store.counts("default")["edges"], vectors(home, index)) == (0, 1)
