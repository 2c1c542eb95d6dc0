"""Experiences to hand in, each unlike the others unless it is told to be like them."""

from __future__ import annotations

from typing import Any

from mnemic.knowledge.experiences import Experiences
from mnemic.knowledge.trust import RULES, Rules
from tests.homes import Home


def library(home: Home, rules: Rules = RULES, ns: str = "default") -> Experiences:
    return Experiences(home.store, home.ledger, home.clock, ns, rules)


def lesson(number: int = 1, **more: Any) -> dict[str, Any]:
    """A document as `refine` takes it; `number` makes its words its own."""
    return {
        "kind": "positive", "family": "deploy", "gist": f"restart{number} service{number} before{number} migrating{number}",
        "situation": f"migration{number} hangs{number}", "path": ["stop", "migrate", "start"], "reasoning": "locks",
        "limits": [f"cluster{number} mode{number}"], "evidence": {"note": f"run {number}"}, "complexity": {"steps": 6},
        **more,
    }  # fmt: skip


def bare(number: int = 1, **more: Any) -> dict[str, Any]:
    """The same without what only refining asks for."""
    document = lesson(number)
    del document["evidence"], document["complexity"]
    return {**document, **more}


def batch(*documents: dict[str, Any], kind: str = "document", **more: Any) -> dict[str, Any]:
    return {"source_type": kind, "source_ref": "handbook", "experiences": list(documents), **more}


def asked(number: int = 1) -> str:
    """A situation that the experience of a number fits."""
    return f"the migration{number} hangs{number} and I must restart{number} it"


def failing(number: int = 1) -> dict[str, Any]:
    return {"attribution": "experience", "evidence": f"step 2 broke {number}"}
