"""The verbs of use and age: touch, tier, decay, rotate, vacuum, stats, tend."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, Reason, emit, opened

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen; change nothing.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for verb in (touch, tier, decay, rotate, vacuum, stats, tend):
        app.command()(verb)


def touch(path: str, reason: Reason = "", as_json: Json = False) -> None:
    """Say that a path was used: one tier up."""
    with opened() as memory:
        emit(memory.touch(path, reason=reason), as_json, render.record)


def tier(
    path: str,
    name: Annotated[str, typer.Argument(metavar="core|auto", help="core: never fades; auto: its use decides.")],
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Keep a path from fading, or let its use decide again."""
    with opened() as memory:
        emit(memory.tier(path, name, reason=reason), as_json, render.record)


def decay(dry_run: DryRun = False, as_json: Json = False) -> None:
    """Where everything stands on the forgetting curve, and what moved since the last time."""
    with opened() as memory:
        emit(memory.decay(dry_run=dry_run), as_json, render.record)


def rotate(dry_run: DryRun = False, as_json: Json = False) -> None:
    """Move documents to the shelf of their age."""
    with opened() as memory:
        emit(memory.rotate(dry_run=dry_run), as_json, render.record)


def vacuum(as_json: Json = False) -> None:
    """Shrink the files to what they hold."""
    with opened() as memory:
        emit(memory.vacuum(), as_json, render.record)


def stats(as_json: Json = False) -> None:
    """How much there is by tier and by shelf."""
    with opened() as memory:
        emit(memory.stats(), as_json, render.record)


def tend(as_json: Json = False) -> None:
    """Decay and rotation if they are due: for a timer such as cron."""
    with opened() as memory:
        emit(memory.tend(), as_json, render.record)
