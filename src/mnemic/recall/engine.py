"""The stages of recall, in order: read, candidates, score, rerank, floor, diversity, budgets, explain.

Recall never blocks a turn: what fails inside is left out and named in `degraded`.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from mnemic.clock import DAY_MS, Clock, to_ms
from mnemic.embed import Embedder, Reranker
from mnemic.embed.base import clean
from mnemic.errors import BadInput, ModelError, StoreError
from mnemic.ledger.served import NEXT, served
from mnemic.lifecycle.curve import MODES, oldest_days
from mnemic.lifecycle.usage import hidden_by, stand
from mnemic.models.answer import Answer, Budget, Hit, Scope, WhyNot
from mnemic.models.document import SHELVES, Shelf
from mnemic.recall.index import FEW, Floats, VectorIndex
from mnemic.recall.rerank import SECONDS, Timed
from mnemic.recall.rows import Rows, Seen, noted
from mnemic.recall.score import SCORINGS, SHELF_WEIGHT, Array, Corpus, Places, Pool, corrected, seed, structure
from mnemic.recall.units import Units, units
from mnemic.recall.words import NONE, POSTINGS, Lists, matching, rarest
from mnemic.settings import DecaySettings
from mnemic.store import Found, Ids, Store
from mnemic.text.query import Query, read
from mnemic.text.tokens import is_prefix, terms

VECTOR_K = LEXICAL_K = 64
BEFORE, AFTER = 2, 1
"""Messages around a candidate that are looked at with it: what `window` and `reply` read."""
NARROW, WIDE = 10_000, 3
"""A scope of fewer nodes is searched by itself; for a wider one so many times the candidates of the namespace are taken."""
SURE = 100
"""So many of the best are scored by their full vectors; in a large home the others by what their codes tell."""
HOUR_MS = 3_600_000
RERANKED = 30
FLOOR = {"vector": 2.2, "words": 0.4}
"""Below this the best hit is no answer. What it refuses, of its own questions and of others: docs/recall.md."""
TAIL = 0.3
"""What share of the floor the further hits must reach once the best is above it."""
DUPLICATE = 0.85
"""Centred cosine at which two hits say the same (docs/calibration.md)."""
FIRST_PERSON = re.compile(r"\b(i|my|me|mine|we|our|(?-i:[Uu]s))\b|我", re.IGNORECASE)
SECOND_PERSON = re.compile(r"\b(you|your|yours)\b|你", re.IGNORECASE)
ORIGINS = {"user": "user", "assistant": "agent", "tool": "tool", "function": "tool"}
Fate = tuple[str, str]
"""The stage at which a unit's way ended, and why."""
BELOW: Fate = ("floor", "its score lies below the floor")
RETURNED: Fate = ("returned", "it is in the answer")
CROWDED: Fate = ("budget", "better hits filled the answer: ask for more nodes or characters")
UNREACHED = "nothing reaches the floor: that it is not recorded does not mean it never happened"
FADED = "nothing in use fits; this was not used for some weeks"
UNFIT = "nothing of what was found could be shown: ask for more nodes or characters"


