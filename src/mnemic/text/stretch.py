"""Calendar arithmetic on stretches of time, for the reader of time expressions (when.py).

A stretch is half-open and in wall-clock time without a zone; the reader attaches the zone at the end. Here
stand the choices that people argue about: weeks begin on Monday, "two weeks ago" is the seven days around
that day, "two months ago" is the calendar month, "the last 3 days" runs to the end of today.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

Span = tuple[datetime, datetime]
"""A half-open stretch [from, to), without a zone."""

DAY = timedelta(days=1)
LONGEST = {"minute": 100_000, "hour": 10_000, "day": 20_000, "week": 3_000, "month": 700, "year": 60}
"""The most units of each kind that are looked back; more is not about a memory."""

_STEP = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {"a": 1, "an": 1} | {word: count for count, word in enumerate(_WORDS.split(), 1)}
_ZH_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}


def number(text: str) -> int | None:
    """A count in digits, as an English word up to twelve, or in Chinese up to 99; None when it is none."""
    text = text.lower()
    if text.isdecimal():
        return int(text) if len(text) < 7 else None
    return _NUMBERS.get(text) or _zh_number(text)


def _zh_number(text: str) -> int | None:
    """0..99 (二十三), or digit by digit (二〇二三)."""
    if not text or any(c not in _ZH_DIGITS and c != "十" for c in text):
        return None
    if "十" not in text:
        return int("".join(str(_ZH_DIGITS[c]) for c in text))
    tens, _, ones = text.partition("十")
    if "十" in ones or len(tens) > 1 or len(ones) > 1:
        return None
    return 10 * _ZH_DIGITS.get(tens, 1) + _ZH_DIGITS.get(ones, 0)


def midnight(moment: date) -> datetime:
    """The first moment of a day."""
    return datetime(moment.year, moment.month, moment.day)


def days(first: date, count: int = 1) -> Span:
    """`count` whole days from `first`."""
    start = midnight(first)
    return start, start + count * DAY


def months(year: int, month: int, count: int = 1) -> Span:
    """`count` months from a month that may lie outside 1..12 (0 is December of the year before)."""
    first, after = 12 * year + month - 1, 12 * year + month - 1 + count
    return datetime(first // 12, first % 12 + 1, 1), datetime(after // 12, after % 12 + 1, 1)


def years(year: int, count: int = 1) -> Span:
    """`count` calendar years from `year`."""
    return months(year, 1, 12 * count)


def week(moment: datetime, back: int = 0) -> Span:
    """The week (from Monday) that holds `moment`, or one `back` weeks before it."""
    return days(moment - (moment.weekday() + 7 * back) * DAY, 7)


def weekday(which: int, now: datetime, *, before: bool = False) -> Span:
    """The latest such day (0 is Monday) up to today, or with `before` up to yesterday."""
    latest = now - DAY if before else now
    return days(latest - (latest.weekday() - which) % 7 * DAY)


def unit(name: str, now: datetime, back: int = 0) -> Span:
    """The calendar unit (day, week, weekend, month, quarter, year) `back` units before the one of `now`."""
    if name == "day":
        return days(now - back * DAY)
    if name == "week":
        return week(now, back)
    if name == "weekend":
        return days(week(now, back)[0] + 5 * DAY, 2)
    if name == "month":
        return months(now.year, now.month - back)
    if name == "quarter":
        return months(now.year, 3 * ((now.month - 1) // 3 - back) + 1, 3)
    return years(now.year - back)


def season(name: str, year: int) -> Span:
    """Meteorological seasons of the northern half; the winter of a year begins in its December."""
    return months(year, _SEASONS[name], 3)


def ago(name: str, count: int, now: datetime, slack: int = 0) -> Span:
    """About `count` units before `now` (after it when negative): a day, seven days, a calendar month or year.

    `slack` widens it by so many units on both sides, for "a few days ago".
    """
    if name in ("minute", "hour"):
        around = max(timedelta(minutes=5), _STEP[name] / 2) + slack * _STEP[name]
        middle = now - count * _STEP[name]
        return middle - around, middle + around
    if name == "day":
        return days(now - (count + slack) * DAY, 1 + 2 * slack)
    if name == "week":
        return days(now - (7 * (count + slack) + 3) * DAY, 7 + 14 * slack)
    if name == "month":
        return months(now.year, now.month - count - slack, 1 + 2 * slack)
    return years(now.year - count - slack, 1 + 2 * slack)


def rolling(name: str, count: int, now: datetime) -> Span:
    """The last `count` units up to the end of today."""
    today = midnight(now)
    if name in ("minute", "hour"):
        return now - count * _STEP[name], today + DAY
    if name in ("day", "week"):
        return today - count * _STEP[name], today + DAY
    first, end = months(now.year, now.month - count * (12 if name == "year" else 1))
    return min(first + (today.day - 1) * DAY, end - DAY), today + DAY


def latest(make: Callable[[int], Span], now: datetime) -> Span:
    """The latest of a yearly stretch that has begun by `now`; a 29 February may be years back."""
    for back in range(9):
        try:
            span = make(now.year - back)
        except ValueError:
            continue
        if span[0] <= now:
            return span
    raise ValueError("no such day")


def third(which: int, span: Span) -> Span:
    """The first (0), middle (1) or last (2) third of a stretch, in whole days; a single day stays whole."""
    length = (span[1] - span[0]).days
    if length < 3:
        return span
    first, second = span[0] + length // 3 * DAY, span[1] - length // 3 * DAY
    return ((span[0], first), (first, second), (second, span[1]))[which]


def beside(name: str, span: Span, count: int | None, sign: int) -> Span:
    """The unit before (`sign` -1) or after (+1) a stretch, or what lies `count` units from its near edge."""
    if count is not None:
        return ago(name, -sign * count, span[0] if sign < 0 else span[1] - DAY)
    edge = span[0] if sign < 0 else span[1]
    if name in ("month", "year") and edge.day == 1:
        length = 12 if name == "year" else 1
        return months(edge.year, edge.month - (length if sign < 0 else 0), length)
    if name == "weekend":
        return days(week(edge, 0 if sign > 0 or edge.weekday() > 5 else 1)[0] + 5 * DAY, 2)
    step = {"month": 30 * DAY, "year": 365 * DAY}.get(name) or _STEP[name]
    return (edge - step, edge) if sign < 0 else (edge, edge + step)
