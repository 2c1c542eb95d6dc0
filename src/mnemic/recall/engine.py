"""The stages of recall, in order: read, candidates, score, rerank, floor, diversity, budgets, explain.

Recall never blocks a turn: what fails inside is left out and named in `degraded`.
"""

from __future__ import annotations

import math
import re
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mnemic.clock import Clock, to_ms
from mnemic.embed import Embedder
from mnemic.errors import BadInput, ModelError
from mnemic.models.answer import Answer, Budget, Hit, Scope, WhyNot
from mnemic.models.document import SHELVES
from mnemic.recall.index import VectorIndex
from mnemic.recall.score import SCORINGS, SHELF_WEIGHT, Array, Corpus, Pool, seed, structure
from mnemic.store import Found, Store
from mnemic.text.query import Query, read
from mnemic.text.tokens import is_prefix, terms

VECTOR_K = LEXICAL_K = 100
WIDEN = 3
"""Messages before and after a candidate that are looked at with it."""
POSTINGS = 20_000
"""How many full-text rows the lexical stage ranks at most: the rarest terms come first."""
RERANKED = 30
FLOOR = {"vector": 2.5, "words": 1.0}
"""Below this a hit is no answer: with vectors measured, with words alone set by hand (docs/recall.md)."""
TAIL = 0.3
"""What share of the floor the further hits must reach once the best is above it."""
DUPLICATE = 0.85
"""Centred cosine at which two hits say the same (docs/calibration.md)."""
FIRST_PERSON = re.compile(r"\b(i|my|me|mine|we|our|us)\b|我", re.IGNORECASE)
SECOND_PERSON = re.compile(r"\b(you|your|yours)\b|你", re.IGNORECASE)
ORIGINS = {"user": "user", "assistant": "agent", "tool": "tool", "function": "tool"}
Reranker = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(slots=True)
class Unit:
    """What is scored and returned once: a message with its parts, or a node of a note."""

    key: tuple[str, int]
    nodes: list[Found]
    shown: Found
    wanted: bool
    """Whether the scope lets it be returned; neighbours may lend their words without."""


