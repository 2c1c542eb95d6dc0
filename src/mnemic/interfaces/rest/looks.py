"""A question to the home for those who watch the service: answered in time, also where the home itself is waited for.

A database that restarts is waited for with patience, which is right for a write and wrong for a probe. So one thread asks, and
whoever wants to know meanwhile waits for its answer a little, and does without.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from mnemic.errors import MnemicError

T = TypeVar("T")
SECONDS = 2.0
"""That a watcher waits."""


class Look(Generic[T]):
    """Asks with `ask`, one thread at a time; `otherwise` is the answer where it takes longer than `seconds`, or fails."""

    def __init__(self, ask: Callable[[], T], otherwise: T, seconds: float = SECONDS) -> None:
        self._ask, self._otherwise, self._seconds = ask, otherwise, seconds
        self._guard = threading.Lock()
        self._under_way: _Asked[T] | None = None

    def __call__(self) -> T:
        with self._guard:
            asked = self._under_way
            if asked is None or asked.done.is_set():
                asked = self._under_way = _Asked(self._otherwise)
                threading.Thread(target=asked.run, args=(self._ask,), name="mnemic-look", daemon=True).start()
        return asked.answer if asked.done.wait(self._seconds) else self._otherwise


class _Asked(Generic[T]):
    def __init__(self, otherwise: T) -> None:
        self.answer, self.done = otherwise, threading.Event()

    def run(self, ask: Callable[[], T]) -> None:
        try:
            self.answer = ask()
        except MnemicError:  # the other answer stands
            pass
        finally:
            self.done.set()
