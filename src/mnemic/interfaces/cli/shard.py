"""The verbs for a home of several servers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, emit, opened

Name = Annotated[str, typer.Argument(metavar="SHARD", help="A server's name; `home` is the first.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    verbs = typer.Typer(no_args_is_help=True, help="The servers of a home in PostgreSQL, and which namespace is on which.")
    app.add_typer(verbs, name="shard")
    verbs.command("list")(list_)
    verbs.command("add")(add)
    verbs.command("move")(move)
    verbs.command("remove")(remove)


def list_(
    where: Annotated[bool, typer.Option("--where", help="Also each namespace with its server.")] = False, as_json: Json = False
) -> None:
    """The servers, and how many namespaces are on each."""
    with opened() as memory:
        told = {"shards": memory.shards.list(), **({"where": memory.shards.where()} if where else {})}
    emit(told, as_json, _show)


def add(
    name: Name, url: Annotated[str, typer.Argument(help="Of an empty database.")],
    replica: Annotated[list[str] | None, typer.Option(help="The URL of a server that follows it; may be repeated.")] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Take a server into the home, or change the URLs of one. New namespaces go where the fewest are."""
    with opened() as memory:
        emit(memory.shards.add(name, url, replica or []), as_json, render.record)


def move(
    namespace: Annotated[str, typer.Argument(metavar="NS", help="The namespace.")], shard: Name, as_json: Json = False
) -> None:
    """Move a namespace to a server while others work in it. Cut short, it is done or not: repeat it."""
    with opened() as memory, render.progress("moving") as told:
        done = memory.shards.move(
            namespace, shard, lambda what, done, whole: told(description=what, completed=done, total=whole)
        )  # fmt: skip
    emit(done, as_json, render.record)


def remove(name: Name, as_json: Json = False) -> None:
    """Let go of a server that has no namespace."""
    with opened() as memory:
        emit(memory.shards.remove(name), as_json, render.record)


def _show(told: dict[str, Any]) -> None:
    for row in told["shards"]:
        render.line(
            (row["name"], "bold"), (f"  {render.count(row['namespaces'], 'namespace')}  ", ""), (row["url"], "dim"),
            ("" if row["reachable"] else "  cannot be reached", "red"),
        )  # fmt: skip
    for namespace, place in told.get("where", {}).items():
        render.line((namespace, "bold"), (f"  {place}", ""))
