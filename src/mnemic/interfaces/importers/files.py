"""The files of what is imported: one file, a folder, or a zip archive, which is read and never unpacked.

An archive is somebody else's. Its members are streamed and nothing of it is written to disk, so a path that leads out
of it, a link, or a bomb has nothing to hit; such members are named and left out, and an archive that is a weapon as a
whole is refused (reliability S11).
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from mnemic.errors import BadInput
from mnemic.interfaces.importers.items import Skipped

MOST_MEMBERS = 200_000
MOST_BYTES = 16 << 30
"""Of an archive, unpacked."""
MOST_DIRECTORY = 16 << 20
"""Bytes of an archive's list of members: it is read as a whole."""
RATIO, RATIO_FROM = 250, 1 << 20
"""A member of more than RATIO_FROM bytes that shrank to less than one in RATIO is a bomb: chats shrink to one in 3 to 30."""


class _Counted:
    """A stream that tells how much was read of it, and names every fault as OSError."""

    def __init__(self, stream: IO[bytes], told: Callable[[int], None], most: int | None = None) -> None:
        self._stream, self._told, self._left = stream, told, most

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._stream.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise OSError(f"the archive is damaged here ({error})") from error
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise OSError("it is longer than the archive says")
        self._told(len(data))
        return data

    def close(self) -> None:
        self._stream.close()


@dataclass(frozen=True, slots=True)
class File:
    """One file of what is imported."""

    name: str
    """Its path inside of what is imported, with slashes."""
    size: int
    modified: int | None
    """In ms; None inside an archive, whose times have no zone."""
    _open: Callable[[], _Counted] = field(repr=False)

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath(self.name)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Read it. Raises OSError."""
        with closing(self._open()) as stream:
            yield cast(BinaryIO, stream)

    def text(self, most: int) -> str:
        """All of a text file. Raises OSError for one that is longer than `most` bytes."""
        with self.opened() as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise OSError(f"it is longer than {most:,} bytes")
        return data.decode("utf-8-sig", "replace")


@dataclass(slots=True)
class Source:
    """Everything that is imported at once."""

    name: str
    """The file's or folder's own name, without its ending."""
    files: list[File]
    skipped: list[Skipped]
    close: Callable[[], None] = lambda: None
    single: bool = False
    """Whether one file was named: then that is meant, whatever its ending."""

    @property
    def size(self) -> int:
        """In bytes, unpacked."""
        return sum(file.size for file in self.files)

    def named(self, *endings: str) -> list[File]:
        """The files with one of these endings."""
        return [file for file in self.files if self.single or file.name.lower().endswith(endings)]


def opened(path: Path, told: Callable[[int], None] = lambda count: None) -> Source:
    """What is to be imported; `told` hears of every stretch that is read. Raises BadInput."""
    path = path.expanduser()
    if not path.exists():
        raise BadInput(f"{str(path)!r} is not there: give a file, a folder or a zip archive")
    if path.is_dir():
        return _folder(path, told)
    if not path.is_file():
        raise BadInput(f"{str(path)!r} is neither a file nor a folder")
    if path.suffix.lower() == ".zip":
        return _archive(path, told)
    return Source(path.stem, [_plain(path, path.name, told)], [], single=True)


def _plain(path: Path, name: str, told: Callable[[int], None]) -> File:
    info = path.stat()

    return File(name, info.st_size, info.st_mtime_ns // 1_000_000, lambda: _Counted(path.open("rb"), told))


def _folder(root: Path, told: Callable[[int], None]) -> Source:
    files, skipped = list[File](), list[Skipped]()
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not _hidden(name))
        for name in sorted(names):
            path = Path(folder) / name
            inside = path.relative_to(root).as_posix()
            if _hidden(name):
                continue
            if not stat.S_ISREG(path.lstat().st_mode):
                skipped.append(Skipped(inside, "it is a link or no regular file"))
            else:
                files.append(_plain(path, inside, told))
    return Source(root.resolve().name, sorted(files, key=lambda file: file.name), skipped)


def _hidden(name: str) -> bool:
    return (name.startswith(".") and name != "..") or name == "__MACOSX"


def _archive(path: Path, told: Callable[[int], None]) -> Source:
    try:
        _check_directory(path)
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BadInput(f"{str(path)!r} cannot be read as a zip archive ({error}): fetch it again") from None
    members = archive.infolist()
    whole = sum(info.file_size for info in members)
    if len(members) > MOST_MEMBERS or whole > MOST_BYTES:
        archive.close()
        raise BadInput(f"{str(path)!r} holds {len(members):,} members of {whole:,} bytes: the limits are {MOST_MEMBERS:,} and"
                       f" {MOST_BYTES:,}; unpack it yourself and give the folder")  # fmt: skip
    files, skipped, seen = list[File](), list[Skipped](), set[str]()
    overlapping = _overlapping(members)
    for info in members:
        if info.is_dir() or any(_hidden(part) for part in PurePosixPath(info.filename).parts):
            continue
        why = "two members share its bytes" if info.header_offset in overlapping else _unsafe(info, seen)
        seen.add(info.filename)
        if why:
            skipped.append(Skipped(info.filename, why))
        else:
            files.append(File(info.filename, info.file_size, None, _member(archive, info, told)))
    return Source(path.stem, sorted(files, key=lambda file: file.name), skipped, archive.close)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, told: Callable[[int], None]) -> Callable[[], _Counted]:
    def start() -> _Counted:
        try:
            stream = archive.open(info)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise OSError(f"the archive is damaged here ({error})") from error
        return _Counted(stream, told, info.file_size)

    return start


def _unsafe(info: zipfile.ZipInfo, seen: set[str]) -> str | None:
    name, mode = info.filename, info.external_attr >> 16
    if "\\" in name or name.startswith("/") or ":" in name.split("/")[0] or ".." in name.split("/"):
        return "its name leads out of the archive"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "it is a link or no regular file"
    if info.flag_bits & 0x1:
        return "it is encrypted: unpack it yourself and give the folder"
    if name in seen:
        return "another member has the same name"
    if info.file_size > RATIO_FROM and info.file_size > RATIO * max(info.compress_size, 1):
        return f"it shrank to less than one in {RATIO}, as a bomb does: unpack it yourself if it is none"
    return None


def _overlapping(members: list[zipfile.ZipInfo]) -> set[int]:
    """Where members begin that lie on one another."""
    order, found = sorted(members, key=lambda info: info.header_offset), set[int]()
    end = 0
    for info in order:
        if info.header_offset < end:
            found.add(info.header_offset)
        end = max(end, info.header_offset + 30 + info.compress_size)
    return found


def _check_directory(path: Path) -> None:
    """Refuse a list of members that would fill the memory, before it is read. Raises BadZipFile."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65_557))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("it has no end")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    wide = tail.rfind(b"PK\x06\x06", 0, at)
    if wide >= 0 and len(tail) >= wide + 48:
        size = max(size if size != 0xFFFFFFFF else 0, struct.unpack_from("<Q", tail, wide + 40)[0])
    if size > MOST_DIRECTORY:
        raise zipfile.BadZipFile(f"its list of members has {size:,} bytes, the limit is {MOST_DIRECTORY:,}")
