"""Extraction: from diary entries to facts and concerns. Whoever proposes, the same rules judge.

Everything happens in one transaction, each applied proposal as one entry of the ledger, so that `undo` can take back
one and leave the others. The run itself is the last entry; undoing that one takes the whole back. A proposal that
breaks a rule is rejected with the reason, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from mnemic.clock import to_ms
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.knowledge.concerns import Concerns
from mnemic.knowledge.diary import Diary
from mnemic.knowledge.facet import Act, Facet, identifier, is_id
from mnemic.knowledge.placing import ANY, Placing
from mnemic.ledger import canonical
from mnemic.models.event import Change, Origin
from mnemic.models.semantic import Extraction, Outcome

MOST = 500
"""Proposals of one run."""
SUMMARY_CHARS = 4_000
FACT_FIELDS = ("action", "category", "key", "value", "source_diary_ids", "valid_from", "valid_to", "provisional",
               "check_by", "context")  # fmt: skip
CONCERN_FIELDS = ("action", "title", "background", "kind", "concern_id", "status", "source_diary_ids", "context")


class Extractor(Facet):
    """Applies extractions."""

    def __init__(self, diary: Diary, placing: Placing, concerns: Concerns, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._diary, self._placing, self._concerns = diary, placing, concerns

    def extract(
        self, data: Mapping[str, Any], *, context: str = "", trigger: str = "manual", channel: Origin = "user",
        shown: Collection[int] | None = None, op_id: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Apply `{"proposals": […], "concerns": […], "summary": "…"}`; the answer has one receipt a proposal.

        With `shown`, only these diary ids may be cited. Raises BadInput where the whole is not of this shape.
        """
        facts, concerns = _list(data, "proposals"), _list(data, "concerns")
        if not {"proposals", "concerns"} & set(data):
            raise BadInput("there is neither 'proposals' nor 'concerns' in this extraction: give at least one of them")
        if len(facts) + len(concerns) > MOST:
            raise BadInput(f"{len(facts) + len(concerns)} proposals are too many for one extraction: give at most {MOST}")
        summary = self._line(str(data.get("summary") or ""), "the summary", SUMMARY_CHARS)
        context = self._line(context, "context")

        def do(act: Act) -> dict[str, Any]:
            return self._run(act, facts, concerns, summary, context, trigger, shown)

        return self._once(op_id, ["extract", dict(data), context, channel], channel, do)

    def _run(
        self, act: Act, facts: list[Any], concerns: list[Any], summary: str, context: str, trigger: str,
        shown: Collection[int] | None,
    ) -> dict[str, Any]:  # fmt: skip
        run = act.tx.allocate("extractions")
        outcomes = self._in_order(act, facts, context, run, shown)
        outcomes += [self._judged(act, self._concern, "concern", item, context, run, shown) for item in concerns]
        applied = [outcome for outcome in outcomes if outcome.seq is not None]
        rejected = sum(outcome.status == "rejected" for outcome in outcomes)
        receipt: dict[str, Any] = {
            "status": "stored" if applied else "rejected" if rejected else "nothing", "id": None, "seq": None,
            "applied": len(applied), "rejected": rejected, "summary": summary,
            "receipts": [
                {"index": place, **outcome.json(), "ignored": _unknown(item, FACT_FIELDS + CONCERN_FIELDS)}
                for place, (item, outcome) in enumerate(zip([*facts, *concerns], outcomes, strict=True))
            ],
        }  # fmt: skip
        if not applied:
            return receipt
        produced = sorted({f"{outcome.what}:{outcome.id}" for outcome in applied})
        entries = len(act.tx.select("diary", {"extraction": run}))
        row = Extraction(run, trigger, summary, canonical(produced), entries, act.origin, act.now)
        seq = act.record("extract", f"extraction:{run}", [Change("extractions", (run,), None, asdict(row))],
                         note={"parts": [outcome.seq for outcome in applied], "rejected": rejected})  # fmt: skip
        return {**receipt, "id": run, "seq": seq}

    def _in_order(
        self, act: Act, facts: list[Any], context: str, run: int, shown: Collection[int] | None
    ) -> list[Outcome]:
        """Outcomes in the order of the proposals, which are applied in the order in which they were said."""
        order = sorted(range(len(facts)), key=lambda place: self._diary.said(act.tx, _numbers(facts[place])))
        done = {place: self._judged(act, self._fact, "fact", facts[place], context, run, shown) for place in order}
        return [done[place] for place in range(len(facts))]

    def _judged(
        self, act: Act, place: Any, what: str, item: Any, context: str, run: int, shown: Collection[int] | None
    ) -> Outcome:
        try:
            if not isinstance(item, Mapping):
                raise BadInput(f"a proposal is an object, not {type(item).__name__}")
            return place(act, item, context, run, _cited(item, shown))  # type: ignore[no-any-return]
        except (BadInput, NotFound, Refused) as error:  # not Conflict: that stops the whole run
            return Outcome(what, "rejected", reason=" ".join(str(error).split()))

    def _fact(self, act: Act, item: Mapping[str, Any], context: str, run: int, cited: list[int]) -> Outcome:
        action = _text(item, "action") or "state"
        if action not in ("state", "withdraw"):
            raise BadInput(f"action {action!r} is unknown: state (the default) or withdraw")
        value = _text(item, "value")
        asked = self._placing.proposal(
            _text(item, "category"), _text(item, "key"), value or (ANY if action == "withdraw" else ""),
            context=_text(item, "context") or context, valid_from=self._moment(item, "valid_from"),
            valid_to=self._moment(item, "valid_to", end=True), provisional=item.get("provisional") is True,
            check_by=self._moment(item, "check_by"),
        )  # fmt: skip
        evidence = self._diary.evidence(act.tx, cited, run)
        act_on = self._placing.propose if action == "state" else self._placing.withdraw
        return act_on(act, asked, evidence, run)

    def _concern(self, act: Act, item: Mapping[str, Any], context: str, run: int, cited: list[int]) -> Outcome:
        number = item.get("concern_id")
        asked = self._concerns.matter(
            _text(item, "action") or "new", title=_text(item, "title"), background=_text(item, "background"),
            kind=_text(item, "kind") or "other", concern=None if number in (None, "") else identifier(number, "concern_id"),
            status=_text(item, "status") or "ongoing", context=_text(item, "context") or context,
        )  # fmt: skip
        return self._concerns.propose(act, asked, self._diary.evidence(act.tx, cited, run), run)

    def _moment(self, item: Mapping[str, Any], name: str, *, end: bool = False) -> int | None:
        text = _text(item, name)
        if not text:
            return None
        from mnemic.text.when import parse_moment

        now = self._clock.now()
        moment = parse_moment(text, now)
        whole = parse_moment(text, now, end=True) if end else moment
        return to_ms(whole if whole <= now else moment)


def _numbers(item: Any) -> list[int]:
    """The ids that a proposal cites, as far as they are ids."""
    value = item.get("source_diary_ids") if isinstance(item, Mapping) else None
    return [int(number) for number in value if is_id(number)] if isinstance(value, list) else []


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(data, Mapping):
        raise BadInput(f"an extraction is an object with proposals, concerns and summary, not {type(data).__name__}")
    value = data.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadInput(f"{name} must be a list")
    return value


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadInput(f"{name} must be a text")
    return str(value)


def _unknown(item: Any, names: tuple[str, ...]) -> list[str]:
    """Fields of a proposal that mean nothing here; above all none can set an origin, a trust or a status of its own."""
    return sorted(set(map(str, item)) - set(names)) if isinstance(item, Mapping) else []


def _cited(item: Mapping[str, Any], shown: Collection[int] | None) -> list[int]:
    value = item.get("source_diary_ids")
    if not isinstance(value, list) or not value:
        raise BadInput("source_diary_ids must list the diary entries that say it")
    cited = [identifier(number, "source_diary_ids") for number in value]
    if shown is not None and (strange := [number for number in cited if number not in shown]):
        raise Refused(f"diary entry {strange[0]} was not shown: cite only what was")
    return cited
