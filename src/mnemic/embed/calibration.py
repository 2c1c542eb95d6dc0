"""What a cosine means, per embedder, so that one threshold can be said once and hold for all.

The designs draw a similar edge at 0.72 and drop a near-duplicate at 0.88, for an embedder whose unrelated
texts have cosine 0. Few are like that: unrelated texts have 0.76 to 0.87 under multilingual-e5, depending on
language and kind of text, and 0.1 to 0.2 under hashing. Taken literally 0.72 would join everything with
everything. So a cosine is read as its *level*: 0 where unrelated texts of this store stand, 1 for the same
text. docs/calibration.md has the measurements, `python -m bench.calibrate` makes them again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import BadInput

SIMILAR = 0.72
"""Level of a similar edge."""

DUPLICATE = 0.88
"""Level from which on two texts say the same, and one of them need not be shown."""

LEAST = 100
"""Vectors below which a sample says too little: its mean still moves by several hundredths."""

MOST = 2000
"""Rows of a sample that are looked at: all their pairs are compared, 16 MB."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where the cosines of one embedder lie.

    `mean` and `spread` (standard deviation) are of unrelated pairs; `similar` and `duplicate` are the cosines
    at the levels 0.72 and 0.88. All are cosines, in -1..1.
    """

    mean: float
    spread: float
    similar: float
    duplicate: float

    def level(self, cosine: float) -> float:
        """`cosine` on the scale where unrelated is 0 and equal is 1; keeps the order, may be negative."""
        return (cosine - self.mean) / (1.0 - self.mean)

    def cosine(self, level: float) -> float:
        """The cosine at `level`; the inverse of `level`."""
        return self.mean + (1.0 - self.mean) * level


def at(mean: float, spread: float) -> Calibration:
    """The calibration that follows from the cosines of unrelated pairs."""
    return Calibration(
        mean=mean,
        spread=spread,
        similar=mean + (1.0 - mean) * SIMILAR,
        duplicate=mean + (1.0 - mean) * DUPLICATE,
    )


CENTRED = Calibration(mean=0.0, spread=0.13, similar=0.66, duplicate=0.85)
"""For cosines of `centred` vectors, of any embedder: those at which STS-B readers say as much as at 0.72 and
0.88.
"""

KNOWN = (
    ("multilingual-e5-small", Calibration(mean=0.86, spread=0.03, similar=0.95, duplicate=0.977)),
    ("hashing/fnv1a", Calibration(mean=0.11, spread=0.13, similar=0.66, duplicate=0.86)),
)
"""For a store too small for `calibrate`; e5's from the texts where unrelated pairs stand highest, so that
it draws too few edges rather than too many.
"""


def calibration_of(identity: str) -> Calibration | None:
    """The known calibration of an embedder's identity, or None; `calibrate` its own vectors as soon as there
    are 100.
    """
    return next((known for part, known in KNOWN if part in identity), None)


def calibrate(vectors: NDArray[np.floating]) -> Calibration:
    """The calibration of an embedder from unit vectors of its own, shape (n, dim), n >= 100, of texts taken
    at random.

    All pairs of (at most 2,000 evenly chosen) rows count as unrelated: among many texts nearly all are.
    Raises BadInput when the sample is too small or all alike.
    """
    if vectors.ndim != 2 or len(vectors) < LEAST:
        raise BadInput(
            f"a sample of shape {vectors.shape!r} is too small to calibrate: give {LEAST} vectors or more"
        )
    rows = np.unique(np.linspace(0, len(vectors) - 1, min(MOST, len(vectors))).astype(np.int64))
    sample = vectors[rows].astype(np.float32)
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    mean, spread = float(cosines.mean(dtype=np.float64)), float(cosines.std(dtype=np.float64))
    if mean > 0.999:
        raise BadInput(
            f"the {len(vectors)} vectors are all alike (mean cosine {mean:.4f}): nothing to calibrate by"
        )
    return at(mean, spread)


def centred(vectors: NDArray[np.floating], mean: NDArray[np.floating]) -> NDArray[np.float32]:
    """`vectors` (n, dim) or (dim,) with `mean` (dim,) subtracted, again of length 1.

    Their dot products are centred cosines: unrelated texts stand at 0 under every embedder. Queries are
    centred by the mean of the *passages* that are searched, not by one of their own. A vector that is the
    mean itself says nothing, and becomes zero: it is unrelated to everything.
    """
    moved = np.asarray(vectors, np.float32) - np.asarray(mean, np.float32)
    length = np.linalg.norm(moved, axis=-1, keepdims=True)
    return np.asarray(moved / np.where(length > 1e-6, length, np.inf), np.float32)
