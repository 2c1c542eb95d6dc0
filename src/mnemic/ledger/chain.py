"""The form of an entry and its hashes: pure, so that a second implementation can check it.

    payload       canonical JSON {"changes", "note", "reason"}; stands outside the chain and may be erased
    payload hash  SHA-256("mnemic.payload.1" 0x00 salt 0x00 payload)
    leaf hash     SHA-256("mnemic.leaf.1" 0x00 canonical JSON [namespace, seq, at, actor, origin, op, object,
                          payload hash, previous leaf hash])

Canonical JSON: keys sorted, no blanks, UTF-8, non-ASCII written out. The two prefixes keep a payload from ever
passing as a leaf (RFC 9162 §2.1.1 does the same) and carry the version of the form. The salt (16 random bytes) is
erased together with the payload: without it a short text could be guessed from its hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from mnemic.models.event import Change, Event, Row

GENESIS = ""
"""What the first entry of a namespace names as the hash before it."""
_DECODER = json.JSONDecoder()


def canonical(value: Any) -> str:
    """The one JSON text of a value. Raises ValueError for NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def payload_of(reason: str, note: Mapping[str, Any], changes: tuple[Change, ...]) -> str:
    """The payload of an entry."""
    rows = [[change.table, list(change.key), change.before, change.after] for change in changes]
    return canonical({"reason": reason, "note": dict(note), "changes": rows})


def opened(payload: str) -> dict[str, Any]:
    """A payload's content: `reason`, `note` and `changes`."""
    found: dict[str, Any] = json.loads(payload)
    return found


def changes_of(payload: str) -> tuple[Change, ...]:
    """The changes that a payload carries."""
    return tuple(
        Change(table, tuple(key), before, after) for table, key, before, after in opened(payload)["changes"]
    )


def images_in(payload: str, table: str, key: tuple[str | int, ...]) -> Iterator[Row]:
    """What a payload says it left of one row, the last first, without reading the rest of it.

    Quotation marks inside a text are escaped, so nothing a text says can look like a change.
    """
    start = f'["{table}",{canonical(list(key))},'
    place = payload.rfind(start)
    while place >= 0:
        (_, _, _, after), _ = _DECODER.raw_decode(payload, place)
        if after is not None:
            yield after
        place = payload.rfind(start, 0, place)


def payload_hash(salt: str, payload: str) -> str:
    """The salted SHA-256 that a leaf keeps of its payload, in hexadecimal."""
    return _sha256("mnemic.payload.1", salt, payload)


def leaf_hash(namespace: str, event: Event) -> str:
    """The SHA-256 of an entry, in hexadecimal; covers everything but the hash itself and the payload's text."""
    leaf = [namespace, event.seq, event.at, event.actor, event.origin, event.op, event.object,
            event.payload_hash, event.previous]  # fmt: skip
    return _sha256("mnemic.leaf.1", canonical(leaf))


def _sha256(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
