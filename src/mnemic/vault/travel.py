"""The vault's files in an export, and back out of one: what a person sees of a memory travels with it.

    DIR/vault.jsonl    each file by path: its SHA-256, and whose text it is where mnemic knows that
        vault/…        the files, byte for byte

Names that begin with a dot do not travel: a `.git` or `.obsidian` from elsewhere could have programs run. What an export
says is not trusted: paths are checked, links are not followed, and nothing that stands there already is overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from mnemic.errors import BadInput, Damaged, MnemicError, Refused
from mnemic.ledger import canonical
from mnemic.models.event import Origin
from mnemic.store import Store
from mnemic.vault.archive import below
from mnemic.vault.files import Folder, contained
from mnemic.vault.vault import Vault

LIST, TREE = "vault.jsonl", "vault"
BATCH = 200


class Travel:
    """The files of one namespace's vault, under the vault's lock."""

    def __init__(self, vault: Vault, store: Store, ns: str, *, without: Collection[Path], never: Collection[str]) -> None:
        """`without`: what is not even looked at; `never`: nor what bears these names."""
        self._vault, self._store, self._ns = vault, store, ns
        self._without, self._never = without, never
        self.skipped: dict[str, str] = {}
        """What was left out, with the reason."""

    def write(self, folder: Path) -> int:
        """Copy all files into an export; how many."""
        root = self._vault.root
        known = {row.path: row for row in self._store.vault_files(self._ns)}
        found = below(root, "", self.skipped, {*self._without, folder}, {*self._never, ".git"})
        paths = sorted(path for path, entry in found if not entry.is_dir(follow_symlinks=False))
        rows = list[dict[str, Any]]()
        for path in paths:
            if hidden := _hidden(path):
                self.skipped[hidden] = "names that begin with a dot do not travel"
                continue
            try:
                path.encode()
                read = self._vault.folder.read(path)
            except UnicodeEncodeError:
                self.skipped[path.encode("utf-8", "replace").decode()] = "its name is not UTF-8: rename it"
                continue
            except MnemicError as error:
                self.skipped[path] = str(error)
                continue
            copy = folder.joinpath(TREE, *path.split("/"))
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy.write_bytes(read.data)
            row = known.get(path)
            ours = row is not None and read.digest in (row.digest, row.intent)
            rows.append({"path": path, "sha256": read.digest, "origin": row.origin if row and ours else None})
        (folder / LIST).write_text("".join(canonical(row) + "\n" for row in rows), encoding="utf-8", newline="")
        return len(rows)

    def check(self, folder: Path) -> int:
        """See that all files of an export are there, whole, and can be placed; how many.

        Raises BadInput, Damaged, and Refused where another text stands in a file's place.
        """
        count = 0
        for row, _ in self._files(folder):
            path = row["path"]
            if self._vault.folder.exists(path) and self._vault.folder.read(path).digest != row["sha256"]:
                raise Refused(f"{path!r} is in the vault already, with another text: give --home with a new folder")
            count += 1
        return count

    @contextmanager
    def placed(self, folder: Path) -> Iterator[None]:
        """Put the files where they belong while the rest is taken in; if that fails, they go again.

        Each is noted before it is written, so that after a kill the same import goes on, and none of mnemic's own texts
        counts as a person's.
        """
        made = list[str]()
        try:
            batch = list[tuple[dict[str, Any], bytes]]()
            for item in self._files(folder):
                batch.append(item)
                if len(batch) == BATCH:
                    self._place(batch, made)
                    batch.clear()
            self._place(batch, made)
            yield
        except Exception:
            for path in made:
                self._vault.folder.remove(path)
                with self._store.write(self._ns) as tx:
                    tx.drop_vault_file(path)
            raise

    def _place(self, batch: list[tuple[dict[str, Any], bytes]], made: list[str]) -> None:
        self._vault.intend({row["path"]: (data, row["origin"]) for row, data in batch if row["origin"]})
        for row, data in batch:
            if not self._vault.folder.exists(row["path"]):
                made.append(row["path"])
                self._vault.folder.create(row["path"], data)

    def _files(self, folder: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Each file of an export with its bytes, checked; none of one from before vaults travelled."""
        if not (folder / LIST).is_file():
            return
        copies, seen = Folder(folder / TREE), set[str]()
        with (folder / LIST).open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                row = json.loads(line)
                path = row["path"]
                _checked(path)
                if path in seen or row["origin"] not in (None, *get_args(Origin)):
                    raise BadInput(f"{LIST} names {path[:200]!r} twice, or as text of {row['origin']!r}: it is none of ours")
                seen.add(path)
                try:
                    read = copies.read(path)
                except MnemicError as error:
                    raise Damaged(f"{TREE}/{path} cannot be read ({error}): nothing was taken in") from None
                if read.digest != row["sha256"]:
                    raise Damaged(f"{TREE}/{path} is not what was exported: nothing was taken in; export again")
                yield row, read.data


def _checked(path: Any) -> None:
    """Raises BadInput for a path that would lead out of the vault, or that does not travel."""
    if not isinstance(path, str) or not contained(path) or _hidden(path):
        raise BadInput(f"{str(path)[:200]!r} is in no export of ours: it is no path, or begins with a dot")


def _hidden(path: str) -> str:
    """As much of a path as leads to a name that begins with a dot; empty if none does."""
    parts = path.split("/")
    at = next((place for place, part in enumerate(parts) if part.startswith(".")), None)
    return "" if at is None else "/".join(parts[: at + 1])
