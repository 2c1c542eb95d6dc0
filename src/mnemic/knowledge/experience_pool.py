"""The experiences of a namespace in memory, found by their tokens.

A question shares words with thousands of experiences, so each recall counts them with arrays instead of reading
rows. What is held follows the ledger: as long as its head has not moved nothing is read, and when it has, only
the entries since. The rows of truth stay the store's; this is derived and thrown away at will.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge import trust
from mnemic.knowledge.experience_input import lines
from mnemic.ledger.chain import changes_of
from mnemic.models.event import Change, Event, Head
from mnemic.models.experience import Experience, ExperienceStatus, experience
from mnemic.store import Store

CATCH_UP = 2000
"""With more entries than this to follow, reading the rows anew is cheaper."""
_CODE = {status: code for code, status in enumerate(get_args(ExperienceStatus))}
_GONE = len(_CODE)
_NEVER = -(1 << 62)
Scores = NDArray[np.float64]


def identity(item: Experience) -> frozenset[str]:
    """The tokens by which two experiences count as the same lesson: gist and situation."""
    return trust.tokens("\n".join([item.gist, *lines(item.situation)]))


def fit(item: Experience) -> frozenset[str]:
    """The tokens that a situation is compared with: gist, situation and limits."""
    return identity(item) | trust.tokens("\n".join(lines(item.limits)))


@dataclass(slots=True)
class Pool:
    """Slots of experiences with their postings. A slot whose text changed or went is left empty, never reused."""

    items: list[Experience | None] = field(default_factory=list)
    slots: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    postings: dict[str, array[int]] = field(default_factory=dict)
    sizes: array[int] = field(default_factory=lambda: array("I"))
    codes: array[int] = field(default_factory=lambda: array("B"))
    births: array[int] = field(default_factory=lambda: array("q"))
    """When the first revision of an id was made; a date before all others for what does not count as new."""

    def put(self, item: Experience) -> None:
        """Hold a revision as it is now."""
        slot = self.slots.get(item.key)
        if slot is not None and (known := self.items[slot]) is not None and _texts(known) != _texts(item):
            self.drop(item.key)
            slot = None
        if slot is None:
            slot = self.slots[item.key] = len(self.items)
            words = fit(item)
            for word in words:
                self.postings.setdefault(word, array("I")).append(slot)
            self.items.append(item)
            self.sizes.append(len(words))
            self.codes.append(_GONE)
            self.births.append(item.created_at if item.revision == 1 and item.parents == "[]" else _NEVER)
        self.items[slot] = item
        self.codes[slot] = _CODE[item.status]

    def drop(self, key: tuple[str | int, ...]) -> None:
        """Hold a revision no more."""
        slot = self.slots.pop(key, None)
        if slot is not None:
            self.items[slot] = None
            self.codes[slot] = _GONE
            self.births[slot] = _NEVER

    def overlaps(self, asked: frozenset[str]) -> Scores:
        """How far a question overlaps with each slot."""
        if not asked or not self.items:
            return np.zeros(len(self.items))
        sizes = np.maximum(np.frombuffer(self.sizes, np.uint32), 1)
        return self._hits(asked) / np.sqrt(sizes * float(len(asked)))

    def found(
        self, scores: Scores, statuses: Iterable[ExperienceStatus], floor: float
    ) -> Iterator[tuple[float, Experience]]:
        """Experiences of some statuses that overlap by at least `floor`, best first, then oldest."""
        if not self.items:
            return
        places = np.flatnonzero(self._of(statuses) & (scores >= max(floor, 1e-9)))
        for place in places[np.argsort(-scores[places], kind="stable")]:
            if (item := self.items[place]) is not None:
                yield float(scores[place]), item

    def nearest(
        self, words: frozenset[str], kind: str, statuses: Iterable[ExperienceStatus], floor: float
    ) -> Experience | None:
        """The experience of a kind whose gist and situation overlap most with `words`, if by at least `floor`."""
        if not words or not self.items:
            return None
        # overlap >= floor needs hits >= floor² · |words|, whatever the size of the other text.
        places = np.flatnonzero(self._of(statuses) & (self._hits(words) >= floor * floor * len(words) - 1e-9))
        best: tuple[float, Experience] | None = None
        for place in places:
            item = self.items[place]
            if item is None or item.kind != kind:
                continue
            score = trust.overlap(words, identity(item))
            if score >= floor and (best is None or score > best[0]):
                best = (score, item)
        return best[1] if best else None

    def new_since(self, moment: int | None) -> int:
        """How many experiences were first made after a moment (ms), or ever, and not by consolidation."""
        if not self.items:
            return 0
        return int((np.frombuffer(self.births, np.int64) > (_NEVER if moment is None else moment)).sum())

    def _of(self, statuses: Iterable[ExperienceStatus]) -> NDArray[np.bool_]:
        """Which slots are of some statuses."""
        wanted = np.zeros(_GONE + 1, np.bool_)
        wanted[[_CODE[status] for status in statuses]] = True
        return wanted[np.frombuffer(self.codes, np.uint8)]

    def _hits(self, words: frozenset[str]) -> NDArray[np.uint32]:
        counts = np.zeros(len(self.items), np.uint32)
        for word in words:
            posting = self.postings.get(word)
            if posting is not None:
                counts[np.frombuffer(posting, np.uint32)] += 1  # a slot stands in a posting once
        return counts


def _texts(item: Experience) -> tuple[str, ...]:
    return (item.gist, item.situation, item.limits)


class Library:
    """The pool of one namespace, brought up to the ledger's head whenever it is asked for. May be shared by threads."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store, self._namespace = store, namespace
        self.lock = threading.Lock()
        self._pool, self._head = Pool(), Head(0, "")
        self._merged_at: int | None = None

    def fresh(self) -> Pool:
        """The pool as of now; inside a transaction, as of it. Hold `lock` while it is used."""
        head = self._store.head(self._namespace) or Head(0, "")
        if head != self._head:
            with self._store.reading():
                if not self._followed():
                    self._rebuilt()
        return self._pool

    @property
    def merged_at(self) -> int | None:
        """When experiences were last consolidated."""
        return self._merged_at

    def _followed(self) -> bool:
        head = self._store.head(self._namespace) or Head(0, "")
        if not self._head.seq < head.seq <= self._head.seq + CATCH_UP or self._head.seq == 0:
            return False
        events = self._store.events(self._namespace, after=self._head.seq, limit=CATCH_UP)
        if not events or events[0].previous != self._head.hash or events[-1].seq != head.seq:
            return False
        if any(event.payload is None or event.op == "erase" for event in events):
            return False
        for change in chain.from_iterable(map(_changes, events)):
            if change.table == "consolidations":
                self._note_merges()
            elif change.after is None:
                self._pool.drop(change.key)
            else:
                self._pool.put(experience(change.after))
        self._head = head
        return True

    def _rebuilt(self) -> None:
        self._head = self._store.head(self._namespace) or Head(0, "")
        self._pool = Pool()
        rows = [experience(row) for row in self._store.rows(self._namespace, "experiences")]
        for item in sorted(rows, key=lambda item: (item.created_at, item.key)):
            self._pool.put(item)
        self._note_merges()

    def _note_merges(self) -> None:
        last = self._store.select(self._namespace, "consolidations", {}, limit=1, newest=True)
        self._merged_at = int(last[0]["at"]) if last else None


def _changes(event: Event) -> list[Change]:
    payload = event.payload or ""
    if '"experiences"' not in payload and '"consolidations"' not in payload:
        return []
    return [change for change in changes_of(payload) if change.table in ("experiences", "consolidations")]
