"""Several notes written together with one transaction of the store: after a kill or a fault, all of them or none.

The texts from before and after are noted in a journal first, which is flushed; then the files are written one by one, then
the store commits with an operation id. A journal that is found later tells which way to go: if the operation is known,
forward; if not, back. A file that a person changed in between is left as they made it. Journals of what was done are kept,
so that it can be taken back byte for byte, until something is erased.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import Conflict, DiskFull, NotFound, StoreError
from mnemic.models.event import Origin
from mnemic.store import Store
from mnemic.vault.files import sha256

if TYPE_CHECKING:
    from mnemic.vault.vault import Vault

PENDING = "pending.json"
Pages = Mapping[str, tuple[str | None, str | None]]
"""Path → text before and after; None where there is no file."""


class Together:
    """The journal of one vault."""

    def __init__(self, vault: Vault, folder: Path, store: Store, ns: str) -> None:
        self._vault, self.folder, self._store, self._ns = vault, folder, store, ns

    def write(
        self, pages: Pages, origins: Mapping[str, Origin], token: str, commit: Callable[[], None], message: str,
        remedy: str = "repeat",
    ) -> None:  # fmt: skip
        """Write all pages, and `commit`, which must remember the operation `token`.

        Raises Conflict, with everything as it was and the `remedy`, where a page is not as its text before says.
        """
        with self._vault.alone() as tick:
            self.recover(tick)
            for path, (before, _) in pages.items():
                if self._text(path) != before:
                    raise Conflict(f"{path!r} was edited meanwhile: nothing was changed, {remedy}")
            self._begin(pages, token, message)
            try:
                self._put(pages, origins)
                commit()
            except Exception:
                self._settle(tick)
                raise
            self._settle(tick)

    @property
    def interrupted(self) -> bool:
        """Whether something was begun and not finished."""
        return (self.folder / PENDING).exists()

    def recover(self, tick: int) -> None:
        """Finish or take back what was begun, under the vault's lock."""
        if self.interrupted:
            self._settle(tick)

    def written(self, token: str) -> dict[str, tuple[str | None, str | None]]:
        """What was written under a token. Raises NotFound if that is not kept."""
        return _pages(self._read(self.folder / _kept(token)))

    def drop(self) -> None:
        """Delete the journals of what was done: texts in them were erased."""
        if self.folder.is_dir():
            for file in self.folder.glob("done-*.json"):
                file.unlink()
            _flush(self.folder)

    def _settle(self, tick: int) -> None:
        file = self.folder / PENDING
        found = self._read(file)
        pages = _pages(found)
        if self._store.operation(self._ns, str(found["token"])) is None:
            for path, (before, after) in pages.items():
                with suppress(Conflict):  # a person's text stays
                    self._back(path, before, after)
            file.unlink()
            _flush(self.folder)
            return
        self._put({path: pair for path, pair in pages.items() if self._text(path) == pair[0] != pair[1]}, {})
        standing = [path for path, (_, after) in pages.items() if after is not None and self._text(path) is not None]
        for path, (_, after) in pages.items():
            if after is None and self._text(path) is None:
                self._vault.take_out(path)
        self._vault.read_back(standing, tick, str(found["message"]))
        os.replace(file, self.folder / _kept(str(found["token"])))
        _flush(self.folder)

    def _put(self, pages: Pages, origins: Mapping[str, Origin]) -> None:
        texts = {path: after.encode() for path, (_, after) in pages.items() if after is not None}
        self._vault.intend({path: (data, origins.get(path, "agent")) for path, data in texts.items()})
        folder = self._vault.folder
        for path, (before, after) in pages.items():
            if after is None:
                folder.remove(path)
            elif before is None:
                folder.create(path, texts[path])
            elif folder.replace(path, texts[path], sha256(before.encode())) is None:
                raise Conflict(f"{path!r} was edited meanwhile: nothing was changed, repeat")

    def _back(self, path: str, before: str | None, after: str | None) -> None:
        """Undo what `_put` did, if it did it and nobody wrote since."""
        if before == after or self._text(path) != after:
            return
        if before is None:
            self._vault.take_out(path)
        else:
            self._put({path: (after, before)}, {})

    def _text(self, path: str) -> str | None:
        try:
            return self._vault.folder.read(path).data.decode("utf-8")
        except NotFound:
            return None
        except UnicodeDecodeError:
            raise Conflict(f"{path!r} is not UTF-8 text any more: nothing was changed") from None

    def _begin(self, pages: Pages, token: str, message: str) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.folder / (PENDING + ".part")
        body = json.dumps({"token": token, "message": message, "pages": {path: list(pair) for path, pair in pages.items()}})
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(body.encode())
                handle.flush()
                os.fsync(descriptor)
            os.replace(part, self.folder / PENDING)
            _flush(self.folder)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise DiskFull(f"the journal cannot be written ({error.strerror}): nothing was changed") from error

    def _read(self, file: Path) -> dict[str, object]:
        try:
            found = json.loads(file.read_bytes())
        except FileNotFoundError:
            raise NotFound("what stood before is not kept any more") from None
        except ValueError as error:
            raise StoreError(f"{str(file)!r} cannot be read ({error})") from error
        return dict(found)


def journal_name(ns: str) -> str:
    """The folder of a namespace's journals."""
    return hashlib.sha256(ns.encode()).hexdigest()[:16]


def _kept(token: str) -> str:
    return f"done-{hashlib.sha256(token.encode()).hexdigest()[:16]}.json"


def _pages(found: Mapping[str, object]) -> dict[str, tuple[str | None, str | None]]:
    rows = found["pages"]
    assert isinstance(rows, dict)
    return {str(path): (pair[0], pair[1]) for path, pair in rows.items()}


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
