"""What a token is good for: tables over every route, tool and path that there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client as McpClient
from mcp import MCPError

from mnemic import Memory
from mnemic.interfaces.integrations.mem0_rest import READING
from mnemic.interfaces.integrations.mem0_rest import ROUTES as MEM0_ROUTES
from mnemic.interfaces.mcp.tools import TOOLS
from mnemic.interfaces.rest.openapi import IMPORTS, ROOT
from mnemic.interfaces.rest.routes import ROUTES, Route
from mnemic.interfaces.rest.serve import over_mcp
from mnemic.interfaces.tokens import SCOPES
from tests.interfaces.mcp.clients import said
from tests.interfaces.mcp.test_server import HELLO
from tests.interfaces.rest.clients import PAST, Client, mcp

NOTE = "Ada prefers the window seat."
PATH = "/notes/ada-prefers-the-window-seat"
HEAVY = {"/vault/sync", "/vault/rebuild", "/session-start", "/night", "/compress-dailies"}
"""What makes a repository, which takes its time."""


def status(client: Client, route: Route, headers: dict[str, str], **body: Any) -> int:
    path = ROOT + re.sub(r"{\w+}", "7", route.path)
    if route.path.startswith(IMPORTS):
        return client.ask(route.method, path, headers={**headers, "content-type": "application/octet-stream"}).status_code
    more = {} if route.queried else {"json": body}
    return client.ask(route.method, path, headers=headers, **more).status_code


def test_every_route_names_the_scopes_that_it_needs() -> None:
    for route in ROUTES:
        assert route.needs and set(route.needs) <= set(SCOPES), route
        if route.method != "GET" and route.needs == ("read",):
            assert route.target in {
                "recall", "session_start", "show", "experiences.recall", "graph.open", "graph.search", "export",
                "export_training",
            }, "what only reads leaves memory as it is"  # fmt: skip
    wide = {route.target for route in ROUTES if route.wide}
    assert wide == {"vacuum", "tend", "reindex", "doctor", "backup", "backups", "backup_file", "backup_delete", "hook",
                    "export", "exports", "export_file", "export_delete", "export_training", "read_export"}  # fmt: skip


def test_a_token_without_a_scope_that_is_needed_is_refused_on_every_route_and_nothing_happens(
    client: Client, memory: Memory
) -> None:
    memory.remember(NOTE)
    head, without = memory.ledger(limit=1), {
        scope: client.granted(*[one for one in SCOPES if one != scope]) for scope in SCOPES
    }  # fmt: skip
    for route in ROUTES:
        for scope in route.needs:
            assert status(client, route, without[scope]) == 403, (route.method, route.path, scope)
    assert memory.ledger(limit=1) == head


def test_a_token_with_just_the_scopes_that_are_needed_is_let_in_on_every_route(client: Client) -> None:
    granted = {needs: client.granted(*needs) for needs in {route.needs for route in ROUTES}}
    for route in ROUTES:
        if route.path not in HEAVY:
            assert status(client, route, granted[route.needs]) not in (401, 403), (route.method, route.path)


def test_a_token_of_another_namespace_is_refused_on_every_route(client: Client) -> None:
    headers = client.granted(*SCOPES, namespaces=("work",), **{"mnemic-namespace": "default"})
    for route in ROUTES:
        assert status(client, route, headers) == 403, (route.method, route.path)
    for method, path in (("POST", "/mcp"), ("GET", "/metrics"), ("GET", "/mem0/memories"), ("GET", "/nowhere")):
        assert client.ask(method, path, headers=headers).status_code == 403


def test_what_is_about_the_whole_home_is_not_for_a_token_of_namespaces(client: Client) -> None:
    headers = client.granted(*SCOPES, namespaces=("work",))
    assert {status(client, route, headers) for route in ROUTES if route.wide} == {403}
    row = client.ask("GET", "/api/v1/status", headers=headers).json()
    assert row["namespace"] == "work" and not {"home", "namespaces", "bytes"} & row.keys()
    assert client.get("/status")["namespaces"] >= 0
    assert "bytes" not in client.ask("GET", "/api/v1/stats", headers=headers).json()


@pytest.mark.parametrize(("path", "body"), [
    ("/forget", {"path": PATH, "erase": True}), ("/remember", {"text": "x", "allow_erased": True}),
])  # fmt: skip
def test_erasing_for_good_needs_a_scope_of_its_own(client: Client, memory: Memory, path: str, body: Any) -> None:
    memory.remember(NOTE)
    head = memory.ledger(limit=1)
    assert client.ask("POST", ROOT + path, headers=client.granted("read", "write", "admin"), json=body).status_code == 403
    assert memory.ledger(limit=1) == head
    assert client.ask("POST", ROOT + path, headers=client.granted("write", "erase"), json=body).status_code == 200


def test_a_token_of_one_namespace_sees_that_without_naming_it(client: Client, memory: Memory) -> None:
    memory.remember(NOTE)
    memory.within("work").remember("Work has a window seat too.")
    headers = client.granted("read", namespaces=("work",))
    found = client.ask("POST", "/api/v1/recall", headers=headers, json={"query": "window seat"}).json()
    assert [hit["text"] for hit in found["hits"]] == ["Work has a window seat too."]
    assert client.ask("GET", "/api/v1/namespaces", headers=headers).json() == ["work"]
    assert client.get("/namespaces") == ["default", "work"]
    assert client.ask("GET", f"/api/v1/page?path={PATH}", headers=headers).status_code == 404


def test_what_tells_of_the_whole_home_is_left_out_for_a_token_of_a_namespace_and_nothing_else_is(
    client: Client, memory: Memory
) -> None:  # fmt: skip
    memory.state.write("Ada plans a journey.")
    bound = client.granted("read", "write", namespaces=("default",))
    about_home = {}
    for route in ROUTES:
        needs_nothing = not any(one.required for one in route.arguments.values())
        if route.method != "GET" or route.wide or not needs_nothing or route.path in HEAVY:
            continue
        mine, all_of_it = (client.ask("GET", ROOT + route.path, headers=headers).json() for headers in (bound, PAST))
        if isinstance(all_of_it, dict):
            about_home[route.path] = all_of_it.keys() - mine.keys()
            assert not {"home", "namespaces"} & mine.keys(), route.path
    assert {path: gone for path, gone in about_home.items() if gone} == {
        "/status": {"home", "namespaces", "bytes"}, "/stats": {"bytes"}
    }  # fmt: skip

    client.ask("PUT", f"{ROOT}/bookmarks/import", headers=bound, json={"home": "/a", "bytes": 7, "namespaces": []})
    kept = client.ask("GET", f"{ROOT}/bookmarks/import", headers=bound)
    assert kept.json() == {"home": "/a", "bytes": 7, "namespaces": []}


@pytest.mark.parametrize(("path", "before", "after"), [
    ("/state", {"text": "Ada plans a journey."}, {"text": "Ada is back."}), ("/bookmarks/import", {"bytes": 7}, {"bytes": 8}),
])  # fmt: skip
def test_a_token_of_a_namespace_changes_what_it_read_unless_it_was_changed_since(
    client: Client, path: str, before: Any, after: Any
) -> None:  # fmt: skip
    bound = client.granted("read", "write", namespaces=("default",))
    client.ask("PUT", ROOT + path, headers=bound, json=before)
    mark = client.ask("GET", ROOT + path, headers=bound).headers["etag"]
    found = [client.ask("PUT", ROOT + path, headers={**bound, "if-match": mark}, json=after) for _ in range(2)]
    assert [one.status_code for one in found] == [200, 412]


def test_a_token_of_several_namespaces_says_which_it_means(client: Client) -> None:
    headers = client.granted("read", "write", namespaces=("work", "für mich"))
    answer = client.ask("GET", "/api/v1/status", headers=headers)
    assert (answer.status_code, "mnemic-namespace" in answer.json()["detail"]) == (400, True)
    named = client.ask("GET", "/api/v1/status", headers={**headers, "mnemic-namespace": "f%C3%BCr%20mich"})
    assert named.json()["namespace"] == "für mich"
    twice = [*headers.items(), ("mnemic-namespace", "work"), ("mnemic-namespace", "work")]
    assert client.ask("GET", "/api/v1/status", headers=twice).status_code == 400


@pytest.mark.parametrize("name", ["%00", "%0a", "", "x" * 201, "%E2%80%AE"])
def test_a_name_that_no_namespace_can_have_is_refused(client: Client, name: str) -> None:
    headers = client.granted("read", **{"mnemic-namespace": name})
    assert client.ask("GET", "/api/v1/status", headers=headers).status_code == 400


def test_a_token_that_is_revoked_is_shut_out_at_once(client: Client) -> None:
    headers = client.granted("read")
    assert client.ask("GET", "/api/v1/status", headers=headers).status_code == 200
    client.tokens.revoke("token 0")
    assert client.ask("GET", "/api/v1/status", headers=headers).status_code == 401


def test_every_path_of_mem0_needs_read_or_write(client: Client) -> None:
    tokens = {scope: client.granted(*[one for one in SCOPES if one != scope]) for scope in ("read", "write")}
    for pattern, methods in MEM0_ROUTES:
        for method, act in methods.items():
            needed = "read" if act in READING else "write"
            for scope, headers in tokens.items():
                path = "/mem0" + pattern.replace("(?P<id>[^/]+)", "7")
                found = client.ask(method, path, headers=headers, **({} if method == "GET" else {"json": {}}))
                assert (found.status_code == 403) == (scope == needed), (method, path, scope)


@pytest.mark.parametrize("how", ["Bearer", "Token", "X-API-Key"])
def test_a_client_of_mem0_sends_its_token_in_its_own_way(client: Client, memory: Memory, how: str) -> None:
    text = client.granted("read", "write", namespaces=("work",))["authorization"].removeprefix("Bearer ")
    sent = {"x-api-key": text} if how == "X-API-Key" else {"authorization": f"{how} {text}"}
    headers = {**sent, "content-type": "application/json"}
    body = {"messages": "I like the window seat.", "user_id": "ada"}
    added = client.ask("POST", "/mem0/v3/memories/add/", headers=headers, json=body).json()
    assert added["results"][0]["event"] == "ADD"
    assert memory.namespaces() == ["work"]
    if how != "Bearer":
        assert client.ask("GET", "/api/v1/status", headers=headers).status_code == 401


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_shows_and_calls_the_tools_of_the_token_alone(client: Client, memory: Memory, mode: str) -> None:
    headers = client.granted("read", namespaces=("work",))
    memory.remember(NOTE)

    async def look(one: McpClient) -> tuple[set[str], list[str], str, str]:
        names = {tool.name for tool in (await one.list_tools()).tools}
        refused = []
        for tool in TOOLS:
            if tool.needs != "read":
                told = await one.call_tool(tool.name, {})
                assert told.is_error
                refused.append(said(told))
        found = said(await one.call_tool("recall", {"query": "window seat"}))
        with pytest.raises(MCPError, match="nothing stands at"):
            await one.read_resource(f"mnemic://at{PATH}")
        return names, refused, found, said(await one.call_tool("status", {}))

    names, refused, found, state = mcp(memory, look, headers, mode)
    assert names == {tool.name for tool in TOOLS if tool.needs == "read"} and {"recall", "open", "profile"} <= names
    assert len(refused) > 10 and all("lacks the scope write" in why for why in refused)
    assert NOTE not in found and '"namespace":"work"' in state and '"home"' not in state


def test_a_write_token_writes_into_its_namespace_over_mcp(client: Client, memory: Memory) -> None:
    headers = client.granted("read", "write", namespaces=("work",))

    async def keep(one: McpClient) -> str:
        return said(await one.call_tool("remember", {"text": NOTE}))

    assert "stored" in mcp(memory, keep, headers)
    assert memory.namespaces() == ["work"]


def test_a_session_of_mcp_is_that_of_the_token_that_began_it(client: Client, memory: Memory) -> None:
    mounted = over_mcp(memory, ["localhost"], [])
    assert mounted is not None
    application = Client(memory, mcp=mounted)
    accept = {"accept": "application/json, text/event-stream"}
    mine, other = (client.granted("read", namespaces=(name,), **accept) for name in ("work", "home"))
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}}

    async def run(line: httpx.AsyncClient) -> list[int]:
        async with mounted.router.lifespan_context(mounted):
            begun = await line.post("/mcp", headers=mine, json=HELLO)
            number = {"mcp-session-id": begun.headers["mcp-session-id"]}
            told = await line.post("/mcp", headers={**mine, **number}, json=ask)
            assert '"namespace\\":\\"work' in told.text or '"namespace":"work"' in told.text
            return [begun.status_code, told.status_code,
                    (await line.post("/mcp", headers={**other, **number}, json=ask)).status_code]  # fmt: skip

    assert application.with_line(run) == [200, 200, 404]


def test_an_agents_token_brings_an_agents_word_on_every_route(client: Client, memory: Memory) -> None:
    memory.facts.add("identity", "home_city", "Porto")
    memory.remember(NOTE)
    headers = client.granted(*SCOPES, voice="agent")
    assert {route.target for route in ROUTES if route.personal} == {
        "accept", "undo", "tier", "observe", "window_observe", "hook", "cards.set", "cards.log", "cards.link", "cards.rename",
        "cards.retire", "read_export",
    }  # fmt: skip
    told = {  # what is complete but for whose word it is, and what it may not be
        "/facts": {"category": "identity", "key": "x", "value": "y"}, "/tier": {"path": PATH, "tier": "core"},
        "/forget": {"path": PATH, "erase": True}, "/remember": {"text": "x", "origin": "user"}, "/accept": {"reason": "x"},
        "/ledger/{seq}/undo": {"reason": "x"},
    }  # fmt: skip
    for path, body in told.items():
        found = client.ask("POST", ROOT + path.replace("{seq}", "1"), headers=headers, json=body)
        assert found.status_code == 422, (path, found.text)
    assert client.ask("POST", ROOT + "/remember", headers=headers, json={"text": "A robot sat down."}).status_code == 200
    assert memory.show("/notes/a-robot-sat-down")["origin"] == "agent"
    turns = [{"role": "user", "content": "I moved to Faro."}, {"role": "assistant", "content": "Noted."}]
    client.ask("POST", ROOT + "/capture", headers=headers, json={"turns": turns, "session": "s"})
    hit = memory.recall("moved to Faro").hits[0]
    assert memory.show(hit.path)["origin"] == "agent"


@pytest.mark.parametrize("voice", ["user", "agent", "tool", "web", "import"])
def test_nothing_comes_in_over_another_door_as_more_than_the_tokens_word(client: Client, memory: Memory, voice: str) -> None:
    headers = client.granted(*SCOPES, voice=voice)
    turns = [{"role": role, "content": f"The {role} moved to Faro."} for role in ("user", "assistant", "tool")]
    client.ask("POST", "/mem0/v3/memories/add", headers=headers, json={"messages": turns, "user_id": "ada"})
    added = [record.origin for record in memory.records.below(("mem0",))]
    assert added == {"user": ["user", "agent", "tool"], "agent": ["agent", "agent", "tool"]}.get(
        voice, [voice, voice, "tool"]
    )
    (number, *_) = [record.key[1] for record in memory.records.below(("mem0",))]
    client.ask("PUT", f"/mem0/v1/memories/{number}", headers=headers, json={"metadata": {"seen": True}})
    assert memory.records.below(("mem0",))[0].origin == added[0]
    low = voice not in ("user", "agent")
    kept = client.ask("PUT", ROOT + "/record", headers=headers, json={"key": ["a"], "body": "b"})
    told = mcp(memory, lambda line: line.call_tool("remember", {"text": "A robot sat down."}), headers)
    assert (kept.status_code == 422, told.is_error) == (low, low)
    assert client.ask("POST", ROOT + "/recall", headers=headers, json={"query": "robot"}).status_code == 200


def test_a_hook_names_a_file_of_this_machine_so_a_token_of_a_namespace_cannot(
    client: Client, memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text('{"type":"user","message":{"role":"user","content":"a secret of somebody"},"uuid":"1","sessionId":"s"}\n')
    headers = client.granted(*SCOPES, namespaces=("work",))
    body = {"session_id": "s", "transcript_path": str(file)}
    assert client.ask("POST", f"{ROOT}/hooks/session-end", headers=headers, json=body).status_code == 403
    assert memory.namespaces() == []
