"""`--compat server-memory`: the nine tools of that server with its schemas and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.interfaces.mcp.server_memory import BOX
from tests.interfaces.mcp.clients import call, data, home, said, within

ADA = {"name": "Ada", "entityType": "person", "observations": ["Likes trains"]}
KNOWS = {"from": "Ada", "to": "Grace", "relationType": "knows"}
ENTITY = {
    "type": "object", "required": ["name", "entityType", "observations"],
    "properties": {
        "name": {"type": "string", "description": "The name of the entity"},
        "entityType": {"type": "string", "description": "The type of the entity"},
        "observations": {"type": "array", "items": {"type": "string"},
                         "description": "An array of observation contents associated with the entity"},
    },
}  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


def test_the_nine_tools_have_their_names_schemas_and_hints(memory: Memory) -> None:
    listed = within(memory, lambda client: client.list_tools(), box=BOX).tools
    assert [tool.name for tool in listed] == [
        "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
        "delete_relations", "read_graph", "search_nodes", "open_nodes",
    ]  # fmt: skip
    first = listed[0]
    assert first.input_schema == {
        "type": "object", "properties": {"entities": {"type": "array", "items": ENTITY}}, "required": ["entities"],
    }  # fmt: skip
    assert first.title == "Create Entities"
    assert [tool.name for tool in listed if tool.annotations and tool.annotations.destructive_hint] == [
        "delete_entities", "delete_observations", "delete_relations",
    ]  # fmt: skip


def test_every_tool_answers_in_the_shape_of_that_server(memory: Memory) -> None:
    def done(tool: str, **arguments: object) -> object:
        return data(call(memory, tool, box=BOX, **arguments))

    assert done("create_entities", entities=[ADA]) == {"entities": [ADA]}
    assert done("create_entities", entities=[ADA]) == {"entities": []}
    assert done("create_relations", relations=[KNOWS]) == {"relations": [KNOWS]}
    added = {"results": [{"entityName": "Ada", "addedObservations": ["Moved"]}]}
    assert done("add_observations", observations=[{"entityName": "Ada", "contents": ["Moved"]}]) == added
    whole = {"entities": [{**ADA, "observations": ["Likes trains", "Moved"]}], "relations": [KNOWS]}
    assert done("read_graph") == done("search_nodes", query="moved") == done("open_nodes", names=["Ada"]) == whole
    gone = {"success": True, "message": "Observations deleted successfully"}
    assert done("delete_observations", deletions=[{"entityName": "Ada", "observations": ["Moved"]}]) == gone
    assert done("delete_relations", relations=[KNOWS]) == {"success": True, "message": "Relations deleted successfully"}
    deleted = call(memory, "delete_entities", box=BOX, entityNames=["Ada", "Nobody"])
    assert said(deleted) == "Entities deleted successfully"
    assert done("read_graph") == {"entities": [], "relations": []}
    assert {row["actor"] for row in memory.ledger(limit=100)} == {"agent"}


def test_the_text_is_the_indented_json_of_that_server(memory: Memory) -> None:
    made = call(memory, "create_entities", box=BOX, entities=[ADA])
    assert said(made) == json.dumps([ADA], indent=2)


def test_an_observation_of_a_missing_entity_is_an_error_in_its_words(memory: Memory) -> None:
    result = call(memory, "add_observations", box=BOX, observations=[{"entityName": "X", "contents": ["y"]}])
    assert result.is_error
    assert said(result) == "Entity with name X not found"


def test_its_file_is_taken_in_by_the_command(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(json.dumps({"type": "entity", **ADA}) + "\n" + json.dumps({"type": "relation", **KNOWS}), "utf-8")
    words = ["--home", str(tmp_path / "home"), "mcp", "--compat", "server-memory", "--import", str(file), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "mnemic", *words], capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "MNEMIC_CONFIG": str(tmp_path / "config")},
    )  # fmt: skip
    assert json.loads(done.stdout) == {"read": 3, "entities": 1, "observations": 1, "relations": 1, "skipped": []}