class Outdated(Exception):
    """The home has gone over to another embedder since: by this one nothing can be answered."""


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
    lexicons: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Nodes, terms and nodes removed, by shelf that holds any."""
    vectors: dict[str, VectorIndex] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    """By shelf that holds any, its nodes as far as they were read."""
    vector_rank: dict[int, int] = field(default_factory=dict)
    lexical_rank: dict[int, int] = field(default_factory=dict)
    phrases: set[int] = field(default_factory=set)
    prefixed: dict[str, Ids] = field(default_factory=dict)
    """By prefix term, the nodes that hold a term which begins so."""
    df: dict[str, int] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)
    among: dict[str, Ids | None] = field(default_factory=dict)
    """By shelf, the only nodes that may answer, where the scope is narrow."""
    without: dict[str, Ids] = field(default_factory=dict)
    """By shelf, nodes that were forgotten."""
    nodes: dict[int, list[Found]] = field(default_factory=dict)
    """By unit that came near the answer, its nodes as they follow one another."""
    shown: dict[int, Found] = field(default_factory=dict)
    """By such a unit, the node that stands for it, of those that the scope allows; none where it allows none."""
    reach: int = 1
    """How many times the candidates are taken."""
    refused: dict[str, str] = field(default_factory=dict)
    tiers: frozenset[str] = MODES["normal"]
    buried: bool = False
    """Whether what was forgotten on purpose is asked."""
    faded: bool = False
    """Whether memories were left out because of their tier."""

    def anew(self, tiers: frozenset[str]) -> _Run:
        """The same question, as far as it was read, to other tiers."""
        return _Run(
            self.ns, self.query, self.scope, self.scoring, self.now, degraded=list(self.degraded), timings=dict(self.timings),
            vector=self.vector, lexicons=self.lexicons, vectors=self.vectors, seen=self.seen, tiers=tiers, buried=self.buried,
        )  # fmt: skip


class Recall:
    """Answers questions from one home. Safe to call from several threads."""

    def __init__(
        self, store: Store, embedder: Embedder, clock: Clock, reranker: Reranker | None = None, *,
        rerank_seconds: float = SECONDS, decay: DecaySettings | None = None,
    ) -> None:  # fmt: skip
        self._decay = decay or DecaySettings()
        self._store, self._embedder, self._clock = store, embedder, clock
        self._counting = embedder.identity.startswith("hashing/")
        """Whether vectors only count words, and so tell nothing that the words do not."""
        self._reranker = Timed(reranker, rerank_seconds) if reranker else None
        self._indexes: dict[tuple[str, str], VectorIndex] = {}
        self._lists: dict[tuple[str, str], Lists] = {}
        self._seen: dict[tuple[str, str], Seen] = {}
        self._listed: dict[tuple[str, str, frozenset[str]], tuple[object, Ids]] = {}
        """By namespace, shelf and tiers: the nodes in use, and as of when."""
        self._hidden_ids: dict[tuple[str, str], tuple[object, Ids]] = {}
        """By namespace and shelf: the nodes of what was forgotten, and as of when."""

    def ask(
        self, ns: str, question: str, *, scope: Scope | None = None, budget: Budget | None = None,
        scoring: str = "structure", why_not: Sequence[str] = (), mode: str | None = None, draw: int | None = None,
        outdated: Callable[[], bool] = lambda: False,
    ) -> Answer:  # fmt: skip
        """The best memories for a question, within a budget. Raises BadInput for an unknown scoring or mode, and Outdated
        where `outdated`, which is asked within the answer's own view of the store, says so.

        In the mode `creative`, a sample of what has faded instead, the same for the same `draw`. Without a mode it is
        `normal`; but where a time is named, or nothing in use fits, what has faded is asked too. What was forgotten on
        purpose is asked by `deep` alone.
        """
        if scoring not in SCORINGS:
            raise BadInput(f"scoring {scoring!r} is unknown: {' or '.join(SCORINGS)}")
        if mode is not None and mode not in MODES:
            raise BadInput(f"mode {mode!r} is unknown: {', '.join(MODES)}")
        now = self._clock.now()
        run = _Run(ns, read(question, now), scope or Scope(), scoring, to_ms(now))
        run.tiers = MODES[mode or "normal"] if run.scope.tiers is None else run.scope.tiers
        run.buried = "archive" in run.tiers
        widens = mode is None and run.scope.tiers is None
        if widens and _dated(run):
            run.tiers = MODES["deep"]
        if mode == "creative":
            return self._wander(run, budget or Budget(), run.now if draw is None else draw)
        if not question.strip():
            return self._answer(run, (), reason="the question is empty")
        try:
            if run.query.path and not self._stands(ns, run.query.path):
                run.query = read(question, now, paths=False)
            run.scope = _narrowed(run.scope, run.query)
            started = time.perf_counter()
            run.vector = self._query_vector(run)
            started = _lap(run, "embed", started)
            # Outside the snapshot: the first of an embedder is written down.
            indexes = {shelf: self._index(ns, shelf) for shelf in SHELVES} if run.vector is not None else {}
            room = budget or Budget()
            return self._store.read(
                ns, lambda: self._recalled(run.anew(run.tiers), indexes, question, room, why_not, outdated, widens)
            )
        except StoreError as error:
            run.degraded.append(f"memory cannot be read: {error}")
            return self._answer(run, (), reason=run.degraded[-1])

    def _recalled(
        self, run: _Run, indexes: Mapping[Shelf, VectorIndex], question: str, budget: Budget, why_not: Sequence[str],
        outdated: Callable[[], bool], widens: bool,
    ) -> Answer:  # fmt: skip
        """The answer of one state of the catalogue for all stages: a document on its way to another shelf is found once."""
        started = time.perf_counter()
        # After it began: what it places on a shelf was counted there before.
        run.lexicons = self._lexicons(run.ns)
        if outdated():
            raise Outdated
        if run.vector is not None:
            self._note_waiting(run)
        run.seen = {shelf: self._seen_of(run, shelf) for shelf in run.lexicons}
        run.vectors = {shelf: index for shelf, index in indexes.items() if shelf in run.lexicons}
        for index in run.vectors.values():
            index.refresh()
        self._share_mean(run)
        _lap(run, "prepare", started)
        again = run.anew(MODES["deep"])
        answer = self._asked(run, question, budget, why_not)
        if widens and run.faded and not answer.hits:
            faded = self._asked(again, question, budget, why_not)
            answer = replace(faded, reason=FADED) if faded.hits else answer
        return answer

    def _lexicons(self, ns: str) -> dict[str, tuple[int, int, int]]:
        """Nodes, terms and nodes removed of the shelves that hold any."""
        found = {shelf: self._store.lexicon(ns, shelf) for shelf in SHELVES}
        return {shelf: sums for shelf, sums in found.items() if sums[0]}

    def _stands(self, ns: str, path: str) -> bool:
        return any(self._store.nodes_within(ns, below=path, limit=1, shelf=shelf) for shelf in SHELVES)

    def _asked(self, run: _Run, question: str, budget: Budget, why_not: Sequence[str]) -> Answer:
        started = time.perf_counter()
        pool = self._candidates(run)
        started = _lap(run, "candidates", started)
        total, parts = self._score(run, pool)
        order = self._opened(run, pool, _ordered(total, pool), max(RERANKED, 4 * budget.nodes))
        if not order:
            return self._answer(run, (), reason=self._nothing(run), why_not=self._why(run, why_not, pool, {}, total))
        order = self._rerank(run, question, order)
        started = _lap(run, "score", started)
        good = self._good(run, total, parts, order)
        chosen, dropped = self._diverse(run, good, budget)
        hits = self._fit(run, chosen, total, parts, budget)
        _lap(run, "select", started)
        fate: dict[int, Fate] = {}
        if why_not:
            fate = self._fates(run, total, parts, good)
            fate |= {place: ("diversity", why) for place, why in dropped.items()}
            shown = {hit.path for hit in hits}
            fate |= {place: RETURNED for place in chosen if run.shown[place].path in shown}
        reason = None if hits else self._fading(run, UNFIT if good else UNREACHED)
        why = self._why(run, why_not, pool, fate, total)
        left = max(0, len(good) - len(dropped) - len(hits))
        return replace(self._answer(run, hits, reason=reason, why_not=why), omitted=left)

    def _answer(self, run: _Run, hits: Sequence[Hit], *, reason: str | None, why_not: tuple[WhyNot, ...] = ()) -> Answer:
        return Answer(
            hits=tuple(hits), reason=reason, degraded=tuple(run.degraded), embedder=self._embedder.identity,
            scoring=run.scoring, why_not=why_not, timings=run.timings,
        )  # fmt: skip

    def _nothing(self, run: _Run) -> str:
        if not run.lexicons:
            return f"nothing is remembered in namespace {run.ns!r} yet"
        return self._fading(run, "nothing matches: that it is not recorded does not mean it never happened")

    def _fading(self, run: _Run, reason: str) -> str:
        return f"{reason}; older memories were not asked, --mode deep does" if run.faded else reason

    # candidates

    def _candidates(self, run: _Run) -> Units:
        """What was found by meaning or words, and the messages around what was found in conversations."""
        started = time.perf_counter()
        run.forgotten = self._store.forgotten(run.ns)
        for shelf in run.lexicons:
            run.among[shelf], run.without[shelf] = self._among(run, shelf), self._without(run, shelf)
        # The best of all shelves together, and their neighbours wherever those stand: a move changes no answer but by
        # the shelves' weights.
        candidates = self._nearest(run), self._matching(run), self._quoting(run)
        ids = {shelf: sorted({node for each in candidates for node in each.get(shelf, ())}) for shelf in run.lexicons}
        started = _lap(run, "find", started)
        notes: dict[str, Rows] = {}
        around: set[tuple[int, int, int]] = set()
        for shelf in run.lexicons:
            table = run.seen[shelf].table(np.array(ids[shelf], dtype=np.int64))
            spoken = table["seq"] >= 0
            notes[shelf] = noted(self._store.found(run.ns, table["node"][~spoken].tolist(), shelf))
            around |= {(talk, seq - BEFORE, seq + AFTER) for talk, seq in table[spoken][["talk", "seq"]].tolist()}
        nodes = {shelf: self._store.turns(run.ns, sorted(around), shelf) for shelf in run.lexicons}
        found = units(notes, {shelf: run.seen[shelf].rows(ids) for shelf, ids in nodes.items()})
        _lap(run, "widen", started)
        return found

    def _share_mean(self, run: _Run) -> None:
        """Cosines of all shelves are centred alike, so that a move changes none."""
        sums = [index.sums for index in run.vectors.values()]
        count = sum(number for number, _ in sums)
        mean = (np.sum([total for _, total in sums], axis=0) / max(count, 1)).astype(np.float32)
        for index in run.vectors.values():
            index.share(mean if count >= FEW else None)

    def _wander(self, run: _Run, budget: Budget, draw: int) -> Answer:
        """A sample of what is cold or archived: no search, for links that nobody looked for (001 §2.4)."""
        try:
            return self._store.read(run.ns, lambda: self._sampled(run.anew(run.tiers), budget, draw))
        except StoreError as error:
            run.degraded.append(f"memory cannot be read: {error}")
            return self._answer(run, (), reason=run.degraded[-1])

    def _sampled(self, run: _Run, budget: Budget, draw: int) -> Answer:
        run.forgotten = self._store.forgotten(run.ns)
        pool = self._store.nodes_faded(run.ns, self._since(run, MODES["normal"], min))
        pool += [(node, shelf) for shelf in SHELVES for node in self._forgotten_nodes(run, shelf).tolist()]
        for node, shelf in Random(draw).sample(sorted(set(pool)), len(set(pool))):
            for item in self._store.found(run.ns, [node], shelf):
                if item.size and self._allowed(run, item):
                    run.shown[len(run.shown)] = item
            if len(run.shown) >= budget.nodes:
                break
        hits = self._fit(run, list(run.shown), np.zeros(len(run.shown)), {}, budget)
        return self._answer(run, hits, reason=None if hits else "memory is too fresh: nothing is cold or archived yet")

    def _since(self, run: _Run, tiers: frozenset[str], pick: Callable[[Iterable[int]], int] = max) -> int:
        """From when on a document must have been used to be in one of these tiers, by the slowest of the curves."""
        curves = [self._decay, *self._decay.types.values()]
        days = pick([oldest_days(tiers, curve) or 0 for curve in curves])
        return _moment(run) - (days + 1) * DAY_MS + 1

    def _used(self, run: _Run, shelf: str) -> Ids | None:
        """The only nodes that are in the tiers asked; `None` where all are, or too many to name."""
        if "archive" in run.tiers:
            return None
        since = self._since(run, run.tiers)
        if not self._store.has_unused(run.ns, since):
            return None
        run.faded = True
        ids = self._in_use(run, shelf, since - since % HOUR_MS)
        if len(ids) <= NARROW:
            return ids
        run.reach = WIDE
        return None

    def _in_use(self, run: _Run, shelf: str, since: int) -> Ids:
        """Nodes used since the beginning of an hour, so that one listing serves until something changes; `_allowed` looks
        again whether each still is in the tiers."""
        key, stamp = (run.ns, shelf, run.tiers), (since, self._store.head(run.ns), self._store.lexicon(run.ns))
        known = self._listed.get(key)
        if known is None or known[0] != stamp:
            ids = self._store.nodes_used(run.ns, since, core="core" in run.tiers, limit=NARROW + 1, shelf=shelf)
            known = self._listed[key] = (stamp, np.unique(np.array(ids, dtype=np.int64)))
        return known[1]

    def _among(self, run: _Run, shelf: str) -> Ids | None:
        """The only nodes that may answer, where they are few."""
        scoped, used = self._scoped(run, shelf), self._used(run, shelf)
        if scoped is None or used is None:
            return used if scoped is None else scoped
        return np.intersect1d(scoped, used)

    def _scoped(self, run: _Run, shelf: str) -> Ids | None:
        scope = run.scope
        said = (scope.within, scope.documents, scope.context, scope.since, scope.until, scope.as_of)
        if not scope.kinds and said == (None,) * len(said):
            return None
        ids = self._store.nodes_within(
            run.ns, below=scope.within or "", documents=scope.documents, context=scope.context, kinds=scope.kinds,
            since=scope.since, until=scope.until, known=scope.as_of, limit=NARROW + 1, shelf=shelf,
        )  # fmt: skip
        if len(ids) <= NARROW:
            return np.array(ids, dtype=np.int64)
        run.reach = WIDE
        return None

    def _without(self, run: _Run, shelf: str) -> Ids:
        """The nodes of what was forgotten: they must not crowd out what may answer."""
        return NONE if run.buried else self._forgotten_nodes(run, shelf)

    def _forgotten_nodes(self, run: _Run, shelf: str) -> Ids:
        paths = sorted(path for path, at in run.forgotten.items() if at <= _moment(run))
        if not paths:
            return NONE
        # What lies below a path changes too: a note is edited, a document moves to another shelf.
        known, stamp = self._hidden_ids.get((run.ns, shelf)), (paths, self._store.lexicon(run.ns, shelf))
        if known is None or known[0] != stamp:
            ids = self._store.nodes_below(run.ns, paths, NARROW * len(paths), shelf)
            known = self._hidden_ids[run.ns, shelf] = (stamp, ids)
        return known[1]

    def _query_vector(self, run: _Run) -> NDArray[np.float32] | None:
        try:
            vector: NDArray[np.float32] = self._embedder.embed([run.query.text[:2_000]], "query")[0]
        except ModelError as error:
            run.degraded.append(f"no vectors: {error}")
            return None
        return vector

    def _note_waiting(self, run: _Run) -> None:
        if waiting := self._store.waiting(run.ns):
            run.degraded.append(f"{waiting} document{'s' if waiting > 1 else ''} not embedded yet: found by words only")

    def _nearest(self, run: _Run) -> dict[str, set[int]]:
        """By shelf, the nodes closest in meaning."""
        near: list[tuple[float, int, int, str]] = []
        for shelf, index in run.vectors.items():
            assert run.vector is not None
            ids, cosines = index.nearest(run.vector, run.reach * VECTOR_K, run.among[shelf], run.without[shelf])
            near += [(-cos, node, node, shelf) for node, cos in zip(ids.tolist(), cosines.tolist(), strict=True)]
        return _first(near, run.reach * VECTOR_K, run.vector_rank)

    def _index(self, ns: str, shelf: str) -> VectorIndex:
        key = (ns, shelf)
        if key not in self._indexes:
            self._indexes[key] = VectorIndex(self._store, ns, self._embedder.identity, self._embedder.dim, shelf)
        return self._indexes[key]

    def _seen_of(self, run: _Run, shelf: str) -> Seen:
        known, removed = self._seen.get((run.ns, shelf)), run.lexicons[shelf][2]
        if known is None or known.removed != removed:
            known = self._seen[run.ns, shelf] = Seen(self._store, run.ns, shelf, removed)
        return known

    def _lists_of(self, run: _Run, shelf: str) -> Lists:
        known = self._lists.get((run.ns, shelf))
        if known is None or known.lexicon != run.lexicons[shelf]:
            known = self._lists[run.ns, shelf] = Lists(self._store, run.ns, shelf, run.lexicons[shelf])
        return known

    def _matching(self, run: _Run) -> dict[str, set[int]]:
        """By shelf, the nodes whose words fit best."""
        lists = {shelf: self._lists_of(run, shelf) for shelf in run.lexicons}
        for each in lists.values():
            for word, count in each.counts(run.query.terms).items():
                run.df[word] = run.df.get(word, 0) + count
        fitting: list[tuple[float, int, int, str]] = []
        for shelf, each in lists.items():
            among, without = run.among[shelf], run.without[shelf]
            seen = run.seen[shelf]
            scores = matching(self._store, run.ns, run.df, run.reach * LEXICAL_K, shelf, among, without, each, seen)
            fitting += [(-score, -node, node, shelf) for node, score in scores.items()]
        if begun := list(filter(is_prefix, rarest(run.df, POSTINGS))):
            held = [each.holders(begun) for each in lists.values()]
            run.prefixed = {word: np.concatenate([one[word] for one in held]) for word in begun}
        return _first(fitting, run.reach * LEXICAL_K, run.lexical_rank)

    def _quoting(self, run: _Run) -> dict[str, set[int]]:
        """By shelf, the newest nodes that hold each quoted phrase."""
        found: dict[str, set[int]] = {}
        for phrase in run.query.phrases:
            here: list[tuple[int, str]] = []
            for shelf in run.lexicons:
                holders = set(self._store.phrase(run.ns, list(phrase), POSTINGS, shelf)) - set(run.without[shelf].tolist())
                among = run.among[shelf]
                here += [(node, shelf) for node in (holders if among is None else holders & set(among.tolist()))]
            run.phrases |= {node for node, _ in here}
            for node, shelf in sorted(here)[-LEXICAL_K:]:
                found.setdefault(shelf, set()).add(node)
        return found

    # units

    def _opened(self, run: _Run, pool: Units, order: list[int], enough: int) -> list[int]:
        """The first places in an order whose units the scope allows, read in full."""
        allowed: list[int] = []
        for at in range(0, len(order), enough):
            batch = order[at : at + enough]
            self._read(run, pool, batch)
            allowed += [place for place in batch if place in run.shown]
            if len(allowed) >= enough:
                break
        return allowed

    def _read(self, run: _Run, pool: Units, places: Iterable[int]) -> None:
        """Read some units in full, those that were not yet."""
        fresh = {place: pool.nodes(place) for place in places if place not in run.nodes}
        found: dict[int, Found] = {}
        for shelf in run.lexicons:
            ids = [node for place, nodes in fresh.items() if SHELVES[pool.shelf[place]] == shelf for node in nodes]
            found |= {item.id: item for item in self._store.found(run.ns, ids, shelf)}
        for place, nodes in fresh.items():
            items = [found[node] for node in nodes if node in found]
            run.nodes[place] = sorted(items, key=lambda item: (item.start, -item.end, item.id))
            if allowed := [item for item in run.nodes[place] if self._allowed(run, item)]:
                run.shown[place] = self._best(run, allowed)

    def _best(self, run: _Run, nodes: list[Found]) -> Found:
        """The part of a unit that stands for it: the highest in the candidate lists, the whole where none is."""
        worst = WIDE * (VECTOR_K + LEXICAL_K)
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
        forgotten = self._forgotten_by(run, item.path)
        if forgotten is not None:
            return None if run.buried else f"it was forgotten ({forgotten})"
        tier = self._tier(run, item)
        return None if tier in run.tiers else f"its tier is {tier}: ask with --mode deep"

    def _forgotten_by(self, run: _Run, path: str) -> str | None:
        """The path that hides a path, or None."""
        return hidden_by(path, run.forgotten, _moment(run))

    def _tier(self, run: _Run, item: Found) -> str:
        if self._forgotten_by(run, item.path) is not None:
            return "archive"
        return stand(item.used_at, item.fixed, item.document_kind, _moment(run), self._decay)[0]

    # scores

    def _score(self, run: _Run, pool: Units) -> tuple[Array, dict[str, Array]]:
        if run.scoring == "seed":
            return self._seed(run, pool)
        values, corpus = self._values(run, pool)
        weight = 0.0 if self._counting else 2.0
        total, parts = structure(values, corpus, cosine=weight)
        if run.vector is None or self._counting:
            return total, parts
        best = np.array(_ordered(total, pool)[:SURE], dtype=np.int64)
        cos = self._cosines(run, pool, VectorIndex.cosines, best)
        return corrected(total, parts, values, best, cos[best], cosine=weight)

    def _values(self, run: _Run, pool: Units) -> tuple[Pool, Corpus]:
        words = list(run.query.terms)
        n, size, _ = map(sum, zip(*run.lexicons.values(), strict=True)) if run.lexicons else (0, 0, 0)
        tf = pool.frequencies(words)
        for column, word in enumerate(words):
            if is_prefix(word):
                tf[:, column] = pool.any(np.isin(pool.node, run.prefixed.get(word, NONE)))
        values = Pool(
            tf=tf,
            length=pool.lengths(),
            cos=self._cosines(run, pool, VectorIndex.estimates),
            group=pool.group,
            place=pool.place,
            group_size=_group_sizes(pool),
            speaker=_named(run.query, pool.speaker),
            role=(pool.by_user & _personal(run.query.text)).astype(float),
            when=_in_time(run.query, pool),
            phrase=pool.any(np.isin(pool.node, list(run.phrases))),
            weight=_weights(pool),
        )
        return values, Corpus(n, _average(pool, n, size), np.array([run.df.get(word, 0) for word in words], dtype=float))

    def _cosines(
        self, run: _Run, pool: Units, compare: Callable[[VectorIndex, Floats, Ids], Floats], among: Places | None = None
    ) -> Array:
        """The best centred cosine of each unit's nodes, of all units or some; NaN without a vector."""
        cos = np.full(len(pool), -np.inf)
        asked = np.full(len(pool), among is None)
        if among is not None:
            asked[among] = True
        for shelf, index in run.vectors.items():
            assert run.vector is not None
            rows = np.flatnonzero((asked & (pool.shelf == SHELVES.index(shelf)))[pool.owner])
            np.fmax.at(cos, pool.owner[rows], compare(index, run.vector, pool.node[rows]))
        cos[np.isinf(cos)] = np.nan
        return cos

    def _seed(self, run: _Run, pool: Units) -> tuple[Array, dict[str, Array]]:
        self._read(run, pool, range(len(pool)))
        owner = dict(zip(pool.node.tolist(), pool.owner.tolist(), strict=True))
        first = [run.nodes[place][0] if run.nodes[place] else None for place in range(len(pool))]
        parents = [owner.get(item.parent or -1, -1) if item else -1 for item in first]
        edges = [
            (owner[source], owner[target], weight)
            for source, target, weight in self._store.edges(run.ns, sorted(owner), "similar")
            if target in owner
        ]
        age = np.maximum(0, run.now - pool.created_at) / DAY_MS
        importance = np.array([item.importance if item else 0.0 for item in first])
        ranks = (_least(run.vector_rank, pool), _least(run.lexical_rank, pool))
        uses = np.array([item.uses if item else 0 for item in first], dtype=float)
        prior = 0.06 * importance + 0.05 * np.exp(-age / 45) + 0.03 * np.minimum(1, np.log1p(uses) / math.log(8))
        return seed(self._cosines(run, pool, VectorIndex.cosines), ranks, _weights(pool), prior, parents, edges)

    # selection

    def _rerank(self, run: _Run, question: str, order: list[int]) -> list[int]:
        if self._reranker is None:
            return order
        first = order[:RERANKED]
        try:
            marks = self._reranker.marks(question, [self._text(run, run.shown[place]) for place in first])
        except ModelError as error:
            run.degraded.append(f"not reranked: {error}")
            return order
        ranked = [place for _, place in sorted(zip(marks, first, strict=True), key=lambda pair: -pair[0])]
        return ranked + order[RERANKED:]

    def _good(self, run: _Run, total: Array, parts: dict[str, Array], order: list[int]) -> list[int]:
        """What may be returned: nothing unless the best reaches the floor, then all that is not far below it."""
        if run.scoring == "seed":
            return [place for place in order if total[place] >= 0.1]
        counting = run.vector is None or self._counting
        floor = FLOOR["words" if counting else "vector"]
        plain = (total - parts["speaker"] - parts["role"] - parts["time"]) / (1 + parts["gate"])
        if not order or max(plain[place] for place in order) < floor:
            return []
        own = parts["lexical"] + parts["window"] + parts["reply"] + parts["phrase"]
        return [place for place in order if plain[place] >= TAIL * floor and (own[place] > 0 or not counting)]

    def _fates(self, run: _Run, total: Array, parts: dict[str, Array], good: list[int]) -> dict[int, Fate]:
        """Which units lie below the floor, those included that were never looked at for the answer."""
        every = list(range(len(total)))
        above = set(self._good(run, total, parts, every)) if good else set[int]()
        return {place: BELOW for place in every if place not in above}

    def _diverse(self, run: _Run, order: list[int], budget: Budget) -> tuple[list[int], dict[int, str]]:
        """Leave out what says the same as something better, and what lies inside it."""
        chosen: list[int] = []
        dropped: dict[int, str] = {}
        order = order[: 4 * budget.nodes]
        vectors = self._shown_vectors(run, [run.shown[place] for place in order])
        for place in order:
            if len(chosen) >= budget.nodes:
                break
            twin = next((other for other in chosen if self._same(run, run.shown[place], run.shown[other], vectors)), None)
            if twin is None:
                chosen.append(place)
            else:
                dropped[place] = f"it says the same as {run.shown[twin].path}"
        return chosen, dropped

    def _shown_vectors(self, run: _Run, items: list[Found]) -> dict[int, NDArray[np.float32]]:
        """Centred vectors of what may be shown; none where they only count words."""
        found: dict[int, NDArray[np.float32]] = {}
        if run.vector is None or self._counting:
            return found
        for shelf in {item.shelf for item in items}:
            ids = [item.id for item in items if item.shelf == shelf]
            found |= dict(zip(ids, run.vectors[shelf].vectors(np.array(ids, dtype=np.int64)), strict=True))
        return found

    def _same(self, run: _Run, a: Found, b: Found, vectors: dict[int, NDArray[np.float32]]) -> bool:
        if a.text_id == b.text_id and a.start < b.reach and b.start < a.reach:
            return True
        if a.terms == b.terms and a.speaker == b.speaker:
            return True
        if a.id not in vectors or b.id not in vectors:
            return False
        level = max(run.vectors[item.shelf].level for item in (a, b))
        return bool(vectors[a.id] @ vectors[b.id] >= level + (1 - level) * DUPLICATE)

    def _fit(self, run: _Run, chosen: list[int], total: Array, parts: dict[str, Array], budget: Budget) -> list[Hit]:
        hits: list[Hit] = []
        room = budget.chars
        texts = self._served(run, [run.shown[place] for place in chosen])
        for place in chosen:
            item = run.shown[place]
            text = texts.get(item.id)
            if text is None:
                run.degraded.append(f"{item.path} is not served: its text is not what was recorded; {NEXT}")
                continue
            if len(text) > budget.node_chars:
                text = text[: max(1, budget.node_chars - 1)].rstrip() + "…"
            if len(text) > room:
                continue
            room -= len(text)
            signals = {name: float(values[place]) for name, values in parts.items()}
            hits.append(
                Hit(item.path, item.kind, item.title or item.document_title, text, float(total[place]), signals,
                    item.session, item.created_at, self._tier(run, item), item.shelf, _origin(item), item.speaker)
            )  # fmt: skip
        return hits

    def _text(self, run: _Run, item: Found) -> str:
        return _part(item, self._store.text(run.ns, item.text_id, item.shelf) if item.text_id is not None else None)

    def _served(self, run: _Run, items: Sequence[Found]) -> dict[int, str]:
        """What to show of nodes; nothing of those whose text is not what was recorded."""
        texts = served(self._store, run.ns, ((item.shelf, item.document, item.text_id) for item in items))
        return {item.id: _part(item, texts[item.text_id]) for item in items if item.text_id in texts}

    # explaining

    def _why(self, run: _Run, paths: Sequence[str], pool: Units, fate: dict[int, Fate], total: Array) -> tuple[WhyNot, ...]:
        return tuple(self._why_one(run, path, pool, fate, total) for path in paths)

    def _why_one(self, run: _Run, path: str, pool: Units, fate: dict[int, Fate], total: Array) -> WhyNot:
        path = clean(path)
        node, document = self._store.node(run.ns, path), self._store.document(run.ns, path)
        if node is None and document is None:
            return WhyNot(path, "unknown", "nothing stands at this path")
        document = document or (self._store.document_by_id(run.ns, node.document) if node else None)
        tree = self._store.nodes(run.ns, document.id, document.shelf) if document else []
        below = {item.id for item in tree if item.path == path or item.path.startswith(path + "/")}
        above = {item.id for item in tree if path.startswith(item.path + "/")}
        places = pool.holding(below) or pool.holding(above)
        if not places:
            found = self._store.found(run.ns, sorted(below), document.shelf) if document else []
            spoken = [item for item in found if item.size]
            if spoken and not any([self._allowed(run, item) for item in spoken]):
                return WhyNot(path, "scope", run.refused[spoken[0].path])
            where = f"first {run.reach * VECTOR_K} by meaning nor the first {run.reach * LEXICAL_K} by words"
            return WhyNot(path, "candidates", f"it is neither among the {where}")
        place = max(places, key=lambda one: (fate.get(one) == RETURNED, float(total[one])))
        signals = {"score": float(total[place])}
        self._read(run, pool, [place])
        if place not in run.shown:
            reasons = [run.refused[item.path] for item in run.nodes[place] if item.path in run.refused]
            return WhyNot(path, "scope", reasons[0] if reasons else "only its neighbours matched", signals)
        return WhyNot(path, *fate.get(place, CROWDED), signals)


