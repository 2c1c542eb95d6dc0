"""Codes in the store: derived from the vectors, written by whoever indexes, read by whoever asks.

Up to `EXACT_BELOW` vectors there are none. Above, a coder is fitted once and every full run of `BLOCK` vectors gets a
row of codes, so that a cold process reads a sixteenth of the bytes and compares at most one run in full. The mean that
codes are taken against moves as memory grows; when it has drifted too far, all is encoded anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.codes import EXACT_BELOW, STALE, Coder, drift
from mnemic.store import CodeBlock, EmbedderRow, Store

BLOCK = 8_192
"""Vectors in a run."""
SAMPLES, SAMPLE = 20, 1_000
"""A coder is fitted to so many runs of so many vectors, spread over all of them."""


def seal(store: Store, ns: str, embedder: EmbedderRow) -> int:
    """Write codes for what has none yet, and a coder if it is time for one. Returns how many runs were written."""
    known = store.coder(ns, embedder.id)
    if known is None:
        if store.vectors_after(ns, embedder.id, 0, EXACT_BELOW + 1) <= EXACT_BELOW:
            return 0
        return _renew(store, ns, embedder, None)
    coder = Coder.load(known[1])
    blocks = _encoded(store, ns, embedder, coder, store.codes_last(ns, embedder.id))
    if not blocks:
        return 0
    if drift(coder.mean, _fitted(store, ns, embedder).mean) > STALE:
        return _renew(store, ns, embedder, known)
    with store.write(ns) as tx:
        if not _stands(store, ns, embedder, known, blocks):
            return 0
        tx.put_codes(embedder.id, blocks)
    return len(blocks)


def _encoded(store: Store, ns: str, embedder: EmbedderRow, coder: Coder, after: int) -> list[CodeBlock]:
    """Blocks for full runs after the last there is."""
    blocks: list[CodeBlock] = []
    while store.vectors_after(ns, embedder.id, after, BLOCK) == BLOCK:
        rows = store.vectors_since(ns, embedder.id, after, BLOCK)
        blocks.append(block_of(rows, coder, embedder.dim))
        after = rows[-1][0]
    return blocks


def _renew(store: Store, ns: str, embedder: EmbedderRow, known: tuple[int, bytes] | None) -> int:
    coder = _fitted(store, ns, embedder)
    blocks = _encoded(store, ns, embedder, coder, 0)
    with store.write(ns) as tx:
        if not _stands(store, ns, embedder, known, blocks):
            return 0
        tx.drop_codes(embedder.id)
        tx.put_coder(embedder.id, sum(len(block.nodes) // 8 for block in blocks), coder.mean.tobytes())
        tx.put_codes(embedder.id, blocks)
    return len(blocks)


def _stands(
    store: Store, ns: str, embedder: EmbedderRow, known: tuple[int, bytes] | None, blocks: list[CodeBlock]
) -> bool:
    """Whether what was encoded is still there: another process may have encoded all anew, or erased some of it."""
    return store.coder(ns, embedder.id) == known and all(
        store.vectors_after(ns, embedder.id, block.first - 1, BLOCK + 1, until=block.last) == len(block.nodes) // 8
        for block in blocks
    )


def _fitted(store: Store, ns: str, embedder: EmbedderRow) -> Coder:
    last = store.vectors_last(ns, embedder.id)
    rows: dict[int, bytes] = {}
    for part in range(SAMPLES):
        after = part * last // SAMPLES
        rows |= {node: vector for _, node, vector in store.vectors_since(ns, embedder.id, after, SAMPLE)}
    return Coder.fit(matrix(list(rows.values()), embedder.dim))


def block_of(rows: list[tuple[int, int, bytes]], coder: Coder, dim: int) -> CodeBlock:
    """The codes of a run of (stamp, node, vector)."""
    nodes = np.array([node for _, node, _ in rows], dtype="<i8")
    codes = coder.encode(matrix([vector for _, _, vector in rows], dim))
    return CodeBlock(rows[0][0], rows[-1][0], nodes.tobytes(), codes.astype("<u8").tobytes())


def matrix(vectors: list[bytes], dim: int) -> NDArray[np.float32]:
    """Stored vectors as rows, shape (n, dim)."""
    return np.frombuffer(b"".join(vectors), dtype=np.float16).reshape(-1, dim).astype(np.float32)
