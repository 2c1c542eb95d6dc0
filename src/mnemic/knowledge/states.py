"""The life of an experience, as data: which verb leads from which status to which, and what may stop it.

                          ┌── two failures, demote ──▶ challenged ── revise ──▶ a new candidate
    candidate ── success ─▶ live ◀── rollback ── superseded
        │       (replay,    │  └── family full, archive, merged ──▶ archived ── success ──▶ live
        │       promote)    └── an adopted revision ──▶ superseded
        └── failed trial, demote ──▶ cold ── release ──▶ candidate

Nothing that was read somewhere (tool, web, import) gets into `live` but by a person's own act: its successes
count and leave it where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from mnemic.errors import Refused
from mnemic.models.experience import ExperienceStatus

ACTIVE: tuple[ExperienceStatus, ...] = ("candidate", "live", "challenged")
HELD = "it was read somewhere, so this counts but does not make it live: a person must promote it"
NO_PERSON = "only a person can do this: use the command line or the workbench"


@dataclass(frozen=True, slots=True)
class Move:
    """Where a verb leads, and the ledger's word for it."""

    to: ExperienceStatus
    op: str
    human: bool = False
    """Whether only a person may."""


def _human(to: ExperienceStatus, op: str) -> Move:
    return Move(to, op, human=True)


MOVES: dict[ExperienceStatus, dict[str, Move]] = {
    "candidate": {
        "success": Move("live", "promote"),
        "trial-fail": Move("cold", "trial-fail"),
        "shadow-pass": Move("live", "shadow-pass"),
        "shadow-fail": Move("candidate", "shadow-fail"),
        "merge": Move("archived", "consolidate"),
        "promote": _human("live", "human-promote"),
        "demote": _human("cold", "human-demote"),
        "archive": _human("archived", "archive"),
        "pin": _human("candidate", "pin"),
        "unpin": _human("candidate", "unpin"),
        "delete": _human("deleted", "delete"),
    },
    "live": {
        "success": Move("live", "use"),
        "challenge": Move("challenged", "challenge"),
        "merge": Move("archived", "consolidate"),
        "supersede": Move("superseded", "supersede"),
        "evict": Move("archived", "archive"),
        "evolve": _human("superseded", "evolve"),
        "demote": _human("challenged", "human-demote"),
        "archive": _human("archived", "archive"),
        "pin": _human("live", "pin"),
        "unpin": _human("live", "unpin"),
        "delete": _human("deleted", "delete"),
    },
    "challenged": {
        "success": Move("challenged", "use"),
        "revise": Move("challenged", "propose"),
        "merge": Move("archived", "consolidate"),
        "supersede": Move("superseded", "supersede"),
        "archive": _human("archived", "archive"),
        "pin": _human("challenged", "pin"),
        "unpin": _human("challenged", "unpin"),
        "delete": _human("deleted", "delete"),
    },
    "superseded": {
        "success": Move("superseded", "use"),
        "rollback": _human("live", "rollback"),
        "delete": _human("deleted", "delete"),
    },
    "archived": {
        "success": Move("live", "restore"),
        "archive": _human("archived", "archive"),
        "delete": _human("deleted", "delete"),
    },
    "cold": {
        "success": Move("cold", "use"),
        "release": _human("candidate", "release-cold"),
        "delete": _human("deleted", "delete"),
    },
    "deleted": {},
}

_SPOKEN = {"success": "report", "shadow-pass": "verify", "merge": "consolidate"}
_SILENT = {"trial-fail", "challenge", "supersede", "evict", "shadow-fail"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a transition depends on besides the status."""

    person: bool = False
    """Whether a person stands behind the channel."""
    external: bool = False
    """Whether the experience was read somewhere."""
    approved: bool = False
    """Whether a person approved this very text."""
    draft: bool = False
    """Whether it revises an earlier revision."""
    name: str = "the experience"
    """How a refusal calls it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a verb does: the status it leads to, the ledger's word, and why it stays where it is although it counts."""

    to: ExperienceStatus
    op: str
    held: str = ""


def step(status: ExperienceStatus, verb: str, facts: Facts) -> Step:
    """Where a verb leads from a status. Raises Refused, naming the status and what would be possible."""
    move = MOVES[status].get(verb)
    if move is None:
        raise Refused(f"{facts.name} is {status}, so {_SPOKEN.get(verb, verb)!r} is impossible: {possible(status, facts)}")
    if move.human and not facts.person:
        raise Refused(f"{verb!r} came from an agent, and {NO_PERSON}")
    if verb == "evolve" and not facts.approved:
        raise Refused(
            f"{facts.name} is live, and no person approved its text, so it cannot be revised as it is:"
            f" {possible(status, facts)}"
        )
    if move.to == "live" and status != "live" and not move.human and facts.external:
        return Step(status, "use" if verb == "success" else move.op, HELD)
    if verb == "success" and move.op == "promote" and facts.draft:
        return Step("live", "adopt")
    return Step(move.to, move.op)


def possible(status: ExperienceStatus, facts: Facts) -> str:
    """The verbs that a status leaves, in words."""
    verbs = [
        _SPOKEN.get(verb, verb)
        for verb, move in MOVES[status].items()
        if verb not in _SILENT and (facts.person or not move.human) and (verb != "evolve" or facts.approved)
    ]
    if not verbs:
        return "nothing is possible but to undo the entry that made it so (`mnemic undo SEQ`)"
    return f"possible are {', '.join(verbs)}"
