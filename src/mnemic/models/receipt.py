"""What a write answers, on every surface."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["stored", "duplicate", "queued", "nothing", "rejected"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of one write.

    `stored`: durable and indexed. `queued`: durable and found by words, vectors follow (why: `reason`).
    `duplicate`: already there, at `path`. `nothing`: there was nothing to store. `rejected`: refused (why).
    """

    status: Status
    path: str | None = None
    nodes: int = 0
    redacted: int = 0
    """How many secrets were replaced before anything was stored."""
    reason: str | None = None
    op_id: str | None = None
    seq: int | None = None
    """The ledger event that recorded it; what `undo` takes."""

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """The outcome of capturing a conversation."""

    sessions: int = 0
    exchanges: int = 0
    messages: int = 0
    receipts: tuple[Receipt, ...] = field(default=())

    def json(self) -> dict[str, Any]:
        return {
            "sessions": self.sessions,
            "exchanges": self.exchanges,
            "messages": self.messages,
            "receipts": [receipt.json() for receipt in self.receipts],
        }


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What forgetting did."""

    path: str
    erased: bool
    documents: int
    """How many documents; of what is known, how many records."""
    seq: int
    """The ledger entry; `undo` takes it unless it was an erasure."""
    elsewhere: tuple[str, ...] = ()
    """Other paths that hold the very same text, or what it was drawn from, and were left alone."""

    def json(self) -> dict[str, Any]:
        return {"status": "erased" if self.erased else "forgotten", **asdict(self)}
