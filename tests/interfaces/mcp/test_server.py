"""The server over its real transports, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from mnemic import Memory
from mnemic.interfaces.mcp.server import app
from mnemic.interfaces.mcp.tools import TOOLS
from tests.interfaces.mcp.clients import ERAS, VERSIONS, home, said, within

NOTE = "Ada prefers the window seat."
ARGUMENTS: dict[str, dict[str, Any]] = {
    "remember": {"text": NOTE}, "recall": {"query": "window seat"}, "open": {"path": "/notes/ada-prefers-the-window-seat"},
    "browse": {}, "diary": {"text": "I moved.", "kind": "said"}, "diary_entries": {"pending": True},
    "extract": {"concerns": [{"action": "new", "title": "A move", "background": "moved", "source_diary_ids": [1]}]},
    "profile": {}, "recall_experience": {"situation": "deploying"},
    "record_experience": {"kind": "positive", "family": "deploy", "gist": "Build first", "situation": "deploying",
                          "path": "1. build", "reasoning": "else it is empty", "evidence": {"note": "passed after two failures"},
                          "complexity": {"tokens": 9000, "steps": 8, "had_failure": True}},
    "report": {"id": "ID", "outcome": "success"}, "revise": {"id": "ID", "reason": "wrong", "gist": "Build twice"},
    "touch": {"path": "/notes/ada-prefers-the-window-seat"}, "new_card": {"title": "Ada", "type": "contact"},
    "cards": {}, "card": {"path": "Ada"}, "wiki": {"view": "list"}, "dream": {"dry_run": True},
    "work_next": {"of": "dream"},
    "work_submit": {"of": "dream", "id": "0", "answer": {}}, "status": {}, "forget": {"path": "/notes", "reason": "done"},
}  # fmt: skip
REFUSED = {"revise", "work_submit"}
"""A candidate is not challenged yet, which is a rule of memory; and no order waits."""

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip


async def use_every_tool(client: Client) -> None:
    """Call every tool that is listed, as its arguments allow."""
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert listed == set(ARGUMENTS) == {tool.name for tool in TOOLS}
    number = ""
    for name, given in ARGUMENTS.items():
        arguments = {key: number if value == "ID" else value for key, value in given.items()}
        result = await client.call_tool(name, arguments)
        assert result.is_error == (name in REFUSED), (name, said(result))
        if name == "record_experience":
            number = result.structured_content["id"]
    assert [str(row.uri) for row in (await client.list_resources()).resources] == [
        "mnemic://profile", "mnemic://skill", "mnemic://status",
    ]  # fmt: skip
    page = await client.read_resource("mnemic://at/notes/ada-prefers-the-window-seat")
    assert NOTE in page.contents[0].text  # type: ignore[union-attr]
    assert len((await client.list_prompts()).prompts) == 3
    skill = await client.get_prompt("memory_skill")
    assert "`mnemic diary add` → `diary`" in skill.messages[0].content.text  # type: ignore[union-attr]


def environ(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(folder),
            "MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_NOW": "2026-11-30T12:00:00Z"}  # fmt: skip


@pytest.mark.parametrize("mode", ERAS)
def test_the_real_client_lists_and_calls_every_tool_over_stdio(tmp_path: Path, mode: str) -> None:
    words = ["-m", "mnemic", "--home", str(tmp_path / "home"), "mcp"]
    process = StdioServerParameters(command=sys.executable, args=words, env=environ(tmp_path))

    async def run() -> None:
        async with Client(stdio_client(process), mode=mode) as client:
            assert client.protocol_version == VERSIONS[mode]
            await use_every_tool(client)

    anyio.run(run)


@contextmanager
def served(memory: Memory) -> Iterator[str]:
    """The URL of a real HTTP server over this memory, below another app as `mnemic serve` mounts it."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount

    mounted = app(lambda: memory)
    parent = Starlette(routes=[Mount("/", app=mounted)], lifespan=lambda _: mounted.router.lifespan_context(mounted))
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    server = Server(uvicorn.Config(parent, host="127.0.0.1", port=0, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(30)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.mark.parametrize("mode", ERAS)
def test_the_real_client_lists_and_calls_every_tool_over_http(tmp_path: Path, mode: str) -> None:
    with home(tmp_path) as memory, served(memory) as url:

        async def run() -> None:
            async with Client(f"{url}/mcp", mode=mode) as client:
                assert client.protocol_version == VERSIONS[mode]
                await use_every_tool(client)

        anyio.run(run)


def test_a_request_for_another_host_or_from_another_site_is_refused(tmp_path: Path) -> None:
    import http.client
    from urllib.parse import urlsplit

    body = json.dumps(HELLO)
    plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with home(tmp_path) as memory, served(memory) as url:

        def status(**headers: str) -> int:
            link = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
            link.request("POST", "/mcp", body, {**plain, **headers})
            answer = link.getresponse()
            answer.read()
            link.close()
            return answer.status

        assert status(Host="evil.example") == 421
        assert status(Origin="http://evil.example") == 403
        assert status(**{"Content-Type": "text/plain"}) in (400, 415)
        assert status() == 200


def test_only_protocol_bytes_stand_on_stdout_and_the_server_ends_with_its_input(tmp_path: Path) -> None:
    asked = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    command = [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), "mcp"]
    with subprocess.Popen(command, env=environ(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write("".join(json.dumps(one) + "\n" for one in asked).encode())
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.wait(60) == 0
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
    assert not (tmp_path / "home").exists()


def test_nothing_heavy_is_loaded_before_the_first_call() -> None:
    code = (
        "import sys; from mnemic.interfaces.mcp.server import server; server(lambda: None);"
        "print([name for name in ('numpy', 'apsw', 'mnemic.memory', 'onnxruntime', 'dulwich', 'typer') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_a_home_that_does_not_open_is_told_by_the_call_and_the_next_call_tries_again(tmp_path: Path) -> None:
    from mnemic.errors import StoreError
    from mnemic.interfaces.mcp.server import Lazy

    tries = list[int]()

    def opened() -> Memory:
        tries.append(1)
        if len(tries) == 1:
            raise StoreError("'memory.db' is gone: restore a backup with `mnemic restore FILE`")
        return home(tmp_path)

    lazy = Lazy(opened)

    async def twice(client: Client) -> list[tuple[bool, str]]:
        results = [await client.call_tool("status", {}), await client.call_tool("status", {})]
        return [(result.is_error, said(result)) for result in results]

    async def run() -> list[tuple[bool, str]]:
        from mnemic.interfaces.mcp.server import server

        async with Client(server(lazy.memory)) as client:
            return await twice(client)

    first, second = anyio.run(run)
    assert first == (True, "'memory.db' is gone: restore a backup with `mnemic restore FILE`")
    assert second[0] is False
    lazy.close()


def test_what_is_not_there_is_a_protocol_error_that_names_it(tmp_path: Path) -> None:
    with home(tmp_path) as memory:

        async def ask(client: Client) -> list[str]:
            told = []
            for act in (
                lambda: client.call_tool("fly", {}), lambda: client.read_resource("mnemic://at/nowhere"),
                lambda: client.read_resource("file:///etc/passwd"), lambda: client.get_prompt("nothing"),
            ):  # fmt: skip
                with pytest.raises(MCPError) as error:
                    await act()
                told.append(error.value.message)
            return told

        assert within(memory, ask) == [
            "there is no tool 'fly': tools/list names them",
            "nothing stands at '/nowhere': see `browse`",
            "there is no resource 'file:///etc/passwd': read mnemic://at/… with a path that `recall` or `browse` shows",
            "there is no prompt 'nothing': use memory_skill, memory_recall, memory_profile",
        ]


@pytest.mark.parametrize("words", [["mcp"], ["install", "codex"]])
def test_without_the_sdk_the_command_says_what_to_install(tmp_path: Path, words: list[str]) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; import importlib.util as u; u.find_spec = lambda *_: None;"
        f"sys.argv = ['mnemic', '--home', {str(tmp_path)!r}, *{words!r}]; from mnemic.interfaces.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mnemic: the MCP server needs the package mcp 2.3 or later: pip install 'mnemic[mcp]'\n"
    assert not (tmp_path / ".codex").exists()
