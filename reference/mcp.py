"""docs/reference/mcp.md, from the tools, resources and prompts that the server lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.interfaces.mcp import reading
from mnemic.interfaces.mcp.server_memory import BOX as SERVER_MEMORY
from mnemic.interfaces.mcp.tools import BOX, Tool, Toolbox
from reference.text import arguments, code, made_from, members, prose, table

HEAD = """# MCP

What `mnemic mcp` and `/mcp` list. What holds for every tool, and how a client is set up: [MCP](../mcp.md).
Required arguments are **bold**.

"""
SAYS = """
## What the server tells a client of itself

> {instructions}

## Tools

"""
COMPAT = """
## Tools of `--compat server-memory`

`mnemic mcp --compat server-memory` lists these instead.

"""


def page() -> str:
    """The whole page."""
    parts = [made_from("the toolbox of src/mnemic/interfaces/mcp"), HEAD, _overview(BOX)]
    parts.append(SAYS.format(instructions=prose(" ".join(BOX.instructions.split()))))
    parts += [_entry(tool) for tool in BOX.tools]
    parts += ["\n## Resources\n\n", _listed("uri", (*reading.RESOURCES, *reading.TEMPLATES))]
    parts += ["\n## Prompts\n\n", _listed("name", reading.PROMPTS)]
    parts += [COMPAT, *(_entry(tool, "server-memory: ") for tool in SERVER_MEMORY.tools)]
    return "".join(parts)


def _overview(box: Toolbox) -> str:
    rows = [[f"[{code(tool.name)}](#{tool.name})", prose(tool.title), *_hints(tool)] for tool in box.tools]
    return table(["tool", "title", "only reads", "takes away", "repeatable"], rows)


def _hints(tool: Tool) -> list[str]:
    return ["yes" if hint else "" for hint in (tool.reads, tool.destroys, tool.repeats or tool.reads)]


def _entry(tool: Tool, before: str = "") -> str:
    anchor = f" {{ #{before.split(':')[0]}-{tool.name} }}" if before else f" {{ #{tool.name} }}"
    return f"### {code(tool.name)}{anchor}\n\n{prose(tool.about)}\n{arguments(members(tool.schema))}\n"


def _listed(key: str, rows: tuple[Mapping[str, Any], ...]) -> str:
    named = [(row.get(key) or row[f"{key}_template"], row["description"]) for row in rows]
    return table([key, "what it gives"], [[code(name), prose(about)] for name, about in named])
