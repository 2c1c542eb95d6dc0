"""Readings that foreign records share: their times, and the pieces of their texts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from mnemic.clock import to_ms
from mnemic.models.document import Turn

SECONDS_END = 100_000_000_000
"""A number below this counts seconds (until the year 5138), else milliseconds."""
LAST = 253_402_300_799_999
"""The end of the year 9999, in ms."""


def moment(value: Any) -> int | None:
    """A time in ms: of seconds or milliseconds since 1970, as number or text, or of ISO 8601. None for anything else."""
    if isinstance(value, bool) or value in (None, ""):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return _iso(value)
    if not math.isfinite(number) or number <= 0:
        return None
    ms = round(number * 1000) if number < SECONDS_END else round(number)
    return ms if ms <= LAST else None


def _iso(value: Any) -> int | None:
    try:
        said = datetime.fromisoformat(value.strip())
        return to_ms(said if said.tzinfo else said.replace(tzinfo=UTC))
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None


def text(value: Any) -> str:
    """A text, or nothing where something else stands."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    """An object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def word(value: Any) -> str:
    """An identifier as text: numbers count as such."""
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def rows(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; nothing where it is none."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def parts(content: Any, *, marks: bool = True) -> str:
    """The text of a message's content: a text, or parts with texts among them; with `marks`, others are named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    found = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            said = text(part.get("text")) or text(part.get("content"))
            kind = text(part.get("type")) or text(part.get("content_type"))
            if said and kind not in ("thinking", "reasoning", "tool_use", "tool_result"):
                found.append(said)
            elif marks and ("image" in kind or "audio" in kind or "file" in kind):
                found.append(f"[{kind.split('_')[0] if not kind.startswith('input_') else kind[6:]}]")
    return "\n\n".join(item for item in found if item.strip())


def said(role: str, content: str, at: int | None, name: str = "") -> list[Turn]:
    """A turn, if there are words in it."""
    return [Turn(role, content, name, at)] if content.strip() else []
