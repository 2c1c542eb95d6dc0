"""Vectors and similar edges, after the text is safe.

A document waits in the queue until its nodes have vectors. The queue is part of the same transaction that stored the
document, so a crash forgets nothing; a failure marks it `failed` and puts it off, without the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby

import numpy as np

from mnemic.capture.chosen import uses
from mnemic.capture.edges import EDGES, KIND, Edges
from mnemic.clock import Clock, to_ms
from mnemic.embed import Embedder, Vectors
from mnemic.embed.base import BadVectors
from mnemic.errors import ModelError
from mnemic.models.document import SHELVES, Document, Node
from mnemic.recall.codebook import matrix, seal
from mnemic.recall.rows import Seen
from mnemic.recall.words import Lists, matching, rarest
from mnemic.store import EmbedderRow, Store, VectorRow, repeated
from mnemic.store.trees import passage_of
from mnemic.text.tokens import query_terms

BATCH = 50
"""Documents that share a transaction: each commit waits for the disk."""
RECENT, LEXICAL = 120, 20
"""Where neighbours are looked for: all pairs would take minutes a write (000 §3)."""
EDGE_TERMS, EDGE_POSTINGS = 6, 2_000


@dataclass(frozen=True, slots=True)
class Drained:
    """What one run over the queue did."""

    indexed: int = 0
    failed: int = 0
    error: str | None = None


class Indexer:
    """Works the queue off, one embedding request at a time."""

    def __init__(
        self, store: Store, embedder: Embedder, clock: Clock, *, similar: float, retry_seconds: int,
        bare: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self._store, self._embedder, self._clock = store, embedder, clock
        self._similar, self._retry_ms = similar, retry_seconds * 1000
        self._bare = bare
        """Shelves that hold no vectors."""
        self._row: EmbedderRow | None = None
        self._common: dict[str, set[str]] = {}
        """By namespace, the terms that too many nodes hold: counting those takes most of the time, and they stay so."""

    @property
    def row(self) -> EmbedderRow:
        """The store's row for this embedder."""
        if self._row is None:
            self._row = self._store.embedder(self._embedder.identity, self._embedder.dim)
        return self._row

    def drain(
        self, ns: str | None = None, *, limit: int | None = None, progress: Callable[[int], None] | None = None
    ) -> Drained:
        """Index what is due, oldest first. A model that fails ends the run: the next document would fail too."""
        done = 0
        spaces: set[str] = set()
        while limit is None or done < limit:
            count = BATCH if limit is None else min(BATCH, limit - done)
            batch = self._store.queue(ns, due=to_ms(self._clock.now()), limit=count)
            if not batch:
                break
            for space, waiting in groupby(batch, key=lambda pair: pair[0]):
                indexed, error = self._index(space, [row.document for _, row in waiting])
                done += indexed
                if error:
                    return Drained(done, 1, error)
                spaces.add(space)
                if progress:
                    progress(done)
        for space in sorted(spaces):
            seal(self._store, space, self.row)
        return Drained(done)

    def seal(self, ns: str) -> None:
        """Make the codes anew that a rotation dropped, and those of what came to another shelf."""
        for shelf in SHELVES:
            seal(self._store, ns, self.row, shelf)

    def fill(self, ns: str, documents: Sequence[Document]) -> tuple[int, ModelError | None]:
        """Vectors for those passages of some documents that have none, whatever waits; how many got some, and what stopped
        the rest.
        """
        fresh: list[_Fresh] = []
        count, failed = 0, None
        for document in documents:
            try:
                made = self._embedded(document.shelf, self._wanting(ns, document)[1])
            except ModelError as error:
                failed = error
                break
            fresh += made
            count += bool(made)

        def put() -> None:
            with self._store.write(ns) as tx:
                for shelf in SHELVES:
                    tx.put_vectors(self.row.id, [one.row for one in fresh if one.shelf == shelf], shelf)

        if fresh:
            repeated(put)
        return count, failed

    def edges(self, ns: str) -> Edges:
        """The similar edges of a namespace, to be compared with all others at night."""
        return Edges(self._store, ns, self.row, self._similar)

    def _index(self, ns: str, numbers: Sequence[int]) -> tuple[int, str | None]:
        """Vectors and edges of some documents in one transaction; how many went well, and what stopped the rest."""
        settled: list[tuple[int, Document | None, set[int]]] = []
        fresh: list[_Fresh] = []
        failed: tuple[int, str] | None = None
        embedder = self.row.id  # made where it is new, which is a write of its own
        with self._store.reading():
            documents = [(number, self._store.document_by_id(ns, number)) for number in numbers]
            waiting = [(number, document, *self._wanting(ns, document)) for number, document in documents]
        for number, document, seen, passages in waiting:
            try:
                fresh += self._embedded(document.shelf if document else "", passages)
            except ModelError as error:
                failed = (number, str(error))
                break
            settled.append((number, document, seen))
        fresh.sort(key=lambda one: one.node)
        with self._store.reading():
            edges = self._edges(ns, fresh)

        def put() -> bool:
            with self._store.write(ns) as tx:
                if not uses(self._store, self._embedder.identity):
                    return False  # what waits, waits for the embedder that the home has gone over to
                for shelf in SHELVES:
                    tx.put_vectors(embedder, [one.row for one in fresh if one.shelf == shelf], shelf)
                tx.put_edges(edges)
                for number, document, seen in settled:
                    # If the document changed while the model worked, it stays in the queue for what is new.
                    if document is None or seen == {node.id for node in self._store.nodes(ns, number, document.shelf)}:
                        tx.settle(number, None, 0)
                if failed:
                    tx.settle(failed[0], failed[1][:500], to_ms(self._clock.now()) + self._retry_ms)
            return True

        if not repeated(put):
            return 0, "the home has gone over to another embedder"
        return len(settled), failed[1] if failed else None

    def _wanting(self, ns: str, document: Document | None) -> tuple[set[int], list[tuple[int, str]]]:
        """The ids of a document's nodes, and the passages that have no vector of what they say now, with their nodes."""
        if document is None:
            return set(), []
        seen = {node.id for node in self._store.nodes(ns, document.id, document.shelf)}
        if document.shelf in self._bare:
            return seen, []
        passages = [(node.id, text) for node, text in passages_of(self._store, ns, document)]
        known = self._store.digests(ns, self.row.id, [node for node, _ in passages], document.shelf)
        return seen, [(node, text) for node, text in passages if known.get(node) != passage_digest(text)]

    def _embedded(self, shelf: str, passages: list[tuple[int, str]]) -> list[_Fresh]:
        """Vectors for passages that stand on a shelf."""
        if not passages:
            return []
        try:
            vectors = self._embedder.embed([text for _, text in passages], "passage")
        except BadVectors as error:
            # About these texts, not about the model: the others get theirs, these are found by words.
            passages = [pair for place, pair in enumerate(passages) if place not in error.rows]
            vectors = self._embedder.embed([text for _, text in passages], "passage")
        return [_Fresh(node, text, vector, shelf) for (node, text), vector in zip(passages, vectors, strict=True)]

    def _edges(self, ns: str, fresh: list[_Fresh]) -> list[tuple[int, int, str, float]]:
        """Up to three similar nodes for each, among the most recent before it and the lexically nearest."""
        if not fresh:
            return []
        store, embedder = self._store, self.row.id
        recent = store.vectors_before(ns, embedder, fresh[0].node, RECENT)[::-1]
        numbers = [*(node for node, _ in recent), *(one.node for one in fresh)]
        rows = np.concatenate([matrix([vector for _, vector in recent], self.row.dim), [one.vector for one in fresh]])
        # Asked for all at once: a store may be far away.
        lists, seen = Lists(store, ns), Seen(store, ns, reach=1)
        terms = self._edge_terms(ns, [one.text for one in fresh], lists)
        lists.holders(sorted({word for counts in terms for word in counts}))
        lexical = [matching(store, ns, counts, LEXICAL, lists=lists, seen=seen) for counts in terms]
        nears = [slice(max(0, place - RECENT), place) for place in range(len(recent), len(numbers))]
        fars = [sorted({node for node in found if node < fresh[0].node} - {*numbers[near]})
                for found, near in zip(lexical, nears, strict=True)]  # fmt: skip
        known = store.vectors(ns, embedder, sorted({node for far in fars for node in far}))
        edges = []
        for one, near, wanted in zip(fresh, nears, fars, strict=True):
            far = [node for node in wanted if node in known]
            cosines = np.concatenate([rows[near], matrix([known[node] for node in far], self.row.dim)]) @ one.vector
            best = sorted(zip(cosines.tolist(), [*numbers[near], *far], strict=True), reverse=True)[:EDGES]
            edges += [(one.node, other, KIND, round(cos, 6)) for cos, other in best if cos >= self._similar]
        return edges

    def _edge_terms(self, ns: str, texts: Sequence[str], lists: Lists) -> list[dict[str, int]]:
        """Of each passage, the rarest terms that other nodes hold too, with how many do."""
        common = self._common.setdefault(ns, set())
        words = [[word for word in query_terms(text)[:24] if word not in common] for text in texts]
        counts = lists.counts(sorted({word for some in words for word in some}))
        common |= {word for word, count in counts.items() if count > EDGE_POSTINGS}
        found = []
        for some in words:
            shared = {word: counts[word] for word in some if 1 < counts[word] <= EDGE_POSTINGS}
            found.append({word: shared[word] for word in rarest(shared, EDGE_POSTINGS)[:EDGE_TERMS]})
        return found


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A node that has just been embedded."""

    node: int
    text: str
    vector: Vectors
    """Shape (dim,)."""
    shelf: str

    @property
    def row(self) -> VectorRow:
        return VectorRow(self.node, passage_digest(self.text), self.vector.astype(np.float16).tobytes())


def passages_of(store: Store, ns: str, document: Document) -> list[tuple[Node, str]]:
    """The nodes of a document that have words of their own, each with them, in document order."""
    nodes = store.nodes(ns, document.id, document.shelf)
    ids = sorted({node.text_id for node in nodes if node.text_id is not None})
    bodies = store.texts(ns, ids, document.shelf)
    found: list[tuple[Node, str]] = []
    for node in nodes:
        if node.text_id is None:
            continue
        text = passage_of(bodies.get(node.text_id, ""), node.parent, node.title, node.start, node.reach, node.speaker)
        if text:
            found.append((node, text))
    return found


def passage_digest(text: str) -> bytes:
    """Eight bytes that tell whether a vector was made from this passage."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
