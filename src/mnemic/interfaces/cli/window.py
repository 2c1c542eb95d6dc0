"""The verbs on the window: a prompt that fits, from a conversation of any length."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mnemic.errors import BadInput
from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, document, emit, opened, read, stdin

window_app = typer.Typer(no_args_is_help=True, help="A conversation that never overflows its model.")
work_app = typer.Typer(no_args_is_help=True, help="Summaries that wait for the agent's better ones.")
window_app.add_typer(work_app, name="work")

File = Annotated[str, typer.Argument(metavar="FILE|-", help="A JSON array of messages in any of the shapes, or - for stdin.")]
Pinned = Annotated[list[int] | None, typer.Option(min=0, help="Place, from 0, of a message that always stays; repeatable.")]
Order = Annotated[str, typer.Argument(metavar="ID", help="As `next` gave it.")]
Reply = Annotated[str, typer.Argument(metavar="FILE|-", help="The answer as JSON, of the order's schema.")]
Tokens = Annotated[int | None, typer.Option(min=0, help="Its allotment in tokens; else its share of the window.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.add_typer(window_app, name="window")


@window_app.command()
def prepare(
    file: File,
    window: Annotated[int | None, typer.Option("--window", help="Tokens the model can take, answer included.")] = None,
    headroom: Annotated[float | None, typer.Option(help="The share of it that stays free for the answer, 0 to 0.9.")] = None,
    session: Annotated[str | None, typer.Option(help="The conversation; else it is known by its beginning.")] = None,
    judge: Annotated[str, typer.Option(help="Who summarises: rules, endpoint or agent.")] = "rules",
    pin: Pinned = None,
    retrieve: Annotated[bool, typer.Option(help="Whether memory adds what matters now.")] = True,
    merged: Annotated[str, typer.Option(help="What becomes of merged summaries: remove or demote.")] = "remove",
    short: Tokens = None,
    mid: Tokens = None,
    long: Tokens = None,
    retrieved: Tokens = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Put a prompt together that fits: old spans as summaries, the recent tail as it is, memory before the last message."""
    messages = _messages(file)
    given = {"short": short, "mid": mid, "long": long, "retrieved": retrieved}
    allotments = {name: size for name, size in given.items() if size is not None}
    with (
        opened() as memory,
        memory.window(session, window=window, headroom=headroom, judge=judge, retrieve=retrieve, merged=merged,
                      **allotments) as context,
    ):  # fmt: skip
        emit(context.prepare(messages, pinned=pin or ()).json(), as_json, _show)


@window_app.command()
def status(as_json: Json = False) -> None:
    """The summaries that stand for conversations, and what forgetting can reach."""
    with opened() as memory:
        emit(memory.window_status(), as_json, render.record)


@work_app.command("next")
def work_next(as_json: Json = False) -> None:
    """The next summary that waits for a better one of yours: its messages, what is asked, and the answer's schema."""
    with opened() as memory:
        emit(memory.window_work_next(), as_json, lambda row: render.record(row or {"order": "none: nothing waits"}))


@work_app.command("submit")
def work_submit(order: Order, file: Reply, as_json: Json = False) -> None:
    """Hand in an answer; it takes the place of the rules' summary if it passes the checks."""
    answer = document(file)
    with opened() as memory:
        emit(memory.window_work_submit(order, answer), as_json, render.record)


def _messages(name: str) -> list[Any]:
    text = stdin() if name == "-" else read(Path(name).expanduser())
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name!r} is not JSON ({error}): give an array of messages") from None
    if not isinstance(messages, list):
        raise BadInput(f"{name!r} holds {type(messages).__name__}: give an array of messages")
    return messages


def _show(row: dict[str, Any]) -> None:
    print(json.dumps(row, ensure_ascii=False, indent=1))
