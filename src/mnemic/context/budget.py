"""How many tokens a prompt may have, and which part of it may have how many (004; the numbers: digest §5.2).

    window = headroom (the answer) + limit;  limit >= short + mid + long + retrieved

`short` is the recent tail that stays verbatim, `mid` and `long` are the summaries, `retrieved` is what memory adds.
What the four leave of the limit is for instructions, and for the tail to grow until it is compacted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mnemic.errors import BadInput
from mnemic.text.tokens import estimate

WINDOW = 94_000
HEADROOM = 0.25
SHARES = {"short": 10_000, "mid": 20_000, "long": 5_000, "retrieved": 15_000}
"""The allotments in a limit of 70,500 tokens; another limit is shared out in the same proportion."""
WHOLE = 70_500
LEAST = 128
"""Tokens below which no prompt can be put together."""
PROFILE = "cjk1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens of a prompt. Made by `budget`, which checks the figures."""

    window: int
    limit: int
    short: int
    mid: int
    long: int
    retrieved: int

    @property
    def room(self) -> int:
        """What the conversation may take, instructions and summaries included, before it is compacted."""
        return self.limit - self.retrieved

    def fits(self, tokens: int) -> bool:
        """Whether a prompt of so many tokens leaves the headroom free."""
        return tokens <= self.limit

    def less(self, tokens: int) -> Budget:
        """What is left where so many tokens go out beside the messages; each allotment gives its share. Raises BadInput."""
        limit = self.limit - max(0, tokens)
        if limit < LEAST:
            raise BadInput(
                f"what goes out beside the messages (tools, instructions) takes {tokens:,} of {self.limit:,} tokens, the"
                f" messages need {LEAST}: widen the window"
            )
        parts = {name: getattr(self, name) * limit // self.limit for name in SHARES}
        return replace(self, limit=limit, **parts)


def budget(
    window: int = WINDOW, headroom: float = HEADROOM, *, short: int | None = None, mid: int | None = None,
    long: int | None = None, retrieved: int | None = None,
) -> Budget:  # fmt: skip
    """A checked budget; an allotment that is not given is its share of the limit. Raises BadInput with the figures."""
    if window < 1:
        raise BadInput(f"the window {window!r} must be at least 1 token")
    if not 0 <= headroom <= 0.9:
        raise BadInput(f"the headroom {headroom!r} must lie between 0 and 0.9 of the window")
    limit = window - round(window * headroom)
    if limit < LEAST:
        raise BadInput(
            f"a window of {window:,} tokens with headroom {headroom:g} leaves {limit:,} for the prompt, it needs {LEAST}:"
            " widen the window"
        )
    given = {"short": short, "mid": mid, "long": long, "retrieved": retrieved}
    allotted = {name: SHARES[name] * limit // WHOLE if size is None else size for name, size in given.items()}
    for name, size in allotted.items():
        if size < 0:
            raise BadInput(f"the {name} allotment {size!r} must not be negative")
    total = sum(allotted.values())
    if total > limit:
        parts = " + ".join(f"{name} {size:,}" for name, size in allotted.items())
        raise BadInput(
            f"infeasible: {parts} = {total:,} tokens, but a window of {window:,} with headroom {headroom:g} leaves"
            f" {limit:,}: lower an allotment or widen the window"
        )
    return Budget(window=window, limit=limit, **allotted)


def truncate(lines: Iterable[str], tokens: int) -> list[str]:
    """The leading whole lines that fit into so many tokens, line ends included (digest §5.3)."""
    kept = list[str]()
    for line in lines:
        tokens -= estimate(line, PROFILE) + 1
        if tokens < 0:
            break
        kept.append(line)
    return kept
