from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.recall.score import SHELF_WEIGHT, Array, Corpus, Places, Pool, _rows, bm25, corrected, rarity, seed, structure

LN = np.log


def array(*values: float) -> Array:
    return np.array(values, dtype=float)


def places(*values: int) -> Places:
    return np.array(values, dtype=np.int64)


def pool(tf: list[list[float]], group: Places, place: Places, **more: Array) -> Pool:
    """Units of average length 10 without any cue."""
    n = len(tf)
    none = np.zeros(n)
    made = Pool(
        tf=np.array(tf, dtype=float).reshape(n, 1), length=np.full(n, 10.0), cos=np.full(n, np.nan), group=group,
        place=place, group_size=np.ones(n), speaker=none, role=none, when=none, phrase=none, weight=np.ones(n),
    )  # fmt: skip
    return replace(made, **more)


CORPUS = Corpus(n=100, average=10.0, df=array(1))


# bm25


def test_rarity_is_bm25s_idf_and_a_small_home_counts_as_one_of_fifty() -> None:
    assert rarity(100, array(1, 100)).tolist() == pytest.approx([LN(1 + 99.5 / 1.5), LN(1 + 0.5 / 100.5)])
    assert rarity(3, array(3)).tolist() == pytest.approx([LN(1 + 47.5 / 3.5)])


def test_a_word_never_seen_is_as_rare_as_one_seen_once_and_none_is_in_more_nodes_than_there_are() -> None:
    assert rarity(100, array(0)).tolist() == rarity(100, array(1)).tolist()
    assert rarity(100, array(500)).tolist() == rarity(100, array(100)).tolist()


def test_bm25_by_hand() -> None:
    # average length: 1 * 2.2 / (1 + 1.2); twice the average, b .6: 1 * 2.2 / (1 + 1.2 * 1.6); tf 3 at half: 6.6 / (3 + .84)
    found = bm25(np.array([[1.0], [1.0], [3.0], [0.0]]), array(1, 2, 0.5, 1), array(2.0), 0.6)
    assert found.tolist() == pytest.approx([1.0, 2.2 / 2.92, 6.6 / 3.84, 0.0])


def test_bm25_is_divided_by_the_querys_idf_mass() -> None:
    found = bm25(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), array(1, 1, 1), array(3.0, 1.0), 0.75)
    assert found.tolist() == pytest.approx([0.75, 0.25, 1.0])


def test_bm25_of_no_words_is_zero() -> None:
    assert bm25(np.zeros((2, 0)), array(1, 1), np.zeros(0), 0.6).tolist() == [0, 0]


# structure


def test_a_unit_alone_scores_by_its_own_words_and_as_its_window_and_session() -> None:
    total, parts = structure(pool([[1.0]], places(0), places(1)), CORPUS)
    # window: 2.2 / (1 + 1.2 * (.25 + .75 * 10/30)) = 2.2 / 1.6
    assert parts["lexical"].tolist() == pytest.approx([2.0])
    assert parts["window"].tolist() == pytest.approx([5 * 2.2 / 1.6])
    assert parts["session"].tolist() == pytest.approx([4.0])
    assert total.tolist() == pytest.approx([2.0 + 5 * 2.2 / 1.6 + 4.0])


def test_window_reads_two_before_reply_one_after_and_session_all_of_the_conversation() -> None:
    # the word is said at place 3 of conversation 0; conversation 1 is about something else
    tf = [[0.0], [1.0], [0.0], [0.0], [0.0], [0.0]]
    _, parts = structure(pool(tf, places(0, 0, 0, 0, 0, 1), places(2, 3, 4, 5, 6, 4)), CORPUS)
    full, two = 5 * 2.2 / (1 + 1.2), 5 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3))
    assert parts["window"].tolist() == pytest.approx([0, two, full, full, 0, 0])
    assert parts["reply"].tolist() == pytest.approx([0.5, 0, 0, 0, 0, 0])
    assert parts["session"].tolist() == pytest.approx([4, 4, 4, 4, 4, 0])


def test_a_gap_in_the_conversation_is_no_neighbour() -> None:
    _, parts = structure(pool([[1.0], [0.0]], places(0, 0), places(1, 4)), CORPUS)
    assert parts["window"][1] == 0
    assert parts["reply"].tolist() == [0, 0]


def test_a_long_conversation_says_less_by_one_mention() -> None:
    _, parts = structure(pool([[1.0]], places(0), places(1), group_size=array(3)), CORPUS)
    assert parts["session"].tolist() == pytest.approx([4 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3))])


def test_the_gate_closes_for_long_units() -> None:
    one = pool([[1.0]], places(0), places(1), length=array(96.0))
    _, open_ = structure(pool([[1.0]], places(0), places(1), length=array(24.0)), replace(CORPUS, average=24.0))
    _, half = structure(one, replace(CORPUS, average=96.0))
    assert (open_["gate"].tolist(), half["gate"].tolist()) == ([1.0], [0.25])
    assert half["window"].tolist() == pytest.approx(0.25 * open_["window"])
    assert half["session"].tolist() == pytest.approx([1.0])
    assert half["lexical"].tolist() == pytest.approx(open_["lexical"])


