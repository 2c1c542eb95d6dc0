"""Backup and restore of a home's databases; what else belongs to it comes in by others.

The files of a live home are never read from outside the engine: each shelf is written out by its backup interface, opened,
checked, and only then packed. A restore unpacks into a fresh folder, checks there, and swaps file by file, keeping
what stood before.
"""

from __future__ import annotations

import os
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mnemic.errors import BadInput, Conflict, Damaged, StoreError
from mnemic.store.archive import More, archived, sync_folder
from mnemic.store.sqlite import migrations
from mnemic.store.sqlite.connection import connect, translated
from mnemic.store.sqlite.shelves import FILES

if TYPE_CHECKING:
    from mnemic.store.sqlite.store import SqliteStore

NAMES = frozenset(file + end for file in FILES.values() for end in ("", "-wal", "-shm", "-journal"))
"""Of the files that only the engine may open: any other way drops its locks."""
LIMIT = 1 << 40
TRIES = 5
"""The three files are copied one after the other; a document that moved meanwhile may be in none of the copies."""


def write(store: SqliteStore, target: Path, more: Callable[[zipfile.ZipFile], None] | None = None) -> None:
    """Copy all shelves into one zip file, and what `more` adds to it, after them.

    Raises StoreError; an earlier file of that name is replaced at the end.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=".mnemic-backup-") as folder:
        for _ in range(TRIES):
            moves = store.moves()
            for name in FILES:
                base = store.shelf(name)
                store.copy_shelf(base, Path(folder) / base.path.name)
            if moves == store.moves():
                break
        else:
            raise Conflict("documents kept moving between the shelves while they were copied: repeat the backup")
        with archived(target, Path(folder) / "backup.zip") as archive:
            for file in FILES.values():
                archive.write(Path(folder) / file, file)
            if more is not None:
                more(archive)


def unpack(source: Path, folder: Path, more: More | None = None) -> None:
    """Take a backup's shelves out into an empty folder and check every page of them; `more` takes out the rest.

    Raises BadInput if it is no backup of ours, Damaged if a shelf does not verify.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            items = archive.infolist()
            shelves = {item.filename: item for item in items if item.filename in FILES.values()}
            rest = [item for item in items if item.filename not in shelves]
            if len(shelves) != len(FILES) or any(item.file_size > LIMIT for item in items) or (rest and more is None):
                raise BadInput(f"{str(source)!r} is not a mnemic backup: it should hold {', '.join(FILES.values())}")
            if more is not None:
                more(archive, rest)
            for name, item in shelves.items():
                with archive.open(item) as packed, open(folder / name, "wb") as target:
                    shutil.copyfileobj(packed, target)
                    target.flush()
                    os.fsync(target.fileno())
    except FileNotFoundError:
        raise BadInput(f"there is no file {str(source)!r}: name a backup that `mnemic backup` wrote") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise Damaged(f"{str(source)!r} cannot be unpacked ({error}): use another backup") from None
    for name in FILES.values():
        _check(folder / name, name)


def _check(file: Path, name: str) -> None:
    with translated(name):
        db = connect(file, create=False)
        try:
            migrations.check(db, name)
            found = db.pragma("quick_check")
        finally:
            db.close()
    if found != "ok":
        raise Damaged(f"the backup's {name} does not verify ({found}): use another backup")


def swap(fresh: Path, home: Path, kept: Path) -> None:
    """Put the fresh shelves where the home's are; what stood there moves to `kept`. No one may have the home open."""
    kept.mkdir(mode=0o700, parents=True)
    for name in FILES.values():
        for end in ("", "-wal", "-shm"):
            if (home / (name + end)).exists():
                os.replace(home / (name + end), kept / (name + end))
        try:
            os.replace(fresh / name, home / name)
        except OSError as error:
            raise StoreError(
                f"restoring stopped at {name} ({error.strerror}); the old files are in {str(kept)!r}"
            ) from error
    sync_folder(home)
