"""Similar edges between all pairs of vectors: at night, because a write can look only near itself (indexing.py; 000 §3).

Every vector is compared with every other of the hot shelf, a block against a tile at a time, so memory is bounded however
many there are. A night compares what is new since the last with all: what was compared before need not be again. Edges
are derived; being killed leaves some old and some new, and the block that was begun is compared again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.codebook import matrix
from mnemic.store import EmbedderRow, Store

EDGES = 3
"""Similar edges a node may have (000 §3)."""
BLOCK, TILE = 2_048, 2_048
"""Vectors that are compared at once, with so many others: 17 MB of cosines, ten times that where all are alike."""
KIND = "similar"
Edge = tuple[int, int, str, float]
Near = dict[int, dict[int, float]]
"""Node → its nearest, each with the cosine."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What one rebuild did."""

    nodes: int = 0
    """Vectors that were compared with all others."""
    edges: int = 0
    """Edges that came, went or changed."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """A run of vectors: numbers of nodes (n,), and unit vectors (n, dim)."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.float32]


class Edges:
    """The edges of one namespace, for one embedder. `similar`: the least cosine of an edge."""

    def __init__(self, store: Store, ns: str, embedder: EmbedderRow, similar: float) -> None:
        self._store, self._ns, self._embedder, self._similar = store, ns, embedder, similar
        self._mark = f"edges:{ns}:{embedder.id}"

    def due(self) -> int:
        """Vectors that were not compared with all others."""
        return self._store.vectors_after(self._ns, self._embedder.id, self.mark, 1_000_000_000)

    @property
    def mark(self) -> int:
        """The stamp up to which all pairs were compared."""
        return int(self._store.meta(self._mark) or 0)

    def restart(self) -> None:
        """Let the next rebuild compare everything with everything."""
        self._store.set_meta(self._mark, "0")

    def rebuild(self) -> Rebuilt:
        """Compare what is new with everything, and what is new with itself."""
        done = Rebuilt()
        while block := self._read(self.mark, BLOCK):
            last, fresh = block
            near = self._near(fresh, last)
            changed = 0
            for nodes in _batches(sorted(near)):
                changed += self._put({node: near[node] for node in nodes})
            self._store.set_meta(self._mark, str(last))
            done = Rebuilt(done.nodes + len(fresh.nodes), done.edges + changed)
        return done

    def _near(self, fresh: Vectors, last: int) -> Near:
        """The nearest of each node of a block among all up to its end, and what of the block is nearest to each of those."""
        near: Near = defaultdict(dict)
        for tile in self._tiles(last):
            cosines = fresh.rows @ tile.rows.T
            rows, columns = np.nonzero(cosines >= self._similar)
            new, old, cosines = fresh.nodes[rows], tile.nodes[columns], cosines[rows, columns]
            two = new != old
            new, old, cosines = new[two], old[two], cosines[two]
            for node, other, cosine in chain(_best((new, old), cosines), _best((old, new), cosines)):
                near[node][other] = cosine
                if len(near[node]) > 4 * EDGES:
                    near[node] = _nearest(near[node])
        return near

    def _tiles(self, last: int) -> Iterator[Vectors]:
        at = 0
        while found := self._read(at, TILE, last):
            at, tile = found
            yield tile

    def _read(self, after: int, limit: int, until: int | None = None) -> tuple[int, Vectors] | None:
        """Vectors after a stamp, with the stamp of the last."""
        rows = self._store.vectors_since(self._ns, self._embedder.id, after, limit, until=until)
        if not rows:
            return None
        nodes = np.array([node for _, node, _ in rows], np.int64)
        return rows[-1][0], Vectors(nodes, matrix([vector for *_, vector in rows], self._embedder.dim))

    def _put(self, near: Near) -> int:
        """Give nodes the nearest of what they had and what was found; how many edges changed."""
        had: Near = defaultdict(dict)
        for source, target, weight in self._store.edges(self._ns, list(near), KIND):
            had[source][target] = weight
        fresh: list[Edge] = []
        gone: list[tuple[int, int, str]] = []
        for node, found in near.items():
            wanted = _nearest({**had[node], **{other: round(cosine, 6) for other, cosine in found.items()}})
            fresh += [(node, other, KIND, cosine) for other, cosine in wanted.items() if had[node].get(other) != cosine]
            gone += [(node, other, KIND) for other in had[node] if other not in wanted]
        if fresh or gone:
            with self._store.write(self._ns) as tx:
                tx.drop_edges(gone)
                tx.put_edges(fresh)
        return len(fresh) + len(gone)


def _best(pairs: tuple[NDArray[np.int64], NDArray[np.int64]], cosines: NDArray[np.float32]) -> Iterator[tuple[int, int, float]]:
    """Of pairs with their cosines, the greatest few of each first: (first, second, cosine)."""
    firsts, seconds = pairs
    order = np.lexsort((-seconds, -cosines, firsts))
    ranks = np.arange(len(order)) - np.searchsorted(firsts[order], firsts[order])
    for place in order[ranks < EDGES]:
        yield int(firsts[place]), int(seconds[place]), float(cosines[place])


def _nearest(found: dict[int, float]) -> dict[int, float]:
    """The few with the greatest cosine, of equal ones the newest."""
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], -pair[0]))[:EDGES])


def _batches(nodes: list[int], size: int = 500) -> Iterable[list[int]]:
    """Nodes whose edges share a transaction: other writers wait meanwhile."""
    return (nodes[at : at + size] for at in range(0, len(nodes), size))
