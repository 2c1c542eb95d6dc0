"""The chunker: where one topic of a conversation ends and the next begins. Pure; no model, no vectors.

A conversation is cut where that makes its words cheapest to tell: each segment is a bag of words with its own
frequencies (Utiyama and Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation"), and a segment
more has a price. How a turn begins and ends moves the price of a cut before it: an answer is not cut from its question,
a farewell ends a topic, "by the way" begins one. The cheapest cuts are found exactly, by dynamic programming.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from mnemic.text.tokens import query_terms

LONGEST = 40
"""Turns of a segment at most."""
PRICE = 1.0
"""What a segment costs, in units of log(turns)."""
_ASKS = re.compile(r"[?？]\s*\W*$")
_OPENS = re.compile(
    r"\W*(?:by the way|btw|anyway|anyways|also|oh,? (?:and|by)|speaking of|on another note|another thing|next|one more thing"
    r"|(?:i(?:'m| am|'d| would| also)?|we) (?:need|want|look(?:ing)?|like|trying)|(?:can|could|would) you|please|let'?s"
    r"|do you|have you|did you|are you|what(?:'s| is| are| do| did)|how (?:is|are|was|about)|hi|hello|hey"
    r"|good (?:morning|evening)"
    r"|顺便|对了|另外|还有|你好|请问|我想)\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:thanks|thank you|bye|goodbye|see you|take care|talk (?:to you )?(?:soon|later)|you'?re welcome|no problem"
    r"|have a (?:great|good|nice)|great day|anything else|enjoy|that'?s all|that is all)\b|谢谢|再见|不客气",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\W*(?:yes|yeah|yep|no|nope|sure|ok|okay|that|those|it|they|he|she|and|but|so|because|really|wow|right|exactly|great"
    r"|haha|lol|oh|cool|nice|absolutely|thanks|thank)\b",
    re.IGNORECASE,
)


def segments(turns: Sequence[str], *, price: float = PRICE, longest: int = LONGEST) -> list[int]:
    """The number of turns of each segment, in order; they add up to all turns.

    `price` is what a cut must save, in units of log(turns). Time is linear in the turns, for a given `longest`.
    """
    if not turns:
        return []
    bags = [Counter(query_terms(turn)) for turn in turns]
    kinds = len({word for bag in bags for word in bag}) + 1
    fare = price * math.log(max(len(turns), 2)) * 2
    best = [0.0] + [math.inf] * len(turns)
    came = [0] * (len(turns) + 1)
    prices = [fare + _cue(turns, place) for place in range(len(turns))]
    for end in range(1, len(turns) + 1):
        seen: Counter[str] = Counter()
        total, gain = 0, 0.0
        for begin in range(end - 1, max(-1, end - 1 - longest), -1):
            for word, count in bags[begin].items():
                had = seen[word]
                now = had + count
                gain += now * math.log(now + 1) - had * math.log(had + 1)
                seen[word] = now
                total += count
            cost = best[begin] + total * math.log(total + kinds) - gain + prices[begin]
            if cost < best[end]:
                best[end], came[end] = cost, begin
    lengths: list[int] = []
    place = len(turns)
    while place:
        lengths.append(place - came[place])
        place = came[place]
    return lengths[::-1]


def _cue(turns: Sequence[str], place: int) -> float:
    """What the wording makes a cut before this turn dearer (above 0) or cheaper."""
    if not place:
        return 0.0
    before, turn = turns[place - 1], turns[place]
    cue = 0.0
    if _ASKS.search(before):
        cue += 3.0
    if _CLOSES.search(before):
        cue -= 2.0
    if _OPENS.match(turn):
        cue -= 2.0
    if _POINTS_BACK.match(turn):
        cue += 1.5
    return cue
