from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.errors import NotFound
from mnemic.models.document import Turn
from tests.lifecycle.test_rotation import NOON
from tests.minds import stated

TALK = "/sessions/s/1"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    """A fact that was drawn from the first of two exchanges, and an experience that points to the second."""
    environ = {"MNEMIC_CONFIG": str(tmp_path / "c")}
    with Memory.open(tmp_path / "home", environ=environ, clock=clock) as found:
        found.capture([Turn("user", "I live in Porto."), Turn("assistant", "Noted.")], session="s")
        entry = found.diary.add("I live in Porto.", session="s")["id"]
        clock.advance(hours=1)
        found.capture([Turn("user", "The kiln was cold."), Turn("assistant", "Heat it first.")], session="s")
        found.extract({"proposals": [stated("city", "Porto", entry)]})
        yield found


def uses(memory: Memory) -> dict[str, int]:
    return {path: memory.show(path, touch=False)["access_count"] for path in (TALK, "/sessions/s/2")}


def test_opening_a_fact_is_a_use_of_the_exchange_it_was_drawn_from_and_listing_it_is_none(memory: Memory) -> None:
    (fact,) = memory.facts.list()
    memory.profile()
    assert uses(memory) == {TALK: 0, "/sessions/s/2": 0}
    memory.facts.show(fact["id"])
    assert uses(memory) == {TALK: 1, "/sessions/s/2": 0}
    memory.diary.show(1)
    assert uses(memory) == {TALK: 2, "/sessions/s/2": 0}
    assert memory.verify().ok


def test_touching_a_fact_takes_what_stands_behind_it_one_tier_up(memory: Memory, clock: FixedClock) -> None:
    clock.advance(days=30)
    done = memory.touch("facts/1", reason="cited")
    assert (done["path"], done["tier_before"], done["tier_after"], done["touched"]) == ("facts/1", "cold", "warm", [TALK])
    with pytest.raises(NotFound, match="facts/9"):
        memory.touch("facts/9")


def test_an_experience_that_is_opened_or_reported_uses_its_sessions_and_paths(memory: Memory) -> None:
    lesson = {
        "kind": "positive", "gist": "heat the kiln first", "family": "kiln", "situation": ["a cold kiln"],
        "path": ["heat it"], "reasoning": "cold clay cracks", "evidence": {"trace_ref": TALK, "session_ref": "s"},
    }  # fmt: skip
    number = memory.experiences.add(lesson).id
    memory.experiences.list()
    assert uses(memory) == {TALK: 0, "/sessions/s/2": 0}
    memory.experiences.show(number)
    memory.experiences.report(number, "success", dedupe_key="once")
    memory.experiences.report(number, "success", dedupe_key="once")
    assert uses(memory) == {TALK: 2, "/sessions/s/2": 2}


def test_what_was_forgotten_stays_so_when_a_fact_from_it_is_opened(memory: Memory) -> None:
    memory.forget(TALK)
    assert memory.facts.show(1)["value"] == "Porto"
    assert memory.show(TALK, touch=False)["tier"] == "archive"
    assert uses(memory)[TALK] == 0
