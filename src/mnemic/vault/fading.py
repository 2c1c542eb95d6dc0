"""Tier, relevance and last use at the head of cards, as decay finds them (001 §2.2).

The use of a document is the truth; what a card says of it is a copy for people and for other tools that read the vault.
So only decay writes it, only where it differs, and only into frontmatter that is there. It is no edit of a person's: the
text that memory keeps of a card leaves these keys out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from mnemic.errors import MnemicError
from mnemic.vault import frontmatter
from mnemic.vault.vault import Vault, head_of

Heads = Callable[[str], Mapping[str, Any] | None]
"""What the card of a file should say; None for a file that is no document."""


def mark(vault: Vault, heads: Heads, *, dry_run: bool = False) -> list[str]:
    """Bring the heads of cards up to date; returns the files that were, or would be, changed."""
    if not vault.root.is_dir():
        return []
    cards = [row for row in vault.known() if row.kind == "card" and row.state == "kept"]
    with vault.alone() as tick:
        behind: list[str] = []
        for row in cards:
            # What a person left in a file since the last sync is theirs to be taken in first.
            data = _read(vault, row.path, row.digest)
            head = heads(row.path) if data else None
            if data and head and _differs(head_of(data), head):
                behind.append(row.path)
        if dry_run or not behind:
            return behind
        done = [path for path in behind if _write(vault, path, heads(path) or {})]
        if done:
            vault.read_back(done, tick, f"decay: {len(done)} cards")
    return done


def _read(vault: Vault, path: str, digest: str) -> bytes | None:
    """A file as it was when it was last taken in; None where it is not."""
    try:
        found = vault.folder.read(path)
    except MnemicError:
        return None
    return found.data if found.digest == digest else None


def _differs(head: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a card says something else; one without frontmatter, or that never counted its uses, need not begin to."""
    plain = {key: value.isoformat() if isinstance(value, date) else value for key, value in wanted.items()}
    return bool(head) and any(head.get(key, 0 if key == "access_count" else None) != value for key, value in plain.items())


def _write(vault: Vault, path: str, wanted: Mapping[str, Any]) -> bool:
    try:
        vault.change(path, lambda data: frontmatter.edit(data, wanted))
    except MnemicError:
        return False  # not one key a line, or gone by now: it stays as it is
    return True
