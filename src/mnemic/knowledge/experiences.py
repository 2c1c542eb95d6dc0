"""Experiences: earned by use, recalled by situation, revised when they fail, and every step of it on the record.

Each verb that changes anything is one entry of the ledger, in the transaction that changes the rows. `channel` says
who is speaking and is set by the surface: an agent may hand in, report, revise, replay and consolidate; what decides
over others (add, promote, demote, pin, archive, release, roll back, delete) is a person's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from mnemic.clock import Clock, iso
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.knowledge import experience_input as given
from mnemic.knowledge import origin as origins
from mnemic.knowledge import states, trust
from mnemic.knowledge.experience_edit import SEALED, Edit, approved, current, meant, named, sealed, shown
from mnemic.knowledge.experience_input import Cleaner, Lesson, lines
from mnemic.knowledge.experience_pool import Library, fit, identity
from mnemic.knowledge.experience_recall import ask, framed
from mnemic.knowledge.facet import Facet
from mnemic.ledger import Ledger, canonical
from mnemic.ledger.chain import changes_of
from mnemic.ledger.record import shown as shown_event
from mnemic.ledger.served import images
from mnemic.models.event import Change, Draft, Event, Origin, Verdict
from mnemic.models.experience import (
    Attribution,
    BatchReceipt,
    Experience,
    ExperienceAnswer,
    ExperienceReceipt,
    ExperienceStatus,
    experience,
)
from mnemic.store import Store

R = TypeVar("R", bound=ExperienceReceipt | BatchReceipt)
# Named here because inside the class `list` is a verb.
Line = list[Experience]
Receipts = list[ExperienceReceipt]
Rows = list[dict[str, Any]]
Taken = list[tuple[str, frozenset[str]]]
KNOWN: tuple[ExperienceStatus, ...] = ("candidate", "live", "challenged", "archived", "cold")
"""Where a lesson is looked for before it is taken for new."""
SYSTEM_FAMILY = "extraction-feedback"
NEW = "it says what its sources do not: it must prove itself"
FULL = "it counts, but its family is full of pinned experiences: unpin or archive one first"


class Experiences(Facet):
    """The experiences of one namespace. May be shared between threads."""

    def __init__(
        self, store: Store, ledger: Ledger, clock: Clock, namespace: str, rules: trust.Rules = trust.RULES, *,
        redact: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(store, ledger, clock, namespace, redact=redact)
        self._rules = rules
        self._library = Library(store, namespace)

    # handing in

    def refine(self, document: Mapping[str, Any], *, channel: Origin = "agent") -> ExperienceReceipt:
        """Hand in what a piece of work taught; it becomes a candidate. Raises BadInput, Refused for a raised origin.

        Gates: evidence, a reason for a negative one, enough work behind it, and no near-duplicate: one that is
        there already is corroborated instead, which counts distinct evidence and never trust.
        """
        document, cleaner = given.checked(document, given.REFINED, "the experience"), self._cleaner()
        item = given.lesson(document, cleaner)
        source = origins.lowest([origins.lowered(channel, item.origin), *self._read_from(item.sources)])
        work = given.complexity(document)
        if why := self._gate(item, work):
            return ExperienceReceipt(status="rejected", reason=why, redacted=cleaner.redacted)

        def act(edit: Edit) -> tuple[Draft | None, ExperienceReceipt]:
            if twin := self._twin(edit, item):
                return self._corroborated(edit, twin, item.sources, channel, cleaner)
            made = edit.put(self._candidate(item, source, edit.now, spent=work.tokens // 10))
            draft = self._draft("refine", made, channel, origin=source, note={"redacted": cleaner.redacted})
            return draft, self._receipt(edit, draft.op, made, redacted=cleaner.redacted)

        return self._write(channel, act)

    def ingest(self, document: Mapping[str, Any], *, channel: Origin = "agent") -> BatchReceipt:
        """Hand in what was read somewhere: candidates that only a person can make live. Raises BadInput."""
        document = given.checked(
            document, ("source_type", "source_ref", "experiences", "context", "note"), "the batch"
        )
        cleaner = self._cleaner()
        kind, reference = document.get("source_type"), cleaner.text(document.get("source_ref"), "source_ref")
        if not isinstance(kind, str) or kind not in trust.PRIORS:
            raise BadInput(f"source_type {kind!r} is unknown: {', '.join(trust.PRIORS)}")
        if not reference:
            raise BadInput("source_ref must say where it was read: a title, a path, an address")
        given_items = document.get("experiences")
        if not isinstance(given_items, list) or not given_items:
            raise BadInput("experiences must be a list with at least one experience")
        context = cleaner.text(document.get("context"), "context")
        note = cleaner.text(document.get("note"), "note")
        items = []
        for place, each in enumerate(given_items, 1):
            known = given.checked(each, given.LESSON, f"experience {place}")
            item = given.lesson(known, cleaner, f"experience {place}")
            origins.lowered(channel, item.origin)
            items.append(replace(item, sources=(f"{kind}:{reference}",), context=item.context or context))

        def act(edit: Edit) -> tuple[Draft | None, BatchReceipt]:
            receipts = self._batch(edit, items, trust.PRIORS[kind], cleaner)
            if not any(receipt.op for receipt in receipts):
                return None, BatchReceipt(status="rejected", seq=None, receipts=tuple(receipts))
            about = {"source": f"{kind}:{reference}", "note": note, "redacted": cleaner.redacted}
            number = edit.tx.allocate("ingests")
            draft = Draft("ingest", f"ingest:{number}", origins.actor(channel), "import", note, note=about)
            return draft, BatchReceipt(status="stored", seq=None, receipts=tuple(receipts))

        return self._write(channel, act)

    def add(self, document: Mapping[str, Any], *, reason: str = "", channel: Origin = "user") -> ExperienceReceipt:
        """A person's own experience: live at once. Raises BadInput, Refused for an agent."""
        document, cleaner = given.checked(document, given.ADDED, "the experience"), self._cleaner()
        item = given.lesson(document, cleaner)
        origins.must_be_human(channel, "add an experience of their own (an agent refines)")
        source = origins.lowered(channel, item.origin)
        if item.kind == "negative" and not item.failure_reason:
            raise BadInput("a negative experience needs its failure_reason")
        reason = cleaner.text(reason or document.get("reason"), "reason")

        def act(edit: Edit) -> tuple[Draft | None, ExperienceReceipt]:
            fresh = replace(self._candidate(item, source, edit.now), author="human", everywhere=item.everywhere)
            made = edit.enter_or_refuse(self._vouched(edit.put(fresh), None, channel))
            draft = self._draft("add", made, channel, reason, origin=source, note={"redacted": cleaner.redacted})
            return draft, self._receipt(edit, draft.op, made, redacted=cleaner.redacted)

        return self._write(channel, act)

    # using

    def recall(
        self, situation: str, *, k: int | None = None, deep: bool = False, context: str = "",
        max_tokens: int | None = None, frame: bool = False,
    ) -> ExperienceAnswer:  # fmt: skip
        """The experiences that fit a situation, best first, within a budget of tokens; showing one is not using it.

        `deep` also asks the archive. Unproven candidates stand apart as trials, never those that were read somewhere.
        Raises BadInput for a `k` below 1.
        """
        if k is not None and k < 1:
            raise BadInput(f"k {k} is no number of experiences: give 1 or more")
        found = ask(
            self._library, self._rules, self._now(), situation[: given.MOST_CHARS], self._intact, k=k or self._rules.recall_k,
            deep=deep, context=context, max_tokens=max_tokens or self._rules.budget_tokens,
        )  # fmt: skip
        return replace(found, frame=framed(found, self._ledger.ids.token(8))) if frame else found

    def report(
        self, number: str, outcome: str, *, revision: int | None = None, attribution: str | None = None,
        evidence: str | Mapping[str, Any] | None = None, tokens_used: int = 0, tokens_saved: int = 0,
        dedupe_key: str | None = None, channel: Origin = "agent",
    ) -> ExperienceReceipt:  # fmt: skip
        """Say how following an experience went: `success` or `fail`. The same `dedupe_key` counts once.

        Raises BadInput, NotFound, and Refused for a deleted experience and for a channel that only reads.
        """
        if outcome not in ("success", "fail"):
            raise BadInput(f"outcome {outcome!r} must be 'success' or 'fail'")
        claimed = _attribution(attribution)
        if origins.external(channel):
            raise Refused(f"what came from {channel!r} cannot report how an experience went")
        counts = {"tokens_used": tokens_used, "tokens_saved": tokens_saved}
        used, saved = given.count(counts, "tokens_used"), given.count(counts, "tokens_saved")
        pointers = given.evidence(evidence, self._cleaner())
        said = "\n".join(pointer.removeprefix("note:") for pointer in pointers)

        def act(edit: Edit) -> tuple[Draft | None, ExperienceReceipt]:
            line = edit.line(number)
            target = meant(line, revision, "") if revision is not None else current(line)
            if self._reported(edit, number, revision, dedupe_key):
                why = f"the report {dedupe_key!r} is counted already"
                return None, self._receipt(edit, "", target, status="duplicate", reason=why)
            judged = trust.judge(outcome == "success", claimed, said, target.status == "candidate")
            step = self._outcome(target, outcome == "success", judged, channel)
            item = self._counted(target, judged, edit.now, used, saved)
            held = step.held
            if step.to == "live" != target.status:
                room = edit.room(item)
                held = FULL if room is None else held
                item = edit.put(item) if room is None else edit.enter(_by_agent(item), room)
            elif step.to != target.status:
                item = edit.move(item, step.to, why=self._why(step.to, item))
            else:
                item = edit.put(item)
            op = "use" if held else step.op
            place = edit.tx.allocate("reports")
            row = {
                "experience": target.id, "number": place, "revision": target.revision,
                "outcome": outcome, "attribution": judged.attribution, "counted": judged.counted,
                "evidence": canonical(pointers), "note": judged.note, "tokens_used": used, "tokens_saved": saved,
                "dedupe_key": dedupe_key, "actor": origins.actor(channel), "at": edit.now,
            }  # fmt: skip
            draft = self._draft(op, item, channel, note={"outcome": outcome, "counted": judged.counted})
            draft = replace(draft, changes=(Change("reports", (target.id, place), None, row),))
            return draft, self._receipt(edit, op, item, counted=judged.counted, attribution=judged.attribution,
                                        reason=held or judged.note or None)  # fmt: skip

        receipt = self._write(channel, act)
        if receipt.status != "duplicate":
            self.used(f"experiences/{number}", "reported")
        return receipt

    # revising

    def revise(
        self, number: str, *, reason: str, channel: Origin = "agent", seen: str | None = None, **texts: Any
    ) -> ExperienceReceipt:
        """Put another text in place of a challenged one: a new revision, a candidate that must prove itself.

        A person's own change of a live experience that a person approved is `evolve`. Raises BadInput, Refused.
        """
        cleaner = self._cleaner()
        why = cleaner.text(reason, "reason")
        if not why:
            raise BadInput("a revision needs its reason: what was wrong, and what this changes")
        made = _revised(texts, cleaner)

        def act(edit: Edit) -> tuple[Draft | None, ExperienceReceipt]:
            line = edit.line(number)
            active = current(line)
            person = origins.human(channel)
            verb = "evolve" if active.status == "live" and person else "revise"
            step = states.step(active.status, verb, self._facts(active, channel))
            source = origins.lowest([active.origin, channel])
            fresh = replace(active, revision=line[-1].revision + 1, origin=source, parents=canonical([named(active)]),
                            author="human" if person else "agent", created_at=edit.now, changed_at=edit.now)  # fmt: skip
            if verb == "evolve":
                origins.approve(channel, sealed(active), seen)
                for name in ("situation", "limits"):
                    if name in made:
                        made[name] = _united(getattr(active, name), made[name])
                item = self._vouched(replace(fresh, **made), None, channel)
                item = edit.enter_or_refuse(edit.put(item))
            else:
                item = edit.put(replace(_unproven(fresh), **made))
            draft = self._draft(step.op, item, channel, why, note={"redacted": cleaner.redacted})
            return draft, self._receipt(edit, step.op, item, redacted=cleaner.redacted)

        return self._write(channel, act)

    def evolve(self, number: str, *, reason: str, channel: Origin = "user", **texts: Any) -> ExperienceReceipt:
        """A person's change of a live experience that a person approved: the next revision is live at once."""
        origins.must_be_human(channel, "evolve an experience")
        return self.revise(number, reason=reason, channel=channel, **texts)

    def verify(
        self, number: str | None = None, *, revision: int | None = None, samples: object = None, channel: Origin = "agent"
    ) -> Verdict | ExperienceReceipt:  # fmt: skip
        """Without samples, whether the ledger is whole. With an id and samples, replay them against a candidate.

        A sample is {"situation", "expected": "success" or "fail"}; from 80 % foretold it passes. Raises BadInput, Refused.
        """
        if samples is None:
            return self._ledger.verify(self._ns)
        if number is None:
            raise BadInput("samples are replayed against one experience: name its id")
        pairs = given.samples(samples)

        def act(edit: Edit) -> tuple[Draft | None, ExperienceReceipt]:
            target = meant(edit.line(number), revision, "shadow-pass")
            agreement = trust.replayed(fit(target), pairs, self._rules)
            passed = bool(pairs) and agreement >= self._rules.shadow_pass
            step = states.step(target.status, "shadow-pass" if passed else "shadow-fail", self._facts(target, channel))
            item, held = target, step.held
            if passed:
                item = edit.put(replace(target, verified_at=edit.now))
                room = edit.room(item) if not held else None
                held = held or (FULL if room is None else "")
                item = item if room is None else edit.enter(_by_agent(item), room)
            note = {"agreement": round(agreement, 6), "samples": len(pairs)}
            reason = held or (None if passed else f"{agreement:.0%} foretold, {self._rules.shadow_pass:.0%} are needed")
            draft = self._draft(step.op, item, channel, note=note)
            return draft, self._receipt(edit, step.op, item, reason=reason, agreement=agreement)

        return self._write(channel, act)

    def rollback(
        self, number: str, *, revision: int | None = None, reason: str = "", seen: str | None = None, channel: Origin = "user"
    ) -> ExperienceReceipt:  # fmt: skip
        """Put a superseded revision back, exactly as it was; what is active now is superseded. A person's act."""

        def act(edit: Edit, target: Experience) -> Experience:
            seal = origins.approve(channel, sealed(target), seen)
            for other in edit.line(number):
                if other.key != target.key and other.status in states.ACTIVE:
                    edit.move(other, "superseded")
            return edit.enter_or_refuse(edit.put(replace(target, approved_by="human", approved=seal)))

        return self._human(number, "rollback", revision, reason, channel, act)

    def consolidate(self, document: Mapping[str, Any], *, channel: Origin = "agent") -> BatchReceipt:
        """Merge experiences into one that sums up what they proved; they are archived. It bears their lowest origin.

        It is live if all of them are, and a candidate otherwise. Raises BadInput, NotFound, Refused.
        """
        if isinstance(document, Mapping) and "merges" not in document:
            document = {"merges": [document]}
        document, cleaner = given.checked(document, ("merges", "note"), "the consolidation"), self._cleaner()
        merges = document.get("merges")
        if not isinstance(merges, list) or not merges:
            raise BadInput("merges must be a list with at least one merge")
        note = cleaner.text(document.get("note"), "note")
        parsed = []
        for place, each in enumerate(merges, 1):
            merge = given.checked(each, given.MERGED, f"merge {place}")
            numbers = merge.get("source_ids")
            if not isinstance(numbers, list) or not all(isinstance(one, str) for one in numbers) or len(set(numbers)) < 2:
                raise BadInput(f"merge {place} needs at least two different source_ids")
            parsed.append((given.lesson(merge, cleaner, f"merge {place}"), list(dict.fromkeys(numbers))))

        def act(edit: Edit) -> tuple[Draft | None, BatchReceipt]:
            receipts, rows = [], []
            for item, numbers in parsed:
                made, sources, held = self._merged(edit, item, numbers, channel)
                place = edit.tx.allocate("consolidations")
                row = {"number": place, "merged": canonical([named(s) for s in sources]),
                       "produced": named(made), "note": note, "at": edit.now}  # fmt: skip
                rows.append(Change("consolidations", (place,), None, row))
                receipts.append(self._receipt(edit, "consolidate", made, reason=held or None))
            draft = Draft("consolidate", f"consolidation:{rows[0].key[0]}", origins.actor(channel), channel, note, tuple(rows))
            return draft, BatchReceipt(status="stored", seq=None, receipts=tuple(receipts))

        return self._write(channel, act)

    # a person's verbs

    def promote(
        self, number: str, *, revision: int | None = None, seen: str | None = None, reason: str = "",
        channel: Origin = "user",
    ) -> ExperienceReceipt:  # fmt: skip
        """Make a candidate live on a person's word, bound to the text as it stands, or to the seal that was `seen`."""

        def act(edit: Edit, target: Experience) -> Experience:
            return edit.enter_or_refuse(edit.put(self._vouched(target, seen, channel)))

        return self._human(number, "promote", revision, reason, channel, act)

    def demote(
        self, number: str, *, reason: str, revision: int | None = None, channel: Origin = "user"
    ) -> ExperienceReceipt:
        """Take trust away: live becomes challenged, a candidate cold. Needs a reason."""
        if not reason.strip():
            raise Refused("to demote needs a reason: give --reason")

        def act(edit: Edit, target: Experience) -> Experience:
            to = states.step(target.status, "demote", self._facts(target, channel)).to
            return edit.move(target, to, why=self._cleaner().text(reason, "reason"), approved_by="", approved="")

        return self._human(number, "demote", revision, reason, channel, act)

    def pin(self, number: str, *, revision: int | None = None, reason: str = "", channel: Origin = "user") -> ExperienceReceipt:
        """Keep it from being archived by the family's cap or by a consolidation, and its rank from sinking."""
        return self._pin(number, "pin", 1, revision, reason, channel)

    def unpin(self, number: str, *, revision: int | None = None, reason: str = "", channel: Origin = "user"
              ) -> ExperienceReceipt:  # fmt: skip
        """Take the pin off."""
        return self._pin(number, "unpin", 0, revision, reason, channel)

    def _pin(
        self, number: str, verb: str, pinned: int, revision: int | None, reason: str, channel: Origin
    ) -> ExperienceReceipt:
        def act(edit: Edit, target: Experience) -> Experience:
            return edit.put(replace(target, pinned=pinned))

        return self._human(number, verb, revision, reason, channel, act)

    def archive(self, number: str, *, revision: int | None = None, reason: str = "", channel: Origin = "user"
                ) -> ExperienceReceipt:  # fmt: skip
        """Put it away: only deep recall asks the archive. Harmless to repeat."""

        def act(edit: Edit, target: Experience) -> Experience:
            return target if target.status == "archived" else edit.move(target, "archived")

        return self._human(number, "archive", revision, reason, channel, act)

    def release(self, number: str, *, revision: int | None = None, reason: str = "", channel: Origin = "user"
                ) -> ExperienceReceipt:  # fmt: skip
        """Give a cold one another trial."""

        def act(edit: Edit, target: Experience) -> Experience:
            return edit.move(target, "candidate", why="")

        return self._human(number, "release", revision, reason, channel, act)

    def delete(self, number: str, *, reason: str = "", channel: Origin = "user") -> ExperienceReceipt:
        """Take an experience out with all its revisions; the ledger keeps what it was, and undo brings it back."""

        def act(edit: Edit, target: Experience) -> Experience:
            if target.family == SYSTEM_FAMILY:
                raise Refused(f"family {SYSTEM_FAMILY!r} is the system's own: archive what is wrong in it")
            for other in edit.line(number):
                if other.status != "deleted":
                    edit.move(other, "deleted")
            return next(item for item in edit.line(number) if item.key == target.key)

        return self._human(number, "delete", None, reason, channel, act)

    # looking

    def list(
        self, *, status: str | None = None, family: str | None = None, kind: str | None = None, context: str | None = None
    ) -> Rows:  # fmt: skip
        """Every revision that is not deleted, oldest first; narrowed by what is given. Raises BadInput."""
        if status is not None and status not in get_args(ExperienceStatus):
            raise BadInput(f"status {status!r} is unknown: {', '.join(get_args(ExperienceStatus))}")
        wanted = {"status": status, "family": family, "kind": kind, "context": context}
        rows = self._store.select(self._ns, "experiences", {k: v for k, v in wanted.items() if v is not None})
        items = sorted(map(experience, rows), key=lambda item: (item.created_at, item.key))
        now = self._now()
        return [shown(item, now) for item in items if status == "deleted" or item.status != "deleted"]

    def families(self) -> Rows:
        """The families with how many experiences of each status they hold, what was reported of them, and their mean trust."""
        found: dict[str, dict[str, Any]] = {}
        for row in self._store.select(self._ns, "experiences", {}):
            item = experience(row)
            if item.status in ("superseded", "deleted"):
                continue
            one = found.setdefault(item.family, {"family": item.family, "experiences": 0, "statuses": {}, "trust": 0.0,
                                                 "avoid": 0, "tokens_saved": 0, "reports": 0})  # fmt: skip
            one["experiences"] += 1
            one["statuses"][item.status] = one["statuses"].get(item.status, 0) + 1
            one["trust"] += trust.trust(item.alpha, item.beta)
            one["avoid"] += item.kind == "negative"
            one["tokens_saved"] += item.tokens_saved
            one["reports"] += item.verified + item.rejected
        ordered = sorted(found.values(), key=lambda one: (-one["experiences"], one["family"]))
        return [{**one, "trust": round(one["trust"] / one["experiences"], 6)} for one in ordered]

    def show(self, number: str, *, revision: int | None = None) -> dict[str, Any]:
        """One experience with its other revisions, its latest reports and its history. A use of it. Raises NotFound."""
        line = [experience(row) for row in self._store.select(self._ns, "experiences", {"id": number})]
        if not line:
            raise NotFound(f"no experience {number!r}: see `mnemic experience list`")
        item = current(line) if revision is None else meant(line, revision, "")
        now = self._now()
        reports = self._store.select(self._ns, "reports", {"experience": number}, limit=20, newest=True)
        history = self._store.events(self._ns, object=f"experience:{number}", limit=100, newest=True)[::-1]
        page = {
            **shown(item, now),
            "revisions": [shown(other, now) for other in line],
            "reports": [{**row, "at": iso(row["at"]), "evidence": json.loads(row["evidence"])} for row in reports],
            "course": list(_course(history, number)),
            "history": [{key: shown_event(e)[key] for key in ("seq", "at", "op", "actor", "reason")} for e in history],
        }
        self.used(f"experiences/{number}", "opened")
        return page

    # parts of the verbs

    def _write(self, channel: Origin, decide: Callable[[Edit], tuple[Draft | None, R]]) -> R:
        """One write: read, decide and record under the write lock, so that no count is lost between."""
        with self._acting(channel) as act:
            edit = Edit(act.tx, act.now, self._rules)
            draft, receipt = decide(edit)
            if draft is None:
                return receipt
            return replace(receipt, seq=act.enter(replace(draft, changes=(*edit.changes(), *draft.changes))))

    def _human(
        self, number: str, verb: str, revision: int | None, reason: str, channel: Origin,
        act: Callable[[Edit, Experience], Experience],
    ) -> ExperienceReceipt:  # fmt: skip
        """A person's verb on one revision; changing nothing is no entry."""
        def work(edit: Edit) -> tuple[Draft | None, ExperienceReceipt]:
            target = meant(edit.line(number), revision, verb)
            step = states.step(target.status, verb, self._facts(target, channel))
            item = act(edit, target)
            if not edit.changes():
                return None, self._receipt(edit, "", item, status="nothing", reason="it is so already")
            return self._draft(step.op, item, channel, reason), self._receipt(edit, step.op, item)

        return self._write(channel, work)

    def _intact(self, item: Experience) -> bool:
        """Whether the ledger says of a revision what it says, and that it got where it is; its counts are not looked at."""
        wanted = SEALED if item.status == "archived" else (*SEALED, "status", "approved_by", "approved")

        def told(name: str) -> bool:
            last = self._store.last_events(self._ns, [name]).get(name)
            found = images(self._store, self._ns, name, "experiences", item.key, last)
            return any(all(image[column] == getattr(item, column) for column in wanted) for image in found)

        return told(f"experience:{item.id}") or (item.parents != "[]" and any(map(told, self._merges(item))))

    def _merges(self, item: Experience) -> Iterator[str]:
        """The ledger's objects under which a revision was made by consolidation; one entry may hold several merges."""
        for row in self._store.select(self._ns, "consolidations", {"produced": named(item)}):
            for other in self._store.select(self._ns, "consolidations", {"at": row["at"]}):
                yield f"consolidation:{other['number']}"

    def _draft(
        self, op: str, item: Experience, channel: Origin, reason: str = "", *, origin: Origin | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Draft:  # fmt: skip
        about = {"revision": item.revision, **(note or {})}
        return Draft(op, f"experience:{item.id}", origins.actor(channel), origin or channel, reason, note=about)

    def _receipt(self, edit: Edit, op: str, item: Experience, **more: Any) -> ExperienceReceipt:
        return ExperienceReceipt(**{
            "status": "stored", "op": op, "id": item.id, "revision": item.revision, "state": item.status,
            "archived": tuple(named(other) for other in edit.evicted), "experience": shown(item, edit.now), **more,
        })  # fmt: skip

    def _facts(self, item: Experience, channel: Origin) -> states.Facts:
        return states.Facts(
            person=origins.human(channel), external=origins.external(item.origin), approved=approved(item),
            draft=item.revision > 1, name=f"experience {named(item)}",
        )  # fmt: skip

    def _read_from(self, sources: Iterable[str]) -> Iterator[Origin]:
        """The origins of what evidence points to, where it points into this memory."""
        for source in sources:
            kind, _, name = source.partition(":")
            if kind == "session":
                row = self._store.row(self._ns, "sessions", (name,))
                if row:
                    yield origins.checked(row["origin"])
            elif kind == "trace":
                document = self._store.document(self._ns, name)
                if document is None and (node := self._store.node(self._ns, name)) is not None:
                    document = self._store.document_by_id(self._ns, node.document)
                if document:
                    yield origins.checked(document.origin)

    def _gate(self, item: Lesson, work: given.Complexity) -> str | None:
        rules = self._rules
        if not item.sources:
            return "no evidence: point to a note, a trace_ref or a session_ref"
        if item.kind == "negative" and not item.failure_reason:
            return "a negative experience needs its failure_reason"
        enough = work.tokens >= rules.token_gate or work.steps >= rules.step_gate
        if not (enough or work.had_failure or work.human_marked):
            return (
                f"too little work behind it: {rules.token_gate} tokens, {rules.step_gate} steps, a failure on the way,"
                " or a person's mark is needed"
            )
        return None

    def _twin(self, edit: Edit, item: Lesson) -> Experience | None:
        """The experience that teaches the same, if there is one: by gist and situation, of the same kind.

        What was read somewhere counts too: said again by the agent it would else shed its origin.
        """
        words = trust.tokens("\n".join([item.gist, *lines(item.situation)]))
        with self._library.lock:
            twin = self._library.fresh().nearest(words, item.kind, KNOWN, self._rules.duplicate_overlap)
        return edit.one(twin) if twin else None

    def _corroborated(
        self, edit: Edit, twin: Experience, sources: Sequence[str], channel: Origin, cleaner: Cleaner
    ) -> tuple[Draft | None, ExperienceReceipt]:
        backed = edit.put(_backed(twin, sources))
        draft = self._draft("corroborate", backed, channel) if edit.changes() else None
        why = f"experience {named(twin)} says the same" + (" and is corroborated" if draft else ", with the same evidence")
        return draft, self._receipt(edit, draft.op if draft else "", backed, status="rejected", reason=why,
                                    corroborated=twin.id, redacted=cleaner.redacted)  # fmt: skip

    def _batch(
        self, edit: Edit, items: Sequence[Lesson], prior: tuple[int, int], cleaner: Cleaner
    ) -> Receipts:
        receipts: Receipts = []
        taken: Taken = []
        for item in items:
            if item.kind == "negative" and not item.failure_reason:
                why = "a negative experience needs its failure_reason"
                receipts.append(ExperienceReceipt(status="rejected", reason=why))
                continue
            if twin := self._twin(edit, item):
                receipts.append(self._corroborated(edit, twin, item.sources, "import", cleaner)[1])
                continue
            made = self._candidate(item, "import", edit.now, prior=prior)
            words = identity(made)
            if any(kind == item.kind and trust.overlap(words, other) >= self._rules.duplicate_overlap for kind, other in taken):
                why = "another experience of this batch says the same"
                receipts.append(ExperienceReceipt(status="rejected", reason=why))
                continue
            taken.append((item.kind, words))
            receipts.append(self._receipt(edit, "ingest", edit.put(made)))
        return receipts

    def _candidate(
        self, item: Lesson, source: Origin, now: int, *, prior: tuple[int, int] = (0, 0), spent: int = 0
    ) -> Experience:
        return Experience(
            id=self._ledger.ids.token(8), revision=1, origin=source, author="agent", status="candidate", why="",
            everywhere=0, alpha=prior[0], beta=prior[1], prior_alpha=prior[0], prior_beta=prior[1], tokens_spent=spent,
            sources=canonical(list(item.sources)), created_at=now, changed_at=now, recent_at=now, **item.content(),
        )  # fmt: skip

    def _vouched(self, item: Experience, seen: str | None, channel: Origin) -> Experience:
        """The same with a person's approval and the trust that is worth; never less than it had."""
        seal = origins.approve(channel, sealed(item), seen)
        item = replace(item, approved_by="human", approved=seal)
        floor, own = (self._rules.human_alpha, self._rules.human_beta), (item.prior_alpha, item.prior_beta)
        if trust.trust(*own) >= trust.trust(*floor):
            return item
        return replace(item, prior_alpha=floor[0], prior_beta=floor[1], alpha=item.alpha - own[0] + floor[0],
                       beta=item.beta - own[1] + floor[1])  # fmt: skip

    def _reported(self, edit: Edit, number: str, revision: int | None, key: str | None) -> bool:
        if key is None:
            return False
        # Without a revision a repeat may meet another one than the first did: it is the same report all the same.
        where: dict[str, Any] = {"experience": number, "dedupe_key": key}
        if revision is not None:
            where["revision"] = revision
        return bool(edit.tx.select("reports", where, limit=1))

    def _outcome(self, target: Experience, success: bool, judged: trust.Judged, channel: Origin) -> states.Step:
        facts = self._facts(target, channel)
        if success or target.status == "deleted":
            return states.step(target.status, "success", facts)
        if judged.counted == "beta" and target.status == "candidate":
            return states.step("candidate", "trial-fail", facts)
        window = trust.remembered(target.outcomes, False, self._rules)
        if judged.counted == "beta" and target.status == "live" and trust.pressed(window, self._rules):
            return states.step("live", "challenge", facts)
        return states.Step(target.status, "use")

    def _counted(self, item: Experience, judged: trust.Judged, now: int, used: int, saved: int) -> Experience:
        item = replace(item, tokens_spent=item.tokens_spent + used, tokens_saved=item.tokens_saved + saved)
        if judged.counted == "none":
            return item
        won = judged.counted == "alpha"
        return replace(
            item, alpha=item.alpha + won, beta=item.beta + (not won), verified=item.verified + won,
            rejected=item.rejected + (not won and item.status == "candidate"),
            recent_alpha=trust.faded(item.recent_alpha, item.recent_at, now) + won,
            recent_beta=trust.faded(item.recent_beta, item.recent_at, now) + (not won),
            recent_at=now, verified_at=now, outcomes=trust.remembered(item.outcomes, won, self._rules),
        )  # fmt: skip

    def _why(self, to: ExperienceStatus, item: Experience) -> str:
        if to == "challenged":
            return trust.pressed(item.outcomes, self._rules) or ""
        return "its trial failed"

    def _merged(
        self, edit: Edit, item: Lesson, numbers: Sequence[str], channel: Origin
    ) -> tuple[Experience, Line, str]:
        """Archive the sources and put what was made of them in place; why it is not live although they are."""
        sources: Line = []
        for number in numbers:
            line = edit.line(number)
            active = current(line)
            states.step(active.status, "merge", self._facts(active, channel))
            if active.pinned and not origins.human(channel):
                raise Refused(f"experience {named(active)} is pinned by a person: unpin it first")
            sources.append(active)
            for other in line:
                if other.status in states.ACTIVE:
                    edit.move(other, "archived")
        source = origins.lowest([origins.lowered(channel, item.origin), *(each.origin for each in sources)])
        made = replace(
            self._candidate(replace(item, context=""), source, edit.now),
            alpha=sum(s.alpha for s in sources), beta=sum(s.beta for s in sources),
            prior_alpha=sum(s.prior_alpha for s in sources), prior_beta=sum(s.prior_beta for s in sources),
            recent_alpha=sum(trust.faded(s.recent_alpha, s.recent_at, edit.now) for s in sources),
            recent_beta=sum(trust.faded(s.recent_beta, s.recent_at, edit.now) for s in sources),
            verified=sum(s.verified for s in sources), rejected=sum(s.rejected for s in sources),
            verified_at=max((s.verified_at for s in sources if s.verified_at is not None), default=None),
            tokens_spent=sum(s.tokens_spent for s in sources), tokens_saved=sum(s.tokens_saved for s in sources),
            sources=canonical(list(dict.fromkeys(p for s in sources for p in json.loads(s.sources)))),
            parents=canonical([named(s) for s in sources]),
        )  # fmt: skip
        made = edit.put(made)
        if not all(s.status == "live" for s in sources):
            return made, sources, ""
        if origins.external(source):
            return made, sources, states.HELD
        if not origins.human(channel) and _says_more(made, sources):
            return made, sources, NEW
        room = edit.room(made)
        if room is None:
            return made, sources, FULL
        return edit.enter(_by_agent(made), room), sources, ""

    def _cleaner(self) -> Cleaner:
        return Cleaner(self._redact)


def _says_more(made: Experience, sources: Line) -> bool:
    """Whether half of what a merge says stands in none of its sources: then their proof is not its own."""
    known = frozenset().union(*(
        trust.tokens("\n".join([s.gist, s.reasoning, *lines(s.situation), *lines(s.path), *lines(s.limits)])) for s in sources
    ))  # fmt: skip
    parts = (trust.tokens(text) for text in (made.gist, "\n".join(lines(made.situation)), "\n".join(lines(made.path))))
    return any(2 * len(words & known) < len(words) for words in parts)


def _course(history: Iterable[Event], number: str) -> Iterator[dict[str, Any]]:
    """How trust went: after each entry that moved it, the trust of the revision that the entry left last."""
    last: tuple[int, float, str] | None = None
    for event in history:
        for change in changes_of(event.payload) if event.payload is not None else ():
            if change.table != "experiences" or change.after is None or change.key[0] != number:
                continue
            item = experience(change.after)
            now = (item.revision, round(trust.trust(item.alpha, item.beta), 6), item.status)
            if now != last and item.status not in ("superseded", "deleted"):
                last = now
                yield {"seq": event.seq, "at": iso(event.at), "op": event.op, "revision": item.revision, "trust": now[1],
                       "status": item.status}  # fmt: skip


def _attribution(claimed: str | None) -> Attribution | None:
    if claimed is None:
        return None
    for known in trust.ATTRIBUTIONS:
        if claimed == known:
            return known
    raise BadInput(f"attribution {claimed!r} is unknown: {', '.join(trust.ATTRIBUTIONS)}")


def _by_agent(item: Experience) -> Experience:
    """The same, approved by use; a person's approval of this very text stands above that."""
    return item if approved(item) else replace(item, approved_by="agent", approved="")


def _revised(texts: Mapping[str, Any], cleaner: Cleaner) -> dict[str, Any]:
    """The fields a revision changes, cleaned. Raises BadInput."""
    given.checked(texts, given.REVISABLE, "a revision")
    made: dict[str, Any] = {}
    for name, value in texts.items():
        if value is not None:
            made[name] = cleaner.texts(value, name) if name in given.LISTS else cleaner.text(value, name)
    if not made:
        raise BadInput(f"nothing is revised: give one of {', '.join(given.REVISABLE)}")
    for name in ("gist", "situation", "path"):
        if name in made and not (lines(made[name]) if name in given.LISTS else made[name]):
            raise BadInput(f"{name} must not become empty")
    return made


def _unproven(item: Experience) -> Experience:
    """The same with nothing proved and nobody's approval."""
    return replace(
        item, status="candidate", why="", alpha=0, beta=0, prior_alpha=0, prior_beta=0, recent_alpha=0.0, recent_beta=0.0,
        recent_at=item.created_at, outcomes="", verified=0, rejected=0, verified_at=None, pinned=0, approved_by="", approved="",
    )  # fmt: skip


def _backed(item: Experience, sources: Sequence[str]) -> Experience:
    known: list[str] = json.loads(item.sources)
    return replace(item, sources=canonical(list(dict.fromkeys([*known, *sources]))))


def _united(old: str, new: str) -> str:
    both = list(dict.fromkeys([*lines(old), *lines(new)]))
    return canonical(both[0] if len(both) == 1 and not old.startswith("[") else both)
