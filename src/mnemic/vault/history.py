"""The vault's history in git, through dulwich: made on first use, one commit a sync, no hook and no program run.

A repository that mnemic did not make is somebody's work: nothing is committed into it, and none is made inside it,
unless the settings say so. Only the files that a sync read or wrote are put into a commit.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mnemic.models.event import Head
from mnemic.vault import gitindex

Mode = Literal["own", "any", "off"]
AUTHOR = b"mnemic <mnemic@localhost>"
FRESH = ".mnemic-git"
"""Where a repository is made before it takes its place."""
PACKED = 100
Files = Mapping[bytes, "tuple[os.stat_result, Any] | None"]
"""By git's name: a file and its blob, or None for one that is gone."""


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

        fresh = self.root / FRESH  # made beside and renamed: a kill leaves no half of a repository
        shutil.rmtree(fresh, ignore_errors=True)
        if state == "none":
            fresh.mkdir(mode=0o700)
            with Repo.init(str(fresh)) as repository:
                config = repository.get_config()
                config.set((b"mnemic",), b"vault", b"true")
                config.write_to_path()
            os.rename(fresh / ".git", self.root / ".git")
            fresh.rmdir()
        repository = Repo(str(self._repository()))
        repository.object_store.loose_compression_level = 1  # as git does where nothing else is configured
        return repository

    def _commit(self, repository: Any, paths: Sequence[str], message: str, head: Head | None, at: int) -> str | None:
        """Objects, then the commit, then the index, whose lock is held all the while: a kill leaves no commit without
        its objects, and what the index then lacks the repetition of the commit puts there."""
        from dulwich.objects import Blob, Commit

        prefix = self._prefix(repository)
        blobs: list[Any] = []
        files: dict[bytes, tuple[os.stat_result, Any] | None] = {}
        for path in paths:
            name = prefix + os.fsencode(path)
            if len(name) > gitindex.LONGEST:
                continue
            data, found = _content(self.root / path)
            blob = Blob.from_string(data) if found else None
            blobs += [blob] if blob else []
            files[name] = (found, blob.id) if found and blob else None
        with _locked(repository) as lock:
            _keep(repository.object_store, blobs)
            parent = _parent(repository)
            before = repository[parent].tree if parent else None
            tree = _tree(repository.object_store, before, files) or _empty(repository)
            made = None
            if tree != before:
                made = Commit()
                made.tree, made.parents = tree, [parent] if parent else []
                made.author = made.committer = AUTHOR
                made.author_time = made.commit_time = at
                made.author_timezone = made.commit_timezone = 0
                made.encoding = b"UTF-8"
                trailer = f"\n\nMnemic-Ledger-Head: {head.seq} {head.hash}\n" if head else "\n"
                made.message = (message + trailer).encode("utf-8", "replace")
                repository.object_store.add_object(made)
                if not repository.refs.set_if_equals(b"HEAD", parent, made.id):
                    raise OSError("somebody else committed at the same time")
            lock.put(files)
        return str(made.id.decode()) if made else None


def _is_ours(home: Path) -> bool:
    from dulwich.errors import NotGitRepository
    from dulwich.repo import Repo

    if not (home / ".git").is_dir():
        return False
    try:
        with Repo(str(home)) as repository:
            return bool(repository.get_config().get((b"mnemic",), b"vault") == b"true")
    except (KeyError, NotGitRepository):
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
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return b"", None
    with os.fdopen(descriptor, "rb") as handle:
        return handle.read(), found


def _keep(objects: Any, blobs: Sequence[Any]) -> None:
    """Store blobs: many as one pack; a few each by itself, as git does, since every pack makes each look-up longer."""
    if len(blobs) > PACKED:
        objects.add_objects([(blob, None) for blob in blobs])
        return
    for blob in blobs:
        objects.add_object(blob)


def _empty(repository: Any) -> Any:
    from dulwich.objects import Tree

    tree = Tree()
    repository.object_store.add_object(tree)
    return tree.id


