"""Concerns: what the user has open. A mention of one hangs under it; nothing closes it but who may.

A concern that rests on the agent's words alone is `claimed`, one that rests on what was read is `quarantined`;
a person approves either. A low voice can neither close nor pause what a person has open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.clock import iso
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.knowledge.diary import Diary, Evidence
from mnemic.knowledge.facet import Act, Facet, chosen, created, revised, same
from mnemic.knowledge.origin import approve, external, human, lowest, must_be_human, seal
from mnemic.ledger import canonical
from mnemic.ledger.served import images
from mnemic.models.event import Change, Origin
from mnemic.models.semantic import CONCERN_KINDS, CONCERN_STATUSES, HELD, Concern, Outcome

BACKGROUND_CHARS = 2_000
Changes = list[Change]
Known = list[Concern]
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Matter:
    """What an extraction says about a concern."""

    action: str
    """new, mention or status."""
    title: str = ""
    background: str = ""
    kind: str = "other"
    concern: int | None = None
    status: str = "ongoing"
    context: str = ""


class Concerns(Facet):
    """The concerns of a namespace."""

    def __init__(self, diary: Diary, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._diary = diary

    # reading

    def list(
        self, *, status: str | None = None, kind: str | None = None, context: str | None = None,
        everything: bool = False, as_of: int | None = None, limit: int = 10_000,
    ) -> Rows:  # fmt: skip
        """Concerns by id, each with the number of its mentions; with `everything` mentions and tombstones as well."""
        if status is not None:
            chosen(status, (*CONCERN_STATUSES, *HELD, "rejected", "deleted"), "status")
        if kind is not None:
            chosen(kind, CONCERN_KINDS, "kind")
        known = self._known({}, as_of)
        mentions: dict[int | None, int] = {}
        for one in known:
            if one.status not in ("deleted", "rejected"):
                mentions[one.parent] = mentions.get(one.parent, 0) + 1
        found = [
            one for one in known
            if (status is None or one.status == status) and (kind is None or one.kind == kind)
            and (context is None or one.context == context)
            and (everything or status is not None or one.status not in ("deleted", "rejected"))
            and (everything or one.parent is None)
        ]  # fmt: skip
        return [{**self._shown(one), "mentions": mentions.get(one.id, 0)} for one in found[:limit]]

    def _known(self, where: dict[str, Any], as_of: int | None) -> Known:
        if as_of is None:
            rows = self._store.select(self._ns, "concerns", {**where, "retired_at": None})
        else:
            rows = [
                row for row in self._store.select(self._ns, "concerns", where)
                if row["recorded_at"] <= as_of and (row["retired_at"] is None or row["retired_at"] > as_of)
            ]  # fmt: skip
        return sorted((Concern(**row) for row in rows), key=lambda one: one.id)

    def top(self, limit: int, *, context: str | None = None, as_of: int | None = None) -> Known:
        """The ongoing concerns, the one that was last spoken of first."""
        if as_of is None and context is None:
            where = {"retired_at": None, "status": "ongoing", "parent": None}
            rows = self._store.select(self._ns, "concerns", where, limit=limit, newest=True, by=("affirmed_at",))
            return [Concern(**row) for row in rows]
        found = [one for one in self._known({"status": "ongoing", "parent": None}, as_of)
                 if context is None or one.context in ("", context)]  # fmt: skip
        return sorted(found, key=lambda one: (one.affirmed_at, one.id), reverse=True)[:limit]

    def intact(self, matters: Sequence[Concern]) -> Sequence[bool]:
        """Of each concern that stands now, whether it is what the ledger said of it; a mention's entry revises it too."""
        last = self._store.last_events(self._ns, [f"concern:{one.id}" for one in matters])

        def told(one: Concern, number: int) -> bool:
            name, key = f"concern:{number}", (one.id, one.revision)
            return any(Concern(**image) == one for image in images(self._store, self._ns, name, "concerns", key, last.get(name)))

        def mentioned(one: Concern) -> bool:
            below = self._store.select(self._ns, "concerns", {"retired_at": None, "parent": one.id})
            return any(told(one, int(row["id"])) for row in reversed(below))

        return tuple(told(one, one.id) or mentioned(one) for one in matters)

    def show(self, number: int, *, as_of: int | None = None) -> dict[str, Any]:
        """A concern with its revisions, mentions and sources. A use of it. Raises NotFound."""
        page = self._page(number, as_of)
        self.used(f"concerns/{number}", "opened")
        return page

    def _page(self, number: int, as_of: int | None) -> dict[str, Any]:
        with self._store.reading():
            revisions = [Concern(**row) for row in self._store.select(self._ns, "concerns", {"id": number})]
            if as_of is not None:
                revisions = [one for one in revisions if one.recorded_at <= as_of]
            if not revisions:
                raise NotFound(f"there is no concern {number}: see `mnemic concern list`")
            cited = [self._store.row(self._ns, "diary", (source,)) for source in revisions[-1].cited]
            events = self._store.events(self._ns, object=f"concern:{number}", limit=100)
            return {
                **self._shown(revisions[-1]),
                "revisions": [one.json() for one in revisions],
                "mentions": [self._shown(one) for one in self._known({"parent": number}, as_of)],
                "evidence": [{"id": e["id"], "content": e["content"], "origin": e["origin"]} for e in cited if e],
                "history": [{"seq": event.seq, "at": iso(event.at), "op": event.op, "actor": event.actor}
                            for event in events],
            }  # fmt: skip

    def _shown(self, one: Concern) -> dict[str, Any]:
        row = one.json()
        if one.status in HELD:
            row["seal"] = _seal(one)
        return row

    # a person's acts

    def status(self, number: int, status: str, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """Set a concern's status. Raises Refused for one that waits, is out, or is so already."""
        must_be_human(channel, "set a concern's status directly")
        chosen(status, CONCERN_STATUSES, "status")
        with self._acting(channel) as act:
            one = self._held(act, number, CONCERN_STATUSES, "given a status")
            if one.status == status:
                raise Refused(f"concern {number} is {status} already: possible are {_possible(one)}")
            return self._revise(act, one, "concern-status", reason, **_set(status, act.now))

    def delete(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """Take a concern and its mentions out; tombstones stay. Raises Refused for one that is out already."""
        must_be_human(channel, "delete a concern")
        with self._acting(channel) as act:
            one = self._held(act, number, (*CONCERN_STATUSES, *HELD, "rejected"), "deleted")
            gone = [one, *self._below(act, number)]
            changes = [
                change for each in gone if each.status != "deleted"
                for change in revised("concerns", each, self._next(act, each, status="deleted", affirmed_at=act.now))
            ]  # fmt: skip
            seq = act.record("concern-delete", f"concern:{number}", changes, reason, {"mentions": len(gone) - 1})
            return {**self._next(act, one, status="deleted").json(), "seq": seq}

    def approve(
        self, number: int, *, seen: str | None = None, reason: str = "", channel: Origin = "user"
    ) -> dict[str, Any]:
        """A person makes what waited a concern; its origin stays what it was. `seen` is the seal that was shown."""
        must_be_human(channel, "approve a concern")
        with self._acting(channel) as act:
            one = self._held(act, number, HELD, "approved")
            bound = approve(channel, _seal(one), seen)
            return self._revise(act, one, "concern-approve", reason, {"seal": bound}, status="ongoing",
                                approved=bound, approved_by=act.actor, why="")  # fmt: skip

    def reject(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """A person turns down what waited."""
        must_be_human(channel, "reject a concern")
        with self._acting(channel) as act:
            one = self._held(act, number, HELD, "rejected")
            return self._revise(act, one, "concern-reject", reason, status="rejected")

    def _revise(
        self, act: Act, one: Concern, op: str, reason: str, note: dict[str, Any] | None = None, **changes: Any
    ) -> dict[str, Any]:
        after = self._next(act, one, **changes)
        seq = act.record(op, f"concern:{one.id}", revised("concerns", one, after), reason, note)
        return {**after.json(), "seq": seq}

    # what an extraction proposes

    def matter(
        self, action: str, *, title: str = "", background: str = "", kind: str = "other", concern: int | None = None,
        status: str = "ongoing", context: str = "",
    ) -> Matter:  # fmt: skip
        """A checked proposal. Raises BadInput."""
        chosen(action, ("new", "mention", "status"), "action")
        line = self._line(title, "the title")
        if action != "status" and not same(line):
            raise BadInput("the title is empty: say what the concern is")
        if action != "new" and concern is None:
            raise BadInput(f"{action} needs the concern_id that it is about")
        return Matter(
            action, line, self._line(background, "the background", BACKGROUND_CHARS),
            chosen(kind, CONCERN_KINDS, "kind"), concern, chosen(status, CONCERN_STATUSES, "status"),
            self._line(context, "context"),
        )  # fmt: skip

    def propose(self, act: Act, asked: Matter, evidence: Evidence, run: int) -> Outcome:
        """Do what a proposal asks as far as its evidence allows, as one entry. Raises Refused, NotFound."""
        marks = self._diary.marks(evidence, run, act.now)
        if asked.action == "status":
            return self._set_status(act, asked, evidence, marks)
        said = all(evidence.speaks(act.origin, text) for text in (asked.title, asked.background) if text)
        if human(evidence.origin) and not said:
            evidence = replace(evidence, origin=lowest([evidence.origin, "agent"]))
        parent = None if asked.action == "new" else self._top(act, asked.concern or 0)
        twin = self._twin(act, asked) if asked.action == "new" else None
        # A person's own words open it anew where so far only a lower voice had: nothing of that is taken over.
        answered = twin is not None and human(evidence.origin) and twin.status in (*HELD, "rejected")
        if twin is not None and not answered:
            return self._again(act, twin, evidence, marks)
        status, why = asked.status if asked.action == "new" else "ongoing", ""
        if external(evidence.origin):
            status, why = "quarantined", f"it rests on what came from {evidence.origin!r}: a person must approve it"
        elif not human(evidence.origin):
            status, why = "claimed", "only the agent said so"
        one = Concern(
            id=act.tx.allocate("concerns"), revision=1, parent=parent.id if parent else None,
            kind=asked.kind if parent is None or asked.kind != "other" else parent.kind, title=asked.title,
            slot=same(asked.title), background=asked.background, status=status, origin=evidence.origin,
            context=asked.context if parent is None else parent.context,
            corroboration=self._diary.corroboration(act.tx, evidence.ids), sources=canonical(sorted(evidence.ids)),
            valid_from=evidence.first, valid_to=evidence.said if status == "concluded" else None,
            affirmed_at=evidence.said, recorded_at=act.now, retired_at=None, approved=None, approved_by=None, why=why,
        )  # fmt: skip
        changes = [created("concerns", one), *self._spoken_of(act, parent, one), *marks]
        if twin is not None and twin.status in HELD:
            changes += revised("concerns", twin, self._next(act, twin, status="rejected", why=f"concern {one.id} says it"))
        seq = act.record(f"concern-{asked.action}", f"concern:{one.id}", changes, note={"why": why} if why else None)
        outcome = status if status in HELD else {"new": "stored", "mention": "mention"}[asked.action]
        return Outcome("concern", outcome, one.id, 1, seq, why or None)

    def _spoken_of(self, act: Act, parent: Concern | None, mention: Concern) -> Changes:
        """A mention moves its concern up in the profile, if it has the authority to. Either way it stands on it."""
        if parent is None:
            return []
        said = parent.affirmed_at if mention.status in HELD else max(parent.affirmed_at, mention.affirmed_at)
        return revised("concerns", parent, self._next(act, parent, affirmed_at=said))

    def _twin(self, act: Act, asked: Matter) -> Concern | None:
        """A concern of the same title that is open, waits, or was turned down."""
        where = {"retired_at": None, "slot": same(asked.title), "context": asked.context}
        rows = [Concern(**row) for row in act.tx.select("concerns", where)]
        over = ("deleted", "concluded")
        return next((one for one in reversed(rows) if one.parent is None and one.status not in over), None)

    def _again(self, act: Act, one: Concern, evidence: Evidence, marks: Changes) -> Outcome:
        """The same concern from another entry: an equal voice corroborates, a lower one adds nothing."""
        waits = one.status in HELD or one.status == "rejected"
        if set(evidence.ids) <= set(one.cited):
            return Outcome("concern", "duplicate", one.id, one.revision, reason="these entries stand behind it already")
        if one.status == "rejected" or (not waits and not human(evidence.origin)):
            seq = act.record("concern-known", f"concern:{one.id}", marks) if marks else None
            why = "a person has turned it down" if waits else "it is open already, on better word"
            return Outcome("concern", "duplicate", one.id, one.revision, seq, why)
        cited = sorted({*one.cited, *evidence.ids})
        after = self._next(
            act, one, sources=canonical(cited), corroboration=self._diary.corroboration(act.tx, cited),
            origin=lowest([one.origin, evidence.origin]) if waits else one.origin,
            affirmed_at=max(one.affirmed_at, evidence.said),
        )  # fmt: skip
        seq = act.record("concern-corroborate", f"concern:{one.id}", [*revised("concerns", one, after), *marks])
        return Outcome("concern", "corroborated", one.id, after.revision, seq)

    def _set_status(self, act: Act, asked: Matter, evidence: Evidence, marks: Changes) -> Outcome:
        one = self._held(act, asked.concern or 0, CONCERN_STATUSES, "given a status")
        if not human(evidence.origin) and (human(one.origin) or one.approved):
            raise Refused(f"concern {one.id} is a person's, and this rests on {evidence.origin!r}: it cannot make it"
                          f" {asked.status}")  # fmt: skip
        if not evidence.speaks(act.origin, one.title):
            raise Refused(f"the cited entries do not speak of {one.title!r}: cite those that say it")
        if one.status == asked.status:
            return Outcome("concern", "duplicate", one.id, one.revision, reason=f"it is {one.status} already")
        if evidence.said < one.affirmed_at:
            raise Refused(f"concern {one.id} was spoken of later, on {iso(one.affirmed_at)}: its status stays {one.status}")
        cited = sorted({*one.cited, *evidence.ids})
        after = self._next(act, one, **_set(asked.status, evidence.said), sources=canonical(cited))
        changes = [*revised("concerns", one, after), *marks]
        seq = act.record("concern-status", f"concern:{one.id}", changes)
        return Outcome("concern", "status", one.id, after.revision, seq)

    # rows

    def _held(self, act: Act, number: int, statuses: Sequence[str], done: str) -> Concern:
        rows = act.tx.select("concerns", {"id": number, "retired_at": None})
        if not rows:
            raise NotFound(f"there is no concern {number}: see `mnemic concern list`")
        one = Concern(**rows[0])
        if one.status not in statuses:
            raise Refused(f"concern {number} is {one.status} and cannot be {done}: possible are {_possible(one)}")
        return one

    def _top(self, act: Act, number: int) -> Concern:
        """The concern that a mention hangs under: the named one, or the one above it."""
        one = self._held(act, number, CONCERN_STATUSES, "mentioned")
        return one if one.parent is None else self._held(act, one.parent, CONCERN_STATUSES, "mentioned")

    def _below(self, act: Act, number: int) -> Iterable[Concern]:
        for row in act.tx.select("concerns", {"parent": number, "retired_at": None}):
            yield Concern(**row)

    def _next(self, act: Act, one: Concern, **changes: Any) -> Concern:
        return replace(one, revision=one.revision + 1, recorded_at=act.now, retired_at=None, **changes)


def _set(status: str, at: int) -> dict[str, Any]:
    return {"status": status, "affirmed_at": at, "valid_to": at if status == "concluded" else None}


def _seal(one: Concern) -> str:
    return seal(id=one.id, kind=one.kind, title=one.title, background=one.background, origin=one.origin,
                context=one.context, sources=one.sources)  # fmt: skip


def _possible(one: Concern) -> str:
    if one.status in HELD:
        return "approve, reject, delete"
    if one.status in ("deleted", "rejected"):
        return "undo of the entry that made it so"
    return ", ".join([*(f"status {name}" for name in CONCERN_STATUSES if name != one.status), "delete"])
