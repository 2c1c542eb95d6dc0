"""mnemic under the public `agmi-check` suite (package agent-memory-integrity): nine edits behind the store's back.

The attacker holds every file of the home and edits rows as the engine itself would, page checksums included. He
does not hold the configuration folder, where the ledger's heads are noted.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agmi.adapters.base import MemoryAdapter, Record

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.store.sqlite.connection import connect


class MnemicAdapter(MemoryAdapter):
    """Records are documents; verifying is `Memory.verify` in both namespaces."""

    name = "mnemic"
    supports_replay = supports_metadata = supports_snapshot = True
    detection_point = "audit"

    def setup(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mnemic-agmi-"))
        self.home = self.folder / "home"
        self.count = 0
        self.memory: Memory | None = None

    def teardown(self) -> None:
        self._close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _open(self) -> Memory:
        if self.memory is None:
            self.memory = Memory.open(
                self.home, namespace="A", environ={"MNEMIC_CONFIG": str(self.folder / "config")},
                clock=FixedClock(datetime(2026, 11, 30, tzinfo=UTC)),
            )  # fmt: skip
        return self.memory

    def _close(self) -> None:
        if self.memory is not None:
            self.memory.close()
            self.memory = None

    def seed(self, n: int) -> None:
        for _ in range(n):
            self.append_genuine()

    def append_genuine(self) -> None:
        self.count += 1
        self._open().remember(f"genuine note number {self.count}")

    def seed_other(self, n: int) -> None:
        other = self._open().within("B")
        for number in range(n):
            other.remember(f"other note number {number}")

    def _raw(self) -> Any:
        self._close()
        return connect(self.home / "memory.db", create=False)

    def _read(self, namespace: str) -> list[Record]:
        db = self._raw()
        columns = ("id", "ns", "path", "title", "origin", "created_at", "digest", "text_id", "body")
        rows = db.execute(
            "SELECT d.id, d.ns, d.path, d.title, d.origin, d.created_at, d.digest, d.text_id, t.body FROM documents d"
            " JOIN texts t ON t.id=d.text_id JOIN namespaces n ON n.id=d.ns WHERE n.name=? ORDER BY d.id",
            (namespace,),
        ).fetchall()
        db.close()
        return [Record(seq=place, fields=dict(zip(columns, row, strict=True))) for place, row in enumerate(rows)]

    def read_all_raw(self) -> list[Record]:
        return self._read("A")

    def read_other_raw(self) -> list[Record]:
        return self._read("B")

    def write_raw(self, record: Record) -> None:
        row = record.fields
        known = self.read_all_raw()
        db = self._raw()
        if record.seq < len(known):
            mine = known[record.seq].fields
            db.execute("UPDATE texts SET body=? WHERE id=?", (row["body"], mine["text_id"]))
            db.execute("UPDATE documents SET title=?, origin=?, created_at=?, digest=? WHERE id=?",
                       (row["title"], row["origin"], row["created_at"], row["digest"], mine["id"]))  # fmt: skip
        else:
            number, text = row["id"] + 100_000, row["text_id"] + 100_000
            db.execute("INSERT INTO texts VALUES(?,?,?,?)", (text, row["ns"], number, row["body"]))
            db.execute(
                "INSERT INTO documents SELECT ns, path || '-forged', ?, kind, title, context, origin, importance, session, ?,"
                " digest, source, created_at, recorded_at, shelf FROM documents WHERE id=?", (number, text, row["id"]),
            )  # fmt: skip
        db.close()

    def delete_raw(self, seq: int) -> None:
        row = self.read_all_raw()[seq].fields
        db = self._raw()
        gone = db.execute(
            "SELECT seq FROM ledger WHERE ns=? AND object=?", (row["ns"], f"document:{row['id']}")
        ).fetchall()
        for (number,) in gone:
            db.execute("DELETE FROM ledger WHERE ns=? AND seq=?", (row["ns"], number))
            db.execute("DELETE FROM payloads WHERE ns=? AND seq=?", (row["ns"], number))
        db.execute("DELETE FROM documents WHERE id=?", (row["id"],))
        db.execute("DELETE FROM texts WHERE id=?", (row["text_id"],))
        db.execute("DELETE FROM nodes WHERE document=?", (row["id"],))
        db.close()

    def mutate_payload(self, record: Record) -> Record:
        record.fields["body"] += " X"
        return record

    def forge_record(self, template: Record) -> Record:
        return Record(seq=template.seq + 1, fields={**template.fields, "body": "forged"})

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['ns']}:{record.seq}"

    def payload_of(self, record: Record) -> str:
        return str(record.fields["body"])

    def owner_of(self, record: Record) -> str | None:
        return str(record.fields["ns"])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        victim = self.read_all_raw()[victim_seq].fields
        db = self._raw()
        db.execute("UPDATE texts SET body=? WHERE id=?", (donor.fields["body"], victim["text_id"]))
        db.execute("UPDATE documents SET digest=?, title=? WHERE id=?",
                   (donor.fields["digest"], donor.fields["title"], victim["id"]))  # fmt: skip
        db.close()

    def read_meta(self, seq: int) -> dict[str, Any]:
        number = self.read_all_raw()[seq].fields["id"]
        db = self._raw()
        (context,) = db.execute("SELECT context FROM documents WHERE id=?", (number,)).fetchone()
        db.close()
        meta: dict[str, Any] = json.loads(context) if context else {}
        return meta

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        number = self.read_all_raw()[seq].fields["id"]
        db = self._raw()
        db.execute("UPDATE documents SET context=? WHERE id=?", (json.dumps(meta), number))
        db.close()

    def snapshot_store(self) -> object:
        self._close()
        target = Path(tempfile.mkdtemp(dir=self.folder)) / "copy"
        shutil.copytree(self.home, target)
        return target

    def restore_store(self, token: object) -> None:
        self._close()
        shutil.rmtree(self.home)
        shutil.copytree(str(token), self.home)

    def reload(self) -> None:
        self._close()

    def verify(self) -> bool:
        memory = self._open()
        for namespace in ("A", "B"):
            verdict = memory.within(namespace).verify()
            if not verdict.ok:
                self.verify_detail = verdict.problem
                return False
        self.verify_detail = None
        return True
