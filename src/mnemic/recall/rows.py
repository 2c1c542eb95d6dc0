"""Nodes as scoring sees them: what was read of a shelf once is kept, as columns.

A question weighs some seven hundred nodes, each at another place of a large file, and reading them is a good part of its
time. A node never changes while it lives (what is edited gets another number), so what was read stays true until a node
is removed from the shelf, which its lexicon counts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.arrays import Places, Seats, grown, runs
from mnemic.store import Found, Ids, Store

REACH, MANY = 16, 1_000
"""So many nodes of consecutive numbers are read together: they were written together, mostly in one conversation. Of more
than so many that are asked for at once, each is read alone."""
ROOM, TERMS = 120_000, 4_000_000
"""Nodes that are kept, and terms of theirs, some 25 MB a shelf: with more the table is begun anew."""
FEW = 1_024
"""What there is room for at first."""
COLUMNS = np.dtype(
    [("node", "i8"), ("talk", "i8"), ("seq", "i8"), ("created_at", "i8"), ("by_user", "?"), ("whole", "?"), ("speaker", "O"),
     ("size", "i8")]
)  # fmt: skip
"""A node's number; its conversation and its message's place there, or the note it is of and again its number; when it was
said, in ms; whether the user said it; whether it is a message, and no part of one; its speaker; how many terms it has."""

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """N nodes."""

    table: NDArray[Any]
    """(N,) of `COLUMNS`."""
    terms: Words
    """The terms of all, one node after the other, as `Found.terms`."""

    def __len__(self) -> int:
        return len(self.table)

    def take(self, places: Places) -> Rows:
        """Some of the nodes, in another order."""
        size = self.table["size"]
        terms = self.terms[runs(np.cumsum(size)[places] - size[places], size[places])]
        return Rows(self.table[places], terms)


def joined(parts: Sequence[Rows]) -> Rows:
    """The nodes of several, one after the other."""
    return Rows(
        np.concatenate([np.empty(0, COLUMNS), *(part.table for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.terms for part in parts)]),
    )


def noted(items: Sequence[Found]) -> Rows:
    """Nodes of notes, those that have words."""
    items = [item for item in items if item.size]
    table = [
        (item.id, item.document, item.id, item.created_at, item.origin == "user", False, item.speaker, item.size)
        for item in items
    ]
    return Rows(np.array(table, COLUMNS), np.frombuffer(b"".join([item.terms for item in items]), dtype=np.uint32))


class Seen:
    """The nodes of one shelf of a namespace, while none is removed from it. Safe to call from several threads."""

    def __init__(self, store: Store, ns: str, shelf: str = "hot", removed: int = 0, reach: int = REACH) -> None:
        self._store, self._ns, self._shelf, self._reach = store, ns, shelf, reach
        self.removed = removed
        self._guard = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        self._seats = Seats()
        self._table = np.zeros(FEW, COLUMNS)
        self._starts = np.zeros(FEW, np.int64)
        self._terms = np.zeros(FEW, np.uint32)
        self._names: dict[str, str] = {}
        self._count = self._held = 0

    def table(self, ids: Ids) -> NDArray[Any]:
        """Some nodes, in the order asked for, without those that are not there; `seq` is -1 where it is of no message."""
        with self._guard:
            places = self._places(ids)
            return self._table[places]

    def rows(self, ids: Ids) -> Rows:
        """The same with their terms."""
        with self._guard:
            places = self._places(ids)
            table = self._table[places]
            return Rows(table, self._terms[runs(self._starts[places], table["size"])])

    def _places(self, ids: Ids) -> Places:
        places = self._seats.of(ids)
        if len(missing := ids[places < 0]):
            if self._count > ROOM or self._held > TERMS:
                self._begin()
                missing = ids
            self._read(missing)
            places = self._seats.of(ids)
        return places[places >= 0]

    def _read(self, ids: Ids) -> None:
        """Take in nodes, and what stands beside them."""
        reach = self._reach if len(ids) <= MANY else 1
        read = self._store.beside(self._ns, np.unique(ids // reach).tolist(), reach, self._shelf)
        fresh = self._seats.of(np.array([row[0] for row in read], dtype=np.int64)) < 0
        if not fresh.any():
            return
        *columns, speakers, blobs = zip(*compress(read, fresh.tolist()), strict=True)
        # Names are few: one text for each, not one for each node.
        names = [self._names.setdefault(name, name) for name in speakers]
        start, self._count = self._count, self._count + len(blobs)
        end = self._count
        self._table, self._starts = grown(self._table, end), grown(self._starts, end)
        for name, values in zip(COLUMNS.names or (), [*columns, names, [len(blob) // 4 for blob in blobs]], strict=True):
            self._table[name][start:end] = values
        sizes = self._table["size"][start:end]
        self._starts[start:end] = self._held + np.cumsum(sizes) - sizes
        terms = np.frombuffer(b"".join(blobs), dtype=np.uint32)
        self._terms = grown(self._terms, self._held + len(terms))
        self._terms[self._held : self._held + len(terms)] = terms
        self._held += len(terms)
        self._seats.put(self._table["node"][start:end], start)
