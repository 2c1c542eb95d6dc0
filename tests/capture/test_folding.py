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
