"""The head of the chain, kept where the store is not.

A chain alone cannot show that its end was cut off, or that the whole store was put back to an earlier day: what is
left is a valid chain. So after every write the last entry's number and hash are noted in the user's configuration
folder, which is not part of the home and does not travel with a copy of it. The note only moves forward: it is
written under a lock, and a lower number never replaces a higher one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Protocol, TextIO

from mnemic.models.event import Head


class Witness(Protocol):
    """Remembers heads outside the store."""

    def seen(self, store: str, namespace: str) -> Head | None:
        """The highest head noted so far."""
        ...

    def note(self, store: str, namespace: str, head: Head, *, force: bool = False) -> None:
        """Note a head; one that lies behind the last is left out unless forced."""
        ...

    @property
    def problem(self) -> str | None:
        """Why heads cannot be noted, if they cannot."""
        ...


class NoWitness:
    """Remembers nothing: truncation of the end and rollback of the whole store go unseen."""

    problem: str | None = "no outside head is kept"

    def seen(self, store: str, namespace: str) -> Head | None:
        return None

    def note(self, store: str, namespace: str, head: Head, *, force: bool = False) -> None:
        return None


class FolderWitness:
    """One small file a namespace under `folder/heads/<store id>/`.

    It is replaced without fsync: after a power cut it may be a few entries behind, which only means that these
    few are witnessed by the next write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "heads"
        self.problem: str | None = None

    def seen(self, store: str, namespace: str) -> Head | None:
        try:
            with open(self._file(store, namespace), encoding="utf-8") as handle:
                fcntl.flock(handle, fcntl.LOCK_SH)  # or a note that is half written would count as none
                return _read(handle.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            self.problem = f"the outside head cannot be read ({error.strerror})"
            return None

    def note(self, store: str, namespace: str, head: Head, *, force: bool = False) -> None:
        target = self._file(store, namespace)
        try:
            with _locked(target) as handle:
                last = _read(handle.read())
                if force or last is None or last.seq < head.seq:
                    handle.seek(0)
                    handle.write(json.dumps({"namespace": namespace, "seq": head.seq, "hash": head.hash}) + "\n")
                    handle.truncate()
            self.problem = None
        except OSError as error:
            self.problem = f"the outside head cannot be written ({error.strerror}: {str(target)!r})"

    def _file(self, store: str, namespace: str) -> Path:
        return self._folder / store / f"{sha256(namespace.encode()).hexdigest()[:32]}.json"


@contextmanager
def _locked(target: Path) -> Iterator[TextIO]:
    try:
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle


def _read(text: str) -> Head | None:
    try:
        row = json.loads(text)
        return Head(int(row["seq"]), str(row["hash"]))
    except (ValueError, KeyError, TypeError):
        return None
