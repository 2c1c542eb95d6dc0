"""Facts about the user: reading them, and what a person can do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mnemic.clock import iso
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.knowledge.facet import Act, chosen, revised, same, slotted
from mnemic.knowledge.origin import approve, must_be_human, seal
from mnemic.knowledge.slots import HISTORY, VALUE_CHARS, Changes, Known, Slots, asked_of, current_of, not_ahead
from mnemic.models.event import Origin
from mnemic.models.semantic import CATEGORIES, CURRENT, FACT_STATUSES, WAITING, Fact

Rows = list[dict[str, Any]]
TOP = ("locked", "corroboration", "affirmed_at")
"""What makes a fact stand first in the profile."""


class Facts(Slots):
    """The facts of a namespace."""

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
            by = TOP if "status" in latest else ()  # as the index has it, or SQLite walks the namespace by id
            rows = self._store.select(self._ns, "facts", latest, by=by)
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
        """A fact with all its revisions, its sources, and what contradicts it. A use of it. Raises NotFound."""
        page = self._page(number, as_of)
        self.used(f"facts/{number}", "opened")
        return page

    def _page(self, number: int, as_of: int | None) -> dict[str, Any]:
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
            stands = current_of(Fact(**other) for other in self._store.select(self._ns, "facts", where))
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
            current = current_of(rows)
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
                not_ahead(valid_from, act.now)
                changed = replace(changed, valid_from=valid_from)
            if check_by is not None:
                changed = replace(changed, check_by=check_by, status="provisional")
            if changed == fact:
                raise Refused(f"fact {number} says so already: give a value, --category, --valid-from or --check-by")
            after = self._next(act, changed)
            changes = revised("facts", fact, after)
            changes += self._settle(act, self._slot(act, asked_of(after)), after)
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
            other = current_of(self._slot(act, asked_of(fact)))
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
        rows = self._slot(act, asked_of(fact))
        current = current_of(rows)
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
