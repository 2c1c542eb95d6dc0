"""The official inspector, the conformance suite and the real server-memory against ours. Opt-in: they come from npm.

    npm i @modelcontextprotocol/inspector@0.15.0 @modelcontextprotocol/conformance@0.1.16 \\
          @modelcontextprotocol/server-memory@2026.8.31
    MNEMIC_NPM=…/node_modules [MNEMIC_NODE22=…/node] pytest tests/peers/test_mcp_node.py

The conformance suite needs Node 22 or later.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from mnemic import Memory
from mnemic.interfaces.mcp.server_memory import BOX
from tests.interfaces.mcp.clients import home, within
from tests.interfaces.mcp.test_server import environ, served

NPM = Path(os.environ.get("MNEMIC_NPM", "/nowhere"), "@modelcontextprotocol")
NODE = shutil.which("node")
SCENARIOS = ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams",
             "dns-rebinding-protection"]  # fmt: skip


def needed(package: str) -> str:
    if not NODE or not (NPM / package).is_dir():
        pytest.skip(f"set MNEMIC_NPM to a node_modules folder with @modelcontextprotocol/{package}")
    return str(NPM / package)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


def test_the_inspector_lists_and_calls_our_tools(tmp_path: Path) -> None:
    cli = needed("inspector-cli") + "/build/cli.js"
    script = tmp_path / "serve.sh"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mnemic --home "{tmp_path}/home" mcp\n', "utf-8")
    script.chmod(0o755)

    def ask(*words: str) -> Any:
        command = [str(NODE), cli, "--cli", str(script), *words]
        done = subprocess.run(command, env=environ(tmp_path), capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    assert len(ask("--method", "tools/list")["tools"]) == 21
    stored = ask("--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=Ada likes trains")
    assert stored["structuredContent"]["status"] == "stored"
    found = ask("--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=trains")
    assert found["structuredContent"]["count"] == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_generic_scenarios_of_the_conformance_suite_pass(memory: Memory, scenario: str) -> None:
    suite = needed("conformance") + "/dist/index.js"
    node = os.environ.get("MNEMIC_NODE22", str(NODE))
    with served(memory) as url:
        command = [node, suite, "server", "--url", f"{url}/mcp", "--scenario", scenario]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "fs.globSync" in done.stderr or "globSync" in done.stderr:
        pytest.skip("the conformance suite needs Node 22: set MNEMIC_NODE22")
    assert "0 failed, 0 warnings" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [7, 11, 12, 13])
def test_our_graph_answers_as_the_real_server_memory_does(tmp_path: Path, memory: Memory, seed: int) -> None:
    script = needed("server-memory") + "/dist/index.js"
    settings = {**environ(tmp_path), "MEMORY_FILE_PATH": str(tmp_path / "m.jsonl")}
    process = StdioServerParameters(command=str(NODE), args=[script], env=settings)
    dice = random.Random(seed)

    async def theirs() -> list[Any]:
        async with Client(stdio_client(process), mode="legacy") as client:
            return [await asked(client, *step) for step in steps]

    async def ours(client: Client) -> list[Any]:
        return [await asked(client, *step) for step in steps]

    steps = [drawn(dice) for _ in range(120)]
    for step, mine, real in zip(steps, within(memory, ours, box=BOX), anyio.run(theirs), strict=True):
        assert mine == real, step


async def asked(client: Client, tool: str, arguments: dict[str, Any]) -> Any:
    """What a step answers, in an order of its own: ours keeps the place of what was deleted and written again."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        return "error"
    return json.loads(json.dumps(result.structured_content), object_hook=_ordered)


def _ordered(row: dict[str, Any]) -> dict[str, Any]:
    return {key: sorted(value, key=json.dumps) if isinstance(value, list) else value for key, value in row.items()}


def drawn(dice: random.Random) -> tuple[str, dict[str, Any]]:
    """One step: a tool and its arguments, over a few names so that steps meet."""
    names = ["Ada", "Grace", "Acme GmbH", "咖啡"]
    facts = ["likes trains", "Two\nlines", "is 36 (or 37)", "爱好: 火车", "  spaced  "]

    def some(values: list[str]) -> list[str]:
        return dice.sample(values, dice.randint(1, 3))

    kinds, verbs = ["person", "company (old)"], ["knows", "works at"]
    entities = [{"name": name, "entityType": dice.choice(kinds), "observations": some(facts)} for name in some(names)]
    relations = [
        {"from": dice.choice(names), "to": dice.choice(names), "relationType": dice.choice(verbs)} for _ in range(2)
    ]
    if relations[0] == relations[1]:
        relations.pop()
    steps: list[tuple[str, dict[str, Any]]] = [
        ("create_entities", {"entities": entities}), ("create_relations", {"relations": relations}),
        ("add_observations", {"observations": [{"entityName": dice.choice(names), "contents": some(facts)}]}),
        ("delete_entities", {"entityNames": [dice.choice(names)]}),
        ("delete_observations", {"deletions": [{"entityName": dice.choice(names), "observations": some(facts)}]}),
        ("delete_relations", {"relations": relations[:1]}), ("read_graph", {}),
        ("search_nodes", {"query": dice.choice(["ada", "TRAINS", "36", "火", "old"])}), ("open_nodes", {"names": some(names)}),
    ]  # fmt: skip
    return dice.choice(steps)
