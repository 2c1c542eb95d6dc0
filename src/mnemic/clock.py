"""The one source of time and the one source of ids.

Everything that needs "now" or a fresh identifier takes a `Clock` or an `Ids`; nothing else asks the machine.
That is what makes decay, trust and recall testable on any day, and a replayed run identical.
Instants are stored as whole milliseconds since 1970-01-01 UTC and shown as ISO 8601 with a `Z`.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

DAY_MS = 86_400_000

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Tells the time as an aware UTC datetime."""

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(slots=True)
class FixedClock:
    """A clock that stands still until it is told to move; `MNEMIC_NOW` and tests use it."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def advance(self, **delta: float) -> None:
        """Move on by `timedelta(**delta)`."""
        self.moment += timedelta(**delta)


class Ids(Protocol):
    """Gives identifiers that nobody can guess."""

    def token(self, size: int = 16) -> str: ...


@dataclass(frozen=True, slots=True)
class RandomIds:
    """Hexadecimal tokens of `size` random bytes from the operating system."""

    def token(self, size: int = 16) -> str:
        return secrets.token_hex(size)


@dataclass(slots=True)
class CountingIds:
    """Predictable tokens for tests: 0001, 0002, … in hexadecimal, padded to `size` bytes."""

    last: int = field(default=0)

    def token(self, size: int = 16) -> str:
        self.last += 1
        return f"{self.last:0{size * 2}x}"


def to_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970-01-01 UTC; a naive datetime counts as UTC. May be negative."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """The aware UTC datetime of a millisecond count."""
    return EPOCH + timedelta(milliseconds=ms)


def iso(ms: int | None) -> str | None:
    """How an instant is shown: `2026-11-30T04:12:00Z`, with milliseconds only where there are any."""
    if ms is None:
        return None
    text = from_ms(ms).isoformat(timespec="milliseconds" if ms % 1000 else "seconds")
    return text.replace("+00:00", "Z")
