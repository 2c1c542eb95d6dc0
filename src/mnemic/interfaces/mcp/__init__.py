"""Memory as an MCP server: tools, resources and prompts, over stdio or mounted at `/mcp`.

A client shows its model the tools it has when the first turn begins, so the server must answer at once: nothing but the
SDK is loaded before the first call, and the home is opened by it. Both eras of the protocol are served, and no state is
kept for a connection. Whatever comes in here is the agent's word, never the user's.
"""

from __future__ import annotations

from mnemic.errors import MissingExtra


def required() -> None:
    """Raises MissingExtra, with the command to run, where the SDK is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp.server.lowlevel") is None:
        raise MissingExtra("the MCP server needs the package mcp 2.3 or later: pip install 'mnemic[mcp]'")
