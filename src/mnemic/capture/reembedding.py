"""A home's passages by another embedder: beside the vectors that are in use, until all are there.

Vectors are stored by embedder, so the new set is in nobody's way, and being killed loses nothing: what has a vector of its
present passage is not embedded again. Passes go over all documents until one finds hardly anything; then the home names the
new embedder. Every process looks there before it answers or indexes, so from then on what comes gets the new vectors; what
came in between is found by one more pass, after every write that began before has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mnemic.capture.chosen import META, Chosen
from mnemic.capture.edges import KIND
from mnemic.capture.indexing import Indexer
from mnemic.store import Store, batches, repeated

BATCH = 8
"""Documents whose vectors share a transaction: what being killed loses."""
FEW = 50
"""Documents that came during a pass and may be left to the one after the switch."""
CLOSING = "embedder closing"
"""Under which the home keeps the embedder that it has gone over to without all that follows; empty: none."""
DROPPED = 5_000
"""Vectors that are removed in one transaction: other writers wait meanwhile."""
Progress = Callable[[int, int], None]
"""Is told how many documents of one pass were looked at, and of how many."""


class Reembedding:
    """All namespaces and shelves of one home, by the embedder of an indexer."""

    def __init__(self, store: Store, indexer: Indexer, progress: Progress) -> None:
        self._store, self._indexer, self._progress = store, indexer, progress
        self.embedded = 0
        """Documents that got vectors."""

    def fill(self) -> None:
        """Passes over all documents, until one finds few; then the codes."""
        while self._pass() > FEW:
            pass
        for ns in self._store.namespaces():
            self._indexer.seal(ns)

    def switch(self, chosen: Chosen) -> None:
        """Let the home use the embedder from now on, and `close`."""
        self._store.set_meta(CLOSING, chosen.identity)
        self._store.set_meta(META, chosen.text)
        self.close()

    def close(self) -> None:
        """After the switch: vectors for what came meanwhile, and edges by the new ones."""
        for ns in self._store.namespaces():
            with self._store.write(ns):
                pass  # a write that began with the old embedder has ended now
        self._pass()
        for ns in self._store.namespaces():
            self._indexer.seal(ns)
            self._disconnect(ns)
        self._store.set_meta(CLOSING, "")
        for ns in self._store.namespaces():
            self._indexer.edges(ns).rebuild()  # what this does not come to, the night does

    def drop_others(self) -> int:
        """Remove the vectors and codes of all other embedders; returns how many vectors those were."""
        dropped = 0
        for row in self._store.embedders():
            if row.id != self._indexer.row.id:
                dropped += sum(self._drop(ns, row.id) for ns in self._store.namespaces())
        return dropped

    def _drop(self, ns: str, embedder: int) -> int:
        done = 0
        while count := repeated(partial(self._drop_some, ns, embedder)):
            done += count
        return done

    def _drop_some(self, ns: str, embedder: int) -> int:
        with self._store.write(ns) as tx:
            return tx.drop_vectors(embedder, DROPPED)

    def _pass(self) -> int:
        """Vectors for all passages that have none; how many documents got some."""
        spaces = self._store.namespaces()
        whole = sum(self._store.count(ns, "documents", {}) for ns in spaces)
        seen = found = 0
        for ns in spaces:
            for batch in batches(self._store, ns, BATCH):
                count, failed = self._indexer.fill(ns, batch)
                found, seen = found + count, seen + len(batch)
                self.embedded += count
                if failed:
                    raise failed
                self._progress(seen, max(seen, whole))
        return found

    def _disconnect(self, ns: str) -> None:
        """Take the similar edges away: cosines of two embedders do not compare."""
        self._indexer.edges(ns).restart()
        for batch in batches(self._store, ns, BATCH):
            ids = [node.id for document in batch for node in self._store.nodes(ns, document.id, document.shelf)]
            rows = [(source, target, KIND) for source, target, _ in self._store.edges(ns, ids, KIND)]
            if rows:
                repeated(partial(self._drop_edges, ns, rows))

    def _drop_edges(self, ns: str, rows: list[tuple[int, int, str]]) -> None:
        with self._store.write(ns) as tx:
            tx.drop_edges(rows)

