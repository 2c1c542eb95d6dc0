from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.capture.folding import signature
from tests.synthesis.homes import opened


def test_case_punctuation_and_empty_words_do_not_tell_texts_apart() -> None:
    assert signature("The train to York leaves at 9:30!") == signature("the train to york leaves at 9:30")
    assert signature("Ada really likes the window seat.") == signature("ada likes the window seat")


@pytest.mark.parametrize(
    "other",
    [
        "The train to York leaves at 9:31",
        "The train to Leeds leaves at 9:30",
        "The train to York does not leave at 9:30",
        "The train to York left at 9:30",
        "The train from York leaves at 9:30",
        "York, the train to leaves at 9:30",
        "No train to York leaves at 9:30",
    ],
)
def test_another_number_name_negation_tense_or_order_is_another_text(other: str) -> None:
    assert signature("The train to York leaves at 9:30") != signature(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I don't eat fish on Fridays", "I do not eat fish on Fridays"),
        ("We can't ship it on Monday", "We cannot ship it on Monday"),
        ("The meeting is on 5 June 2026 at noon", "The meeting is on June 5th, 2026 at noon"),
        ("The meeting is on 5 June 2026 at noon", "the meeting is on 2026-06-05 at noon"),
        ("She has three dogs and one cat", "She has 3 dogs and 1 cat"),
        ("The run was 10km along the river", "The run was 10 km along the river."),
        ("It costs 1,200 euros per month", "It costs 1200 euros per month"),
        ("They grew by 5 % last year", "They grew by 5 percent last year"),
    ],
)
def test_other_ways_to_write_the_same_are_the_same(one: str, other: str) -> None:
    assert signature(one) == signature(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The meeting is on 5 June 2026 at noon", "The meeting is on 6 June 2026 at noon"),
        ("The meeting is on 5 June 2026 at noon", "The meeting is on 5 July 2026 at noon"),
        ("The meeting is on 05/06/2026 at noon", "The meeting is on 06/05/2026 at noon"),
        ("It costs 1,200 euros per month", "It costs 1,2 euros per month"),
        ("It costs 1.200 euros per month", "It costs 1,200 euros per month"),
        ("She has three dogs and one cat", "She has one dog and three cats"),
        ("The run was 10km along the river", "The run was 10 miles along the river"),
        ("Ada lent Tomas her old bicycle", "Tomas lent Ada her old bicycle"),
        ("Ada Lovelace likes the window seat", "Ada Byron likes the window seat"),
        ("Ada lives in the north of York", "Ada lived in the north of York"),
        ("Ada works at the bakery now", "Ada works for the bakery now"),
        ("Always lock the back door", "Never lock the back door"),
        ("I can eat fish on Fridays", "I can't eat fish on Fridays"),
        ("I do eat fish on Fridays", "I don't eat fish on Fridays"),
        ("He'd go there on every Monday", "He had go there on every Monday"),
        ("The lamp is on in the hall", "The lamp is off in the hall"),
        ("Only Ada may open the safe", "Ada may only open the safe"),
        ("Take it before the evening meal", "Take it after the evening meal"),
        ("The password is Tulip-7 for guests", "The password is Tulip-8 for guests"),
        ("The meeting is on 31 February 2026", "The meeting is on 28 February 2026"),
        ("temperature at dawn was -3 degrees", "temperature at dawn was 3 degrees"),
        ("I owe her less than 5 euros", "I owe her more than 5 euros"),
        ("Call me at 555-0100 after six", "Call me at 555-0101 after six"),
        ("Ada likes tea, not coffee", "Ada likes coffee, not tea"),
    ],
)
def test_what_only_looks_alike_is_never_folded(one: str, other: str) -> None:
    assert signature(one) != signature(other)


def test_signs_and_short_texts_are_kept_apart() -> None:
    assert signature("it was -5 degrees in the yard") != signature("it was 5 degrees in the yard")
    assert signature("profit of 5 % this year") != signature("profit of 5 this year")
    assert signature("yes") is None


def test_the_older_of_two_same_notes_stays_and_an_undo_unfolds(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        first = memory.remember("The train to York leaves at 9:30.", index=False)
        second = memory.remember("the train to York leaves at 9:30!", context="", index=False)
        other = memory.remember("The train to York leaves at 9:31.", index=False)
        done = memory.fold()
        assert done["folded"] == [{"path": second.path, "into": first.path, "seq": done["folded"][0]["seq"]}]
        paths = [hit.path for hit in memory.recall("train to York").hits]
        assert (first.path in paths, second.path in paths, other.path in paths) == (True, False, True)
        assert memory.fold()["folded"] == []
        memory.undo(done["folded"][0]["seq"])
        assert memory.fold()["folded"] == []
        assert memory.show(str(second.path), touch=False)["forgotten"] is False
        assert memory.verify().ok


def test_notes_of_another_context_or_higher_origin_are_not_folded(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("The train to York leaves at 9:30.", context="work", index=False)
        memory.remember("the train to York leaves at 9:30!", context="home", index=False)
        memory.remember("The boat to Ghent leaves at noon.", origin="web", index=False)
        memory.remember("the boat to Ghent leaves at noon!", origin="user", index=False)
        assert memory.fold()["folded"] == []
