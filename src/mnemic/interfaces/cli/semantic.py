"""What is known about the user: diary, extraction, facts, concerns, profile, and the text that teaches an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.errors import Refused
from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, Reason, document, emit, milliseconds, moment, opened, stdin

diary_app = typer.Typer(no_args_is_help=True, help="What was said and what happened: raw, append-only.")
fact_app = typer.Typer(no_args_is_help=True, help="What holds about the user, since when, on whose word.")
concern_app = typer.Typer(no_args_is_help=True, help="What the user has open.")

Context = Annotated[str, typer.Option("--context", help="A soft tag.")]
Narrow = Annotated[str | None, typer.Option("--context", help="Only with this tag.")]
AsOf = Annotated[str | None, typer.Option("--as-of", help="What was known at this time.")]
OpId = Annotated[str | None, typer.Option("--op-id", help="Repeating the same operation id is harmless.")]
Seen = Annotated[str | None, typer.Option("--seen", help="The seal that was shown: refuse if it has changed since.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.add_typer(diary_app, name="diary")
    app.add_typer(fact_app, name="fact")
    app.add_typer(concern_app, name="concern")
    app.command("extract")(extract)
    app.command("profile")(profile)
    app.command("skill")(skill)


# the diary


@diary_app.command("add")
def diary_add(
    text: Annotated[str, typer.Argument(help="What was said or happened, or - for stdin.")],
    kind: Annotated[str, typer.Option(help="said, delegated, promised, happened, preference or other.")] = "said",
    session: Annotated[str | None, typer.Option(help="The conversation it was in.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Repeatable.")] = None,
    at: Annotated[str | None, typer.Option(help="When it was, e.g. 2026-11-30 or 'yesterday'.")] = None,
    origin: Annotated[str | None, typer.Option(help="Lower than user: agent, tool, web or import.")] = None,
    context: Context = "",
    op_id: OpId = None,
    as_json: Json = False,
) -> None:
    """Append an entry; the answer says when an extraction is due."""
    with opened() as memory:
        row = memory.diary.add(
            stdin() if text == "-" else text, kind=kind, session=session, tags=tag or (), context=context,
            at=milliseconds(memory, at), origin=origin, op_id=op_id,
        )  # fmt: skip
        emit(row, as_json, render.entry_receipt)
    if row["status"] == "rejected":
        raise Refused(row["reason"])


@diary_app.command("list")
def diary_list(
    pending: Annotated[bool, typer.Option("--pending", help="Only what was not extracted yet.")] = False,
    kind: Annotated[str | None, typer.Option()] = None,
    session: Annotated[str | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(min=1, help="The latest so many.")] = 1000,
    as_json: Json = False,
) -> None:
    """The entries, oldest first."""
    with opened() as memory:
        emit(memory.diary.list(pending=pending, kind=kind, session=session, limit=limit), as_json, render.entries)


@diary_app.command("show")
def diary_show(number: Annotated[int, typer.Argument(metavar="ID")], as_json: Json = False) -> None:
    """One entry."""
    with opened() as memory:
        emit(memory.diary.show(number), as_json, render.record)


@diary_app.command("ack")
def diary_ack(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Clear an entry that holds nothing to extract."""
    with opened() as memory:
        emit(memory.diary.ack(number, reason=reason), as_json, render.record)


# extraction, profile, skill


def extract(
    file: Annotated[str | None, typer.Argument(help='JSON {"proposals", "concerns", "summary"}, or - for stdin.')] = None,
    auto: Annotated[bool, typer.Option("--auto", help="Let the configured language model propose.")] = False,
    context: Context = "",
    op_id: OpId = None,
    as_json: Json = False,
) -> None:
    """Draw facts and concerns from the diary, each with the entries that say it."""
    if auto == (file is not None):
        raise typer.BadParameter("give a file, - for stdin, or --auto")
    with opened() as memory:
        if auto:
            answer = memory.extract_auto(context=context)
        else:
            assert file is not None
            answer = memory.extract(document(file), context=context, op_id=op_id)
        emit(answer, as_json, render.extraction)


