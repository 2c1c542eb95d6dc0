from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.recall import codebook
from mnemic.recall.codebook import seal
from mnemic.recall.index import VectorIndex
from mnemic.store import NewNode, VectorRow
from mnemic.store.sqlite import moves
from tests.homes import Home

DIM = 32
IDENTITY = f"made/up@{DIM}+none"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home where a few hundred vectors are many."""
    monkeypatch.setattr(codebook, "EXACT_BELOW", 400)
    monkeypatch.setattr(codebook, "BLOCK", 128)
    monkeypatch.setattr(codebook, "SAMPLE", 16)
    made = Home(tmp_path)
    yield made
    made.store.close()


def cone(n: int, seed: int, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, DIM)) + 2.5 * np.linspace(-1.7, 1.7, DIM) + shift * np.linspace(1.7, -1.0, DIM)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def add(home: Home, vectors: np.ndarray) -> list[int]:
    """Nodes with these vectors; each note has one node."""
    row = home.store.embedder(IDENTITY, DIM)
    with home.store.write("default") as tx:
        document = tx.allocate("documents")
        nodes = [NewNode(f"/x/{document}/{n}", "section", "", -1, None, 0, 0, 0, 0) for n in range(len(vectors))]
        ids = tx.replace_nodes(document, nodes)
        tx.put_vectors(row.id, [VectorRow(i, b"d", v.astype(np.float16).tobytes()) for i, v in zip(ids, vectors, strict=True)])
    return ids


def opened(home: Home) -> VectorIndex:
    index = VectorIndex(home.store, "default", IDENTITY, DIM)
    index.refresh()
    return index


def exact(vectors: np.ndarray, ids: list[int], query: np.ndarray, k: int, mean: np.ndarray) -> list[int]:
    moved = vectors.astype(np.float16).astype(np.float32) - mean
    cosines = moved @ (query - mean) / np.linalg.norm(moved, axis=1)
    return [ids[place] for place in np.argsort(-cosines, kind="stable")[:k]]


def test_few_vectors_get_no_codes_and_are_compared_exactly(home: Home) -> None:
    vectors = cone(300, 1)
    ids = add(home, vectors)
    assert seal(home.store, "default", home.store.embedder(IDENTITY, DIM)) == 0
    index = opened(home)
    assert index.nearest(vectors[7], 5)[0].tolist() == exact(vectors, ids, vectors[7], 5, index.mean)


def test_many_vectors_get_a_block_for_every_full_run(home: Home) -> None:
    add(home, cone(700, 1))
    row = home.store.embedder(IDENTITY, DIM)
    assert seal(home.store, "default", row) == 5
    assert [len(block.nodes) // 8 for block in home.store.codes("default", row.id)] == [128] * 5
    assert seal(home.store, "default", row) == 0


def test_codes_name_the_same_nearest_as_an_exact_comparison(home: Home) -> None:
    vectors = cone(700, 1)
    ids = add(home, vectors)
    seal(home.store, "default", home.store.embedder(IDENTITY, DIM))
    index = opened(home)
    for place in (3, 300, 650, 699):
        assert index.nearest(vectors[place], 5)[0].tolist() == exact(vectors, ids, vectors[place], 5, index.mean)


def test_what_came_after_the_last_block_is_found_at_once(home: Home) -> None:
    add(home, cone(700, 1))
    seal(home.store, "default", home.store.embedder(IDENTITY, DIM))
    index = opened(home)
    fresh = cone(1, 2)
    (new,) = add(home, fresh)
    index.refresh()
    assert index.nearest(fresh[0], 1)[0].tolist() == [new]


def test_an_index_that_is_open_takes_in_codes_that_another_wrote(home: Home) -> None:
    first = cone(700, 1)
    ids = add(home, first)
    index = opened(home)
    row = home.store.embedder(IDENTITY, DIM)
    seal(home.store, "default", row)
    more = cone(300, 3)
    ids += add(home, more)
    seal(home.store, "default", row)
    index.refresh()
    both = np.concatenate([first, more])
    assert index.nearest(more[9], 5)[0].tolist() == exact(both, ids, more[9], 5, index.mean)


def test_a_mean_that_drifted_makes_all_codes_anew(home: Home) -> None:
    add(home, cone(700, 1))
    row = home.store.embedder(IDENTITY, DIM)
    seal(home.store, "default", row)
    before = home.store.coder("default", row.id)
    vectors = cone(900, 4, shift=3.0)
    ids = add(home, vectors)
    assert seal(home.store, "default", row) == 12
    assert home.store.coder("default", row.id) != before
    assert opened(home).nearest(vectors[5], 1)[0].tolist() == [ids[5]]


def test_an_erased_node_leaves_no_code_behind(home: Home) -> None:
    vectors = cone(700, 1)
    ids = add(home, vectors)
    row = home.store.embedder(IDENTITY, DIM)
    seal(home.store, "default", row)
    with home.store.write("default") as tx:
        document = home.store.hot.row("SELECT document FROM nodes WHERE id=?", (ids[7],))
        assert document is not None
        tx.replace_nodes(int(document[0]), ())
    blocks = home.store.codes("default", row.id)
    assert all(not any(block.nodes) and not any(block.codes) for block in blocks)
    assert opened(home).nearest(vectors[7], 3)[0].tolist() == []


def test_codes_are_not_written_for_vectors_that_went_while_they_were_made(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = add(home, cone(700, 1))
    row = home.store.embedder(IDENTITY, DIM)
    made = codebook.block_of

    def erasing(*given: object) -> object:
        block = made(*given)  # type: ignore[arg-type]
        with home.store.write("default") as tx:
            tx.replace_nodes(1, ())
        return block

    monkeypatch.setattr(codebook, "block_of", erasing)
    assert seal(home.store, "default", row) == 0
    assert home.store.codes("default", row.id) == []
    assert ids


def test_a_narrow_scope_is_searched_by_itself(home: Home) -> None:
    vectors = cone(700, 1)
    ids = add(home, vectors)
    seal(home.store, "default", home.store.embedder(IDENTITY, DIM))
    few = np.array(ids[100:110], dtype=np.int64)
    index = opened(home)
    assert set(index.nearest(vectors[0], 20, few)[0].tolist()) == set(few.tolist())


def test_cosines_are_nan_where_there_is_no_vector(home: Home) -> None:
    (one,) = add(home, cone(1, 1))
    assert np.isnan(opened(home).cosines(cone(1, 1)[0], np.array([one, one + 99]))).tolist() == [False, True]


def test_what_is_left_out_takes_no_place_among_the_nearest_with_codes_and_without(home: Home) -> None:
    vectors = cone(700, 1)
    ids = add(home, vectors)
    query = vectors[3]
    for _ in range(2):
        index = opened(home)
        order = exact(vectors, ids, query, 700, index.mean)
        hidden = np.array(order[:50], dtype=np.int64)
        assert index.nearest(query, 5, without=hidden)[0].tolist() == order[50:55]
        seal(home.store, "default", home.store.embedder(IDENTITY, DIM))


def test_an_open_index_lets_go_of_what_was_removed(home: Home) -> None:
    vectors = cone(80, 1)
    add(home, vectors)
    index = opened(home)
    with home.store.write("default") as tx:
        tx.replace_nodes(1, ())
    index.refresh()
    assert index.nearest(vectors[3], 5)[0].tolist() == []


def test_estimates_are_of_the_code_or_of_the_vector_that_is_held_and_none_where_there_is_neither(home: Home) -> None:
    vectors = cone(600, 4)
    ids = add(home, vectors)
    row = home.store.embedder(IDENTITY, DIM)
    assert seal(home.store, "default", row) == 4
    index = opened(home)
    asked = np.array([ids[3], ids[520], 10**9, ids[599], ids[40]])
    cosines, estimates = index.cosines(vectors[40], asked), index.estimates(vectors[40], asked)
    assert np.isnan(estimates).tolist() == np.isnan(cosines).tolist() == [False, False, True, False, False]
    held = [1, 3]  # after the last full run, so as they are
    np.testing.assert_allclose(estimates[held], cosines[held], rtol=1e-5)
    coded = np.array(ids[:512])
    every = index.cosines(vectors[40], coded) - index.estimates(vectors[40], coded)
    assert 0 < np.abs(every).mean() < 0.08


def shelved(home: Home, documents: int, each: int) -> tuple[np.ndarray, list[int]]:
    """Documents that stand on the warm shelf."""
    vectors = cone(documents * each, 1)
    ids = [node for at in range(0, len(vectors), each) for node in add(home, vectors[at : at + each])]
    for document in range(1, documents + 1):
        with home.store.write("default") as tx:
            tx.note_stray(document, "warm")
        with home.store.write("default") as tx:
            tx.move(document, "hot", "warm", with_vectors=True)
    return vectors, ids


def on_warm(home: Home) -> VectorIndex:
    index = VectorIndex(home.store, "default", IDENTITY, DIM, "warm")
    index.refresh()
    return index


def test_an_older_shelf_has_codes_of_its_own_and_a_fresh_process_holds_only_what_has_none(home: Home) -> None:
    vectors, ids = shelved(home, 7, 100)
    row = home.store.embedder(IDENTITY, DIM)
    assert (seal(home.store, "default", row), seal(home.store, "default", row, "warm")) == (0, 5)
    assert (seal(home.store, "default", row, "warm"), home.store.codes("default", row.id)) == (0, [])
    index = on_warm(home)
    assert (len(index._loose), index.sums[0]) == (60, 700)
    np.testing.assert_allclose(index.sums[1] / 700, vectors.mean(axis=0), atol=0.05)
    for place in (3, 300, 650, 699):
        assert index.nearest(vectors[place], 5)[0].tolist() == exact(vectors, ids, vectors[place], 5, index.mean)


@pytest.mark.parametrize(("left", "blocks"), [(7, 0), (5, 3), (3, 0)])
def test_codes_of_an_older_shelf_are_made_anew_once_too_many_stand_for_what_moved_on(home: Home, left: int, blocks: int) -> None:
    vectors, ids = shelved(home, 9, 100)
    row = home.store.embedder(IDENTITY, DIM)
    assert seal(home.store, "default", row, "warm") == 7
    index = on_warm(home)
    with home.store.shelf("warm").transaction() as db:
        for document in range(left + 1, 10):
            moves.remove(db, 1, document)
    assert seal(home.store, "default", row, "warm") == blocks
    kept = len(home.store.codes("default", row.id, shelf="warm"))
    assert (kept, home.store.coder("default", row.id, "warm") is None) == ((7, 3, 0)[(7, 5, 3).index(left)], left == 3)
    index.refresh()
    for one in (index, on_warm(home)):
        for place in (3, 250):
            assert one.nearest(vectors[place], 5)[0].tolist() == exact(vectors[: left * 100], ids, vectors[place], 5, one.mean)
