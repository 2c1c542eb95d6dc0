"""A memory whose clock moves a second with every look, so that what came later is later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mnemic import Memory
from tests.homes import NOON


class Ticking:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self, start: datetime = NOON) -> None:
        self._next = start

    def now(self) -> datetime:
        self._next += timedelta(seconds=1)
        return self._next


def home(folder: Path, **parts: Any) -> Memory:
    """A home of its own, that asks no one outside."""
    given = {"clock": Ticking(), **parts}
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, **given)


@contextmanager
def rooms(folder: Path) -> Iterator[Iterator[Memory]]:
    """Empty namespaces of one home, one after the other: a home takes longer to make."""
    with home(folder) as memory:
        yield (memory.within(f"room-{number}") for number in range(10_000))
