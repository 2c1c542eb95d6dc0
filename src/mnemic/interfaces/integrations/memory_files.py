"""The six commands of Anthropic's memory tool over records, with the texts that its documentation gives.

Nothing is a file here, so there is nothing to climb out of; a path that tries is refused all the same, as the
documentation demands, for the model should learn that it is none. A folder is there as long as something lies in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec
from urllib.parse import unquote

from mnemic.capture.records import Entry
from mnemic.errors import MnemicError
from mnemic.interfaces.integrations import CHANNEL
from mnemic.models.record import Key, Record

if TYPE_CHECKING:
    from mnemic.memory import Memory

P = ParamSpec("P")
ROOT = "memories"
MAX_LINES = 999_999
DEPTH = 2
"""How many levels a folder shows."""
AROUND = 2
"""How many lines are shown on either side of a change."""
DIFFERS = "Note: what was stored differs from what was given: secrets and recalled memory are not kept."


class CommandError(Exception):
    """What a command answers when it was not done, in the words of the documentation."""


def _answered(command: Callable[P, str]) -> Callable[P, str]:
    """A refusal of memory is the answer of a command that was not done."""

    @wraps(command)
    def answer(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return command(*args, **kwargs)
        except MnemicError as error:
            raise CommandError(f"Error: {error}") from error

    return answer


class MemoryFiles:
    """The files below `/memories` of one memory. Each command gives its text or raises CommandError."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._records = memory.records
        # An edit reads and writes; a model may call several at once.
        self._alone = threading.RLock()

    @_answered
    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with its lines numbered, from `view_range[0]` to `view_range[1]` (from 1, -1: to the end), or a folder."""
        key = key_of(path)
        record = self._records.get(key)
        if record is not None:
            with suppress(MnemicError):  # a home that cannot be written can be read
                self._memory.touch(record.path, reason="opened", channel=CHANNEL)
            return _numbered_file(path, record.body, view_range)
        below = self._records.list(key)
        if not below and key != (ROOT,):
            raise CommandError(f"The path {path} does not exist. Please provide a valid path.")
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
        return "\n".join([header, *(f"{_size(size)}\t{name}" for name, size in _listing(path, key, below))])

    @_answered
    def create(self, path: str, file_text: str) -> str:
        """Make a file that is not there yet."""
        key = key_of(path)
        with self._alone:
            if key == (ROOT,) or self._records.get(key) or self._records.list(key):
                raise CommandError(f"Error: File {path} already exists")
            self._check_folders(key)
            return f"File created successfully at: {path}" + self._write(key, file_text)

    @_answered
    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that stands in a file exactly once."""
        with self._alone:
            record = self._file(path, f"Error: The path {path} does not exist. Please provide a valid path.")
            body = record.body
            if not old_str or old_str not in body:
                raise CommandError(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
            lines = [body.count("\n", 0, place) + 1 for place in _places(body, old_str)]
            if body.count(old_str) > 1:
                raise CommandError(f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines:"
                                   f" {', '.join(map(str, lines))}. Please ensure it is unique")  # fmt: skip
            fresh = body.replace(old_str, new_str)
            differs = self._write(record.key, fresh)
            shown = fresh.split("\n")
            first = max(0, lines[0] - 1 - AROUND)
            return "\n".join([
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):",
                *_numbered(shown[first : lines[0] + AROUND], first + 1),
            ]) + differs  # fmt: skip

    @_answered
    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after line `insert_line`; 0 is the beginning."""
        with self._alone:
            record = self._file(path, f"Error: The path {path} does not exist")
            lines = record.body.split("\n")
            if not lines[-1]:
                lines.pop()
            if not 0 <= insert_line <= len(lines):
                raise CommandError(f"Error: Invalid `insert_line` parameter: {insert_line}. It should be within the range of"
                                   f" lines of the file: [0, {len(lines)}]")  # fmt: skip
            lines.insert(insert_line, insert_text.rstrip("\n"))
            return f"The file {path} has been edited." + self._write(record.key, "\n".join(lines) + "\n")

    @_answered
    def delete(self, path: str) -> str:
        """Take out a file, or a folder with all that lies in it."""
        key = key_of(path)
        if key == (ROOT,):
            raise CommandError("Cannot delete the /memories directory itself")
        with self._alone:
            keys = [record.key for record in self._records.list(key)]
            if not keys:
                raise CommandError(f"Error: The path {path} does not exist")
            self._records.remove(*keys, channel=CHANNEL)
        return f"Successfully deleted {path}"

    @_answered
    def rename(self, old_path: str, new_path: str) -> str:
        """Give a file, or a folder with all that lies in it, another name. What it was is kept in the ledger."""
        old, new = key_of(old_path), key_of(new_path)
        if old == (ROOT,):
            raise CommandError("Cannot rename the /memories directory itself")
        with self._alone:
            moved = self._records.list(old)
            if not moved:
                raise CommandError(f"Error: The path {old_path} does not exist")
            if new == (ROOT,) or self._records.list(new):
                raise CommandError(f"Error: The destination {new_path} already exists")
            if new[: len(old)] == old:
                raise CommandError(f"Error: The destination {new_path} lies inside {old_path}")
            self._check_folders(new)
            # Written before it is taken out: a kill in between leaves both.
            self._records.put(*(_entry((*new, *one.key[len(old) :]), one.body) for one in moved))
            self._records.remove(*(one.key for one in moved), channel=CHANNEL)
        return f"Successfully renamed {old_path} to {new_path}"

    @_answered
    def clear(self) -> str:
        """Take out all files."""
        with self._alone:
            self._records.remove(*(record.key for record in self._records.list((ROOT,))), channel=CHANNEL)
        return "All memory cleared"

    # parts

    def _file(self, path: str, otherwise: str) -> Record:
        record = self._records.get(key_of(path))
        if record is None:
            raise CommandError(otherwise)
        return record

    def _check_folders(self, key: Key) -> None:
        for end in range(2, len(key)):
            if self._records.get(key[:end]):
                raise CommandError(f"Error: /{'/'.join(key[:end])} is a file: nothing can lie in it")

    def _write(self, key: Key, text: str) -> str:
        record, = self._records.put(_entry(key, text))
        return "" if record.body == text else f"\n{DIFFERS}"


def key_of(path: str) -> Key:
    """The key of a path. Raises CommandError for one that does not lie in `/memories`, however it is spelt."""
    plain = path
    for _ in range(5):  # what was encoded several times
        plain = unquote(plain)
    parts = [part for part in plain.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise CommandError(f"Path {path} would escape /memories directory")
    if not path.startswith("/") or parts[:1] != [ROOT]:
        raise CommandError(f"Path must start with /memories, got: {path}")
    if any(ord(char) < 32 for char in plain):
        raise CommandError(f"Path {path!r} holds a control character")
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _entry(key: Key, text: str) -> Entry:
    return Entry(key=key, body=text, title=key[-1], channel=CHANNEL)


def _places(text: str, sought: str) -> Iterator[int]:
    place = text.find(sought)
    while place >= 0:
        yield place
        place = text.find(sought, place + 1)


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines, first)]


def _numbered_file(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise CommandError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range is not None and len(view_range) == 2:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
    return "\n".join([f"Here's the content of {path} with line numbers:", *_numbered(lines[first - 1 : max(0, last)], first)])


def _listing(path: str, key: Key, records: Sequence[Record]) -> list[tuple[str, int]]:
    """The folder itself, then what lies in it: names and sizes in bytes; a folder is as large as all that lies in it."""
    sizes: dict[tuple[str, ...], int] = {}
    for record in records:
        parts, size = record.key[len(key) :], len(record.body.encode())
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        for end in range(1, len(parts)):
            sizes[(*parts[:end], "")] = sizes.get((*parts[:end], ""), 0) + size
        sizes[parts] = size
    base = path.rstrip("/")
    shown = sorted((parts, size) for parts, size in sizes.items() if len([part for part in parts if part]) <= DEPTH)
    whole = sum(len(record.body.encode()) for record in records)
    return [(path, whole), *((f"{base}/{'/'.join(parts)}", size) for parts, size in shown)]


def _size(count: int) -> str:
    """A number of bytes as `du -h` and the SDK write it: 0B, 512B, 1.5K."""
    size, unit = float(count), "B"
    for larger in "KMG":
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{int(size)}{unit}" if size == int(size) else f"{size:.1f}{unit}"
