"""The verb that does the jobs of a home in a database."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.interfaces.cli.common import opened

if TYPE_CHECKING:
    from mnemic.store.postgres.worker import Worked


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(worker)


def worker(
    once: Annotated[bool, typer.Option("--once", help="Do what is due and end.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="So many at the same time.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each job.")] = False,
) -> None:
    """Embed and tend the namespaces of a home in PostgreSQL, until a signal ends it."""
    from mnemic.interfaces.serving import ended

    def told(job: Worked) -> None:
        row = asdict(job)
        end = "" if job.outcome == "done" else f"  {job.outcome}: {job.error}"
        typer.echo(json.dumps(row, ensure_ascii=False) if as_json else f"{job.kind:5}  {job.ms:8.1f} ms  {job.namespace}{end}")

    with opened() as memory:
        made = memory.worker(once=once, at_once=jobs, told=told)
        with ended(made.stop):
            if not once:
                typer.echo(f"mnemic works for {memory.settings.place} (Ctrl-C ends it)", err=True)
            made.run()
