"""A real home in a temporary folder, with a clock that stands still and ids that count."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic.capture.forget import Forgetting
from mnemic.capture.intake import Intake, Note
from mnemic.clock import CountingIds, FixedClock
from mnemic.ledger import FolderWitness, Ledger
from mnemic.models.document import Turn
from mnemic.models.event import Event
from mnemic.models.receipt import CaptureReport, Receipt
from mnemic.settings import CaptureSettings
from mnemic.store import open_sqlite
from mnemic.store.base import Store
from mnemic.store.sqlite.connection import connect
from mnemic.text.tokens import query_terms

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
ENGINES = ["sqlite", "postgres"]
both = pytest.mark.parametrize("engine", ENGINES)
"""What is tested on both stores."""
every = pytest.mark.parametrize("engine", [*ENGINES, "shards"])
"""What is tested on a home of several servers too."""


@dataclass
class Home:
    """Everything that writes to one home."""

    folder: Path
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))
    url: str = ""
    """Of a database; empty for one in the folder."""

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.store: Any = opened(self.folder / "home", self.url)
        self.witness = FolderWitness(self.folder / "config")
        self.ledger = Ledger(self.store, self.witness, self.clock, CountingIds())
        self.intake = Intake(self.store, self.ledger, self.clock, CaptureSettings())
        self.forgetting = Forgetting(self.store, self.ledger, self.intake, self.clock)

    def reopen(self) -> None:
        self.store.close()
        self.open()

    def remember(self, text: str, ns: str = "default", **more: object) -> Receipt:
        return self.intake.remember(ns, Note(text=text, **more))  # type: ignore[arg-type]

    def capture(self, *turns: tuple[str, str], session: str | None = "s", ns: str = "default") -> CaptureReport:
        return self.intake.capture(ns, [Turn(role, text) for role, text in turns], session=session)

    def search(self, query: str, ns: str = "default") -> list[str]:
        """Paths of the nodes that the words find."""
        ids = sorted({number for held in self.store.postings(ns, query_terms(query)).values() for number in held.tolist()})
        return sorted(node.path for node in self.store.found(ns, ids))

    def undo(self, seq: int, ns: str = "default") -> Event:
        with self.store.write(ns) as tx:
            event, _ = self.ledger.undo(tx, ns, seq, actor="user", reason="test")
            self.intake.replant(tx, ns, int(event.object.split(":")[1]))
        self.ledger.committed(ns, event)
        return event

    def sane(self, ns: str = "default") -> bool:
        """Whether the ledger proves itself and the engine finds nothing wrong."""
        verdict = self.ledger.verify(ns)
        assert verdict.ok, verdict
        assert self.store.check() == []
        return True

    def tamper(self, sql: str, *bindings: object) -> None:
        """Change what is stored behind mnemic's back."""
        if self.url:
            self._tamper_there(sql.replace("?", "%s"), *bindings)
            return
        db = connect(self.folder / "home" / "memory.db")
        db.execute(sql, bindings)
        assert db.changes() or "DROP" in sql
        db.close()

    def _holds_there(self, word: str) -> list[str]:
        import psycopg

        with psycopg.connect(self.url, autocommit=True, options="-c search_path=mnemic,public") as db:
            names = [name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname='mnemic'").fetchall()]
            query = "SELECT count(*) FROM {} t WHERE t::text ILIKE %s"
            return [name for name in names if db.execute(query.format(name).encode(), (f"%{word}%",)).fetchone() != (0,)]

    def _tamper_there(self, sql: str, *bindings: object) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True, options="-c search_path=mnemic,public") as db:
            assert db.execute(sql.encode(), bindings).rowcount or "DROP" in sql

    def holds(self, word: str) -> list[str]:
        """The files of the home, and the noted heads, in which the bytes of a word stand; of a server, its tables."""
        if self.url:
            return self._holds_there(word)
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        return [file.name for file in files if word.encode() in file.read_bytes()]


def opened(folder: Path, url: str = "") -> Store:
    """A home in a folder, or in a database."""
    if not url:
        return open_sqlite(folder)
    from mnemic.store.postgres import open_postgres

    return open_postgres(url)


def rows(home: Home, sql: str) -> list[tuple[object, ...]]:
    return list(home.store.hot.rows(sql))


__all__ = ["ENGINES", "NOON", "Home", "both", "every", "opened", "rows"]
