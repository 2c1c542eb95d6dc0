"""The nearest vectors of a namespace, kept up with the store.

Cosines are centred: the mean of the namespace's own vectors is taken off both sides first. Sentence embedders put
all texts into a narrow cone (unrelated turns have a cosine of .86 under e5), and what they share says nothing about
what tells them apart (docs/calibration.md). Below `FEW` vectors a mean would be noise, so the cosine is put on the
same scale by the embedder's own calibration instead.

Up to 20,000 vectors all are held in memory and compared. Above, their codes are (docs/codes.md): they are scanned,
and only the best are compared by their full vectors, which stay in the store. Vectors that have no code yet are held
and compared as before, so nothing waits for the next code block.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mnemic.embed import calibration_of
from mnemic.recall.arrays import Places, Seats, grown
from mnemic.recall.codebook import matrix
from mnemic.recall.codes import Coder, Codes, candidates, estimate, nearest
from mnemic.recall.words import NONE
from mnemic.store import Ids, Store

Floats = NDArray[np.float32]
FEW = 64
BATCH = 20_000
BLOCKS = 4
"""Code blocks that are read at a time: what they come in takes no more memory than 3 MB, at 384 dimensions."""
KEPT = 20_000
"""Full vectors that are kept in memory once they were read: 15 MB at 384 dimensions."""


class VectorIndex:
    """One namespace, one embedder, one shelf. Safe to call from several threads."""

    def __init__(self, store: Store, namespace: str, identity: str, dim: int, shelf: str = "hot") -> None:
        self._store, self._ns, self._dim, self._shelf = store, namespace, dim, shelf
        self._embedder = store.embedder(identity, dim).id
        known = calibration_of(identity)
        self._known_level = known.mean if known else 0.0
        self._guard = threading.RLock()
        self._removed = 0
        self._common: Floats | None = None
        self._reset(None)

    def _reset(self, coder: Coder | None) -> None:
        self._stamp = self._sealed = 0
        self._coder = coder
        self._coded = _Coded(self._dim)
        self._loose = _Rows(self._dim)
        """Vectors without a code: all of them where there is no coder."""
        self._known = _Known(self._dim)
        """Full vectors from the store, which never change."""
        self._lengths: Floats | None = None
        """Their distances from the mean."""

    def refresh(self) -> None:
        """Take in what came since the last time, and let go of what went."""
        with self._guard:
            removed = self._store.lexicon(self._ns)[2]
            if removed != self._removed:
                # Vectors of earlier revisions would crowd out those of the present one.
                self._removed, self._stamp, self._loose = removed, self._sealed, _Rows(self._dim)
                self._known = _Known(self._dim)
            # Codes are made of vectors that came: without new ones there is nothing new.
            elif self._stamp and not self._store.vectors_after(self._ns, self._embedder, self._stamp, 1, shelf=self._shelf):
                return
            known = self._store.coder(self._ns, self._embedder, self._shelf)
            mean = known[1] if known else b""
            if mean != (self._coder.mean.tobytes() if self._coder else b""):
                self._reset(Coder.load(mean) if known else None)
            if known:
                self._take_codes()
            self._take_vectors()
            self._lengths = None

    def _take_codes(self) -> None:
        """Code blocks that are new since the last time; the vectors they stand for are held no longer."""
        while blocks := self._store.codes(self._ns, self._embedder, self._sealed, BLOCKS, self._shelf):
            self._sealed = blocks[-1].last
            for block in blocks:
                ids = np.frombuffer(block.nodes, dtype="<i8")
                self._coded.extend(ids, np.frombuffer(block.codes, dtype="<u8").reshape(-1, len(ids)))
        self._loose = self._loose.after(self._sealed)
        self._stamp = max(self._stamp, self._sealed)

    def _take_vectors(self) -> None:
        while rows := self._store.vectors_since(self._ns, self._embedder, self._stamp, BATCH, self._shelf):
            self._stamp = rows[-1][0]
            stamps, ids, vectors = zip(*rows, strict=True)
            self._loose.extend(np.array(stamps), np.array(ids), matrix(vectors, self._dim))

    @property
    def sums(self) -> tuple[int, NDArray[np.float64]]:
        """How many vectors there are, and their sum: that of those with a code by the mean they were coded with."""
        with self._guard:
            coded = len(self._coded)
            return coded + len(self._loose), self._loose.sum + (coded * self._coder.mean if self._coder else 0)

    def share(self, mean: Floats | None) -> None:
        """Take the mean of all shelves off from now on; `None` while there are too few vectors to tell."""
        with self._guard:
            if mean is None or self._common is None or not np.array_equal(mean, self._common):
                self._common, self._lengths = mean, None

    @property
    def mean(self) -> Floats:
        """What is taken off every vector: the coder's mean, else that of all; zeros while there are too few to tell."""
        if self._coder is not None:
            return self._coder.mean
        if self._common is not None:
            return self._common
        return self._loose.mean if len(self._loose) >= FEW else np.zeros(self._dim, dtype=np.float32)

    @property
    def level(self) -> float:
        """The cosine of unrelated texts: 0 once a mean is taken off, before that what is known of the embedder."""
        few = self._coder is None and self._common is None and len(self._loose) < FEW
        return self._known_level if few else 0.0

    def cosines(self, query: Floats, ids: Ids) -> Floats:
        """Centred cosines of the query with some nodes; NaN where a node has no vector."""
        with self._guard:
            rows, have = self._rows(ids)
            found = np.full(len(ids), np.nan, dtype=np.float32)
            if have.any():
                found[have] = self._compare(query, rows)
            return found

    def estimates(self, query: Floats, ids: Ids) -> Floats:
        """As `cosines`, but without reading from the store: of nodes that have a code, what the code tells."""
        with self._guard:
            found = np.full(len(ids), np.nan, dtype=np.float32)
            places = self._loose.places(ids)
            held = places >= 0
            if held.any():
                found[held] = self._compare(query, self._loose.vectors[places[held]])
            if self._coder is not None:
                columns = self._coded.places(ids)
                coded = ~held & (columns >= 0)
                found[coded] = estimate(self._coded.codes[:, columns[coded]], query, self._coder)
            return found

    def vectors(self, ids: Ids) -> Floats:
        """Centred unit vectors, shape (n, dim); zeros where a node has none."""
        with self._guard:
            rows, have = self._rows(ids)
            found = np.zeros((len(ids), self._dim), dtype=np.float32)
            found[have] = (rows - self.mean) / _lengths(rows, self.mean)[:, None]
            return found

    def _rows(self, ids: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """The full vectors of those nodes that have one, and which they are."""
        if self._coder is None:
            places = self._loose.places(ids)
            return self._loose.vectors[places[places >= 0]], places >= 0
        if self._known.room < len(ids):
            self._known = _Known(self._dim)
        places = self._known.places(ids)
        if (missing := places < 0).any():
            self._known.extend(self._store.vectors(self._ns, self._embedder, ids[missing].tolist(), self._shelf))
            places[missing] = self._known.places(ids[missing])
        return self._known.rows(places[places >= 0]), places >= 0

    def nearest(
        self, query: Floats, k: int, among: Ids | None = None, without: Ids = NONE
    ) -> tuple[Ids, Floats]:
        """The ids of the k nodes closest to the query, best first, and their cosines.

        `among`: of these only; `without`: none of these.
        """
        if k < 1:
            return NONE, np.zeros(0, dtype=np.float32)
        with self._guard:
            ids = self._likely(query, k + len(without)) if among is None else among
            ids = ids[~np.isin(ids, without)]
            cosines = self.cosines(query, ids)
            best = _top(ids, cosines, k)
            return ids[best], cosines[best]

    def _likely(self, query: Floats, k: int) -> Ids:
        """Nodes among which the k nearest are."""
        loose = self._loose.ids[_top(self._loose.ids, self._scan(query), k)]
        if self._coder is None:
            return loose
        coded = self._coded.ids[nearest(self._coded.codes, query, self._coder, max(k, candidates(len(self._coded))))]
        return np.concatenate([coded[coded > 0], loose])  # 0 stands where one was erased

    def _scan(self, query: Floats) -> Floats:
        """Centred cosines with all vectors that are held."""
        if self._lengths is None:
            self._lengths = _lengths(self._loose.vectors, self.mean)
        return self._cosines(query, self._loose.vectors, self._lengths)

    def _compare(self, query: Floats, rows: Floats) -> Floats:
        return (self._cosines(query, rows, _lengths(rows, self.mean)) - self.level) / (1 - self.level)

    def _cosines(self, query: Floats, rows: Floats, lengths: Floats) -> Floats:
        """Centred cosines without a centred copy of the rows: (v - m)(q - m) = v(q - m) - m(q - m)."""
        wanted = query - self.mean
        wanted /= max(float(np.linalg.norm(wanted)), 1e-6)
        # Rounded: in which order a sum is made must not tell two equal texts apart.
        return np.round((rows @ wanted - self.mean @ wanted) / lengths, 5).astype(np.float32, copy=False)


class _Nodes:
    """Nodes in the order they came, each with something of its own."""

    def __init__(self) -> None:
        self._count = 0
        self._ids = np.zeros(16, dtype=np.int64)
        self._seats = Seats()

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> Ids:
        return self._ids[: self._count]

    def places(self, ids: Ids) -> Places:
        """Where each node stands; -1 where it does not."""
        return self._seats.of(ids)

    def _take(self, ids: Ids) -> slice:
        """The places that more nodes got."""
        start, self._count = self._count, self._count + len(ids)
        self._ids = grown(self._ids, self._count)
        self._ids[start : self._count] = ids
        self._seats.put(ids, start)
        return slice(start, self._count)


class _Rows(_Nodes):
    """Unit vectors with their stamps and nodes."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self._stamps = np.zeros(16, dtype=np.int64)
        self._vectors = np.zeros((16, dim), dtype=np.float32)
        self._sum = np.zeros(dim, dtype=np.float64)

    @property
    def vectors(self) -> Floats:
        return self._vectors[: self._count]

    @property
    def sum(self) -> NDArray[np.float64]:
        return self._sum

    @property
    def mean(self) -> Floats:
        mean: Floats = (self._sum / max(self._count, 1)).astype(np.float32)
        return mean

    def extend(self, stamps: Places, ids: Ids, vectors: Floats) -> None:
        new = self._take(ids)
        self._stamps, self._vectors = grown(self._stamps, self._count), grown(self._vectors, self._count)
        self._stamps[new], self._vectors[new] = stamps, vectors
        self._sum += vectors.sum(axis=0, dtype=np.float64)

    def after(self, stamp: int) -> _Rows:
        """Those that came after a stamp."""
        keep = self._stamps[: self._count] > stamp
        if keep.all():
            return self
        kept = _Rows(self._vectors.shape[1])
        kept.extend(self._stamps[: self._count][keep], self.ids[keep], self.vectors[keep])
        return kept


class _Coded(_Nodes):
    """Codes, a column each, with their nodes."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self._codes = np.zeros((2 * -(-dim // 64), 16), dtype=np.uint64)

    @property
    def codes(self) -> Codes:
        return self._codes[:, : self._count]

    def extend(self, ids: Ids, codes: Codes) -> None:
        new = self._take(ids)
        self._codes = grown(self._codes, self._count, axis=1)
        self._codes[:, new] = codes


class _Known:
    """Vectors that were read from the store, by node, in room that is taken as it fills."""

    def __init__(self, dim: int) -> None:
        self._count = 0
        self._vectors = np.zeros((KEPT, dim), dtype=np.float16)
        self._seats = Seats()

    @property
    def room(self) -> int:
        return KEPT - self._count

    def places(self, ids: Ids) -> Places:
        """Where each node's vector stands; -1 where it was not read, or there is none."""
        return self._seats.of(ids)

    def extend(self, found: Mapping[int, bytes]) -> None:
        """Take in vectors of nodes that were missing."""
        start, self._count = self._count, self._count + len(found)
        rows = np.frombuffer(b"".join(found.values()), dtype=np.float16).reshape(len(found), self._vectors.shape[1])
        self._vectors[start : self._count] = rows
        self._seats.put(np.array([*found], dtype=np.int64), start)

    def rows(self, places: Places) -> Floats:
        return self._vectors[places].astype(np.float32)


def _top(ids: Ids, scores: Floats, k: int) -> NDArray[np.intp]:
    """The places of the k highest scores, best first, ties by id; NaN is no score."""
    have = np.flatnonzero(~np.isnan(scores))
    if len(have) > k:
        have = have[scores[have] >= np.partition(scores[have], len(have) - k)[len(have) - k]]
    return have[np.lexsort((ids[have], -scores[have]))[:k]]


def _lengths(rows: Floats, mean: Floats) -> Floats:
    """How far unit vectors lie from the mean."""
    squares = 1 - 2 * (rows @ mean) + mean @ mean
    return np.sqrt(np.maximum(squares, 1e-12)).astype(np.float32, copy=False)