def _first(ranked: list[tuple[float, int, int, str]], k: int, ranks: dict[int, int]) -> dict[str, set[int]]:
    """The nodes of the k first, by shelf, of (order, order of equals, node, shelf); their places are noted in `ranks`."""
    found: dict[str, set[int]] = {}
    for place, (_, _, node, shelf) in enumerate(sorted(ranked)[:k]):
        ranks[node] = place
        found.setdefault(shelf, set()).add(node)
    return found


def _part(item: Found, body: str | None) -> str:
    return (body or "")[item.start : item.reach].strip()


def _dated(run: _Run) -> bool:
    """Whether a time is named, by the scope or by the question."""
    return run.query.when is not None or (run.scope.since, run.scope.until, run.scope.as_of) != (None,) * 3


def _narrowed(scope: Scope, query: Query) -> Scope:
    within = (query.path if scope.within is None else scope.within) or ""
    context = None if scope.context is None else clean(scope.context)
    return replace(scope, within=clean(within).rstrip("/") or None, context=context)


def _moment(run: _Run) -> int:
    """The moment as of which is asked, in ms."""
    return run.now if run.scope.as_of is None else run.scope.as_of


def _lap(run: _Run, name: str, started: float) -> float:
    now = time.perf_counter()
    run.timings[name] = run.timings.get(name, 0.0) + (now - started) * 1000
    return now


