"""The nodes whose words fit a question best, at a bounded cost.

The full-text index hands out which nodes hold a term much faster than it ranks them. So the rarest terms' nodes are
read up to a bound, a node's rarity mass makes a short list, and only that is ranked by BM25, from the term lists that
the nodes carry. A common word over a million nodes costs no more than the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.arrays import Places
from mnemic.recall.rows import Seen
from mnemic.recall.score import Array, bm25, rarity
from mnemic.store import Ids, Store, term_hash
from mnemic.text.tokens import is_prefix

POSTINGS = 30_000
"""Entries of the index that are read for a question: the rarest terms come first."""
SHORT, LEAST = 4, 100
"""The short list is so many times what is asked for, and never fewer."""
FULL = 10_000
"""So few nodes are ranked each, by all terms: a scope must not lose a text because its words are common elsewhere."""
KEPT = 1_000_000
"""Entries of the index that are kept in memory once they were read: 8 MB."""
DENSE = 40
"""Ids that lie within so many times their number are counted in place: quicker than sorting them."""
NONE: Ids = np.zeros(0, dtype=np.int64)


class Lists:
    """Which nodes hold which term, on one shelf of a namespace: what was read once is true until its lexicon changes."""

    def __init__(self, store: Store, ns: str, shelf: str = "hot", lexicon: tuple[int, int, int] | None = None) -> None:
        self._store, self._ns, self._shelf = store, ns, shelf
        self.lexicon = lexicon
        self._counts: dict[str, int] = {}
        self._holders: dict[str, Ids] = {}
        self._held = 0

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many nodes each term occurs, as `Store.document_frequencies`."""
        if fresh := [term for term in terms if term not in self._counts]:
            self._counts |= self._store.document_frequencies(self._ns, fresh, self._shelf)
        return {term: self._counts[term] for term in terms}

    def holders(self, terms: Sequence[str]) -> dict[str, Ids]:
        """Every node that holds a term, as `Store.postings`."""
        found = {term: self._holders[term] for term in terms if term in self._holders}
        if fresh := [term for term in terms if term not in found]:
            read = self._store.postings(self._ns, fresh, self._shelf)
            count = sum(map(len, read.values()))
            if self._held + count > KEPT:
                self._holders, self._held = {}, 0
            self._holders |= read
            self._held += count
            found |= read
        return found


def rarest(counts: Mapping[str, int], limit: int) -> list[str]:
    """The rarest terms whose nodes together stay within the limit; the rarest one always."""
    chosen: list[str] = []
    total = 0
    for word, count in sorted(counts.items(), key=lambda pair: (pair[1], pair[0])):
        if count and (not chosen or total + count <= limit):
            chosen.append(word)
            total += count
    return chosen


def matching(
    store: Store, ns: str, counts: Mapping[str, int], k: int, shelf: str = "hot", among: Ids | None = None,
    without: Ids = NONE, lists: Lists | None = None, seen: Seen | None = None,
) -> dict[int, float]:  # fmt: skip
    """The k best nodes for terms that occur in `counts` nodes each, best first, with their scores.

    `among`: of these nodes only; `without`: none of these; `lists` and `seen`: what was read before. The terms are cut
    to the rarest within `POSTINGS`, unless `among` is so few that they need no index.
    """
    lists = lists or Lists(store, ns, shelf)
    each = among is not None and len(among) <= FULL
    words = [word for word, count in counts.items() if count] if each else rarest(counts, POSTINGS)
    if not words or k < 1:
        return {}
    n, size, _ = store.lexicon(ns)
    idf = rarity(n, np.array([counts[word] for word in words], dtype=float))
    holders = lists.holders([word for word in words if is_prefix(word) or not each])
    if among is not None and each:
        ids = among
    else:
        ids = _short([holders[word] for word in words], idf, max(SHORT * k, LEAST), among, without)
    ids = ids[~np.isin(ids, without)]
    rows = (seen or Seen(store, ns, shelf, reach=1)).rows(ids)
    have, sizes = rows.table["node"], rows.table["size"]
    tf = frequencies(rows.terms, sizes, words)
    for column, word in enumerate(words):
        if is_prefix(word):  # a node's terms are hashes, so only the index knows what begins so
            tf[:, column] = np.isin(have, holders[word])
    scores = bm25(tf, sizes / max(size / max(n, 1), 1e-9), idf, 0.6)
    order = np.lexsort((-have, -scores))[:k]
    return {int(have[place]): float(scores[place]) for place in order.tolist() if scores[place] > 0}


def _short(lists: Sequence[Ids], idf: Array, limit: int, among: Ids | None, without: Ids) -> Ids:
    """The nodes with the most rarity mass of the terms they hold, ascending; of equals the newest."""
    # Whoever holds a term weighs at least as much as it, so a term that enough nodes hold tells what is too light.
    enough = limit + len(without) if among is None else math.inf
    least = max((weight for one, weight in zip(lists, idf.tolist(), strict=True) if len(one) >= enough), default=idf.min())
    ids, mass = _sums(np.concatenate(lists), np.repeat(idf, [len(one) for one in lists]), least)
    if len(without) or among is not None:
        allowed = ~np.isin(ids, without) & (True if among is None else np.isin(ids, among))
        ids, mass = ids[allowed], mass[allowed]
    if len(ids) > limit:
        edge = np.partition(mass, len(mass) - limit)[len(mass) - limit]
        above = np.flatnonzero(mass > edge)
        ids = ids[np.sort(np.concatenate([above, np.flatnonzero(mass == edge)[len(above) - limit :]]))]
    return ids


def _sums(ids: Ids, weights: Array, least: float) -> tuple[Ids, Array]:
    """The distinct ids, ascending, and the sum of each one's weights, which are above 0; of those whose sum is not too low."""
    lowest = int(ids.min()) if len(ids) else 0
    if len(ids) and int(ids.max()) - lowest < DENSE * len(ids):
        sums: Array = np.bincount(ids - lowest, weights).astype(float, copy=False)
        here = np.flatnonzero(sums >= least)
        return here + lowest, sums[here]
    distinct, owner = np.unique(ids, return_inverse=True)
    sums = np.bincount(owner, weights, minlength=len(distinct)).astype(float, copy=False)
    return distinct[sums >= least], sums[sums >= least]


def frequencies(terms: NDArray[np.uint32], sizes: Places, words: Sequence[str]) -> Array:
    """How often each word occurs in runs of so many terms, shape (runs, words); prefix terms are left at 0."""
    tf = np.zeros((len(sizes), len(words)))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    for column, word in enumerate(words):
        if not is_prefix(word):
            hits = owner[terms == term_hash(word)]
            tf[:, column] = np.bincount(hits, minlength=len(sizes))
    return tf
