"""What stands around a node, for a person who looks about: the parts it has and belongs to, what was said next to it, what is
like it, what it cites and links to, and what does so to it.

Breadth first, a step at a time, so that what is nearest is kept when there is more than may be shown. Everything is read
from what is stored already; nothing is embedded or searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.clock import iso
from mnemic.errors import BadInput, NotFound
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import SHELVES, Document, Node
from mnemic.store import Found, Store
from mnemic.text import mention
from mnemic.vault.links import key_of, resolve
from mnemic.vault.vault import SCHEME

MOST, MOST_STEPS = 2_000, 6
EDGES = 3
"""Edges that are told of to a node; of more the first that were come by."""
KINDS = ("next", "cites", "link", "part", "similar")
"""What two nodes may be to each other, the closest first."""


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to another: `next` is said after it, `cites` and `link` by the text of the first, `part` of it, `similar`."""

    source: int
    target: int
    kind: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Inside:
    """Nodes between which edges are looked for, by what texts call them: paths, files of the vault, and the files' keys."""

    paths: frozenset[str]
    files: frozenset[str]
    keys: frozenset[str]


@dataclass(slots=True)
class Around:
    """One look at one namespace."""

    store: Store
    ns: str
    _found: dict[int, Found] = field(default_factory=dict)
    _trees: dict[int, list[Node]] = field(default_factory=dict)
    _documents: dict[int, Document | None] = field(default_factory=dict)
    _talks: dict[str, list[Document]] = field(default_factory=dict)
    _nodes: dict[str, Node | None] = field(default_factory=dict)
    _meant: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _called: dict[str, list[str]] = field(default_factory=dict)
    _files: dict[str, int | None] = field(default_factory=dict)

    def look(self, path: str, steps: int, limit: int) -> dict[str, Any]:
        """The nodes that lie within so many steps of a path, nearest first, and how they hang together.

        Raises NotFound, BadInput for steps or a limit out of range.
        """
        if not 1 <= steps <= MOST_STEPS:
            raise BadInput(f"steps {steps} is out of range: give 1 to {MOST_STEPS}")
        if not 1 <= limit <= MOST:
            raise BadInput(f"limit {limit} is out of range: give 1 to {MOST:,} nodes")
        center = self._node(path)
        if center is None:
            raise NotFound(f"no node stands at {path!r}: see `mnemic tree`")
        hidden = self.store.forgotten(self.ns)
        kept, edges, omitted = {center.id: 0}, dict[tuple[int, int, str], Edge](), 0
        frontier = [center.id]
        self._know(frontier)
        for step in range(1, steps + 1):
            fresh = [*self._edges(frontier), *(self._citing(center) if step == 1 else ())]
            edges |= {(edge.source, edge.target, edge.kind): edge for edge in fresh}
            reached = self._reached(fresh, kept)
            self._know(reached)
            reached = [node for node in reached if node in self._found and not hidden_by(self._found[node].path, hidden)]
            room = limit - len(kept)
            omitted += max(0, len(reached) - room)
            frontier = reached[:room]
            kept |= dict.fromkeys(frontier, step)
            if not frontier:
                break
        all_kinds = frontier and len(frontier) <= limit // 2
        last = list(self._edges(frontier, self._inside(kept))) if all_kinds else self._similar(frontier)
        edges |= {(edge.source, edge.target, edge.kind): edge for edge in last}
        inside = [one for one in _single(edges.values()) if one.source in kept and one.target in kept]
        return {
            "path": path, "omitted": omitted, "omitted_edges": max(0, len(inside) - EDGES * len(kept)),
            "nodes": [self._shown(node, step) for node, step in kept.items()],
            "edges": [
                {"from": self._found[one.source].path, "to": self._found[one.target].path, "kind": one.kind,
                 "weight": round(one.weight, 4)}
                for one in inside[: EDGES * len(kept)]
            ],
        }  # fmt: skip

    def _reached(self, edges: Iterable[Edge], kept: dict[int, int]) -> list[int]:
        """The other ends, the closest kind and the heaviest edge first."""
        best: dict[int, tuple[int, float]] = {}
        for edge in edges:
            for end in (edge.source, edge.target):
                rank = (KINDS.index(edge.kind), -edge.weight)
                if end not in kept and (end not in best or rank < best[end]):
                    best[end] = rank
        return sorted(best, key=lambda end: (best[end], end))

    def _know(self, nodes: Sequence[int]) -> None:
        for shelf in SHELVES:
            missing = [node for node in nodes if node not in self._found]
            self._found |= {row.id: row for row in self.store.found(self.ns, missing, shelf)} if missing else {}

    def _shown(self, node: int, step: int) -> dict[str, Any]:
        row = self._found[node]
        title = row.title or (row.document_title if row.parent is None else "")
        return {"path": row.path, "title": title, "kind": row.kind, "speaker": row.speaker or row.role,
                "document": row.document_path, "steps": step, "at": iso(row.created_at)}  # fmt: skip

    # the kinds

    def _edges(self, nodes: Sequence[int], inside: Inside | None = None) -> Iterator[Edge]:
        """The edges of nodes. `inside`: of what their texts name, only what lies there is looked up."""
        yield from self._similar(nodes)
        for node in nodes:
            row = self._found.get(node)
            if row is None:
                continue
            tree = self._tree(row.document, row.shelf)
            yield from _parts(row, tree)
            document = self._document(row.document) if row.parent is None else None
            if document is not None and document.session:
                yield from self._beside(node, document)
            elif document is not None:
                yield from self._named(node, document, inside)

    def _similar(self, nodes: Sequence[int]) -> Iterator[Edge]:
        for source, target, weight in self.store.edges(self.ns, nodes, "similar") if nodes else ():
            yield Edge(source, target, "similar", weight)

    def _beside(self, node: int, document: Document) -> Iterator[Edge]:
        """The exchanges before and after one."""
        session = str(document.session)
        if session not in self._talks:
            self._talks[session] = self.store.session_documents(self.ns, session, 1_000_000)
        talk = self._talks[session]
        at = next((place for place, other in enumerate(talk) if other.id == document.id), None)
        if at is None:
            return
        if at and (before := self._root(talk[at - 1])):
            yield Edge(before, node, "next")
        if at + 1 < len(talk) and (after := self._root(talk[at + 1])):
            yield Edge(node, after, "next")

    def _inside(self, nodes: Iterable[int]) -> Inside:
        rows = [self._found[node] for node in nodes]
        sources = [document.source or "" for row in rows if row.parent is None and (document := self._document(row.document))]
        files = frozenset(source.removeprefix(SCHEME) for source in sources if source.startswith(SCHEME))
        return Inside(frozenset(row.path for row in rows), files, frozenset(map(key_of, files)))

    def _named(self, node: int, document: Document, inside: Inside | None) -> Iterator[Edge]:
        """What a document cites by its path, and what of the vault it links to or is linked from."""
        body = self.store.text(self.ns, document.text_id, document.shelf) if document.text_id is not None else None
        for path in mention.paths(body or ""):
            if inside is not None and path not in inside.paths:
                continue
            if (cited := self._node(path)) is not None and cited.document != document.id:
                yield Edge(node, cited.id, "cites")
        if document.source is None or not document.source.startswith(SCHEME):
            return
        file = document.source.removeprefix(SCHEME)
        for _, target, _, _ in self.store.vault_links(self.ns, path=file):
            if inside is not None and key_of(target) not in inside.keys:
                continue
            meant = self._led(target, file)
            if meant and meant != file and (other := self._file(meant)):
                yield Edge(node, other, "link")
        for source, target, _, _ in self.store.vault_links(self.ns, key=key_of(file)):
            if inside is not None and source not in inside.files:
                continue
            if self._led(target, source) == file != source and (other := self._file(source)):
                yield Edge(other, node, "link")

    def _citing(self, center: Node) -> Iterator[Edge]:
        """The articles that a dream made of the talk in which the center lies."""
        document = self._document(center.document)
        if document is None or not document.session:
            return
        said = [node.message for node in self._tree(document.id, document.shelf) if node.message is not None]
        asked = [center.message] if center.message is not None else said
        chunks = [
            row["id"] for row in self.store.select(self.ns, "chunks", {"session": document.session})
            if any(row["first"] <= seq <= row["last"] for seq in asked)
        ]
        for chunk in chunks:
            for route in self.store.select(self.ns, "routes", {"chunk": chunk}):
                subject = self.store.row(self.ns, "subjects", (route["subject"],))
                if subject and subject["article"] and (article := self._file(subject["article"])):
                    yield Edge(article, center.id, "cites")

    # what is read once

    def _tree(self, document: int, shelf: str) -> list[Node]:
        if document not in self._trees:
            self._trees[document] = self.store.nodes(self.ns, document, shelf)
        return self._trees[document]

    def _document(self, number: int) -> Document | None:
        if number not in self._documents:
            self._documents[number] = self.store.document_by_id(self.ns, number)
        return self._documents[number]

    def _node(self, path: str) -> Node | None:
        if path not in self._nodes:
            self._nodes[path] = self.store.node(self.ns, path)
        return self._nodes[path]

    def _root(self, document: Document) -> int | None:
        self._documents.setdefault(document.id, document)
        node = self._node(document.path)
        return node.id if node else None

    def _led(self, target: str, source: str) -> str | None:
        """The file that a link in another means."""
        if (target, source) not in self._meant:
            key = key_of(target)
            if key not in self._called:
                self._called[key] = self.store.vault_named(self.ns, key)
            self._meant[target, source] = resolve(target, source, self._called[key])
        return self._meant[target, source]

    def _file(self, file: str) -> int | None:
        if file not in self._files:
            document = self.store.document_by_source(self.ns, SCHEME + file)
            self._files[file] = self._root(document) if document else None
        return self._files[file]


def _parts(row: Found, tree: Sequence[Node]) -> Iterator[Edge]:
    """A node's parent, its children, and the message before and after it in its exchange."""
    if row.parent is not None:
        yield Edge(row.parent, row.id, "part")
    yield from (Edge(row.id, node.id, "part") for node in tree if node.parent == row.id)
    said = [node.id for node in tree if node.parent == row.parent and node.kind == "message"] if row.kind == "message" else []
    for one, other in zip(said, said[1:], strict=False):
        if row.id in (one, other):
            yield Edge(one, other, "next")


def _single(edges: Iterable[Edge]) -> Iterator[Edge]:
    """Of two nodes that are like each other one edge."""
    seen = set[frozenset[int]]()
    for edge in edges:
        pair = frozenset((edge.source, edge.target))
        if edge.kind != "similar" or pair not in seen:
            yield edge
        if edge.kind == "similar":
            seen.add(pair)
