"""A client of the application without a network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from mnemic import Memory
from mnemic.interfaces.rest.app import application
from mnemic.interfaces.rest.serve import over_mcp
from mnemic.interfaces.tokens import Tokens

TOKEN = "a-token-of-the-tests"
PAST = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


T = TypeVar("T")


def mcp(
    memory: Memory, act: Callable[[McpClient], Awaitable[T]], headers: dict[str, str] = PAST, mode: str = "auto",
    **parts: Any,
) -> T:  # fmt: skip
    """What `act` gives with the real client of MCP, which comes through the door with these headers."""

    async def run() -> T:
        mounted = over_mcp(memory, ["localhost"], [])
        assert mounted is not None
        transport = httpx.ASGITransport(application(memory, TOKEN, mcp=mounted, **parts))
        kept = {name: text for name, text in headers.items() if name != "content-type"}
        async with (
            mounted.router.lifespan_context(mounted),
            httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=kept) as line,
            McpClient(streamable_http_client("http://localhost/mcp", http_client=line), mode=mode) as client,
        ):
            return await act(client)

    return anyio.run(run)


class Client:
    """Asks as whoever holds the token asks, unless told otherwise."""

    def __init__(self, memory: Memory, **parts: Any) -> None:
        self._app = application(memory, TOKEN, **parts)
        self.tokens = Tokens(memory.settings.home, memory.clock)

    def granted(
        self, *scopes: str, namespaces: tuple[str, ...] | None = None, voice: str = "user", **more: str
    ) -> dict[str, str]:  # fmt: skip
        """The headers of a new token that is good for these scopes alone."""
        text = self.tokens.add(f"token {len(self.tokens.all())}", scopes=scopes, namespaces=namespaces, voice=voice)
        return {**PAST, "authorization": f"Bearer {text}", **more}

    def ask(self, method: str, path: str, *, headers: Any = PAST, **more: Any) -> httpx.Response:
        return self.with_line(lambda line: line.request(method, path, headers=headers, **more))

    def with_line(self, act: Callable[[httpx.AsyncClient], Awaitable[T]]) -> T:
        """What `act` gives with a client that sends nothing of its own."""

        async def run() -> T:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await act(client)

        return anyio.run(run)

    def get(self, path: str, /, **query: Any) -> Any:
        """The answer of a reading that goes well."""
        found = self.ask("GET", f"/api/v1{path}", params=query)
        assert found.status_code == 200, found.text
        return found.json()

    def post(self, path: str, /, **body: Any) -> Any:
        """The answer of an act that goes well."""
        found = self.ask("POST", f"/api/v1{path}", json=body)
        assert found.status_code == 200, found.text
        return found.json()
