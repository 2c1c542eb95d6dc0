"""The real client of the MCP SDK, run to its end inside one test."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.types import CallToolResult

from mnemic import Memory
from mnemic.clock import CountingIds, FixedClock
from mnemic.interfaces.mcp.server import server
from mnemic.interfaces.mcp.tools import BOX, Toolbox
from tests.homes import NOON

T = TypeVar("T")
ERAS = ("auto", "legacy")
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def home(folder: Path, **parts: Any) -> Memory:
    """A home whose clock stands still."""
    given = {"clock": FixedClock(NOON), "ids": CountingIds(), **parts}
    return Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}, **given)


def within(memory: Memory, act: Callable[[Client], Awaitable[T]], *, box: Toolbox = BOX, mode: str = "auto") -> T:
    """What `act` gives with a client of a server over this memory."""

    async def run() -> T:
        async with Client(server(lambda: memory, box), mode=mode) as client:
            return await act(client)

    return anyio.run(run)


def call(memory: Memory, tool: str, *, box: Toolbox = BOX, **arguments: Any) -> CallToolResult:
    """The result of one call."""
    return within(memory, lambda client: client.call_tool(tool, arguments), box=box)


def said(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def data(result: CallToolResult) -> dict[str, Any]:
    """The structured part of a result that is no error."""
    assert not result.is_error, said(result)
    return json.loads(json.dumps(result.structured_content))  # type: ignore[no-any-return]
