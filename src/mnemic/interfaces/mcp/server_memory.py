"""`--compat server-memory`: the nine tools of @modelcontextprotocol/server-memory, name for name, over this memory.

For who has used that server: its prompts and habits go on working, and what it held is found by recall as well. Texts,
schemas and answers follow its version 0.6.3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mnemic.interfaces.mcp.schema import Schema
from mnemic.interfaces.mcp.tools import CHANNEL, Reply, Tool, Toolbox

if TYPE_CHECKING:
    from mnemic.memory import Memory


def _text(about: str = "") -> Schema:
    return {"type": "string", **({"description": about} if about else {})}


def _texts(about: str = "") -> Schema:
    return {"type": "array", "items": {"type": "string"}, **({"description": about} if about else {})}


def _object(**fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(item: Schema, about: str = "") -> Schema:
    return {"type": "array", "items": item, **({"description": about} if about else {})}


ENTITY = _object(
    name=_text("The name of the entity"), entityType=_text("The type of the entity"),
    observations=_texts("An array of observation contents associated with the entity"),
)  # fmt: skip
RELATION = _object(**{
    "from": _text("The name of the entity where the relation starts"),
    "to": _text("The name of the entity where the relation ends"),
    "relationType": _text("The type of the relation"),
})  # fmt: skip
GRAPH = _object(entities=_list(ENTITY), relations=_list(RELATION))
DELETED = _object(success={"type": "boolean"}, message=_text())


def _shown(data: Mapping[str, Any], said: Any) -> Reply:
    return Reply(data, text=json.dumps(said, ensure_ascii=False, indent=2))


def _graph(data: Mapping[str, Any]) -> Reply:
    return _shown(data, data)


def _deleted(what: str) -> Reply:
    message = f"{what} deleted successfully"
    return Reply({"success": True, "message": message}, text=message)


def _create_entities(memory: Memory, given: dict[str, Any]) -> Reply:
    made = memory.graph.create_entities(given["entities"], channel=CHANNEL)
    return _shown({"entities": made}, made)


def _create_relations(memory: Memory, given: dict[str, Any]) -> Reply:
    made = memory.graph.create_relations(given["relations"], channel=CHANNEL)
    return _shown({"relations": made}, made)


def _add_observations(memory: Memory, given: dict[str, Any]) -> Reply:
    done = memory.graph.add_observations(given["observations"], channel=CHANNEL)
    return _shown({"results": done}, done)


def _delete_entities(memory: Memory, given: dict[str, Any]) -> Reply:
    memory.graph.delete_entities(given["entityNames"], channel=CHANNEL)
    return _deleted("Entities")


def _delete_observations(memory: Memory, given: dict[str, Any]) -> Reply:
    memory.graph.delete_observations(given["deletions"], channel=CHANNEL)
    return _deleted("Observations")


def _delete_relations(memory: Memory, given: dict[str, Any]) -> Reply:
    memory.graph.delete_relations(given["relations"], channel=CHANNEL)
    return _deleted("Relations")


def _tool(
    name: str, about: str, schema: Schema, output: Schema, call: Callable[[Memory, dict[str, Any]], Reply], *,
    reads: bool = False, destroys: bool = False,
) -> Tool:  # fmt: skip
    return Tool(name=name, title=name.replace("_", " ").title(), about=about, schema=schema, output=output, call=call,
                reads=reads, destroys=destroys, repeats=reads or destroys)  # fmt: skip


TOOLS = (
    _tool("create_entities", "Create multiple new entities in the knowledge graph", _object(entities=_list(ENTITY)),
          _object(entities=_list(ENTITY)), _create_entities),
    _tool("create_relations",
          "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
          _object(relations=_list(RELATION)), _object(relations=_list(RELATION)), _create_relations),
    _tool("add_observations", "Add new observations to existing entities in the knowledge graph",
          _object(observations=_list(_object(
              entityName=_text("The name of the entity to add the observations to"),
              contents=_texts("An array of observation contents to add")))),
          _object(results=_list(_object(entityName=_text(), addedObservations=_texts()))), _add_observations),
    _tool("delete_entities", "Delete multiple entities and their associated relations from the knowledge graph",
          _object(entityNames=_texts("An array of entity names to delete")), DELETED, _delete_entities, destroys=True),
    _tool("delete_observations", "Delete specific observations from entities in the knowledge graph",
          _object(deletions=_list(_object(
              entityName=_text("The name of the entity containing the observations"),
              observations=_texts("An array of observations to delete")))),
          DELETED, _delete_observations, destroys=True),
    _tool("delete_relations", "Delete multiple relations from the knowledge graph",
          _object(relations=_list(RELATION, "An array of relations to delete")), DELETED, _delete_relations, destroys=True),
    _tool("read_graph", "Read the entire knowledge graph", _object(), GRAPH,
          lambda memory, given: _graph(memory.graph.read()), reads=True),
    _tool("search_nodes", "Search for nodes in the knowledge graph based on a query",
          _object(query=_text("The search query to match against entity names, types, and observation content")), GRAPH,
          lambda memory, given: _graph(memory.graph.search(given["query"])), reads=True),
    _tool("open_nodes", "Open specific nodes in the knowledge graph by their names",
          _object(names=_texts("An array of entity names to retrieve")), GRAPH,
          lambda memory, given: _graph(memory.graph.open(given["names"])), reads=True),
)  # fmt: skip
INSTRUCTIONS = (
    "A knowledge graph that lasts across conversations: entities with observations, and relations between them. Search it"
    " with `search_nodes` before answering about people, projects and what was said before."
)
BOX = Toolbox("memory-server", "Memory", INSTRUCTIONS, TOOLS)
