"""What the dream reads of memory: conversations as turns with a path, without what was forgotten or is nobody's word."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

from mnemic.knowledge.origin import lowest
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import Document, Message
from mnemic.models.event import Origin
from mnemic.store import Store
from mnemic.synthesis.article import Source, conv_of
from mnemic.synthesis.people import ROLES, Person, people
from mnemic.synthesis.statement import Said

UNREAD = ("tool", "web")
"""Origins of what was only read somewhere: no article is made of it."""


class Reading:
    """The conversations of one namespace as one dream sees them."""

    def __init__(self, store: Store, ns: str) -> None:
        self._store, self._ns = store, ns
        self._forgotten = store.forgotten(ns)
        self._documents: dict[int, Document | None] = {}
        self._paths: dict[int, dict[int, str]] = {}
        self._turns: dict[str, dict[int, Said]] = {}
        self._opens: dict[Source, bool] = {}
        self.sessions: dict[str, list[Message]] = defaultdict(list)
        for row in store.messages(ns):
            if row.role in ROLES and self._readable(row.document):
                self.sessions[row.session].append(row)
        ordered = sorted(self.sessions.items(), key=lambda item: (item[1][0].document, item[0]))
        self.people = people(row for _, rows in ordered for row in rows)
        self.origins: dict[str, Origin] = {str(row["id"]): row["origin"] for row in store.rows(ns, "sessions")}

    def order(self) -> list[str]:
        """The sessions, the earliest said first."""
        return sorted(self.sessions, key=lambda name: (self.sessions[name][0].created_at, name))

    def _readable(self, number: int) -> bool:
        document = self._document(number)
        return (
            document is not None and document.origin not in UNREAD
            and hidden_by(document.path, self._forgotten) is None
        )  # fmt: skip

    def _document(self, number: int) -> Document | None:
        if number not in self._documents:
            self._documents[number] = self._store.document_by_id(self._ns, number)
        return self._documents[number]

    def person(self, row: Message) -> Person | None:
        """Who speaks; None for an assistant without a name."""
        return self.people.get((row.session, row.name)) if row.name or row.role == "user" else None

    def turns(self, session: str, first: int, last: int) -> list[Said]:
        """The turns of a session from one message to another."""
        if session not in self._turns:
            self._turns[session] = {turn.seq: turn for turn in self._read(session)}
        found = self._turns[session]
        return [found[seq] for seq in range(first, last + 1) if seq in found]

    def turn(self, path: str) -> Said | None:
        """The turn at a path; None where there is none that may be read."""
        node = self._store.node(self._ns, path)
        document = self._document(node.document) if node is not None else None
        if node is None or document is None or document.session is None or not node.message:
            return None
        return next(iter(self.turns(document.session, node.message, node.message)), None)

    def _read(self, session: str) -> list[Said]:
        rows = self.sessions.get(session, [])
        by_shelf: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            document = self._document(row.document)
            if document is not None:
                by_shelf[document.shelf].append(row.text_id)
        bodies: dict[int, str] = {}
        for shelf, ids in by_shelf.items():
            bodies |= self._store.texts(self._ns, ids, shelf)
        found = []
        for row in rows:
            body, path, person = bodies.get(row.text_id), self._path(row), self.person(row)
            if body is not None and path and hidden_by(path, self._forgotten) is None:
                found.append(
                    Said(session, row.seq, row.role, row.name, body, row.created_at, path, row.digest,
                         person.key if person else "", person.name if person else "", person.title if person else "")
                )  # fmt: skip
        return found

    def _path(self, row: Message) -> str | None:
        if row.document not in self._paths:
            document = self._document(row.document)
            nodes = self._store.nodes(self._ns, row.document, document.shelf) if document else []
            self._paths[row.document] = {node.message: node.path for node in nodes if node.kind == "message" and node.message}
        return self._paths[row.document].get(row.seq)

    def resolves(self, source: Source) -> bool:
        """Whether a footnote's path opens, and is a turn of the conversation that the footnote names."""
        if source not in self._opens:
            self._opens[source] = opens(self._store, self._ns, source)
        return self._opens[source]

    def hidden(self, path: str) -> bool:
        """Whether a turn was forgotten."""
        return hidden_by(path, self._forgotten) is not None

    def origin(self, sessions: Iterable[str]) -> Origin:
        """What an article bears that is made of these conversations: the agent's at most."""
        return lowest(["agent", *(self.origins.get(name, "agent") for name in sessions)])

    def digest(self, session: str, first: int, last: int) -> str:
        """What makes a change of any of these messages seen."""
        rows = self.sessions.get(session, [])
        return digest_of([row for row in rows if first <= row.seq <= last])


def opens(store: Store, ns: str, source: Source) -> bool:
    """Whether a footnote's path opens, and is a turn of the conversation that the footnote names."""
    node = store.node(ns, source.path)
    document = store.document_by_id(ns, node.document) if node is not None and node.kind == "message" else None
    return document is not None and document.session is not None and conv_of(document.session) == source.conv


def digest_of(rows: Sequence[Message]) -> str:
    """The digest of messages' digests."""
    return hashlib.sha256("".join(row.digest for row in rows).encode()).hexdigest()[:32]
