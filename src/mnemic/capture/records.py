"""Texts under keys, as a file store or a key-value store keeps them, over documents of ours.

What other frameworks call a memory file, a store's item, a session's item or a mem0 memory is a record here: a key of
a few parts, a *head* of any JSON for what only its own surface reads, and a *body*, which recall finds. Both lie in one
document, the head as its frontmatter, so that erasing it leaves nothing behind and undoing brings back the whole.

What is taken out is forgotten like any other text: hidden, and in the ledger. What a person forgot does not come back
by being written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.capture.forget import Forgetting
from mnemic.capture.intake import Intake, Note
from mnemic.clock import from_ms
from mnemic.errors import BadInput, Refused
from mnemic.knowledge.origin import actor
from mnemic.ledger.chain import canonical
from mnemic.ledger.served import texts_of
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import Document
from mnemic.models.event import Origin
from mnemic.models.record import Key, Record
from mnemic.store import Store
from mnemic.text.clean import cleaned
from mnemic.text.tree import slug

GONE = "taken out through the surface that wrote it"
SCHEME = "record:"
"""Leads the source of a record's document; the rest is its key."""
_OPEN, _CLOSE = "---\nrecord: ", "\n---\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record on its way in."""

    key: Key
    """Its parts: the first names the surface's folder. All keys of a surface have as many, for what stands at a path is
    no folder: to forget it would hide what lies in it."""
    body: str = ""
    head: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    channel: Origin = "agent"


class Records:
    """The records of one namespace."""

    def __init__(
        self, store: Store, intake: Intake, forgetting: Forgetting, namespace: str, *, settle: Callable[[], object],
        redact: bool,
    ) -> None:  # fmt: skip
        """`settle` is called after what was written, to index it."""
        self._store, self._intake, self._forgetting = store, intake, forgetting
        self._ns, self._settle, self._redact = namespace, settle, redact

    def get(self, key: Key) -> Record | None:
        """The record of a key, or None. Raises nothing for a text that was edited behind the ledger's back: it is not there."""
        with self._store.reading():
            document = self._store.document_by_source(self._ns, _source(key))
            return next(iter(self._read([document])), None) if document else None

    def below(self, prefix: Key, wanted: Callable[[Key], bool] = lambda key: True) -> list[Record]:
        """The records whose keys begin so and are wanted, in the order in which they first came."""
        with self._store.reading():
            documents = self._store.documents(self._ns, below=path_of(prefix), limit=1_000_000)
            keyed = [(one, key) for one in documents if (key := _key(one)) is not None]
            mine = [one for one, key in keyed if key[: len(prefix)] == prefix and wanted(key)]
            return self._read(sorted(mine, key=lambda one: one.id))

    def put(self, *entries: Entry) -> list[Record]:
        """Write records, each in place of the one of its key. Secrets are replaced.

        Raises BadInput for a key or text that cannot be stored, Refused for what a person forgot or erased, QuotaExceeded.
        """
        texts = [self._text(entry) for entry in entries]
        try:
            return [self._put(entry, text) for entry, text in zip(entries, texts, strict=True)]
        finally:
            self._settle()

    def remove(self, *keys: Key, channel: Origin = "agent") -> int:
        """Hide records; how many were there."""
        found = [record for key in keys if (record := self.get(key))]
        for record in found:
            self._forgetting.forget(self._ns, record.path, reason=GONE, actor=actor(channel), origin=channel)
        return len(found)

    # parts

    def _put(self, entry: Entry, text: str) -> Record:
        source = _source(entry.key)
        before = self._store.document_by_source(self._ns, source)
        alive = self._checked(entry, before)
        note = Note(
            text=text, title=entry.title or entry.key[-1], kind="record", path=path_of(entry.key), source=source,
            at=before.created_at if before and alive else None,  # one that was taken out begins anew
            origin=entry.channel, actor=actor(entry.channel),
        )  # fmt: skip
        receipt = self._intake.remember(self._ns, note)
        if receipt.path is None:
            raise Refused(f"{_shown(entry.key)} was not stored: {receipt.reason}")
        self._forgetting.restore(self._ns, receipt.path, reason=GONE, actor=actor(entry.channel), origin=entry.channel)
        record = self.get(entry.key)
        if record is None:
            raise Refused(f"{_shown(entry.key)} was taken out while it was written: repeat")
        return record

    def _checked(self, entry: Entry, before: Document | None) -> bool:
        """Whether it is there. Raises Refused where a person forgot it, or what it lies in."""
        where = before.path if before else path_of(entry.key)
        by = hidden_by(where, self._store.forgotten(self._ns))
        if by is None:
            return before is not None
        row = self._store.row(self._ns, "visibility", (where,)) if by == where else None
        if row is None or (before is not None and row["reason"] != GONE):
            raise Refused(f"{_shown(entry.key)} was forgotten by a person and stays so: choose another name")
        return False

    def _read(self, documents: Sequence[Document]) -> list[Record]:
        hidden = self._store.forgotten(self._ns)
        shown = [one for one in documents if hidden_by(one.path, hidden) is None]
        texts = texts_of(self._store, self._ns, shown)
        return [_record(one, texts[one.id]) for one in shown if texts.get(one.id, "").startswith(_OPEN)]

    def _text(self, entry: Entry) -> str:
        if not entry.key or not all(isinstance(part, str) and part for part in entry.key):
            raise BadInput(f"the key {entry.key!r} cannot be used: give texts that are not empty")
        if any(self._clean(part) != part for part in entry.key):
            raise BadInput("a secret, or what cannot be stored, stands in the key: choose another name")
        try:
            head = self._clean(json.dumps(_each(entry.head, self._clean), ensure_ascii=False))
            json.loads(head)
        except TypeError as error:
            raise BadInput(f"{_shown(entry.key)} cannot be stored: {error}; give what JSON can hold") from None
        except ValueError:
            raise BadInput(f"{_shown(entry.key)} holds a secret that cannot be taken out alone: leave it out") from None
        text = f"{_OPEN}{head}{_CLOSE}{self._clean(entry.body)}"
        if self._clean(text) != text:
            raise BadInput(f"{_shown(entry.key)} holds a secret that cannot be taken out alone: leave it out")
        return text

    def _clean(self, text: str) -> str:
        return cleaned(text, redact=self._redact).text


def path_of(key: Key) -> str:
    """Where the records of a key, or of keys that begin so, stand in the tree."""
    return "".join(f"/{slug(part)}" for part in key)


def _source(key: Key) -> str:
    return SCHEME + canonical(list(key))


def _key(document: Document) -> Key | None:
    source = document.source or ""
    return tuple(json.loads(source.removeprefix(SCHEME))) if source.startswith(SCHEME) else None


def _record(document: Document, text: str) -> Record:
    head, _, body = text.removeprefix(_OPEN).partition(_CLOSE)
    return Record(
        key=_key(document) or (), head=json.loads(head), body=body, path=document.path, origin=document.origin,
        created_at=from_ms(document.created_at), updated_at=from_ms(document.recorded_at),
    )  # fmt: skip


def _each(value: Any, clean: Callable[[str], str]) -> Any:
    """JSON with each of its texts made clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(name)): _each(item, clean) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_each(item, clean) for item in value]
    return value


def _shown(key: Key) -> str:
    return repr("/".join(key))[:200]
