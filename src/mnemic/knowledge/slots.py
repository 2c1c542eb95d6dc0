"""The rows of facts, by slot: what stands in one, what comes next to it, what it replaces.

A fact's *slot* is its category, key and context. At most one fact in it is current. Every change is a new revision, so
`recorded_at` and `retired_at` tell what was known when, and `valid_from` and `valid_to` what held when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.clock import DAY_MS, iso
from mnemic.errors import BadInput
from mnemic.knowledge.diary import Diary, Evidence
from mnemic.knowledge.facet import Act, Facet, chosen, created, revised, same, slotted
from mnemic.ledger import canonical
from mnemic.ledger.served import images
from mnemic.models.event import Change, Origin, Row
from mnemic.models.semantic import CATEGORIES, CURRENT, WAITING, Fact

VALUE_CHARS = 2_000
CHECK_MS = 90 * DAY_MS
"""A provisional fact is due for a check after so long, unless it says when."""
Changes = list[Change]
Known = list[Fact]
HISTORY = (*CURRENT, "superseded", "ended")
"""What was once said to hold: later words stand against these."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an extraction says is so."""

    category: str
    key: str
    slot: str
    value: str
    context: str = ""
    valid_from: int | None = None
    valid_to: int | None = None
    provisional: bool = False
    check_by: int | None = None


class Slots(Facet):
    """Facts of a namespace, as rows."""

    def __init__(self, diary: Diary, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._diary = diary

    def proposal(
        self, category: str, key: str, value: str, *, context: str = "", valid_from: int | None = None,
        valid_to: int | None = None, provisional: bool = False, check_by: int | None = None,
    ) -> Proposal:  # fmt: skip
        """A checked proposal. Raises BadInput."""
        line = self._line(key, "the key")
        slot = slotted(line)
        said = self._line(value, "the value", VALUE_CHARS)
        if not slot or not same(said):
            raise BadInput(f"{'the key' if not slot else 'the value'} is empty: give both")
        now = self._now()
        not_ahead(valid_from, now)
        not_ahead(valid_to, now)
        if valid_from is not None and valid_to is not None and valid_to <= valid_from:
            raise BadInput(f"valid_to {iso(valid_to)} does not lie after valid_from {iso(valid_from)}")
        provisional = provisional or check_by is not None
        if provisional and check_by is None:
            check_by = (now if valid_from is None else valid_from) + CHECK_MS
        return Proposal(
            chosen(category, CATEGORIES, "category"), line, slot, said, self._line(context, "context"), valid_from,
            valid_to, provisional, check_by,
        )  # fmt: skip

    def intact(self, facts: Sequence[Fact]) -> list[bool]:
        """Of each fact that stands now, whether it is what the ledger last said of it."""
        last = self._store.last_events(self._ns, [f"fact:{fact.id}" for fact in facts])

        def told(fact: Fact) -> Row | None:
            name = f"fact:{fact.id}"
            return next(images(self._store, self._ns, name, "facts", (fact.id, fact.revision), last.get(name)), None)

        return [(image := told(fact)) is not None and Fact(**image) == fact for fact in facts]

    def _slot(self, act: Act, asked: Proposal) -> Known:
        """All that was ever put in a slot, as it stands."""
        where = {"retired_at": None, "slot": asked.slot, "category": asked.category, "context": asked.context}
        return [Fact(**row) for row in act.tx.select("facts", where)]

    def _new(self, act: Act, asked: Proposal, evidence: Evidence | None, status: str, origin: Origin) -> Fact:
        start = act.now if evidence is None else evidence.first
        cited = evidence.ids if evidence else ()
        return Fact(
            id=act.tx.allocate("facts"), revision=1, category=asked.category, key=asked.key, slot=asked.slot,
            value=asked.value, status=status, origin=origin, context=asked.context, locked=0,
            corroboration=self._diary.corroboration(act.tx, cited) if cited else 1, sources=canonical(sorted(cited)),
            valid_from=start if asked.valid_from is None else asked.valid_from, valid_to=None,
            affirmed_at=act.now if evidence is None else evidence.said, recorded_at=act.now, retired_at=None,
            check_by=asked.check_by, supersedes=None, superseded_by=None, rival=None, approved=None, approved_by=None,
            why="",
        )  # fmt: skip

    def _count(self, act: Act, sources: str) -> int:
        return self._diary.corroboration(act.tx, json.loads(sources))

    def _next(self, act: Act, fact: Fact, **changes: Any) -> Fact:
        return replace(fact, revision=fact.revision + 1, recorded_at=act.now, retired_at=None, **changes)

    def _replace(
        self, act: Act, fact: Fact, current: Fact | None, rows: Sequence[Fact]
    ) -> tuple[Fact, Changes]:
        """A new fact in place of the current one."""
        changes: Changes = []
        if current is not None:
            if fact.valid_from < current.valid_from:
                fact = replace(fact, valid_from=max(fact.affirmed_at, current.valid_from))
            fact = replace(fact, supersedes=current.id)
            old = self._next(act, current, status="superseded", valid_to=fact.valid_from, superseded_by=fact.id, locked=0)
            changes += revised("facts", current, old)
        return fact, [*changes, created("facts", fact), *self._settle(act, rows, fact)]

    def _settle(self, act: Act, rows: Sequence[Fact], fact: Fact, *, only_same: bool = False) -> Changes:
        """What waited in the slot and a person's word has now answered: what says the same, and what the agent said."""
        changes: Changes = []
        for row in rows:
            claim = row.status == "claimed" or (row.status == "conflict" and row.origin == "agent")
            answered = same(row.value) == same(fact.value) or (claim and not only_same)
            if row.id != fact.id and row.status in WAITING and answered:
                after = self._next(act, row, status="settled", superseded_by=fact.id,
                                   valid_to=max(row.valid_from, fact.affirmed_at))  # fmt: skip
                changes += revised("facts", row, after)
        return changes


def current_of(rows: Iterable[Fact]) -> Fact | None:
    """The fact that holds among the rows of a slot."""
    return next((fact for fact in rows if fact.status in CURRENT), None)


def asked_of(fact: Fact) -> Proposal:
    """A fact as a proposal: it names the slot."""
    return Proposal(fact.category, fact.key, fact.slot, fact.value, fact.context)


def united(old: Iterable[int], new: Iterable[int]) -> str:
    """Sources together, as they are stored."""
    return canonical(sorted({*old, *new}))


def not_ahead(at: int | None, now: int) -> None:
    """Raises BadInput for a moment that has not come."""
    if at is not None and at > now:
        raise BadInput(f"{iso(at)} lies ahead: note it in the diary as a plan, and extract it when it has come")
