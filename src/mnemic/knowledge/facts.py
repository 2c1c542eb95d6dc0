"""Facts about the user: what holds, since when, on whose word, and what it replaced.

A fact's *slot* is its category, key and context. In a slot at most one fact is current. What a person said, latest,
is current; nothing that comes later to our ears but was said earlier replaces it. What has less authority than a
person's word never becomes current by itself, whatever is repeated: it waits for a person.

    a person's words    stored, or it supersedes; the same value again corroborates; parked if the fact is locked
    the agent's words   claimed; parked as a conflict where a person's fact says otherwise
    what was read       quarantined
    unsure (other)      parked

Every change is a new revision. So `recorded_at` and `retired_at` tell what was known when, and `valid_from` and
`valid_to` what held when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.clock import iso
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.knowledge.diary import Diary, Evidence, supports
from mnemic.knowledge.facet import Act, Facet, chosen, created, must_be_human, revised, same, slotted
from mnemic.knowledge.origin import HUMAN, RANK, approve, external, human, lowest, seal
from mnemic.ledger import canonical
from mnemic.models.event import Change, Origin
from mnemic.models.semantic import CATEGORIES, CURRENT, FACT_STATUSES, PAST, WAITING, Fact, Outcome

VALUE_CHARS = 2_000
CHECK_MS = 90 * 86_400_000
"""A provisional fact is due for a check after so long, unless it says when."""
Changes = list[Change]
Known = list[Fact]
Rows = list[dict[str, Any]]
HISTORY = (*CURRENT, "superseded", "ended")
TOP = ("locked", "corroboration", "affirmed_at")
"""What makes a fact stand first in the profile."""


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


class Facts(Facet):
    """The facts of a namespace."""

    def __init__(self, diary: Diary, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._diary = diary

    # reading

    def list(
        self, *, category: str | None = None, key: str | None = None, status: str | None = None,
        context: str | None = None, due: bool = False, everything: bool = False, as_of: int | None = None,
        valid_at: int | None = None, limit: int = 10_000,
    ) -> Rows:  # fmt: skip
        """Facts by id. Without `everything`, those that hold and those that wait for a person.

        `as_of` (ms) answers what was known then, `valid_at` what held then by what is known; both may be given.
        `due`: provisional facts whose check has come.
        """
        wanted: Sequence[str] = (*CURRENT, *WAITING)
        if status is not None:
            wanted = (chosen(status, FACT_STATUSES, "status"),)
        elif due:
            wanted = ("provisional",)
        elif everything:
            wanted = FACT_STATUSES
        elif valid_at is not None:
            wanted = HISTORY
        where: dict[str, Any] = {}
        if category is not None:
            where["category"] = chosen(category, CATEGORIES, "category")
        if key is not None:
            where["slot"] = slotted(key)
        if context is not None:
            where["context"] = context
        now = self._now() if as_of is None else as_of
        found = [fact for fact in self._known(where, wanted, as_of) if not due or fact.due(now)]
        if valid_at is not None:
            found = [f for f in found if f.valid_from <= valid_at and (f.valid_to is None or valid_at < f.valid_to)]
        return [self._shown(fact) for fact in sorted(found, key=lambda fact: fact.id)[:limit]]

    def _known(self, where: dict[str, Any], statuses: Sequence[str], as_of: int | None) -> Known:
        if as_of is None:
            latest = {**where, "retired_at": None}
            if len(statuses) == 1:
                latest["status"] = statuses[0]
            rows = self._store.select(self._ns, "facts", latest)
        else:
            rows = [
                row for row in self._store.select(self._ns, "facts", where)
                if row["recorded_at"] <= as_of and (row["retired_at"] is None or row["retired_at"] > as_of)
            ]  # fmt: skip
        return [Fact(**row) for row in rows if row["status"] in statuses]

    def top(self, limit: int, *, statuses: Sequence[str] = CURRENT, context: str | None = None,
            as_of: int | None = None) -> Known:  # fmt: skip
        """The facts that matter most: locked, much corroborated, lately said; in this order."""
        if as_of is not None or context is not None:
            found = [fact for fact in self._known({}, statuses, as_of) if context is None or fact.context in ("", context)]
        else:
            found = []
            for status in statuses:
                where = {"retired_at": None, "status": status}
                rows = self._store.select(self._ns, "facts", where, limit=limit, newest=True, by=TOP)
                found += [Fact(**row) for row in rows]
        found.sort(key=lambda f: (f.locked, f.corroboration, f.affirmed_at, f.id), reverse=True)
        return found[:limit]

    def count(self, statuses: Sequence[str] = CURRENT) -> int:
        """How many facts have one of these statuses now."""
        return sum(self._store.count(self._ns, "facts", {"retired_at": None, "status": status}) for status in statuses)

    def show(self, number: int, *, as_of: int | None = None) -> dict[str, Any]:
        """A fact with all its revisions, its sources, and what contradicts it. Raises NotFound."""
        with self._store.reading():
            revisions = [Fact(**row) for row in self._store.select(self._ns, "facts", {"id": number})]
            if as_of is not None:
                revisions = [fact for fact in revisions if fact.recorded_at <= as_of]
            if not revisions:
                known = "" if as_of is None else f" known at {iso(as_of)}"
                raise NotFound(f"there is no fact {number}{known}: see `mnemic fact list`")
            fact = revisions[-1]
            cited = [self._store.row(self._ns, "diary", (source,)) for source in fact.cited]
            events = self._store.events(self._ns, object=f"fact:{number}", limit=100)
            now = self._now() if as_of is None else as_of
            row = self._shown(fact)
            return {
                **row, "due": fact.due(now),
                "revisions": [revision.json(now) for revision in revisions],
                "evidence": [{"id": e["id"], "content": e["content"], "origin": e["origin"]} for e in cited if e],
                "history": [{"seq": event.seq, "at": iso(event.at), "op": event.op, "actor": event.actor}
                            for event in events],
            }  # fmt: skip

    def _shown(self, fact: Fact) -> dict[str, Any]:
        row = fact.json(self._now())
        if fact.status in WAITING and fact.retired_at is None:
            where = {"retired_at": None, "slot": fact.slot, "category": fact.category, "context": fact.context}
            stands = _current(Fact(**other) for other in self._store.select(self._ns, "facts", where))
            row |= {"conflicts_with": stands.id if stands else None, "seal": _seal(fact, stands)}
        return row

    # a person's acts

    def add(
        self, category: str, key: str, value: str, *, context: str = "", lock: bool = True,
        valid_from: int | None = None, check_by: int | None = None, reason: str = "", channel: Origin = "user",
        op_id: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """State a fact; it replaces what stood there, and is locked unless told otherwise. Raises Refused, BadInput."""
        must_be_human(channel, "state a fact directly")
        asked = self.proposal(category, key, value, context=context, valid_from=valid_from, check_by=check_by)

        def do(act: Act) -> dict[str, Any]:
            rows = self._slot(act, asked)
            current = _current(rows)
            if current is not None and same(current.value) == same(asked.value):
                raise Refused(
                    f"fact {current.id} says so already ({current.status}"
                    f"{', locked' if current.locked else ''}): possible are {_possible(current)}"
                )
            if current is not None and current.locked:
                raise Refused(
                    f"fact {current.id} is locked and says {current.value!r}: `mnemic fact edit {current.id}` to correct"
                    f" it, or `mnemic fact unlock {current.id}` first"
                )
            fact = self._new(act, asked, None, "provisional" if asked.provisional else "current", channel)
            fact = replace(fact, locked=int(lock))
            fact, changes = self._replace(act, fact, current, rows)
            seq = act.record("fact-add", f"fact:{fact.id}", changes, reason)
            return {**fact.json(act.now), "seq": seq}

        request = ["fact", category, key, value, context, lock, valid_from, check_by]
        return self._once(op_id, request, channel, do)

    def edit(
        self, number: int, value: str | None = None, *, category: str | None = None, valid_from: int | None = None,
        check_by: int | None = None, reason: str = "", channel: Origin = "user",
    ) -> dict[str, Any]:  # fmt: skip
        """Correct a fact that holds: it was wrong, or wrongly filed. What it said before stays as an earlier revision.

        Raises Refused for a fact that does not hold, or where another holds in its new place.
        """
        must_be_human(channel, "edit a fact")
        with self._acting(channel) as act:
            fact = self._held(act, number, CURRENT, "edited")
            changed = self._corrected(act, fact, value, category)
            if valid_from is not None:
                _not_ahead(valid_from, act.now)
                changed = replace(changed, valid_from=valid_from)
            if check_by is not None:
                changed = replace(changed, check_by=check_by, status="provisional")
            if changed == fact:
                raise Refused(f"fact {number} says so already: give a value, --category, --valid-from or --check-by")
            after = self._next(act, changed)
            changes = revised("facts", fact, after)
            changes += self._settle(act, self._slot(act, _asked(after)), after)
            seq = act.record("fact-edit", f"fact:{number}", changes, reason)
        return {**after.json(act.now), "seq": seq}

    def _corrected(self, act: Act, fact: Fact, value: str | None, category: str | None) -> Fact:
        if value is not None:
            line = self._line(value, "the value", VALUE_CHARS)
            if not line:
                raise BadInput("the value is empty: to end a fact, use `mnemic fact delete`")
            if line != fact.value:
                # Whoever said the old value did not say this one.
                fact = replace(fact, value=line, origin=act.origin, sources="[]", corroboration=1, approved=None,
                               approved_by=None, affirmed_at=act.now)  # fmt: skip
        if category is not None and category != fact.category:
            fact = replace(fact, category=chosen(category, CATEGORIES, "category"))
            other = _current(self._slot(act, _asked(fact)))
            if other is not None:
                raise Refused(f"fact {other.id} holds {other.value!r} there already: edit or delete that one")
        return fact

    def lock(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """Keep a fact from being replaced by what is extracted: a contradiction is parked. Raises Refused."""
        return self._locked(number, 1, reason, channel)

    def unlock(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """Let a fact be replaced again. Raises Refused."""
        return self._locked(number, 0, reason, channel)

    def _locked(self, number: int, locked: int, reason: str, channel: Origin) -> dict[str, Any]:
        word = "lock" if locked else "unlock"
        must_be_human(channel, f"{word} a fact")
        with self._acting(channel) as act:
            fact = self._held(act, number, CURRENT, f"{word}ed")
            if fact.locked == locked:
                raise Refused(f"fact {number} is {'locked' if locked else 'not locked'} already: possible are {_possible(fact)}")
            return self._revise(act, fact, f"fact-{word}", reason, locked=locked)

    def confirm(
        self, number: int, *, check_by: int | None = None, reason: str = "", channel: Origin = "user"
    ) -> dict[str, Any]:
        """A provisional fact has been checked: it holds for good, or until the next check. Raises Refused."""
        must_be_human(channel, "confirm a fact")
        with self._acting(channel) as act:
            fact = self._held(act, number, ("provisional",), "confirmed")
            status = "current" if check_by is None else "provisional"
            return self._revise(act, fact, "fact-confirm", reason, status=status, check_by=check_by, affirmed_at=act.now)

    def delete(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """Take a fact out; a tombstone stays. Raises Refused for one that is out already."""
        must_be_human(channel, "delete a fact")
        with self._acting(channel) as act:
            fact = self._held(act, number, tuple(s for s in FACT_STATUSES if s != "deleted"), "deleted")
            return self._revise(act, fact, "fact-delete", reason, status="deleted", locked=0, affirmed_at=act.now)

    def approve(
        self, number: int, *, seen: str | None = None, reason: str = "", channel: Origin = "user"
    ) -> dict[str, Any]:
        """A person makes what waited a fact; its origin stays what it was. `seen` is the seal that was shown.

        Raises Refused for a channel no person stands behind, for what does not wait, for what changed meanwhile.
        """
        must_be_human(channel, "approve a fact")
        with self._acting(channel) as act:
            fact = self._held(act, number, ("claimed", "quarantined", "parked"), "approved")
            return self._approved(act, fact, seen, reason, "fact-approve")

    def reject(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """A person turns down what waited. The same from the same kind of source does not come back."""
        must_be_human(channel, "reject a fact")
        with self._acting(channel) as act:
            fact = self._held(act, number, ("claimed", "quarantined", "parked"), "rejected")
            return self._revise(act, fact, "fact-reject", reason, status="rejected", affirmed_at=act.now)

    def resolve(
        self, number: int, take: bool, *, seen: str | None = None, reason: str = "", channel: Origin = "user"
    ) -> dict[str, Any]:
        """Settle a parked conflict: take its value in place of the fact's, or keep the fact. Raises Refused."""
        must_be_human(channel, "settle a conflict")
        with self._acting(channel) as act:
            fact = self._held(act, number, ("conflict",), "resolved")
            if take:
                return self._approved(act, fact, seen, reason, "fact-resolve")
            return self._revise(act, fact, "fact-resolve", reason, status="rejected", affirmed_at=act.now)

    def _approved(self, act: Act, fact: Fact, seen: str | None, reason: str, op: str) -> dict[str, Any]:
        rows = self._slot(act, _asked(fact))
        current = _current(rows)
        bound = approve(act.origin, _seal(fact, current), seen)
        if current is not None and current.locked and fact.status != "conflict":
            raise Refused(f"fact {current.id} is locked and says {current.value!r}: `mnemic fact unlock {current.id}` first")
        status = "current" if fact.check_by is None else "provisional"
        after = self._next(
            act, fact, status=status, approved=bound, approved_by=act.actor, affirmed_at=act.now, rival=None,
            supersedes=current.id if current else None, locked=current.locked if current else fact.locked, why="",
        )  # fmt: skip
        changes: Changes = []
        if current is not None:
            end = max(after.valid_from, current.valid_from)
            changes = revised("facts", current, self._next(
                act, current, status="superseded", valid_to=end, superseded_by=after.id, locked=0))  # fmt: skip
        changes += revised("facts", fact, after)
        changes += self._settle(act, [row for row in rows if row.id != fact.id], after)
        seq = act.record(op, f"fact:{fact.id}", changes, reason, {"seal": bound})
        return {**after.json(act.now), "seq": seq}

    def _revise(self, act: Act, fact: Fact, op: str, reason: str, **changes: Any) -> dict[str, Any]:
        after = self._next(act, fact, **changes)
        seq = act.record(op, f"fact:{fact.id}", revised("facts", fact, after), reason)
        return {**after.json(act.now), "seq": seq}

    def _held(self, act: Act, number: int, statuses: Sequence[str], done: str) -> Fact:
        """The fact as it stands, if it is in one of these states."""
        rows = act.tx.select("facts", {"id": number, "retired_at": None})
        if not rows:
            raise NotFound(f"there is no fact {number}: see `mnemic fact list`")
        fact = Fact(**rows[0])
        if fact.status not in statuses:
            raise Refused(f"fact {number} is {fact.status} and cannot be {done}: possible are {_possible(fact)}")
        return fact

    # what an extraction proposes

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
        _not_ahead(valid_from, now)
        _not_ahead(valid_to, now)
        if valid_from is not None and valid_to is not None and valid_to <= valid_from:
            raise BadInput(f"valid_to {iso(valid_to)} does not lie after valid_from {iso(valid_from)}")
        provisional = provisional or check_by is not None
        if provisional and check_by is None:
            check_by = (now if valid_from is None else valid_from) + CHECK_MS
        return Proposal(
            chosen(category, CATEGORIES, "category"), line, slot, said, self._line(context, "context"), valid_from,
            valid_to, provisional, check_by,
        )  # fmt: skip

    def propose(self, act: Act, asked: Proposal, evidence: Evidence, run: int) -> Outcome:
        """Put a proposal where its evidence allows, as one entry. Raises Refused for what has no place."""
        marks = self._diary.marks(evidence, run, act.now)
        why = ""
        if human(evidence.origin) and not (human(act.origin) and evidence.own) and not supports(asked.value, evidence.text):
            evidence = replace(evidence, origin=lowest([evidence.origin, "agent"]))
            why = "the cited entries do not say it"
        rows = self._slot(act, asked)
        if external(evidence.origin):
            why = f"it rests on what came from {evidence.origin!r}: a person must approve it"
            return self._wait(act, asked, evidence, rows, marks, "quarantined", why)
        if asked.category == "other":
            return self._wait(act, asked, evidence, rows, marks, "parked", "of no sure category: a person must file it")
        if not human(evidence.origin):
            return self._claim(act, asked, evidence, rows, marks, why or "only the agent said so")
        return self._say(act, asked, evidence, rows, marks)

    def withdraw(self, act: Act, asked: Proposal, evidence: Evidence, run: int) -> Outcome:
        """End a fact that nothing replaces: a plan withdrawn, a habit given up. Raises Refused."""
        marks = self._diary.marks(evidence, run, act.now)
        rows = self._slot(act, asked)
        current = _current(rows)
        if not human(evidence.origin):
            what = f"fact {current.id} is a person's word" if current else "nothing holds there"
            raise Refused(f"{what}, and this rests on {evidence.origin!r}: it cannot end it")
        if current is None:
            return self._nothing(act, asked, evidence, rows, marks)
        if asked.value != ANY and same(asked.value) != same(current.value):
            raise Refused(f"fact {current.id} says {current.value!r}, not {asked.value!r}: withdraw what holds")
        if current.locked:
            raise Refused(f"fact {current.id} is locked: a person must unlock or delete it")
        if evidence.said < current.affirmed_at:
            why = f"it was said to hold later, on {iso(current.affirmed_at)}: it stays"
            return self._noted(act, current, marks, why)
        end = max(evidence.said if asked.valid_to is None else asked.valid_to, current.valid_from)
        after = self._next(act, current, status="ended", valid_to=end, affirmed_at=evidence.said,
                           sources=_united(current.cited, evidence.ids))  # fmt: skip
        seq = act.record("fact-withdraw", f"fact:{current.id}", [*revised("facts", current, after), *marks])
        return Outcome("fact", "ended", after.id, after.revision, seq)

    def _nothing(
        self, act: Act, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], marks: Changes
    ) -> Outcome:
        """That nothing holds is knowledge too: what was said before it, and comes in later, does not hold either."""
        last = max((f for f in rows if f.status in HISTORY), key=lambda f: f.affirmed_at, default=None)
        if last is not None and last.affirmed_at >= evidence.said:
            return self._noted(act, last, marks, "something newer is known")
        value = NOTHING if asked.value == ANY else asked.value
        fact = self._new(act, replace(asked, value=value, valid_from=evidence.said), evidence, "ended", evidence.origin)
        fact = replace(fact, valid_to=evidence.said)
        seq = act.record("fact-withdraw", f"fact:{fact.id}", [created("facts", fact), *marks])
        return Outcome("fact", "ended", fact.id, 1, seq, "nothing was known to hold there")

    def _say(self, act: Act, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], marks: Changes) -> Outcome:
        """A person's words."""
        current = _current(rows)
        over = asked.valid_to is not None and asked.valid_to <= act.now
        if current is not None and same(current.value) == same(asked.value) and not over:
            return self._corroborate(act, current, asked, evidence, rows, marks)
        if self._earlier(act, asked, evidence, rows, current):
            return self._past(act, asked, evidence, rows, marks)
        if current is not None and current.locked:
            why = f"fact {current.id} is locked and says {current.value!r}"
            return self._wait(act, asked, evidence, rows, marks, "conflict", why)
        fact = self._new(act, asked, evidence, "provisional" if asked.provisional else "current", evidence.origin)
        fact, changes = self._replace(act, fact, current, rows)
        op = "fact-supersede" if current else "fact-extract"
        seq = act.record(op, f"fact:{fact.id}", [*changes, *marks])
        return Outcome("fact", "superseded" if current else "stored", fact.id, 1, seq,
                       f"it replaces fact {current.id}" if current else None)  # fmt: skip

    def _earlier(
        self, act: Act, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], current: Fact | None
    ) -> bool:
        """Whether what is proposed was said before what is known last, or tells of the past."""
        if asked.valid_to is not None and asked.valid_to <= act.now:
            return True  # told as over
        value = same(asked.value)
        known = [f.affirmed_at for f in rows
                 if f.status in HISTORY or (f.status in ("deleted", "rejected") and same(f.value) == value)]  # fmt: skip
        if evidence.said < max(known, default=evidence.said):
            return True
        return current is not None and asked.valid_from is not None and asked.valid_from < current.valid_from

    def _corroborate(
        self, act: Act, current: Fact, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], marks: Changes
    ) -> Outcome:
        if set(evidence.ids) <= set(current.cited):
            return Outcome("fact", "duplicate", current.id, current.revision, reason="these entries stand behind it already")
        floor = max((f.valid_to for f in rows if f.status in ("superseded", "ended") and f.valid_to is not None), default=None)
        start = evidence.first if asked.valid_from is None else asked.valid_from
        start = min(current.valid_from, start if floor is None else max(floor, start))
        united = _united(current.cited, evidence.ids)
        settled = not asked.provisional and evidence.said >= current.affirmed_at
        after = self._next(
            act, current, sources=united, valid_from=start, affirmed_at=max(current.affirmed_at, evidence.said),
            corroboration=current.corroboration + self._count(act, united) - self._count(act, current.sources),
            status="current" if settled else current.status,
            check_by=None if settled else asked.check_by or current.check_by,
        )  # fmt: skip
        changes = [*revised("facts", current, after), *marks, *self._settle(act, rows, after, only_same=True)]
        seq = act.record("fact-corroborate", f"fact:{current.id}", changes)
        return Outcome("fact", "corroborated", after.id, after.revision, seq)

    def _past(
        self, act: Act, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], marks: Changes
    ) -> Outcome:
        """An earlier value: it goes into the history and changes nothing that holds."""
        value = same(asked.value)
        twin = next((f for f in rows if f.status in PAST and f.status != "settled"
                     and same(f.value) == value), None)  # fmt: skip
        if twin is not None:
            if twin.status in ("deleted", "rejected"):
                return self._noted(act, twin, marks, f"a person has {twin.status} it since")
            if set(evidence.ids) <= set(twin.cited):
                return Outcome("fact", "duplicate", twin.id, twin.revision, reason="it is in the history already")
            united = _united(twin.cited, evidence.ids)
            after = self._next(act, twin, sources=united,
                               corroboration=self._count(act, united))  # fmt: skip
        else:
            after = self._new(act, asked, evidence, "superseded", evidence.origin)
            later = [f.valid_from for f in rows if f.status in HISTORY and f.valid_from > after.valid_from]
            ends = [f.affirmed_at for f in rows if f.status in HISTORY]
            end = asked.valid_to if asked.valid_to is not None else min(later, default=max(ends, default=after.valid_from))
            # What is told as over says nothing about the time after it.
            after = replace(after, valid_to=max(end, after.valid_from), affirmed_at=min(after.affirmed_at, end))
        changes = revised("facts", twin, after) if twin else [created("facts", after)]
        seq = act.record("fact-past", f"fact:{after.id}", [*changes, *marks])
        return Outcome("fact", "past", after.id, after.revision, seq, "something newer is known: it changes nothing that holds")

    def _claim(
        self, act: Act, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], marks: Changes, why: str
    ) -> Outcome:
        """The agent's words: kept apart, and never over a person's."""
        current = _current(rows)
        if current is not None and same(current.value) != same(asked.value):
            why = f"{why}, and fact {current.id} says {current.value!r}"
            return self._wait(act, asked, evidence, rows, marks, "conflict", why)
        known = [f.affirmed_at for f in rows if f.status in HISTORY]
        claims = [f for f in rows if f.status == "claimed" and same(f.value) != same(asked.value)]
        if evidence.said < max([*known, *(f.affirmed_at for f in claims)], default=evidence.said):
            raise Refused("something newer is known: what only the agent said cannot go into the history")
        outdated = claims if current is None else []
        return self._wait(act, asked, evidence, rows, marks, "claimed", why, outdated)

    def _wait(
        self, act: Act, asked: Proposal, evidence: Evidence, rows: Sequence[Fact], marks: Changes, status: str,
        why: str, outdated: Iterable[Fact] = (),
    ) -> Outcome:  # fmt: skip
        """Park it until a person decides; the same again is kept with it and gains nothing."""
        value, current = same(asked.value), _current(rows)
        if current is not None and same(current.value) == value:
            return self._noted(act, current, marks, f"fact {current.id} says so already, on better word")
        refused = next((f for f in rows if f.status in ("rejected", "deleted") and same(f.value) == value
                        and (not human(evidence.origin) or evidence.said < f.affirmed_at)), None)  # fmt: skip
        if refused is not None:
            return self._noted(act, refused, marks, f"a person has {refused.status} it")
        twin = next((f for f in rows if f.status == status and same(f.value) == value), None)
        if twin is not None:
            if set(evidence.ids) <= set(twin.cited):
                return Outcome("fact", "duplicate", twin.id, twin.revision, reason="these entries stand behind it already")
            united = _united(twin.cited, evidence.ids)
            fact = self._next(
                act, twin, sources=united, origin=lowest([twin.origin, evidence.origin]),
                affirmed_at=max(twin.affirmed_at, evidence.said),
                corroboration=self._count(act, united),
            )  # fmt: skip
            changes = revised("facts", twin, fact)
        else:
            fact = self._new(act, asked, evidence, status, evidence.origin)
            fact = replace(fact, rival=current.id if current else None, why=why)
            changes = [created("facts", fact)]
        for old in outdated:
            changes += revised("facts", old, self._next(act, old, status="settled", superseded_by=fact.id,
                                                        valid_to=max(evidence.said, old.valid_from)))  # fmt: skip
        op = {"conflict": "fact-conflict", "claimed": "fact-claim", "quarantined": "fact-quarantine"}.get(status, "fact-park")
        seq = act.record(op, f"fact:{fact.id}", [*changes, *marks], note={"why": why})
        return Outcome("fact", status, fact.id, fact.revision, seq, why)

    def _noted(self, act: Act, fact: Fact, marks: Changes, why: str) -> Outcome:
        """Nothing changes but that the diary entries were looked at."""
        seq = act.record("fact-known", f"fact:{fact.id}", marks) if marks else None
        return Outcome("fact", "duplicate", fact.id, fact.revision, seq, why)

    # rows

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
        """What waited in the slot and a person's word has now answered: claims, and conflicts that say the same."""
        changes: Changes = []
        for row in rows:
            alike = same(row.value) == same(fact.value)
            if row.id != fact.id and row.status in WAITING and (alike or (row.status == "claimed" and not only_same)):
                after = self._next(act, row, status="settled", superseded_by=fact.id,
                                   valid_to=max(row.valid_from, fact.affirmed_at))  # fmt: skip
                changes += revised("facts", row, after)
        return changes


