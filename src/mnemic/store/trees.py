"""How the nodes of a tree stand in rows: the same in every engine, because recall reads them and a copy compares them."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from mnemic.store.base import NewNode
from mnemic.text.passage import passage
from mnemic.text.tokens import terms

Stored = tuple[Any, ...]
"""The columns of a node but for its namespace and shelf, in the order of `NODE` and `INDEXED`."""
NODE = 'id, document, parent, path, kind, title, text_id, start, "end", reach, message, speaker'
"""What makes a `models.document.Node`."""
INDEXED = "created_at, size, terms, talk, role"
SIZE = 13
"""The place of `size` in a row."""


def term_hash(term: str) -> int:
    """The 32-bit value that stands for a term in `nodes.terms`."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def hashes(words: Sequence[str]) -> bytes:
    """Terms in order, as `nodes.terms` holds them."""
    return array("I", map(term_hash, words)).tobytes()


def talk_number(session: str | None) -> int | None:
    """The number that a conversation goes by in the index of nodes: 64 bits of its digest, so that none has to be kept."""
    if session is None:
        return None
    return int.from_bytes(blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """What makes one tree of a document another."""

    ids: list[int]
    """Of the new tree's nodes, in their order."""
    made: list[tuple[Stored, list[str]]]
    """Rows that are new, each with its terms."""
    gone: list[Stored]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many nodes with terms there are more, how many terms, and how many nodes went."""
        lost, added = [row[SIZE] for row in self.gone if row[SIZE]], [row[SIZE] for row, _ in self.made if row[SIZE]]
        return len(added) - len(lost), sum(added) - sum(lost), len(self.gone)


def difference(document: int, old: Sequence[Stored], nodes: Sequence[NewNode], fresh: int) -> Difference:
    """Put a tree in place of the one before. What is just as it was keeps its id; others take those from `fresh` on."""
    before = {str(row[3]): row for row in old}
    ids: list[int] = []
    made: list[tuple[Stored, list[str]]] = []
    kept: set[str] = set()
    for place, node in enumerate(nodes):
        words = _words(node)
        parent = None if node.parent < 0 else ids[node.parent]
        was = before.get(node.path)
        number = was[0] if was else fresh + place
        row = (number, document, parent, *_columns(node, words))
        if was == row:
            kept.add(node.path)
        else:
            number = fresh + place
            made.append(((number, *row[1:]), words))
        ids.append(number)
    return Difference(ids, made, [row for path, row in before.items() if path not in kept])


def same(old: Sequence[Stored], nodes: Sequence[NewNode]) -> bool:
    """Whether stored rows are the given tree, whatever its ids."""
    paths = {row[0]: row[3] for row in old}
    have = [(paths.get(row[2]), *row[3:]) for row in old]
    wanted = [(None if node.parent < 0 else nodes[node.parent].path, *_columns(node, _words(node))) for node in nodes]
    return sorted(have, key=lambda row: str(row[1])) == sorted(wanted, key=lambda row: row[1])


def blanked(nodes: bytes, codes: bytes, gone: Sequence[int]) -> tuple[bytes, bytes]:
    """The nodes and codes of a block, with zeros where these nodes were."""
    known = np.frombuffer(nodes, dtype="<i8").copy()
    columns = np.frombuffer(codes, dtype="<u8").reshape(-1, len(known)).copy()
    at = np.isin(known, gone)
    known[at], columns[:, at] = 0, 0
    return known.tobytes(), columns.tobytes()


def passage_of(body: str, parent: int | None, title: str, start: int, reach: int, speaker: str) -> str:
    """What a stored node is found by, from its text and columns: of titles only a document's own counts."""
    return passage(body, start, reach, speaker=speaker, title=title if parent is None else "")


def _words(node: NewNode) -> list[str]:
    return terms(node.passage) if node.passage else []


def _columns(node: NewNode, words: Sequence[str]) -> tuple[Any, ...]:
    """A row from its path on."""
    return (node.path, node.kind, node.title, node.text_id, node.start, node.end, node.reach, node.message, node.speaker,
            node.created_at, len(words), hashes(words), talk_number(node.session), node.role)  # fmt: skip
