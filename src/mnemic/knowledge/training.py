"""Training sets: experiences that proved themselves often enough to be learned by a model's weights (seed 000, level L3).

Weights cannot be searched, explained or undone line by line, so the bar is high and each example can be traced: it names the
revision, its reports, and the ledger's head it was taken at. An adapter trained from a set is rolled back by its manifest.

Worth internalising: live, by a person or the agent, counted successes from SUCCESSES on and none of the last RECENT a failure,
trust from TRUST on, and what recalling it has cost already, uses × its tokens, above the cost of training on it, EPOCHS × its
tokens × COST.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.knowledge.origin import AGENT, RANK
from mnemic.text.tokens import estimate

SUCCESSES, RECENT, TRUST = 5, 3, 0.8
EPOCHS, COST = 3, 1.5
"""Passes over a set, and what a token costs in training against one in a prompt."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Whether an experience is worth internalising, and the figures that say so."""

    id: str
    revision: int
    successes: int
    failures: int
    trust: float
    recall_cost: int
    """Tokens that recalling it has cost: uses × its size."""
    training_cost: int
    """Tokens' worth of training on it."""
    why_not: str
    """Empty where it is worth it."""


def worth(item: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> Worth:
    """Judge a revision, as `show` gives it, by the reports about it."""
    mine = [row for row in reports if row["revision"] == item["revision"]]
    counted = [row for row in sorted(mine, key=lambda row: row["number"]) if row["counted"] != "none"]
    good = sum(row["counted"] == "alpha" for row in counted)
    size = estimate(json.dumps(example(item)["messages"], ensure_ascii=False))
    spent, price = len(counted) * size, int(EPOCHS * COST * size)
    why = ""
    if item["status"] != "live":
        why = f"it is {item['status']}"
    elif RANK[item["origin"]] < AGENT:
        why = f"it was read somewhere ({item['origin']})"
    elif good < SUCCESSES:
        why = f"{good} of {SUCCESSES} successes"
    elif any(row["counted"] == "beta" for row in counted[-RECENT:]):
        why = f"a failure among the last {RECENT}"
    elif item["trust"] < TRUST:
        why = f"trust {item['trust']} is below {TRUST}"
    elif spent <= price:
        why = f"recalling it has cost {spent} tokens, training on it would cost {price}"
    return Worth(item["id"], item["revision"], good, len(counted) - good, item["trust"], spent, price, why)


def example(item: Mapping[str, Any], reports: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """An experience in chat form: the situation asks, its path and limits answer. With the evidence that it rests on, as texts:
    what it was drawn from, and what the counted reports about this revision named."""
    asked = "\n".join(_lines(item["situation"]))
    told = [item["gist"], *(f"- {line}" for line in _lines(item["path"]))]
    told += [f"Why: {item['reasoning']}"] if item["reasoning"] else []
    told += [f"Not for: {line}" for line in _lines(item["limits"])]
    told += [f"It failed because: {item['failure_reason']}"] if item["failure_reason"] else []
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": "\n".join(told)}]
    evidence = [f"drawn from {source}" for source in item.get("sources", ())] + [
        f"{row['outcome']} {row['number']}: {named}"
        for row in sorted(reports, key=lambda row: row["number"])
        if row["revision"] == item["revision"] and row["counted"] != "none"
        for named in json.loads(row["evidence"])
    ]
    return {"messages": messages, "id": item["id"], "revision": item["revision"], "family": item["family"], "evidence": evidence}


def lines(items: Sequence[Mapping[str, Any]], reports: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The set as JSON lines. `reports`: id → reports."""
    rows = (example(item, reports[item["id"]]) for item in items)
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)


def manifest(
    body: str,
    judged: Sequence[Worth],
    entries: Mapping[str, Sequence[int]],
    head: Mapping[str, Any] | None,
    store: str,
    namespace: str,
) -> dict[str, Any]:
    """What a set was made of, so that what was trained from it can be traced and rolled back. `entries`: id → of the ledger."""
    return {
        "sha256": hashlib.sha256(body.encode()).hexdigest(),
        "examples": sum(not one.why_not for one in judged),
        "ledger_head": head,
        "store": store,
        "namespace": namespace,
        "criterion": {"successes": SUCCESSES, "recent": RECENT, "trust": TRUST, "epochs": EPOCHS, "cost": COST},
        "taken": [
            {"id": one.id, "revision": one.revision, "successes": one.successes, "failures": one.failures, "trust": one.trust,
             "recall_cost": one.recall_cost, "training_cost": one.training_cost, "ledger_entries": list(entries.get(one.id, ()))}
            for one in judged if not one.why_not
        ],
        "left": [{"id": one.id, "revision": one.revision, "why_not": one.why_not} for one in judged if one.why_not],
    }  # fmt: skip


def _lines(value: Any) -> list[str]:
    """A text, a list of them, or a table of them, as lines."""
    if isinstance(value, Mapping):
        return [f"{key}: {part}" for key, item in value.items() for part in _lines(item)]
    if isinstance(value, list | tuple):
        return [part for item in value for part in _lines(item)]
    return [str(value)] if value not in (None, "") else []
