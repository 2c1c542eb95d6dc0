"""Answers in pages: how much fits into a cap of tokens, and the cursor that the next page is asked with.

A cursor is an offset and a fingerprint of the question it belongs to. Nothing is remembered between two calls.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from mnemic.errors import BadInput
from mnemic.text import frame as frames
from mnemic.text.tokens import estimate

T = TypeVar("T")
TOKENS = 2_000
"""What an answer may cost unless the call says otherwise."""
MOST_TOKENS = 8_000
LEAST_TOKENS = 200
RESERVE = 120
"""Tokens for the frame around the items and for what stands beside it."""
PROFILE = "cjk1"
PAGING = ("cursor", "max_tokens")
"""What may differ between two pages of one answer."""


def start(tool: str, arguments: Mapping[str, Any]) -> int:
    """Where the asked page begins. Raises BadInput for a cursor of another question."""
    cursor = arguments.get("cursor")
    if cursor is None:
        return 0
    try:
        data = json.loads(base64.urlsafe_b64decode(str(cursor).encode("ascii")))
        place, mark = int(data[0]), str(data[1])
    except (ValueError, binascii.Error, TypeError, LookupError, RecursionError):
        raise BadInput(f"cursor {str(cursor)[:40]!r} cannot be read: give `next` of the last answer, or leave it out") from None
    if mark != _mark(tool, arguments) or place < 0:
        raise BadInput("this cursor belongs to another question: ask the same again with it, or leave it out")
    return place


def after(tool: str, arguments: Mapping[str, Any], place: int) -> str:
    """The cursor of the page that begins at `place`."""
    return base64.urlsafe_b64encode(json.dumps([place, _mark(tool, arguments)]).encode()).decode()


def budget(arguments: Mapping[str, Any]) -> int:
    """Tokens that the items of an answer may cost."""
    return int(arguments.get("max_tokens", TOKENS)) - RESERVE


def fitting(items: Sequence[frames.Item], tokens: int, each: int = 0) -> tuple[list[frames.Item], int]:
    """The first items that fit, and how many those are; the first always, cut to what fits. `each` is what an item
    costs besides."""
    kept: list[frames.Item] = []
    for item in items:
        cost = cost_of(item) + each
        if cost > tokens and kept:
            break
        kept.append(item if cost <= tokens else shortened(item, tokens - each))
        tokens -= cost
    return kept, len(kept)


def prefix(rows: Sequence[T], tokens: int) -> list[T]:
    """The first rows that fit."""
    kept: list[T] = []
    for row in rows:
        tokens -= cost_of_data(row)
        if tokens < 0:
            break
        kept.append(row)
    return kept


def cost_of_data(data: Any) -> int:
    """Estimated tokens of structured data."""
    return estimate(json.dumps(data, ensure_ascii=False), PROFILE)


def cost_of(item: frames.Item) -> int:
    """Estimated tokens of an item in its frame."""
    shown = f"{item.path}{item.date}{item.origin}{item.kind}{item.title}{item.text}"
    return estimate(frames.escaped(shown), PROFILE) + 20


def shortened(item: frames.Item, tokens: int) -> frames.Item:
    """The item with as much of its text as fits, and a mark where it was cut."""
    size = room(item, tokens)
    return replace(item, text=item.text[:size] + "…") if size < len(item.text) else item


def room(item: frames.Item, tokens: int) -> int:
    """How many characters of its text fit, at least 100."""
    left = max(tokens - cost_of(replace(item, text="")) - 2, 1)
    size = min(len(item.text), left * 4)
    while size > 100 and estimate(frames.escaped(item.text[:size]), PROFILE) > left:
        size = size * 4 // 5
    return max(size, 100)


def _mark(tool: str, arguments: Mapping[str, Any]) -> str:
    asked = {name: value for name, value in sorted(arguments.items()) if name not in PAGING}
    return hashlib.sha256(json.dumps([tool, asked], sort_keys=True).encode()).hexdigest()[:12]
