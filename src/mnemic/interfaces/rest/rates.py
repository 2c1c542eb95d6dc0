"""How fast one namespace may ask one service: a bucket of tokens each, as the moment from which it would be full again (GCRA).

The library `limits` does this too, but its store in memory reads the wall clock by itself, starts a thread, and takes 0.1 s
to import; what is needed of it is one number a namespace. A bucket that is full again is forgotten, so that what is kept is
bounded by who asked within the last minute, and by MOST.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from mnemic.errors import RateLimited
from mnemic.settings import LimitSettings

MINUTE = 60.0
MOST = 100_000
"""Namespaces that are kept at a time; above it the one that asked longest ago is forgotten."""


class Rates:
    """Counts the requests of namespaces. `seconds` is a clock that never goes back."""

    def __init__(self, limits: LimitSettings, seconds: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._limits, self._seconds, self._most = limits, seconds, most
        self._full_at: dict[str, float] = {}
        """By namespace in the order in which they last asked: when its bucket is full again."""
        self._guard = threading.Lock()

    def take(self, namespace: str) -> RateLimited | None:
        """Count a request of a namespace, or say why it may not pass now; then it is not counted."""
        limit = self._limits.of(namespace).requests_per_minute
        if not limit or not (wait := self._wait(namespace, limit)):
            return None
        seconds = math.ceil(wait)
        why = f"{limit} requests a minute are allowed in the namespace {namespace!r}, and more came (limits.requests_per_minute)"
        return RateLimited(f"{why}: nothing was done, try again in {seconds} second{'s' if seconds > 1 else ''}", seconds)

    def _wait(self, namespace: str, limit: int) -> float:
        """Seconds until a request may pass; 0: this one does."""
        with self._guard:
            now = self._seconds()
            full = max(now, self._full_at.pop(namespace, now))
            taken = full + MINUTE / limit
            wait = taken - now - MINUTE
            late = wait > 1e-6  # floats: sixty times a second are not quite a minute
            self._full_at[namespace] = full if late else taken
            if len(self._full_at) > self._most:
                self._forget(now)
            return wait if late else 0.0

    def _forget(self, now: float) -> None:
        self._full_at = {name: full for name, full in self._full_at.items() if full > now}
        while len(self._full_at) > self._most:
            del self._full_at[next(iter(self._full_at))]
