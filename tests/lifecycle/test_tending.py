from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.errors import BadInput, Conflict
from mnemic.lifecycle import Tending
from tests.lifecycle.test_rotation import NOON, shelves
from tests.synthesis.homes import files, talk

HOURS = 3_600


class Time:
    """Waits that take no time; the last of so many ends it."""

    def __init__(self, waits: int, clock: FixedClock | None = None) -> None:
        self.left, self.waited, self.clock = waits, list[float](), clock

    def __call__(self, event: threading.Event, seconds: float) -> bool:
        if event.is_set() or not self.left:
            return True
        self.left -= 1
        self.waited.append(seconds)
        if self.clock:
            self.clock.advance(seconds=seconds)
        return False


def memory_of(folder: Path, clock: FixedClock, toml: str = "") -> Memory:
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "mnemic.toml").write_text(toml)
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "c")}, clock=clock)


def test_the_start_task_waits_a_minute_and_the_timer_comes_every_six_hours() -> None:
    calls: list[bool] = []
    time = Time(3)
    Tending(lambda starting: {"ran": bool(calls.append(starting))}, start_seconds=60, every_seconds=6 * HOURS, at_start=True,
            timer=True, wait=time).run()  # fmt: skip
    assert (calls, time.waited) == ([True, False, False], [60, 6 * HOURS, 6 * HOURS])


@pytest.mark.parametrize(
    ("at_start", "timer", "calls", "waits"),
    [(True, False, [True], 1), (False, True, [False, False], 3), (False, False, [], 1)],
)
def test_each_can_be_switched_off(at_start: bool, timer: bool, calls: list[bool], waits: int) -> None:
    made: list[bool] = []
    time = Time(3)

    def tend(starting: bool) -> dict[str, Any]:
        made.append(starting)
        return {}

    Tending(tend, start_seconds=1, every_seconds=2, at_start=at_start, timer=timer, wait=time).run()
    assert (made, len(time.waited)) == (calls, waits)


def test_what_fails_is_told_and_comes_again() -> None:
    told: list[str] = []

    def tend(starting: bool) -> dict[str, Any]:
        raise Conflict(f"locked {starting}")

    Tending(tend, start_seconds=1, every_seconds=2, at_start=True, timer=True, wait=Time(2),
            failed=lambda error: told.append(str(error))).run()  # fmt: skip
    assert told == ["locked True", "locked False"]


def test_a_home_is_rotated_and_its_tiers_are_told_while_something_serves(tmp_path: Path) -> None:
    clock = FixedClock(NOON)
    with memory_of(tmp_path, clock) as memory:
        memory.remember("The kiln.", title="old", at=NOON - timedelta(days=400))
        memory.remember("The kiln glows.", title="new", at=NOON)
        memory.tending(wait=Time(1, clock)).run()
        assert shelves(memory) == {"old": "cold", "new": "hot"}
        memory.tending(wait=Time(200, clock)).run()
        assert shelves(memory) == {"old": "cold", "new": "warm"}
        assert memory.decay()["moved"] == []


def test_what_serves_dreams_too_where_that_is_switched_on(tmp_path: Path) -> None:
    alone = "[dream]\ntimer = true\n[decay]\ntimer = false\n[rotate]\ntimer = false\nat_start = false\n[vault]\ngit = \"off\"\n"
    for toml, dreams in (("", 0), (alone, 1)):
        clock = FixedClock(NOON)
        folder = tmp_path / str(dreams)
        folder.mkdir()
        with memory_of(folder, clock, toml) as memory:
            talk(memory)
            talk(memory.within("work"), "spring-1")
            memory.tending(wait=Time(4, clock)).run()
            assert memory.last_error is None
            assert len(memory.dreams()) == len(memory.within("work").dreams()) == dreams
            assert ("articles/Ines.md" in files(memory)) == bool(dreams)
            clock.advance(seconds=7 * HOURS)
            if dreams:
                assert set(memory.tend()["dream"]) == {"default", "work"}


def test_a_dream_that_fails_keeps_no_other_namespace_from_dreaming(tmp_path: Path) -> None:
    toml = '[dream]\ntimer = true\njudge = "endpoint"\n'
    with memory_of(tmp_path, FixedClock(NOON), toml) as memory:
        talk(memory, "spring-1")
        talk(memory.within("work"), "spring-1")
        done = memory.tend()
        assert {name: set(row) for name, row in done["dream"].items()} == {"default": {"failed"}, "work": {"failed"}}
        assert memory.last_error


def test_an_unknown_judge_of_the_timer_is_refused_when_the_home_is_opened(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"dream\.judge 'oracle' is unknown: rules, endpoint or agent"):
        memory_of(tmp_path, FixedClock(NOON), '[dream]\njudge = "oracle"\n')


def test_the_thread_ends_with_what_serves(tmp_path: Path) -> None:
    with memory_of(tmp_path, FixedClock(NOON)) as memory:
        with memory.tending() as tending:
            assert tending._thread is not None and tending._thread.is_alive()
        assert not tending._thread.is_alive()
    off = "[decay]\ntimer = false\n[rotate]\ntimer = false\nat_start = false\n"
    with memory_of(tmp_path, FixedClock(NOON), off) as memory, memory.tending() as tending:
        assert tending._thread is None
