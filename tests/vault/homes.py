"""A memory with a vault, in a temporary folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mnemic.clock import FixedClock
from mnemic.memory import Memory
from mnemic.vault.files import Disk
from tests.homes import NOON


def opened(folder: Path, /, **settings: str) -> Memory:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    if settings:
        rows = "".join(f'{key} = "{value}"\n' for key, value in settings.items())
        (home / "mnemic.toml").write_text(f"[vault]\n{rows}")
    return Memory.open(home, environ={"MNEMIC_CONFIG": str(folder / "config")}, clock=FixedClock(NOON))


def note(memory: Memory, path: str, text: str | bytes) -> Path:
    """Save a file as a person does."""
    file = memory.vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


class Killed(BaseException):
    """The process ends here."""


class Dying(Disk):
    """A disk whose n-th call is the last thing a process does; with an error number, that call fails instead."""

    def __init__(self, calls: int, error: int | None = None) -> None:
        self.left, self.error = calls, error

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name in ("make", "write", "fsync", "mkdir", "link", "rename", "exchange", "unlink"):
            self.left -= 1
            if self.left == 0 and self.error is not None:
                raise OSError(self.error, "injected")
            if self.left < 0 and self.error is None:
                raise Killed(name)
        return found
