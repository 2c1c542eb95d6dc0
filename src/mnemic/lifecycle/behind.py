"""What stands behind a record of what is known: the documents that it was drawn from.

A fact or a concern cites diary entries; an entry names a session and when it was said, so behind it stands the exchange of
that moment. An experience names sessions and paths itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from mnemic.models.document import Document
from mnemic.store import Store


def behind(store: Store, ns: str, path: str) -> list[Document]:
    """The documents behind `facts/3`, `concerns/2`, `diary/1` or `experiences/ID`, each once; none if it names nothing."""
    table, _, name = path.partition("/")
    found = _of_experience(store, ns, name) if table == "experiences" else _of_entries(store, ns, _cited(store, ns, table, name))
    return list({document.id: document for document in found}.values())


def _cited(store: Store, ns: str, table: str, name: str) -> Iterable[int]:
    """The diary entries that a record stands on."""
    number = int(name) if name.isascii() and name.isdigit() else 0
    if table == "diary":
        return [number]
    rows = store.select(ns, table, {"id": number, "retired_at": None}) if table in ("facts", "concerns") else []
    return [source for row in rows for source in json.loads(row["sources"])]


def _of_entries(store: Store, ns: str, entries: Iterable[int]) -> Iterator[Document]:
    for number in entries:
        entry = store.row(ns, "diary", (number,))
        if entry is not None and entry["session"] is not None:
            yield from _said(store, ns, entry["session"], entry["at"])


def _of_experience(store: Store, ns: str, name: str) -> Iterator[Document]:
    for row in store.select(ns, "experiences", {"id": name}):
        for source in json.loads(row["sources"]):
            kind, _, what = source.partition(":")
            if kind == "session":
                yield from store.session_documents(ns, what, 1)
            elif kind == "trace" and (document := document_at(store, ns, what)):
                yield document


def _said(store: Store, ns: str, session: str, at: int) -> list[Document]:
    """The exchange of a session that was going on at a moment in ms; its first where all came later."""
    documents = store.session_documents(ns, session, 1_000)
    before = [document for document in documents if document.created_at <= at]
    return before[-1:] or documents[:1]


def document_at(store: Store, ns: str, path: str) -> Document | None:
    """The document of a path, or the one that it names a part of."""
    document = store.document(ns, path)
    if document is None and (node := store.node(ns, path)) is not None:
        document = store.document_by_id(ns, node.document)
    return document