def profile(
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens in all; 1200 if not given.")] = None,
    context: Narrow = None,
    as_of: AsOf = None,
    as_json: Json = False,
) -> None:
    """What an agent should know of the user, as the block that goes into a prompt."""
    with opened() as memory:
        given = {} if max_tokens is None else {"max_tokens": max_tokens}
        answer = memory.profile(**given, context=context, as_of=moment(memory, as_of))
    emit(answer.json(), as_json, lambda row: print(row["frame"]) if row["frame"] else None)


def skill(as_json: Json = False) -> None:
    """The text that teaches an agent to keep memory."""
    from mnemic.knowledge.skill import text

    emit({"name": "mnemic", "text": text()}, as_json, lambda row: print(row["text"]))


# facts


@fact_app.command("list")
def fact_list(
    category: Annotated[str | None, typer.Option()] = None,
    key: Annotated[str | None, typer.Option()] = None,
    status: Annotated[str | None, typer.Option(help="Only these, e.g. quarantined.")] = None,
    due: Annotated[bool, typer.Option("--due", help="Provisional facts whose check has come.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what held once, and tombstones.")] = False,
    context: Narrow = None,
    as_of: AsOf = None,
    valid_at: Annotated[str | None, typer.Option(help="What held at this time, by what is known.")] = None,
    as_json: Json = False,
) -> None:
    """Facts that hold, and what waits for a person."""
    with opened() as memory:
        rows = memory.facts.list(
            category=category, key=key, status=status, context=context, due=due, everything=everything,
            as_of=milliseconds(memory, as_of), valid_at=milliseconds(memory, valid_at),
        )  # fmt: skip
        emit(rows, as_json, render.facts)


@fact_app.command("show")
def fact_show(number: Annotated[int, typer.Argument(metavar="ID")], as_of: AsOf = None, as_json: Json = False) -> None:
    """A fact with its revisions, sources and history."""
    with opened() as memory:
        emit(memory.facts.show(number, as_of=milliseconds(memory, as_of)), as_json, render.known)