def _origin(item: Found) -> str:
    """Who a node's words come from: the message's speaker, but never higher than the channel it came through."""
    if item.origin != "user" or item.message is None:
        return item.origin
    return ORIGINS.get(item.role, item.origin)


def _average(pool: Units, nodes: int, size: int) -> float:
    """Terms of an average unit: the namespace knows its nodes, the pool into how many a unit is divided."""
    return size / max(nodes, 1) * int(pool.scored.sum()) / max(len(pool), 1)


def _weights(pool: Units) -> Array:
    return np.array([SHELF_WEIGHT[shelf] for shelf in SHELVES])[pool.shelf]


def _group_sizes(pool: Units) -> Array:
    """Each unit's conversation or document by its highest place seen, relative to the average of the pool's."""
    if not len(pool):
        return np.zeros(0)
    begins = np.flatnonzero(np.diff(pool.group, prepend=-1))
    highest = np.maximum.reduceat(pool.place, begins)
    lowest = np.where(pool.spoken[begins], 1, pool.place[begins])
    sizes = highest - lowest + 1
    relative: Array = (sizes / sizes.mean())[pool.group]
    return relative


def _named(query: Query, speakers: NDArray[np.object_]) -> Array:
    """1 for what was said by the one speaker that is named in the question; 0 where none or several are."""
    asked = set(query.terms)
    named = [name for name in set(speakers.tolist()) if name and asked & set(terms(name))]
    return (speakers == named[0]).astype(float) if len(named) == 1 else np.zeros(len(speakers))


