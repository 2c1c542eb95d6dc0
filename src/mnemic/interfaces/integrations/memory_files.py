"""The six commands of Anthropic's memory tool over records, with the texts that its documentation gives.

Nothing is a file here, so there is nothing to climb out of; a path that tries is refused all the same, as the
documentation demands, for the model should learn that it is none. A file's name is its whole path below `/memories`, and
a folder is there as long as something lies in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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
Parts = tuple[str, ...]
"""The names on the way from `/memories` to a file or folder; none for `/memories` itself."""
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
        parts = parts_of(path)
        record = self._get(parts)
        if record is not None:
            with suppress(MnemicError):  # a home that cannot be written can be read
                self._memory.touch(record.path, reason="opened", channel=CHANNEL)
            return _numbered_file(path, record.body, view_range)
        below = self._below(parts)
        if not below and parts:
            raise CommandError(f"The path {path} does not exist. Please provide a valid path.")
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
        return "\n".join([header, *(f"{_size(size)}\t{name}" for name, size in _listing(path, parts, below))])

    @_answered
    def create(self, path: str, file_text: str) -> str:
        """Make a file that is not there yet."""
        parts = parts_of(path)
        with self._alone:
            if not parts or self._below(parts):
                raise CommandError(f"Error: File {path} already exists")
            self._check_folders(parts)
            return f"File created successfully at: {path}" + self._write(parts, file_text)

    @_answered
    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that stands in a file exactly once."""
        with self._alone:
            parts, body = self._file(path, f"Error: The path {path} does not exist. Please provide a valid path.")
            if not old_str or old_str not in body:
                raise CommandError(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
            lines = [body.count("\n", 0, place) + 1 for place in _places(body, old_str)]
            if body.count(old_str) > 1:
                raise CommandError(f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines:"
                                   f" {', '.join(map(str, lines))}. Please ensure it is unique")  # fmt: skip
            fresh = body.replace(old_str, new_str)
            differs = self._write(parts, fresh)
            first = max(0, lines[0] - 1 - AROUND)
            return "\n".join([
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):",
                *_numbered(fresh.split("\n")[first : lines[0] + AROUND], first + 1),
            ]) + differs  # fmt: skip

    @_answered
    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after line `insert_line`; 0 is the beginning."""
        with self._alone:
            parts, body = self._file(path, f"Error: The path {path} does not exist")
            lines = body.split("\n")
            if not lines[-1]:
                lines.pop()
            if not 0 <= insert_line <= len(lines):
                raise CommandError(f"Error: Invalid `insert_line` parameter: {insert_line}. It should be within the range of"
                                   f" lines of the file: [0, {len(lines)}]")  # fmt: skip
            lines.insert(insert_line, insert_text.rstrip("\n"))
            text = "\n".join(lines)
            # As the SDK's own tool does: a blank line at the very end is the line's end.
            return f"The file {path} has been edited." + self._write(parts, text if text.endswith("\n") else text + "\n")

    @_answered
    def delete(self, path: str) -> str:
        """Take out a file, or a folder with all that lies in it."""
        parts = parts_of(path)
        if not parts:
            raise CommandError("Cannot delete the /memories directory itself")
        with self._alone:
            gone = self._below(parts)
            if not gone:
                raise CommandError(f"Error: The path {path} does not exist")
            self._remove(gone)
        return f"Successfully deleted {path}"

    @_answered
    def rename(self, old_path: str, new_path: str) -> str:
        """Give a file, or a folder with all that lies in it, another name. What it was is kept in the ledger."""
        old, new = parts_of(old_path), parts_of(new_path)
        if not old:
            raise CommandError("Cannot rename the /memories directory itself")
        with self._alone:
            moved = self._below(old)
            if not moved:
                raise CommandError(f"Error: The path {old_path} does not exist")
            if not new or self._below(new):
                raise CommandError(f"Error: The destination {new_path} already exists")
            if new[: len(old)] == old:
                raise CommandError(f"Error: The destination {new_path} lies inside {old_path}")
            self._check_folders(new)
            # Written before it is taken out: a kill in between leaves both.
            self._records.put(*(_entry((*new, *parts[len(old) :]), one.body) for parts, one in moved.items()))
            self._remove(moved)
        return f"Successfully renamed {old_path} to {new_path}"

    @_answered
    def clear(self) -> str:
        """Take out all files."""
        with self._alone:
            self._remove(self._below(()))
        return "All memory cleared"

    # parts

    def _get(self, parts: Parts) -> Record | None:
        return self._records.get((ROOT, "/".join(parts))) if parts else None

    def _below(self, parts: Parts) -> dict[Parts, Record]:
        """The file itself, or all that lies in the folder."""
        records = self._records.below((ROOT,), lambda key: _parts(key)[: len(parts)] == parts)
        return {_parts(record.key): record for record in records}

    def _file(self, path: str, otherwise: str) -> tuple[Parts, str]:
        parts = parts_of(path)
        record = self._get(parts)
        if record is None:
            raise CommandError(otherwise)
        return parts, record.body

    def _check_folders(self, parts: Parts) -> None:
        for end in range(1, len(parts)):
            if self._get(parts[:end]):
                raise CommandError(f"Error: /{ROOT}/{'/'.join(parts[:end])} is a file: nothing can lie in it")

    def _write(self, parts: Parts, text: str) -> str:
        (record,) = self._records.put(_entry(parts, text))
        return "" if record.body == text else f"\n{DIFFERS}"

    def _remove(self, files: Mapping[Parts, Record]) -> None:
        self._records.remove(*(record.key for record in files.values()), channel=CHANNEL)


def parts_of(path: str) -> Parts:
    """The names in a path. Raises CommandError for one that does not lie in `/memories`, however it is spelt."""
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
    return tuple(part for part in path.split("/") if part not in ("", "."))[1:]


def _parts(key: Key) -> Parts:
    return tuple(key[1].split("/"))


def _entry(parts: Parts, text: str) -> Entry:
    name = "/".join(parts)
    return Entry(key=(ROOT, name), body=text, title=name, channel=CHANNEL)


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
    shown = "\n".join(_numbered(lines[first - 1 : max(0, last)], first))
    return f"Here's the content of {path} with line numbers:\n{shown}"


def _listing(path: str, base: Parts, files: Mapping[Parts, Record]) -> list[tuple[str, int]]:
    """The folder itself, then what lies in it: names and sizes in bytes; a folder is as large as all that lies in it."""
    sizes: dict[Parts, int] = {}
    for whole, record in files.items():
        parts, size = whole[len(base) :], len(record.body.encode())
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        for end in range(1, len(parts)):
            folder = (*parts[:end], "")
            sizes[folder] = sizes.get(folder, 0) + size
        sizes[parts] = size
    root = path.rstrip("/")
    shown = sorted((parts, size) for parts, size in sizes.items() if len([part for part in parts if part]) <= DEPTH)
    total = sum(len(record.body.encode()) for record in files.values())
    return [(path, total), *((f"{root}/{'/'.join(parts)}", size) for parts, size in shown)]


def _size(count: int) -> str:
    """A number of bytes as `du -h` and the SDK write it: 0B, 512B, 1.5K."""
    size, unit = float(count), "B"
    for larger in "KMG":
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{int(size)}{unit}" if size == int(size) else f"{size:.1f}{unit}"
