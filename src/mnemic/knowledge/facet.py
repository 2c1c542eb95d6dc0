"""What diary, facts, concerns, extraction and experiences share: one transaction, its entries, and operations done once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from mnemic.clock import Clock, to_ms
from mnemic.errors import BadInput, Conflict, Refused
from mnemic.knowledge.origin import actor
from mnemic.ledger import Ledger, canonical
from mnemic.ledger.record import digest
from mnemic.models.event import Actor, Change, Draft, Event, Origin
from mnemic.store import Store, Transaction
from mnemic.text.clean import cleaned
from mnemic.text.frame import clean
from mnemic.text.normal import nfkc

LINE_CHARS = 300
TEXT_CHARS = 4_000
R = TypeVar("R")


@dataclass(slots=True)
class Act:
    """One transaction in which something is done, and the last entry it made."""

    tx: Transaction
    ledger: Ledger
    namespace: str
    now: int
    origin: Origin
    """The channel it is done through."""
    last: Event | None = None

    @property
    def actor(self) -> Actor:
        return actor(self.origin)

    def record(
        self, op: str, what: str, changes: Iterable[Change], reason: str = "", note: Mapping[str, Any] | None = None
    ) -> int:
        """Make the changes and their entry; returns its number."""
        return self.enter(Draft(op, what, self.actor, self.origin, reason, tuple(changes), note or {}))

    def enter(self, draft: Draft) -> int:
        """Record a draft; returns the number of its entry."""
        self.last = self.ledger.record(self.tx, self.namespace, draft)
        return self.last.seq


class Facet:
    """A part of memory in one namespace."""

    def __init__(
        self, store: Store, ledger: Ledger, clock: Clock, namespace: str, *, redact: bool = True
    ) -> None:
        self._store, self._ledger, self._clock, self._ns = store, ledger, clock, namespace
        self._redact = redact
        self.used: Callable[[str, str], None] = lambda path, reason: None
        """Told of a use of a record, by its path and how it was used; never of a listing."""

    def _now(self) -> int:
        return to_ms(self._clock.now())

    @contextmanager
    def _acting(self, origin: Origin) -> Iterator[Act]:
        with self._store.write(self._ns) as tx:
            act = Act(tx, self._ledger, self._ns, self._now(), origin)
            yield act
        if act.last is not None:
            self._ledger.committed(self._ns, act.last)

    def _once(
        self, op_id: str | None, request: object, origin: Origin, do: Callable[[Act], dict[str, Any]]
    ) -> dict[str, Any]:
        """Do it in one transaction, or answer what the same operation answered before.

        Raises Conflict where the operation id stood for something else, Refused where what it made was erased.
        """
        mark = digest(canonical(request))
        with self._acting(origin) as act:
            # Looked up under the write lock: another process may have done it in between.
            found = self._store.operation(self._ns, op_id) if op_id else None
            if found is not None and found[1] == "{}":
                raise Refused(f"operation {op_id!r} was done, and what it made was erased: it is not done again")
            if found is not None and found[0] != mark:
                raise Conflict(f"operation {op_id!r} was already used for something else: choose a fresh --op-id")
            if found is not None:
                return self._repeated(op_id or "", json.loads(found[1]))
            receipt = do(act)
            if op_id:
                act.tx.remember_operation(op_id, mark, canonical(receipt), None)
        return receipt

    def _repeated(self, op_id: str, first: dict[str, Any]) -> dict[str, Any]:
        """The answer to an operation that was done before."""
        event = self._store.event(self._ns, first["seq"]) if first.get("seq") else None
        undo = self._ledger.undone_by(self._ns, event) if event else None
        if undo:
            why = (
                f"operation {op_id} was done and then undone in entry {undo}: `mnemic undo {undo}` brings it back,"
                " a fresh --op-id does it anew"
            )
            return {**first, "status": "rejected", "seq": None, "reason": why}
        return {**first, "status": "duplicate", "reason": f"operation {op_id} was already done"}

    def _line(self, text: str, what: str, limit: int = LINE_CHARS) -> str:
        """A name, title or value: one line, without secrets, frames and invisible characters. Raises BadInput."""
        line = " ".join(clean(cleaned(text, redact=self._redact).text).split())
        if len(line) > limit:
            raise BadInput(f"{what} has {len(line)} characters, the limit is {limit}: say it shorter")
        return line


def created(table: str, row: Any) -> Change:
    """A new row."""
    return Change(table, _key(row), None, asdict(row))


def revised(table: str, before: Any, after: Any) -> list[Change]:
    """The next revision of a row: the one before it is retired, and stands as it was."""
    retired = {**asdict(before), "retired_at": after.recorded_at}
    return [Change(table, _key(before), asdict(before), retired), created(table, after)]


def _key(row: Any) -> tuple[str | int, ...]:
    return (row.id, row.revision) if hasattr(row, "revision") else (row.id,)


def chosen(value: str, known: Iterable[str], what: str) -> str:
    """One of the known words. Raises BadInput that lists them."""
    names = tuple(known)
    if value not in names:
        raise BadInput(f"{what} {value!r} is unknown: use one of {', '.join(names)}")
    return value


def identifier(value: object, what: str) -> int:
    """An id as JSON or a command line gives it: a whole number, or its digits. Raises BadInput."""
    if not is_id(value):
        raise BadInput(f"{what} {value!r} is not an id: give the number that a list shows")
    return int(str(value))


def is_id(value: object) -> bool:
    """Whether a value is a whole number that a column can hold, or its digits."""
    text = str(value)
    return not isinstance(value, bool) and text.isascii() and text.isdigit() and len(text) <= 18


def same(text: str) -> str:
    """A value or title as it is compared: case, width, blanks and a closing stop do not count."""
    return " ".join(nfkc(text).casefold().split()).rstrip(" .。!！")


def slotted(key: str) -> str:
    """The slot that a key names: `Home City`, `home_city` and `ｈｏｍｅ　ｃｉｔｙ` are one, `home` and `hometown` are not."""
    return "_".join(nfkc(key).casefold().replace("_", " ").split())
