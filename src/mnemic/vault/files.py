"""Files that people edit while we do: read whole or not at all, written old or new and never a mix.

A new version is written beside, flushed, and then *exchanged* with what stands there, so that what was displaced is
still in our hands when we look at it. If it is not what the new version was made from, a person saved in between:
their file goes back to its place, and ours gives way. Nothing is ever overwritten unseen. The names of the side files
say what they hold, so that `sweep` can tell, after a kill, a leftover of ours from a person's text.

Every step of the way from the root is opened without following symlinks, so no name leads out of the vault.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mnemic.errors import BadInput, Conflict, DiskFull, NotFound, StoreError

MAX_BYTES = 32 * 1024 * 1024
"""A note above this is reported and left alone."""
PART, SWAP = ".mnemic-part", ".mnemic-swap"
NAME_BYTES = 200
"""What a file name may take; file systems allow 255, and a conflict copy's name is longer."""
ATTEMPTS = 8
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\/:*?"<>|#^\[\]]')
_SWAP_NAME = re.compile(r"^\.([0-9a-f]{16})\.([0-9a-f]{16})\.(.*)" + re.escape(SWAP) + "$", re.DOTALL)
_EXCHANGE = 2
Edit = Callable[[bytes], bytes]


class Busy(StoreError):
    """A file changed while it was read: try again later."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """How the file system describes a file: while this is the same, so are its bytes."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        return cls(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a file."""

    data: bytes
    stamp: Stamp

    @property
    def digest(self) -> str:
        return sha256(self.data)


