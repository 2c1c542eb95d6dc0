"""Forgetting and erasing.

To forget hides a path and what lies below it; nothing is deleted, and `undo` shows it again. To erase removes the
bytes: texts, tree, full text, vectors, and the content of every ledger entry about it. What stays is the chain of
leaves, an entry that says what was erased on purpose, and a keyed digest that keeps a replayed transcript from
bringing it back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from mnemic.capture.intake import Intake, exchange_digest, title_of
from mnemic.capture.trees import document_nodes
from mnemic.clock import Clock, to_ms
from mnemic.errors import Conflict, DiskFull, NotFound
from mnemic.ledger import Ledger, canonical
from mnemic.ledger.chain import changes_of, opened
from mnemic.ledger.record import digest, erasure_mac, window_object
from mnemic.ledger.served import checked
from mnemic.lifecycle import Rotation
from mnemic.models.document import Document, Message, Node
from mnemic.models.event import Actor, Change, Draft, Event, Origin, Row
from mnemic.models.receipt import Forgotten
from mnemic.store import Store, Transaction
from mnemic.text.tree import slug

MARK = "[erased]"
"""What stands in place of an erased part of a text."""
DREAMT = ("chunks", "routes", "subjects", "dreams")
RESTATED = "dream:restated"
"""The object of the entry that states anew what is left of the dreams' rows."""
Key = tuple[str, tuple[str | int, ...]]


@dataclass(slots=True)
class _Rewrite:
    """What an erasure leaves of one document."""

    document: Document
    after: Document | None
    messages: list[Message] = field(default_factory=list)
    dropped: list[Message] = field(default_factory=list)
    bodies: dict[int, str] = field(default_factory=dict)
    new_texts: dict[int, str] = field(default_factory=dict)
    gone: list[tuple[int, str]] = field(default_factory=list)
    """Texts that go, with their bodies."""


