"""The file that a backup is: in its place only when complete, whichever engine fills it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

More = Callable[[zipfile.ZipFile, Sequence[zipfile.ZipInfo]], None]
"""Takes out what of an archive is not the store's."""


@contextmanager
def archived(target: Path, part: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file to write to, as `part` in the target's file system; an earlier target is replaced at the end."""
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as packed:
            yield packed
        with open(part, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
