"""Room kept free for the day when the disk is full.

Then SQLite can delete nothing either: erasing writes to the log first, and even opening a file to read it takes a few
pages. So every home holds an empty file of a fixed size; it is given up when a home does not open or an erasure does
not go through for lack of space, and taken again by whoever opens the home when there is room.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NAME = "reserve"
SIZE = 2 << 20
"""Bytes. Three shared-memory files take 96 KiB; to erase one note of 300, short or long, took 0.5 MiB of log."""
ROOM = 4 * SIZE
"""It is taken only while so much is free: on a disk that is nearly full it would be the last straw."""


def hold(folder: Path) -> None:
    """Take the room if it is not held and there is enough of it."""
    file = folder / NAME
    with suppress(OSError):  # a home without it works as well, until the disk is full
        if file.exists() or os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize < ROOM:
            return
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, SIZE)
        finally:
            os.close(descriptor)


def release(folder: Path) -> bool:
    """Give the room up; whether there was any."""
    try:
        (folder / NAME).unlink()
    except OSError:
        return False
    return True
