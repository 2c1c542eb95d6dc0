"""Who may come in: tables over every route that there is."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemic import Memory
from mnemic.interfaces.integrations.mem0_rest import ROUTES as MEM0_ROUTES
from mnemic.interfaces.rest.app import OPEN
from mnemic.interfaces.rest.openapi import ROOT
from mnemic.interfaces.rest.routes import ROUTES
from mnemic.interfaces.rest.serve import over_mcp
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import PAST, TOKEN, Client

MEM0 = [
    (method, "/mem0" + pattern.replace("(?P<id>[^/]+)", "7")) for pattern, methods in MEM0_ROUTES for method in methods
]  # fmt: skip
BESIDES = [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/metrics"), *MEM0]
REST = [(route.method, ROOT + route.path) for route in ROUTES]
EVERY = [*REST, *BESIDES, *[("GET", path) for path in sorted(OPEN)]]
LOCKED = [*REST, *BESIDES, ("GET", "/nowhere"), ("POST", "/")]
HOSTS = [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "evil.example:80", "0.0.0.0",
    "localhost.", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "[::2]", "localhost,evil.example",
    "localhost evil.example", "localhost/evil", "localhost#evil", "localhost\\evil", "", "localhost:0",
]  # fmt: skip
ORIGINS = ["http://evil.example", "null", "http://localhost:1", "https://localhost", "http://localhost.evil.example", "file://"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with home(tmp_path_factory.mktemp("door")) as memory:
        yield Client(memory, mcp=over_mcp(memory, ["localhost"], []))


def without(*names: str, **more: str) -> dict[str, str]:
    return {name: text for name, text in PAST.items() if name not in names} | more


def refused(answer: httpx.Response, status: int) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    assert answer.json()["status"] == status and answer.json()["detail"]


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_is_refused_on_every_route(client: Client, host: str) -> None:
    for method, path in EVERY:
        refused(client.ask(method, path, headers={**PAST, "host": host}), 421)


def test_two_hosts_are_refused(client: Client) -> None:
    headers = [*PAST.items(), ("host", "localhost"), ("host", "localhost")]
    for method, path in EVERY:
        refused(client.ask(method, path, headers=headers), 421)


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_page_of_another_origin_is_refused_on_every_route(client: Client, origin: str) -> None:
    for method, path in EVERY:
        refused(client.ask(method, path, headers={**PAST, "origin": origin}), 403)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_makes_a_browser_send_is_refused_on_every_route(client: Client, site: str) -> None:
    for method, path in EVERY:
        refused(client.ask(method, path, headers={**PAST, "sec-fetch-site": site}), 403)


@pytest.mark.parametrize(
    "given", [{}, {"authorization": "Bearer"}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": f"Basic {TOKEN}"},
              {"authorization": TOKEN}, {"cookie": f"token={TOKEN}"}, {"authorization": f"Bearer {TOKEN[:-1]}"}],
)  # fmt: skip
def test_without_the_right_token_every_route_but_those_without_memory_is_shut(client: Client, given: Any) -> None:
    for method, path in LOCKED:
        answer = client.ask(method, path, headers=without("authorization", **given))
        refused(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_in_the_address_opens_nothing(client: Client) -> None:
    refused(client.ask("GET", f"/api/v1/status?token={TOKEN}&access_token={TOKEN}", headers=without("authorization")), 401)


@pytest.mark.parametrize(
    "path", ["/api/v1/../v1/status", "//api/v1/status", "/healthz/../api/v1/status", "/healthz/", "/API/V1/status"]
)
def test_no_other_spelling_of_a_path_opens_it(client: Client, path: str) -> None:
    answer = client.ask("GET", path, headers=without("authorization"))
    assert answer.status_code in (200, 401)
    assert answer.status_code == 401 or answer.json() == {"ok": True}


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
             "text/plain;application/json", "application/jsonp"],
)  # fmt: skip
def test_what_a_form_can_send_is_refused_on_every_route_that_acts(client: Client, kind: str | None) -> None:
    for method, path in EVERY:
        if method not in ("GET", "DELETE"):
            headers = without("content-type", **({"content-type": kind} if kind else {}))
            refused(client.ask(method, path, headers=headers, content=b'{"text":"x"}'), 415)


def test_every_answer_tells_a_browser_to_run_and_keep_nothing(client: Client) -> None:
    for method, path in EVERY:
        for headers in (PAST, {}) if (method, path) not in LOCKED else ({},):
            found = client.ask(method, path, headers=headers).headers
            assert found["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
            assert "unsafe" not in found["content-security-policy"]
            assert (found["x-content-type-options"], found["x-frame-options"]) == ("nosniff", "DENY")
            assert "access-control-allow-origin" not in found and "set-cookie" not in found


def test_a_page_that_was_let_in_by_name_may_ask(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        client = Client(memory, origins=["app://obsidian.md"], hosts=["memory.example"])
        headers = {**PAST, "origin": "app://obsidian.md", "host": "memory.example"}
        assert client.ask("GET", "/api/v1/status", headers=headers).status_code == 200


def test_reading_changes_no_memory(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        memory.remember("Ada prefers the window seat.")
        head, client = memory.ledger(limit=1), Client(memory)
        for route in ROUTES:
            if route.method == "GET" and not route.in_path:
                query = {"path": "/notes/ada-prefers-the-window-seat"} if "path" in route.arguments else {}
                client.ask("GET", ROOT + route.path, params=query)
        assert memory.ledger(limit=1) == head


def test_the_token_is_compared_in_a_time_that_tells_nothing() -> None:
    from mnemic.interfaces import tokens

    source = inspect.getsource(tokens.Tokens.grant)
    assert source.count("hmac.compare_digest(given, ") == 2 and "==" not in source


def test_a_websocket_is_closed(tmp_path: Path) -> None:
    import anyio

    from mnemic.interfaces.rest.app import application

    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    with Memory.open(tmp_path, environ={"MNEMIC_CONFIG": str(tmp_path)}) as memory:
        scope = {"type": "websocket", "path": "/", "headers": [(b"host", b"localhost")]}
        anyio.run(application(memory, TOKEN), scope, None, send)  # type: ignore[arg-type]
    assert said == [{"type": "websocket.close", "code": 1003}]
