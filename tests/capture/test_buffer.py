from __future__ import annotations

import threading

import pytest

from mnemic.capture.buffer import ConversationBuffer
from mnemic.clock import FixedClock
from mnemic.errors import StoreError
from mnemic.models.document import Turn
from mnemic.models.receipt import CaptureReport
from tests.homes import NOON, Home


class Sink:
    """Takes what is flushed; fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.taken: list[tuple[str, list[str]]] = []

    def __call__(self, session: str, turns: list[Turn]) -> CaptureReport:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full")
        self.taken.append((session, [turn.content for turn in turns]))
        return CaptureReport()


def say(buffer: ConversationBuffer, *turns: tuple[str, str], session: str = "s") -> None:
    for role, text in turns:
        buffer.observe(session, Turn(role, text))


def test_a_new_question_flushes_the_exchange_before_it() -> None:
    sink = Sink()
    buffer = ConversationBuffer(sink, FixedClock(NOON))
    say(buffer, ("user", "a"), ("user", "b"), ("assistant", "c"))
    buffer.flush_due()
    assert sink.taken == []
    say(buffer, ("user", "d"))
    buffer.flush_due()
    assert sink.taken == [("s", ["a", "b", "c"])]


def test_silence_flushes_all_of_its_session_only() -> None:
    sink, clock = Sink(), FixedClock(NOON)
    buffer = ConversationBuffer(sink, clock)
    say(buffer, ("user", "a"))
    clock.advance(seconds=1.4)
    say(buffer, ("user", "b"), session="t")
    buffer.flush_due()
    assert sink.taken == []
    clock.advance(seconds=0.2)
    buffer.flush_due()
    assert sink.taken == [("s", ["a"])]


def test_more_than_sixty_turns_are_flushed() -> None:
    sink = Sink()
    buffer = ConversationBuffer(sink, FixedClock(NOON))
    say(buffer, *(("user", str(n)) for n in range(60)))
    buffer.flush_due()
    assert sink.taken == []
    say(buffer, ("user", "60"))
    buffer.flush_due()
    assert [len(turns) for _, turns in sink.taken] == [61]


def test_a_failed_write_loses_nothing_and_keeps_the_order() -> None:
    sink = Sink(failures=1)
    buffer = ConversationBuffer(sink, FixedClock(NOON))
    say(buffer, ("user", "a"))
    say(buffer, ("user", "x"), session="t")
    with pytest.raises(StoreError):
        buffer.flush()
    say(buffer, ("assistant", "b"))
    buffer.close()
    assert sorted(sink.taken) == [("s", ["a", "b"]), ("t", ["x"])]


def test_a_failure_is_told_to_who_wants_to_know() -> None:
    told: list[str] = []
    buffer = ConversationBuffer(Sink(1), FixedClock(NOON), failed=lambda error: told.append(str(error)))
    say(buffer, ("user", "a"))
    assert buffer.flush() == []
    assert told == ["the disk is full"]


def test_the_worker_survives_a_failure_and_writes_at_the_turn_boundary() -> None:
    sink, clock, done = Sink(), FixedClock(NOON), threading.Event()
    failures = [StoreError("x")]

    def write(session: str, turns: list[Turn]) -> CaptureReport:
        if failures:
            raise failures.pop()
        report = sink(session, turns)
        done.set()
        return report

    buffer = ConversationBuffer(write, clock, idle_seconds=0.02)
    buffer.start()
    say(buffer, ("user", "a"), ("assistant", "b"), ("user", "c"))
    assert done.wait(5)
    buffer.close()
    assert [text for _, turns in sink.taken for text in turns] == ["a", "b", "c"]


def test_what_was_buffered_is_in_memory_after_closing(home: Home) -> None:
    buffer = ConversationBuffer(lambda s, turns: home.intake.capture("default", turns, session=s), home.clock)
    buffer.start()
    say(buffer, ("user", "where is the walrus?"), ("assistant", "on the ice"), ("user", "good"))
    buffer.close()
    assert home.search("ice") == ["/sessions/s/1/assistant"]
    assert home.search("good") == ["/sessions/s/2/user"]
    assert home.sane()
