"""The vault's history in git, through dulwich: made on first use, one commit a sync, no hook and no program run.

A repository that mnemic did not make is somebody's work: nothing is committed into it, and none is made inside it,
unless the settings say so. Only the files that a sync read or wrote are put into a commit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mnemic.models.event import Head

Mode = Literal["own", "any", "off"]
AUTHOR = b"mnemic <mnemic@localhost>"


@dataclass(frozen=True, slots=True)
class History:
    """The repository of one vault."""

    root: Path
    mode: str

    def state(self) -> str:
        """`own`, `none` (made with the first commit), `foreign` (a repository that is not ours), or `off`."""
        if self.mode == "off":
            return "off"
        home = self._repository()
        if home is None:
            return "none"
        return "own" if home == self.root and _is_ours(home) else "foreign"

    def _repository(self) -> Path | None:
        for folder in (self.root, *self.root.parents):
            if (folder / ".git").exists():
                return folder
        return None

    def commit(self, paths: Sequence[str], message: str, head: Head | None, at: int) -> str | None:
        """Commit these files as they are now, or their absence; the commit's id, or None if there was nothing to do.

        `at`: seconds since 1970. The ledger's head goes into the trailer.
        """
        state = self.state()
        if state == "off" or (state == "foreign" and self.mode != "any") or not (paths or state == "none"):
            return None
        repository = self._opened(state)
        try:
            return self._commit(repository, paths, message, head, at)
        finally:
            repository.close()

    def holding(self, path: str, data: bytes) -> str | None:
        """The id of the latest commit, if a file stands there with just these bytes."""
        from dulwich.objects import Blob

        state = self.state()
        if state in ("off", "none") or (state == "foreign" and self.mode != "any"):
            return None
        repository = self._opened(state)
        try:
            head = _parent(repository)
            if head is None:
                return None
            name = self._prefix(repository) + os.fsencode(path)
            try:
                _, found = repository[repository[head].tree].lookup_path(repository.__getitem__, name)
            except KeyError:
                return None
            return str(head.decode()) if found == Blob.from_string(data).id else None
        finally:
            repository.close()

    def _prefix(self, repository: Any) -> bytes:
        """Where the vault lies in the repository."""
        below = os.fsencode(os.path.relpath(self.root, repository.path)).replace(b"\\", b"/")
        return b"" if below == b"." else below + b"/"

    def _opened(self, state: str) -> Any:
        from dulwich.repo import Repo

        if state == "none":
            repository = Repo.init(str(self.root))
            config = repository.get_config()
            config.set((b"mnemic",), b"vault", b"true")
            config.write_to_path()
            return repository
        return Repo(str(self._repository()))

    def _commit(self, repository: Any, paths: Sequence[str], message: str, head: Head | None, at: int) -> str | None:
        from dulwich.objects import Blob, Commit

        prefix = self._prefix(repository)
        index = repository.open_index()
        blobs: list[tuple[Any, None]] = []
        for path in paths:
            name = prefix + os.fsencode(path)
            data, found = _content(self.root / path)
            if found is None:
                if name in index:
                    del index[name]
                continue
            blob = Blob.from_string(data)
            blobs.append((blob, None))
            index[name] = _entry(found, blob.id)
        repository.object_store.add_objects(blobs)
        tree = index.commit(repository.object_store)
        parent = _parent(repository)
        if parent is not None and repository[parent].tree == tree:
            index.write()
            return None
        made = Commit()
        made.tree, made.parents = tree, [parent] if parent else []
        made.author = made.committer = AUTHOR
        made.author_time = made.commit_time = at
        made.author_timezone = made.commit_timezone = 0
        made.encoding = b"UTF-8"
        trailer = f"\n\nMnemic-Ledger-Head: {head.seq} {head.hash}\n" if head else "\n"
        made.message = (message + trailer).encode("utf-8", "replace")
        repository.object_store.add_object(made)
        index.write()
        repository.refs.set_if_equals(b"HEAD", parent, made.id)
        return str(made.id.decode())


def _is_ours(home: Path) -> bool:
    from dulwich.repo import Repo

    if not (home / ".git").is_dir():
        return False
    with Repo(str(home)) as repository:
        try:
            return bool(repository.get_config().get((b"mnemic",), b"vault") == b"true")
        except KeyError:
            return False


def _parent(repository: Any) -> Any:
    try:
        return repository.head()
    except KeyError:
        return None


def _content(file: Path) -> tuple[bytes, os.stat_result | None]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b"", None
    with os.fdopen(descriptor, "rb") as handle:
        found = os.fstat(descriptor)
        return (handle.read(), found) if stat.S_ISREG(found.st_mode) else (b"", None)


def _entry(found: os.stat_result, blob: Any) -> Any:
    from dulwich.index import IndexEntry

    return IndexEntry(
        ctime=(found.st_ctime_ns // 10**9, found.st_ctime_ns % 10**9),
        mtime=(found.st_mtime_ns // 10**9, found.st_mtime_ns % 10**9),
        dev=found.st_dev & 0xFFFFFFFF, ino=found.st_ino & 0xFFFFFFFF, mode=0o100644, uid=found.st_uid, gid=found.st_gid,
        size=found.st_size & 0xFFFFFFFF, sha=blob, flags=0, extended_flags=0,
    )  # fmt: skip
