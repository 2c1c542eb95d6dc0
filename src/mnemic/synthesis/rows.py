"""The dream's rows while it runs: read once, changed in memory, written as one list of changes at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mnemic.models.event import Change, Row
from mnemic.store import Store
from mnemic.store.schema import TRUTH

NAMES = ("chunks", "subjects", "routes")
CAPTURED, IDLE, WRITTEN, DRAFTED, TIDY, IMPROVED = "captured", "idle", "written", "drafted", "tidy", "improved"
"""What became of a route. Captured: its subject has no article yet, or the article has not taken it in. Idle: it had nothing to
say there. Written: it went into a section, which the rules have not tidied since, nor a model improved. Drafted: a model wrote
the section, which needs neither. Of both, later stages may still have to link what was written."""
CHUNKED, KEPT, SLIGHT, EXTRACTED = "chunked", "kept", "slight", "extracted"
"""How far a chunk has come; slight: there was nothing in it worth keeping."""
Key = tuple[str | int, ...]


@dataclass(slots=True)
class Rows:
    """Chunks, subjects and routes by key, and as they were."""

    now: dict[str, dict[Key, Row]] = field(default_factory=dict)
    was: dict[str, dict[Key, Row]] = field(default_factory=dict)
    by_subject: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    """Subject → the chunks that are about it."""
    by_chunk: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    @classmethod
    def read(cls, store: Store, ns: str) -> Rows:
        found = cls()
        for name in NAMES:
            rows = {tuple(row[column] for column in TRUTH[name].key): row for row in store.rows(ns, name)}
            found.now[name], found.was[name] = dict(rows), rows
        for chunk, subject in found.now["routes"]:
            found.by_subject[str(subject)][str(chunk)] = None
            found.by_chunk[str(chunk)][str(subject)] = None
        return found

    def put(self, name: str, row: Mapping[str, Any]) -> None:
        key = tuple(row[column] for column in TRUTH[name].key)
        self.now[name][key] = dict(row)
        if name == "routes":
            self.by_subject[row["subject"]][row["chunk"]] = None
            self.by_chunk[row["chunk"]][row["subject"]] = None

    def drop(self, name: str, key: Key) -> None:
        self.now[name].pop(key, None)
        if name == "routes":
            self.by_subject[str(key[1])].pop(str(key[0]), None)
            self.by_chunk[str(key[0])].pop(str(key[1]), None)

    def chunk(self, id: str) -> Row:
        return self.now["chunks"][id,]

    def subject(self, key: str) -> Row | None:
        return self.now["subjects"].get((key,))

    def route(self, chunk: str, subject: str) -> Row:
        return self.now["routes"][chunk, subject]

    def moved(self, chunk: str, subject: str, state: str, section: str = "") -> None:
        """A route is in another state now."""
        self.put("routes", {**self.route(chunk, subject), "state": state, "section": section})

    def open_routes(self, subject: str) -> list[str]:
        """The chunks that a subject's article has not taken in."""
        return [chunk for chunk in self.by_subject[subject] if self.route(chunk, subject)["state"] == CAPTURED]

    def changes(self) -> list[Change]:
        """What is different now."""
        found = []
        for name in NAMES:
            was, now = self.was[name], self.now[name]
            found += [Change(name, key, was.get(key), row) for key, row in now.items() if was.get(key) != row]
            found += [Change(name, key, row, None) for key, row in was.items() if key not in now]
        return found
