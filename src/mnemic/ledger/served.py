"""The last look before a text leaves memory: it must be the one that its row of truth names.

Texts stand outside the rows that the ledger replays; the rows hold their digests. So an edit of a stored text behind
the ledger's back shows here, at the price of one SHA-256 and one indexed read, and not only when somebody verifies.
(An attacker who also edits the digest is found by `ledger verify`.) What is known (facts, concerns, experiences) has its
texts in the rows: such a row is held against the image that the last entry about it carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mnemic.errors import Damaged
from mnemic.ledger.chain import images_in
from mnemic.ledger.record import digest
from mnemic.models.document import Document
from mnemic.models.event import Event, Row
from mnemic.store import Store

NEXT = "run `mnemic ledger verify`, then restore a backup with `mnemic restore FILE`"


def served(store: Store, ns: str, wanted: Iterable[tuple[str, int, int | None]]) -> dict[int, str]:
    """Texts by id, each asked for by its shelf, its document and its id; none that is not what was recorded, or not there."""
    shelves: dict[str, dict[int, int]] = {}
    for shelf, document, text_id in wanted:
        if text_id is not None:
            shelves.setdefault(shelf, {})[text_id] = document
    found: dict[int, str] = {}
    for shelf, homes in shelves.items():
        texts: dict[int, dict[int, str]] = {}
        for text_id, body in store.texts(ns, sorted(homes), shelf).items():
            texts.setdefault(homes[text_id], {})[text_id] = body
        found |= recorded(store, ns, texts)
    return found


def texts_of(store: Store, ns: str, documents: Sequence[Document]) -> dict[int, str]:
    """The text of each document, by its id, but for what is not as it was recorded: `doctor` names that."""
    found = served(store, ns, ((one.shelf, one.id, one.text_id) for one in documents))
    return {one.id: found[one.text_id] for one in documents if one.text_id in found}


def recorded(store: Store, ns: str, texts: Mapping[int, Mapping[int, str]]) -> dict[int, str]:
    """Of texts by document and id those, by id, that are what was recorded."""
    known = store.text_digests(ns, texts)
    return {
        text_id: body
        for document, bodies in texts.items()
        for text_id, body in bodies.items()
        if known.get(document, {}).get(text_id) == digest(body)
    }


def intact(store: Store, ns: str, document: int, bodies: Mapping[int, str]) -> bool:
    """Whether these texts of a document, by their ids, are what was recorded."""
    return len(recorded(store, ns, {document: bodies})) == len(bodies)


def images(
    store: Store, ns: str, object: str, table: str, key: tuple[str | int, ...], last: Event | None = None
) -> Iterator[Row]:
    """What the entries about an object say they left of a row, the latest first; `last` is the last of them, if known.

    Content that is gone says nothing.
    """
    yield from _left(last, table, key)
    for event in store.events(ns, object=object, newest=True, limit=1_000_000):
        if last is None or event.seq < last.seq:
            yield from _left(event, table, key)


def _left(event: Event | None, table: str, key: tuple[str | int, ...]) -> Iterator[Row]:
    if event is not None and event.payload is not None:
        yield from images_in(event.payload, table, key)


def checked(store: Store, ns: str, document: int, path: str, bodies: Mapping[int, str]) -> None:
    """Raise Damaged unless these texts of a document are what was recorded."""
    if not intact(store, ns, document, bodies):
        raise Damaged(f"the text of {path!r} is not what was recorded: {NEXT}")
