"""The verbs that connect agents: the MCP server, hooks, and what installs them into a host."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.environment import home_folder, store_url
from mnemic.errors import BadInput
from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import TARGET, Json, emit, opened, read

if TYPE_CHECKING:
    from mnemic.interfaces.hosts import Place


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command()(mcp)
    app.command()(hook)
    app.command()(install)
    app.command()(uninstall)
    app.command()(plugin)


def mcp(
    compat: Annotated[str | None, typer.Option(help="server-memory: the nine tools of that server, over this memory.")] = None,
    load: Annotated[str | None, typer.Option("--import", help="Take in the file of server-memory, and stop.")] = None,
    as_json: Json = False,
) -> None:
    """Serve memory to an agent over MCP, on standard input and output."""
    from mnemic.interfaces.mcp import required

    if compat not in (None, "server-memory"):
        raise BadInput(f"compat {compat!r} is unknown: use server-memory")
    if load is not None:
        with opened() as memory:
            emit(memory.graph.take(read(Path(load).expanduser()).split("\n")), as_json, render.record)
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
    from mnemic.interfaces.hooks.client import main

    main([*_options(), event])


Host = Annotated[str, typer.Argument(metavar="HOST", help="claude-code, codex or cursor.")]
Project = Annotated[bool, typer.Option("--project/--user", help="In this project, or for you everywhere.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change; change nothing.")]


def install(host: Host, project: Project = False, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Give a coding agent memory: hooks, MCP server and instructions in its configuration."""
    from mnemic.interfaces import hosts
    from mnemic.interfaces.mcp import required

    required()  # a host that is told of a server which cannot start may not start itself
    emit(hosts.install(host, _place(project), _config(), dry_run=dry_run), as_json, _show_changes)


def uninstall(host: Host, project: Project = False, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Take out what `install` put in; everything else in those files stays."""
    from mnemic.interfaces import hosts

    emit(hosts.uninstall(host, _place(project), _config(), dry_run=dry_run), as_json, _show_changes)


def plugin(as_json: Json = False) -> None:
    """The folder that Claude Code loads with --plugin-dir."""
    from mnemic.interfaces import hosts

    emit({"folder": str(hosts.PLUGIN)}, as_json, lambda row: print(row["folder"]))


def _place(project: bool) -> Place:
    from mnemic.interfaces.hosts import START, Place

    if TARGET.home and not project and not store_url({}, TARGET.home):  # a host starts us in whatever folder a session is about
        TARGET.home = home_folder({}, TARGET.home)
    options, root = _options(), Path.cwd() if project else Path.home()
    # A project's files are shared: everybody's own mnemic is meant, wherever it is.
    start = ("mnemic",) if project else _own_command()
    quick = (sys.executable, "-I", "-S", str(START), *options) if not project and START.is_file() else ()
    return Place(root=root, project=project, command=(*start, *options), environ=os.environ, quick=quick)


def _options() -> list[str]:
    return [*(["--home", TARGET.home] if TARGET.home else []), *(["--namespace", TARGET.namespace] if TARGET.namespace else [])]


def _own_command() -> tuple[str, ...]:
    """What started this process, by its full path: a host may know another PATH."""
    script = Path(sys.argv[0])
    if script.stem == "mnemic" and script.is_file():
        return (str(script.absolute()),)
    return (sys.executable, "-m", "mnemic")


def _config() -> Path:
    from mnemic.settings import load

    return load(os.environ, home=TARGET.home, namespace=TARGET.namespace).config


def _show_changes(row: dict[str, Any]) -> None:
    for item in row["files"]:
        render.line((f"{item['change']:<10}", "bold"), (f" {item['file']}", ""))
        if item["diff"] and row["dry_run"]:
            print(item["diff"])
    if row["dry_run"]:
        render.line(("a dry run: nothing was changed", "dim"))
    elif not row["files"]:
        render.line((f"nothing of mnemic stands in the configuration of {row['host']}", "dim"))
    elif any(item["change"] != "unchanged" for item in row["files"]):
        render.line((f"start {row['host']} anew to make it count", "dim"))