def _tree(objects: Any, was: Any, files: Files) -> Any:
    """A tree with these files in it, or no more in it, made from the one before; None if nothing is left."""
    from dulwich.objects import Tree

    tree = objects[was] if was else Tree()
    below: dict[bytes, dict[bytes, tuple[os.stat_result, Any] | None]] = {}
    for name, file in files.items():
        first, inside, rest = name.partition(b"/")
        if inside:
            below.setdefault(first, {})[rest] = file
        elif file:
            tree[first] = (0o100644, file[1])
        elif first in tree:
            del tree[first]
    for first, rest_of in below.items():
        was_folder = first in tree and stat.S_ISDIR(tree[first][0])
        made = _tree(objects, tree[first][1] if was_folder else None, rest_of)
        if made:
            tree[first] = (stat.S_IFDIR, made)
        elif was_folder:
            del tree[first]
    if not len(tree):
        return None
    objects.add_object(tree)
    return tree.id


@dataclass(slots=True)
class _Lock:
    """The index of a repository while git lets nobody else write it."""

    repository: Any
    mine: str
    lock: str

    def put(self, files: Files) -> None:
        """Write the index with these files as they are now."""
        try:
            raw = Path(self.repository.index_path()).read_bytes()
        except FileNotFoundError:
            raw = b""
        data = None
        if all(file is None or len(file[1]) == 40 for file in files.values()):  # SHA-1
            fresh = {name: gitindex.entry(name, file[0], bytes.fromhex(file[1].decode())) if file else None
                     for name, file in files.items()}  # fmt: skip
            data = gitindex.changed(raw, fresh)
        if data is None:
            os.unlink(self.lock)
            self._put_in_odd(files)
            return
        with open(self.mine, "r+b") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.rename(self.lock, self.repository.index_path())

    def _put_in_odd(self, files: Files) -> None:
        index = self.repository.open_index()
        for name, file in files.items():
            if file is not None:
                index[name] = _entry(*file)
            elif name in index:
                del index[name]
        index.write()


@contextmanager
def _locked(repository: Any) -> Iterator[_Lock]:
    """Hold git's lock on the index. It is a second name of a file that we hold, so that after a kill we know it as ours.

    Raises OSError while somebody else has it.
    """
    index = repository.index_path()
    mine, lock = index + ".mnemic", index + ".lock"
    with suppress(FileNotFoundError), open(mine, "rb") as old:
        fcntl.flock(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _unlock(repository)
        if os.path.exists(lock) and os.path.samefile(mine, lock):
            os.unlink(lock)
        os.unlink(mine)
    with open(mine, "xb") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            os.link(mine, lock)
            try:
                yield _Lock(repository, mine, lock)
            finally:
                if os.path.exists(lock) and os.path.samefile(mine, lock):
                    os.unlink(lock)
        finally:
            os.unlink(mine)


def _unlock(repository: Any) -> None:
    """Take away what a killed commit of ours left locked beside the index: objects, which git itself never locks like
    this, and the branch, which nobody else could change while we had the index."""
    common = Path(os.fsdecode(repository.commondir()))
    names, _ = repository.refs.follow(b"HEAD")
    branches = [common / f"{os.fsdecode(name)}.lock" for name in names]
    for left in [*branches, *(common / "objects").glob("*/*.lock")]:
        with suppress(FileNotFoundError):
            left.unlink()


def _entry(found: os.stat_result, blob: Any) -> Any:
    from dulwich.index import IndexEntry

    return IndexEntry(
        ctime=(found.st_ctime_ns // 10**9, found.st_ctime_ns % 10**9),
        mtime=(found.st_mtime_ns // 10**9, found.st_mtime_ns % 10**9),
        dev=found.st_dev & 0xFFFFFFFF, ino=found.st_ino & 0xFFFFFFFF, mode=0o100644, uid=found.st_uid, gid=found.st_gid,
        size=found.st_size & 0xFFFFFFFF, sha=blob, flags=0, extended_flags=0,
    )  # fmt: skip
