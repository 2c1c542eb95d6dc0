"""Every verb: parse, one call on `Memory`, render. With `--json`, one JSON document on stdout and nothing else."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from mnemic.errors import BadInput, MnemicError
from mnemic.interfaces.cli import (
    agents,
    daily,
    dream,
    experience,
    lifecycle,
    proxy,
    render,
    semantic,
    serve,
    shard,
    token,
    transfer,
    vault,
    window,
    worker,
)
from mnemic.interfaces.cli.common import TARGET, Json, Reason, emit, file_of, milliseconds, moment, opened, read, stdin

if TYPE_CHECKING:
    from mnemic.memory import Memory

PANELS = {
    "Remember and ask": "remember capture recall show tree forget undo",
    "The user": "diary extract fact concern profile skill",
    "What works": "experience",
    "The vault": "vault card daily state budget audit dream wiki",
    "Use and age": "touch tier decay rotate vacuum tend worker",
    "Agents and models": "install uninstall plugin mcp serve token hook proxy window",
    "The home": "status stats doctor ledger import export copy backup restore reindex reembed shard",
}
"""Where a verb stands in the help, in this order."""


class Ordered(TyperGroup):
    """Lists its verbs in the order of the panels; one that stands in none comes last."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names of the verbs."""
        order = " ".join(PANELS.values()).split()
        return sorted(self.commands, key=lambda name: order.index(name) if name in order else len(order))


app = typer.Typer(cls=Ordered, add_completion=False, no_args_is_help=True, help="Persistent memory for AI agents, in one folder.",
                  pretty_exceptions_enable=False)  # fmt: skip
ledger_app = typer.Typer(no_args_is_help=True, help="The record of every change, which proves itself.")
app.add_typer(ledger_app, name="ledger")
semantic.register(app)
experience.register(app)
lifecycle.register(app)
vault.register(app)
daily.register(app)
window.register(app)
dream.register(app)
agents.register(app)
transfer.register(app)
proxy.register(app)
serve.register(app)
token.register(app)
shard.register(app)
worker.register(app)


def _arrange() -> None:
    """Put each verb into its panel of the help."""
    panels = {verb: panel for panel, verbs in PANELS.items() for verb in verbs.split()}
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", None)
        command.rich_help_panel = panels.get(str(name), "Commands")
    for group in app.registered_groups:
        group.rich_help_panel = panels.get(str(group.name), "Commands")


