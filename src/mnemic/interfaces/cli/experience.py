"""The verbs on experiences. What an agent does through this surface is the agent's; a person's verbs are a person's."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from mnemic.errors import MnemicError
from mnemic.interfaces.cli import render
from mnemic.interfaces.cli.common import Json, Reason, document, emit, opened

experience_app = typer.Typer(no_args_is_help=True, help="What works and what does not, earned by use.")

File = Annotated[str, typer.Argument(metavar="FILE|-", help="A JSON file, or - for stdin.")]
Id = Annotated[str, typer.Argument(metavar="ID")]
Revision = Annotated[int | None, typer.Option("--revision", min=1, help="Which revision; else the one it is possible for.")]
Context = Annotated[str, typer.Option("--context", help="Only with this tag, or what counts everywhere.")]
Seen = Annotated[str | None, typer.Option("--seen", help="The seal that was shown: refuse if it has changed since.")]
Field = Annotated[str | None, typer.Option(help="Its new text.")]
Texts = Annotated[list[str] | None, typer.Option(help="Its new text; repeatable.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.add_typer(experience_app, name="experience")


def _answer(row: dict[str, Any], as_json: bool) -> None:
    """Print a receipt; what a gate refused is a failure, but for what is known already."""
    emit(row, as_json, render.experience_receipt)
    known = row.get("corroborated") or any(item["corroborated"] for item in row.get("receipts", ()))
    if row["status"] == "rejected" and not known:
        reasons = [row.get("reason"), *(item["reason"] for item in row.get("receipts", ()))]
        raise MnemicError(next((reason for reason in reasons if reason), "rejected"))


@experience_app.command()
def refine(file: File, as_json: Json = False) -> None:
    """Hand in what a piece of work taught, with its evidence: a candidate."""
    given = document(file)
    with opened() as memory:
        receipt = memory.experiences.refine(given)
    _answer(receipt.json(), as_json)


@experience_app.command()
def ingest(file: File, as_json: Json = False) -> None:
    """Hand in what was read somewhere: candidates that only a person can make live."""
    given = document(file)
    with opened() as memory:
        receipt = memory.experiences.ingest(given)
    _answer(receipt.json(), as_json)


@experience_app.command()
def recall(
    situation: Annotated[str, typer.Argument(help="What is to be done, and where.")],
    k: Annotated[int | None, typer.Option("--k", min=1, max=1000, help="At most so many.")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Also ask the archive.")] = False,
    context: Context = "",
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Estimated tokens in all.")] = None,
    frame: Annotated[bool, typer.Option("--frame", help="The block that goes into a prompt.")] = False,
    as_json: Json = False,
) -> None:
    """The experiences that fit a situation."""
    with opened() as memory:
        answer = memory.experiences.recall(situation, k=k, deep=deep, context=context, max_tokens=max_tokens, frame=frame)
    if frame and not as_json:
        print(answer.frame or "")
    else:
        emit(answer.json(), as_json, render.experience_answer)


@experience_app.command()
def report(
    number: Id,
    outcome: Annotated[str, typer.Argument(metavar="success|fail")],
    revision: Revision = None,
    attribution: Annotated[str | None, typer.Option(help="experience, environment, unrelated or unknown.")] = None,
    evidence: Annotated[str | None, typer.Option(help="What was seen.")] = None,
    tokens_used: Annotated[int, typer.Option(min=0)] = 0,
    tokens_saved: Annotated[int, typer.Option(min=0)] = 0,
    dedupe_key: Annotated[str | None, typer.Option(help="The same key counts once.")] = None,
    as_json: Json = False,
) -> None:
    """Say how following an experience went."""
    with opened() as memory:
        receipt = memory.experiences.report(
            number, outcome, revision=revision, attribution=attribution, evidence=evidence, tokens_used=tokens_used,
            tokens_saved=tokens_saved, dedupe_key=dedupe_key,
        )  # fmt: skip
    _answer(receipt.json(), as_json)


@experience_app.command()
def revise(
    number: Id,
    reason: Reason = "",
    gist: Field = None,
    situation: Texts = None,
    path: Texts = None,
    reasoning: Field = None,
    limits: Texts = None,
    seen: Seen = None,
    as_json: Json = False,
) -> None:
    """Put another text in place of a challenged experience; of a live one that you approved, at once."""
    texts = {"gist": gist, "situation": situation or None, "path": path or None, "reasoning": reasoning,
             "limits": limits or None}  # fmt: skip
    with opened() as memory:
        receipt = memory.experiences.revise(number, reason=reason, channel="user", seen=seen, **texts)
    _answer(receipt.json(), as_json)


@experience_app.command()
def verify(
    number: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    samples: Annotated[str | None, typer.Option(metavar="FILE|-", help='JSON [{"situation", "expected"}].')] = None,
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Without samples, check the ledger; with them, replay them against a candidate."""
    from mnemic.models.event import Verdict

    given = None if samples is None else document(samples)
    with opened() as memory:
        found = memory.experiences.verify(number, revision=revision, samples=given)
    if not isinstance(found, Verdict):
        _answer(found.json(), as_json)
        return
    emit({**asdict(found), "notes": list(found.notes)}, as_json, render.record)
    if not found.ok:
        print(f"mnemic: {found.problem}: restore with `mnemic restore FILE`", file=sys.stderr)
        raise typer.Exit(1)


