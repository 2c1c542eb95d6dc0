from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from bench.dream import bytes_changed, fit, joined, pk, texttiling, windowdiff, windows
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


def test_by_the_way_begins_a_topic_and_what_points_back_does_not() -> None:
    said = ["I feed the sourdough starter every day", "the starter is forty years old", "", "Pixel sleeps by the oven"]
    assert segments([*said[:2], "by the way, I adopted a greyhound named Pixel", said[3]])[0] == 2
    assert segments([*said[:2], "it smells of rye", "it bubbles"]) == [4]


def test_chinese_cues_need_no_space_after_them() -> None:
    said = ["我今天烤了面包", "面包很好吃", "对了我想买火车票", "火车票要两张"]
    assert segments(said) == [2, 2]


def test_the_order_of_words_in_memory_decides_nothing() -> None:
    script = "from mnemic.synthesis.segment import segments; print(segments(%r))" % (WEATHER + TRAIN)
    told = {subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}).stdout
            for seed in ("1", "2")}  # fmt: skip
    assert told == {"[4, 4]\n"}


def test_a_sign_that_goes_with_cuts_gets_a_weight_above_nought() -> None:
    weights = fit([[(WEATHER + ["by the way, " + TRAIN[0], *TRAIN[1:]], [4, 4])]])
    assert len(weights) == 9 and weights[3] > 0 > weights[0]


def test_sessions_are_joined_five_at_a_time_and_end_where_they_ended() -> None:
    sessions = [[{"content": f"{place}"}] * 2 for place in range(6)]
    assert [lengths for _, lengths in joined([{"haystack_sessions": [*sessions, sessions[0]]}])] == [[2] * 5, [2, 2]]


def test_what_an_update_changed_is_what_was_put_in_and_taken_out() -> None:
    assert bytes_changed("a\nbé c\n", "a\nbé c and d\n") == len(" and d")
    assert bytes_changed("a\nb\n", "a\nb\n") == 0
    assert bytes_changed("é\n", "") == 3
