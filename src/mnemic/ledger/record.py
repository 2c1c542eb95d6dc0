"""Recording, undoing, verifying and erasing: what can be done with a ledger.

`Ledger.record` is the only way in which state changes. It appends one entry that carries the before- and
after-images of every row it touches, and applies the after-images in the same transaction.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mnemic.clock import Clock, Ids, iso, to_ms
from mnemic.errors import Conflict, Damaged, NotFound, QuotaExceeded, Refused
from mnemic.ledger.chain import GENESIS, changes_of, leaf_hash, opened, payload_hash, payload_of
from mnemic.ledger.quota import Quota, adds
from mnemic.ledger.witness import Witness
from mnemic.models.event import Change, Draft, Event, Head, Row, Verdict
from mnemic.store import Store, Transaction
from mnemic.store.schema import TRUTH
from mnemic.text.clean import cleaned

TAKES_BACK = frozenset({"undo", "erase", "restate"})
"""What may bring a row back, or say it again, however full a namespace is."""
State = dict[tuple[str, tuple[str | int, ...]], Row]

NOT_UNDOABLE = {
    "erase": "what was erased is gone for good",
    "restate": "it only says again what stands",
    "rotate": "a document is found on whichever shelf it stands; changing it brings it back",
}


@dataclass(slots=True)
class Ledger:
    """The ledger of a home, over any store."""

    store: Store
    witness: Witness
    clock: Clock
    ids: Ids
    quota: Quota | None = None
    """None: every namespace may hold what it likes."""
    told: Callable[[str], None] = lambda operation: None
    """Told of every commit, by the operation of its last entry."""

    def full(self, namespace: str) -> QuotaExceeded | None:
        """Why nothing may be added to a namespace, if so."""
        return self.quota.over(namespace) if self.quota else None

    def record(self, tx: Transaction, namespace: str, draft: Draft) -> Event:
        """Apply the draft's changes and append its entry, inside the caller's transaction.

        Secrets in the reason are taken out. Raises Conflict where a row is not as its before-image says, QuotaExceeded for
        a new record where there is no room for one, and Damaged where the store lies behind the head that was noted
        outside it: appending would hide that entries were cut off.
        """
        if draft.op not in TAKES_BACK and adds(draft.changes) and (full := self.full(namespace)):
            raise full
        head = tx.head()
        self._refuse_behind(namespace, head)
        payload = payload_of(cleaned(draft.reason).text, draft.note, draft.changes)
        salt = self.ids.token(16)
        event = Event(
            seq=head.seq + 1 if head else 1,
            at=to_ms(self.clock.now()),
            actor=draft.actor,
            origin=draft.origin,
            op=draft.op,
            object=draft.object,
            payload_hash=payload_hash(salt, payload),
            previous=head.hash if head else GENESIS,
            hash="",
            payload=payload,
            salt=salt,
        )
        event = replace(event, hash=leaf_hash(namespace, event))
        tx.apply(draft.changes)
        tx.append(event)
        return event

    def adopt(
        self, tx: Transaction, namespace: str, events: Iterable[Event], *, after: Head | None = None, whole: bool = True
    ) -> Event | None:
        """Append the entries of another home's ledger as they are, and make the rows what they say; returns the last.

        For a namespace that ends with `after`, or has no entries. `whole`: nothing follows, so what was erased must be told.
        Raises Damaged where the entries do not prove themselves.
        """
        last: Event | None = None
        gone, erased = set[int](), set[int]()
        for event in events:
            before = last or after
            expected, previous = (before.seq + 1, before.hash) if before else (1, GENESIS)
            if problem := _leaf_problem(namespace, event, expected, previous, {expected}):
                raise Damaged(f"{problem}: nothing was taken in")
            if event.payload is None:
                gone.add(event.seq)
            else:
                if event.op == "erase":
                    erased |= set(opened(event.payload)["note"].get("erased", ()))
                for change in changes_of(event.payload):
                    # What an erased entry would have made is not there: the row as it is takes its place.
                    current = tx.row(change.table, change.key)
                    if current != change.after:
                        tx.apply([replace(change, before=current)])
            tx.append(event)
            last = event
        if whole and gone - erased:
            raise Damaged(f"the content of entry {min(gone - erased)} is gone, and no erasure says so: nothing was taken in")
        return last

    def committed(self, namespace: str, event: Event) -> None:
        """Note the new head outside the store. Call it right after the commit."""
        self.witness.note(self.store.store_id, namespace, Head(event.seq, event.hash))
        self.told(event.op)

    def _refuse_behind(self, namespace: str, head: Head | None) -> None:
        seen = self.witness.seen(self.store.store_id, namespace)
        if seen is None or not seen.seq or (head is not None and head.seq > seen.seq):  # 0: an empty ledger was accepted
            return
        if head is None or head.seq < seen.seq or head.hash != seen.hash:
            raise Damaged(
                f"the ledger ends at {head.seq if head else 0}, but {seen.seq} was seen before: entries were cut off or"
                " an older copy was put in place; run `mnemic ledger verify`, then `mnemic restore` a backup or"
                " `mnemic ledger accept --reason …`"
            )

    # reading

    def events(self, namespace: str, start: int = 0) -> Iterator[Event]:
        """Every entry after `start`, in order."""
        after = start
        while batch := self.store.events(namespace, after=after, limit=2000):
            yield from batch
            after = batch[-1].seq

    def event(self, namespace: str, seq: int) -> Event:
        """One entry. Raises NotFound."""
        found = self.store.event(namespace, seq)
        if found is None:
            raise NotFound(f"no ledger entry {seq} in namespace {namespace!r}: see `mnemic ledger list`")
        return found

    # proving

    def verify(self, namespace: str, progress: Callable[[int], None] | None = None) -> Verdict:
        """Check the chain, every payload, the head outside, and that the state is what the entries made.

        What fails is looked at once more: only the hot shelf is seen as at one moment, and what moves or is erased on
        another meanwhile would be missed.
        """
        verdict = self._look(namespace, progress)
        return verdict if verdict.ok else self._look(namespace, progress)

    def _look(self, namespace: str, progress: Callable[[int], None] | None) -> Verdict:
        # The head outside is read first: what is written meanwhile is then ahead of it, never behind.
        seen = self.witness.seen(self.store.store_id, namespace)
        with self.store.reading():
            return self._verify(namespace, seen, progress)

    def _verify(self, namespace: str, seen: Head | None, progress: Callable[[int], None] | None) -> Verdict:
        verdict, state = self._verify_chain(namespace, progress)
        if not verdict.ok:
            return verdict
        problem = self._verify_head(namespace, verdict.checked, seen)
        if problem:
            return replace(verdict, ok=False, broken_at=verdict.checked + 1, problem=problem)
        difference = self._differs(namespace, state)
        if difference:
            return replace(verdict, ok=False, problem=difference)
        return replace(verdict, notes=self._notes(namespace, seen))

    def _verify_chain(self, namespace: str, progress: Callable[[int], None] | None) -> tuple[Verdict, State]:
        previous, expected, state = GENESIS, 1, State()
        erased = self._erased(namespace)
        for event in self.events(namespace):
            problem = _leaf_problem(namespace, event, expected, previous, erased)
            if problem:
                return Verdict(False, expected - 1, expected, problem), state
            if event.payload is not None:
                fold(state, changes_of(event.payload))
            previous, expected = event.hash, expected + 1
            if progress and expected % 1000 == 0:
                progress(expected)
        return Verdict(True, expected - 1), state

    def _erased(self, namespace: str) -> set[int]:
        """Numbers of the entries whose payload an erase entry says it removed."""
        gone: set[int] = set()
        for event in self.events(namespace):
            if event.op == "erase" and _content_holds(event):
                gone |= set(opened(event.payload or "")["note"].get("erased", ()))
        return gone

    def _verify_head(self, namespace: str, length: int, seen: Head | None) -> str | None:
        if seen is None or not seen.seq:
            return None
        if seen.seq > length:
            return f"the ledger ends at {length}, but entry {seen.seq} was seen before: truncated or rolled back"
        if self.event(namespace, seen.seq).hash != seen.hash:
            return f"entry {seen.seq} is not the one that was seen before: the ledger was rewritten or replaced"
        return None

    def _notes(self, namespace: str, seen: Head | None) -> tuple[str, ...]:
        if self.witness.problem:
            return (self.witness.problem,)
        if seen is None and self.store.head(namespace):
            return ("no head of this ledger is noted outside the store: a cut-off end would go unseen",)
        return ()

    def _differs(self, namespace: str, state: State) -> str | None:
        for name, table in TRUTH.items():
            for row in self.store.rows(namespace, name):
                key = (name, tuple(row[column] for column in table.key))
                if state.pop(key, None) != row:
                    return f"state differs from the ledger: {name} {_shown(key)} was changed behind its back"
        if state:
            key = min(state, key=repr)
            return f"state differs from the ledger: {key[0]} {_shown(key)} is gone"
        return self._texts_differ(namespace)

    def _texts_differ(self, namespace: str) -> str | None:
        for name, table in TRUTH.items():
            if not table.digests:
                continue
            batch: list[Row] = []
            for row in self.store.rows(namespace, name):
                if row["text_id"] is not None:
                    batch.append(row)
                if len(batch) >= 500:
                    if problem := self._batch_differs(namespace, name, batch):
                        return problem
                    batch = []
            if batch and (problem := self._batch_differs(namespace, name, batch)):
                return problem
        return None

    def _batch_differs(self, namespace: str, name: str, rows: list[Row]) -> str | None:
        wanted = {row["text_id"] for row in rows}
        bodies: dict[int, str] = {}
        for shelf in ("hot", "warm", "cold"):
            bodies |= self.store.texts(namespace, sorted(wanted - bodies.keys()), shelf)
        for row in rows:
            body = bodies.get(row["text_id"])
            if body is None or digest(body) != row["digest"]:
                key = tuple(row[column] for column in TRUTH[name].key)
                what = "is gone" if body is None else "was changed"
                return f"the text of {name} {_shown((name, key))} {what} behind the ledger's back"
        return None

    # taking back

    def undo(self, tx: Transaction, namespace: str, seq: int, *, actor: str, reason: str) -> tuple[Event, list[Change]]:
        """Take one entry back by a new entry, with the entries it names as its parts. Returns it with the changes it made.

        A session that other exchanges stand on stays. Raises Refused if there is nothing to take back, Conflict if a
        later entry changed the same rows.
        """
        event = self.event(namespace, seq)
        if event.op in NOT_UNDOABLE:
            raise Refused(f"entry {seq} ({event.op}) cannot be undone: {NOT_UNDOABLE[event.op]}")
        if event.payload is None:
            raise Refused(f"entry {seq} cannot be undone: its content was erased")
        content = opened(event.payload)
        changes = self._standing(namespace, [change.inverse() for change in reversed(changes_of(event.payload))])
        changes += self._parts(namespace, content["note"])
        if not changes:
            raise Refused(f"entry {seq} ({event.op}) changed nothing that could be undone")
        note = {"undoes": seq, "path": content["note"].get("path")}
        try:
            done = self.record(
                tx, namespace, Draft("undo", event.object, actor, "user", reason, tuple(changes), note)
            )
        except Conflict as error:
            raise Conflict(f"entry {seq} cannot be undone, something later stands on it: {error}") from error
        return done, changes

    def _parts(self, namespace: str, note: Mapping[str, Any]) -> list[Change]:
        """What takes back the entries that a note names as parts, and theirs; those that were taken back already stay so."""
        changes: list[Change] = []
        for seq in sorted(note.get("parts", ()), reverse=True):
            event = self.event(namespace, seq)
            if event.payload is None:
                raise Refused(f"entry {seq}, a part of it, cannot be undone: its content was erased")
            if not self.undone_by(namespace, event):
                changes += [change.inverse() for change in reversed(changes_of(event.payload))]
                changes += self._parts(namespace, opened(event.payload)["note"])
        return changes

    def _standing(self, namespace: str, changes: list[Change]) -> list[Change]:
        """The changes without those that take a session from under its other exchanges."""
        gone = {change.key[0] for change in changes if change.table == "documents" and change.after is None}
        kept: list[Change] = []
        for change in changes:
            if change.table == "sessions" and change.after is None:
                last = self.store.session_documents(namespace, str(change.key[0]), len(gone) + 1)
                if any(document.path not in gone for document in last):
                    continue
            kept.append(change)
        return kept

    def undone_by(self, namespace: str, event: Event) -> int | None:
        """The entry that took this one back, if it was taken back and stays so."""
        for later in self.store.events(namespace, after=event.seq, object=event.object, limit=1_000_000):
            if later.op == "undo" and later.payload is not None and opened(later.payload)["note"]["undoes"] == event.seq:
                return None if self.undone_by(namespace, later) else later.seq
        return None


def fold(state: State, changes: tuple[Change, ...]) -> None:
    """Apply after-images to a state in memory."""
    for change in changes:
        if change.after is None:
            state.pop((change.table, change.key), None)
        else:
            state[change.table, change.key] = change.after


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal: how rows of truth name the text they mean."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def erasure_mac(key: bytes, text: str) -> str:
    """The keyed digest by which an erased text is recognised without being kept."""
    return hmac.new(key, digest(text).encode(), hashlib.sha256).hexdigest()


def window_object(key: bytes, session: str) -> str:
    """How entries about the summaries of a session name it: without its name, and the same for all of them."""
    return f"window:{erasure_mac(key, session)[:24]}"


def shown(event: Event) -> dict[str, Any]:
    """An entry as every surface shows it."""
    content = opened(event.payload) if event.payload is not None else None
    return {
        "seq": event.seq,
        "at": iso(event.at),
        "actor": event.actor,
        "origin": event.origin,
        "op": event.op,
        "object": event.object,
        "path": content["note"].get("path") if content else None,
        "reason": content["reason"] if content else None,
        "erased": content is None,
        "hash": event.hash,
        "previous": event.previous,
        "payload_hash": event.payload_hash,
    }


def _leaf_problem(namespace: str, event: Event, expected: int, previous: str, erased: set[int]) -> str | None:
    if event.seq != expected:
        return f"entry {expected} is missing"
    if event.previous != previous:
        return f"entry {expected} does not follow the one before it: something was changed, removed or reordered"
    if leaf_hash(namespace, event) != event.hash:
        return f"entry {expected} does not match its hash"
    if event.payload is None or event.salt is None:
        return None if expected in erased else f"the content of entry {expected} is gone, and no erasure says so"
    if not _content_holds(event):
        return f"the content of entry {expected} does not match its hash"
    return None


def _content_holds(event: Event) -> bool:
    if event.payload is None or event.salt is None:
        return False
    return payload_hash(event.salt, event.payload) == event.payload_hash


def _shown(key: tuple[str, tuple[str | int, ...]]) -> str:
    return repr("/".join(map(str, key[1])))