class Disk:
    """The calls that change a disk, one method each: a test lets any of them fail, or be the last."""

    def make(self, name: str, at: int, mode: int) -> int:
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)

    def write(self, descriptor: int, data: memoryview) -> int:
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def mkdir(self, name: str, at: int) -> None:
        os.mkdir(name, 0o700, dir_fd=at)

    def link(self, name: str, to: str, at: int, to_at: int) -> None:
        os.link(name, to, src_dir_fd=at, dst_dir_fd=to_at, follow_symlinks=False)

    def rename(self, name: str, to: str, at: int, to_at: int) -> None:
        os.rename(name, to, src_dir_fd=at, dst_dir_fd=to_at)

    def exchange(self, name: str, to: str, at: int) -> None:
        """Let two names of a folder change places in one step."""
        import ctypes

        call: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if call is not None:
            if call(at, os.fsencode(name), at, os.fsencode(to), _EXCHANGE) == 0:
                return
            number = ctypes.get_errno()
            if number not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
                raise OSError(number, os.strerror(number), to)
        # Elsewhere: the old file gets a second name first, so it too can be looked at after the fact.
        aside = name.removesuffix(SWAP) + "-old" + SWAP
        os.link(to, aside, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        os.rename(name, to, src_dir_fd=at, dst_dir_fd=at)
        os.rename(aside, name, src_dir_fd=at, dst_dir_fd=at)

    def unlink(self, name: str, at: int) -> None:
        os.unlink(name, dir_fd=at)


class Folder:
    """The vault's folder, by paths relative to it that are written with `/`."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.root, self._disk = root, disk or Disk()

    # reading

    def read(self, path: str) -> Read:
        """All bytes of a regular file. Raises NotFound, Busy, StoreError; never waits on a FIFO or follows a link."""
        try:
            with self._parent(path) as (at, name):
                return self._read(name, at, path)
        except FileNotFoundError:
            raise NotFound(f"no file {path!r} in the vault: see `mnemic card list`") from None
        except OSError as error:
            raise StoreError(f"{path!r} cannot be read ({error.strerror}): it was left alone") from error

    def _read(self, name: str, at: int, path: str) -> Read:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        descriptor = os.open(name, flags, dir_fd=at)
        with os.fdopen(descriptor, "rb", buffering=0) as handle:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise StoreError(f"{path!r} is no regular file: it was left alone")
            if before.st_size > MAX_BYTES:
                raise StoreError(f"{path!r} has {before.st_size:,} bytes, the limit is {MAX_BYTES:,}: split it")
            data = handle.read(before.st_size + 1)
            while more := handle.read(1 << 20):  # grew while it was read
                data += more
                if len(data) > MAX_BYTES:
                    break
            stamp = Stamp.of(os.fstat(descriptor))
            now = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stamp != Stamp.of(before) or stamp != Stamp.of(now) or len(data) != stamp.size:
            raise Busy(f"{path!r} was being written while it was read: it will be read again later")
        return Read(data, stamp)

    def exists(self, path: str) -> bool:
        """Whether anything bears this name. Raises StoreError where that cannot be told."""
        try:
            with self._parent(path) as (at, name):
                os.stat(name, dir_fd=at, follow_symlinks=False)
                return True
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"{path!r} cannot be read ({error.strerror}): it was left alone") from error

    # writing

    def create(self, path: str, data: bytes) -> Read:
        """Write a file that is not there yet. Raises Conflict if one is."""
        with self._writing(path), self._parent(path, make=True) as (at, name):
            part = self._part(name, data, at)
            try:
                self._disk.link(part, name, at, at)  # refuses to take a name that is taken
            except FileExistsError:
                self._disk.unlink(part, at)
                raise Conflict(f"{path!r} is there already: choose another title, or edit it") from None
            self._disk.unlink(part, at)
            self._disk.fsync(at)
            return self._read(name, at, path)

    def replace(self, path: str, data: bytes, was: str) -> Read | None:
        """Put `data` in place of the version with the digest `was`; None, and nothing changed, if another is there."""
        with self._writing(path), self._parent(path) as (at, name):
            found = self._read(name, at, path)
            if found.digest != was:
                return None
            if data == found.data:
                return found
            mode = stat.S_IMODE(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
            ours = sha256(data)
            swap = f".{ours[:16]}.{was[:16]}.{_short(name)}{SWAP}"
            part = self._part(name, data, at, mode)
            self._disk.rename(part, swap, at, at)
            if not self._exchanged(swap, name, at, ours, was):
                return None
            self._disk.fsync(at)
            return self._read(name, at, path)

    def _exchanged(self, swap: str, name: str, at: int, ours: str, was: str) -> bool:
        """Exchange, look at what came out, and exchange back if it is not what the new version was made from."""
        self._disk.exchange(swap, name, at)
        if _holds(swap, at, was) and _unused(swap, at):
            self._disk.unlink(swap, at)
            return True
        if _holds(swap, at, was):  # somebody has it open: what they may write into it is found by `sweep`
            return True
        self._disk.exchange(swap, name, at)
        if _holds(swap, at, ours):
            self._disk.unlink(swap, at)
        else:  # saved again between the two: the newer one is kept beside
            self._beside(swap, name, at)
        self._disk.fsync(at)
        return False

    def update(self, path: str, edit: Edit, about: Callable[[str, str], None] = lambda was, ours: None) -> Read:
        """Apply an edit to whatever a person left there, again if they save meanwhile. Raises Conflict, NotFound.

        `about` is told the digests of what was read and of what is going to be written.
        """
        for _ in range(ATTEMPTS):
            try:
                found = self.read(path)
            except Busy:
                continue
            data = edit(found.data)
            if data == found.data:
                return found
            about(found.digest, sha256(data))
            if done := self.replace(path, data, found.digest):
                return done
        raise Conflict(f"{path!r} is being edited all the time: nothing was changed, try again later")

    def put(self, path: str, data: bytes, was: str | None) -> tuple[str, Read]:
        """Write a whole new version, made from the one with the digest `was` (None: from none).

        If a person's version is there instead, theirs stays in its place, and ours is written beside it; returns
        where it stands.
        """
        if was is None:
            with suppress(Conflict):
                return path, self.create(path, data)
        elif done := self.replace(path, data, was):
            return path, done
        stem, _, ending = path.rpartition(".")
        for number in range(1, 1000):
            beside = f"{stem}.conflict-{sha256(data)[:8]}{f'-{number}' if number > 1 else ''}.{ending}"
            with suppress(Conflict):
                return beside, self.create(beside, data)
        raise Conflict(f"{path!r} has a thousand conflict copies: look through them and delete what is not needed")

    def move(self, path: str, to: str) -> None:
        """Give a file another name. Raises Conflict if that is taken, NotFound."""
        with self._writing(path), self._parent(path) as (at, name), self._parent(to, make=True) as (to_at, to_name):
            try:
                twice = _same_file(name, at, to_name, to_at)
                if twice == 1:  # another case on a file system that does not tell cases apart
                    self._disk.rename(name, to_name, at, to_at)
                elif twice:  # a move that was killed half-way
                    self._disk.unlink(name, at)
                else:
                    self._disk.link(name, to_name, at, to_at)
                    self._disk.fsync(to_at)
                    self._disk.unlink(name, at)
            except FileExistsError:
                raise Conflict(f"{to!r} is there already: choose another title") from None
            except FileNotFoundError:
                raise NotFound(f"no file {path!r} in the vault: see `mnemic card list`") from None
            self._disk.fsync(to_at)
            self._disk.fsync(at)

    def remove(self, path: str) -> None:
        """Delete a file, if it is there."""
        with self._writing(path), suppress(FileNotFoundError), self._parent(path) as (at, name):
            self._disk.unlink(name, at)
            self._disk.fsync(at)

    def sweep(self, path: str) -> str | None:
        """Deal with a side file that a kill left: ours goes, a person's text is kept beside. Returns where, if so."""
        with self._writing(path), self._parent(path) as (at, name):
            if name.endswith(PART):
                self._disk.unlink(name, at)
                return None
            match = _SWAP_NAME.match(name)
            if match is None or not _unused(name, at):
                return None
            if _holds(name, at, match[1]) or _holds(name, at, match[2]):
                self._disk.unlink(name, at)
                return None
            return "/".join([*path.split("/")[:-1], self._beside(name, match[3], at)])

    def _beside(self, swap: str, name: str, at: int) -> str:
        stem, _, ending = name.rpartition(".")
        for number in range(1, 1000):
            beside = f"{stem or name}.conflict-{swap[1:9]}{f'-{number}' if number > 1 else ''}.{ending or 'md'}"
            with suppress(FileExistsError):
                self._disk.link(swap, beside, at, at)
                self._disk.unlink(swap, at)
                return beside
        return swap

    def _part(self, name: str, data: bytes, at: int, mode: int = 0o600) -> str:
        part = f".{sha256(data)[:16]}.{os.getpid()}.{_short(name)}{PART}"
        with suppress(FileNotFoundError):
            self._disk.unlink(part, at)
        descriptor = self._disk.make(part, at, mode)
        try:
            os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[self._disk.write(descriptor, view) :]
            self._disk.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.unlink(part, dir_fd=at)
            raise
        finally:
            os.close(descriptor)
        return part

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise NotFound(f"no file {path!r} in the vault: see `mnemic card list`") from None
        except OSError as error:
            kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
            raise kind(f"{path!r} cannot be written ({error.strerror}): it is as it was") from error

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder a path lies in, opened step by step, and the name in it."""
        *folders, name = contained(path)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        if make:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        at = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        self._disk.mkdir(folder, at)
                        self._disk.fsync(at)
                try:
                    below = os.open(folder, flags, dir_fd=at)
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        raise BadInput(f"{path!r} leads through {folder!r}, which is no folder of the vault") from None
                    raise
                os.close(at)
                at = below
            yield at, name
        finally:
            os.close(at)


def contained(path: str) -> list[str]:
    """The segments of a path in the vault. Raises BadInput for one that would leave it."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts) or path.startswith("~"):
        raise BadInput(f"{path[:200]!r} is no path in the vault: give one like 'cards/people/Ada.md'")
    return parts


def file_name(title: str) -> str:
    """A title as a file name that every system can bear, without ending. Raises BadInput if nothing is left."""
    name = " ".join(_FORBIDDEN.sub(" ", title.encode("utf-8", "ignore").decode()).split()).strip(". ")
    while len(name.encode()) > NAME_BYTES:
        name = name[:-1].rstrip(". ")
    if not name:
        raise BadInput(f"{title[:50]!r} cannot be a file's name: give a title with a letter or a digit")
    return f"{name} card" if _RESERVED.match(name) else name


def sha256(data: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_side_file(name: str) -> bool:
    """Whether a name is one of those that a write uses on its way."""
    return name.endswith((PART, SWAP)) and name.startswith(".")


def _short(name: str) -> str:
    """A name cut so that a side file's name still fits."""
    while len(os.fsencode(name)) > 190:
        name = name[1:]
    return name


def _holds(name: str, at: int, digest: str) -> bool:
    """Whether a file's bytes have this digest, of which the first 16 digits may be given."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    with os.fdopen(descriptor, "rb") as handle:
        return sha256(handle.read()).startswith(digest)


def _unused(name: str, at: int) -> bool:
    """Whether nobody else has a file open: an editor that holds it may still write into it."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return True
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # a broken lease must not kill us by SIGIO
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return True
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EBUSY)  # no leases here: as on every other system
    finally:
        os.close(descriptor)


def _same_file(name: str, at: int, other: str, other_at: int) -> int:
    """How many names the file has that stands under both of these; 0 if they are not one file."""
    with suppress(FileNotFoundError):
        one = os.stat(name, dir_fd=at, follow_symlinks=False)
        two = os.stat(other, dir_fd=other_at, follow_symlinks=False)
        return one.st_nlink if (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino) else 0
    return 0
