"""The profile: what an agent should know of its user before it is asked anything, within a token budget.

The order is fixed: facts by category and weight, then what is open, then, apart and named as such, what only the
agent said. One frame line a section keeps the cost low; a value is one line, so it cannot pose as another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from mnemic.clock import Clock, from_ms, to_ms
from mnemic.errors import BadInput
from mnemic.knowledge.concerns import Concerns
from mnemic.knowledge.facts import Facts
from mnemic.ledger.served import NEXT
from mnemic.models.event import Origin
from mnemic.models.semantic import CATEGORIES, Concern, Fact, Profile
from mnemic.text import frame as frames
from mnemic.text.tokens import estimate

Row = TypeVar("Row", Fact, Concern)
MAX_FACTS = 60
MAX_CONCERNS = 12
MAX_TOKENS = 1_200
"""Digest §3.3 and §3.8."""
TOKENS = "cjk06"
CLAIMED = "Said by the assistant and not confirmed by the user: do not rely on it"
RESERVE = 4
"""A quarter of the budget is kept for what is open."""


def profile(
    facts: Facts, concerns: Concerns, clock: Clock, nonce: str, *, max_tokens: int = MAX_TOKENS,
    context: str | None = None, as_of: int | None = None,
) -> Profile:  # fmt: skip
    """The profile as it is, or as it was known at `as_of` (ms). Empty where there is nothing to say."""
    if max_tokens < 1:
        raise BadInput(f"max_tokens {max_tokens!r} must be at least 1")
    now = to_ms(clock.now()) if as_of is None else as_of
    known = facts.top(MAX_FACTS, context=context, as_of=as_of)
    claims = facts.top(MAX_FACTS, statuses=("claimed",), context=context, as_of=as_of)
    matters = concerns.top(MAX_CONCERNS, context=context, as_of=as_of)
    made = _Page(now, nonce)
    if as_of is None:
        known, claims = (made.served("facts", some, facts.intact(some)) for some in (known, claims))
        matters = made.served("concerns", matters, concerns.intact(matters))
    limit = max_tokens - _reserve(matters, max_tokens)
    for fact in known:
        made.try_fact(fact, limit)
    for matter in matters:
        made.try_concern(matter, max_tokens)
    for fact in known:
        made.try_fact(fact, max_tokens)
    for fact in claims:
        made.try_claim(fact, max_tokens)
    wanted = len(known) if as_of is not None or context is not None else facts.count()
    return made.profile(wanted + len(matters) + len(claims))


def _reserve(matters: Sequence[Concern], budget: int) -> int:
    return min(budget // RESERVE, sum(estimate(_matter(one), TOKENS) + 1 for one in matters))


class _Page:
    """A profile being filled; each line stays only if the frame with it keeps to the budget."""

    def __init__(self, now: int, nonce: str) -> None:
        self.now, self.nonce = now, nonce
        self.facts: list[Fact] = []
        self.concerns: list[Concern] = []
        self.claims: list[Fact] = []
        self.degraded: list[str] = []
        self.cost = 0
        self.sections: set[tuple[str, Origin]] = set()
        self.shown: set[int] = set()
        self.date = from_ms(now).date().isoformat()
        self.empty = estimate(frames.render([], nonce), TOKENS)

    def served(self, table: str, rows: Sequence[Row], intact: Sequence[bool]) -> list[Row]:
        """The rows without those that are not what was recorded, which are named."""
        kept: list[Row] = []
        for row, whole in zip(rows, intact, strict=True):
            if whole:
                kept.append(row)
            else:
                self.degraded.append(f"{table}/{row.id} is not served: it is not what was recorded; {NEXT}")
        return kept

    def try_fact(self, fact: Fact, limit: int) -> None:
        if fact.id not in self.shown and self._fits(("facts", fact.origin), _fact(fact, self.now), limit):
            self.facts.append(fact)
            self.shown.add(fact.id)

    def try_concern(self, one: Concern, limit: int) -> None:
        if self._fits(("concerns", one.origin), _matter(one), limit):
            self.concerns.append(one)

    def try_claim(self, fact: Fact, limit: int) -> None:
        if self._fits(("claimed", fact.origin), _fact(fact, self.now), limit):
            self.claims.append(fact)

    def _fits(self, section: tuple[str, Origin], line: str, limit: int) -> bool:
        """Costs are those of the parts rounded up, so the whole is never dearer than their sum."""
        cost = estimate(frames.escaped(line), TOKENS) + 1
        if section not in self.sections:
            empty = frames.Item(f"profile/{section[0]}", "", self.date, section[1], title=_title(section[0]))
            cost += estimate(frames.render([empty], self.nonce), TOKENS) - self.empty
        cost += 0 if self.sections else self.empty
        if self.cost + cost > limit:
            return False
        self.sections.add(section)
        self.cost += cost
        return True

    def profile(self, wanted: int) -> Profile:
        order = {name: place for place, name in enumerate(CATEGORIES)}
        self.facts.sort(key=lambda fact: order[fact.category])  # stable: weight decides inside a category
        items = [
            *self._items("facts", [(fact.origin, _fact(fact, self.now)) for fact in self.facts]),
            *self._items("concerns", [(one.origin, _matter(one)) for one in self.concerns]),
            *self._items("claimed", [(fact.origin, _fact(fact, self.now)) for fact in self.claims]),
        ]
        text = "\n".join([line for item in items for line in ([f"{item.title}:"] if item.path.endswith("claimed") else [])
                          + [item.text]])  # fmt: skip
        frame = frames.render(items, self.nonce) if items else ""
        shown = len(self.facts) + len(self.concerns) + len(self.claims)
        return Profile(
            text, frame, [fact.json(self.now) for fact in self.facts], [one.json() for one in self.concerns],
            [fact.json(self.now) for fact in self.claims], max(0, wanted - shown), estimate(frame, TOKENS), self.degraded,
        )  # fmt: skip

    def _items(self, section: str, lines: Sequence[tuple[Origin, str]]) -> list[frames.Item]:
        """One item an origin, so that what a person approved of a web page is still named as such."""
        origins = list(dict.fromkeys(origin for origin, _ in lines))
        return [
            frames.Item(f"profile/{section}", "\n".join(line for own, line in lines if own == origin), self.date, origin,
                        title=_title(section))
            for origin in origins
        ]  # fmt: skip


def _title(section: str) -> str:
    return CLAIMED if section == "claimed" else ""


def _fact(fact: Fact, now: int) -> str:
    mark = ""
    if fact.status == "provisional":
        due = ", due for a check" if fact.due(now) else ""
        mark = f" (as of {_month(fact.affirmed_at)}{due})"
    return f"[{fact.category}] {fact.key}: {fact.value}{mark}"


def _matter(one: Concern) -> str:
    return f"({one.kind}) {one.title}" + (f": {one.background}" if one.background else "")


def _month(ms: int) -> str:
    return from_ms(ms).strftime("%Y-%m")
