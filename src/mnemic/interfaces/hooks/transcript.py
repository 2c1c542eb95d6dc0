"""The transcripts that Claude Code and Codex keep of a session, read on from where the last reading stopped.

Kept are the words of the user and of the assistant. Left out is what neither said: tool calls and their results, system
prompts, side chains, summaries, and what hooks put in, recalled memory above all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnemic.clock import to_ms
from mnemic.models.document import Turn

MOST_BYTES = 1024 * 1024
"""Read at once, so that a long transcript is taken in step by step; a longer line is read whole."""
LINE_BYTES = 64 * 1024 * 1024
"""A line above that is no turn and is passed over."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was new in a transcript, and where the next reading begins."""

    turns: tuple[Turn, ...]
    offset: int
    """In bytes: behind the last line that was taken."""
    skipped: int
    """Lines that could not be read."""
    more: bool
    """Whether there is more to read now."""


def read(file: Path, offset: int = 0, most: int = MOST_BYTES) -> Reading:
    """The turns of the whole lines behind `offset`, some `most` bytes of them; from the beginning where the file is
    shorter. Where there is more, the last exchange waits for the next reading, whole. Raises OSError."""
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        place = offset if offset <= size else 0
        stream.seek(place)
        found, skipped, end = list[tuple[int, Turn]](), 0, place + most
        while line := stream.readline(LINE_BYTES):
            if not line.endswith(b"\n") and len(line) < LINE_BYTES:
                break  # it is being written
            try:
                row = json.loads(line) if line.strip() else None
                found += [(place, turn) for turn in turns_of(row)] if isinstance(row, dict) else []
            except (ValueError, TypeError, AttributeError, RecursionError):
                skipped += 1
            place += len(line)
            if place >= end:
                break
    more = place >= end and place < size
    last = next((number for number in range(len(found) - 1, 0, -1) if found[number][1].role == "user"), 0)
    if more and last:
        place, found = found[last][0], found[:last]
    return Reading(tuple(turn for _, turn in found), place, skipped, more)


def turns_of(row: Mapping[str, Any]) -> Iterator[Turn]:
    """The turn that a line of either host's transcript holds, if it holds one."""
    if row.get("type") == "response_item":
        yield from _of_codex(row)
    elif row.get("type") in ("user", "assistant"):
        yield from _of_claude(row)


# Claude Code: {"type": "user"|"assistant", "message": {"role", "content"}, "timestamp", "isSidechain", …}


def _of_claude(row: Mapping[str, Any]) -> Iterator[Turn]:
    if any(row.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")):
        return
    message = row.get("message") or {}
    content = message.get("content")
    texts = [content] if isinstance(content, str) else _texts(content or (), ("text",))
    yield from _turn(row["type"], texts, row.get("timestamp"))


# Codex: {"timestamp", "type": "response_item", "payload": {"type": "message", "role", "content": [{"type", "text"}]}}


def _of_codex(row: Mapping[str, Any]) -> Iterator[Turn]:
    payload = row.get("payload") or {}
    if payload.get("type") != "message" or payload.get("role") not in ("user", "assistant"):
        return
    texts = _texts(_user_parts(payload), ("input_text", "output_text", "text"))
    yield from _turn(payload["role"], texts, row.get("timestamp"))


def _user_parts(payload: Mapping[str, Any]) -> list[Any]:
    """The parts of a message; where newer lines say which parts a user wrote, those alone."""
    parts = list(payload.get("content") or ())
    kinds = (payload.get("metadata") or {}).get("content_item_kinds") or payload.get("content_item_kinds")
    if payload["role"] != "user" or not isinstance(kinds, list) or len(kinds) != len(parts):
        return parts
    return [part for part, kind in zip(parts, kinds, strict=True) if str(kind).startswith("user")]


def _texts(parts: Iterable[Any], kinds: tuple[str, ...]) -> list[str]:
    return [str(part.get("text") or "") for part in parts if isinstance(part, dict) and part.get("type") in kinds]


def _turn(role: str, texts: Iterable[str], stamp: object) -> Iterator[Turn]:
    said = "\n\n".join(text for text in (_own_words(text) for text in texts) if text)
    if said:
        yield Turn(role, said, created_at=_moment(stamp))


_WRAPPED = re.compile(
    r"<(system-reminder|local-command-[a-z]+|command-[a-z]+|user-prompt-submit-hook|environment_context|user_instructions"
    r"|permissions instructions|collaboration_mode|INSTRUCTIONS)>.*?(?:</\1>|\Z)", re.DOTALL,
)  # fmt: skip
"""What a host wraps in tags of its own inside a user's turn."""
_INJECTED = re.compile(r"\s*(?:# AGENTS\.md instructions|Caveat: The messages below|\[Request interrupted by user)")


def _own_words(text: str) -> str:
    return "" if _INJECTED.match(text) else _WRAPPED.sub("", text).strip()


def _moment(stamp: object) -> int | None:
    from datetime import datetime

    if not isinstance(stamp, str):
        return None
    try:
        return to_ms(datetime.fromisoformat(stamp))
    except ValueError:
        return None