class Forgetting:
    """Hides and erases."""

    def __init__(self, store: Store, ledger: Ledger, intake: Intake, clock: Clock) -> None:
        self._store, self._ledger, self._intake, self._clock = store, ledger, intake, clock
        self._rotation = Rotation(store, ledger, clock)

    def forget(
        self, ns: str, path: str, *, reason: str, actor: Actor = "user", origin: Origin = "user"
    ) -> Forgotten:
        """Hide a document, a node or a whole folder from recall. Raises NotFound."""
        documents, draft = self.hiding(ns, path, reason=reason, actor=actor, origin=origin)
        with self._store.write(ns) as tx:
            event = self._ledger.record(tx, ns, draft)
        self._ledger.committed(ns, event)
        return Forgotten(path, False, documents, event.seq)

    def hiding(self, ns: str, path: str, *, reason: str, actor: Actor, origin: Origin) -> tuple[int, Draft]:
        """What hides a path, to be recorded; and how many documents that are. Raises NotFound."""
        documents, node = self._named(ns, path)
        before = self._store.row(ns, "visibility", (path,))
        row = {"path": path, "forgotten_at": to_ms(self._clock.now()), "reason": reason}
        target = f"document:{documents[0].id}" if node or len(documents) == 1 else f"folder:{documents[0].id}"
        change = Change("visibility", (path,), before, row)
        return len(documents), Draft("forget", target, actor, origin, reason, (change,), {"path": path})

    def restore(self, ns: str, path: str, *, reason: str, actor: Actor, origin: Origin) -> None:
        """Show a document again that was hidden for `reason`; one that was hidden for another stays so."""
        with self._store.write(ns) as tx:
            document, row = self._store.document(ns, path), tx.row("visibility", (path,))
            if document is None or row is None or row["reason"] != reason:
                return
            change = Change("visibility", (path,), row, None)
            draft = Draft("restore", f"document:{document.id}", actor, origin, "", (change,), {"path": path})
            event = self._ledger.record(tx, ns, draft)
        self._ledger.committed(ns, event)

    def erase(self, ns: str, path: str, *, reason: str, actor: Actor = "user") -> Forgotten:
        """Remove a document, a message, a part of a text, or all documents of a folder, for good.

        What was undone there goes too: its text was kept so that the undo can be undone. Raises NotFound.
        """
        now = to_ms(self._clock.now())
        self._fetch_part(ns, path)
        with self._store.write(ns) as tx:
            undone = self._undone(ns, path)
            try:
                documents, node = self._named(ns, path)
            except NotFound:
                if not undone:
                    raise
                documents, node = [], None
            if node is None:
                documents = documents + undone
            rewrites = [
                self._without(tx, ns, documents[0], node) if node else self._whole(ns, document)
                for document in documents
            ]
            elsewhere = self._elsewhere(ns, rewrites)
            event = self._erase(tx, ns, rewrites, path, reason, actor, now)
        self._ledger.committed(ns, event)
        with suppress(DiskFull):  # it is done, and what is left on other shelves is noted: no repetition would help
            self._store.sweep()
        return Forgotten(path, True, len(documents), event.seq, elsewhere)

    def _fetch_part(self, ns: str, path: str) -> None:
        """What is to lose a part is rewritten, so it comes back to the hot shelf."""
        if self._store.document(ns, path) is None and (node := self._store.node(ns, path)) is not None:
            home = self._store.document_by_id(ns, node.document)
            if home is not None:
                self._rotation.fetch(ns, home)

    def _named(self, ns: str, path: str) -> tuple[list[Document], Node | None]:
        """The documents that a path means; and the node, if it is only a part of one."""
        document = self._store.document(ns, path)
        if document is not None:
            return [document], None
        node = self._store.node(ns, path)
        if node is not None:
            home = self._store.document_by_id(ns, node.document)
            assert home is not None
            return [home], node
        below = self._store.documents(ns, below=path.rstrip("/"), limit=1_000_000) if path.startswith("/") else []
        if not below:
            raise NotFound(f"nothing stands at {path!r}: see `mnemic tree`")
        return below, None

    def _undone(self, ns: str, path: str) -> list[Document]:
        """The documents that stood at a path or below it, and were undone, as they last were."""
        found: list[Document] = []
        for number in self._store.left_texts(ns):
            rows: list[Row] = []
            for event in self._store.events(ns, object=f"document:{number}", limit=1_000_000):
                changes = changes_of(event.payload) if event.payload is not None else ()
                rows += [change.before for change in changes if change.table == "documents" and change.before]
            if rows and (rows[-1]["path"] == path or str(rows[-1]["path"]).startswith(path.rstrip("/") + "/")):
                found.append(Document(**rows[-1]))
        return found

    def _erase(
        self, tx: Transaction, ns: str, rewrites: Sequence[_Rewrite], path: str, reason: str, actor: Actor, now: int
    ) -> Event:
        sessions = {rewrite.document.session for rewrite in rewrites if rewrite.document.session}
        known = self._store.erasure_key_of(ns)
        windows = [window_object(known, session) for session in sorted(sessions)]
        chunks = self._chunks(tx, ns, rewrites)
        dreams = [RESTATED, *(f"dream:{row['id']}" for row in tx.select("dreams", {}))] if chunks else []
        objects = [*(f"document:{rewrite.document.id}" for rewrite in rewrites), *windows, *dreams]
        touched = self._touched(ns, [*objects, *(f"folder:{rewrite.document.id}" for rewrite in rewrites)])
        before = self._erased_before(ns, objects)
        for rewrite in rewrites:
            touched |= self._take_out(tx, ns, rewrite, path)
        for session in sessions:  # a summary quotes messages; the window makes it anew from what is left
            rows = tx.select("summaries", {"session": session})
            tx.apply(Change("summaries", (row["id"],), row, None) for row in rows)
        self._undream(tx, chunks)
        erased: list[int] = list(before)
        for rewrite in rewrites:
            macs = [erasure_mac(known, body) for _, body in rewrite.gone]
            if rewrite.after is None:
                erased += tx.erase_document(rewrite.document.id, macs, now)
                continue
            after = rewrite.after
            bodies = {**rewrite.bodies, **rewrite.new_texts}
            for text_id, body in rewrite.new_texts.items():
                tx.add_text(text_id, after.id, body)
            tx.replace_nodes(after.id, document_nodes(after, rewrite.messages, bodies))
            in_use = [item.text_id for item in rewrite.messages] or [after.text_id or 0]
            tx.erase_other_texts(after.id, in_use, macs, now)
            tx.enqueue(after.id, now)
        erased += tx.erase_payloads([*objects, *(f"folder:{rewrite.document.id}" for rewrite in rewrites)])
        # Rows that an erased payload made or changed and that live on are stated anew, or replay would miss them;
        # so are those that went although an entry about something else made them.
        folders = self._stated(ns, "visibility")
        restated = []
        dreamt = [Change(table, key, row, row) for table, key in sorted(touched, key=repr)
                  if table in DREAMT and (row := tx.row(table, key)) is not None]  # fmt: skip
        if dreamt:  # apart, so that the next erasure can empty it as a whole
            self._ledger.record(tx, ns, Draft("restate", RESTATED, actor, "user", "", tuple(dreamt)))
        touched = {key for key in touched if key[0] not in DREAMT}
        for table, key in sorted(touched, key=repr):
            row = tx.row(table, key)
            if row is not None:
                restated.append(Change(table, key, row, row))
            elif table == "visibility" and key in folders:
                restated.append(Change(table, key, None, None))
        note = {"erased": sorted(set(erased)), "documents": len(rewrites)}
        draft = Draft("erase", objects[0], actor, "user", reason, tuple(restated), note)
        return self._ledger.record(tx, ns, draft)

    def _chunks(self, tx: Transaction, ns: str, rewrites: Sequence[_Rewrite]) -> list[Row]:
        """What dreams have as pointers to the messages of these documents."""
        said: dict[str, set[int]] = {}
        for rewrite in rewrites:
            for message in self._store.messages(ns, document=rewrite.document.id):
                said.setdefault(message.session, set()).add(message.seq)
        return [
            chunk for session, places in sorted(said.items()) for chunk in tx.select("chunks", {"session": session})
            if not places.isdisjoint(range(chunk["first"], chunk["last"] + 1))
        ]  # fmt: skip

    def _undream(self, tx: Transaction, chunks: Sequence[Row]) -> None:
        """Take out these pointers, and the names of what only they were about; what dreams told of pages goes too."""
        routes = [row for chunk in chunks for row in tx.select("routes", {"chunk": chunk["id"]})]
        tx.apply(Change("routes", (row["chunk"], row["subject"]), row, None) for row in routes)
        tx.apply(Change("chunks", (chunk["id"],), chunk, None) for chunk in chunks)
        for subject in sorted({str(row["subject"]) for row in routes}):
            row = tx.row("subjects", (subject,))
            if row is not None and not tx.select("routes", {"subject": subject}, limit=1):
                tx.apply([Change("subjects", (subject,), row, None)])
        for dream in tx.select("dreams", {}) if chunks else ():
            report = {**json.loads(dream["report"]), "created": [], "updated": [], "signals": [], "rejections": []}
            tx.apply([Change("dreams", (dream["id"],), dream, {**dream, "report": canonical(report)})])

    def _touched(self, ns: str, objects: Sequence[str]) -> set[Key]:
        keys: set[Key] = set()
        for name in objects:
            for event in self._store.events(ns, object=name, limit=1_000_000):
                if event.payload is not None:
                    keys |= {(change.table, change.key) for change in changes_of(event.payload)}
        return keys

    def _erased_before(self, ns: str, objects: Sequence[str]) -> set[int]:
        """Entries that earlier erasures emptied: those erasures' own entries are emptied now, so this one says it."""
        found: set[int] = set()
        for name in objects:
            for event in self._store.events(ns, object=name, limit=1_000_000):
                if event.op == "erase" and event.payload is not None:
                    found |= set(opened(event.payload)["note"]["erased"])
        return found

    def _stated(self, ns: str, table: str) -> set[tuple[str | int, ...]]:
        """Keys of a table's rows that the entries still speak of."""
        keys: set[tuple[str | int, ...]] = set()
        for event in self._ledger.events(ns):
            if event.op in ("forget", "restore", "revise", "undo", "erase") and event.payload is not None:
                keys |= {change.key for change in changes_of(event.payload) if change.table == table}
        return keys

    def _take_out(self, tx: Transaction, ns: str, rewrite: _Rewrite, path: str) -> set[Key]:
        """Change the rows of truth without an image of what was in them: the images would keep it."""
        before, after = rewrite.document, rewrite.after
        changes: list[Change] = []
        swept: list[Change] = []
        """Rows that stand on another shelf, with a document that goes as a whole: they go with the rest of it there."""
        if self._store.document_by_id(ns, before.id) is None:
            pass  # undone: there is no row to take out
        elif after is None or after.path != before.path:
            changes.append(Change("documents", (before.path,), asdict(before), None))
            changes += [] if after is None else [Change("documents", (after.path,), None, asdict(after))]
        else:
            changes.append(Change("documents", (before.path,), asdict(before), asdict(after)))
        old = {item.seq: item for item in self._store.messages(ns, document=before.id)}
        kept = {item.seq: item for item in rewrite.messages}
        for seq, item in old.items():
            left = kept.get(seq)
            if left != item:
                change = Change("messages", (item.session, seq), asdict(item), None if left is None else asdict(left))
                (changes if before.shelf == "hot" else swept).append(change)
        if after is None and (row := tx.row("usage", (before.id,))) is not None:
            changes.append(Change("usage", (before.id,), row, None))
        changes += self._hidden(ns, before.path, after.path if after else None, path)
        if before.session and (row := tx.row("sessions", (before.session,))) and row["title"] == before.title:
            title = after.title if after else "erased"
            changes.append(Change("sessions", (before.session,), row, {**row, "title": title}))
        tx.apply({(change.table, change.key): change for change in changes}.values())
        return {(change.table, change.key) for change in (*changes, *swept)}

    def _hidden(self, ns: str, old: str, new: str | None, erased: str) -> list[Change]:
        """What was forgotten in a document goes and moves with it; a path that was erased is forgotten no more."""
        changes: list[Change] = []
        for row in list(self._store.rows(ns, "visibility")):
            path = str(row["path"])
            inside = path == old or path.startswith(old + "/")
            if path == erased or path.startswith(erased + "/") or (inside and new is None):
                changes.append(Change("visibility", (path,), row, None))
            elif inside and new is not None and new != old:
                moved = new + path[len(old) :]
                changes.append(Change("visibility", (path,), row, None))
                changes.append(Change("visibility", (moved,), None, {**row, "path": moved}))
        return changes

    def _whole(self, ns: str, document: Document) -> _Rewrite:
        gone = self._store.document_texts(ns, document.id, document.shelf)
        return _Rewrite(document, None, gone=list(gone.items()))

    def _without(self, tx: Transaction, ns: str, document: Document, node: Node) -> _Rewrite:
        """The document without one of its nodes."""
        messages = self._store.messages(ns, document=document.id)
        ids = [item.text_id for item in messages] or [document.text_id or 0]
        bodies = self._store.texts(ns, ids, document.shelf)
        if node.text_id is None or node.path == document.path:
            return self._whole(ns, document)
        if document.shelf != "hot":
            raise Conflict(f"{document.path!r} was moved to the {document.shelf} shelf meanwhile: repeat")
        checked(self._store, ns, document.id, document.path, bodies)  # or a digest of what was changed would be recorded
        body = bodies[node.text_id]
        if node.kind == "message":
            rest = [item for item in messages if item.seq != node.message]
            if not rest:
                return self._whole(ns, document)
            title = title_of(bodies[rest[0].text_id])
            after = replace(document, digest=exchange_digest(rest), title=title)
            gone = self._replaced(ns, document, {item.text_id for item in rest})
            return _Rewrite(document, after, rest, bodies=bodies, gone=gone)
        left = body[: node.start] + MARK + body[node.end :]
        fresh = tx.allocate("texts")
        if document.text_id is not None:
            after = replace(document, text_id=fresh, digest=digest(left))
            if document.title == title_of(body) or document.title in body[node.start : node.end]:
                title = title_of(left)
                folder = document.path.rsplit("/", 1)[0]
                renamed = self._intake.free_path(ns, f"{folder}/{slug(title)}")
                after = replace(after, title=title, path=renamed)
        else:
            messages = [
                replace(item, text_id=fresh, digest=digest(left)) if item.text_id == node.text_id else item
                for item in messages
            ]
            title = title_of(left if messages[0].text_id == fresh else bodies[messages[0].text_id])
            after = replace(document, digest=exchange_digest(messages), title=title)
        in_use = {item.text_id for item in messages} if document.text_id is None else {fresh}
        gone = [*self._replaced(ns, document, in_use), (node.text_id, body[node.start : node.end])]
        return _Rewrite(document, after, messages, bodies=bodies, new_texts={fresh: left}, gone=gone)

    def _replaced(self, ns: str, document: Document, in_use: set[int]) -> list[tuple[int, str]]:
        """The texts of a document that are no longer used, earlier revisions included."""
        texts = self._store.document_texts(ns, document.id, document.shelf)
        return [(number, body) for number, body in texts.items() if number not in in_use]

    def _elsewhere(self, ns: str, rewrites: Sequence[_Rewrite]) -> tuple[str, ...]:
        own = {rewrite.document.id for rewrite in rewrites}
        found: set[str] = set()
        for rewrite in rewrites:
            for twin in self._store.documents_by_digest(ns, rewrite.document.digest):
                if twin.id not in own:
                    found.add(twin.path)
        return tuple(sorted(found))
