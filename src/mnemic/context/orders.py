"""Work orders of the window: what the connected agent may summarise better than the rules did.

With the agent as judge a compaction does not wait: the rules' summary stands at once, and an order stands beside it. The
order is made anew from the stored originals whenever it is asked for, so it needs no place of its own, shows nothing that was
erased, and ends when its summary is merged. An answer passes the checks of an endpoint's: lines that name messages which were
shown, in no more tokens than the summary they replace. What does not pass changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mnemic.clock import Ids
from mnemic.context import rules
from mnemic.context.asked import SCHEMA, SYSTEM, answered, question
from mnemic.context.summaries import Pyramid, Summary, cost
from mnemic.errors import BadInput, ModelError, NotFound, Refused
from mnemic.ledger.record import digest
from mnemic.ledger.served import checked
from mnemic.store import Store
from mnemic.text.clean import cleaned

STAGE = "window"


class WindowOrders:
    """The orders of one namespace."""

    def __init__(self, store: Store, pyramid: Pyramid, namespace: str, ids: Ids, redact: bool) -> None:
        self._store, self._pyramid, self._ns, self._ids, self._redact = store, pyramid, namespace, ids, redact

    def next(self) -> dict[str, Any] | None:
        """The oldest order whose messages can still be shown; it stands until it is answered or its summary is merged."""
        waiting = self._pyramid.awaited()
        for place, summary in enumerate(waiting):
            if lines := self._lines(summary):
                prompt = question(lines, cost(summary), self._ids.token(8))
                return {"id": _name(summary), "stage": STAGE, "question": SYSTEM, "input": prompt, "schema": SCHEMA,
                        "expires_at": None, "left": len(waiting) - place - 1}  # fmt: skip
        return None

    def submit(self, id: str, answer: Any) -> dict[str, Any]:
        """Put an answer in the place of the rules' summary.

        Raises NotFound for no such order, BadInput for a wrong shape, Refused for what does not pass the checks.
        """
        waiting = self._pyramid.awaited()
        summary = next((one for one in waiting if _name(one) == id), None)
        if summary is None:
            raise NotFound(f"no work order {id!r}: it was answered, or its summary merged; see `mnemic window work next`")
        if not isinstance(answer, Mapping):
            raise BadInput(f'the answer is {type(answer).__name__}: give {{"lines": [{{"kind", "place", "text"}}, …]}}')
        try:
            given = answered(self._lines(summary), answer)
        except ModelError as error:
            raise Refused(f"{error}: the rules' summary stays") from None
        clean = [replace(line, text=cleaned(line.text, redact=self._redact).text.strip()) for line in given]
        picked = rules.chosen([line for line in clean if line.text], cost(summary))
        if not picked:
            raise Refused(f"no line of the answer fits into {cost(summary)} tokens: the rules' summary stays")
        self._pyramid.replace(summary, rules.joined(picked))
        return {"id": id, "status": "stored", "lines": len(picked), "dropped": len(answer["lines"]) - len(picked),
                "left": len(waiting) - 1}  # fmt: skip

    def _lines(self, summary: Summary) -> list[rules.Line]:
        """What was said in the exchanges of a summary, as lines; none of what is gone."""
        found = list[rules.Line]()
        for path in json.loads(summary.sources):
            document = self._store.document(self._ns, path)
            if document is None:
                continue
            messages = self._store.messages(self._ns, document=document.id)
            texts = self._store.texts(self._ns, [item.text_id for item in messages], document.shelf)
            checked(self._store, self._ns, document.id, path, texts)
            nodes = self._store.nodes(self._ns, document.id, document.shelf)
            paths = {node.message: node.path for node in nodes if node.kind == "message"}
            for item in messages:
                place = paths.get(item.seq, "").removeprefix(path.rpartition("/")[0] + "/")
                found += rules.lines_of(texts.get(item.text_id, ""), item.role, place)
        return [line for line in found if line.place]


def _name(summary: Summary) -> str:
    """An order is bound to the very text that it may replace."""
    return f"{STAGE}-{summary.id}-{digest(summary.text)[:8]}"
