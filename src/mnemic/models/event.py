"""Changes and the ledger events that carry them.

A *change* is the image of one row of truth before and after. Everything mnemic can do to its state is a
list of changes, so one mechanism serves them all: applying is writing the after-images, undoing is writing
the before-images, replaying the ledger is folding the after-images from the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Row = Mapping[str, Any]
"""One row of a truth table without its namespace: column → None, int, float or str."""

Actor = str
"""Who did it: `user`, `agent`, `agent:<session>`, `human` or `system`."""

Origin = Literal["user", "human-file", "agent", "tool", "web", "import"]
"""Where a text came from, set by our code from the channel, never by the writer."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row of truth, before and after; `None` means the row is not there."""

    table: str
    key: tuple[str | int, ...]
    before: Row | None
    after: Row | None

    def inverse(self) -> Change:
        """The change that takes this one back."""
        return Change(self.table, self.key, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Draft:
    """An event about to be recorded: what is done, to what, by whom and why."""

    op: str
    object: str
    """What it is about, as an opaque `kind:id`: it stays in the leaf for ever, so it must not name a person."""
    actor: Actor
    origin: Origin
    reason: str = ""
    changes: tuple[Change, ...] = ()
    note: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the act that are not state: the path it concerned, the event it undoes, counts."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the ledger as stored.

    The leaf (everything but `payload` and `salt`) is chained for ever. The payload stands outside and may
    be erased: the leaf keeps only its salted hash.
    """

    seq: int
    """1, 2, 3, … without gaps inside a namespace."""
    at: int
    """Milliseconds since 1970 UTC; order comes from `seq`, never from the clock."""
    actor: Actor
    origin: str
    op: str
    object: str
    payload_hash: str
    previous: str
    """Hash of the entry before; empty for the first."""
    hash: str
    payload: str | None
    """Canonical JSON of reason, note and changes; `None` once erased."""
    salt: str | None


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a namespace's chain: how many entries, and the hash of the last."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `ledger verify` found."""

    ok: bool
    checked: int
    broken_at: int | None = None
    problem: str | None = None
    notes: tuple[str, ...] = ()
    """What was not checked or is worth knowing although nothing is broken, e.g. no outside head was found."""
