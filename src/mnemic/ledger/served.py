"""The last look before a text leaves memory: it must be the one that its row of truth names.

Texts stand outside the rows that the ledger replays; the rows hold their digests. So an edit of a stored text behind
the ledger's back shows here, at the price of one SHA-256 and one indexed read, and not only when somebody verifies.
(An attacker who also edits the digest is found by `ledger verify`.)
"""

from __future__ import annotations

from collections.abc import Mapping

from mnemic.errors import Damaged
from mnemic.ledger.record import digest
from mnemic.store import Store

NEXT = "run `mnemic ledger verify`, then restore a backup with `mnemic restore FILE`"


def intact(store: Store, ns: str, document: int, bodies: Mapping[int, str]) -> bool:
    """Whether these texts of a document, by their ids, are what was recorded."""
    known = store.text_digests(ns, document)
    return all(known.get(text_id) == digest(body) for text_id, body in bodies.items())


def checked(store: Store, ns: str, document: int, path: str, bodies: Mapping[int, str]) -> None:
    """Raise Damaged unless these texts of a document are what was recorded."""
    if not intact(store, ns, document, bodies):
        raise Damaged(f"the text of {path!r} is not what was recorded: {NEXT}")
