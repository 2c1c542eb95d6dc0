"""Where the running service of a home is: what `mnemic serve` writes down for hooks (see `hooks.client`)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from mnemic.interfaces.hooks.client import NOTE

TOKEN = "serve.token"
PROXY = "proxy.note"
"""Where the proxy of a home notes itself, so that the workbench can show what it does."""


class Note(NamedTuple):
    """What a home knows of its service, in the order of the note's lines."""

    host: str
    port: int
    token: str
    namespace: str
    """The one that is served."""
    unnamed: str
    """The one that is meant where none is named."""


@contextmanager
def noted(home: Path, note: Note, name: str = NOTE) -> Iterator[bool]:
    """While it serves, a home knows its service; of several the first. Gives whether it is this one."""
    file = home / name
    stream = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(stream, 0o600)
        if not _held(stream):
            yield False
            return
        os.ftruncate(stream, 0)
        os.pwrite(stream, "\n".join(map(str, note)).encode(), 0)
        try:
            yield True
        finally:
            os.ftruncate(stream, 0)
    finally:
        os.close(stream)


def _held(stream: int) -> bool:
    """Take the lock of a note, unless a service has it; a hook that looks has it for a moment too, shared."""
    while True:
        with suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