@experience_app.command()
def rollback(number: Id, revision: Revision = None, reason: Reason = "", seen: Seen = None, as_json: Json = False) -> None:
    """Put a superseded revision back, exactly as it was."""
    with opened() as memory:
        receipt = memory.experiences.rollback(number, revision=revision, reason=reason, seen=seen)
    _answer(receipt.json(), as_json)


@experience_app.command()
def consolidate(file: File, as_json: Json = False) -> None:
    """Merge experiences: {"merges": [{"source_ids", "kind", "family", "gist", …}], "note"}."""
    given = document(file)
    with opened() as memory:
        receipt = memory.experiences.consolidate(given)
    _answer(receipt.json(), as_json)


@experience_app.command()
def add(file: File, reason: Reason = "", as_json: Json = False) -> None:
    """Add an experience of your own: live at once."""
    given = document(file)
    with opened() as memory:
        receipt = memory.experiences.add(given, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def promote(number: Id, revision: Revision = None, seen: Seen = None, reason: Reason = "", as_json: Json = False) -> None:
    """Make a candidate live on your word."""
    with opened() as memory:
        receipt = memory.experiences.promote(number, revision=revision, seen=seen, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def demote(number: Id, revision: Revision = None, reason: Reason = "", as_json: Json = False) -> None:
    """Take trust away: live becomes challenged, a candidate cold."""
    with opened() as memory:
        receipt = memory.experiences.demote(number, revision=revision, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def pin(number: Id, revision: Revision = None, reason: Reason = "", as_json: Json = False) -> None:
    """Keep it whatever the family's cap says."""
    with opened() as memory:
        receipt = memory.experiences.pin(number, revision=revision, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def unpin(number: Id, revision: Revision = None, reason: Reason = "", as_json: Json = False) -> None:
    """Take the pin off."""
    with opened() as memory:
        receipt = memory.experiences.unpin(number, revision=revision, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def archive(number: Id, revision: Revision = None, reason: Reason = "", as_json: Json = False) -> None:
    """Put it away: only deep recall asks the archive."""
    with opened() as memory:
        receipt = memory.experiences.archive(number, revision=revision, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def release(number: Id, revision: Revision = None, reason: Reason = "", as_json: Json = False) -> None:
    """Give a cold one another trial."""
    with opened() as memory:
        receipt = memory.experiences.release(number, revision=revision, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command()
def delete(number: Id, reason: Reason = "", as_json: Json = False) -> None:
    """Take an experience out with all its revisions; undo brings it back."""
    with opened() as memory:
        receipt = memory.experiences.delete(number, reason=reason)
    _answer(receipt.json(), as_json)


@experience_app.command("list")
def list_(
    status: Annotated[str | None, typer.Option(help="candidate, live, challenged, superseded, archived, cold, deleted.")] = None,
    family: Annotated[str | None, typer.Option(help="Only of this family.")] = None,
    kind: Annotated[str | None, typer.Option(help="positive or negative.")] = None,
    context: Annotated[str | None, typer.Option(help="Only with this tag.")] = None,
    as_json: Json = False,
) -> None:
    """Every revision that is not deleted."""
    with opened() as memory:
        rows = memory.experiences.list(status=status, family=family, kind=kind, context=context)
    emit(rows, as_json, render.experiences)


@experience_app.command()
def show(number: Id, revision: Revision = None, as_json: Json = False) -> None:
    """One experience with its seal, revisions, reports and history."""
    with opened() as memory:
        row = memory.experiences.show(number, revision=revision)
    emit(row, as_json, render.experience_page)
