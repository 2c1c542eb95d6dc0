"""The vault's files in a backup: all regular files, as they are, and out again without a step beside the folder.

What an archive says is not trusted: names are checked like any path into the vault, and nothing but regular files and
folders is made, in a fresh folder in which nobody can have put a link.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mnemic.errors import BadInput, Damaged
from mnemic.vault.files import Stamp, contained, is_side_file
from mnemic.vault.history import FRESH, History

TREES = ("vault", "vaults")
"""First segments of what in a backup belongs to vaults: that of the home's own namespace, and those of all others."""
LIMIT = 1 << 40
_TIMES, _NTFS, _SINCE_1601 = struct.Struct("<HHLHHQQQ"), 0x000A, 116_444_736_000_000_000
"""The extra field of a zip that holds times, in units of 100 ns since 1601."""
_LEFT_OUT = ("index.lock", "index.mnemic")
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def pack(
    archive: zipfile.ZipFile, root: Path, name: str, *, without: Collection[Path] = (), never: Collection[str] = ()
) -> dict[str, str]:
    """Add all below `root` under `name`; what was left out, with the reason.

    `without`: what is not even looked at; `never`: nor what bears these names: a live database must not be opened here.
    A `.git` goes in only where it is ours: a user's own repository has its own way to be kept.
    """
    skipped: dict[str, str] = {}
    if root.is_dir():
        archive.writestr(_info(f"{name}/", os.stat(root)), b"")
    for path, entry in below(root, "", skipped, without, never):
        try:
            seen = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                archive.writestr(_info(f"{name}/{path}/", seen), b"")
            elif not stat.S_ISREG(seen.st_mode):
                skipped[path] = "it is a symlink" if entry.is_symlink() else "it is no regular file"
            else:
                _add(archive, f"{name}/{path}", entry.path)
        except UnicodeEncodeError:
            skipped[path] = "its name is not UTF-8: rename it"
        except OSError as error:
            skipped[path] = f"it cannot be read ({error.strerror})"
    return skipped


def below(
    root: Path, folder: str, skipped: dict[str, str], without: Collection[Path], never: Collection[str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All below a folder of `root`, by path from there, in order; why something was left out goes into `skipped`."""
    try:
        with os.scandir(root / folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        skipped[folder or "."] = f"the folder cannot be listed ({error.strerror})"
        return
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if is_side_file(entry.name) or entry.name in _LEFT_OUT or entry.name.startswith((FRESH, ".mnemic-backup-")):
            continue
        if entry.name in never or Path(entry.path) in without:
            continue
        if entry.name == ".git" and History(root / folder, "own").state() != "own":
            skipped[path] = "it is a repository of yours"
            continue
        yield path, entry
        if entry.is_dir(follow_symlinks=False):
            yield from below(root, path, skipped, without, never)


def _add(archive: zipfile.ZipFile, name: str, file: str) -> None:
    """Copy one file. Raises OSError where it cannot be read as a whole."""
    descriptor = os.open(file, _FLAGS)
    with os.fdopen(descriptor, "rb") as handle:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is no regular file")
        with archive.open(_info(name, found), "w", force_zip64=found.st_size > 1 << 30) as target:
            shutil.copyfileobj(handle, target, 1 << 20)
        if Stamp.of(os.fstat(descriptor)) != Stamp.of(found):
            raise OSError(0, "it was being written: the copy may be half of it")


def _info(name: str, found: os.stat_result) -> zipfile.ZipInfo:
    name.encode()
    moment = datetime.fromtimestamp(min(max(found.st_mtime, 315_532_800), 4_354_819_199), UTC)  # 1980 to 2107, as zip has it
    info = zipfile.ZipInfo(name, moment.timetuple()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = found.st_mode << 16
    info.extra = _TIMES.pack(_NTFS, _TIMES.size - 4, 0, 1, 24, *[found.st_mtime_ns // 100 + _SINCE_1601] * 3)
    return info


def _mtime_ns(item: zipfile.ZipInfo) -> int | None:
    """When a file was changed; a zip's own time knows even seconds of an unknown zone alone."""
    extra = item.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _NTFS and size >= _TIMES.size - 4 and len(extra) >= _TIMES.size:
            return (int(_TIMES.unpack_from(extra)[5]) - _SINCE_1601) * 100
        extra = extra[4 + size :]
    return None


def unpack(archive: zipfile.ZipFile, items: Sequence[zipfile.ZipInfo], folder: Path) -> None:
    """Take vaults out into an empty folder. Raises BadInput for an archive that no backup of ours is, before it writes."""
    if sum(item.file_size for item in items) > LIMIT:
        raise BadInput("what the backup holds of the vault is over the limit: it is none of ours")
    for item in items:
        _checked(item)
    for item in items:
        parts = item.filename.rstrip("/").split("/")
        target = folder.joinpath(*parts)
        if item.is_dir():
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with archive.open(item) as packed, open(target, "xb") as out:
                shutil.copyfileobj(packed, out, 1 << 20)
        except FileExistsError:
            raise Damaged(f"the backup has {item.filename!r} twice, or this disk cannot tell it from another name") from None
        os.chmod(target, item.external_attr >> 16 & 0o777 or 0o600)
        at = _mtime_ns(item)
        if at is not None and abs(at) < 1 << 62:
            os.utime(target, ns=(at, at))
    os.sync()  # once, instead of once for each of ten thousand files


def _checked(item: zipfile.ZipInfo) -> None:
    parts = contained(item.filename.removesuffix("/"))
    kind = stat.S_IFMT(item.external_attr >> 16)
    if parts[0] not in TREES or (len(parts) == 1 and not item.is_dir()):
        raise BadInput(f"{item.filename[:200]!r} is in no backup of ours")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadInput(f"{item.filename[:200]!r} in the backup is no regular file")


def place(fresh: Path, target: Path, kept: Path, *, inside: bool) -> Path:
    """Put an unpacked vault where it belongs, and what stands there into `kept`; where it came to stand.

    A folder outside of the home (`inside` false) that has something in it stays as it is: others may be using it. The
    vault is then left beside `kept`.
    """
    there = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if not there:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if target.is_dir():
            target.rmdir()
        shutil.move(fresh, target)  # it may be on another disk
        return target
    if not inside:
        beside = kept.with_name(kept.name.replace("before-restore", "restored-vault"))
        os.rename(fresh, beside)
        return beside
    os.rename(target, kept / fresh.name)
    os.rename(fresh, target)
    return target
