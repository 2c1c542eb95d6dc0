from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.recall import words
from mnemic.recall.words import frequencies, matching, rarest
from mnemic.store import NewNode
from mnemic.store.trees import term_hash
from mnemic.text.tokens import terms
from tests.homes import Home


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One home; every test and every example has a namespace of its own."""
    made = Home(tmp_path_factory.mktemp("words"))
    yield made
    made.store.close()


def fill(home: Home, *passages: str) -> tuple[str, list[int]]:
    """A fresh namespace with a node for each passage; its name and the nodes."""
    ns = f"n{len(home.store.namespaces())}"
    with home.store.write(ns) as tx:
        document = tx.allocate("documents")
        nodes = [NewNode(f"/x/{n}", "p", "", -1, None, 0, 0, 0, 0, passage=text) for n, text in enumerate(passages)]
        return ns, tx.replace_nodes(document, nodes)


def search(home: Home, ns: str, query: list[str], k: int = 10, **more: object) -> list[int]:
    counts = home.store.document_frequencies(ns, query)
    return list(matching(home.store, ns, counts, k, **more))  # type: ignore[arg-type]


def some(*ids: int) -> words.Ids:
    return np.array(ids, dtype=np.int64)


# rarest


def test_the_rarest_terms_are_taken_until_their_nodes_exceed_the_limit() -> None:
    assert rarest({"a": 50, "b": 3, "c": 20}, 23) == ["b", "c"]
    assert rarest({"a": 50, "b": 3, "c": 20}, 22) == ["b"]
    assert rarest({"b": 3, "a": 3}, 6) == ["a", "b"]


def test_a_rarer_term_that_does_not_fit_keeps_no_commoner_one_out_and_the_rarest_is_always_taken() -> None:
    assert rarest({"a": 50}, 10) == ["a"]
    assert rarest({"a": 50, "b": 60}, 10) == ["a"]


def test_a_term_that_stands_nowhere_is_not_looked_for() -> None:
    assert rarest({"a": 0, "b": 2}, 9) == ["b"]
    assert rarest({}, 9) == []


# matching

VOCABULARY = ("kiln", "tar", "rope", "mast", "sail", "keel")
PASSAGES = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7), min_size=1, max_size=25)


def brute(passages: list[list[str]], query: list[str]) -> list[float]:
    """BM25, k1 1.2, b .6, over the query's idf mass; idf as in a home of at least 50 nodes."""
    n, average = max(len(passages), 50), sum(map(len, passages)) / len(passages)
    df = {word: sum(word in passage for passage in passages) for word in query}
    idf = {word: math.log(1 + (n - df[word] + 0.5) / (df[word] + 0.5)) for word in query if df[word]}
    scores = []
    for passage in passages:
        norm = 1.2 * (1 - 0.6 + 0.6 * len(passage) / average)
        marks = [idf[word] * passage.count(word) * 2.2 / (passage.count(word) + norm) for word in idf]
        scores.append(sum(marks) / (sum(idf.values()) or 1))
    return scores


@settings(max_examples=60)
@given(PASSAGES, st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4, unique=True), st.integers(1, 12), st.data())
def test_the_best_nodes_are_those_of_bm25(
    shared: Home, passages: list[list[str]], query: list[str], k: int, data: st.DataObject
) -> None:
    ns, ids = fill(shared, *(" ".join(passage) for passage in passages))
    score = dict(zip(ids, brute(passages, query), strict=True))

    def best(allowed: set[int]) -> list[float]:
        return sorted((score[node] for node in allowed if score[node] > 0), reverse=True)[:k]

    part = data.draw(st.sets(st.sampled_from(ids)))
    allowed = ({}, {"among": some(*part)}, {"without": some(*part)}, {"among": some(*ids), "without": some(*part)})
    for more, left in zip(allowed, (set(ids), part, set(ids) - part, set(ids) - part), strict=True):
        found = search(shared, ns, query, k, **more)
        assert len(set(found)) == len(found)
        assert set(found) <= left
        assert [score[node] for node in found] == pytest.approx(best(left))


def test_equal_nodes_come_newest_first(shared: Home) -> None:
    ns, (a, b, c) = fill(shared, "kiln", "kiln", "kiln")
    assert search(shared, ns, ["kiln"]) == [c, b, a]
    assert search(shared, ns, ["kiln"], 2) == [c, b]


def test_nothing_is_found_for_no_words_no_room_or_words_that_stand_nowhere(shared: Home) -> None:
    ns, _ = fill(shared, "kiln")
    assert search(shared, ns, []) == []
    assert search(shared, ns, ["kiln"], 0) == []
    assert search(shared, ns, ["tar"]) == []
    assert search(shared, ns, ["kiln"], among=some()) == []


def test_another_namespace_is_neither_found_nor_counted(shared: Home) -> None:
    ns, (mine,) = fill(shared, "kiln")
    fill(shared, "kiln", "kiln tar")
    assert shared.store.document_frequencies(ns, ["kiln", "tar"]) == {"kiln": 1, "tar": 0}
    assert search(shared, ns, ["kiln", "tar"]) == [mine]


def test_a_single_character_finds_every_node_with_a_term_that_begins_so(shared: Home) -> None:
    ns, (cat, tom, _) = fill(shared, "橘猫怕打雷", "猫", "明天散步")
    assert search(shared, ns, ["猫"]) == [tom, cat]  # the shorter one fits better
    assert search(shared, ns, ["猫", "打雷"]) == [cat, tom]
    assert search(shared, ns, ["猫"], among=some(cat)) == [cat]


def test_a_common_word_is_not_read_beyond_the_bound(shared: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "POSTINGS", 4)
    ns, (*common, rare) = fill(shared, *["kiln"] * 5, "rope")
    assert search(shared, ns, ["kiln", "rope"]) == [rare]
    assert search(shared, ns, ["kiln"]) == common[::-1]


def test_a_narrow_scope_is_ranked_by_common_words_too(shared: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "POSTINGS", 4)
    ns, (one, two, *_, rare) = fill(shared, *["kiln"] * 5, "rope")
    assert search(shared, ns, ["kiln", "rope"], among=some(one, two)) == [two, one]
    assert search(shared, ns, ["kiln", "rope"], among=some(one, rare)) == [rare, one]


def test_a_scope_too_wide_to_be_ranked_in_full_is_searched_by_the_index(
    shared: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "FULL", 1)
    ns, (one, two, three) = fill(shared, "kiln", "kiln rope", "kiln tar tar")
    assert search(shared, ns, ["kiln", "rope"], among=some(one, two)) == [two, one]
    assert search(shared, ns, ["kiln"], among=some(one, three), without=some(one)) == [three]


def test_what_is_not_allowed_takes_no_place_on_the_short_list(shared: Home) -> None:
    ns, (first, *others) = fill(shared, "kiln", *["kiln"] * 30)
    assert search(shared, ns, ["kiln"], 2, without=some(*others)) == [first]


# frequencies


@given(st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=9), max_size=9))
def test_frequencies_count_every_word_in_every_list(passages: list[list[str]]) -> None:
    hashes = np.array([term_hash(word) for passage in passages for word in passage], dtype=np.uint32)
    expected = [[passage.count(word) for word in VOCABULARY] for passage in passages]
    assert frequencies(hashes, some(*map(len, passages)), VOCABULARY).tolist() == expected


def test_a_prefix_term_has_no_frequency() -> None:
    hashes = np.array([term_hash(term) for term in terms("橘猫")], dtype=np.uint32)
    assert frequencies(hashes, some(len(hashes)), ["橘猫", "猫"]).tolist() == [[1, 0]]
