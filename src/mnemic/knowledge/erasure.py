"""Erasing what is known: a diary entry, a fact, a concern or an experience, for good.

Their texts stand in rows of truth, in the content of every ledger entry that ever touched those rows, and in receipts
kept for repeated operations. All of that goes. What else those entries had changed is stated anew, so that replaying
the ledger still gives the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mnemic.errors import NotFound
from mnemic.knowledge.facet import Act, Facet, identifier
from mnemic.knowledge.origin import must_be_human
from mnemic.ledger.chain import changes_of, opened
from mnemic.ledger.record import erasure_mac
from mnemic.models.event import Change, Draft, Event, Origin, Row
from mnemic.models.receipt import Forgotten
from mnemic.store.schema import TRUTH

OBJECTS = {"diary": "diary", "facts": "fact", "concerns": "concern", "experiences": "experience"}
"""What the ledger calls a record of a table."""
REMARKS = {"extractions": "summary", "consolidations": "note"}
"""Free text about records, by table: it may repeat what they said."""
MARK = "[erased]"
Key = tuple[str, tuple[str | int, ...]]
Images = Mapping[Key, Row]


def is_record(path: str) -> bool:
    """Whether a path names what is known: `diary/1`, `facts/3`, `concerns/2`, `experiences/ID`."""
    table, _, name = path.partition("/")
    return table in OBJECTS and bool(name)


class Erasure(Facet):
    """Erases records of a namespace."""

    def erase(self, path: str, *, reason: str = "", channel: Origin = "user") -> Forgotten:
        """Erase a record with all its revisions; a concern with its mentions, an experience with its reports.

        Raises NotFound, and Refused where no person stands behind the channel.
        """
        must_be_human(channel, "erase")
        table, _, name = path.partition("/")
        number = name if table == "experiences" else identifier(name, f"the {OBJECTS[table]}")
        with self._acting(channel) as act:
            gone = self._rows(act, table, number)
            remarks = self._remarks(act, table, number, gone)
            own = {(table, number), *((name, key[0]) for name, key in gone)}
            events = list(self._about(own | {(name, key[0]) for name, key in remarks}, f"{OBJECTS[table]}:{number}"))
            if not gone and not events:
                raise NotFound(f"nothing stands at {path!r}: see `mnemic {OBJECTS[table]} list`")
            elsewhere = self._elsewhere(act, table, number, gone)
            drops = [Change(name, key, row, None) for (name, key), row in gone.items()]
            blanks = [Change(name, key, row, {**row, REMARKS[name]: MARK}) for (name, key), row in remarks.items()]
            act.tx.apply([*drops, *blanks])
            known = self._store.erasure_key_of(self._ns)
            macs = [erasure_mac(known, row["content"]) for (name, _), row in gone.items() if name == "diary"]
            act.tx.erase_texts([], macs, act.now)
            act.tx.erase_entries([event.seq for event in events])
            seq = self._stated(act, events, own, f"{OBJECTS[table]}:{number}", reason)
        return Forgotten(path, True, len({key[0] for name, key in gone if name == table}), seq, elsewhere)

    def _rows(self, act: Act, table: str, number: str | int) -> Images:
        """The rows that go."""
        found = [(table, row) for row in act.tx.select(table, {"id": number})]
        if table == "concerns":
            found += [(table, row) for row in act.tx.select(table, {"parent": number})]
        if table == "experiences":
            found += [("reports", row) for row in act.tx.select("reports", {"experience": number})]
        return {(name, _key(name, row)): row for name, row in found}

    def _remarks(self, act: Act, table: str, number: str | int, gone: Images) -> Images:
        """The rows that stay, with a text about the record."""
        named = f"{OBJECTS[table]}:{number}"
        runs = {row["extraction"] for (name, _), row in gone.items() if name == "diary"}
        found = [
            ("extractions", row) for row in act.tx.select("extractions", {})
            if row["id"] in runs or named in json.loads(row["produced"])
        ]  # fmt: skip
        if table == "experiences":
            found += [
                ("consolidations", row) for row in act.tx.select("consolidations", {})
                if any(one.split("@")[0] == number for one in (row["produced"], *json.loads(row["merged"])))
            ]  # fmt: skip
        return {(name, _key(name, row)): row for name, row in found}

    def _about(self, ids: set[tuple[str, str | int]], object_: str) -> Iterator[Event]:
        """The entries that touched any row of these ids, or are about the object."""
        tables = tuple(f'"{name}"' for name, _ in ids)
        for event in self._ledger.events(self._ns):
            if event.payload is None:
                continue
            touched = any(name in event.payload for name in tables) and any(
                (change.table, change.key[0]) in ids for change in changes_of(event.payload)
            )
            if touched or event.object == object_:
                yield event

    def _stated(
        self, act: Act, events: Iterable[Event], own: set[tuple[str, str | int]], object_: str, reason: str
    ) -> int:
        """One entry for each object that lost content: what was erased, and what of it lives on."""
        rows: dict[str, dict[Key, Change]] = {object_: {}}
        seqs: dict[str, set[int]] = {object_: set()}
        for event in events:
            content = opened(event.payload or "")
            # An earlier erasure's entry is emptied now, so this one says what it said.
            told = content["note"]["erased"] if event.op == "erase" else ()
            seqs.setdefault(event.object, set()).update([event.seq, *told])
            for change in changes_of(event.payload or ""):
                if (change.table, change.key[0]) not in own:
                    row = act.tx.row(change.table, change.key)
                    home = f"{OBJECTS[change.table]}:{change.key[0]}" if change.table in OBJECTS else object_
                    rows.setdefault(home, {})[change.table, change.key] = Change(change.table, change.key, row, row)
        first = self._entry(act, object_, rows.pop(object_), set().union(*seqs.values()), reason)
        for name in sorted(rows):
            self._entry(act, name, rows[name], set(), "")
        return first

    def _entry(self, act: Act, name: str, rows: Mapping[Key, Change], seqs: set[int], reason: str) -> int:
        changes = tuple(rows[key] for key in sorted(rows, key=repr))
        return act.enter(Draft("erase", name, act.actor, act.origin, reason, changes, {"erased": sorted(seqs)}))

    def _elsewhere(self, act: Act, table: str, number: str | int, gone: Images) -> tuple[str, ...]:
        """What was drawn from it, or what it was drawn from: the same words may stand there."""
        found: set[str] = set()
        for (name, _), row in gone.items():
            if name in ("facts", "concerns"):
                found |= {f"diary/{cited}" for cited in json.loads(row["sources"])}
            if name == "experiences":
                found |= {f"experiences/{parent.split('@')[0]}" for parent in json.loads(row["parents"])}
        for name in ("facts", "concerns") if table == "diary" else ():
            rows = act.tx.select(name, {})
            found |= {f"{name}/{row['id']}" for row in rows if number in json.loads(row["sources"])}
        if table == "experiences":
            rows = act.tx.select(table, {})
            found |= {f"{table}/{row['id']}" for row in rows if f'"{number}@' in row["parents"]}
        return tuple(sorted(found - {f"{table}/{key[0]}" for name, key in gone if name == table}))


def _key(table: str, row: Mapping[str, Any]) -> tuple[str | int, ...]:
    return tuple(row[column] for column in TRUTH[table].key)
