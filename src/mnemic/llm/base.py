"""What a judge is, and the budget it works under.

A judge is only ever asked for a proposal: rules decide what becomes of its answer. So an answer is checked like
anything that comes from outside, and a judge that fails costs a run and changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from mnemic.errors import BudgetSpent, ModelError
from mnemic.text.tokens import estimate

T = TypeVar("T")
ATTEMPTS = 3
"""Requests for one answer at most; each is a call of the budget."""
FAILURES = 3
"""Questions running that the server did not answer; after them a run asks no more."""
WAIT_MOST = 20.0
"""Seconds that a server may have us wait before it is asked again."""
CONTEXT = 8_192
"""Tokens that a model can see, question and answer together."""
FRAMING = 48
"""Tokens that a server puts around a question of two messages."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's answer, and the tokens it cost, prompt included."""

    content: dict[str, Any]
    tokens: int


class Failed(ModelError):
    """A request that brought no usable answer: what it cost, and whether another may bring one."""

    def __init__(
        self, message: str, *, tokens: int | None = None, wait: float | None = None, remark: str = "", down: bool = False
    ) -> None:
        """`tokens`: None where nobody knows. `wait`: seconds before it is asked again, None: not at all. `remark`: what
        the question then says of the answer before. `down`: the server failed, not its answer."""
        super().__init__(message)
        self.tokens, self.wait, self.remark, self.down = tokens, wait, remark, down


class Judge(Protocol):
    """Answers a question as a JSON object of a given schema."""

    identity: str

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> Reply:
        """The answer to one request, in at most `max_tokens` tokens. Raises ModelError if there is no usable one."""
        ...


@dataclass(slots=True)
class Budgeted:
    """A judge that may be asked so often and may cost so many tokens in one run. Every request counts, failed ones too."""

    judge: Judge
    calls: int
    tokens: int
    context: int = CONTEXT
    asked: int = 0
    spent: int = 0
    failures: int = 0
    sleep: Callable[[float], None] = time.sleep

    def ask(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
        """The answer. Raises BudgetSpent before a request that could exceed the budget, ModelError for an unusable answer."""
        if self.failures >= FAILURES:
            raise BudgetSpent(f"{stage}: the model's server failed {self.failures} times running: this run asks it no more")
        remark = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._asked(stage, system, prompt + remark, schema, max_tokens)
            except Failed as error:
                if error.wait is None or attempt == ATTEMPTS or error.wait > WAIT_MOST:
                    self.failures = self.failures + 1 if error.down else 0
                    raise
                remark = error.remark
                self.sleep(max(error.wait, 0.5 * 2 ** (attempt - 1)) if error.down else error.wait)
        raise AssertionError("the last attempt returns or raises")

    def _asked(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
        if self.asked >= self.calls:
            raise BudgetSpent(f"{stage}: the budget of {self.calls} calls is spent: raise it in [llm] of mnemic.toml")
        needed = bound(system) + bound(prompt) + FRAMING + max_tokens
        if self.spent + needed > self.tokens:
            raise BudgetSpent(
                f"{stage}: this call could cost {needed} tokens and {max(0, self.tokens - self.spent)} are left of"
                f" {self.tokens}: raise it in [llm] of mnemic.toml"
            )
        self.asked += 1
        self.spent += needed  # counted in full until the answer tells what it really cost
        try:
            reply = self.judge.ask(stage, system, prompt, schema, max_tokens)
        except Failed as error:
            self.spent += 0 if error.tokens is None else error.tokens - needed
            raise
        self.spent += reply.tokens - needed
        self.failures = 0
        return reply.content


def bound(text: str) -> int:
    """More tokens than a model is likely to see in a text: what a budget counts before it is told the truth."""
    return estimate(text, "cjk1") * 4 // 3


def parted(items: Sequence[T], weight: Callable[[T, T | None], int], room: int) -> list[list[T]]:
    """Items in order, in as few parts as fit each into so many tokens; one that is too large is a part of its own.

    `weight`: the tokens of an item behind another, or at the beginning of a part (None).
    """
    parts: list[list[T]] = []
    left = 0
    for item in items:
        size = weight(item, parts[-1][-1]) if parts else 0
        if not parts or size > left:
            parts.append([])
            size, left = weight(item, None), room
        parts[-1].append(item)
        left -= size
    return parts
