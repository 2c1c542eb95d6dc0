"""Compact codes, so that a search over very many vectors reads a sixteenth of them.

Up to about 20,000 vectors `scan` compares the query with all of them and is exact. Above, each vector also has a code of
two bits a dimension, held in memory (96 bytes for 384 dimensions; a million are 96 MB instead of 1.5 GB): `nearest`
compares the query with the first bits of all codes by XOR and bit counts, then with both bits of the best, and names
candidates to compare by their full vectors. Codes are taken after subtracting the mean of all vectors, because the
vectors of most models fill a narrow cone, in which plain signs hardly differ. docs/codes.md has the measurements and the
ways not taken, `python -m bench.codes` makes them again.

A coordinate becomes one of the levels -3, -1, 1, 3, the 2-bit number `2*a + b` with digits -1 or 1, and so does
the query's. A product of a vector's first digit, its sign, and the query's level is then a weighted sum of products of
digits, and a sum of products of digits is a bit count: sum(a*b) = dim - 2*count(a XOR b). So one pass of integer work
gives the dot product of the signs and the rounded query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.embed.calibration import centred

Codes = NDArray[np.uint64]
"""Shape (2 * words, n), words = ceil(dim / 64): a vector is a column. So a scan reads each row in one run,
which is five times faster than going from vector to vector.
"""

EXACT_BELOW = 20_000
"""Vectors up to which `scan` is quicker than `nearest`, and 31 MB hold them at 384 dimensions."""

SHARE, FEWEST, MOST = 500, 150, 400
"""One vector in so many is compared in full, within these bounds. At 40,874 vectors 100 candidates hold .982 of the exact
top 20 of a question, 200 hold .997 and 400 all; with each doubling of the vectors 200 lose about .0015."""

STALE = 0.25
"""`drift` from which on codes should be made anew; up to 0.3 at least 0.98 of the exact top 20 were kept."""

STEP = 0.996
"""Best uniform step of two bits for a normal distribution of spread 1 (Max 1960, IRE Trans. IT-6, table II)."""

ROUNDED = 0.939
"""The mean cosine of a vector with its two-bit levels: sqrt(1 - .1188), Max 1960, table II."""

REFINE = 8
"""Of so many times the candidates the code is compared with the unrounded query."""

RUN = 8_192
"""Columns that are scanned at a time: what comes in between stays in a core's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Coder:
    """What turns vectors into codes: the mean (dim,) to subtract. Never compare codes of two coders."""

    mean: NDArray[np.float32]

    @classmethod
    def fit(cls, vectors: NDArray[np.floating]) -> Coder:
        """A coder for vectors like these, shape (n, dim), n >= 1; a thousand taken at random are enough."""
        return cls(np.asarray(vectors.mean(axis=0, dtype=np.float64), np.float32))

    @classmethod
    def load(cls, stored: bytes) -> Coder:
        """A coder from the bytes of its mean."""
        return cls(np.frombuffer(stored, dtype=np.float32))

    def encode(self, vectors: NDArray[np.floating]) -> Codes:
        """The codes of `vectors` (n, dim), a column for each: `np.hstack` them to what is there."""
        return _digits(centred(vectors, self.mean))


