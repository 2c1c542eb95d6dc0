"""The verbs that connect agents: the MCP server, hooks, and what installs them into a host."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mnemic.errors import BadInput
from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import TARGET, Json, emit, opened, read


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command()(mcp)
    app.command()(hook)


def mcp(
    compat: Annotated[str | None, typer.Option(help="server-memory: the nine tools of that server, over this memory.")] = None,
    load: Annotated[str | None, typer.Option("--import", help="server-memory: take in its JSON lines first, then stop.")] = None,
    as_json: Json = False,
) -> None:
    """Serve memory to an agent over MCP, on standard input and output."""
    from mnemic.interfaces.mcp import required

    if compat not in (None, "server-memory"):
        raise BadInput(f"compat {compat!r} is unknown: use server-memory")
    if load is not None:
        with opened() as memory:
            emit(memory.graph.take(read(Path(load).expanduser()).splitlines()), as_json, render.record)
        return
    required()
    from mnemic.interfaces.mcp.server import stdio
    from mnemic.interfaces.mcp.tools import BOX

    if compat:
        from mnemic.interfaces.mcp import server_memory

        stdio(opened, server_memory.BOX)
    else:
        stdio(opened, BOX)


def hook(
    event: Annotated[str, typer.Argument(help="session-start, prompt, stop, pre-compact or session-end.")],
) -> None:
    """Answer an event of a coding agent's session: JSON on standard input and output. It never fails or delays a turn."""
    from mnemic.interfaces.hooks.run import main

    main(event, TARGET.home, TARGET.namespace)