ANY = "*"
"""The value of a withdrawal that names none."""
NOTHING = "(nothing)"
"""What a withdrawal leaves in the history where no value was known."""


def authority(fact: Fact) -> int:
    """On whose word a fact stands: a person's who approved it, or its origin's."""
    return HUMAN if fact.approved else RANK[fact.origin]


def _current(rows: Iterable[Fact]) -> Fact | None:
    return next((fact for fact in rows if fact.status in CURRENT), None)


def _asked(fact: Fact) -> Proposal:
    return Proposal(fact.category, fact.key, fact.slot, fact.value, fact.context)


def _united(old: Iterable[int], new: Iterable[int]) -> str:
    return canonical(sorted({*old, *new}))


def _not_ahead(at: int | None, now: int) -> None:
    if at is not None and at > now:
        raise BadInput(f"{iso(at)} lies ahead: note it in the diary as a plan, and extract it when it has come")


def _seal(fact: Fact, stands: Fact | None) -> str:
    """What a person sees of a row that waits, and of what it would replace; and so approves."""
    rival = [stands.id, stands.value] if stands else None
    return seal(id=fact.id, category=fact.category, key=fact.key, value=fact.value, origin=fact.origin,
                context=fact.context, sources=fact.sources, replaces=rival)  # fmt: skip


def _possible(fact: Fact) -> str:
    """What can be done with a fact in its state."""
    if fact.status in CURRENT:
        confirm = ["confirm"] if fact.status == "provisional" else []
        return ", ".join([*confirm, "edit", "unlock" if fact.locked else "lock", "delete"])
    return {"conflict": "resolve, delete", "deleted": "undo of the entry that deleted it"}.get(
        fact.status, "approve, reject, delete" if fact.status in WAITING else "delete"
    )
