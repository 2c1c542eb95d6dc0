"""What a judge is, and the budget it works under.

A judge is only ever asked for a proposal: rules decide what becomes of its answer. So an answer is checked like
anything that comes from outside, and a judge that fails costs a run and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mnemic.errors import BudgetSpent
from mnemic.text.tokens import estimate


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's answer, and the tokens it cost, prompt included."""

    content: dict[str, Any]
    tokens: int


class Judge(Protocol):
    """Answers a question as a JSON object of a given schema."""

    identity: str

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> Reply:
        """The answer, in at most `max_tokens` tokens. Raises ModelError if there is no usable one."""
        ...


@dataclass(slots=True)
class Budgeted:
    """A judge that may be asked so often and may cost so many tokens in one run."""

    judge: Judge
    calls: int
    tokens: int
    asked: int = 0
    spent: int = 0

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
        """The answer. Raises BudgetSpent before a call that could exceed the budget, ModelError for an unusable answer."""
        if self.asked >= self.calls:
            raise BudgetSpent(f"{stage}: the budget of {self.calls} calls is spent: raise llm.calls in mnemic.toml")
        needed = estimate(system, "cjk1") + estimate(prompt, "cjk1") + max_tokens
        if self.spent + needed > self.tokens:
            raise BudgetSpent(
                f"{stage}: this call could cost {needed} tokens and {max(0, self.tokens - self.spent)} are left of"
                f" {self.tokens}: raise llm.tokens in mnemic.toml"
            )
        self.asked += 1
        self.spent += needed  # counted in full until the answer tells what it really cost
        reply = self.judge.ask(stage, system, prompt, schema, max_tokens)
        self.spent += reply.tokens - needed
        return reply.content
