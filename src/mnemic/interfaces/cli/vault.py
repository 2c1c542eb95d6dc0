"""The verbs on the vault and its cards."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, emit, ends, opened, stdin

card_app = typer.Typer(no_args_is_help=True, help="One Markdown file for each person, project or thing.")
vault_app = typer.Typer(no_args_is_help=True, help="The folder of Markdown files that you edit too.")
PATH = typer.Argument(metavar="PATH", help="A file of the vault, e.g. cards/people/Ada.md, or a card's name.")
Card = Annotated[str, PATH]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.add_typer(card_app, name="card")
    app.add_typer(vault_app, name="vault")


@card_app.command("new")
def card_new(
    title: str,
    type: Annotated[str, typer.Option("--type", help="contact, project, crm, lead, personal, note, or one of your own.")],
    description: Annotated[str, typer.Option(help="One line.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    dir: Annotated[str | None, typer.Option("--dir", help="The folder; else that of the type.")] = None,
    body: Annotated[str, typer.Option(help="The text, or - for stdin.")] = "",
    as_json: Json = False,
) -> None:
    """Make a card."""
    text = stdin() if body == "-" else body
    with opened() as memory:
        done = memory.cards.new(title, type, description=description, tags=tag or (), dir=dir, body=text)
        emit(done, as_json, render.record)


@card_app.command("show")
def card_show(path: Card, as_json: Json = False) -> None:
    """A card's frontmatter and body."""
    with opened() as memory:
        emit(memory.cards.show(path), as_json, _page)


def _page(row: dict[str, Any]) -> None:
    render.record({"path": row["path"], **row["frontmatter"]})
    print("\n" + row["body"], end="")


@card_app.command("list")
def card_list(
    type: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    status: Annotated[str | None, typer.Option(help="Only with this status.")] = None,
    as_json: Json = False,
) -> None:
    """The cards, by path."""
    with opened() as memory:
        emit(memory.cards.list(type=type, status=status), as_json, render.table)


@card_app.command("rename")
def card_rename(path: Card, title: str, as_json: Json = False) -> None:
    """Give a card another title; the links to it follow."""
    with opened() as memory:
        emit(memory.cards.rename(path, title), as_json, render.record)


@card_app.command("link")
def card_link(path: Card, target: Annotated[str, PATH], as_json: Json = False) -> None:
    """Note a card as related to another."""
    with opened() as memory:
        emit(memory.cards.link(path, target), as_json, render.record)


@card_app.command("set")
def card_set(
    path: Card,
    values: Annotated[list[str], typer.Argument(metavar="KEY=VALUE…", help="KEY= takes it out; KEY=[a, b] is a list.")],
    as_json: Json = False,
) -> None:
    """Set keys of a card's frontmatter; of several writers the last one wins, key by key."""
    with opened() as memory:
        emit(memory.cards.set(path, dict(map(_pair, values))), as_json, lambda done: render.record(done["frontmatter"]))


def _pair(text: str) -> tuple[str, str | list[str] | None]:
    key, mark, value = text.partition("=")
    if not mark:
        raise typer.BadParameter(f"{text!r} has no =: write KEY=VALUE")
    if value.startswith("[") and value.endswith("]"):
        return key, [item.strip() for item in value[1:-1].split(",") if item.strip()]
    return key, value or None


@card_app.command("log")
def card_log(
    path: Card,
    entry: Annotated[str, typer.Argument(help="What happened, in one line.")],
    by: Annotated[str, typer.Option(help="Who says so, e.g. an agent's name.")] = "",
    as_json: Json = False,
) -> None:
    """Append a line to a card's History; what stands there is never changed."""
    with opened() as memory:
        emit(memory.cards.log(path, entry, by=by), as_json, render.record)


@card_app.command("retire")
def card_retire(path: Card, as_json: Json = False) -> None:
    """Set a card aside; its file and the links to it stay."""
    with opened() as memory:
        emit(memory.cards.retire(path), as_json, render.record)


@vault_app.command("sync")
def vault_sync(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    accept_deletions: Annotated[bool, typer.Option(help="Forget also where very many files are gone at once.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on doing so as you save, until Ctrl-C or SIGTERM.")] = False,
    as_json: Json = False,
) -> None:
    """Take in what you changed in the files."""
    if watch and (dry_run or accept_deletions):
        raise typer.BadParameter("--watch goes with neither --dry-run nor --accept-deletions")
    with opened() as memory:
        if watch:
            with ends() as ended, memory.watch(lambda report: emit(report, as_json, render.record, flush=True)) as watching:
                if not ended(watching.alive):
                    raise typer.Exit(1)
            return
        report = memory.vault.sync(dry_run=dry_run, accept_deletions=accept_deletions)
        emit(report.json(), as_json, render.record)


@vault_app.command("status")
def vault_status(as_json: Json = False) -> None:
    """How the vault stands: what waits, what is skipped and why, broken links, git."""
    with opened() as memory:
        emit(memory.vault.status(), as_json, render.record)


@vault_app.command("links")
def vault_links(path: Card, as_json: Json = False) -> None:
    """What a note links to, and what links to it."""
    with opened() as memory:
        emit(memory.cards.links(path), as_json, render.record)


@vault_app.command("rebuild")
def vault_rebuild(as_json: Json = False) -> None:
    """Read all links anew and write all maps."""
    with opened() as memory:
        emit(memory.vault.rebuild(), as_json, render.record)
