"""What every embedder promises, and the checks that hold it to the promise.

Vectors are compared by a plain dot product all over mnemic, and a single NaN or zero vector among them makes
every comparison with it meaningless without any error. So the promise (finite, unit length, the declared
dimension, as many rows as texts) is checked here, once, at the border where vectors come in. The identity and
the canary catch the other quiet fault: vectors of two models that have the same dimension, compared as if
they were of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import ModelError

Kind = Literal["query", "passage"]
Vectors = NDArray[np.float32]

CANARY = "The quick brown fox remembers 42 lazy dogs; 记忆是时间的回声。"
"""Embedded as a passage and stored beside an identity. It must never change."""

SAME_MODEL = 0.99
"""Cosine of two canaries from which on one model made both (docs/calibration.md has the measurement)."""

TINY = 1e-6
"""A vector shorter than this carries no direction that float32 could be trusted with."""

SLACK = 1e-3
"""How far from 1 a length may be and still count as unit: float16 storage stays inside, a raw model output
does not.
"""


class Embedder(Protocol):
    """Texts in, unit vectors out.

    `identity` is `provider/model@dim+prefix`; vectors of two identities are never compared. A result depends
    on its own text alone, never on the other texts of the call.
    """

    @property
    def identity(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Unit vectors of shape (len(texts), dim), in order. Raises ModelError; BadVectors if only some rows
        are bad.
        """
        ...


class Reranker(Protocol):
    """Says how well each text fits a question: any finite numbers, higher is better."""

    def marks(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """One number a text, in order. Raises ModelError."""
        ...


class BadVectors(ModelError):
    """The model answered, but with vectors that cannot be used; `rows` are their positions in the call.

    Unlike a server that is down, this is about these texts: the others may be embedded without them.
    """

    def __init__(self, message: str, rows: tuple[int, ...]) -> None:
        super().__init__(message)
        self.rows = rows


@dataclass(frozen=True, slots=True)
class Prefix:
    """The words that some models want before a text, depending on its part; `name` goes into the identity."""

    name: str
    query: str = ""
    passage: str = ""

    def put(self, text: str, kind: Kind) -> str:
        return (self.query if kind == "query" else self.passage) + text


NO_PREFIX = Prefix("none")
E5_PREFIX = Prefix("e5", "query: ", "passage: ")
NOMIC_PREFIX = Prefix("nomic", "search_query: ", "search_document: ")


def prefix_of(model: str) -> Prefix:
    """The prefix that a model's name calls for: e5 and nomic families by their cards, else none.

    The `instruct` members of e5 take a task description instead; they count as none.
    """
    words = re.split(r"[^a-z0-9]+", model.lower())
    if "e5" in words and "instruct" not in words:
        return E5_PREFIX
    if "nomic" in words:
        return NOMIC_PREFIX
    return NO_PREFIX


def clean(text: str) -> str:
    """`text` with lone surrogates replaced, which no tokenizer and no JSON body can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit(vectors: NDArray[np.floating], dim: int) -> Vectors:
    """`vectors` (n, dim) scaled to length 1. Raises BadVectors for rows not finite or without length."""
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        raise ModelError(
            f"the embedder gave vectors of shape {vectors.shape!r} where (n, {dim}) was expected: "
            "set the dimension of the model that is served, then re-embed"
        )
    wide = vectors.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(wide, axis=1)
    bad = ~np.isfinite(wide).all(axis=1) | ~np.isfinite(length) | ~(length > TINY)
    if bad.any():
        rows = tuple(int(row) for row in np.flatnonzero(bad))
        raise BadVectors(f"the embedder gave NaN, infinite or zero vectors at {rows[:8]!r}: not stored", rows)
    return np.ascontiguousarray(wide / length[:, None], dtype=np.float32)


def checked(vectors: NDArray[np.floating], n: int, dim: int) -> Vectors:
    """`vectors` as float32, if n finite unit rows of `dim` columns; else ModelError or BadVectors."""
    if vectors.ndim != 2 or vectors.shape[0] != n:
        raise ModelError(
            f"the embedder gave vectors of shape {vectors.shape!r} for {n} texts: nothing was stored"
        )
    scaled = unit(vectors, dim)
    length = np.linalg.norm(vectors.astype(np.float64), axis=1)
    off = np.flatnonzero(np.abs(length - 1.0) > SLACK)
    if off.size:
        rows = tuple(int(row) for row in off)
        raise BadVectors(
            f"the embedder gave vectors of length {length[off[0]]:.4g} where 1 was promised", rows
        )
    return scaled


def canary(embedder: Embedder) -> Vectors:
    """The fixed phrase's vector, shape (dim,): store it beside the identity, compare by `same_model`."""
    return np.asarray(checked(embedder.embed([CANARY], "passage"), 1, embedder.dim)[0])


def same_model(stored: Vectors, now: Vectors) -> bool:
    """Whether two canaries come from one model; a swap under the same name and dimension shows here.

    Not exact equality: int8 kernels and servers round differently from one processor to the next.
    """
    return stored.shape == now.shape and float(stored @ now) >= SAME_MODEL
