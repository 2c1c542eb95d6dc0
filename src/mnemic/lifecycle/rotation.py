"""Which shelf a document belongs on, and how it gets there (000 §5).

Whole documents move, straight to the shelf of their age; paths, ids and times stay. The shelf is truth, so every
move is an entry of the ledger, written in the transaction that changes the catalogue. What is about to be changed
comes back to the hot shelf first. The entries about what has moved leave the hot shelf after it, and stay away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from mnemic.clock import DAY_MS, Clock, to_ms
from mnemic.errors import Conflict
from mnemic.ledger import Ledger
from mnemic.models.document import SHELVES, Document
from mnemic.models.event import Change, Draft, Event
from mnemic.settings import RotateSettings
from mnemic.store import Store, batches

BATCH = 20
"""Documents that share a transaction: other writers wait meanwhile."""
ENTRIES = 500
"""Ledger entries that share one."""
TRIES = 3


def shelf_of(age: int, settings: RotateSettings) -> str:
    """The shelf for an age in ms: hot below `warm_days`, cold above `cold_days`, both ends warm."""
    if age < settings.warm_days * DAY_MS:
        return "hot"
    return "warm" if age <= settings.cold_days * DAY_MS else "cold"


class Rotation:
    """Moves documents between the shelves of one home. Can be killed at any moment, and begun again."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock, settings: RotateSettings | None = None) -> None:
        self._store, self._ledger, self._clock, self._settings = store, ledger, clock, settings or RotateSettings()

    def due(self, ns: str) -> Iterator[tuple[Document, str]]:
        """Documents that are too old for their shelf, with the shelf they belong on."""
        now = to_ms(self._clock.now())
        for batch in batches(self._store, ns, 1000):
            for document in batch:
                target = shelf_of(now - document.created_at, self._settings)
                if SHELVES.index(target) > SHELVES.index(document.shelf):
                    yield document, target

    def rotate(self, ns: str, progress: Callable[[int], None] | None = None) -> dict[str, int]:
        """Move what is due; returns how many documents went to which shelf."""
        self._store.sweep()
        moved = {"warm": 0, "cold": 0}
        waiting = list(self.due(ns))
        for at in range(0, len(waiting), BATCH):
            for _, target in self._move(ns, waiting[at : at + BATCH]):
                moved[target] += 1
            if progress:
                progress(sum(moved.values()))
        self._shelve(ns)
        return moved

    def _shelve(self, ns: str) -> None:
        """What the ledger tells of documents that left the hot shelf leaves it too."""
        last: int | None = 0
        while last is not None:
            with self._store.write(ns) as tx:
                last = tx.shelve_entries(last, ENTRIES)

    def fetch(self, ns: str, document: Document) -> Document:
        """The document, brought back to the hot shelf if it is elsewhere."""
        if document.shelf != "hot":
            self._move(ns, [(document, "hot")])
        return self._store.document_by_id(ns, document.id) or document

    def _move(self, ns: str, batch: list[tuple[Document, str]]) -> list[tuple[Document, str]]:
        """Move some documents in one transaction; those that changed meanwhile stay. Raises Conflict."""
        for left in range(TRIES - 1, -1, -1):
            try:
                return self._try(ns, batch)
            except Conflict:
                if not left:
                    raise
        return []

    def _try(self, ns: str, batch: list[tuple[Document, str]]) -> list[tuple[Document, str]]:
        with self._store.write(ns) as tx:
            for document, target in batch:
                if target != "hot":
                    tx.note_stray(document.id, target)
        done: list[tuple[Document, str]] = []
        event: Event | None = None
        with self._store.write(ns) as tx:
            for document, target in batch:
                row = tx.row("documents", (document.path,))
                if row != asdict(document):
                    continue
                keep = target != "cold" or not self._settings.drop_cold_vectors
                tx.move(document.id, document.shelf, target, with_vectors=keep)
                change = Change("documents", (document.path,), row, asdict(replace(document, shelf=target)))
                note = {"path": document.path, "from": document.shelf, "to": target}
                draft = Draft("rotate", f"document:{document.id}", "system", "user", "", (change,), note)
                event = self._ledger.record(tx, ns, draft)
                done.append((document, target))
        if event:
            self._ledger.committed(ns, event)
        self._store.sweep()
        return done
