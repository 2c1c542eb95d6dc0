"""The pyramid: what stands for the left-out part of a conversation (004; the numbers: digest §5.2).

A compaction makes a `mid`. From the fourth mid on, the three oldest become one `long`, in the same transaction and with
their numbers in `merged_from`; longs beyond their cap or their allotment are folded into each other. Folding loses, so
the folded mids either go (the ledger can bring them back) or stay as `short` ones of little importance, not shown.

A summary knows by two digests which stretch of the conversation it stands for. So it is found again whenever the same
conversation comes back, and never used for one that was edited.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from mnemic.clock import DAY_MS, Clock, iso, to_ms
from mnemic.context import rules
from mnemic.context.budget import Budget
from mnemic.errors import Conflict
from mnemic.ledger import Ledger
from mnemic.ledger.record import window_object
from mnemic.models.event import Change, Draft, Row
from mnemic.store import Store

Merged = Literal["remove", "demote"]
MERGE_THRESHOLD = 4
"""Mids from which the oldest are merged."""
MERGE_BATCH = 3
MAX_LONG = 20
MAX_SUMMARIES = 500
"""Summaries of a namespace that are kept out of the archive."""
MIN_SCORE = 0.25
IMPORTANCE = {"mid": 0.6, "short": 0.3}
WEIGHTS = (0.6, 0.4)
"""Of importance and recency."""
HALF_LIFE_DAYS = 30.0
AWAITED = "rules until agent"
"""The judge of a summary by the rules that the connected agent may replace by a better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A row of the table of the same name."""

    id: int
    """0 while it is not stored."""
    session: str
    level: str
    begins: str
    """Digest of the conversation before it; empty for its beginning."""
    ends: str
    messages: int
    """How many messages it stands for."""
    replaced: int
    """How many tokens they cost."""
    text: str
    importance: float
    origin: str
    judge: str
    sources: str = "[]"
    """JSON: the paths of the documents in which the originals stand."""
    merged_from: str = "[]"
    """JSON: numbers of the summaries it was made of."""
    tier: str = "active"
    created_at: int = 0


def folded(standing: Sequence[Summary], budget: Budget) -> tuple[list[Summary], list[tuple[Summary, list[Summary]]]]:
    """The pyramid after merging what is due, oldest first, and each long that was made with what it was made of."""
    shown, made = list(standing), list[tuple[Summary, list[Summary]]]()
    while len(mids := [one for one in shown if one.level == "mid"]) >= MERGE_THRESHOLD:
        _merge(shown, mids[:MERGE_BATCH], budget, made)
    while len(longs := [one for one in shown if one.level == "long"]) > 1 and (
        0 < MAX_LONG < len(longs) or sum(map(cost, longs)) > long_room(budget)
    ):
        _merge(shown, longs[:2], budget, made)
    return shown, made


def long_room(budget: Budget) -> int:
    """Tokens for longs: their allotment, and what mids leave of theirs, since one fewer than the threshold stand."""
    return budget.long + budget.mid // MERGE_THRESHOLD


def _merge(
    shown: list[Summary], parts: list[Summary], budget: Budget, made: list[tuple[Summary, list[Summary]]]
) -> None:
    lines = [line for part in parts for line in rules.parsed(part.text)]
    longest = long_room(budget) if all(part.level == "long" for part in parts) else long_room(budget) // 2
    room = min(longest, sum(map(cost, parts)))
    sources = [path for part in parts for path in json.loads(part.sources)]
    long = Summary(
        id=0, session=parts[0].session, level="long", begins=parts[0].begins, ends=parts[-1].ends,
        messages=sum(part.messages for part in parts), replaced=sum(part.replaced for part in parts),
        text=rules.joined(rules.chosen(lines, room)), importance=max(part.importance for part in parts),
        origin=parts[0].origin, judge="rules", sources=json.dumps(list(dict.fromkeys(sources))),
        merged_from=json.dumps([part.id for part in parts]), created_at=max(part.created_at for part in parts),
    )  # fmt: skip
    made.append((long, list(parts)))
    place = shown.index(parts[0])
    shown[place : place + len(parts)] = [long]


def cost(summary: Summary) -> int:
    """Tokens of its lines in a frame."""
    return sum(map(rules.cost_of, rules.parsed(summary.text)))


def score(importance: float, age_days: float) -> float:
    """What decides on the archive: 0.6 importance + 0.4 recency, halved every 30 days (digest §5.1)."""
    own, recent = WEIGHTS
    return own * importance + recent * float(0.5 ** (max(0.0, age_days) / HALF_LIFE_DAYS))


def never_archived(importance: float) -> bool:
    """Whether its importance alone keeps it above the floor, however old it grows: from 0.417 on."""
    return WEIGHTS[0] * importance >= MIN_SCORE


class Pyramid:
    """The summaries of a namespace in the store."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock, namespace: str, merged: Merged = "remove") -> None:
        self._store, self._ledger, self._clock, self._ns, self._merged = store, ledger, clock, namespace, merged

    def now(self) -> int:
        return to_ms(self._clock.now())

    def of(self, session: str) -> list[Summary]:
        """The summaries that may stand in a prompt of this session, oldest first."""
        rows = self._store.select(self._ns, "summaries", {"session": session, "tier": "active"})
        return [Summary(**row) for row in rows if row["level"] != "short"]

    def add(
        self, mid: Summary, shown: Sequence[Summary], merges: Sequence[tuple[Summary, list[Summary]]]
    ) -> list[Summary]:
        """Store a new mid and what was merged with it, in one transaction; returns `shown` with their numbers."""
        session = mid.session
        with self._store.write(self._ns) as tx:
            made = [(mid, list[Summary]()), *merges]
            final, rows = self._numbered(tx.allocate("summaries", len(made)), made)
            changes = [
                Change("summaries", (key,), before, row)
                for key, row in rows.items()
                if key and ((before := tx.row("summaries", (key,))) or row)
            ]
            others = [row for row in tx.select("summaries", {"tier": "active"}) if row["session"] != session]
            for draft in self._fading(others):
                self._ledger.record(tx, self._ns, draft)
            event = self._ledger.record(tx, self._ns, self._draft(session, changes, mid.messages, len(merges)))
        self._ledger.committed(self._ns, event)
        return [final.get(id(one), one) for one in shown]

    def due(self, budget: Budget, *, dry_run: bool = False) -> list[Draft]:
        """What a night has to do: merges that are due in any conversation, and what has faded, or is above the cap.

        A dry run hands out no numbers: its drafts are only to be looked at.
        """
        rows = self._store.select(self._ns, "summaries", {"tier": "active"})
        drafts: list[Draft] = []
        merged: set[int] = set()
        for session in dict.fromkeys(row["session"] for row in rows):
            made = folded(self.of(session), budget)[1]
            if not made:
                continue
            _, after = self._numbered(1_000_000_000 if dry_run else self._allocated(len(made)), made)
            changes = [Change("summaries", (key,), self._store.row(self._ns, "summaries", (key,)), row)
                       for key, row in after.items()]  # fmt: skip
            changes = [change for change in changes if change.before or change.after]
            drafts.append(self._draft(session, changes, 0, len(made)))
            merged |= set(after)
        return [*drafts, *self._fading([row for row in rows if row["id"] not in merged])]

    def _allocated(self, count: int) -> int:
        with self._store.write(self._ns) as tx:
            return tx.allocate("summaries", count)

    def _numbered(
        self, number: int, made: Sequence[tuple[Summary, list[Summary]]]
    ) -> tuple[dict[int, Summary], dict[int, Row | None]]:
        """New summaries with numbers from `number` on, by identity; and every row that they change, as it is after."""
        numbers = {id(one): number + place for place, (one, _) in enumerate(made)}
        final: dict[int, Summary] = {}
        rows: dict[int, Row | None] = {}
        for one, parts in made:
            parts = [final.get(id(part), part) for part in parts]
            own = replace(one, id=numbers[id(one)], merged_from=json.dumps([part.id for part in parts]))
            final[id(one)] = own
            rows[own.id] = asdict(own)
            for part in parts:
                rows[part.id] = self._after(part)
        return final, rows

    def _draft(self, session: str, changes: Iterable[Change], messages: int, merged: int) -> Draft:
        target = window_object(self._store.erasure_key_of(self._ns), session)
        note = {"session": session, "messages": messages, "merged": merged}
        return Draft("summarise", target, "system", "agent", changes=tuple(changes), note=note)

    def awaited(self) -> list[Summary]:
        """The summaries that the agent may replace, oldest first."""
        rows = self._store.select(self._ns, "summaries", {"judge": AWAITED, "tier": "active"})
        return [Summary(**row) for row in rows if row["level"] == "mid"]

    def replace(self, summary: Summary, text: str) -> None:
        """Put the agent's text in the place of the rules'. Raises Conflict where the summary is not what it was."""
        target = window_object(self._store.erasure_key_of(self._ns), summary.session)
        with self._store.write(self._ns) as tx:
            if tx.row("summaries", (summary.id,)) != asdict(summary):
                raise Conflict(f"summary {summary.id} was merged or answered meanwhile: take the next order")
            change = Change("summaries", (summary.id,), asdict(summary), asdict(replace(summary, text=text, judge="agent")))
            note = {"session": summary.session, "messages": summary.messages, "judge": "agent"}
            event = self._ledger.record(
                tx, self._ns, Draft("summarise", target, "agent", "agent", changes=(change,), note=note)
            )
        self._ledger.committed(self._ns, event)

    def _after(self, part: Summary) -> Row | None:
        if self._merged == "remove" or part.level != "mid":
            return None
        return asdict(replace(part, level="short", importance=min(part.importance, IMPORTANCE["short"])))

    def _fading(self, rows: Sequence[Row]) -> list[Draft]:
        """What puts into the archive what fell below the floor or out of the cap; for each session its own, or an erasure
        of one would have to empty what is told of others.
        """
        now = self.now()
        worth = {row["id"]: score(row["importance"], (now - row["created_at"]) / DAY_MS) for row in rows}
        ranked = sorted(rows, key=lambda row: (-worth[row["id"]], -row["created_at"], -row["id"]))
        faded: dict[str, list[Change]] = {}
        for place, row in enumerate(ranked, 1):
            if worth[row["id"]] < MIN_SCORE or place > MAX_SUMMARIES:
                change = Change("summaries", (row["id"],), row, {**row, "tier": "archive"})
                faded.setdefault(row["session"], []).append(change)
        return [self._draft(session, changes, 0, 0) for session, changes in sorted(faded.items())]

    def rows(self, session: str | None, limit: int) -> list[dict[str, Any]]:
        """Summaries of all sessions or of one, archived ones included, the latest first."""
        where = {} if session is None else {"session": session}
        rows = self._store.select(self._ns, "summaries", where, limit=limit, newest=True)
        return [
            {**row, "sources": json.loads(row["sources"]), "merged_from": json.loads(row["merged_from"]),
             "created_at": iso(row["created_at"])}
            for row in rows
        ]  # fmt: skip

    def status(self) -> dict[str, Any]:
        """How many summaries there are, and which the floor can never reach."""
        rows = list(self._store.rows(self._ns, "summaries"))
        active = [row for row in rows if row["tier"] == "active"]
        levels = {level: sum(row["level"] == level for row in active) for level in ("short", "mid", "long")}
        return {
            "sessions": len({row["session"] for row in rows}),
            "summaries": levels,
            "archived": len(rows) - len(active),
            "messages": sum(row["messages"] for row in active if row["level"] != "short"),
            "replaced_tokens": sum(row["replaced"] for row in active if row["level"] != "short"),
            "floor": MIN_SCORE,
            "cap": MAX_SUMMARIES,
            "never_below_floor": sum(never_archived(row["importance"]) for row in active),
            "merged": self._merged,
            "awaiting_agent": len(self.awaited()),
        }
