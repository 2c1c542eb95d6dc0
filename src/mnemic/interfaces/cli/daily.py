"""The verbs on daily notes and on what is loaded in every session: daily, state, budget, audit."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, emit, file_of, opened, read, stdin

Files = Annotated[list[str] | None, typer.Argument(help="What your agent loads besides, e.g. CLAUDE.md.")]


class _Dated(TyperGroup):
    """A group whose first word may be a date instead of a verb."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


daily_app = typer.Typer(cls=_Dated, help="The day's note: what was captured, and what you write. [DATE] shows one.")


def register(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.add_typer(daily_app, name="daily")
    for verb in (state, budget, audit):
        app.command()(verb)


@daily_app.command("show")
def daily_show(
    date: Annotated[str | None, typer.Argument(help="E.g. 2026-11-30 or yesterday; else today.")] = None,
    as_json: Json = False,
) -> None:
    """A day's note, brought up to date. `mnemic daily [DATE]` is the same."""
    with opened() as memory:
        emit(memory.daily.named(date), as_json, _note)


@daily_app.command("list")
def daily_list(as_json: Json = False) -> None:
    """All daily notes with their size and tier, newest first."""
    with opened() as memory:
        emit(memory.daily.all(), as_json, render.table)


@daily_app.command("compress")
def daily_compress(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Cut notes over 20 KB to 20 lines; their facts move to cards, the original stays in git."""
    with opened() as memory:
        emit(memory.compress_dailies(dry_run=dry_run), as_json, _compressed)


def state(
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT|FILE|-]", help="What shall stand there; - for stdin; without it, it is shown.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The page that every session begins with; below 4 KB and at most 80 lines."""
    file = None if text in (None, "-") else file_of(str(text))
    body = stdin() if text == "-" else read(file) if file else text
    with opened() as memory:
        emit(memory.state.show() if body is None else memory.state.write(body), as_json, _state)


def budget(files: Files = None, as_json: Json = False) -> None:
    """What is loaded in every session, in bytes and tokens, against the targets."""
    with opened() as memory:
        emit(memory.budget(files or ()), as_json, _budget)


def audit(files: Files = None, as_json: Json = False) -> None:
    """What the vault should not have. Exit code 0: nothing; 1: something was found, or it could not be looked for."""
    with opened() as memory:
        found = memory.audit(files or ())
        emit(found, as_json, _audit)
    if not found["ok"]:
        raise typer.Exit(1)


def _note(row: dict[str, Any]) -> None:
    told = f"  {row['status']}, {row['added']} added, {row['tier']}, {row['bytes']:,} bytes"
    render.line((row["path"], "bold cyan"), (told, "dim"))
    if row["reason"]:
        render.line((row["reason"], "yellow"))
    if row["body"]:
        render.line((row["body"].rstrip("\r\n"), ""))


def _compressed(row: dict[str, Any]) -> None:
    for one in row["compressed"]:
        size = f"  {one['bytes_before']:,} → {one['bytes_after']:,} bytes, {one['lines']} lines"
        render.line((one["path"], "bold cyan"), (f"{size}; {one['facts']} facts to {len(one['cards'])} cards", ""))
        for card in one["cards"]:
            render.line((f"  ↳ {card}", "cyan"))
    for path, why in row["skipped"].items():
        render.line((path, "bold"), (f"  {why}", "yellow"))
    if not row["compressed"] and not row["skipped"]:
        render.line(("no daily note is over 20 KB", "dim"))


def _state(row: dict[str, Any]) -> None:
    render.line((row["path"], "bold cyan"), (f"  {row['bytes']:,} of {row['limit']:,} bytes, {row['lines']} of 80 lines",
                "red" if row["over"] else "dim"))  # fmt: skip
    if row["body"]:
        render.line((row["body"].rstrip("\r\n"), ""))


def _budget(row: dict[str, Any]) -> None:
    for one in row["parts"]:
        of = f" of {one['limit']:,}" if one["limit"] else ""
        size = f"{one['bytes']:>8,}{of} bytes  ~{one['tokens']:,} tokens  "
        render.line((f"{one['what']:<10}", "bold"), (size, "red" if one["over"] else ""),
                    (f"{one['lines']} lines  {one['path']}", "dim"))  # fmt: skip
    total = row["total"]
    render.line((f"{'total':<10}", "bold"), (f"{total['bytes']:>8,} of {total['limit']:,} bytes  ~{total['tokens']:,} tokens",
                "red" if total["over"] else "green"))  # fmt: skip
    if total["config_over"]:
        render.line((f"config: {total['config_bytes']:,} of {total['config_limit']:,} bytes", "red"))


def _audit(row: dict[str, Any]) -> None:
    for one in row["violations"]:
        render.line((f"{one['path']}: ", "bold"), (one["rule"], "red"), (f" {one['message']}", ""))
    told = f"{len(row['violations'])} found" if row["violations"] else "nothing found"
    checked = row["checked"]
    render.line((f"{told} in {checked['files']} files, {checked['cards']} cards", "green" if row["ok"] else "yellow"))
