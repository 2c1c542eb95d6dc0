"""The verbs that give out tokens for the service."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, emit, moment, opened

Scopes = Annotated[list[str] | None, typer.Option("--scope", help="read, write, erase or admin; repeatable. Else read.")]
Spaces = Annotated[list[str] | None, typer.Option("--for", help="A namespace that it is good for; repeatable.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    verbs = typer.Typer(no_args_is_help=True, help="Tokens for others than the owner of the service.")
    app.add_typer(verbs, name="token")
    verbs.command("add")(add)
    verbs.command("list")(list_)
    verbs.command("revoke")(revoke)


def add(
    name: Annotated[str, typer.Argument(help="Whose it is: by this it is revoked, and named in the log.")],
    scope: Scopes = None,
    spaces: Spaces = None,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", help="Good for all of the home, and for the home itself.")
    ] = False,
    expires: Annotated[str | None, typer.Option(help="When it ends, e.g. 2026-12-31.")] = None,
    voice: Annotated[str, typer.Option("--as", help="Whose word it brings: user, agent, tool, web or import.")] = "user",
    as_json: Json = False,
) -> None:
    """Give out a token; its text is shown this once. Without --for it is good for the namespace that is meant."""
    from mnemic.errors import BadInput
    from mnemic.interfaces.tokens import Tokens

    if everywhere and spaces:
        raise BadInput("--all-namespaces and --for exclude each other: give one")
    with opened() as memory:
        namespaces = None if everywhere else spaces or [memory.namespace]
        text = Tokens(memory.settings.home, memory.clock).add(
            name, scopes=scope or ["read"], namespaces=namespaces, expires=moment(memory, expires), voice=voice
        )
    emit({"name": name, "token": text}, as_json, lambda row: print(row["token"]))


def list_(as_json: Json = False) -> None:
    """The tokens that were given out, without their texts."""
    from mnemic.interfaces.tokens import Tokens

    with opened() as memory:
        rows = Tokens(memory.settings.home, memory.clock).all()
    emit(rows, as_json, _show)


def revoke(name: str, as_json: Json = False) -> None:
    """Shut a token out, at once, of a service that runs too."""
    from mnemic.interfaces.tokens import Tokens

    with opened() as memory:
        Tokens(memory.settings.home, memory.clock).revoke(name)
    emit({"name": name, "revoked": True}, as_json, render.record)


def _show(rows: list[dict[str, Any]]) -> None:
    if not rows:
        render.line(("none", "dim"))
    for row in rows:
        spaces = "all namespaces" if row["namespaces"] is None else ", ".join(row["namespaces"])
        end = f"  {'ended' if row['expired'] else 'until'} {row['expires']}" if row["expires"] else ""
        voice = f"  as {row['as']}" if row["as"] != "user" else ""
        render.line((row["name"], "bold"), (f"  {', '.join(row['scopes'])}  {spaces}{voice}", ""), (end, "dim"))