@fact_app.command("add")
def fact_add(
    category: Annotated[str, typer.Argument(help="identity, preference, communication, habit, thinking, value, "
                                                 "delegation, background or other.")],
    key: str,
    value: str,
    lock: Annotated[bool, typer.Option("--lock/--no-lock", help="Keep extraction from replacing it.")] = True,
    valid_from: Annotated[str | None, typer.Option(help="Since when it holds.")] = None,
    check_by: Annotated[str | None, typer.Option(help="Provisional: to be checked by then.")] = None,
    context: Context = "",
    reason: Reason = "",
    op_id: OpId = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """State a fact yourself."""
    with opened() as memory:
        row = memory.facts.add(
            category, key, value, context=context, lock=lock, valid_from=milliseconds(memory, valid_from),
            check_by=milliseconds(memory, check_by), reason=reason, op_id=op_id,
        )  # fmt: skip
        emit(row, as_json, render.fact)
    if row["status"] == "rejected":
        raise Refused(row["reason"])


@fact_app.command("edit")
def fact_edit(
    number: Annotated[int, typer.Argument(metavar="ID")],
    value: Annotated[str | None, typer.Argument(help="The correct value.")] = None,
    category: Annotated[str | None, typer.Option()] = None,
    valid_from: Annotated[str | None, typer.Option(help="Since when it holds.")] = None,
    check_by: Annotated[str | None, typer.Option(help="Provisional: to be checked by then.")] = None,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Correct a fact; what it said before stays as an earlier revision."""
    with opened() as memory:
        row = memory.facts.edit(
            number, value, category=category, valid_from=milliseconds(memory, valid_from),
            check_by=milliseconds(memory, check_by), reason=reason,
        )  # fmt: skip
        emit(row, as_json, render.fact)


@fact_app.command("lock")
def fact_lock(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Keep extraction from replacing it: a contradiction is parked."""
    with opened() as memory:
        emit(memory.facts.lock(number, reason=reason), as_json, render.fact)


@fact_app.command("unlock")
def fact_unlock(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Let it be replaced again."""
    with opened() as memory:
        emit(memory.facts.unlock(number, reason=reason), as_json, render.fact)


@fact_app.command("confirm")
def fact_confirm(
    number: Annotated[int, typer.Argument(metavar="ID")],
    check_by: Annotated[str | None, typer.Option(help="To be checked again by then.")] = None,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """A provisional fact was checked and holds."""
    with opened() as memory:
        row = memory.facts.confirm(number, check_by=milliseconds(memory, check_by), reason=reason)
        emit(row, as_json, render.fact)


@fact_app.command("approve")
def fact_approve(
    number: Annotated[int, typer.Argument(metavar="ID")], seen: Seen = None, reason: Reason = "", as_json: Json = False
) -> None:
    """Make what waits a fact; its origin stays what it was."""
    with opened() as memory:
        emit(memory.facts.approve(number, seen=seen, reason=reason), as_json, render.fact)


@fact_app.command("reject")
def fact_reject(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Turn down what waits."""
    with opened() as memory:
        emit(memory.facts.reject(number, reason=reason), as_json, render.fact)


@fact_app.command("resolve")
def fact_resolve(
    number: Annotated[int, typer.Argument(metavar="ID", help="The conflict.")],
    choice: Annotated[str, typer.Argument(help="keep the fact, or take what contradicts it.")],
    seen: Seen = None,
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Settle a conflict."""
    if choice not in ("keep", "take"):
        raise typer.BadParameter("say keep or take")
    with opened() as memory:
        emit(memory.facts.resolve(number, choice == "take", seen=seen, reason=reason), as_json, render.fact)


@fact_app.command("delete")
def fact_delete(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Take it out; a tombstone stays."""
    with opened() as memory:
        emit(memory.facts.delete(number, reason=reason), as_json, render.fact)


# concerns


@concern_app.command("list")
def concern_list(
    status: Annotated[str | None, typer.Option(help="ongoing, concluded, recurring, paused, claimed, quarantined.")] = None,
    kind: Annotated[str | None, typer.Option()] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also mentions and tombstones.")] = False,
    context: Narrow = None,
    as_of: AsOf = None,
    as_json: Json = False,
) -> None:
    """What is open, and what was."""
    with opened() as memory:
        rows = memory.concerns.list(status=status, kind=kind, context=context, everything=everything,
                                    as_of=milliseconds(memory, as_of))  # fmt: skip
        emit(rows, as_json, render.concerns)


@concern_app.command("show")
def concern_show(number: Annotated[int, typer.Argument(metavar="ID")], as_of: AsOf = None, as_json: Json = False) -> None:
    """A concern with its mentions, revisions, sources and history."""
    with opened() as memory:
        emit(memory.concerns.show(number, as_of=milliseconds(memory, as_of)), as_json, render.known)


@concern_app.command("status")
def concern_status(
    number: Annotated[int, typer.Argument(metavar="ID")],
    status: Annotated[str, typer.Argument(help="ongoing, concluded, recurring or paused.")],
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """Set its status."""
    with opened() as memory:
        emit(memory.concerns.status(number, status, reason=reason), as_json, render.concern)


@concern_app.command("approve")
def concern_approve(
    number: Annotated[int, typer.Argument(metavar="ID")], seen: Seen = None, reason: Reason = "", as_json: Json = False
) -> None:
    """Make what waits a concern; its origin stays what it was."""
    with opened() as memory:
        emit(memory.concerns.approve(number, seen=seen, reason=reason), as_json, render.concern)


@concern_app.command("reject")
def concern_reject(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Turn down what waits."""
    with opened() as memory:
        emit(memory.concerns.reject(number, reason=reason), as_json, render.concern)


@concern_app.command("delete")
def concern_delete(number: Annotated[int, typer.Argument(metavar="ID")], reason: Reason = "", as_json: Json = False) -> None:
    """Take it out with its mentions; tombstones stay."""
    with opened() as memory:
        emit(memory.concerns.delete(number, reason=reason), as_json, render.concern)
