"""The transcripts of coding agents: Claude Code and Codex. Each line is read as the hooks read it, so that a session that
was captured while it ran and is imported later is recognised.

A transcript may be long, so it is taken piece by piece, cut before a question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from mnemic.interfaces.hooks.transcript import turns_of
from mnemic.interfaces.importers.files import File, Source
from mnemic.interfaces.importers.items import Conversation, Item, Skipped
from mnemic.interfaces.importers.values import text, word
from mnemic.models.document import Turn

MOST_LINE = 64 << 20
PIECE = 400
"""Turns after which a piece ends with the next question."""
Place = Callable[[Mapping[str, Any]], tuple[str, str]]
"""The session and the folder that a line names; empty where it names none."""


def claude_code(source: Source) -> Iterator[Item]:
    """`~/.claude/projects`, a folder of it, or one session."""
    seen = set[int]()  # a resumed session repeats the lines of the one before it, under their ids
    for file in source.named(".jsonl"):
        yield from _read(file, _claude_place, file.path.stem, seen)


def codex(source: Source) -> Iterator[Item]:
    """`~/.codex/sessions`, a folder of it, or one rollout."""
    for file in source.named(".jsonl"):
        # rollout-2026-11-30T12-00-00-UUID.jsonl: the session where no line names one
        yield from _read(file, _codex_place, file.path.stem[-36:], set())


def _claude_place(row: Mapping[str, Any]) -> tuple[str, str]:
    return word(row.get("sessionId")), text(row.get("cwd"))


def _codex_place(row: Mapping[str, Any]) -> tuple[str, str]:
    payload = row.get("payload")
    if row.get("type") != "session_meta" or not isinstance(payload, dict):
        return "", ""
    return word(payload.get("id")), text(payload.get("cwd"))


def _read(file: File, place: Place, session: str, seen: set[int]) -> Iterator[Item]:
    turns, left_out, context, read = list[Turn](), 0, "", 0

    def piece() -> Conversation:
        return Conversation(where=file.name, session=session, turns=turns, context=context, left_out=left_out)

    try:
        with file.opened() as stream:
            for number, line in enumerate(_lines(stream), 1):
                row = _row(line)
                if row is None:
                    yield Skipped(f"{file.name}, line {number}", "it is no JSON object")
                    continue
                own, folder = place(row)
                if own and own != session:
                    if turns:
                        yield piece()
                    session, turns, left_out = own, [], 0
                context = PurePosixPath(folder.replace("\\", "/")).name or context
                if (key := word(row.get("uuid"))) and (mark := hash(key)) in seen:
                    continue
                elif key:
                    seen.add(mark)
                try:
                    fresh = list(turns_of(row))
                except (AttributeError, TypeError, ValueError, RecursionError) as error:
                    yield Skipped(f"{file.name}, line {number}", f"it is not of the expected shape ({error})")
                    continue
                if len(turns) >= PIECE and fresh and fresh[0].role == "user":
                    yield piece()
                    turns, left_out = [], 0
                turns += fresh
                read += 1
                left_out += not fresh and row.get("type") in ("user", "assistant", "response_item")
    except OSError as error:
        yield Skipped(file.name, f"it cannot be read ({error})")
    if turns or read:
        yield piece()


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream that are not blank; one over the limit is given empty."""
    left = b""
    while data := stream.read(1 << 20):
        *whole, left = (left + data).split(b"\n")
        yield from (line for line in whole if line.strip())
        if len(left) > MOST_LINE:
            while (data := stream.read(1 << 20)) and b"\n" not in data:
                pass
            left = data.partition(b"\n")[2]
            yield b""
    yield from (line for line in left.split(b"\n") if line.strip())


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
