"""The verb that serves the proxy."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.interfaces.cli.common import opened

Names = Annotated[list[str] | None, typer.Option("--allow-host", help="A further name by which clients may call it; repeatable.")]
Origins = Annotated[list[str] | None, typer.Option("--allow-origin", help="A page that may use it, e.g. app://obsidian.md.")]


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(proxy)


def proxy(
    upstream: Annotated[str, typer.Option(help="The model's server, e.g. https://api.openai.com/v1.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8377,
    host: Annotated[str, typer.Option(help="The address it listens on.")] = "127.0.0.1",
    window: Annotated[int | None, typer.Option(help="Tokens the model can take, answer included.")] = None,
    headroom: Annotated[float | None, typer.Option(help="The share of it that stays free for the answer, 0 to 0.9.")] = None,
    judge: Annotated[str, typer.Option(help="Who summarises: rules, endpoint or agent.")] = "rules",
    retrieve: Annotated[bool, typer.Option(help="Whether memory adds what matters now.")] = True,
    allow_host: Names = None,
    allow_origin: Origins = None,
) -> None:
    """Give any client of a model memory and endless context: point its base URL here."""
    from mnemic.interfaces.guard import is_loopback
    from mnemic.interfaces.proxy import serve

    with opened() as memory:

        def ready(url: str) -> None:
            typer.echo(f"mnemic proxy on {url} for {upstream}, memory in {memory.settings.place} (Ctrl-C ends it)")
            if not is_loopback(host):
                typer.echo("mnemic: whoever reaches this address reads and writes this memory", err=True)

        serve(
            memory, lambda: memory.windows(window=window, headroom=headroom, judge=judge, retrieve=retrieve), upstream,
            host=host, port=port, hosts=allow_host or (), origins=allow_origin or (), ready=ready,
            patience=memory.settings.llm.timeout if judge == "endpoint" else 0.0,
        )  # fmt: skip
