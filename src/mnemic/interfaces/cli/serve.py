"""The verb that serves REST, the workbench and MCP over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mnemic.interfaces.cli.common import opened

Names = Annotated[list[str] | None, typer.Option("--allow-host", help="A further name by which clients may call it; repeatable.")]
Origins = Annotated[list[str] | None, typer.Option("--allow-origin", help="A page that may use it, e.g. app://obsidian.md.")]


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(serve)


def serve(
    host: Annotated[str, typer.Option(help="The address it listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8378,
    token_file: Annotated[str | None, typer.Option(help="The token's file; else serve.token in the home.")] = None,
    allow_host: Names = None,
    allow_origin: Origins = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="A line of JSON on stderr for each request, without content.")
    ] = False,
) -> None:
    """Serve the workbench, REST and MCP over HTTP; hooks get faster while it runs."""
    from mnemic.interfaces.exporting import exporting
    from mnemic.interfaces.guard import is_loopback
    from mnemic.interfaces.rest import serve as run

    with opened() as memory, exporting(os.environ) as problems:

        def ready(url: str, file: Path) -> None:
            typer.echo(f"mnemic on {url} for {memory.settings.place} (Ctrl-C ends it)")
            typer.echo(f"the token is in {file}")
            for problem in problems:
                typer.echo(f"mnemic: {problem}", err=True)
            if not is_loopback(host):
                typer.echo("mnemic: this address is open to the network, without encryption: put TLS before it", err=True)

        def logged(row: str) -> None:
            typer.echo(row, err=True)

        run(
            memory, host=host, port=port, token_file=Path(token_file).expanduser().absolute() if token_file else None,
            hosts=allow_host or (), origins=allow_origin or (), ready=ready, line=logged if log_json else None,
        )  # fmt: skip
