"""What is scored and returned once: a message with its parts, or a node of a note.

As columns, because a question makes some five hundred of them: as objects they would cost more than their scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.models.document import SHELVES
from mnemic.recall.rows import Rows, Words, joined
from mnemic.recall.score import Array, Places
from mnemic.recall.words import frequencies
from mnemic.store import Ids

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """U units and their N nodes, which stand in the units' order. Notes come before conversations."""

    group: Places
    """(U,) number of the note or conversation, counted from 0."""
    place: Places
    """(U,) its place there: of a message its seq, else the node's id."""
    spoken: Mask
    """(U,) whether it is a message."""
    created_at: Places
    """(U,) in ms."""
    by_user: Mask
    """(U,)"""
    speaker: NDArray[np.object_]
    """(U,)"""
    shelf: NDArray[np.int8]
    """(U,) place of its shelf in `SHELVES`."""
    first: Places
    """(U,) where its nodes begin."""
    node: Ids
    """(N,)"""
    owner: Places
    """(N,) the unit that a node belongs to."""
    scored: Mask
    """(N,) whether the unit is scored by it: by a message's parts where it has any, not by the whole besides them."""
    size: Places
    """(N,) how many terms it has."""
    terms: Words
    """Those of all nodes, one after the other."""

    def __len__(self) -> int:
        return len(self.group)

    def nodes(self, place: int) -> list[int]:
        """All nodes of one unit."""
        end = self.first[place + 1] if place + 1 < len(self) else len(self.node)
        return self.node[self.first[place] : end].tolist()  # type: ignore[no-any-return]

    def holding(self, nodes: Iterable[int]) -> list[int]:
        """The units that any of these nodes belong to."""
        return np.unique(self.owner[np.isin(self.node, list(nodes))]).tolist()  # type: ignore[no-any-return]

    def any(self, nodes: Mask) -> Array:
        """(U,) 1 for the units that are scored by any of some nodes (N,), else 0."""
        found = np.zeros(len(self))
        found[self.owner[nodes & self.scored]] = 1
        return found

    def lengths(self) -> Array:
        """(U,) how many terms each unit is scored by."""
        return np.bincount(self.owner, self.size * self.scored, len(self)).astype(float, copy=False)

    def frequencies(self, words: Sequence[str]) -> Array:
        """(U, words) how often each word occurs in what a unit is scored by; prefix terms are left at 0."""
        counts = frequencies(self.terms, self.size, words) * self.scored[:, None]
        return np.add.reduceat(counts, self.first) if len(self) else counts


def units(notes: Mapping[str, Rows], said: Mapping[str, Rows]) -> Units:
    """The units of some nodes of notes and of conversations, by shelf; a node without words is none."""
    parts = [(spoken, shelf, rows) for spoken, found in ((False, notes), (True, said)) for shelf, rows in found.items()]
    lengths = [len(rows) for _, _, rows in parts]
    rows = joined([rows for _, _, rows in parts])
    spoken = np.repeat(np.array([spoken for spoken, _, _ in parts], dtype=bool), lengths)
    shelf = np.repeat(np.array([SHELVES.index(shelf) for _, shelf, _ in parts], dtype=np.int8), lengths)
    order = np.lexsort((rows.table["node"], rows.table["seq"], rows.table["talk"], spoken))
    order = order[rows.table["size"][order] > 0]
    rows, spoken = rows.take(order), spoken[order]
    table = rows.table
    # Where a talk begins, and a unit in it: whatever differs from the row before.
    begins = _changes(table["talk"]) | _changes(spoken)
    first = np.flatnonzero(begins | _changes(table["seq"]))
    owner = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
    part = ~table["whole"]
    head = table[first]
    return Units(
        group=(np.cumsum(begins) - 1)[first],
        place=head["seq"],
        spoken=spoken[first],
        created_at=head["created_at"],
        by_user=head["by_user"],
        speaker=head["speaker"],
        shelf=shelf[order[first]],
        first=first,
        node=table["node"],
        owner=owner,
        scored=part | (np.bincount(owner, part, len(first)) == 0)[owner],
        size=table["size"],
        terms=rows.terms,
    )


def _changes(values: NDArray[Any]) -> Mask:
    """Which values differ from the one before; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]
