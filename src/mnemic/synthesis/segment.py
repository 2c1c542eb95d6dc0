"""The chunker: where one topic of a conversation ends and the next begins. Pure; no model, no vectors.

Two things are weighed. How cheaply the words of each segment are told, as a bag with its own frequencies (Utiyama and
Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation"). And how likely a cut before a turn is by how
the turns around it begin and end and which words they share: a log-linear model, fitted by `python -m bench.dream --fit` on
the development half of three data sets. The likeliest cuts are found exactly, by dynamic programming.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from mnemic.text.tokens import query_terms

LONGEST = 40
"""Turns of a segment at most."""
TOLD = 0.1
"""Weight of the words' cost against the odds of a cut: words come in bursts, so their likelihood is overconfident."""
ALWAYS, ASKED, CLOSED, OPENS, SHARED, BRIDGED, RESUMED, POINTS, CLOSES = -1.1, -0.8, 0.9, 1.6, -4.2, -1.0, -1.0, -0.5, -0.8
"""Log odds of a cut before a turn, in the order of `signs`."""
POINTING_WORDS = 8
"""Words at the beginning of a turn in which "it" or "that" points to what was said before."""
_ASKS = re.compile(r"[?？]\s*\W*$")
_OPENS = re.compile(
    r"\W*(?:by the way|btw|anyway|anyways|also|oh,? (?:and|by)|speaking of|on another note|another thing|next|one more thing"
    r"|(?:i(?:'m| am|'d| would| also)?|we) (?:need|want|look(?:ing)?|like|trying)|(?:can|could|would) you|please|let'?s"
    r"|do you|have you|did you|are you|what(?:'s| is| are| do| did)|how (?:is|are|was|about)|hi|hello|hey"
    r"|good (?:morning|evening))\b"
    r"|\W*(?:顺便|对了|另外|还有|你好|请问|我想)",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:thanks|thank you|bye|goodbye|see you|take care|talk (?:to you )?(?:soon|later)|you'?re welcome|no problem"
    r"|have a (?:great|good|nice)|great day|anything else|enjoy|that'?s all|that is all)\b|谢谢|再见|不客气",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\b(?:it|that|this|they|them|those|these|he|she|him|her|there|one)\b|[它这那他她]", re.IGNORECASE)


def segments(turns: Sequence[str], *, longest: int = LONGEST, told: float = TOLD) -> list[int]:
    """The number of turns of each segment, in order; they add up to all turns.

    `told`: the weight of the words. Time is linear in the turns, for a given `longest`.
    """
    if not turns:
        return []
    bags = [query_terms(turn) for turn in turns]
    kinds = len({word for bag in bags for word in bag}) + 1
    best = [0.0] + [math.inf] * len(turns)
    came = [0] * (len(turns) + 1)
    prices = [0.0, *(-odds(row) for row in signs(turns, bags))]
    for end in range(1, len(turns) + 1):
        seen: Counter[str] = Counter()
        total, gain = 0, 0.0
        for begin in range(end - 1, max(-1, end - 1 - longest), -1):
            for word in bags[begin]:
                had = seen[word]
                gain += (had + 1) * math.log(had + 2) - had * math.log(had + 1)
                seen[word] = had + 1
            total += len(bags[begin])
            cost = best[begin] + told * (total * math.log(total + kinds) - gain) + prices[begin]
            if cost < best[end]:
                best[end], came[end] = cost, begin
    lengths: list[int] = []
    place = len(turns)
    while place:
        lengths.append(place - came[place])
        place = came[place]
    return lengths[::-1]


def odds(row: Sequence[float]) -> float:
    """Log odds of a cut, by its signs."""
    weights = (ALWAYS, ASKED, CLOSED, OPENS, SHARED, BRIDGED, RESUMED, POINTS, CLOSES)
    return sum(weight * sign for weight, sign in zip(weights, row, strict=True))


def signs(turns: Sequence[str], bags: Sequence[Sequence[str]]) -> list[tuple[float, ...]]:
    """For each turn but the first, what speaks for and against a cut before it, each in 0..1; the weights' order.

    `bags`: the distinct words of each turn, in an order of their own, so that sums come out the same every time.
    """
    among = Counter(word for bag in bags for word in bag)
    weight = {word: math.log(len(bags) / count) + 0.1 for word, count in among.items()}
    return [_signs(turns, bags, weight, place) for place in range(1, len(turns))]


def _signs(turns: Sequence[str], bags: Sequence[Sequence[str]], weight: Mapping[str, float], place: int) -> tuple[float, ...]:
    before, turn, bag, known = turns[place - 1], turns[place], bags[place], frozenset(bags[place - 1])
    shared = sum(weight[word] for word in bag if word in known) / (sum(weight[word] for word in bag) or 1.0)
    return (
        1.0,
        float(bool(_ASKS.search(before))),
        float(bool(_CLOSES.search(before))),
        float(bool(_OPENS.match(turn))),
        shared,
        float(place > 1 and not frozenset(bag).isdisjoint(bags[place - 2])),
        float(place + 1 < len(turns) and not known.isdisjoint(bags[place + 1])),
        float(bool(_POINTS_BACK.search(" ".join(turn.split()[:POINTING_WORDS])))),
        float(bool(_CLOSES.search(turn))),
    )
