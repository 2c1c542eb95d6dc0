"""A graph of entities, observations and relations, as the MCP server "server-memory" keeps one, over documents of ours.

Each entity, observation and relation is a small document of its own, so that recall finds it, two writers never lose
each other's, and what is taken out of the graph is forgotten like any other text: hidden, and in the ledger. Names are
one line. What was forgotten by a person's own verb does not come back by being created again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mnemic.capture.forget import Forgetting
from mnemic.capture.intake import TITLE_LIMIT, Intake, Note
from mnemic.errors import BadInput, NotFound
from mnemic.knowledge.origin import actor
from mnemic.ledger.record import digest
from mnemic.ledger.served import texts_of
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import Document
from mnemic.models.event import Origin
from mnemic.models.receipt import Receipt
from mnemic.store import Store
from mnemic.text.clean import cleaned
from mnemic.text.tree import slug

ROOT = "/graph"
GONE = "taken out of the graph"
Entity = dict[str, Any]
"""{"name", "entityType", "observations"}"""
Relation = dict[str, str]
"""{"from", "to", "relationType"}"""
ENDS = ("from", "relationType", "to")


@dataclass(slots=True)
class _Kept:
    """An entity with the documents that it consists of."""

    name: str
    type: str
    document: Document
    observations: dict[str, str] = field(default_factory=dict)
    """Text → path."""

    def json(self) -> Entity:
        return {"name": self.name, "entityType": self.type, "observations": list(self.observations)}


@dataclass(slots=True)
class _Whole:
    """The graph as it stands: entities by name, relations by their three parts with their paths."""

    entities: dict[str, _Kept] = field(default_factory=dict)
    relations: dict[tuple[str, ...], str] = field(default_factory=dict)

    def json(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the named entities that are there, and every relation that one of them has."""
        wanted = set(names) & self.entities.keys()
        touching = [ends for ends in self.relations if ends[0] in wanted or ends[2] in wanted]
        return {"entities": [one.json() for one in self.entities.values() if one.name in wanted],
                "relations": [_relation(ends) for ends in touching]}  # fmt: skip


