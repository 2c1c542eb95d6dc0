"""What a session begins with: the state, the profile, and the notes of today and yesterday, within a budget.

In this order, which is that of importance; each has a share of the budget, and what it leaves goes on to the next. A
text that does not fit is cut by whole lines: a state and a person's own lines from the end, mirrored ones from the
beginning, for there the latest count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.context.budget import PROFILE
from mnemic.text import frame as frames
from mnemic.text.tokens import estimate

TOKENS = 2_400
"""What a session's start may cost; with a state of 4 KB and a profile it leaves half to the notes."""
SHARES = {"state": 0.5, "profile": 0.34, "today": 0.67, "yesterday": 1.0}
"""The share that each may take of what is left when it comes to it."""
LEAST = 40
"""Characters below which a line is left out rather than cut."""


@dataclass(frozen=True, slots=True)
class Part:
    """One text that a session begins with: `lines` from the top, then `latest`, of which the last are kept."""

    name: str
    """state, profile, today or yesterday."""
    path: str
    date: str
    origin: str
    lines: tuple[str, ...] = ()
    latest: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, *self.latest])

    @property
    def item(self) -> frames.Item:
        return frames.Item(self.path, self.text, self.date, self.origin, title=self.name)


@dataclass(frozen=True, slots=True)
class Start:
    """The block that goes into a prompt, and what it was made of."""

    frame: str
    """Empty where there is nothing to say."""
    tokens: int
    parts: tuple[dict[str, Any], ...]
    """By part: name, path, text as it is in the frame, bytes, and whether it was cut."""
    degraded: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        return {"frame": self.frame, "tokens": self.tokens, "parts": [*self.parts], "degraded": [*self.degraded]}


def started(
    parts: Sequence[Part], profile: Sequence[frames.Item], nonce: str, *, tokens: int, chars: int, degraded: Sequence[str] = ()
) -> Start:
    """Fit the parts and the profile's items, which stand behind the state, into so many tokens and characters."""
    left_tokens, left_chars = tokens - _cost(frames.render([], nonce)), chars - len(frames.render([], nonce))
    items: list[frames.Item] = []
    told: list[dict[str, Any]] = []
    order = ["state", "profile", "today", "yesterday"]
    for name in order:
        if name == "profile":
            found, whole = list(profile), True
        else:
            part = next((part for part in parts if part.name == name and part.text.strip()), None)
            cut = fitted(part, int(left_tokens * SHARES[name]), int(left_chars * SHARES[name])) if part else None
            found, whole = [cut.item] if cut else [], part == cut
            if part and not cut:
                told.append({"name": name, "path": part.path, "text": "", "bytes": 0, "cut": True})
        for item in found:
            line = frames.render([item], nonce)[len(frames.render([], nonce)) :]
            left_tokens, left_chars = left_tokens - _cost(line) - 1, left_chars - len(line)
        if found:
            text = "\n".join(item.text for item in found)
            told.append({"name": name, "path": found[0].path if name != "profile" else "profile", "text": text,
                         "bytes": len(text.encode()), "cut": not whole})  # fmt: skip
            items += found
    frame = frames.render(items, nonce, max_chars=chars) if items else ""
    return Start(frame, _cost(frame), tuple(told), tuple(degraded))


def fitted(part: Part, tokens: int, chars: int) -> Part | None:
    """A part cut to so many tokens and characters as it stands in a frame; None if not even a line of it fits."""
    empty = frames.render([replace(part, lines=(), latest=()).item], "nonce000")[len(frames.render([], "nonce000")) :]
    tokens, chars = tokens - _cost(empty) - 1, chars - len(empty) - 1
    first, tokens, chars = _taken(part.lines, tokens, chars)
    last, tokens, chars = _taken(part.latest[::-1], tokens, chars) if len(first) == len(part.lines) else ((), 0, 0)
    cut = replace(part, lines=first, latest=last[::-1])
    return cut if cut.text.strip() else None


def _taken(lines: Sequence[str], tokens: int, chars: int) -> tuple[tuple[str, ...], int, int]:
    """The leading lines that fit, and what they leave; of a first line that is too long, its beginning."""
    kept: list[str] = []
    for line in lines:
        cost, size = _room(line)
        if cost > tokens or size > chars:
            begun = "" if kept else _begun(line, tokens, chars)
            return tuple([begun] if begun else kept), 0, 0
        tokens, chars = tokens - cost, chars - size
        kept.append(line)
    return tuple(kept), tokens, chars


def _begun(line: str, tokens: int, chars: int) -> str:
    """As much of a line as fits; nothing if that is next to nothing."""
    line = line[: max(0, min(4 * tokens, chars))]
    while len(line) >= LEAST:
        cost, size = _room(line + "…")
        if cost <= tokens and size <= chars:
            return line + "…"
        line = line[: len(line) * 3 // 4]
    return ""


def _room(line: str) -> tuple[int, int]:
    """The tokens and characters of a line in a frame, with its escaped end."""
    shown = frames.escaped(line)
    return _cost(shown) + 1, len(shown) + 2


def _cost(text: str) -> int:
    return estimate(text, PROFILE)
