"""The verbs of the dream and of the wiki that it writes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, document, emit, moment, opened
from mnemic.models.night import STAGES

dream_app = typer.Typer(invoke_without_command=True, help="Let conversations become articles.")
work_app = typer.Typer(no_args_is_help=True, help="Questions of a dream, for the agent to answer.")
wiki_app = typer.Typer(no_args_is_help=True, help="Read the articles, a piece at a time.")
OUTCOMES = ("created", "updated", "unchanged", "rejected")
DreamId = Annotated[str, typer.Argument(metavar="ID", help="As `dream list` names it: 3, or dream:3.")]
Article = Annotated[str, typer.Argument(metavar="ARTICLE", help="Its title, an alias, or its file.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    dream_app.add_typer(work_app, name="work")
    app.add_typer(dream_app, name="dream")
    app.add_typer(wiki_app, name="wiki")


@dream_app.callback()
def dream(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be changed.")] = False,
    stage: Annotated[list[str] | None, typer.Option("--stage", help="Only this stage; repeatable.")] = None,
    judge: Annotated[str, typer.Option(help="rules, endpoint or agent.")] = "rules",
    since: Annotated[str | None, typer.Option(help="Only what was said from then on.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Calls to the language model at most.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Tokens at most, prompts included.")] = None,
    as_json: Json = False,
) -> None:
    """Let what was said since the last dream become articles."""
    if context.invoked_subcommand:
        return
    with opened() as memory, render.progress("dream", 1 + len(stage or STAGES), quiet=as_json) as told:
        report = memory.dream(
            stages=stage or (), judge=judge, dry_run=dry_run, since=moment(memory, since), max_calls=max_calls,
            max_tokens=max_tokens, progress=lambda name: told(advance=1, description=name),
        )  # fmt: skip
    emit(report, as_json, _report)


def _report(report: dict[str, Any]) -> None:
    for text in report["diff"].splitlines():
        render.line((text, "green" if text.startswith("+") else "red" if text.startswith("-") else "dim"))
    for row in report["stages"]:
        if row["in"] or row["out"] or row["rejected"]:
            refused = f", {row['rejected']} rejected" if row["rejected"] else ""
            counts = f"{row['in']:>7} → {row['out']}{refused}, {row['seconds']:.2f} s"
            render.line((f"{row['name']:<10} ", "bold"), (counts, "dim"))
    render.line(("articles: " + ", ".join(f"{report['articles'][verb]} {verb}" for verb in OUTCOMES), "bold"))
    for text in report.get("entries", ()):
        render.line((text, "yellow"))
    for signal in report["signals"]:
        render.line((f"{signal['path']}: {signal['kind']}: {signal['why']}", "yellow"))
    for text in report["rejections"][:20]:
        render.line((f"rejected: {text}", "red"))
    if report.get("lost"):
        render.line((f"stopped, nothing was changed: {report['lost'][0]}", "bold red"))
    elif report["id"] is not None:
        render.line((f"dream:{report['id']}", "bold"), (f"  `mnemic undo dream:{report['id']}` takes it back", "dim"))
    elif not report["dry_run"] and not report["waiting"]:
        render.line(("nothing new", "dim"))
    if report["waiting"]:
        render.line(("some of it waits: for a larger budget, or for answers (`mnemic dream work next`)", "yellow"))


@dream_app.command("list")
def dream_list(as_json: Json = False) -> None:
    """The dreams that stand, newest first."""
    with opened() as memory:
        rows = memory.dreams()
        emit(rows, as_json, lambda found: render.table([_line(row) for row in found]))


def _line(row: dict[str, Any]) -> dict[str, Any]:
    outcomes = {verb: row["articles"][verb] for verb in OUTCOMES}
    return {"dream": f"dream:{row['id']}", "at": row["at"], "judge": row["judge"], **outcomes}


@dream_app.command("show")
def dream_show(id: DreamId, as_json: Json = False) -> None:
    """A dream's report and what it changed."""
    with opened() as memory:
        emit(memory.dream_show(id), as_json, lambda row: _report({"dry_run": False, **row}))


@dream_app.command("schedule")
def dream_schedule(
    at: Annotated[str, typer.Option(help="When, as HH:MM.")] = "03:00",
    cron: Annotated[bool, typer.Option("--cron", help="A cron line instead of a systemd timer.")] = False,
    as_json: Json = False,
) -> None:
    """Print what lets a dream run every night; nothing is installed."""
    with opened() as memory:
        emit(memory.schedule(at, cron=cron), as_json, lambda row: print(row["text"]))


@work_app.command("next")
def work_next(as_json: Json = False) -> None:
    """Take the next question; it is lent for half an hour."""
    with opened() as memory:
        emit(memory.work_next(), as_json, lambda row: render.record(row or {"order": "none: nothing waits"}))


@work_app.command("submit")
def work_submit(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `work next` names it.")],
    answer: Annotated[str, typer.Argument(help="A file with the answer as JSON, or - for stdin.")] = "-",
    as_json: Json = False,
) -> None:
    """Answer a question."""
    value = document(answer)
    with opened() as memory:
        emit(memory.work_submit(id, value), as_json, render.record)


@wiki_app.command("list")
def wiki_list(as_json: Json = False) -> None:
    """Every article."""
    with opened() as memory:
        emit(memory.wiki.list(), as_json, lambda found: render.table(found["articles"]))


@wiki_app.command("toc")
def wiki_toc(article: Article, as_json: Json = False) -> None:
    """An article's lead and contents."""
    with opened() as memory:
        emit(memory.wiki.toc(article), as_json, render.record)


@wiki_app.command("section")
def wiki_section(
    article: Article,
    anchor: Annotated[str, typer.Argument(help="As the contents name it; __lead__ is the lead.")],
    offset: Annotated[int, typer.Option(min=0, help="Where to read on.")] = 0,
    as_json: Json = False,
) -> None:
    """One section with its sources."""
    with opened() as memory:
        emit(memory.wiki.section(article, anchor, offset), as_json, _section)


def _section(row: dict[str, Any]) -> None:
    render.line((row["text"], ""))
    for mark, path in row["sources"].items():
        render.line((f"[{mark}] {path}", "dim"))
    if row["next"] is not None:
        render.line((f"… read on with --offset {row['next']}", "dim"))


@wiki_app.command("links")
def wiki_links(article: Article, as_json: Json = False) -> None:
    """What an article links to, and what links to it."""
    with opened() as memory:
        emit(memory.wiki.links(article), as_json, render.record)


@wiki_app.command("search")
def wiki_search(query: str, as_json: Json = False) -> None:
    """Articles by words."""
    with opened() as memory:
        emit(memory.wiki.search(query), as_json, render.record)


@wiki_app.command("resolve")
def wiki_resolve(name: str, as_json: Json = False) -> None:
    """The article that a name means."""
    with opened() as memory:
        emit(memory.wiki.resolve(name), as_json, render.record)


@wiki_app.command("infobox")
def wiki_infobox(article: Article, as_json: Json = False) -> None:
    """What is known of a subject at a glance."""
    with opened() as memory:
        emit(memory.wiki.infobox(article), as_json, lambda row: render.record(row["infobox"]))


@wiki_app.command("category")
def wiki_category(name: str, as_json: Json = False) -> None:
    """The articles of a category, or of a type."""
    with opened() as memory:
        emit(memory.wiki.category(name), as_json, lambda found: render.table(found["articles"]))
