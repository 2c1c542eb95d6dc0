"""Experiences: what works, what does not, and how far that has proved itself.

An experience is a line of revisions under one id; each revision is one row of truth. Its texts never change in
place: a change is a new revision, so whatever was approved or reported is about exactly one text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from mnemic.models.event import Origin, Row

ExperienceStatus = Literal["candidate", "live", "challenged", "superseded", "archived", "cold", "deleted"]
Attribution = Literal["experience", "environment", "unrelated", "unknown"]
Counted = Literal["alpha", "beta", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """One revision, as it is stored. `situation`, `path`, `limits`, `sources` and `parents` are canonical JSON."""

    id: str
    revision: int
    """1, 2, 3, … within an id."""
    kind: str
    """`positive`: a path that works. `negative`: a dead end, whose success is that it was one again."""
    family: str
    """What it is about; at most twelve of a family are live."""
    gist: str
    situation: str
    path: str
    reasoning: str
    limits: str
    failure_reason: str
    context: str
    everywhere: int
    """1 if it counts in every context."""
    origin: Origin
    author: str
    """`agent`, or `human` for what a person added or wrote anew."""
    status: ExperienceStatus
    why: str
    """Why it is challenged or cold."""
    alpha: int = 0
    beta: int = 0
    prior_alpha: int = 0
    """The part of `alpha` that no report made: what the kind of source, or a person's approval, is worth."""
    prior_beta: int = 0
    recent_alpha: float = 0.0
    """Counted successes as of `recent_at`, each faded with its age."""
    recent_beta: float = 0.0
    recent_at: int = 0
    outcomes: str = ""
    """The last counted outcomes, oldest first: `S` and `F`."""
    verified: int = 0
    rejected: int = 0
    verified_at: int | None = None
    pinned: int = 0
    tokens_spent: int = 0
    tokens_saved: int = 0
    approved_by: str = ""
    """`human`, `agent` (a success it reported, a replay it passed), or nothing."""
    approved: str = ""
    """The seal of what the person who approved it was shown."""
    sources: str = "[]"
    parents: str = "[]"
    """Revisions it was made of, as `id@revision`."""
    created_at: int
    changed_at: int

    @property
    def key(self) -> tuple[str | int, ...]:
        return (self.id, self.revision)

    @property
    def value(self) -> int:
        """Economic value in tokens: saved by following it, less what it cost."""
        return self.tokens_saved - self.tokens_spent

    def row(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in EXPERIENCE_COLUMNS}


def experience(row: Row) -> Experience:
    """A revision from its row of truth."""
    return Experience(**row)


EXPERIENCE_COLUMNS = tuple(item.name for item in fields(Experience))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceReceipt:
    """What a verb on experiences answers.

    `stored`: done, as entry `seq`. `duplicate`: this very report is counted already. `nothing`: it is so already.
    `rejected`: a gate refused it (why: `reason`); with `corroborated`, an experience there is, it backs that one.
    """

    status: Literal["stored", "duplicate", "nothing", "rejected"]
    op: str = ""
    seq: int | None = None
    id: str | None = None
    revision: int | None = None
    state: str | None = None
    """The status of the experience afterwards."""
    reason: str | None = None
    corroborated: str | None = None
    redacted: int = 0
    counted: Counted | None = None
    attribution: Attribution | None = None
    archived: tuple[str, ...] = ()
    """What the family's cap moved out of the way, as `id@revision`."""
    agreement: float | None = None
    """Shadow replay: the share of samples it foretold."""
    experience: Mapping[str, Any] | None = None

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "archived": list(self.archived)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReceipt:
    """What ingesting or consolidating answers: one entry of the ledger, one receipt for each experience."""

    status: Literal["stored", "rejected"]
    seq: int | None
    receipts: tuple[ExperienceReceipt, ...]

    def json(self) -> dict[str, Any]:
        return {"status": self.status, "seq": self.seq, "receipts": [item.json() for item in self.receipts]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """An experience that may help, and how far it fits."""

    experience: Mapping[str, Any]
    score: float
    """Overlap of the situation with what it says about itself, 0 to 1."""
    verdict: Literal["direct", "reference", "clue"]
    conflicts: tuple[str, ...]
    """Its own limits that the situation runs into."""
    cost: int
    """Estimated tokens."""
    trial: bool = False
    """An unproven candidate: try it, say how it went, do not rely on it."""

    def json(self) -> dict[str, Any]:
        return {**self.experience, "score": round(self.score, 6), "verdict": self.verdict,
                "conflicts": list(self.conflicts), "cost": self.cost, "trial": self.trial}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceAnswer:
    """What recalling experiences answers: the best first, within the budget."""

    items: tuple[Recalled, ...] = ()
    candidate_trials: tuple[Recalled, ...] = ()
    reason: str | None = None
    """Why there are none."""
    omitted: int = 0
    estimated_tokens: int = 0
    consolidation_due: bool = False
    degraded: tuple[str, ...] = ()
    """What was left out because it is not what was recorded."""
    frame: str | None = field(default=None)

    @property
    def none(self) -> bool:
        return not self.items

    def json(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "items": [item.json() for item in self.items],
            "none": self.none,
            "reason": self.reason,
            "omitted": self.omitted,
            "estimated_tokens": self.estimated_tokens,
            "candidate_trials": [item.json() for item in self.candidate_trials],
            "consolidation_due": self.consolidation_due,
            "degraded": list(self.degraded),
        }
        if self.frame is not None:
            row["frame"] = self.frame
        return row
