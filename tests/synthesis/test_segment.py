from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.dream import pk, texttiling, windowdiff, windows
from mnemic.synthesis.segment import LONGEST, segments

WEATHER = [
    "check the weather in Oslo",
    "Oslo will see rain and wind",
    "any snow in Oslo this week?",
    "no snow, only rain in Oslo",
]
TRAIN = [
    "i need a train to Cambridge",
    "the Cambridge train leaves at nine",
    "book two train tickets please",
    "the train tickets are booked",
]


def test_two_topics_are_cut_where_they_meet() -> None:
    assert segments(WEATHER + TRAIN) == [4, 4]


def test_one_topic_stays_whole() -> None:
    assert segments(WEATHER) == [4]


def test_nothing_has_no_segments_and_one_turn_has_one() -> None:
    assert segments([]) == []
    assert segments(["hello"]) == [1]


def test_an_answer_is_not_cut_from_its_question() -> None:
    said = [
        "we sailed the boat",
        "the boat leaks",
        "where do you buy cheese?",
        "at the market, cheese is cheap there",
        "cheese from goats",
    ]
    assert sum(segments(said)[:1]) != 3


def test_no_segment_is_longer_than_the_longest() -> None:
    assert max(segments(["the boat sails"] * 200)) <= LONGEST


@given(st.lists(st.text(max_size=40), max_size=60))
def test_every_turn_is_in_just_one_segment(turns: list[str]) -> None:
    lengths = segments(turns)
    assert sum(lengths) == len(turns)
    assert all(length > 0 for length in lengths)


def test_measures_are_nought_for_the_truth_and_count_what_is_missed() -> None:
    assert pk([4, 4], [4, 4]) == 0
    assert windowdiff([4, 4], [4, 4]) == 0
    assert pk([4, 4], [8]) == 2 / 6
    assert windowdiff([2, 2, 2, 2], [8]) == 6 / 6


def test_baselines_cover_every_turn() -> None:
    assert windows(["a"] * 7, 3) == [3, 3, 1]
    assert sum(texttiling(WEATHER + TRAIN)) == 8
