"""A namespace on its way from one store to another, whichever engines they have.

Entries go first, in order, and each batch is a beginning of the same chain: what was cut short goes on where it ended, and
what is there already is not written twice. Then come texts with their trees and vectors, document by document, then what
connects them, and at the end both are compared. Identifiers of nodes are the target's own, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.capture.edges import KIND
from mnemic.capture.trees import document_nodes
from mnemic.clock import Clock, to_ms
from mnemic.errors import Conflict, Damaged, Interrupted, Refused
from mnemic.ledger import Ledger
from mnemic.models.document import SHELVES, Document
from mnemic.models.event import Head
from mnemic.recall.codebook import seal
from mnemic.store import Transaction, VectorRow, batches
from mnemic.store.schema import TRUTH

ENTRIES, DOCUMENTS, OPERATIONS = 1_000, 50, 1_000
"""That go in one transaction."""
SAMPLES = 20
"""Questions by which the answers of both sides are compared."""
COUNTED = (*TRUTH, "ledger", "texts", "nodes")
Progress = Callable[[str, int, int], None]
"""Told of what so many are done, of how many."""


@dataclass(slots=True)
class Copying:
    """Copies namespaces from the store of one ledger to that of another."""

    source: Ledger
    target: Ledger
    clock: Clock
    progress: Progress = lambda what, done, whole: None

    def run(self, ns: str) -> dict[str, Any]:
        """Copy a namespace, or what of it is not there yet, and compare. Nobody should write to it meanwhile.

        Raises Damaged where the source does not prove itself or the copy is not the same, Refused where the target holds
        something else under that name.
        """
        one, two = self.source.store, self.target.store
        verdict = self.source.verify(ns)
        if not verdict.ok:
            raise Damaged(f"namespace {ns!r} does not verify: {verdict.problem}; nothing of it was copied")
        before = two.head(ns)
        embedders = {row.id: two.embedder(row.identity, row.dim, row.canary).id for row in one.embedders()}
        self._take_key(ns)
        self._entries(ns)
        with two.write(ns) as tx:
            for name, value in one.sequences(ns).items():
                tx.reserve(name, value)
            for mac, at in one.erased(ns):
                tx.erase_texts((), [mac], at)
        self._operations(ns)
        self._plant(ns, embedders)
        self._connect(ns)
        self._shelve(ns)
        for embedder in two.embedders():
            for shelf in SHELVES:
                seal(two, ns, embedder, shelf)
        two.sweep()
        counts = self._compared(ns)
        return {"namespace": ns, "entries": counts["ledger"], "documents": counts["documents"], "nodes": counts["nodes"],
                "there already": before.seq if before else 0}  # fmt: skip

    def _take_key(self, ns: str) -> None:
        """Know what was erased by the key that it was known by."""
        one, two = self.source.store, self.target.store
        key = one.erasure_key_of(ns)
        if two.erasure_key_of(ns) == key:
            return
        if two.head(ns) is not None:
            raise Refused(f"namespace {ns!r} is there already and is not a copy of this one: give another home")
        two.take_erasure_key(key, ns if any(two.head(name) for name in two.namespaces()) else None)

    def _entries(self, ns: str) -> None:
        one, two = self.source.store, self.target.store
        head, whole = two.head(ns), one.head(ns)
        if head is not None:
            known = one.event(ns, head.seq)
            if known is None or known.hash != head.hash:
                raise Refused(f"namespace {ns!r} is there already and is not a copy of this one: give another home")
        while events := one.events(ns, after=head.seq if head else 0, limit=ENTRIES):
            try:
                with two.write(ns) as tx:
                    last = self.target.adopt(tx, ns, events, after=head, whole=False)
            except Interrupted:  # it may be repeated as it is
                raise
            except Conflict as error:
                raise Refused(f"namespace {ns!r} does not fit beside what is there ({error}): give a new home") from error
            assert last is not None and whole is not None
            self.target.committed(ns, last)
            head = Head(last.seq, last.hash)
            self.progress("entries", head.seq, whole.seq)
        self._empty(ns)

    def _empty(self, ns: str) -> None:
        """What was erased since an earlier part of the copy was made is erased in it too."""
        one, two, after = self.source.store, self.target.store, 0
        while events := one.events(ns, after=after, limit=ENTRIES):
            there = {event.seq: event for event in two.events(ns, after=after, limit=ENTRIES)}
            gone = {event.seq for event in events if event.payload is None and there[event.seq].payload is not None}
            if gone:
                with two.write(ns) as tx:
                    tx.erase_entries(gone)
            after = events[-1].seq

    def _operations(self, ns: str) -> None:
        one, two, after = self.source.store, self.target.store, ""
        while rows := one.operations(ns, after=after, limit=OPERATIONS):
            with two.write(ns) as tx:
                for op_id, request, receipt, document in rows:
                    if two.operation(ns, op_id) is None:
                        tx.remember_operation(op_id, request, receipt, document)
            after = rows[-1][0]

    def _plant(self, ns: str, embedders: Mapping[int, int]) -> None:
        """Texts, trees and vectors, at first all on the hot shelf. `embedders`: the source's numbers, and the target's."""
        one, two = self.source.store, self.target.store
        done, whole = 0, one.count(ns, "documents", {})
        for batch in batches(self.source.store, ns, DOCUMENTS):
            with two.write(ns) as tx:
                for document in batch:
                    self._plant_one(tx, ns, document, embedders)
            done += len(batch)
            self.progress("documents", done, whole)
        with two.write(ns) as tx:
            for number in one.left_texts(ns):
                self._texts(tx, ns, number, "hot")
            for _, row in one.queue(ns, limit=1_000_000):
                tx.enqueue(row.document, to_ms(self.clock.now()))

    def _plant_one(self, tx: Transaction, ns: str, document: Document, embedders: Mapping[int, int]) -> None:
        one, two = self.source.store, self.target.store
        bodies = self._texts(tx, ns, document.id, document.shelf)
        if any(two.nodes(ns, document.id, shelf) for shelf in SHELVES):
            return
        messages = one.messages(ns, document=document.id)
        made = tx.replace_nodes(document.id, document_nodes(document, messages, bodies))
        there = {node.path: node.id for node in two.nodes(ns, document.id)}
        nodes = {node.id: there[node.path] for node in one.nodes(ns, document.id, document.shelf) if node.path in there}
        for here, target in embedders.items():
            vectors = one.vectors(ns, here, list(nodes), document.shelf)
            digests = one.digests(ns, here, list(vectors), document.shelf)
            rows = [VectorRow(nodes[node], digests[node], vectors[node]) for node in sorted(vectors)]
            if rows:
                tx.put_vectors(target, rows)
        if not made:
            raise Damaged(f"{document.path!r} has no tree: run `mnemic reindex` and repeat")

    def _texts(self, tx: Transaction, ns: str, number: int, shelf: str) -> dict[int, str]:
        """Let the target have the texts of a document that the source has, and no other."""
        bodies = self.source.store.document_texts(ns, number, shelf)
        have = {text for name in SHELVES for text in self.target.store.document_texts(ns, number, name)}
        for text_id, body in bodies.items():
            if text_id not in have:
                tx.add_text(text_id, number, body)
        if more := have - bodies.keys():
            tx.erase_texts(sorted(more), (), 0)
        return bodies

    def _connect(self, ns: str) -> None:
        """The edges between nodes."""
        one, two = self.source.store, self.target.store
        numbers: dict[int, int] = {}
        for batch in batches(self.source.store, ns, DOCUMENTS):
            for document in batch:
                there = {node.path: node.id for shelf in SHELVES for node in two.nodes(ns, document.id, shelf)}
                here = one.nodes(ns, document.id, document.shelf)
                numbers |= {node.id: there[node.path] for node in here if node.path in there}
        ids = sorted(numbers)
        for at in range(0, len(ids), ENTRIES):
            rows = [(numbers[left], numbers[right], KIND, weight)
                    for left, right, weight in one.edges(ns, ids[at : at + ENTRIES], KIND) if right in numbers]  # fmt: skip
            with two.write(ns) as tx:
                tx.put_edges(rows)

    def _shelve(self, ns: str) -> None:
        """Let every document stand on its shelf."""
        two = self.target.store
        for batch in batches(self.source.store, ns, DOCUMENTS):
            away = [one for one in batch if one.shelf != SHELVES[0] and two.nodes(ns, one.id)]
            if not away:
                continue
            with two.write(ns) as tx:
                for document in away:
                    tx.note_stray(document.id, document.shelf)
            with two.write(ns) as tx:
                for document in away:
                    tx.move(document.id, SHELVES[0], document.shelf, with_vectors=True)

    def _compared(self, ns: str) -> dict[str, int]:
        """How much there is; raises Damaged where it is not the same on both sides, or does not prove itself."""
        one, two = self.source.store.counts(ns), self.target.store.counts(ns)
        for name in COUNTED:
            if one[name] != two[name]:
                raise Damaged(f"the copy of {ns!r} has {two[name]} {name} instead of {one[name]}: was it written to? repeat it")
        verdict = self.target.verify(ns)
        if not verdict.ok:
            raise Damaged(f"the copy of {ns!r} does not verify: {verdict.problem}")
        if self.source.store.head(ns) != self.target.store.head(ns):
            raise Damaged(f"the copy of {ns!r} ends elsewhere than its source: it was written to meanwhile; repeat it")
        return dict(two)
