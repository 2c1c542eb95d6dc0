"""The verbs that bring in what other tools exported, and write out what is here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.clock import iso
from mnemic.errors import BadInput
from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, emit, opened

if TYPE_CHECKING:
    from mnemic.interfaces.importers import Row, Totals

MOST_ROWS = 100_000
"""Of a report that is one JSON document."""
OWN = "mnemic"
TRAINING = "training"
FORMATS = """mnemic (an export), chatgpt, claude, claude-code, codex, gemini, openai-jsonl, sharegpt, slack, obsidian, markdown,
mem0 or server-memory."""


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("import")(import_)
    app.command()(export)
    app.command()(copy)
    app.command()(reembed)


def import_(
    format: Annotated[str, typer.Argument(help=FORMATS)],
    path: Annotated[Path, typer.Argument(help="A file, a folder or a zip archive.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is there; store nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Take in the conversations and notes of another tool. Repeating it adds only what is new; killed, it goes on."""
    from mnemic.interfaces import importers

    if format == OWN:
        with opened() as memory:
            emit({"format": OWN, "dry_run": dry_run, **memory.read_export(path, dry_run=dry_run)}, as_json, render.record)
        return
    rows: list[dict[str, Any]] = []

    def told(row: Row) -> None:
        if not as_json:
            _show_row(row, dry_run)
        elif len(rows) < MOST_ROWS:
            rows.append({**asdict(row), "since": iso(row.since), "until": iso(row.until)})

    with opened() as memory, _bar() as (progress, indexing):
        totals = importers.take(memory, format, path, dry_run=dry_run, told=told, progress=progress, indexing=indexing)
    emit({**asdict(totals), "items": rows}, as_json, lambda row: _show_totals(totals))
    if totals.broken and not totals.conversations + totals.pages:
        raise BadInput(f"nothing in {str(path)!r} has the shape of {format}: give another file, or the format that it is of")


def export(
    folder: Annotated[str, typer.Argument(help="A new or an empty folder; or the word training, before a FILE.")],
    file: Annotated[Path | None, typer.Argument(help="Where the training set goes.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Write all of this namespace: Markdown, JSON lines, and the ledger that proves it. `import mnemic` takes it back.

    `export training FILE`: the experiences worth internalising, as JSON lines in chat form, with a manifest.
    """
    if (file is not None) != (folder == TRAINING):
        given = f"{folder!r} and {str(file)!r}" if file is not None else f"{TRAINING!r} alone"
        raise BadInput(f"export takes one folder, or '{TRAINING} FILE', not {given}; a folder of that name is './{TRAINING}'")
    with opened() as memory:
        if file is None:
            emit(memory.export(Path(folder).expanduser()), as_json, render.record)
        else:
            emit(memory.export_training(file), as_json, _training)


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A home: its folder, or the URL of its database.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another.")],
    as_json: Json = False,
) -> None:
    """Copy a namespace (--namespace), or all, to another home, and compare: counts, ledger, answers. Cut short, it goes on."""
    from mnemic.interfaces.cli.common import TARGET
    from mnemic.memory import Memory

    with render.progress("copying") as told:
        done = Memory.copy(
            source, target, namespace=TARGET.namespace,
            progress=lambda what, done, whole: told(description=what, completed=done, total=whole),
        )  # fmt: skip
    emit(done, as_json, _show_copied)


def reembed(
    model: Annotated[str | None, typer.Option(help="A folder with an ONNX model, a hub name, or a name at a server.")] = None,
    embedder: Annotated[str | None, typer.Option(help="onnx, http or hashing; else it follows from the others.")] = None,
    url: Annotated[str | None, typer.Option(help="The base URL of an OpenAI-compatible server.")] = None,
    dim: Annotated[int | None, typer.Option(min=1, help="How many numbers a vector has: for http.")] = None,
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Remove all other vectors then: no way back.")] = False,
    as_json: Json = False,
) -> None:
    """Go over to another embedder: new vectors beside the old, a switch once all are there. Cut short, it goes on."""
    with opened() as memory, render.progress("embedding") as told:
        done = memory.reembed(
            model, embedder=embedder, url=url, dim=dim, drop_old=drop_old,
            progress=lambda done, whole: told(completed=done, total=whole),
        )  # fmt: skip
    emit(done, as_json, render.record)


def _show_copied(done: dict[str, Any]) -> None:
    for row in done["namespaces"]:
        counts = ", ".join(render.count(row[name], name.removesuffix("s")) for name in ("documents", "nodes"))
        entries = f"{row['entries']:,} entries" + (f" ({row['there already']:,} were there)" if row["there already"] else "")
        render.line((f"{row['namespace']}", "bold"), (f"  {entries}, {counts}: the same on both sides", "green"))
    render.line((f"copied to {done['to']}", "dim"))


def _training(made: dict[str, Any]) -> None:
    render.line(
        (f"{render.count(made['examples'], 'example')} in {made['file']}", "bold"), (f"  manifest {made['manifest']}", "dim")
    )
    for row in made["left"][:50]:
        render.line((f"{row['id']}@{row['revision']} left out: {row['why_not']}", "dim"))


@contextmanager
def _bar() -> Iterator[tuple[Callable[[int, int], None], Callable[[int], None]]]:
    """A progress bar on stderr, where that is a terminal: of bytes read, then of documents indexed."""
    if not sys.stderr.isatty():
        yield lambda done, whole: None, lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def read(done: int, whole: int) -> None:
            bar.update(task, description=f"{done / 1e6:,.1f} of {whole / 1e6:,.1f} MB", completed=done, total=whole)

        yield read, lambda done: bar.update(task, description=f"indexed {done:,}", completed=0, total=None)


def _show_row(row: Row, dry_run: bool) -> None:
    state = ("known" if row.known else "new") if dry_run else "stored" if row.stored else "duplicate" if row.duplicate else (
        "rejected" if row.rejected else "nothing")  # fmt: skip
    what = render.count(row.messages, "message") if row.kind == "conversation" else row.kind
    counts = {"new": row.stored, "there already": row.duplicate, "erased before": row.rejected, "left out": row.left_out,
              "secrets redacted": row.redacted}  # fmt: skip
    line = ", ".join([what, *(f"{count} {name}" for name, count in counts.items() if count)])
    day = f"  {(iso(row.since) or '')[:10]}" if row.since is not None else ""
    colours = {"new": "green", "known": "cyan", **render.COLOURS}
    render.line((f"{state:<9}", colours[state]), (f"  {row.name}", "bold"), (f"  {row.title}{day}  {line}", "dim"))


def _show_totals(totals: Totals) -> None:
    for skipped in totals.skipped[:50]:
        render.line(("skipped   ", "red" if skipped.broken else "dim"), (skipped.where, "bold"), (f"  {skipped.why}", ""))
    if len(totals.skipped) > 50:
        render.line((f"… and {len(totals.skipped) - 50} more, all with --json", "dim"))
    kinds = "{} and {} with {}".format(
        *(render.count(getattr(totals, f"{noun}s"), noun) for noun in ("conversation", "page", "message"))
    )
    counts = f"{totals.stored} stored, {totals.duplicate} there already, {totals.rejected} erased before, {totals.broken} broken"
    render.line((f"a dry run: {kinds}; {totals.broken} broken; nothing was stored" if totals.dry_run else f"{kinds}: {counts}",
                 "bold"))  # fmt: skip
    if totals.reason:
        render.line((f"found by words; vectors wait: {totals.reason}", "yellow"))