def scan(vectors: NDArray[np.float32], query: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """The exact k nearest of `vectors` (n, dim) to `query` (dim,) by dot product, best first."""
    return _best(vectors @ query, k)


def nearest(codes: Codes, query: NDArray[np.float32], coder: Coder, k: int) -> NDArray[np.intp]:
    """About the k nearest columns to `query` (dim,) by centred cosine, best first.

    Ask for as many as `candidates` says and compare those by their full vectors.
    """
    point = centred(query, coder.mean)
    rough = _least(_distances(codes, _digits(point[None])), REFINE * k)
    return rough[_best(_closeness(codes[:, rough], point), k)]


def estimate(codes: Codes, query: NDArray[np.float32], coder: Coder) -> NDArray[np.float32]:
    """About the centred cosines of the query with codes.

    Off by .02, and by more than .05 once in a hundred times, for 384 dimensions (docs/codes.md).
    """
    return _closeness(codes, centred(query, coder.mean)) / np.float32(ROUNDED)


def candidates(n: int) -> int:
    """How many of n vectors to compare in full for the nearest few."""
    return min(max(n // SHARE, FEWEST), MOST)


def drift(old: NDArray[np.floating], new: NDArray[np.floating]) -> float:
    """How far the mean has moved since the codes were made, in units of the vectors' distance from it.

    Past `STALE` make a new coder and encode all anew. Unit vectors lie sqrt(1 - |mean|^2) from their mean.
    """
    room = max(1e-6, 1.0 - float(np.dot(new, new)))
    return float(np.linalg.norm(np.asarray(new, np.float64) - old) / np.sqrt(room))


def _digits(points: NDArray[np.float32]) -> Codes:
    """The digits of the rounded coordinates of unit `points`, highest first, shape (2 * words, n)."""
    n, dim = points.shape
    step = STEP / np.sqrt(dim)
    level = np.clip(np.floor(points / step) + 2, 0, 3).astype(np.uint8)
    padded = np.zeros((n, -(-dim // 64) * 64), np.uint8)
    rows = []
    for digit in (1, 0):
        padded[:, :dim] = level >> digit & 1
        rows.append(np.packbits(padded, axis=1, bitorder="little").view("<u8").T)
    return np.ascontiguousarray(np.vstack(rows), dtype=np.uint64)


def _distances(codes: Codes, query: Codes) -> NDArray[np.uint16]:
    """A number for each column that grows as the dot product of its signs with the rounded query falls.

    The low digits of the columns are left to the comparison of the best: half the memory is read for it.
    """
    words, found = len(codes) // 2, np.empty(codes.shape[1], np.uint16)
    turn = query[:words] ^ query[words:]
    for start in range(0, len(found), RUN):
        differing = codes[:words, start : start + RUN] ^ query[:words]
        counts = np.bitwise_count(differing)
        counts += counts
        differing ^= turn
        counts += np.bitwise_count(differing)  # at most 3 * 64, so a byte holds it
        np.add.reduce(counts, axis=0, dtype=np.uint16, out=found[start : start + RUN])
    return found


def _closeness(codes: Codes, point: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each column's levels with a unit point that is not rounded.

    A table tells what the eight coordinates of a byte contribute: 4 for a high digit, 2 for a low one, -3 in any case.
    """
    words = len(codes) // 2
    parts = np.zeros(words * 64, np.float32)
    parts[: len(point)] = point
    table = (parts.reshape(-1, 8) @ _BITS.T).ravel()
    both = np.concatenate([4 * table, 2 * table])
    numbers = np.ascontiguousarray(codes.T, "<u8").view(np.uint8) + np.arange(0, len(both), 256)
    dots = both.take(numbers).sum(axis=1) - 3 * point.sum()
    ones = np.bitwise_count(codes[:words] ^ codes[words:]).sum(axis=0, dtype=np.uint32)  # levels of 1; the others are 3
    return np.asarray(dots / np.sqrt(9.0 * len(point) - 8.0 * ones), np.float32)


_BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.float32)
"""The bits of every byte, the lowest first."""


def _least(numbers: NDArray[np.uint16], k: int) -> NDArray[np.intp]:
    """Positions of the k least numbers, the least first, ties by position: they are small, so counting finds the edge."""
    edge = int(np.searchsorted(np.cumsum(np.bincount(numbers)), min(k, len(numbers))))
    chosen = np.flatnonzero(numbers <= edge)
    return np.asarray(chosen[np.argsort(numbers[chosen], kind="stable")[:k]], np.intp)


def _best(scores: NDArray[np.floating | np.integer], k: int) -> NDArray[np.intp]:
    """Positions of the k highest scores, highest first, ties by position."""
    k = min(k, len(scores))
    if k <= 0:
        return np.empty(0, np.intp)
    edge = np.partition(scores, len(scores) - k)[len(scores) - k]
    chosen = np.flatnonzero(scores >= edge)
    return np.asarray(chosen[np.argsort(-scores[chosen], kind="stable")[:k]], np.intp)
