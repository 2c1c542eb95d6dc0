"""The vectors of a namespace in memory, kept up with the store.

Cosines are centred: the mean of the namespace's own vectors is taken off both sides first. Sentence embedders put
all texts into a narrow cone (unrelated turns have a cosine of .86 under e5), and what they share says nothing about
what tells them apart (docs/calibration.md). Below `FEW` vectors a mean would be noise, so the cosine is put on the
same scale by the embedder's own calibration instead. Above 20,000 vectors compact codes are scanned and
only the best are compared in full (docs/codes.md).
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from mnemic.embed import calibration_of
from mnemic.recall.codes import EXACT_BELOW, RESCORE, Coder, nearest
from mnemic.store import Store

Floats = NDArray[np.float32]
FEW = 64
BATCH = 20_000


class VectorIndex:
    """One namespace, one embedder, one shelf."""

    def __init__(self, store: Store, namespace: str, identity: str, dim: int, shelf: str = "hot") -> None:
        self._store, self._ns, self._dim, self._shelf = store, namespace, dim, shelf
        self._embedder = store.embedder(identity, dim).id
        known = calibration_of(identity)
        self._level = known.mean if known else 0.0
        self._stamp = 0
        self._ids: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._rows: NDArray[np.float16] = np.zeros((0, dim), dtype=np.float16)
        self._sum = np.zeros(dim, dtype=np.float64)
        self._places: dict[int, int] = {}
        self._exact: tuple[int, Floats, Floats] | None = None
        self._coded: tuple[int, Coder, NDArray[np.uint64]] | None = None
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._ids)

    def refresh(self) -> None:
        """Take in what came since the last time."""
        with self._guard:
            ids: list[int] = []
            parts: list[bytes] = []
            while rows := self._store.vectors_since(self._ns, self._embedder, self._stamp, BATCH, self._shelf):
                self._stamp = rows[-1][0]
                ids += [node for _, node, _ in rows]
                parts += [vector for _, _, vector in rows]
            if ids:
                fresh = np.frombuffer(b"".join(parts), dtype=np.float16).reshape(-1, self._dim)
                for place, node in enumerate(ids, len(self._ids)):
                    self._places[node] = place
                self._ids = np.concatenate([self._ids, np.array(ids, dtype=np.int64)])
                self._rows = np.concatenate([self._rows, fresh])
                self._sum += fresh.astype(np.float64).sum(axis=0)

    @property
    def mean(self) -> Floats:
        """The mean vector of the namespace; zeros while there are too few to tell."""
        if len(self._ids) < FEW:
            return np.zeros(self._dim, dtype=np.float32)
        mean: Floats = (self._sum / len(self._ids)).astype(np.float32)
        return mean

    def cosines(self, query: Floats, ids: NDArray[np.int64]) -> Floats:
        """Centred cosines of the query with some nodes; NaN where a node has no vector."""
        places = np.array([self._places.get(int(node), -1) for node in ids], dtype=np.int64)
        found = np.full(len(ids), np.nan, dtype=np.float32)
        have = places >= 0
        if have.any():
            found[have] = self._compare(query, self._rows[places[have]].astype(np.float32))
        return found

    def vectors(self, ids: NDArray[np.int64]) -> Floats:
        """Centred unit vectors; zeros where a node has none."""
        places = np.array([self._places.get(int(node), -1) for node in ids], dtype=np.int64)
        found = np.zeros((len(ids), self._dim), dtype=np.float32)
        have = places >= 0
        found[have] = _centred(self._rows[places[have]].astype(np.float32), self.mean)
        return found

    def nearest(self, query: Floats, k: int) -> NDArray[np.int64]:
        """The ids of the k nodes closest to the query, best first."""
        n = len(self._ids)
        if not n or k < 1:
            return np.zeros(0, dtype=np.int64)
        if n <= EXACT_BELOW:
            scores = self._scan(query)
        else:
            coder, codes = self._codes()
            candidates = nearest(codes, query, coder, min(n, max(k, RESCORE * 20)))
            scores = np.full(n, -np.inf, dtype=np.float32)
            scores[candidates] = self._compare(query, self._rows[candidates].astype(np.float32))
        best = np.argpartition(-scores, min(k, n - 1))[:k] if k < n else np.arange(n)
        best = best[np.lexsort((self._ids[best], -scores[best]))]
        return self._ids[best[np.isfinite(scores[best])]]

    def _scan(self, query: Floats) -> Floats:
        if self._exact is None or self._exact[0] != len(self._ids):
            rows = self._rows.astype(np.float32)
            self._exact = (len(self._ids), rows, _lengths(rows, self.mean))
        _, rows, lengths = self._exact
        wanted = query - self.mean
        scores: Floats = (rows @ wanted - self.mean @ wanted) / (lengths * max(float(np.linalg.norm(wanted)), 1e-6))
        return scores

    def _compare(self, query: Floats, rows: Floats) -> Floats:
        mean = self.mean
        wanted = query - mean
        wanted = wanted / max(float(np.linalg.norm(wanted)), 1e-6)
        scores: Floats = _centred(rows, mean) @ wanted
        if len(self._ids) < FEW and self._level:
            scores = (scores - self._level) / (1 - self._level)
        return scores

    def _codes(self) -> tuple[Coder, NDArray[np.uint64]]:
        n = len(self._ids)
        if self._coded is None or n > self._coded[0] * 2:
            coder = Coder.fit(self._rows[:: max(1, n // 20_000)].astype(np.float32))
            parts = [coder.encode(self._rows[at : at + BATCH].astype(np.float32)) for at in range(0, n, BATCH)]
            self._coded = (n, coder, np.hstack(parts))
        made, coder, codes = self._coded
        if codes.shape[1] < n:
            codes = np.hstack([codes, coder.encode(self._rows[codes.shape[1] :].astype(np.float32))])
            self._coded = (made, coder, codes)
        return coder, codes


def _lengths(rows: Floats, mean: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.maximum(np.einsum("ij,ij->i", rows, rows) - 2 * rows @ mean + mean @ mean, 1e-12))
    return lengths


def _centred(rows: Floats, mean: Floats) -> Floats:
    moved = rows - mean
    unit: Floats = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-6)
    return unit
