"""The records of a JSON file, one at a time: the elements of an array, JSON lines, or a single value.

A record that is broken is named and passed over, and the ones behind it are still read. A streaming parser gives up at
the first fault of a file, so the standard decoder is used on a buffer instead: it holds one record, never the file.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from mnemic.interfaces.importers.files import File
from mnemic.interfaces.importers.items import Skipped

CHUNK = 1 << 20
MOST_CHARS = 64 << 20
"""Of one record: behind a longer one nothing more is read."""
_BLANK = re.compile(r"[\s,\0]*")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]', re.DOTALL)
_NEXT = {True: re.compile(r"\}\s*,\s*(?=\{)"), False: re.compile(r"\n(?=\{)")}
"""Where the next record may begin, in an array and in lines."""
CROSSED = -1
_STOP = re.compile(r"[,\]]")


@dataclass(frozen=True, slots=True)
class Record:
    """One value of a file."""

    where: str
    value: Any


class _Buffer:
    """The part of a file that is being looked at."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.text, self.at, self.ended = "", 0, False

    def more(self) -> None:
        """Read on, the more the longer the record already is: looking at it again and again stays linear."""
        self.text = self.text[self.at :]
        self.at = 0
        data = self._stream.read(max(CHUNK, len(self.text)))
        self.ended = not data
        self.text += self._decoder.decode(data, final=self.ended)

    def skip_blank(self) -> bool:
        """Go to what is not blank; whether there is something."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text) or self.ended:
                return self.at < len(self.text)
            self.more()

    def leap(self, array: bool) -> None:
        """Go behind a broken record: to where its brackets close, else to where another may begin."""
        while True:
            end = _closed(self.text, self.at) if array else CROSSED
            if end == CROSSED or (end is None and (self.ended or len(self.text) - self.at > MOST_CHARS)):
                found = _NEXT[array].search(self.text, self.at)
                end = found.end() if found else None
            if end is not None or self.ended:
                self.at = len(self.text) if end is None else max(end, self.at + 1)
                return
            if not array:
                self.at = max(self.at, len(self.text) - 1)  # a line without an end so far: nothing of it is kept
            self.more()


def read(file: File) -> Iterator[Record | Skipped]:
    """The records of a file; what of it cannot be read is named."""
    try:
        with file.opened() as stream:
            yield from records(stream, file.name)
    except OSError as error:
        yield Skipped(file.name, f"it cannot be read ({error})")


def records(stream: BinaryIO, name: str) -> Iterator[Record | Skipped]:
    """The records of a file. Raises OSError where it cannot be read."""
    buffer, decoder, number = _Buffer(stream), json.JSONDecoder(), 0
    if not buffer.skip_blank():
        return
    array = buffer.text[buffer.at] == "["
    buffer.at += array
    while buffer.skip_blank():
        if array and buffer.text[buffer.at] == "]":
            return
        number += 1
        where = f"{name}, record {number}"
        while True:
            try:
                value, buffer.at = decoder.raw_decode(buffer.text, buffer.at)
                yield Record(where, value)
                break
            except (ValueError, RecursionError) as error:
                if len(buffer.text) - buffer.at > MOST_CHARS:
                    yield Skipped(where, f"it is longer than {MOST_CHARS:,} characters: what stands behind it was not read")
                    return
                if not buffer.ended and _cut(error, buffer.text):
                    buffer.more()
                    continue
                yield Skipped(where, f"it is no JSON ({_plain(error)})")
                buffer.leap(array)
                break


def _cut(error: Exception, text: str) -> bool:
    """Whether the decoder may have met the end of the buffer rather than a fault."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - 16


def _plain(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _closed(text: str, start: int) -> int | None:
    """Where the value that begins here ends by its brackets; None if that is not to be seen, CROSSED if they do not match."""
    if text[start : start + 1] not in ("[", "{", '"'):
        found = _STOP.search(text, start)
        return found.start() if found else None
    open_ = list[str]()
    for token in _TOKEN.finditer(text, start):
        mark = token[0][0]
        if mark in "[{":
            open_.append("]" if mark == "[" else "}")
        elif mark != '"' and (not open_ or open_.pop() != mark):
            return CROSSED
        if not open_:
            return token.end()
    return None
