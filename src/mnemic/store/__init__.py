"""The seam between memory and the engine that keeps it.

A store keeps rows and gives candidates with raw scores. It knows nothing of ranking, trust or Markdown, and it
never changes a row of truth except through `Transaction.apply`, which `mnemic.ledger` alone calls, in the
same transaction as the event that explains the change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import BadInput, MissingExtra
from mnemic.store.archive import More
from mnemic.store.base import (
    CodeBlock,
    EmbedderRow,
    Found,
    Ids,
    NewNode,
    QueueRow,
    Scored,
    Store,
    Transaction,
    VaultFile,
    VectorRow,
    batches,
    repeated,
)
from mnemic.store.sqlite import SqliteStore, backups, checks, connection, open_sqlite
from mnemic.store.sqlite.shelves import FILES
from mnemic.store.trees import term_hash

if TYPE_CHECKING:
    from mnemic.store.postgres import PostgresStore
    from mnemic.store.postgres.jobs import Round
    from mnemic.store.postgres.servers import Servers
    from mnemic.store.postgres.worker import Work, Worked, Worker

__all__ = [
    "ENGINE_FILES",
    "CodeBlock",
    "EmbedderRow",
    "Found",
    "Ids",
    "NewNode",
    "QueueRow",
    "Scored",
    "SqliteStore",
    "Store",
    "Transaction",
    "VaultFile",
    "VectorRow",
    "batches",
    "examine",
    "is_made",
    "open_sqlite",
    "open_store",
    "open_worker",
    "repeated",
    "restore",
    "servers_of",
    "term_hash",
]

ENGINE_FILES = backups.NAMES
"""Files that only the engine may open: any other way drops its locks."""


def open_store(
    folder: Path, url: str = "", *, connections: int = 10, partitions: int = 8, replicas: Sequence[str] = ()
) -> Store:
    """Open a home: the database at a URL, else the files in the folder; what is not there is made. Raises StoreError.

    `replicas` are URLs of servers that follow the database.
    """
    if not url:
        return open_sqlite(folder)
    open_postgres = _postgres()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return open_postgres(url, limit=connections, partitions=partitions, replicas=replicas)


def is_made(folder: Path, url: str = "") -> bool:
    """Whether there is a home that opening would not have to make first; of a database only opening it tells."""
    return bool(url) or (folder / FILES["hot"]).exists()


def examine(folder: Path, url: str = "") -> tuple[list[str], dict[str, str]]:
    """The problems of a home that does not open, and by which engine they were found."""
    return ([], {}) if url else (checks.examine_home(folder), {"sqlite": connection.engine()})


def servers_of(store: Store) -> Servers:
    """The servers of a home in a database. Raises BadInput for a folder."""
    found: Servers | None = getattr(store, "servers", None)
    if found is None:
        raise BadInput("shards are the servers of a home in PostgreSQL; this one is a folder: `mnemic copy` takes it there")
    return found


def restore(
    folder: Path, url: str, source: Path, *, fresh: Path, kept: Path, more: More, close: Callable[[], None]
) -> None:
    """Put a backup in place of a home; what stood there goes to `kept`, and `more` takes out the rest of the archive.

    `close` is called before anything is replaced. Raises BadInput, Damaged, and then nothing has changed.
    """
    if not url:
        backups.unpack(source, fresh, more)
        close()
        backups.swap(fresh, folder, kept)
        return
    open_postgres = _postgres()
    close()
    store = open_postgres(url)
    try:
        kept.mkdir(mode=0o700, parents=True)
        store.backup(kept / "store.zip")
        store.restore(source, more)
    finally:
        store.close()


def open_worker(
    store: Store, work: Work, due: Callable[[], Round], *, at_once: int, once: bool, retry_seconds: int,
    told: Callable[[Worked], None],
) -> Worker:  # fmt: skip
    """What works off the jobs of a home on all its servers (store/postgres/worker.py). Raises BadInput for one in a folder."""
    if isinstance(store, SqliteStore):
        raise BadInput(
            "a home in a folder needs no worker, what is written there is embedded at once: run `mnemic tend` from a timer, or"
            " `mnemic serve`, which tends too"
        )
    from mnemic.store.postgres.jobs import Jobs
    from mnemic.store.postgres.worker import Worker

    servers = servers_of(store).all()
    for base in servers:
        base.ready()
    queues = [Jobs(base) for base in servers]
    return Worker(queues, work, due, at_once=at_once, once=once, retry_seconds=retry_seconds, told=told)


def _postgres() -> Callable[..., PostgresStore]:
    """What opens the other engine. Raises MissingExtra."""
    try:
        from mnemic.store.postgres import open_postgres
    except ImportError as error:
        raise MissingExtra(f"a home in PostgreSQL needs more ({error}): pip install 'mnemic[postgres]'") from None
    return open_postgres
