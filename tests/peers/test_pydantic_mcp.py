"""mnemic's MCP server under PydanticAI's own client. Opt-in: it brings another client of the protocol.

    pip install 'pydantic-ai-slim[mcp]' && pytest tests/peers/test_pydantic_mcp.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp", reason="pip install 'pydantic-ai-slim[mcp]'")
from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.mcp import MCPToolset  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402

from mnemic import Memory  # noqa: E402
from tests.peers.models import command  # noqa: E402


def test_an_agent_calls_our_tools_and_the_next_one_recalls(tmp_path: Path) -> None:
    from fastmcp.client.transports import StdioTransport

    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ours = str(command(tmp_path))
    shown: list[str] = []

    def model(calls: list[Any]) -> FunctionModel:
        def answer(messages: Any, info: Any) -> ModelResponse:
            shown.extend(str(part.content) for one in messages for part in one.parts if part.part_kind == "tool-return")
            return ModelResponse(parts=[calls.pop(0) if calls else TextPart("done")])

        return FunctionModel(answer)

    async def run(*calls: Any) -> str:
        tools: Any = MCPToolset(StdioTransport(ours, ["mcp"], env=environ))
        async with Agent(model(list(calls)), toolsets=[tools]) as agent:
            return str((await agent.run("Go on.")).output)

    assert asyncio.run(run(ToolCallPart("remember", {"text": "Ada prefers the window seat."}))) == "done"
    assert asyncio.run(run(ToolCallPart("recall", {"query": "Which seat does Ada prefer?"}))) == "done"
    assert "stored" in shown[0] and "Ada prefers the window seat." in shown[-1]
    with Memory.open(tmp_path / ".mnemic", environ={"MNEMIC_CONFIG": str(tmp_path / ".config" / "mnemic")}) as memory:
        assert [hit.origin for hit in memory.recall("window seat").hits] == ["agent"]
