"""The judge without a model: it picks the sentences of a conversation that must not be lost. It quotes, it never invents.

A summary is lines. Each says what it is, who said it, and where: `[decision] user 12/user: We use Postgres because …`.
Lines of summaries can be ranked again, so a summary of summaries is the same choice made once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemic.context.budget import PROFILE
from mnemic.text.frame import escaped
from mnemic.text.tokens import estimate

LINE_CHARS = 280
KINDS = ("decision", "constraint", "open", "fact", "note")
_WEIGHTS = {"decision": 5.0, "constraint": 4.5, "open": 3.5, "fact": 3.0, "note": 1.0}
_SPEAKERS = {"user": 1.0, "assistant": 0.0, "tool": -2.0}
_DECISION = re.compile(
    r"\b(?:decid\w+|decision|agreed?|chose|chosen|choos\w+|settled|let'?s (?:go|use|keep|do|make)"
    r"|we(?:'ll| will| shall) (?:use|go|keep|ship)|instead of|rather than|going with"
    r"|switch(?:ed|ing)? to|because|approved|rejected)\b|决定|選択|选择|因为|因為|決め|に決",
    re.IGNORECASE,
)
_CONSTRAINT = re.compile(
    r"\b(?:must(?:n'?t)?|never|always|at (?:most|least)|no (?:more|less|later) than|only if|required?|forbidden"
    r"|not allowed|deadline|limit(?:ed)?|budget|do not|don'?t|cannot|due (?:by|on)|remember|important"
    r"|allerg\w+)\b|必须|必須|不能|不得|截止|只能|禁止|なければ",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:to-?do|fixme|open question|still (?:need|have|to)|next steps?|follow[- ]up|remind|later|pending|unresolved|waiting for"
    r"|blocked|need(?:s)? to|have to)\b|待办|待辦|还需要|下一步|未解决|やること",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"\b(?:my|our|i am|i'm|i live|i work|i prefer|i like|is called|named?|address|phone|email|birthday|password|version"
    r"|port|code(?:name)?|lives? in|works? (?:at|for)|moved to)\b|我的|叫|名前|住",
    re.IGNORECASE,
)
_FILE = re.compile(r"(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.(?:[a-z]{1,4}\d?|json|toml|yaml)\b")
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][a-z]+|\b\w+-\d+\b|\b[A-Z]{2,}\b|[\"'`“「]\w")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_LINE = re.compile(r"\[(?P<kind>\w+)\] (?P<speaker>\w+)(?: (?P<place>\S+))?: (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Line:
    """A quoted sentence: what it is, who said it, and where it can be read in full."""

    kind: str
    speaker: str
    place: str
    """The message's path below its session, e.g. `12/user`; empty where it is not stored."""
    text: str

    def __str__(self) -> str:
        return f"[{self.kind}] {self.speaker}{' ' if self.place else ''}{self.place}: {self.text}"


def lines_of(text: str, speaker: str, place: str) -> list[Line]:
    """The sentences of one message as lines."""
    found = list[Line]()
    for piece in _SENTENCE.split(text):
        sentence = " ".join(piece.split()).lstrip("-*#> ")
        if len(sentence) > 2:
            found.append(Line(_kind(sentence), speaker, place, _clipped(sentence)))
    return found


def parsed(summary: str) -> list[Line]:
    """The lines of a summary; what a model wrote in its own words is a note of nobody's."""
    found = list[Line]()
    for line in summary.splitlines():
        if match := _LINE.fullmatch(line):
            kind = match["kind"] if match["kind"] in KINDS else "note"
            found.append(Line(kind, match["speaker"], match["place"] or "", match["text"]))
        elif line.strip():
            found.append(Line("decision", "summary", "", line.strip()))
    return found


def chosen(lines: Sequence[Line], tokens: int) -> list[Line]:
    """The most important lines that fit into so many tokens as they stand in a frame, in the order they were said."""
    distinct = _distinct(lines)
    worth = {place: _worth(line) for place, line in enumerate(distinct)}
    kept = list[int]()
    for place in sorted(worth, key=lambda place: (-worth[place], -place)):
        cost = cost_of(distinct[place])
        if cost <= tokens:
            tokens -= cost
            kept.append(place)
    return [distinct[place] for place in sorted(kept)]


def joined(lines: Iterable[Line]) -> str:
    """Lines as the text of a summary."""
    return "\n".join(map(str, lines))


def cost_of(line: Line) -> int:
    """Tokens of a line in a frame, with its escaped line end."""
    return estimate(escaped(str(line)), PROFILE) + 1


def _distinct(lines: Iterable[Line]) -> list[Line]:
    """Without repetitions of the same words by the same speaker; the last stays."""
    last = {(line.speaker, line.text.casefold()): line for line in lines}
    kept = {id(line) for line in last.values()}
    return [line for line in lines if id(line) in kept]


def _kind(sentence: str) -> str:
    if _DECISION.search(sentence):
        return "decision"
    if _CONSTRAINT.search(sentence):
        return "constraint"
    if _OPEN.search(sentence):
        return "open"
    if _FACT.search(sentence) or _FILE.search(sentence) or _NUMBER.search(sentence):
        return "fact"
    return "note"


def _worth(line: Line) -> float:
    """How much would be lost with a line, for the room it takes."""
    text = line.text
    worth = _WEIGHTS[line.kind] + _SPEAKERS.get(line.speaker, 0.0)
    worth += 0.5 * bool(_NUMBER.search(text)) + 0.5 * bool(_FILE.search(text)) + 0.5 * bool(_NAME.search(text))
    return worth - len(text) / LINE_CHARS - (2.0 if text.endswith(("?", "？")) and line.kind != "open" else 0.0)


def _clipped(sentence: str) -> str:
    if len(sentence) <= LINE_CHARS:
        return sentence
    cut = sentence.rfind(" ", LINE_CHARS // 2, LINE_CHARS)
    return sentence[: cut if cut > 0 else LINE_CHARS] + "…"
