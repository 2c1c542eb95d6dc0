"""From text to stored memory, in one transaction.

    clean (frames out, secrets out) → known already? → {text, document, messages, nodes, full text, event} → commit

After the commit the text is durable and found by words. Vectors follow through the queue (`indexing`).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from mnemic.capture.trees import document_nodes, exchange_nodes, note_nodes
from mnemic.clock import Clock, from_ms, iso, to_ms
from mnemic.errors import BadInput, Conflict, QuotaExceeded
from mnemic.ledger import Ledger, canonical
from mnemic.ledger.record import digest, erasure_mac
from mnemic.ledger.served import checked, intact
from mnemic.lifecycle import Rotation
from mnemic.models.document import Document, Message, Turn
from mnemic.models.event import Actor, Change, Draft, Event, Origin
from mnemic.models.receipt import CaptureReport, Receipt
from mnemic.settings import CaptureSettings
from mnemic.store import Store, Transaction, repeated
from mnemic.text.clean import Cleaned, cleaned, encodable
from mnemic.text.tree import slug

ROLES = ("user", "assistant", "tool", "function", "system", "developer")
SKIPPED = ("system", "developer")
"""Instructions to the model are not conversation: what mnemic itself put into a prompt is among them."""
FOLDERS = {"note": "notes", "file": "files"}
TITLE_CHARS = 80
TITLE_LIMIT = 200
"""A given title is kept up to here; more of it is text."""
MOMENTS = (-62_135_596_800_000, 253_402_300_799_999)
"""Years 1 to 9999 in ms: what a calendar can show."""
EXCHANGE_MESSAGES = 60
"""An exchange of an agent that works for hours is cut here, so that no document grows without bound (000 §6)."""

BATCH = 20
"""Exchanges that share a commit: each waits for the disk, which takes longer than all else that is done for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text to remember as one document."""

    text: str
    title: str = ""
    kind: str = "note"
    context: str = ""
    at: int | None = None
    importance: float | None = None
    source: str | None = None
    origin: Origin = "user"
    actor: Actor = "user"
    op_id: str | None = None
    allow_erased: bool = False
    path: str = ""
    """The path it should have; else its kind and title make one. A document of the same source moves there."""
    was: str | None = None
    """The source it was read from before it was moved."""
    reason: str = ""
    """Why it is remembered, for the ledger."""
    follows: bool = False
    """Whether it is a file that is there whatever memory says: what is known of it follows it, also in a full namespace."""


@dataclass(frozen=True, slots=True)
class _Said:
    """An exchange as it may be stored: its turns that have words, and what was taken out of them."""

    kept: list[tuple[Turn, str]]
    redacted: int
    frames: bool

    def nothing(self) -> Receipt:
        """What an exchange without words is answered."""
        frames = "only recalled frames were in it; they are in memory already"
        return Receipt("nothing", reason=frames if self.frames else "there was no text in it")


class Intake:
    """Writes documents. Holds no state between calls but its settings."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock, settings: CaptureSettings) -> None:
        self._store, self._ledger, self._clock, self._settings = store, ledger, clock, settings
        self._rotation = Rotation(store, ledger, clock)

    # notes and files

    def remember(self, ns: str, note: Note) -> Receipt:
        """Store one text as a document. Raises BadInput for what cannot be stored, QuotaExceeded where there is no room;
        everything else is a receipt."""
        return repeated(lambda: self._remember(ns, note))

    def _remember(self, ns: str, note: Note) -> Receipt:
        note = self._checked_note(note)
        clean = self._clean(note.text)
        if not clean.text.strip():
            why = "only a recalled frame was given; it is in memory already" if clean.frames else "the text is empty"
            return Receipt("nothing", reason=why, op_id=note.op_id)
        title = self._line(note.title)[:TITLE_LIMIT] or title_of(clean.text)
        request = digest(canonical([clean.text, title, note.kind, note.context, note.at, note.importance]))
        if done := self._done(ns, note.op_id, request):
            return done
        event: Event | None = None
        source = note.was or note.source
        earlier = self._store.document_by_source(ns, source) if source else None
        if earlier and (note.was is not None or earlier.digest != digest(clean.text)):
            self._rotation.fetch(ns, earlier)
        with self._store.write(ns) as tx:
            # Looked up again under the write lock: another process may have stored the same in between.
            receipt = self._done(ns, note.op_id, request) or self._known(ns, note, clean, title)
            if receipt is None:
                event, receipt = self._store_note(tx, ns, note, clean, title)
                if note.op_id:
                    document = int(event.object.split(":")[1])
                    tx.remember_operation(note.op_id, request, canonical(asdict(receipt)), document)
        if event:
            self._ledger.committed(ns, event)
        return receipt

    def _checked_note(self, note: Note) -> Note:
        if slug(note.kind) != note.kind:
            raise BadInput(f"kind {note.kind[:50]!r} cannot be a folder: use lower-case letters, digits and hyphens")
        if note.importance is not None and not 0 <= note.importance <= 1:
            raise BadInput(f"importance {note.importance!r} is out of range: give 0 to 1")
        _check_moment(note.at, "the text")
        source = None if note.source is None else encodable(note.source)
        return replace(note, context=self._line(note.context), source=source)

    def _done(self, ns: str, op_id: str | None, request: str) -> Receipt | None:
        found = self._store.operation(ns, op_id) if op_id else None
        if found is None:
            return None
        if found[0] != request:
            raise Conflict(f"operation {op_id!r} was already used for another text: choose a fresh --op-id")
        first = Receipt(**json.loads(found[1]))
        event = self._store.event(ns, first.seq) if first.seq else None
        undo = self._ledger.undone_by(ns, event) if event else None
        if undo:
            why = (
                f"operation {op_id} was done and then undone in entry {undo}: `mnemic undo {undo}` brings it back,"
                " a fresh --op-id stores it anew"
            )
            return Receipt("rejected", redacted=first.redacted, reason=why, op_id=op_id)
        return replace(first, status="duplicate", reason=f"operation {op_id} was already done")

    def _known(self, ns: str, note: Note, clean: Cleaned, title: str) -> Receipt | None:
        text_digest = digest(clean.text)
        mac = self._mac(ns, clean.text)
        erased = None if note.allow_erased else self._store.when_erased(ns, [mac]).get(mac)
        if erased is not None:
            why = f"this text was erased on {iso(erased)}; it comes back only with --allow-erased"
            return Receipt("rejected", redacted=clean.redacted, reason=why, op_id=note.op_id)
        at = self._now() if note.at is None else note.at
        for twin in self._store.documents_by_digest(ns, text_digest):
            if (twin.kind, twin.title, twin.context, twin.source) != (note.kind, title, note.context, note.source):
                continue
            if note.source is not None or _day(twin.created_at) == _day(at):
                why = "the same text is already there" + (" from the same day" if note.source is None else "")
                count = len(self._store.nodes(ns, twin.id, twin.shelf))
                return Receipt("duplicate", twin.path, count, clean.redacted, why, note.op_id)
        return None

    def _store_note(self, tx: Transaction, ns: str, note: Note, clean: Cleaned, title: str) -> tuple[Event, Receipt]:
        source = note.was or note.source
        before = self._store.document_by_source(ns, source) if source else None
        _check_hot(before)
        now = self._now()
        text_id = tx.allocate("texts")
        document = Document(
            id=before.id if before else tx.allocate("documents"),
            path=self._place(ns, note, title, before),
            kind=note.kind,
            title=title,
            context=note.context,
            origin=note.origin,
            importance=0.5 if note.importance is None else note.importance,
            session=None,
            text_id=text_id,
            digest=digest(clean.text),
            source=note.source,
            created_at=now if note.at is None else note.at,
            recorded_at=now,
            shelf="hot",
        )
        draft = Draft(
            "revise" if before else "remember", f"document:{document.id}", note.actor, note.origin, note.reason,
            changes=tuple(self._changes(ns, before, document)), note={"path": document.path, "redacted": clean.redacted},
        )  # fmt: skip
        nodes = note_nodes(document, clean.text)
        self._refuse_full(ns, note, before, len(nodes))
        event = self._ledger.record(tx, ns, draft)
        tx.add_text(text_id, document.id, clean.text)
        ids = tx.replace_nodes(document.id, nodes)
        tx.enqueue(document.id, now)
        return event, Receipt("stored", document.path, len(ids), clean.redacted, None, note.op_id, event.seq)

    def _refuse_full(self, ns: str, note: Note, before: Document | None, nodes: int) -> None:
        """Raises QuotaExceeded for what would add nodes to a full namespace; a revision that adds none may pass."""
        full = self._ledger.full(ns)
        if full and not (before and (note.follows or nodes <= len(self._store.nodes(ns, before.id)))):
            raise full

    def _place(self, ns: str, note: Note, title: str, before: Document | None) -> str:
        wanted = note.path or (before.path if before else f"/{FOLDERS.get(note.kind, note.kind)}/{slug(title)}")
        if before and (before.path == wanted or re.fullmatch(re.escape(wanted) + r"~\d+", before.path)):
            return before.path
        return self.free_path(ns, wanted)

    def _changes(self, ns: str, before: Document | None, document: Document) -> list[Change]:
        """From one row of a document to the next; where it moves, what hides it moves along."""
        if before is None or before.path == document.path:
            return [Change("documents", (document.path,), asdict(before) if before else None, asdict(document))]
        changes = [
            Change("documents", (before.path,), asdict(before), None),
            Change("documents", (document.path,), None, asdict(document)),
        ]
        if hidden := self._store.row(ns, "visibility", (before.path,)):
            changes.append(Change("visibility", (before.path,), hidden, None))
            changes.append(Change("visibility", (document.path,), None, {**hidden, "path": document.path}))
        return changes

    def free_path(self, ns: str, wanted: str) -> str:
        """The wanted path, or its first twin that no document has and that was not forgotten."""
        path, twin = wanted, 1
        while self._store.document(ns, path) is not None or self._store.row(ns, "visibility", (path,)) is not None:
            twin += 1
            path = f"{wanted}~{twin}"
        return path

    # conversations

    def capture(
        self, ns: str, turns: Sequence[Turn], *, session: str | None = None, title: str = "", context: str = "",
        origin: Origin = "user", actor: Actor = "agent",
    ) -> CaptureReport:  # fmt: skip
        """Store a conversation exchange by exchange; each has its entry in the ledger, and BATCH share a commit.

        A turn's own session wins over `session`; with neither, the conversation is named after its first words.
        Everything is checked before anything is stored. Raises BadInput for an unknown role or a text over the limit, and
        QuotaExceeded where there is no room; of a long conversation the batches before that stay.
        """
        checked = [self._checked(place, turn) for place, turn in enumerate(turns, 1)]
        context, title = self._line(context), self._line(title)[:TITLE_LIMIT]
        receipts: list[Receipt] = []
        sessions, stored = set[str](), 0
        for name, group in _sessions(checked, encodable(session) if session else self._session_name(ns, checked)):
            sessions.add(name)
            spoken = [turn for turn in group if turn.role not in SKIPPED]
            if len(spoken) < len(group):
                receipts.append(Receipt("nothing", reason="instructions to the model are not remembered"))
            cut = [self._said(exchange) for exchange in exchanges(spoken)]
            for start in range(0, len(cut), BATCH):
                some = cut[start : start + BATCH]
                batch = repeated(partial(self._batch, ns, name, some, title, context, origin, actor))
                receipts += [receipt for receipt, _ in batch]
                stored += sum(count for _, count in batch)
        kept = sum(receipt.status in ("stored", "queued") for receipt in receipts)
        return CaptureReport(len(sessions), kept, stored, tuple(receipts))

    def _checked(self, place: int, turn: Turn) -> Turn:
        if turn.role not in ROLES:
            raise BadInput(f"message {place}: role {turn.role!r} is unknown; use one of {', '.join(ROLES)}")
        self._within_limit(turn.content, f"message {place}")
        _check_moment(turn.created_at, f"message {place}")
        session = None if turn.session is None else encodable(turn.session)
        return replace(turn, name=self._line(turn.name), session=session)

    def _said(self, turns: Sequence[Turn]) -> _Said:
        pairs = [(turn, self._clean(turn.content)) for turn in self._unframed(turns)]
        kept = [(turn, clean.text) for turn, clean in pairs if clean.text.strip()]
        return _Said(kept, sum(clean.redacted for _, clean in pairs), any(clean.frames for _, clean in pairs))

    def _batch(
        self, ns: str, session: str, batch: Sequence[_Said], title: str, context: str, origin: Origin, actor: Actor
    ) -> list[tuple[Receipt, int]]:
        """Store some exchanges in one transaction: all of them or, where it fails, none. With how many messages each has."""
        if not any(said.kept for said in batch):
            return [(said.nothing(), 0) for said in batch]
        for said in batch:
            self._fetch_grown(ns, session, said.kept)
        done: list[tuple[Receipt, int]] = []
        last: Event | None = None
        with self._store.write(ns) as tx:
            full = self._ledger.full(ns)
            for said in batch:
                event, receipt, count = self._exchange(tx, ns, session, said, title, context, origin, actor, full)
                last = event or last
                done.append((receipt, count))
        if last:
            self._ledger.committed(ns, last)
        return done

    def _fetch_grown(self, ns: str, session: str, kept: list[tuple[Turn, str]]) -> None:
        """Bring the exchange that these turns continue back to the hot shelf."""
        last = next(iter(self._store.session_documents(ns, session, 1)), None)
        if kept and last is not None and last.shelf != "hot":
            before, _, known = self._continued(ns, session, kept)
            if before and known < len(kept):
                self._rotation.fetch(ns, before)

    def _exchange(
        self, tx: Transaction, ns: str, session: str, said: _Said, title: str, context: str, origin: Origin, actor: Actor,
        full: QuotaExceeded | None,
    ) -> tuple[Event | None, Receipt, int]:  # fmt: skip
        if not said.kept:
            return None, said.nothing(), 0
        # Asked under the write lock: an erasure may be going on in another process.
        known = self._store.erasure_key_of(ns)
        macs = [erasure_mac(known, text) for _, text in said.kept]
        erased = self._store.when_erased(ns, macs)
        fresh = [pair for pair, mac in zip(said.kept, macs, strict=True) if mac not in erased]
        if not fresh:
            why = "this text was erased and must not come back"
            return None, Receipt("rejected", redacted=said.redacted, reason=why), 0
        event, receipt, count = self._store_exchange(tx, ns, session, fresh, title, context, origin, actor, full)
        lost = len(said.kept) - len(fresh)
        left_out: str | None = f"{lost} erased message{'s' if lost > 1 else ''} left out" if lost else None
        return event, replace(receipt, redacted=said.redacted, reason=left_out or receipt.reason), count

    def _store_exchange(
        self, tx: Transaction, ns: str, session: str, said: list[tuple[Turn, str]], title: str, context: str,
        origin: Origin, actor: Actor, full: QuotaExceeded | None,
    ) -> tuple[Event | None, Receipt, int]:  # fmt: skip
        now = self._now()
        marks = [_mark(turn.role, turn.name, digest(text)) for turn, text in said]
        created = min((turn.created_at for turn, _ in said if turn.created_at is not None), default=now)
        for twin in self._store.documents_by_digest(ns, _joined(marks)):
            if twin.session == session and _day(twin.created_at) == _day(created):
                why = "the same exchange is already there from the same day"
                return None, Receipt("duplicate", twin.path, len(self._store.nodes(ns, twin.id, twin.shelf)), reason=why), 0
        before, old, known = self._continued(ns, session, said)
        if before and known == len(said):
            why = "the same messages are already there"
            count = len(self._store.nodes(ns, before.id, before.shelf))
            return None, Receipt("duplicate", before.path, count, reason=why), 0
        if full:
            raise full
        _check_hot(before)
        bodies = self._store.texts(ns, [item.text_id for item in old])
        if before and not intact(self._store, ns, before.id, bodies):
            before, old, known, bodies = None, [], 0, {}  # its tree would show what was put in place of a text
        said = said[known:]
        wanted = {"texts": len(said), canonical(["messages", ns, session]): len(said)}
        if before is None:
            wanted |= {"documents": 1, canonical(["exchanges", ns, session]): 1}
        texts, first, *fresh = tx.allocate_each(wanted)
        number, place = (before.id, 0) if before else fresh
        new = [
            Message(session, first + at, number, turn.role, turn.name, texts + at, digest(text),
                    created if turn.created_at is None else turn.created_at)
            for at, (turn, text) in enumerate(said)
        ]  # fmt: skip
        messages = [*old, *new]
        document = before or Document(
            id=number,
            path=self.free_path(ns, f"/sessions/{session_slug(session)}/{place}"),
            kind="exchange",
            title=title_of(said[0][1]),
            context=context,
            origin=origin,
            importance=0.5,
            session=session,
            text_id=None,
            digest="",
            source=None,
            created_at=created,
            recorded_at=now,
            shelf="hot",
        )
        document = replace(document, digest=exchange_digest(messages))
        changes = [Change("documents", (document.path,), asdict(before) if before else None, asdict(document))]
        changes += [Change("messages", (item.session, item.seq), None, asdict(item)) for item in new]
        if self._store.row(ns, "sessions", (session,)) is None:
            row = {"id": session, "title": title or title_of(said[0][1]), "context": context, "origin": origin,
                   "started_at": created, "recorded_at": now}  # fmt: skip
            changes.insert(0, Change("sessions", (session,), None, row))
        draft = Draft(
            "extend" if before else "capture", f"document:{document.id}", actor, origin, changes=tuple(changes),
            note={"path": document.path, "session": session},
        )  # fmt: skip
        event = self._ledger.record(tx, ns, draft)
        for item, (_, text) in zip(new, said, strict=True):
            tx.add_text(item.text_id, document.id, text)
            bodies[item.text_id] = text
        ids = tx.replace_nodes(document.id, exchange_nodes(document, messages, bodies))
        tx.enqueue(document.id, now)
        return event, Receipt("stored", document.path, len(ids), seq=event.seq), len(new)

    def _continued(
        self, ns: str, session: str, said: list[tuple[Turn, str]]
    ) -> tuple[Document | None, list[Message], int]:
        """The exchange that these turns continue, its messages, and how many of the turns it holds already.

        That is the session's last one: where they begin as it does (a transcript that has grown, or the same again),
        or where they do not begin with the user (an answer that came after an idle flush).
        """
        last = next(iter(self._store.session_documents(ns, session, 1)), None)
        if last is None or last.kind != "exchange":
            return None, [], 0
        old = self._store.messages(ns, document=last.id)
        if _same(old, said[: len(old)]):
            return last, old, len(old)
        if len(said) < len(old) and _same(old[: len(said)], said):
            return last, old, len(said)
        if said[0][0].role == "user":
            return None, [], 0
        known = next((n for n in range(min(len(old), len(said)), 0, -1) if _same(old[-n:], said[:n])), 0)
        room = len(old) + len(said) - known <= EXCHANGE_MESSAGES
        return (last, old, known) if room or known == len(said) else (None, [], 0)

    def replant(self, tx: Transaction, ns: str, number: int) -> int:
        """Make a document's tree anew from what is stored, or take it out if the document is gone; returns its size.

        Raises Damaged where a text is not what was recorded: the tree would show it.
        """
        document = self._store.document_by_id(ns, number)
        if document is None:
            tx.replace_nodes(number, ())
            return 0
        messages = self._store.messages(ns, document=number)
        ids = [item.text_id for item in messages] if document.text_id is None else [document.text_id]
        bodies = self._store.texts(ns, ids, document.shelf)
        checked(self._store, ns, number, document.path, bodies)
        count = len(tx.replace_nodes(number, document_nodes(document, messages, bodies), document.shelf))
        tx.enqueue(number, self._now())
        return count

    def replanted(self, ns: str, document: Document) -> None:
        """`replant` a document wherever it is. On another shelf a tree that is as it should be stays; else it comes back."""
        if document.shelf != "hot":
            messages = self._store.messages(ns, document=document.id)
            ids = [item.text_id for item in messages] if document.text_id is None else [document.text_id]
            bodies = self._store.texts(ns, ids, document.shelf)
            checked(self._store, ns, document.id, document.path, bodies)
            if self._store.same_tree(ns, document.id, document_nodes(document, messages, bodies), document.shelf):
                with self._store.write(ns) as tx:
                    tx.enqueue(document.id, self._now())
                return
            self._rotation.fetch(ns, document)
        with self._store.write(ns) as tx:
            self.replant(tx, ns, document.id)

    # cleaning

    def cleaned(self, text: str) -> str:
        """A text as it would be stored: without secrets and without what memory itself put into it."""
        return self._clean(text).text

    def _unframed(self, turns: Sequence[Turn]) -> list[Turn]:
        """The turns without frames of ours that a client split over several messages of one speaker."""
        if len(turns) < 2 or "memory-recall" not in "".join(turn.content for turn in turns):
            return list(turns)
        from mnemic.text.frame import strip_parts

        found = list[Turn]()
        for _, group in itertools.groupby(turns, lambda turn: (turn.role, turn.name)):
            run = list(group)
            texts, _ = strip_parts([turn.content for turn in run])
            found += [replace(turn, content=text) for turn, text in zip(run, texts, strict=True)]
        return found

    def _clean(self, text: str) -> Cleaned:
        self._within_limit(text, "the text")
        return cleaned(text, redact=self._settings.redact)

    def _within_limit(self, text: str, what: str) -> None:
        limit = self._settings.max_chars
        if len(text) > limit:
            raise BadInput(
                f"{what} has {len(text):,} characters, the limit is {limit:,} (capture.max_chars): split it and repeat"
            )

    def _line(self, text: str) -> str:
        """A name or title: one line, without secrets and frames."""
        return " ".join(self._clean(text).text.split())

    def _session_name(self, ns: str, turns: Sequence[Turn]) -> str:
        """A name that is the same when the same conversation comes again; its words cannot be guessed from it."""
        first = next((turn for turn in turns if turn.role not in SKIPPED), None)
        return f"conversation-{self._mac(ns, encodable(first.content))[:12]}" if first else "conversation"

    def _mac(self, ns: str, text: str) -> str:
        return erasure_mac(self._store.erasure_key_of(ns), text)

    def _now(self) -> int:
        return to_ms(self._clock.now())