def test_a_cosine_counts_by_its_weight_and_none_without_a_vector() -> None:
    given_ = pool([[0.0], [0.0], [0.0]], places(0, 1, 2), places(1, 1, 1), cos=array(0.5, -0.25, np.nan))
    total, parts = structure(given_, CORPUS)
    assert parts["vector"].tolist() == total.tolist() == [4.0, -2.0, 0.0]
    assert structure(given_, CORPUS, cosine=0.0)[0].tolist() == [0, 0, 0]


def test_every_cue_has_its_weight_and_a_shelf_weighs_all_of_them() -> None:
    one = array(1.0)
    given_ = pool([[0.0]], places(0), places(1), speaker=one, role=one, when=one, phrase=one, weight=array(0.5))
    total, parts = structure(given_, CORPUS)
    assert {name: parts[name].tolist() for name in ("speaker", "role", "time", "phrase")} == {
        "speaker": [1.5], "role": [2.0], "time": [1.0], "phrase": [3.0],
    }  # fmt: skip
    assert total.tolist() == [7.5 / 2]
    assert SHELF_WEIGHT == {"hot": 1.0, "warm": 0.9, "cold": 0.78}


def test_an_empty_pool_has_no_scores() -> None:
    total, parts = structure(pool([], places(), places()), CORPUS)
    assert total.tolist() == []
    assert {len(values) for values in parts.values()} == {0}


UNITS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), unique=True, max_size=25)


@given(UNITS, st.sampled_from([-2, -1, 1]))
def test_rows_names_the_unit_a_step_away_in_the_same_group(units: list[tuple[int, int]], lag: int) -> None:
    given_ = pool([[0.0]] * len(units), places(*(g for g, _ in units)), places(*(p for _, p in units)))
    expected = [units.index((g, p + lag)) if (g, p + lag) in units else -1 for g, p in units]
    assert _rows(given_, lag).tolist() == expected


# seed


def scored(cos: Array, vector: Places, lexical: Places, **more: object) -> tuple[list[float], dict[str, list[float]]]:
    given_: dict[str, object] = {
        "weight": np.ones(len(cos)), "prior": np.zeros(len(cos)), "parents": [-1] * len(cos), "similar": [], **more,
    }  # fmt: skip
    total, parts = seed(cos, (vector, lexical), **given_)  # type: ignore[arg-type]
    return total.tolist(), {name: values.tolist() for name, values in parts.items()}


def test_the_seeds_score_by_hand() -> None:
    total, parts = scored(array(0.8, np.nan, 0.2), places(0, -1, 1), places(1, 0, -1))
    rrf = 0.25 / (2 / 60)
    assert parts["vector"] == pytest.approx([0.44, 0, 0.11])
    assert parts["lexical"] == pytest.approx([0.20 * 0.5, 0.20, 0])
    assert parts["rrf"] == pytest.approx([rrf * (1 / 60 + 1 / 61), rrf / 60, rrf / 61])
    assert parts["hop"] == [0, 0, 0]
    assert total == pytest.approx([0.54 + rrf * (1 / 60 + 1 / 61), 0.20 + rrf / 60, 0.11 + rrf / 61])


def test_a_child_lends_its_parent_a_share_if_that_is_more_than_it_has() -> None:
    total, parts = scored(array(1.0, 0.0, 0.5), places(-1, -1, -1), places(-1, -1, -1), parents=[1, -1, 0])
    assert total == pytest.approx([0.55, 0.55 * 0.55, 0.275])
    assert parts["hop"] == pytest.approx([0, 0.55 * 0.55, 0])


def test_a_similar_node_lends_by_how_similar_it_is_and_only_one_step_far() -> None:
    edges = [(0, 1, 0.8), (1, 2, 1.0)]
    total, _ = scored(array(1.0, 0.0, 0.0), places(-1, -1, -1), places(-1, -1, -1), similar=edges)
    assert total == pytest.approx([0.55, 0.55 * 0.55 * 0.8, 0])


def test_shelf_weight_scales_what_matched_and_the_prior_comes_on_top() -> None:
    total, _ = scored(array(1.0), places(-1), places(-1), weight=array(0.5), prior=array(0.04))
    assert total == pytest.approx([0.275 + 0.04])


def test_corrected_cosines_give_what_they_would_have_given_from_the_start() -> None:
    more = {"cos": array(0.2, np.nan, 0.5), "weight": array(1.0, 0.9, 0.78)}
    guessed = pool([[1.0], [0.0], [2.0]], places(0, 0, 1), places(0, 1, 0), **more)
    known = replace(guessed, cos=array(0.2, 0.1, 0.4))
    total, parts = corrected(*structure(guessed, CORPUS), guessed, places(2, 1), known.cos[[2, 1]])
    expected, wanted = structure(known, CORPUS)
    np.testing.assert_allclose(total, expected)
    np.testing.assert_allclose(parts["vector"], wanted["vector"])
