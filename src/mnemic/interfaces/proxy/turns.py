"""What the proxy did in the last turns, and why. Never what was said, and nothing of the headers: keys are in them."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from typing import Any

LAST = 50
"""Turns that are told of."""


@dataclass(slots=True)
class Turn:
    """One request to a model."""

    number: int
    at: str | None
    """When it came, ISO 8601."""
    path: str
    model: str = ""
    streamed: bool = False
    session: str = ""
    memory: str = "unchanged"
    """prepared: the messages were changed; unchanged: they went on as they came; off; failed: they went on as they came."""
    why: list[str] = field(default_factory=list)
    """Why memory did less than it can."""
    tokens: dict[str, Any] = field(default_factory=dict)
    compacted: list[dict[str, Any]] = field(default_factory=list)
    injected: list[dict[str, Any]] = field(default_factory=list)
    status: int = 0
    """What the upstream answered, or this proxy in its place; 0 while there is none."""
    bytes: int = 0
    """Of the answer, as passed on."""
    ended: str = "running"
    """running, whole, upstream refused, upstream unreachable, upstream broke off, client left."""
    remembered: str = ""
    """What became of the exchange: how many messages were stored, or why none."""
    ms: dict[str, float] = field(default_factory=dict)
    """prepare, first_byte (of the answer, from the upstream's being asked), whole."""

    def json(self) -> dict[str, Any]:
        return asdict(self)


class Turns:
    """The last turns, and counts of all."""

    def __init__(self) -> None:
        self._last: deque[Turn] = deque(maxlen=LAST)
        self._counts: Counter[str] = Counter()
        self.running = 0
        self._number = 0

    def begin(self, path: str, at: str | None) -> Turn:
        self._number += 1
        self.running += 1
        turn = Turn(self._number, at, path)
        self._last.appendleft(turn)
        return turn

    def end(self, turn: Turn) -> None:
        """Count a turn that is over."""
        self.running -= 1
        self._counts[turn.ended] += 1
        self._counts[f"memory {turn.memory}"] += 1

    def json(self) -> dict[str, Any]:
        """The newest first."""
        return {"requests": self._number, "running": self.running, "counts": dict(sorted(self._counts.items())),
                "turns": [turn.json() for turn in self._last]}  # fmt: skip