def _personal(text: str) -> bool:
    """Whether a question is about who asks it."""
    return bool(FIRST_PERSON.search(text)) and not SECOND_PERSON.search(text)


def _in_time(query: Query, pool: Units) -> Array:
    since = -math.inf if query.since is None else to_ms(query.since)
    until = math.inf if query.until is None else to_ms(query.until)
    named = query.when is not None
    return ((since <= pool.created_at) & (pool.created_at < until) & named).astype(float)


def _outside(item: Found, scope: Scope) -> str | None:
    """Why a node lies outside the scope, or None."""
    if scope.within and not (item.path == scope.within or item.path.startswith(scope.within + "/")):
        return f"it does not lie below {scope.within}"
    if scope.documents is not None and item.document_path not in scope.documents:
        return "it lies in none of the documents that were asked"
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


def _least(ranks: dict[int, int], pool: Units) -> Places:
    """Each unit's best place in a list, -1 where it is not in it."""
    far = len(ranks)
    places = np.full(len(pool), far)
    np.minimum.at(places, pool.owner, np.array([ranks.get(node, far) for node in pool.node.tolist()], dtype=np.int64))
    return np.where(places == far, -1, places)


def _ordered(total: Array, pool: Units) -> list[int]:
    """Places by score, best first; equal scores by age, then as they stand, so that the order never depends on chance."""
    return np.lexsort((-pool.created_at, -np.round(total, 9))).tolist()  # type: ignore[no-any-return]