def exchanges(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Cut a conversation into exchanges: what the user says, and all that answers it, at most 60 messages."""
    current: list[Turn] = []
    for turn in turns:
        answered = turn.role == "user" and any(earlier.role != "user" for earlier in current)
        if answered or len(current) >= EXCHANGE_MESSAGES:
            yield current
            current = []
        current.append(turn)
    if current:
        yield current


def session_slug(session: str) -> str:
    """The path segment of a session: its id where that is one already, else a slug that stays unique."""
    name = slug(session)
    return name if name == session else f"{name}-{digest(session)[:6]}"


def _sessions(turns: Sequence[Turn], default: str) -> Iterator[tuple[str, list[Turn]]]:
    """Runs of turns of one session, in order."""
    name, group = "", list[Turn]()
    for turn in turns:
        own = turn.session or default
        if group and own != name:
            yield name, group
            group = []
        name = own
        group.append(turn)
    if group:
        yield name, group


def _mark(role: str, name: str, text_digest: str) -> str:
    return f"{role}\0{name}\0{text_digest}"


def exchange_digest(messages: Sequence[Message]) -> str:
    """The digest of an exchange: of who said what, in order."""
    return _joined([_mark(item.role, item.name, item.digest) for item in messages])


def _joined(marks: Sequence[str]) -> str:
    return digest("\n".join(marks))


def title_of(text: str) -> str:
    """A title for a text that has none: its first line with words, cut at a word."""
    for line in text[:4_000].splitlines():
        if words := " ".join(line.strip().lstrip("#>*-+ \t").split()):
            if len(words) <= TITLE_CHARS:
                return words
            cut = words.rfind(" ", TITLE_CHARS // 2, TITLE_CHARS)
            return words[: cut if cut > 0 else TITLE_CHARS] + "…"
    return "untitled"


def _check_hot(document: Document | None) -> None:
    if document is not None and document.shelf != "hot":
        raise Conflict(f"{document.path!r} was moved to the {document.shelf} shelf meanwhile: repeat")


def _day(ms: int) -> str:
    return from_ms(ms).date().isoformat()


def _check_moment(at: int | None, what: str) -> None:
    if at is not None and not MOMENTS[0] <= at <= MOMENTS[1]:
        raise BadInput(f"{what}: the time {at!r} is in no year from 1 to 9999: give milliseconds since 1970")


def _same(stored: Sequence[Message], said: Sequence[tuple[Turn, str]]) -> bool:
    """Whether these turns are these messages: said by the same, in the same words, at the same time if that is told."""
    return len(stored) == len(said) and all(
        (item.role, item.name, item.digest) == (turn.role, turn.name, digest(text))
        and turn.created_at in (None, item.created_at)
        for item, (turn, text) in zip(stored, said, strict=True)
    )
