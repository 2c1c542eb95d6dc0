"""A client of the application without a network."""

from __future__ import annotations

from typing import Any

import anyio
import httpx

from mnemic import Memory
from mnemic.interfaces.rest.app import application

TOKEN = "a-token-of-the-tests"
PAST = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


class Client:
    """Asks as whoever holds the token asks, unless told otherwise."""

    def __init__(self, memory: Memory, **parts: Any) -> None:
        self._app = application(memory, TOKEN, **parts)

    def ask(self, method: str, path: str, *, headers: Any = PAST, **more: Any) -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, headers=headers, **more)

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
