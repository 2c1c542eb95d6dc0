"""A disk that fails on demand: a layer over the engine's own that counts writes and syncs, and refuses the k-th."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from mnemic.store.sqlite import connection

NAME = "mnemic-faulty"


def full() -> apsw.Error:
    return apsw.FullError("injected")


def broken() -> apsw.Error:
    error = apsw.IOError("injected")
    error.extendedresult = apsw.SQLITE_IOERR_WRITE
    return error


@dataclass
class Disk:
    """What the files below this layer are told. `fail_at` counts from 1; 0 never fails."""

    what: str = "write"
    fail_at: int = 0
    lasting: bool = False
    """Whether everything after the k-th fails too, as on a disk that stays full."""
    make: Callable[[], apsw.Error] = full
    held: Path | None = None
    """A disk that is full for as long as this file is there."""
    count: int = 0
    failed: int = 0

    def arm(self, what: str, at: int, make: Callable[[], apsw.Error], *, lasting: bool) -> None:
        self.what, self.fail_at, self.make, self.lasting, self.count, self.failed = what, at, make, lasting, 0, 0

    def calm(self) -> None:
        self.fail_at, self.held = 0, None

    def step(self, what: str) -> None:
        if self.held and what == "write" and self.held.exists():
            raise full()
        if not self.fail_at or what != self.what:
            return
        self.count += 1
        if self.count == self.fail_at or (self.lasting and self.count > self.fail_at):
            self.failed += 1
            raise self.make()


DISK = Disk()


class _File(apsw.VFSFile):
    def xWrite(self, data: bytes, offset: int) -> None:
        DISK.step("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        DISK.step("sync")  # and no more: nobody pulls the plug here, and a real sync takes most of the time


class _Layer(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(NAME, "cksmvfs")

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File("cksmvfs", name, flags)


_layer: list[_Layer] = []


def install() -> str:
    """The name of the layer, registered once a process."""
    if not _layer:
        connection._load_checksums()
        _layer.append(_Layer())
    return NAME