@dataclass(slots=True)
class _Run:
    """One query on its way through the stages."""

    ns: str
    query: Query
    scope: Scope
    scoring: str
    now: int
    degraded: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    vector: NDArray[np.float32] | None = None
    vector_rank: dict[int, int] = field(default_factory=dict)
    lexical_rank: dict[int, int] = field(default_factory=dict)
    phrases: set[int] = field(default_factory=set)
    df: dict[str, int] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Recall:
    """Answers questions from one home. Safe to call from several threads."""

    def __init__(self, store: Store, embedder: Embedder, clock: Clock, reranker: Reranker | None = None) -> None:
        self._store, self._embedder, self._clock, self._reranker = store, embedder, clock, reranker
        self._indexes: dict[tuple[str, str], VectorIndex] = {}

    def ask(
        self, ns: str, question: str, *, scope: Scope | None = None, budget: Budget | None = None,
        scoring: str = "structure", why_not: Sequence[str] = (),
    ) -> Answer:  # fmt: skip
        """The best memories for a question, within a budget. Raises BadInput for an unknown scoring only."""
        if scoring not in SCORINGS:
            raise BadInput(f"scoring {scoring!r} is unknown: {' or '.join(SCORINGS)}")
        now = self._clock.now()
        run = _Run(ns, read(question, now), scope or Scope(), scoring, to_ms(now))
        run.scope = _narrowed(run.scope, run.query)
        if not question.strip():
            return self._answer(run, (), reason="the question is empty")
        started = time.perf_counter()
        units = self._units(run, self._candidates(run))
        started = _lap(run, "candidates", started)
        if not any(unit.wanted for unit in units):
            return self._answer(run, (), reason=self._nothing(run), why_not=self._why(run, why_not, units, {}, {}))
        total, parts = self._score(run, units)
        order = [place for place in _ordered(total, units) if units[place].wanted]
        order, total = self._rerank(run, question, units, order, total)
        started = _lap(run, "score", started)
        good = self._good(run, total, parts, order)
        chosen, dropped = self._diverse(run, units, good, budget or Budget())
        hits, omitted = self._fit(run, units, chosen, total, parts, budget or Budget())
        _lap(run, "select", started)
        fate = {units[place].shown.path: "floor" for place in order if place not in set(good)} | dropped
        reason = None if hits else "nothing reaches the floor: that it is not recorded does not mean it never happened"
        left = max(0, len(good) - len(dropped) - len(hits)) if hits else omitted
        return replace(
            self._answer(run, hits, reason=reason, why_not=self._why(run, why_not, units, fate, _named(total, units))),
            omitted=left,
        )

    def _answer(
        self, run: _Run, hits: Sequence[Hit], *, reason: str | None, why_not: tuple[WhyNot, ...] = ()
    ) -> Answer:
        return Answer(
            hits=tuple(hits), reason=reason, degraded=tuple(run.degraded), embedder=self._embedder.identity,
            scoring=run.scoring, why_not=why_not, timings=run.timings,
        )  # fmt: skip

    def _nothing(self, run: _Run) -> str:
        if not self._store.lexicon(run.ns)[0]:
            return f"nothing is remembered in namespace {run.ns!r} yet"
        return "nothing matches: that it is not recorded does not mean it never happened"

    # candidates

    def _candidates(self, run: _Run) -> list[Found]:
        started = time.perf_counter()
        run.vector = self._query_vector(run)
        started = _lap(run, "embed", started)
        run.forgotten = self._store.forgotten(run.ns)
        found: dict[int, Found] = {}
        for shelf in SHELVES:
            ids = self._nearest(run, shelf) | self._matching(run, shelf)
            for item in self._store.found(run.ns, sorted(ids), shelf):
                found[item.id] = item
        started = _lap(run, "find", started)
        for item in self._neighbours(run, list(found.values())):
            found.setdefault(item.id, item)
        _lap(run, "widen", started)
        return list(found.values())

    def _query_vector(self, run: _Run) -> NDArray[np.float32] | None:
        try:
            vector: NDArray[np.float32] = self._embedder.embed([run.query.text[:2_000]], "query")[0]
        except ModelError as error:
            run.degraded.append(f"no vectors: {error}")
            return None
        waiting = len(self._store.queue(run.ns, limit=1000))
        if waiting:
            run.degraded.append(f"{waiting} document{'s' if waiting > 1 else ''} not embedded yet: found by words only")
        return vector

    def _nearest(self, run: _Run, shelf: str) -> set[int]:
        if run.vector is None:
            return set()
        index = self._index(run.ns, shelf)
        ids = index.nearest(run.vector, VECTOR_K).tolist()
        run.vector_rank |= {node: place for place, node in enumerate(ids)}
        return set(ids)

    def _index(self, ns: str, shelf: str) -> VectorIndex:
        key = (ns, shelf)
        if key not in self._indexes:
            self._indexes[key] = VectorIndex(self._store, ns, self._embedder.identity, self._embedder.dim, shelf)
        index = self._indexes[key]
        index.refresh()
        return index

    def _matching(self, run: _Run, shelf: str) -> set[int]:
        words = list(run.query.terms)
        counts = self._store.document_frequencies(run.ns, words, shelf)
        for word, count in counts.items():
            run.df[word] = run.df.get(word, 0) + count
        ids: list[int] = []
        chosen = _rarest(counts)
        if chosen:
            ids = [node for node, _ in self._store.lexical(run.ns, chosen, LEXICAL_K, shelf)]
        run.lexical_rank |= {node: place for place, node in enumerate(ids)}
        for phrase in run.query.phrases:
            run.phrases |= set(self._store.phrase(run.ns, list(phrase), LEXICAL_K, shelf))
        return set(ids) | run.phrases

    def _neighbours(self, run: _Run, found: list[Found]) -> list[Found]:
        keys = {
            (item.session, item.message + lag)
            for item in found
            if item.session is not None and item.message is not None
            for lag in range(-WIDEN, WIDEN + 1)
        }
        return self._store.found_messages(run.ns, sorted(keys))

    # units

    def _units(self, run: _Run, found: list[Found]) -> list[Unit]:
        groups: dict[tuple[str, int], list[Found]] = {}
        for item in found:
            if item.size:
                groups.setdefault(_key(item), []).append(item)
        units = []
        for key, nodes in sorted(groups.items()):
            nodes.sort(key=lambda item: (item.start, -item.end, item.id))
            parts = [node for node in nodes if node.kind != "message"] or nodes
            allowed = [node for node in nodes if self._allowed(run, node)]
            units.append(Unit(key, parts, self._best(run, allowed or nodes), bool(allowed)))
        return units

    def _best(self, run: _Run, nodes: list[Found]) -> Found:
        """The part of a unit that stands for it: the highest in the candidate lists, the whole where none is."""
        worst = VECTOR_K + LEXICAL_K
        return min(
            nodes,
            key=lambda node: (
                run.vector_rank.get(node.id, worst) + run.lexical_rank.get(node.id, worst), node.start, -node.end,
            ),
        )  # fmt: skip

    def _allowed(self, run: _Run, item: Found) -> bool:
        reason = _outside(item, run.scope) or self._hidden(run, item)
        if reason:
            run.refused[item.path] = reason
        return reason is None

    def _hidden(self, run: _Run, item: Found) -> str | None:
        if not run.forgotten or "archive" in run.scope.tiers:
            return None
        path = item.path
        moment = run.now if run.scope.as_of is None else run.scope.as_of
        while path:
            at = run.forgotten.get(path)
            if at is not None and at <= moment:
                return f"it was forgotten ({path})"
            path = path.rpartition("/")[0]
        return None

    # scores

    def _score(self, run: _Run, units: list[Unit]) -> tuple[Array, dict[str, Array]]:
        pool, corpus = self._pool(run, units)
        counting = self._embedder.identity.startswith("hashing/")
        if run.scoring == "seed":
            return self._seed(run, units, pool)
        return structure(pool, corpus, cosine=0.0 if counting else 2.0)

    def _pool(self, run: _Run, units: list[Unit]) -> tuple[Pool, Corpus]:
        words = list(run.query.terms)
        n, size, _ = self._store.lexicon(run.ns)
        tf, length = _counts(units, words)
        for column, word in enumerate(words):
            if is_prefix(word):
                tf[:, column] = [float(any(node.id in run.lexical_rank for node in unit.nodes)) for unit in units]
        sessions = {unit.key[0] for unit in units}
        groups = {name: number for number, name in enumerate(sorted(sessions))}
        rows = dict(
            speaker=self._speakers(run, units), role=self._roles(run, units), when=_in_time(run.query, units),
            phrase=np.array([float(any(node.id in run.phrases for node in unit.nodes)) for unit in units]),
        )  # fmt: skip
        age = np.array([max(0, run.now - unit.shown.created_at) / 86_400_000 for unit in units])
        importance = np.array([unit.shown.importance for unit in units])
        pool = Pool(
            tf=tf,
            length=length,
            cos=self._cosines(run, units),
            group=np.array([groups[unit.key[0]] for unit in units], dtype=np.int64),
            place=np.array([unit.key[1] for unit in units], dtype=np.int64),
            group_size=_group_sizes(units, groups),
            weight=np.array([SHELF_WEIGHT[unit.shown.shelf] for unit in units]),
            prior=0.06 * importance + 0.05 * np.exp(-age / 45),
            **rows,
        )
        return pool, Corpus(n, _average(units, n, size), np.array([run.df.get(word, 0) for word in words], dtype=float))

    def _cosines(self, run: _Run, units: list[Unit]) -> Array:
        cos = np.full(len(units), np.nan)
        if run.vector is None:
            return cos
        for shelf in {node.shelf for unit in units for node in unit.nodes}:
            index = self._index(run.ns, shelf)
            pairs = [(place, node.id) for place, unit in enumerate(units) for node in unit.nodes if node.shelf == shelf]
            values = index.cosines(run.vector, np.array([node for _, node in pairs], dtype=np.int64))
            for (place, _), value in zip(pairs, values.tolist(), strict=True):
                if not math.isnan(value):
                    cos[place] = value if math.isnan(cos[place]) else max(cos[place], value)
        return cos

    def _speakers(self, run: _Run, units: list[Unit]) -> Array:
        asked = set(run.query.terms)
        named = {name for name in {unit.shown.speaker for unit in units} if name and asked & set(terms(name))}
        only = named.pop() if len(named) == 1 else None
        return np.array([float(only is not None and unit.shown.speaker == only) for unit in units])

    def _roles(self, run: _Run, units: list[Unit]) -> Array:
        text = run.query.text
        mine = bool(FIRST_PERSON.search(text)) and not SECOND_PERSON.search(text)
        return np.array([float(mine and self._origin(unit.shown) == "user") for unit in units])

    def _origin(self, item: Found) -> str:
        """Who a node's words come from: the message's speaker, but never higher than the channel it came through."""
        if item.origin != "user" or item.message is None:
            return item.origin
        return ORIGINS.get(item.role, item.origin)

    def _seed(self, run: _Run, units: list[Unit], pool: Pool) -> tuple[Array, dict[str, Array]]:
        worst = len(run.lexical_rank)
        lexical_rank = np.array([_least(run.lexical_rank, unit) for unit in units], dtype=np.int64)
        vector_rank = np.array([_least(run.vector_rank, unit) for unit in units], dtype=np.int64)
        lexical = np.where(lexical_rank >= 0, 1 - lexical_rank / max(worst, 1), 0.0)
        owner = {node.id: place for place, unit in enumerate(units) for node in unit.nodes}
        parents = np.array([owner.get(unit.shown.parent or -1, -1) for unit in units], dtype=np.int64)
        edges = [
            (owner[source], owner[target], weight)
            for source, target, weight in self._store.edges(run.ns, sorted(owner), "similar")
            if target in owner
        ]
        return seed(pool, lexical, (vector_rank, lexical_rank), parents, edges)

    # selection

    def _rerank(
        self, run: _Run, question: str, units: list[Unit], order: list[int], total: Array
    ) -> tuple[list[int], Array]:
        if self._reranker is None or not order:
            return order, total
        first = order[:RERANKED]
        try:
            marks = self._reranker(question, [self._text(run, units[place].shown) for place in first])
        except (ModelError, TimeoutError) as error:
            run.degraded.append(f"not reranked: {error}")
            return order, total
        ranked = [place for _, place in sorted(zip(marks, first, strict=True), key=lambda pair: (-pair[0], pair[1]))]
        return ranked + order[RERANKED:], total

    def _good(self, run: _Run, total: Array, parts: dict[str, Array], order: list[int]) -> list[int]:
        """What may be returned: nothing unless the best reaches the floor, then all that is not far below it."""
        if run.scoring == "seed":
            return [place for place in order if total[place] >= 0.1]
        counting = run.vector is None or self._embedder.identity.startswith("hashing/")
        floor = FLOOR["words" if counting else "vector"]
        plain = (total - parts["speaker"] - parts["role"] - parts["time"]) / (1 + parts["gate"])
        if not order or max(plain[place] for place in order) < floor:
            return []
        own = parts["lexical"] + parts["window"] + parts["reply"] + parts["phrase"]
        return [place for place in order if plain[place] >= TAIL * floor and (own[place] > 0 or not counting)]

    def _diverse(
        self, run: _Run, units: list[Unit], order: list[int], budget: Budget
    ) -> tuple[list[int], dict[str, str]]:
        """Leave out what says the same as something better, and what lies inside it."""
        chosen: list[int] = []
        dropped: dict[str, str] = {}
        ids = np.array([units[place].shown.id for place in order[: 4 * budget.nodes]], dtype=np.int64)
        vectors = self._shown_vectors(run, ids)
        taken: list[int] = []
        for row, place in enumerate(order[: 4 * budget.nodes]):
            if len(chosen) >= budget.nodes:
                break
            twin = next(
                (
                    other
                    for other, there in zip(chosen, taken, strict=True)
                    if self._same(units, place, other, vectors, row, there)
                ),
                None,
            )
            if twin is None:
                chosen.append(place)
                taken.append(row)
            else:
                dropped[units[place].shown.path] = f"it says the same as {units[twin].shown.path}"
        return chosen, dropped

    def _shown_vectors(self, run: _Run, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        if run.vector is None:
            return np.zeros((len(ids), 1), dtype=np.float32)
        index = self._index(run.ns, "hot")
        vectors = index.vectors(ids)
        return vectors if len(index) else np.zeros((len(ids), 1), dtype=np.float32)

    def _same(
        self, units: list[Unit], place: int, other: int, vectors: NDArray[np.float32], row: int, taken: int
    ) -> bool:
        a, b = units[place].shown, units[other].shown
        if a.text_id == b.text_id and a.start < b.reach and b.start < a.reach:
            return True
        if a.terms == b.terms and a.speaker == b.speaker:
            return True
        return bool(vectors[row] @ vectors[taken] >= DUPLICATE) and self._embedder.identity.split("/")[0] != "hashing"

    def _fit(
        self, run: _Run, units: list[Unit], chosen: list[int], total: Array, parts: dict[str, Array], budget: Budget
    ) -> tuple[list[Hit], int]:
        hits: list[Hit] = []
        room, omitted = budget.chars, 0
        for place in chosen:
            item = units[place].shown
            text = self._text(run, item)
            if len(text) > budget.node_chars:
                text = text[: max(1, budget.node_chars - 1)].rstrip() + "…"
            if len(text) > room:
                omitted += 1
                continue
            room -= len(text)
            signals = {name: float(values[place]) for name, values in parts.items()}
            hits.append(
                Hit(item.path, item.kind, item.title or item.document_title, text, float(total[place]), signals,
                    item.session, item.created_at, self._tier(run, item), item.shelf, self._origin(item), item.speaker)
            )  # fmt: skip
        return hits, omitted

    def _tier(self, run: _Run, item: Found) -> str:
        return "archive" if any(item.path == p or item.path.startswith(p + "/") for p in run.forgotten) else "active"

    def _text(self, run: _Run, item: Found) -> str:
        body = self._store.text(run.ns, item.text_id, item.shelf) if item.text_id is not None else None
        return (body or "")[item.start : item.reach].strip()

    # explaining

    def _why(
        self, run: _Run, paths: Sequence[str], units: list[Unit], fate: dict[str, str], scores: dict[str, float]
    ) -> tuple[WhyNot, ...]:
        return tuple(self._why_one(run, path, units, fate, scores) for path in paths)

    def _why_one(
        self, run: _Run, path: str, units: list[Unit], fate: dict[str, str], scores: dict[str, float]
    ) -> WhyNot:
        inside = [unit for unit in units if any(n.path == path or n.path.startswith(path + "/") for n in unit.nodes)]
        inside += [unit for unit in units if unit not in inside and path.startswith(unit.shown.path + "/")]
        if not inside:
            if self._store.node(run.ns, path) is None and self._store.document(run.ns, path) is None:
                return WhyNot(path, "unknown", "nothing stands at this path")
            where = f"first {VECTOR_K} by meaning nor the first {LEXICAL_K} by words"
            return WhyNot(path, "candidates", f"it is neither among the {where}")
        unit = max(inside, key=lambda one: scores.get(one.shown.path, -1.0))
        signals = {"score": scores.get(unit.shown.path, 0.0)}
        refused = next((run.refused[n.path] for n in unit.nodes if n.path in run.refused), None)
        if not unit.wanted:
            return WhyNot(path, "scope", refused or "only its neighbours matched", signals)
        outcome = fate.get(unit.shown.path)
        if outcome == "floor":
            return WhyNot(path, "floor", "its score lies below the floor", signals)
        if outcome:
            return WhyNot(path, "diversity", outcome, signals)
        return WhyNot(path, "budget", "better hits filled the answer, or it was returned", signals)


def _narrowed(scope: Scope, query: Query) -> Scope:
    return replace(scope, within=query.path) if query.path and scope.within is None else scope


def _lap(run: _Run, name: str, started: float) -> float:
    now = time.perf_counter()
    run.timings[name] = (now - started) * 1000
    return now


def _rarest(counts: dict[str, int]) -> list[str]:
    """The rarest terms whose rows together stay within the bound; the rarest one always."""
    chosen: list[str] = []
    total = 0
    for word, count in sorted(counts.items(), key=lambda pair: (pair[1], pair[0])):
        if count and (not chosen or total + count <= POSTINGS):
            chosen.append(word)
            total += count
    return chosen


def _key(item: Found) -> tuple[str, int]:
    if item.session is not None and item.message is not None:
        return f"s {item.session}", item.message
    return f"d {item.document:012d}", item.id


def _counts(units: list[Unit], words: list[str]) -> tuple[Array, Array]:
    """How often each query term occurs in each unit, and how long the units are."""
    tf = np.zeros((len(units), len(words)))
    length = np.zeros(len(units))
    blobs = [b"".join(node.terms for node in unit.nodes) for unit in units]
    sizes = np.array([len(blob) // 4 for blob in blobs])
    every = np.frombuffer(b"".join(blobs), dtype=np.uint32)
    owner = np.repeat(np.arange(len(units)), sizes)
    length[:] = sizes
    for column, word in enumerate(words):
        if is_prefix(word):
            continue
        hits = owner[every == zlib.crc32(word.encode("utf-8", "surrogatepass"))]
        tf[:, column] = np.bincount(hits, minlength=len(units))
    return tf, length


def _average(units: list[Unit], nodes: int, size: int) -> float:
    """Terms of an average unit: the namespace knows its nodes, the pool into how many a unit is divided."""
    return size / max(nodes, 1) * sum(len(unit.nodes) for unit in units) / max(len(units), 1)


def _group_sizes(units: list[Unit], groups: dict[str, int]) -> Array:
    """Each unit's conversation or document by its highest place seen, relative to the average of the pool's."""
    highest = np.zeros(len(groups))
    lowest = np.full(len(groups), np.inf)
    for unit in units:
        group = groups[unit.key[0]]
        highest[group] = max(highest[group], unit.key[1])
        lowest[group] = min(lowest[group], 1 if unit.key[0].startswith("s ") else unit.key[1])
    sizes = highest - lowest + 1
    mean = float(sizes.mean()) if len(sizes) else 1.0
    return np.array([sizes[groups[unit.key[0]]] / mean for unit in units])


def _in_time(query: Query, units: list[Unit]) -> Array:
    since = -math.inf if query.since is None else to_ms(query.since)
    until = math.inf if query.until is None else to_ms(query.until)
    named = query.when is not None
    return np.array([float(named and since <= unit.shown.created_at < until) for unit in units])


def _outside(item: Found, scope: Scope) -> str | None:
    """Why a node lies outside the scope, or None."""
    if scope.within and not (item.path == scope.within or item.path.startswith(scope.within.rstrip("/") + "/")):
        return f"it does not lie below {scope.within}"
    if scope.context is not None and item.context != scope.context:
        return f"its context is {item.context!r}"
    if scope.kinds and item.kind not in scope.kinds and item.document_kind not in scope.kinds:
        return f"its kind is {item.kind}"
    if scope.since is not None and item.created_at < scope.since:
        return "it is older than --since"
    if scope.until is not None and item.created_at >= scope.until:
        return "it is newer than --until"
    if scope.as_of is not None and item.known_at > scope.as_of:
        return "it was not known then"
    return None


def _least(ranks: dict[int, int], unit: Unit) -> int:
    return min((ranks[node.id] for node in unit.nodes if node.id in ranks), default=-1)


def _ordered(total: Array, units: list[Unit]) -> list[int]:
    """Places by score, best first; equal scores by age and path, so that the order never depends on chance."""
    keys = [(-round(float(total[p]), 9), -units[p].shown.created_at, units[p].shown.path) for p in range(len(units))]
    return sorted(range(len(units)), key=keys.__getitem__)


def _named(total: Array, units: list[Unit]) -> dict[str, float]:
    return {unit.shown.path: float(value) for unit, value in zip(units, total, strict=True)}
