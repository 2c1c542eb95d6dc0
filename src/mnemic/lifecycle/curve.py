"""The forgetting curve: pure functions from days without use to a tier and a relevance (001 §2.2, §2.3).

    relevance   max(floor, 1 - days · rate)
    tier        active 0-7 days, warm 8-21, cold 22-60, archive from 61; core by a person's word alone
    touch       one tier up, never to the top: to the middle of the next tier, a use of an active one counts as today

Days are whole days since the last use.
"""

from __future__ import annotations

from mnemic.clock import DAY_MS
from mnemic.models.document import Tier
from mnemic.settings import Curve

MODES: dict[str, frozenset[str]] = {
    "heartbeat": frozenset({"core", "active"}),
    "normal": frozenset({"core", "active", "warm"}),
    "deep": frozenset({"core", "active", "warm", "cold", "archive"}),
    "creative": frozenset({"cold", "archive"}),
}
"""Which tiers each mode of recall asks (001 §2.4)."""


def days_between(used_at: int, now: int) -> int:
    """Whole days from the last use to now, both in ms; 0 for a use that lies ahead."""
    return max(0, now - used_at) // DAY_MS


def relevance(days: int, curve: Curve) -> float:
    """How much of a memory is left after so many days without use, floor..1."""
    return max(curve.floor, 1 - days * curve.rate)


def tier_of(days: int, curve: Curve) -> Tier:
    """The tier after so many days without use; never core."""
    if days <= curve.active:
        return "active"
    if days <= curve.warm:
        return "warm"
    return "cold" if days <= curve.cold else "archive"


def touched(days: int, curve: Curve) -> int:
    """How many days ago a memory counts as used once it is touched: one tier nearer, in the middle of it."""
    tier = tier_of(days, curve)
    if tier == "archive":
        return max(curve.warm + 1, (curve.warm + curve.cold) // 2)
    if tier == "cold":
        return max(curve.active + 1, (curve.active + curve.warm) // 2)
    return curve.active // 2 if tier == "warm" else 0


def oldest_days(tiers: frozenset[str], curve: Curve) -> int | None:
    """After how many days a memory is in none of these tiers; `None` where that never comes."""
    if "archive" in tiers:
        return None
    ends = {"core": -1, "active": curve.active, "warm": curve.warm, "cold": curve.cold}
    return max((ends[tier] for tier in tiers if tier in ends), default=-1)