@app.callback()
def _options(
    home: Annotated[str | None, typer.Option("--home", help="Its folder, or postgresql://USER@HOST/DATABASE.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="The hard wall: a tenant, a user, a project.")] = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:  # fmt: skip
    if version:
        from mnemic import __version__

        typer.echo(f"mnemic {__version__}")
        raise typer.Exit()
    TARGET.home, TARGET.namespace = home, namespace


def run() -> None:
    """Run a command line; what mnemic refuses becomes one line on stderr and exit code 1."""
    try:
        app()
    except MnemicError as error:
        print(f"mnemic: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)


@app.command()
def remember(
    text: Annotated[str, typer.Argument(help="A text, a file, or - for stdin.")],
    title: Annotated[str, typer.Option(help="A title; else the first line.")] = "",
    at: Annotated[str | None, typer.Option(help="When it was, e.g. 2026-11-30 or 'yesterday'.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    context: Annotated[str, typer.Option(help="A soft tag to narrow by.")] = "",
    op_id: Annotated[str | None, typer.Option("--op-id", help="Repeating the same operation id is harmless.")] = None,
    allow_erased: Annotated[bool, typer.Option(help="Store it although the same text was erased.")] = False,
    as_json: Json = False,
) -> None:
    """Remember a text or a file."""
    file = None if text == "-" else file_of(text)
    body = stdin() if text == "-" else read(file) if file else text
    with opened() as memory:
        receipt = memory.remember(
            body, title=title or (file.stem if file and not body.lstrip().startswith("# ") else ""),
            kind="file" if file else "note", at=moment(memory, at), importance=importance, context=context,
            source=file.resolve().as_uri() if file else None, op_id=op_id, allow_erased=allow_erased,
        )  # fmt: skip
        emit(receipt.json(), as_json, render.receipt)
    if receipt.status == "rejected":
        raise MnemicError(receipt.reason or "rejected")


@app.command()
def capture(
    file: Annotated[str, typer.Argument(help='JSON lines of {"role","content","name"?,"created_at"?,"session"?}, or -.')],
    session: Annotated[str | None, typer.Option(help="The conversation they belong to.")] = None,
    context: Annotated[str, typer.Option(help="A soft tag to narrow by.")] = "",
    as_json: Json = False,
) -> None:  # fmt: skip
    """Capture a conversation."""
    with opened() as memory:
        turns = _turns(memory, stdin() if file == "-" else read(Path(file).expanduser()))
        name = session or (Path(file).stem if file != "-" else None)
        report = memory.capture(turns, session=name, context=context)
        emit(report.json(), as_json, render.capture)


def _turns(memory: Memory, text: str) -> list[Any]:
    from mnemic.clock import to_ms
    from mnemic.models.document import Turn
    from mnemic.text.when import parse_moment

    turns = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadInput(f"line {number} is not JSON ({error}): nothing was stored") from None
        if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("role", "content")):
            raise BadInput(f"line {number} needs the texts 'role' and 'content': nothing was stored")
        said = row.get("created_at")
        at = to_ms(parse_moment(str(said), memory.clock.now())) if said else None
        own = row.get("session")
        turns.append(Turn(row["role"], row["content"], str(row.get("name") or ""), at, str(own) if own else None))
    return turns


@app.command()
def recall(
    query: str,
    k: Annotated[int | None, typer.Option("--k", min=1, max=1000, help="At most so many hits.")] = None,
    max_chars: Annotated[int | None, typer.Option(min=1, help="Characters in all.")] = None,
    max_node_chars: Annotated[int | None, typer.Option(min=1, help="Characters of one hit.")] = None,
    within: Annotated[str | None, typer.Option(help="Only below this path.")] = None,
    context: Annotated[str | None, typer.Option(help="Only with this tag.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="message, section, note, exchange, …; repeatable.")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    as_of: Annotated[str | None, typer.Option(help="What was known at this time.")] = None,
    scoring: Annotated[str | None, typer.Option(help="structure or seed.")] = None,
    explain: Annotated[bool, typer.Option(help="Show the signals of every hit.")] = False,
    why_not: Annotated[list[str] | None, typer.Option(help="Ask why a path was not returned; repeatable.")] = None,
    frame: Annotated[bool, typer.Option(help="The block that goes into a prompt.")] = False,
    mode: Annotated[str | None, typer.Option(help="heartbeat, normal, deep, or creative: a sample of what faded.")] = None,
    seed: Annotated[int | None, typer.Option(help="creative: the same seed, the same sample.")] = None,
    as_json: Json = False,
) -> None:
    """Ask memory."""
    from mnemic.models.answer import Budget, Scope

    with opened() as memory:
        given = memory.settings.recall
        nodes = k or given.nodes
        budget = Budget(
            nodes=nodes,
            chars=max_chars or (given.chars if k is None else max(given.chars, nodes * given.node_chars)),
            node_chars=max_node_chars or given.node_chars,
        )
        scope = Scope(
            within=within, context=context, kinds=tuple(kind or ()), since=milliseconds(memory, since),
            until=milliseconds(memory, until), as_of=milliseconds(memory, as_of),
        )  # fmt: skip
        answer = memory.recall(
            query, scope=scope, budget=budget, scoring=scoring, why_not=why_not or (), frame=frame, mode=mode, draw=seed
        )
    if frame and not as_json:
        print(answer.frame or "")
    else:
        emit(answer.json(), as_json, lambda row: render.answer(row, explain))


@app.command()
def show(path: str, as_json: Json = False) -> None:
    """Open a path: its text, where it belongs, its history."""
    with opened() as memory:
        emit(memory.show(path), as_json, render.page)


@app.command()
def tree(
    path: Annotated[str, typer.Argument()] = "",
    depth: Annotated[int, typer.Option(min=1, max=64)] = 2,
    as_json: Json = False,
) -> None:
    """Browse the address space."""
    with opened() as memory:
        emit(memory.tree(path, depth=depth), as_json, render.tree)


@app.command()
def forget(
    path: Annotated[str, typer.Argument(help="A path; to erase also diary/1, facts/3, concerns/2, experiences/ID.")],
    erase: Annotated[bool, typer.Option("--erase", help="Remove the bytes for good; cannot be undone.")] = False,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Hide a path from recall, or erase it."""
    with opened() as memory:
        emit(memory.forget(path, erase=erase, reason=reason).json(), as_json, render.record)


@app.command()
def undo(
    seq: Annotated[str, typer.Argument(metavar="SEQ", help="A ledger entry's number, or dream:ID.")],
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Take one ledger entry back, or a whole dream."""
    with opened() as memory:
        emit(memory.undo(seq, reason=reason), as_json, render.record)


@app.command()
def status(as_json: Json = False) -> None:
    """What this home holds, table by table, and how it is set up."""
    with opened() as memory:
        emit(memory.status(), as_json, render.record)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check the home; exit 1 if something is wrong."""
    from mnemic.memory import Memory

    found = Memory.examine(TARGET.home, namespace=TARGET.namespace)
    emit(found, as_json, render.record)
    if not found["ok"]:
        raise MnemicError(found["problems"][0])


@app.command()
def reindex(as_json: Json = False) -> None:
    """Make trees, full text and missing vectors anew."""
    with opened() as memory:
        emit(memory.reindex(), as_json, render.record)


@app.command()
def backup(file: str, as_json: Json = False) -> None:
    """Write a verified copy of the home."""
    with opened() as memory:
        emit(memory.backup(file), as_json, render.record)


@app.command()
def restore(file: str, reason: Reason = "", as_json: Json = False) -> None:
    """Put a backup in place of the home; the old files are kept beside it."""
    from mnemic.memory import Memory

    done = Memory.recover(file, TARGET.home, namespace=TARGET.namespace, reason=reason)
    emit(done, as_json, render.record)


@ledger_app.command("list")
def ledger_list(
    limit: Annotated[int, typer.Option(min=1)] = 50,
    after: Annotated[int, typer.Option(min=0, help="Only entries after this one, oldest first.")] = 0,
    as_json: Json = False,
) -> None:
    """The latest entries, newest first."""
    with opened() as memory:
        emit(memory.ledger(limit=limit, after=after), as_json, render.events)


@ledger_app.command("show")
def ledger_show(seq: int, as_json: Json = False) -> None:
    """One entry with all it changed."""
    with opened() as memory:
        emit(memory.ledger_entry(seq), as_json, render.record)


@ledger_app.command("verify")
def ledger_verify(as_json: Json = False) -> None:
    """Check the chain, the contents, the outside head and the state; exit 1 if anything differs."""
    with opened() as memory:
        verdict = memory.verify()
    row = asdict(verdict)
    row["notes"] = list(verdict.notes)
    emit(row, as_json, render.record)
    if not verdict.ok:
        print(f"mnemic: {verdict.problem}: restore with `mnemic restore FILE`", file=sys.stderr)
        raise typer.Exit(1)


@ledger_app.command("export")
def ledger_export(as_json: Json = False) -> None:
    """Every entry with payload and salt, one JSON line each; with --json, one array."""
    with opened() as memory:
        rows = memory.ledger_export()
    emit(rows, as_json, render.lines)


@ledger_app.command("accept")
def ledger_accept(reason: Reason = "", as_json: Json = False) -> None:
    """Accept a store that lies behind the head seen before: a decision of yours, on the record."""
    with opened() as memory:
        head = memory.accept(reason=reason)
    emit({"seq": head.seq, "hash": head.hash} if head else {}, as_json, render.record)


_arrange()
