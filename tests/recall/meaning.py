"""An embedder that knows a few synonyms, so that a test can ask for what is meant and not said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.embed import HashingEmbedder, Kind, Vectors
from mnemic.errors import ModelError
from mnemic.text.tokens import terms
from tests.homes import NOON

CONCEPTS = (
    ("cat", "feline", "kitten"),
    ("doctor", "physician", "surgeon"),
    ("car", "automobile", "vehicle"),
    ("money", "cash", "salary"),
    ("sea", "ocean", "beach"),
)
OF = {stem: place for place, words in enumerate(CONCEPTS) for word in words for stem in terms(word)}
DIM = 64


@dataclass
class Meaning:
    """The concepts a text names, each an axis, and a little of its words; a text without concepts is its words alone."""

    identity: str = f"fake/meaning@{DIM}+none"
    dim: int = DIM
    lean: float = 0.0
    """How much all vectors share, as those of real models do."""
    broken: bool = False
    words: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(DIM))

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if self.broken:
            raise ModelError("the model is away")
        rows = 0.3 * self.words.embed(texts, kind)
        for row, text in zip(rows, texts, strict=True):
            for term in terms(text):
                if term in OF:
                    row[OF[term]] += 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rows[:, -1] += self.lean
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def opened(folder: Path, **parts: Any) -> Memory:
    """A home whose clock stands at noon."""
    parts.setdefault("clock", FixedClock(NOON))
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, **parts)


__all__ = ["CONCEPTS", "Meaning", "opened"]
