"""Time expressions: what "last month", "in May 2023" or 上周 mean, seen from a given moment.

A question such as "what did we decide last week" names a stretch of time, and recall narrows to it. The
reading is shy: a wrong stretch hides the right answer, while a missed one only costs a little precision.
So a month without a year needs a word such as "in" before it, and the future ("next week") is left alone,
because what was said about next week was said before it.

The rules in dates.py find *atoms*: a day, a month, "two weeks ago". Here the words around an atom widen,
cut or join it: "since", "before", "early", "the week before", "between A and B", or a neighbour that fixes
its year or week ("in May last year", 去年三月). A cheap gate keeps all of it away from most questions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from mnemic.errors import BadInput
from mnemic.text.dates import COUNT, MONTHS, SEASONS, WEEKDAY_NUMBER, WEEKDAYS, Atom, atoms, count_of, foreign
from mnemic.text.stretch import DAY, LONGEST, Span, beside, days, number, rolling, third, weekday


@dataclass(frozen=True, slots=True)
class When:
    """A stretch of time, [since, until) in aware UTC, and where the text names it.

    `since` is None in "before 2024", `until` is None in "since March", never both. `text` is
    `query[start:end]`, with its preposition.
    """

    since: datetime | None
    until: datetime | None
    text: str
    start: int
    end: int


def find(query: str, now: datetime) -> When | None:
    """The first time expression in `query`, or None. Time is linear in its length.

    Days, weeks (from Monday) and months are those of the zone of `now`, which must be aware.
    """
    if not _GATE.search(query):
        return None
    found = atoms(query, now.replace(tzinfo=None))
    for index in range(len(found)):
        reading = _read(query, found, index)
        if reading:
            (since, until), start, end = reading
            return When(_utc(since, now), _utc(until, now), query[start:end], start, end)
    return None


def parse_moment(text: str, now: datetime, *, end: bool = False) -> datetime:
    """The moment, in aware UTC, that an option such as `--since` or `--at` names.

    Takes an ISO 8601 date or time (without a zone it is UTC), "now", a time expression ("2 hours ago",
    "last month", 昨天) or a written date ("1:56 pm on 8 May, 2023"). Of a day, month or year it gives the
    first moment, or with `end` the first moment after it, so that an end date includes its day.
    Raises BadInput when `text` names no single moment.
    """
    stripped = text.strip()
    try:
        span = _moment(stripped, now.astimezone(UTC).replace(tzinfo=None)) if len(stripped) <= 100 else None
    except (ValueError, OverflowError):
        span = None
    if span is None:
        shown = text if len(text) <= 100 else text[:100] + "…"
        raise BadInput(f"no moment can be read from {shown!r}: write it as 2023-05-07 or 2023-05-07T13:56")
    return span[1 if end else 0].replace(tzinfo=UTC)


_GATE = re.compile(
    rf"(?:19|20)\d\d|[年月周週天日晚夜早]|星期|礼拜|小时|小時|钟头|分钟|分鐘"
    rf"|\b(?:ago|back|last|past|previous|this|current|yesterday|today|tonight|weekend|{WEEKDAYS}|{SEASONS}"
    rf"|{MONTHS}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:\b(?P<op>since|after|before|until|till|up to|prior to|from|between|in|on|during|throughout|over"
    r"|within|around|of|for|at)\s+)?(?:\bthe\s+(?:month|year)\s+of\s+)?(?:\bthe\s+)?"
    r"(?:\b(?P<part>early|mid|late|(?:beginning|start|middle|end)\s+of)[\s-]+(?:the\s+)?)?$",
    re.IGNORECASE,
)
_ZH_LEAD = re.compile(r"(?:自从|自從|自|从|從|在)$")
_OFFSET = re.compile(
    rf"(?:\b(?:in|on|during|about)\s+)?\b(?:(?:the|last)\s+)*(?:{COUNT}\s+)?"
    rf"(?P<u>day|week|weekend|month|year|{WEEKDAYS})(?P<s>s?)\s+(?P<side>before|after)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_CLOCK = (
    r"\b(?P<h>\d{1,2})(?:(?::(?P<m>\d\d)(?::(?P<s>\d\d))?)?\s*(?P<half>[ap])\.?m\b\.?"
    r"|:(?P<m2>\d\d)(?::(?P<s2>\d\d))?)"
)
_CLOCK_BEFORE = re.compile(rf"(?:\bat\s+)?{_CLOCK},?\s+$", re.IGNORECASE)
_CLOCK_FIRST = re.compile(rf"(?:at\s+)?{_CLOCK}(?:\s*,\s*|\s+)(?:on\s+)?(?P<day>.+)", re.IGNORECASE)
_CLOCK_LAST = re.compile(rf"(?P<day>.+?)(?:\s*,\s*|\s+)(?:at\s+)?{_CLOCK}", re.IGNORECASE)
_JOIN = re.compile(
    r"\s*(?P<word>\b(?:and|to|until|till|through|thru)\b|[-–—~到至和])\s*(?:\b(?:the|in|on)\s+)?",
    re.IGNORECASE,
)
_TO_NOW = re.compile(
    r"\s*\b(?:to|until|till)\s+(?:now|today|date|the present)\b|[到至](?:现在|今天?)", re.IGNORECASE
)
_BESIDE = re.compile(r"[\s,]*(?:(?:of|in|on)\s+|的)?", re.IGNORECASE)
_ONWARDS = re.compile(r"\s+(?:on(?:wards?)?|and later|forward)\b", re.IGNORECASE)
_ZH_TAIL = re.compile(
    r"(?P<part>[年月]?(?:初(?![中次一二三级恋步])|底(?![下层部片])|末(?![日班])))?(?:的时候)?"
    r"(?:(?P<since>以来|以來|至今|起(?![床来飞身草名])|开始|開始)"
    r"|(?P<after>之后|以后|之後|以後|后(?![来天面半]))|(?P<before>之前|以前|前(?![天面后半往台])))?"
)
_THIRDS = {"ear": 0, "beg": 0, "sta": 0, "mid": 1, "lat": 2, "end": 2, "初": 0, "底": 2, "末": 2}
_INSTANT = timedelta(microseconds=1)

_Bounds = tuple[datetime | None, datetime | None]


def _utc(moment: datetime | None, now: datetime) -> datetime | None:
    return moment and moment.replace(tzinfo=now.tzinfo).astimezone(UTC)


# --- what stands around an atom ------------------------------------------------------------------------


def _read(query: str, found: list[Atom], index: int) -> tuple[_Bounds, int, int] | None:
    """The bounds, start and end of the expression around an atom; None when it is no time after all."""
    atom = found[index]
    if index + 1 < len(found) and _swallowed(query, atom, found[index + 1]):
        return None
    lead = _LEAD.search(query[max(0, atom.start - 60) : atom.start])
    op, part = ((lead["op"] or "").lower(), (lead["part"] or "").lower()) if lead else ("", "")
    start = _begin(query, atom.start, lead[0] if lead else "")
    joined = _joined(query, found, index, op)
    if joined:
        return joined[0], start, joined[1]
    fixed = _fixed(query, found, index)
    span, end = fixed or (atom.span, atom.end)
    moved = _moved(query, atom.start, span)
    if moved:
        return moved[0], moved[1], end
    if op == "from" and (onwards := _ONWARDS.match(query, end)):
        return (span[0], None), start, onwards.end()
    if atom.rule.lead and not fixed and not part and not re.fullmatch(atom.rule.lead, op):
        return None
    if part:
        span = third(_THIRDS[part[:3]], span)
    bounds, end = _tail(query, _bounded(span, op), span, end)
    return bounds, start, end


def _begin(query: str, start: int, lead: str) -> int:
    """Where the expression begins, with its prepositions and a time of day before them."""
    start -= len(lead)
    before = query[max(0, start - 30) : start]
    clock = _CLOCK_BEFORE.search(before) or _ZH_LEAD.search(before)
    return start - (len(before) - clock.start()) if clock else start


def _fixed(query: str, found: list[Atom], index: int) -> tuple[Span, int] | None:
    """The atom with a neighbour that fixes its year or week ("May last year", "last week on Monday")."""
    if index + 1 == len(found):
        return None
    first, second = found[index], found[index + 1]
    if not _BESIDE.fullmatch(query, first.end, second.start):
        return None
    for outer, inner in ((second, first), (first, second)):
        if not inner.floats:
            continue
        if "w" in inner.match.groupdict() and outer.span[1] - outer.span[0] > 8 * DAY:
            return outer.span, second.end  # "the Wednesday two months ago" is one of several
        span = inner.seen(outer.span[1] - _INSTANT)
        if span and outer.span[0] <= span[0] and span[1] - span[0] < outer.span[1] - outer.span[0]:
            return span, second.end
    return None


def _joined(query: str, found: list[Atom], index: int, op: str) -> tuple[_Bounds, int] | None:
    """From this atom to the next one ("between March and May 2023") or to now, with the end in the text."""
    first = found[index]
    if to_now := _TO_NOW.match(query, first.end):
        return (first.span[0], None), to_now.end()
    if index + 1 == len(found):
        return None
    second = found[index + 1]
    join = _JOIN.fullmatch(query, first.end, second.start)
    if not join or not _may_join(join["word"].lower(), op, first, second):
        return None
    last, end = _fixed(query, found, index + 1) or (second.span, second.end)
    begin: Span | None = first.span
    if first.floats:
        begin = first.seen(last[1] - _INSTANT)
    elif second.floats and end == second.end:
        last = second.seen(first.span[0] + (6 if "w" in second.match.groupdict() else 364) * DAY) or last
    if not begin or begin[0] >= last[1]:
        return None
    return (begin[0], last[1]), end + 2 * query.startswith("之间", end)


def _may_join(word: str, op: str, first: Atom, second: Atom) -> bool:
    if op in ("before", "after", "until", "till"):
        return False
    return bool(op) or (word != "and" and not first.rule.lead and not second.rule.lead)


def _moved(query: str, start: int, span: Span) -> tuple[_Bounds, int] | None:
    """What "the week before" or "two days after" makes of a stretch, and where those words begin."""
    window = query[max(0, start - 50) : start]
    words = _OFFSET.search(window)
    if not words or bool(words["s"]) and not words["n"]:
        return None
    count = count_of(words["n"], words["vague"])[0] if words["n"] else None
    sign = -1 if words["side"].lower() == "before" else 1
    name = words["u"].lower()
    if name in WEEKDAY_NUMBER:
        moment = span[0] if sign < 0 else span[1] + 7 * DAY
        return weekday(WEEKDAY_NUMBER[name], moment, before=True), start - len(window) + words.start()
    if count is not None and not 0 < count <= LONGEST[name.replace("weekend", "week")]:
        return None
    return beside(name, span, count, sign), start - len(window) + words.start()


def _swallowed(query: str, atom: Atom, follower: Atom) -> bool:
    """Whether the atom is the first word of a move: "last weekend before April 10"."""
    moved = _moved(query, follower.start, follower.span)
    return moved is not None and moved[1] <= atom.start


def _bounded(span: Span, op: str) -> _Bounds:
    if op == "since":
        return span[0], None
    if op == "after":
        return span[1], None
    if op in ("before", "prior to"):
        return None, span[0]
    if op in ("until", "till", "up to"):
        return None, span[1]
    return span


def _tail(query: str, bounds: _Bounds, span: Span, end: int) -> tuple[_Bounds, int]:
    """The Chinese words behind an atom: 初 and 底 cut it, 以来 and 之前 open it."""
    tail = _ZH_TAIL.match(query, end)
    if not tail or not tail[0]:
        return bounds, end
    if tail["part"]:
        span = third(_THIRDS[tail["part"][-1]], span)
        bounds = span
    if tail["since"]:
        bounds = span[0], None
    elif tail["after"]:
        bounds = span[1], None
    elif tail["before"]:
        bounds = None, span[0]
    return bounds, tail.end()


# --- one moment ----------------------------------------------------------------------------------------


def _moment(text: str, now: datetime) -> Span | None:
    """The moment as a stretch: empty when exact, else the day, month or year that was named."""
    if text.lower() in ("now", "现在"):
        return now, now
    return (
        _iso(text)
        or _exact_ago(text, now)
        or _clocked(text, now)
        or _whole(text, now)
        or (None if re.search(r"\d/\d|^[\d\s.,:-]*$", text) else _foreign(text, now))
    )


def _iso(text: str) -> Span | None:
    if text.isdecimal() and len(text) != 8:
        return None
    try:
        return days(date.fromisoformat(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return moment, moment


def _exact_ago(text: str, now: datetime) -> Span | None:
    """ "2 weeks ago" as the day, or the instant, where a search would take the days around it."""
    found = atoms(text, now)
    if len(found) != 1 or found[0].match[0] != text or not re.search("(?:ago|back|前)$", text, re.IGNORECASE):
        return None
    words = found[0].match.groupdict()
    count = number(words.get("n") or "")
    name = words.get("u") or ""
    if not count or words.get("vague") or name not in LONGEST:
        return None
    first, _ = rolling(name, count, now)
    return (first, first) if name in ("minute", "hour") else days(first)


def _clocked(text: str, now: datetime) -> Span | None:
    """A day with a time of day before or behind it."""
    match = _CLOCK_FIRST.fullmatch(text) or _CLOCK_LAST.fullmatch(text)
    if not match:
        return None
    day = _iso(match["day"]) or _whole(match["day"].strip(), now)
    hour, half = int(match["h"]), (match["half"] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p") if 1 <= hour <= 12 else 99
    if day is None or day[1] - day[0] != DAY:
        return None
    minute, second = int(match["m"] or match["m2"] or 0), int(match["s"] or match["s2"] or 0)
    moment = day[0].replace(hour=hour, minute=minute, second=second)
    return moment, moment


def _whole(text: str, now: datetime) -> Span | None:
    """A stretch with both ends that the whole text names, a bare "March" or "Monday" included."""
    relative = {"today": 0, "今天": 0, "tomorrow": -1, "明天": -1, "yesterday": 1}.get(text.lower())
    if relative is not None:
        return days(now - relative * DAY)
    for candidate in (text, f"in {text}", f"on {text}"):
        found = find(candidate, now.replace(tzinfo=UTC))
        if found and found.since and found.until and (found.start, found.end) == (0, len(candidate)):
            return found.since.replace(tzinfo=None), found.until.replace(tzinfo=None)
    return None


def _foreign(text: str, now: datetime) -> Span | None:
    moment = foreign(text, now)
    if moment is None:
        return None
    return days(moment) if moment == days(moment)[0] else (moment, moment)