class Graph:
    """The graph of one namespace."""

    def __init__(
        self, store: Store, intake: Intake, forgetting: Forgetting, namespace: str, *, settle: Callable[[], object],
        redact: bool,
    ) -> None:  # fmt: skip
        """`settle` is called after what was written, to index it."""
        self._store, self._intake, self._forgetting = store, intake, forgetting
        self._ns, self._settle, self._redact = namespace, settle, redact

    # reading

    def read(self) -> dict[str, Any]:
        """All of it: `{"entities", "relations"}`."""
        whole = self._whole()
        return {"entities": [one.json() for one in whole.entities.values()], "relations": list(map(_relation, whole.relations))}

    def search(self, query: str) -> dict[str, Any]:
        """The entities whose name, type or an observation contains the query, whatever its case, with their relations."""
        wanted, whole = query.lower(), self._whole()
        return whole.json(
            one.name for one in whole.entities.values()
            if any(wanted in text.lower() for text in (one.name, one.type, *one.observations))
        )  # fmt: skip

    def open(self, names: Sequence[str]) -> dict[str, Any]:
        """The entities of these names, with their relations."""
        return self._whole().json(names)

    # writing

    def create_entities(self, entities: Sequence[Mapping[str, Any]], *, channel: Origin = "user") -> list[Entity]:
        """Add entities; those that were new, as they were stored. One that is there stays as it is."""
        whole = self._whole()
        for entity in entities:
            self._name(entity["name"])
        made = []
        for entity in entities:
            name = self._name(entity["name"])
            if name in whole.entities:
                continue
            document = self._entity(name, self._text(entity["entityType"]), channel)
            kept = whole.entities[name] = _Kept(name, self._text(entity["entityType"]), document)
            self._observe(kept, entity["observations"], channel)
            made.append(kept.json())
        self._settle()
        return made

    def create_relations(self, relations: Sequence[Mapping[str, str]], *, channel: Origin = "user") -> list[Relation]:
        """Add relations; those that were new. Their ends need not be there."""
        known, made = self._whole().relations, []
        for ends in [tuple(self._name(one[part]) for part in ENDS) for one in relations]:
            if ends in known:
                continue
            key = _key(*ends)
            path = f"{ROOT}/relations/{key[:16]}"
            self._put(Note(text="\n".join(ends), title=" ".join(ends)[:TITLE_LIMIT], kind="relation", path=path,
                           source=f"graph:relation:{key}"), channel)  # fmt: skip
            known[ends] = path
            made.append(_relation(ends))
        self._settle()
        return made

    def add_observations(self, observations: Sequence[Mapping[str, Any]], *, channel: Origin = "user") -> list[dict[str, Any]]:
        """Add observations to entities that are there: `[{"entityName", "addedObservations"}]`. Raises NotFound before
        anything is stored."""
        whole, names = self._whole(), [self._name(one["entityName"]) for one in observations]
        for name in names:
            if name not in whole.entities:
                raise NotFound(f"Entity with name {name} not found")
        done = [
            {"entityName": name, "addedObservations": self._observe(whole.entities[name], one["contents"], channel)}
            for name, one in zip(names, observations, strict=True)
        ]
        self._settle()
        return done

    def delete_entities(self, names: Sequence[str], *, channel: Origin = "user") -> None:
        """Hide entities with their observations and relations; one that is not there is none to hide."""
        whole = self._whole()
        wanted = {self._name(name) for name in names}
        for ends, path in whole.relations.items():
            if ends[0] in wanted or ends[2] in wanted:
                self._hide(path, channel)
        for name in wanted & whole.entities.keys():
            for path in (*whole.entities[name].observations.values(), whole.entities[name].document.path):
                self._hide(path, channel)

    def delete_observations(self, deletions: Sequence[Mapping[str, Any]], *, channel: Origin = "user") -> None:
        """Hide observations."""
        whole = self._whole()
        for one in deletions:
            kept = whole.entities.get(self._name(one["entityName"]))
            for content in dict.fromkeys(map(self._text, one["observations"])) if kept else ():
                if kept and content in kept.observations:
                    self._hide(kept.observations.pop(content), channel)

    def delete_relations(self, relations: Sequence[Mapping[str, str]], *, channel: Origin = "user") -> None:
        """Hide relations."""
        known = self._whole().relations
        for ends in dict.fromkeys(tuple(self._name(one[part]) for part in ENDS) for one in relations):
            if ends in known:
                self._hide(known[ends], channel)

    def take(self, lines: Iterable[str], *, dry_run: bool = False) -> dict[str, Any]:
        """Take in the JSON lines of that server's file. Repeating it adds nothing; a line that is no good is named.

        `{"read", "entities", "observations", "relations", "skipped": [{"line", "why"}]}`: how many of the three there
        are, and how many of each were new; a dry run counts and stores nothing.
        """
        entities, relations, skipped = list[Entity](), list[Relation](), list[dict[str, Any]]()
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    row = _row(line)
                    for part in ("name",) if row["type"] == "entity" else ENDS:
                        self._name(row[part])
                    (entities if row["type"] == "entity" else relations).append(row)
                except (BadInput, ValueError, KeyError, RecursionError) as error:
                    skipped.append({"line": number, "why": str(error)})
        count = self._fresh if dry_run else self._taken
        read = len(entities) + sum(len(one["observations"]) for one in entities) + len(relations)
        return {"read": read, **count(entities, relations), "skipped": skipped}

    def _taken(self, entities: list[Entity], relations: list[Relation]) -> dict[str, int]:
        made = self.create_entities(entities, channel="import")
        fresh = {one["name"] for one in made}
        added = sum(len(one["observations"]) for one in made)
        old = [{"entityName": one["name"], "contents": one["observations"]} for one in entities]
        older = [one for one in old if self._name(one["entityName"]) not in fresh]
        added += sum(len(one["addedObservations"]) for one in self.add_observations(older, channel="import"))
        linked = self.create_relations(relations, channel="import")
        return {"entities": len(made), "observations": added, "relations": len(linked)}

    def _fresh(self, entities: list[Entity], relations: list[Relation]) -> dict[str, int]:
        """What of these is not there yet."""
        whole = self._whole()
        names = {self._name(one["name"]) for one in entities}
        said = {(self._name(one["name"]), self._text(text)) for one in entities for text in one["observations"]}
        known = {(one.name, text) for one in whole.entities.values() for text in one.observations}
        links = {tuple(self._name(one[part]) for part in ENDS) for one in relations}
        return {"entities": len(names - whole.entities.keys()), "observations": len(said - known),
                "relations": len(links - whole.relations.keys())}  # fmt: skip

    # parts

    def _whole(self) -> _Whole:
        with self._store.reading():
            hidden, whole = self._store.forgotten(self._ns), _Whole()
            documents = [
                one for one in self._store.documents(self._ns, below=ROOT, limit=1_000_000) if not hidden_by(one.path, hidden)
            ]
            texts = texts_of(self._store, self._ns, documents)
            homes: dict[str, _Kept] = {}
            for one in documents:
                if one.kind == "entity" and one.id in texts:
                    kind = texts[one.id][len(one.title) + 2 : -1]
                    homes[one.path] = whole.entities[one.title] = _Kept(one.title, kind, one)
            for one in documents:
                home = homes.get(one.path.rpartition("/")[0])
                if one.kind == "observation" and home and one.id in texts:
                    home.observations[texts[one.id]] = one.path
                elif one.kind == "relation" and texts.get(one.id, "").count("\n") == 2:
                    whole.relations[tuple(texts[one.id].split("\n"))] = one.path
        return whole

    def _entity(self, name: str, kind: str, channel: Origin) -> Document:
        path = f"{ROOT}/entities/{slug(name)}"
        note = Note(text=f"{name} ({kind})", title=name, kind="entity", path=path, source=f"graph:entity:{_key(name)}")
        receipt = self._put(note, channel)
        document = self._store.document(self._ns, receipt.path or path)
        if document is None:
            raise BadInput(f"the entity {name!r} was not stored: {receipt.reason}")
        return document

    def _observe(self, kept: _Kept, contents: Sequence[str], channel: Origin) -> list[str]:
        added = []
        for content in dict.fromkeys(map(self._text, contents)):
            if content in kept.observations or not content.strip():
                continue
            path = f"{kept.document.path}/{_key(content)[:16]}"
            source = f"graph:observation:{_key(kept.name)}:{_key(content)}"
            receipt = self._put(Note(text=content, title=kept.name, kind="observation", path=path, source=source), channel)
            if receipt.path is not None:
                kept.observations[content] = receipt.path
                added.append(content)
        return added

    def _put(self, note: Note, channel: Origin) -> Receipt:
        receipt = self._intake.remember(self._ns, replace(note, origin=channel, actor=actor(channel)))
        if receipt.path is not None and self._store.row(self._ns, "visibility", (receipt.path,)) is not None:
            self._forgetting.restore(self._ns, receipt.path, reason=GONE, actor=actor(channel), origin=channel)
        return receipt

    def _hide(self, path: str, channel: Origin) -> None:
        self._forgetting.forget(self._ns, path, reason=GONE, actor=actor(channel), origin=channel)

    def _text(self, text: str) -> str:
        """A text as it will be stored, without secrets and frames, so that it is known again."""
        return cleaned(text, redact=self._redact).text

    def _name(self, name: str) -> str:
        line = " ".join(self._text(name).split())
        if not line or len(line) > TITLE_LIMIT:
            raise BadInput(f"the name {name[:60]!r} cannot be used: give 1 to {TITLE_LIMIT} characters")
        return line


def _key(*parts: str) -> str:
    return digest("\0".join(parts))


def _relation(ends: tuple[str, ...]) -> Relation:
    return {"from": ends[0], "to": ends[2], "relationType": ends[1]}


def _row(line: str) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict) or row.get("type") not in ("entity", "relation"):
        raise BadInput("this is neither an entity nor a relation")
    names = ("name", "entityType") if row["type"] == "entity" else ENDS
    if not all(isinstance(row.get(name), str) for name in names):
        raise BadInput(f"it needs the texts {', '.join(names)}")
    observations = row.get("observations", [])
    if not isinstance(observations, list) or not all(isinstance(item, str) for item in observations):
        raise BadInput("its observations must be texts")
    return {**row, "observations": observations} if row["type"] == "entity" else row
