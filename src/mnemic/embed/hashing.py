"""The embedder that is always there: words hashed into a fixed number of signed buckets.

It knows no meaning, only shared words, but needs no model, no download and no memory, and gives the same
vector on every machine with the same tokenizer, which its identity names. So vector search, similar edges and
their tests work before anybody has chosen a model. The scheme is feature hashing (Weinberger et al. 2009,
arXiv:0902.2206) with a sublinear term weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mnemic.embed.base import Kind, Vectors, clean
from mnemic.errors import BadInput
from mnemic.text.tokens import terms, tokenizer

BLOCK = 1024
"""Rows summed at once: keeps the float64 workspace at 2 MB for 256 dimensions."""


@lru_cache(maxsize=1 << 16)
def fnv1a(word: str) -> int:
    """The 32-bit FNV-1a hash of the word's UTF-8 bytes (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value = 0x811C9DC5
    for byte in word.encode("utf-8"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


class HashingEmbedder:
    """Bucket = hash mod dim, sign = the hash's top bit, weight = 1 + ln(count), then scaled to length 1.

    A text without words, or whose words cancel out, gives the first unit vector. Query and passage are alike.
    """

    def __init__(self, dim: int = 256) -> None:
        if dim < 2:
            raise BadInput(f"dim is {dim!r}: a hashing embedder needs at least 2 buckets, 256 is usual")
        self.dim = dim
        self.identity = f"hashing/fnv1a.{tokenizer()}@{dim}+none"

    def __repr__(self) -> str:
        return f"HashingEmbedder(dim={self.dim})"

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        out = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            out[start : start + len(block)] = self._sum(block)
        return out

    def _sum(self, texts: Sequence[str]) -> Vectors:
        places: list[int] = []
        weights: list[float] = []
        for row, text in enumerate(texts):
            base = row * self.dim
            for word, count in Counter(terms(clean(text))).items():
                value = fnv1a(word)
                weight = 1.0 + math.log(count) if count > 1 else 1.0
                places.append(base + value % self.dim)
                weights.append(-weight if value >> 31 else weight)
        shape = (len(texts), self.dim)
        flat = np.bincount(np.asarray(places, np.int64), np.asarray(weights, np.float64), shape[0] * shape[1])
        sums = flat.reshape(shape)
        length = np.linalg.norm(sums, axis=1)
        blank = length < 1e-9
        sums[blank], length[blank] = 0.0, 1.0
        sums[blank, 0] = 1.0
        return np.asarray(sums / length[:, None], np.float32)
