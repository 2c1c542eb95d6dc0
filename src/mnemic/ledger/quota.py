"""How much a namespace may hold, asked under its write lock by all that adds text.

What counts are nodes with words, which both engines keep as a sum: asking costs one row. Full is what *holds* its quota
already, so a write that begins below goes through whole and may end above it, by one document or one batch of exchanges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mnemic.errors import QuotaExceeded
from mnemic.models.event import Change
from mnemic.settings import LimitSettings
from mnemic.store import Store

RECORDS = frozenset({"diary", "facts", "concerns", "experiences"})
"""Tables of truth whose rows are texts of their own."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The quotas of a home's namespaces."""

    store: Store
    limits: LimitSettings

    def held(self, ns: str) -> int:
        """How many nodes a namespace holds."""
        return self.store.lexicon(ns)[0]

    def over(self, ns: str) -> QuotaExceeded | None:
        """Why nothing may be added to a namespace, if so."""
        allowed = self.limits.of(ns).nodes
        if not allowed or (held := self.held(ns)) < allowed:
            return None
        return QuotaExceeded(
            f"the namespace {ns!r} holds {held:,} nodes, and {allowed:,} are allowed (limits.nodes): nothing was stored;"
            " make room with `mnemic forget PATH --erase`, or ask for a larger quota"
        )

    def check(self, ns: str) -> None:
        """Raises QuotaExceeded where nothing may be added."""
        if full := self.over(ns):
            raise full


def adds(changes: Iterable[Change]) -> bool:
    """Whether a record of its own comes into being, and not only the next revision of one."""
    return any(
        change.table in RECORDS and change.before is None and change.after is not None and change.after.get("revision", 1) == 1
        for change in changes
    )
