"""Where a proposal about the user goes, by the evidence behind it.

What a person said, latest, is current; nothing that comes later to our ears but was said earlier replaces it. What
has less authority than a person's word never becomes current by itself, whatever is repeated: it waits for a person.

    a person's words    stored, or it supersedes; the same value again corroborates; parked if the fact is locked
    the agent's words   claimed; parked as a conflict where a person's fact says otherwise
    what was read       quarantined
    unsure (other)      parked
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mnemic.clock import iso
from mnemic.errors import Refused
from mnemic.knowledge.diary import Evidence
from mnemic.knowledge.facet import Act, created, revised, same
from mnemic.knowledge.origin import external, human, lowest
from mnemic.knowledge.slots import HISTORY, Changes, Proposal, Slots, current_of, united
from mnemic.models.semantic import PAST, Fact, Outcome

ANY = "*"
"""The value of a withdrawal that names none."""
NOTHING = "(nothing)"
"""What a withdrawal leaves in the history where no value was known."""


class Placing(Slots):
    """Puts proposals where they belong."""

    def propose(self, act: Act, asked: Proposal, evidence: Evidence, run: int) -> Outcome:
        """Put a proposal where its evidence allows, as one entry. Raises Refused for what has no place."""
        marks = self._diary.marks(evidence, run, act.now)
        why = ""
        if human(evidence.origin) and not evidence.speaks(act.origin, asked.value):
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
        current = current_of(rows)
        if not human(evidence.origin):
            what = f"fact {current.id} is a person's word" if current else "nothing holds there"
            raise Refused(f"{what}, and this rests on {evidence.origin!r}: it cannot end it")
        if current is None:
            return self._nothing(act, asked, evidence, rows, marks)
        if asked.value != ANY and same(asked.value) != same(current.value):
            raise Refused(f"fact {current.id} does not say that: withdraw what holds")
        if not evidence.speaks(act.origin, current.key.replace("_", " "), current.value):
            raise Refused(f"the cited entries do not speak of {current.key!r}: cite those that say it is over")
        if current.locked:
            raise Refused(f"fact {current.id} is locked: a person must unlock or delete it")
        if evidence.said < current.affirmed_at:
            why = f"it was said to hold later, on {iso(current.affirmed_at)}: it stays"
            return self._noted(act, current, marks, why)
        end = max(evidence.said if asked.valid_to is None else asked.valid_to, current.valid_from)
        after = self._next(act, current, status="ended", valid_to=end, affirmed_at=evidence.said,
                           sources=united(current.cited, evidence.ids))  # fmt: skip
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
        current = current_of(rows)
        over = asked.valid_to is not None and asked.valid_to <= act.now
        if current is not None and same(current.value) == same(asked.value) and not over:
            return self._corroborate(act, current, asked, evidence, rows, marks)
        if self._earlier(act, asked, evidence, rows, current):
            return self._past(act, asked, evidence, rows, marks)
        if current is not None and current.locked:
            why = f"fact {current.id} is locked and says otherwise"
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
        cited = united(current.cited, evidence.ids)
        settled = not asked.provisional and evidence.said >= current.affirmed_at
        after = self._next(
            act, current, sources=cited, valid_from=start, affirmed_at=max(current.affirmed_at, evidence.said),
            corroboration=current.corroboration + self._count(act, cited) - self._count(act, current.sources),
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
            cited = united(twin.cited, evidence.ids)
            after = self._next(act, twin, sources=cited,
                               corroboration=self._count(act, cited))  # fmt: skip
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
        current = current_of(rows)
        if current is not None and same(current.value) != same(asked.value):
            why = f"{why}, and fact {current.id} says otherwise"
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
        value, current = same(asked.value), current_of(rows)
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
            cited = united(twin.cited, evidence.ids)
            fact = self._next(
                act, twin, sources=cited, origin=lowest([twin.origin, evidence.origin]),
                affirmed_at=max(twin.affirmed_at, evidence.said),
                corroboration=self._count(act, cited),
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
