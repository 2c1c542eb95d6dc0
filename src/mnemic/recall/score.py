"""Scoring a pool of candidates: pure functions over arrays.

`structure` is the default: what measured best on the tuning data (docs/recall.md). Every part of it has a fixed scale,
so scores of two queries compare and a floor can be set. `seed` is the formula of seed 000 §4, kept selectable.

    structure   S = 2·turn + 2·cos/.25 + .5·reply + gate·(5·window + 4·session) + cues
    turn        BM25 of the unit over the query's idf mass (k1 1.2, b 1 - .4·gate, idf to the power of 1.5)
    window      the same over the unit and its two predecessors (b .75)
    session     the same over all pool members of its conversation or document (b .75)
    reply       turn of the next unit: an answer echoes the question
    gate        min(1, 24/average unit length): long units stand alone
    cues        1.5 the query names exactly this speaker; 2 a first-person question meets the user's own words;
                1 said within a time the query names; 3 holds a quoted phrase
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

SCORINGS = ("structure", "seed")
SHELF_WEIGHT = {"hot": 1.0, "warm": 0.9, "cold": 0.78}
K1 = 1.2
SHARP = 1.5
"""What idf is raised to: a question's rare words tell more than their share of it, most of all among long units."""
COS_SCALE = 0.25
GATE_LENGTH = 24.0
SMALL = 50
"""Below so many nodes word frequencies say nothing; they are taken as of a home of this size."""

_PLACES = 1 << 40
"""More than a group has places."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates as arrays; P units, T query terms."""

    tf: Array
    """(P, T) how often each query term occurs in the unit."""
    length: Array
    """(P,) number of terms in the unit."""
    cos: Array
    """(P,) centred cosine, the best of the unit's parts; NaN without a vector."""
    group: Places
    """(P,) which conversation or document the unit belongs to, counted from 0."""
    place: Places
    """(P,) its place there."""
    group_size: Array
    """(P,) size of that conversation relative to the average one."""
    speaker: Array
    role: Array
    when: Array
    phrase: Array
    """(P,) cues, each 0 or 1."""
    weight: Array
    """(P,) shelf weight."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What the namespace is like: N, average unit length, and in how many units each query term occurs."""

    n: int
    average: float
    df: Array


def structure(pool: Pool, corpus: Corpus, *, cosine: float = 2.0) -> tuple[Array, dict[str, Array]]:
    """Scores and their parts, (P,) each. `cosine` is the vector's weight: 0 for an embedder that only counts words."""
    idf = rarity(corpus.n, corpus.df) ** SHARP
    gate = min(1.0, GATE_LENGTH / max(corpus.average, 1e-9))
    # A long message among short ones holds more; among long ones, it is only wordier.
    turn = bm25(pool.tf, pool.length / max(corpus.average, 1e-9), idf, 1 - 0.4 * gate)
    one, two, following = (_rows(pool, lag) for lag in (-1, -2, 1))
    near_tf = pool.tf + _take(pool.tf, one) + _take(pool.tf, two)
    near_length = pool.length + _take(pool.length, one) + _take(pool.length, two)
    window = bm25(near_tf, near_length / max(3 * corpus.average, 1e-9), idf, 0.75)
    sums = np.zeros((int(pool.group.max(initial=-1)) + 1, pool.tf.shape[1]))
    np.add.at(sums, pool.group, pool.tf)
    session = bm25(sums[pool.group], pool.group_size, idf, 0.75)
    parts = {
        "lexical": 2.0 * turn,
        "vector": cosine * np.nan_to_num(pool.cos) / COS_SCALE,
        "reply": 0.5 * _take(turn, following),
        "window": gate * 5.0 * window,
        "session": gate * 4.0 * session,
        "speaker": 1.5 * pool.speaker,
        "role": 2.0 * pool.role,
        "time": 1.0 * pool.when,
        "phrase": 3.0 * pool.phrase,
    }
    total = np.sum(list(parts.values()), axis=0) * pool.weight
    return total, {**parts, "gate": np.full(len(total), gate)}


def corrected(
    total: Array, parts: dict[str, Array], pool: Pool, places: Places, cos: Array, *, cosine: float = 2.0
) -> tuple[Array, dict[str, Array]]:
    """What `structure` gives where some of the pool's cosines were estimates and these are the true ones."""
    change = cosine * (np.nan_to_num(cos) - np.nan_to_num(pool.cos[places])) / COS_SCALE
    vector, sums = parts["vector"].copy(), total.copy()
    vector[places] += change
    sums[places] += change * pool.weight[places]
    return sums, {**parts, "vector": vector}


def rarity(nodes: int, df: Array) -> Array:
    """BM25's idf of terms that occur in `df` of so many nodes."""
    # A word that was never seen tells no more than one seen once, and in a home of three notes no word is common yet.
    n = max(nodes, SMALL)
    df = np.clip(df, 1, n)
    idf: Array = np.log(1 + (n - df + 0.5) / (df + 0.5))
    return idf


def bm25(tf: Array, relative: Array, idf: Array, b: float) -> Array:
    """BM25 over the query's idf mass: 0 to k1+1 whatever the query. `relative` is length over average length."""
    mass = float(idf.sum())
    if mass <= 0:
        return np.zeros(len(tf))
    norm = K1 * (1 - b + b * relative)
    scores: Array = (tf * (K1 + 1) / (tf + norm[:, None])) @ idf / mass
    return scores


def seed(
    cos: Array, ranks: tuple[Places, Places], weight: Array, prior: Array, parents: Sequence[int],
    similar: Sequence[tuple[int, int, float]], damping: float = 0.55,
) -> tuple[Array, dict[str, Array]]:  # fmt: skip
    """The formula of 000 §4 with digest §1.10's answers: best-first lexical in 0..1, RRF (k 60) normalised by 2/60.

    `ranks` are the places in the vector and lexical lists, -1 where a candidate is in one only; `prior` the small
    priors 0.06·importance + 0.05·exp(-age/45 d); `parents` and `similar` name other pool members by their place.
    """
    cos = np.nan_to_num(cos)
    best = ranks[1]
    lexical = np.where(best >= 0, 1 - best / max(float(best.max(initial=0)) + 1, 1.0), 0.0)
    rrf = sum((np.where(rank >= 0, 1 / (60 + np.maximum(rank, 0)), 0.0) for rank in ranks), np.zeros(len(cos)))
    base = (0.55 * cos + 0.20 * lexical + 0.25 * rrf / (2 / 60)) * weight
    spread = base.copy()
    for place, parent in enumerate(parents):
        if parent >= 0:
            spread[parent] = max(spread[parent], base[place] * damping)
    for source, target, share in similar:
        spread[target] = max(spread[target], base[source] * damping * share)
    parts = {"vector": 0.55 * cos, "lexical": 0.20 * lexical, "rrf": 0.25 * rrf / (2 / 60), "prior": prior,
             "hop": spread - base}  # fmt: skip
    return spread + prior, parts


def _rows(pool: Pool, lag: int) -> Places:
    """For each unit the row of the one `lag` places on in its group, -1 where the pool does not have it."""
    keys = pool.group * _PLACES + pool.place
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys, keys + lag, sorter=order), len(keys) - 1)
    rows = order[at] if len(keys) else order
    return np.where(keys[rows] == keys + lag, rows, -1)


def _take(values: NDArray[Any], rows: Places) -> NDArray[Any]:
    taken = values[rows].astype(float) if len(values) else values.astype(float)
    taken[rows < 0] = 0
    return taken
