"""Codes in the store: derived from the vectors, written by whoever indexes or rotates, read by whoever asks.

Each shelf has its own. Up to `EXACT_BELOW` vectors there are none. Above, a coder is fitted once and every full run of
`BLOCK` vectors gets a row of codes, so that a fresh process reads a sixteenth of the bytes and compares at most one run in
full. The mean that codes are taken against moves as memory grows; when it has drifted too far, all is encoded anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.codes import EXACT_BELOW, STALE, Coder, drift
from mnemic.store import CodeBlock, EmbedderRow, Store

BLOCK = 8_192
"""Vectors in a run."""
CROWDED = 0.75
"""Of the codes of an older shelf at least so many must stand for a vector; what moved on left blanks among them."""
SAMPLES, SAMPLE = 20, 1_000
"""A coder is fitted to so many runs of so many vectors, spread over all of them."""


@dataclass(frozen=True, slots=True)
class _Book:
    """The codes of one namespace and embedder on one shelf."""

    store: Store
    ns: str
    embedder: EmbedderRow
    shelf: str

    def known(self) -> tuple[int, bytes] | None:
        return self.store.coder(self.ns, self.embedder.id, self.shelf)

    def count(self, after: int, limit: int, until: int | None = None) -> int:
        return self.store.vectors_after(self.ns, self.embedder.id, after, limit, until=until, shelf=self.shelf)

    def last(self) -> int:
        return self.store.codes_last(self.ns, self.embedder.id, self.shelf)

    def encoded(self, coder: Coder, after: int) -> list[CodeBlock]:
        """Blocks for full runs after the last there is."""
        blocks: list[CodeBlock] = []
        while self.count(after, BLOCK) == BLOCK:
            rows = self.store.vectors_since(self.ns, self.embedder.id, after, BLOCK, self.shelf)
            blocks.append(block_of(rows, coder, self.embedder.dim))
            after = rows[-1][0]
        return blocks

    def crowded(self) -> bool:
        """Whether too many codes stand for nothing: on older shelves what moves on leaves blanks."""
        if self.shelf == "hot":
            return False
        coded = sum(len(block.nodes) // 8 for block in self.store.codes(self.ns, self.embedder.id, shelf=self.shelf))
        return self.count(0, coded, until=self.last()) < CROWDED * coded

    def fitted(self) -> Coder:
        last = self.store.vectors_last(self.ns, self.embedder.id, self.shelf)
        rows: dict[int, bytes] = {}
        for part in range(SAMPLES):
            after = part * last // SAMPLES
            found = self.store.vectors_since(self.ns, self.embedder.id, after, SAMPLE, self.shelf)
            rows |= {node: vector for _, node, vector in found}
        return Coder.fit(matrix(list(rows.values()), self.embedder.dim))

    def renew(self, known: tuple[int, bytes] | None) -> int:
        """All codes anew, by a coder of what is there now; none where that has become few."""
        few = self.count(0, EXACT_BELOW + 1) <= EXACT_BELOW
        coder = None if few else self.fitted()
        blocks = self.encoded(coder, 0) if coder else []
        with self.store.write(self.ns) as tx:
            if not self.stands(known, blocks):
                return 0
            tx.drop_codes(self.embedder.id, self.shelf)
            if coder:
                count = sum(len(block.nodes) // 8 for block in blocks)
                tx.put_coder(self.embedder.id, count, coder.mean.tobytes(), self.shelf)
                tx.put_codes(self.embedder.id, blocks, self.shelf)
        return len(blocks)

    def stands(self, known: tuple[int, bytes] | None, blocks: list[CodeBlock]) -> bool:
        """Whether what was encoded is still there: another process may have encoded all anew, or erased some of it."""
        return self.known() == known and all(
            self.count(block.first - 1, BLOCK + 1, until=block.last) == len(block.nodes) // 8 for block in blocks
        )


def seal(store: Store, ns: str, embedder: EmbedderRow, shelf: str = "hot") -> int:
    """Write codes for what has none yet, and a coder if it is time for one. Returns how many runs were written."""
    book = _Book(store, ns, embedder, shelf)
    known = book.known()
    if known is None:
        return book.renew(None) if book.count(0, EXACT_BELOW + 1) > EXACT_BELOW else 0
    coder = Coder.load(known[1])
    if book.crowded():
        return book.renew(known)
    blocks = book.encoded(coder, book.last())
    if not blocks:
        return 0
    if drift(coder.mean, book.fitted().mean) > STALE:
        return book.renew(known)
    with store.write(ns) as tx:
        if not book.stands(known, blocks):
            return 0
        tx.put_codes(embedder.id, blocks, shelf)
    return len(blocks)


def block_of(rows: list[tuple[int, int, bytes]], coder: Coder, dim: int) -> CodeBlock:
    """The codes of a run of (stamp, node, vector)."""
    nodes = np.array([node for _, node, _ in rows], dtype="<i8")
    codes = coder.encode(matrix([vector for _, _, vector in rows], dim))
    return CodeBlock(rows[0][0], rows[-1][0], nodes.tobytes(), codes.astype("<u8").tobytes())


def matrix(vectors: Sequence[bytes], dim: int) -> NDArray[np.float32]:
    """Stored vectors as rows, shape (n, dim)."""
    return np.frombuffer(b"".join(vectors), dtype=np.float16).reshape(-1, dim).astype(np.float32)
