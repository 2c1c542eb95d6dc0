"""The ways to name one stretch of time in English and Chinese: the rules of the time reader (when.py).

A rule is a pattern and a function from its match and a reference moment to a stretch, or to None when the
words only look like a time. Rules are shy on purpose: may and march are verbs, "in 2000 steps" counts, and
1.2.3 is a version. Dates in other languages go to dateparser, which imports slowly and sees dates anywhere,
so it only ever gets text that already looks like a day, a month and a year.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache, partial
from importlib import import_module
from itertools import islice

from mnemic.text.stretch import (
    DAY,
    LONGEST,
    Span,
    ago,
    days,
    latest,
    midnight,
    months,
    number,
    rolling,
    season,
    unit,
    week,
    weekday,
    years,
)

Reader = Callable[[re.Match[str], datetime], Span | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to name a stretch of time.

    `lead` is a pattern of the prepositions without which the words are no time ("" needs none). `floating`
    says that a neighbour can still fix the year or the week: May in "May last year". At most `most`
    matches are read.
    """

    pattern: str
    read: Reader
    lead: str = ""
    floating: bool = False
    most: int = 50


@dataclass(frozen=True, slots=True)
class Atom:
    """A rule that matched, and the stretch it names seen from now."""

    rule: Rule
    match: re.Match[str]
    span: Span

    @property
    def start(self) -> int:
        return self.match.start()

    @property
    def end(self) -> int:
        return self.match.end()

    @property
    def floats(self) -> bool:
        """Whether the stretch would be another one seen from another year or week."""
        return self.rule.floating and not self.match.groupdict().get("y")

    def seen(self, now: datetime) -> Span | None:
        """The stretch as it would be read at another moment."""
        return _span(self.rule, self.match, now)


RULES: list[Rule] = []


def atoms(text: str, now: datetime) -> list[Atom]:
    """All atoms of `text`, left to right, the longer one where two overlap. `now` is without a zone."""
    found = []
    for rule in RULES:
        for match in islice(_compiled(rule.pattern).finditer(text), rule.most):
            span = _span(rule, match, now)
            if span:
                found.append(Atom(rule, match, span))
    found.sort(key=lambda atom: (atom.start, -atom.end))
    kept: list[Atom] = []
    for atom in found:
        if not kept or atom.start >= kept[-1].end:
            kept.append(atom)
    return kept


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The rules are compiled at the first query that may name a time, not at every start."""
    return re.compile(pattern, re.IGNORECASE)


_LANGUAGES = ["en", "es", "fr", "de", "it", "pt", "nl", "ru", "uk", "pl", "tr", "sv", "da", "ja", "zh", "ko"]


def foreign(text: str, now: datetime) -> datetime | None:
    """A date with all its parts in one of sixteen languages, by dateparser; None when it sees none."""
    parse: Callable[..., datetime | None] = import_module("dateparser").parse
    settings = {"RELATIVE_BASE": now, "STRICT_PARSING": True, "PREFER_DATES_FROM": "past", "TIMEZONE": "UTC"}
    moment = parse(text, languages=_LANGUAGES, settings=settings)
    return moment and moment.replace(tzinfo=None)


def _span(rule: Rule, match: re.Match[str], now: datetime) -> Span | None:
    """What the match means; None for a date that does not exist (31 June) or that leaves the calendar."""
    try:
        return rule.read(match, now)
    except (ValueError, OverflowError):
        return None


def _rule(
    *patterns: str, lead: str = "", floating: bool = False, most: int = 50
) -> Callable[[Reader], Reader]:
    def add(read: Reader) -> Reader:
        RULES.extend(Rule(p, read, lead, floating, most) for p in patterns)
        return read

    return add


def _before(match: re.Match[str], size: int) -> str:
    return match.string[max(0, match.start() - size) : match.start()]


def _after(match: re.Match[str], size: int) -> str:
    return match.string[match.end() : match.end() + size]


# --- words ---------------------------------------------------------------------------------------------

MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
SEASONS = "spring|summer|autumn|fall|winter"
COUNT = (
    r"(?P<n>\d{1,6}|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:an?\s+)?(?P<vague>couple|few|several)(?:\s+of)?)"
)
IN = r"in|during|throughout|since|after|before|until|till|up to|prior to"
"""The prepositions that make a bare month or year a time."""

_LEFT, _RIGHT = r"(?<![\w.\-/:])", r"(?![\w/]|[.\-:]\d)"
_MONTH = f"(?P<m>{MONTHS})"
_ENGLISH_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_FOREIGN_MONTHS = (
    "jan|gen|ene|st[yu]|led|oca|f[eé][bv]|lut|şub|m[aä]r|maart|avr|abr|apr|kwi|nis|ma[ijyeg]|jui|jun|giu|cze|haz"
    "|jul|lug|lip|tem|ao[uû]|ago|aug|sie|ağu|se[pt]|wrz|eyl|o[kcut]t|ott|out|paź|eki|nov|lis|kas|d[eé][czs]|dic"
    "|gru|ara|янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек|січ|лют|бер|кві|тра|чер|лип|сер|вер|жов|лис|гру"
)
_ANY_MONTH = rf"(?P<m>{_ENGLISH_MONTH})\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?{_YEAR})?"
_OWN = r"(?:'s|’s)?"
_PERIOD = r"(?:\s+(?:morning|afternoon|evening|night)\b)?(?!\s+(?:morning|afternoon|evening|night)s)"
_UNIT = r"(?P<u>minute|hour|day|week|month|year)s?"
_MONTH_NUMBER = {name[:3]: order for order, name in enumerate(MONTHS.split("|"), 1)}
WEEKDAY_NUMBER = {name: order for order, name in enumerate(WEEKDAYS.split("|"))}


def _month_number(match: re.Match[str]) -> int:
    return _MONTH_NUMBER[match["m"][:3].lower()]


def _is_date(match: re.Match[str]) -> bool:
    """Whether "may 7" or "March 5" is a day: not in "you may 2 people", nor in "we march 5 miles"."""
    if re.search(
        r"\b(?:on|since|before|after|until|till|between|from|to|and)\s+$", _before(match, 12), re.IGNORECASE
    ):
        return True
    if match["m"][0].islower():
        return False
    follows = r"\s*(?:$|[^\w\s]|[A-Z]|(?:at|and|to|in|with|about|was|did|when|i|we)\b)"
    return bool(re.match(follows, _after(match, 9)))


# --- numeric and written dates -------------------------------------------------------------------------


@_rule(
    rf"(?<![\w.\-/]){_YEAR}(?P<sep>[-/])(?P<m>\d\d?)(?P=sep)(?P<d>\d\d?)(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?{_RIGHT}",
    rf"{_LEFT}(?P<d>\d\d?)\.(?P<m>\d\d?)\.{_YEAR}{_RIGHT}",
)
def _numeric_day(match: re.Match[str], now: datetime) -> Span | None:
    if re.search(r"\b(?:v|version|release)\s*$", _before(match, 9), re.IGNORECASE):
        return None
    return days(date(int(match["y"]), int(match["m"]), int(match["d"])))


@_rule(rf"{_LEFT}(?P<a>\d\d?)/(?P<b>\d\d?)/{_YEAR}{_RIGHT}")
def _slashed_day(match: re.Match[str], now: datetime) -> Span | None:
    """Only when one of the numbers cannot be a month: 5/7 is two days in two countries."""
    first, second = int(match["a"]), int(match["b"])
    if first > 12 or first == second:
        return days(date(int(match["y"]), second, first))
    return days(date(int(match["y"]), first, second)) if second > 12 else None


@_rule(rf"(?<![\w./\-]){_YEAR}-(?P<m>0[1-9]|1[0-2])(?![\w\-/])")
def _numeric_month(match: re.Match[str], now: datetime) -> Span | None:
    return months(int(match["y"]), int(match["m"]))


@_rule(
    rf"{_LEFT}{_DAY}(?:\s+of)?\s+{_ANY_MONTH}(?:,?\s*(?:of\s+)?{_YEAR})?{_RIGHT}",
    rf"\b{_ANY_MONTH}\s*(?:the\s+)?{_DAY}{_OF_YEAR}{_RIGHT}",
    floating=True,
)
def _written_day(match: re.Match[str], now: datetime) -> Span | None:
    month, day = _month_number(match), int(match["d"])
    if match["y"]:
        return days(date(int(match["y"]), month, day))
    if month in (3, 5) and not _is_date(match):
        return None
    return latest(lambda year: days(date(year, month, day)), now)


@_rule(
    rf"\b{_ANY_MONTH}\s*(?P<d>\d\d?)\s*(?:-|–|to)\s*(?P<e>\d\d?)(?:,?\s+{_YEAR})?{_RIGHT}",
    rf"{_LEFT}(?P<d>\d\d?)\s*(?:-|–|to)\s*(?P<e>\d\d?)\s+{_ANY_MONTH}(?:,?\s+{_YEAR})?{_RIGHT}",
    floating=True,
)
def _written_days(match: re.Match[str], now: datetime) -> Span | None:
    month, first, last = _month_number(match), int(match["d"]), int(match["e"])
    if last <= first or (not match["y"] and month in (3, 5) and not _is_date(match)):
        return None

    def make(year: int) -> Span:
        return midnight(date(year, month, first)), midnight(date(year, month, last)) + DAY

    return make(int(match["y"])) if match["y"] else latest(make, now)


@_rule(rf"\b{_ANY_MONTH},?\s+(?:of\s+)?{_YEAR}{_RIGHT}")
def _written_month(match: re.Match[str], now: datetime) -> Span | None:
    return months(int(match["y"]), _month_number(match))


@_rule(rf"\b{_MONTH}{_RIGHT}", lead=IN, floating=True)
def _bare_month(match: re.Match[str], now: datetime) -> Span | None:
    """A month; the verb may only counts as one at the end of a phrase or right after "in"."""
    if match["m"] == "may":
        ends = re.match(r"\s*(?:$|[^\w\s'’])", _after(match, 8))
        led = re.search(r"\b(?:in|during|since|until|till)\s+$", _before(match, 8), re.IGNORECASE)
        if not ends and not (led and not re.match(r"\s+(?:be|have|not)\b", _after(match, 6))):
            return None
    return latest(partial(months, month=_month_number(match)), now)


@_rule(rf"\b(?P<q>last|this|past)\s+{_MONTH}{_RIGHT}")
def _last_named_month(match: re.Match[str], now: datetime) -> Span | None:
    if match["m"] in ("may", "march"):  # "this may be": only "this May" is a month
        return None
    month = _month_number(match)
    if match["q"].lower() == "this":
        return months(now.year, month)
    return months(now.year - (month >= now.month), month)


_COUNTED = "people percent km kg mb gb kb ms usd eur dollar euro x k m more other different men women"
_NOT_PLURAL = "was is this does has as us his its always"


@_rule(rf"(?<![\w.\-/:$€£¥#]){_YEAR}(?!\w|[.\-/:,]\d|\s*[%€$£]){_OWN}", lead=IN)
def _bare_year(match: re.Match[str], now: datetime) -> Span | None:
    """A year; but "in 2000 steps" and "after 2000 people" count things."""
    noun = re.match(r"[ \t]+([a-z]+)", _after(match, 40))
    if noun and (
        noun[1] in _COUNTED.split() or (noun[1].endswith("s") and noun[1] not in _NOT_PLURAL.split())
    ):
        return None
    return years(int(match["y"]))


@_rule(rf"(?<![\w.\-/]){_YEAR}\s*[-–—]\s*(?P<z>(?:19|20)\d\d)(?![\w\-/]|\.\d)", lead=IN + "|from|between|of")
def _year_range(match: re.Match[str], now: datetime) -> Span | None:
    first, last = int(match["y"]), int(match["z"])
    return years(first, last - first + 1) if first < last else None


@_rule(
    rf"\bq(?P<q>[1-4])\s+(?:of\s+)?{_YEAR}{_RIGHT}",
    rf"(?<![\w.\-/]){_YEAR}[\s-]?q(?P<q>[1-4])\b",
)
def _quarter(match: re.Match[str], now: datetime) -> Span | None:
    return months(int(match["y"]), 3 * int(match["q"]) - 2, 3)


@_rule(rf"\b(?:the\s+)?(?P<n>first|second|third|fourth|last)\s+week\s+(?:of|in)\s+{_MONTH}{_OF_YEAR}{_RIGHT}")
def _week_of_month(match: re.Match[str], now: datetime) -> Span | None:
    make = partial(months, month=_month_number(match))
    month = make(int(match["y"])) if match["y"] else latest(make, now)
    if match["n"].lower() == "last":
        return month[1] - 7 * DAY, month[1]
    return days(month[0] + 7 * ("first", "second", "third", "fourth").index(match["n"].lower()) * DAY, 7)


@_rule(
    rf"(?<![\w.\-/])\d\d?(?:\.|º|er)?\s+(?:de\s+)?(?!{_ENGLISH_MONTH})(?:{_FOREIGN_MONTHS})[^\W\d_]{{0,9}}\.?,?\s+"
    rf"(?:de\s+)?{_YEAR}{_RIGHT}",
    most=2,
)
def _foreign_day(match: re.Match[str], now: datetime) -> Span | None:
    moment = foreign(match[0], now)
    return days(moment) if moment and moment.year == int(match["y"]) else None


# --- relative to now -----------------------------------------------------------------------------------


@_rule(rf"\b(?:the\s+)?day before yesterday\b|\byesterday\b{_OWN}{_PERIOD}|\blast (?:evening|night)\b")
def _past_day(match: re.Match[str], now: datetime) -> Span | None:
    text = match[0].lower()
    if text == "last night":
        return midnight(now) - timedelta(hours=7), midnight(now) + timedelta(hours=6)
    return days(now - (2 if "before" in text else 1) * DAY)


@_rule(r"\b(?:earlier\s+)?(?:today|this (?:morning|afternoon))\b" + _OWN)
def _today(match: re.Match[str], now: datetime) -> Span | None:
    """Only where it is asked about: "what did I do today?", not "today I think"."""
    asked = "?" in match.string or re.match(r"\s*(?:[.!,;]|$|(?:about|regarding|with)\b)", _after(match, 12))
    return days(now) if asked else None


@_rule(
    r"(?<!\bmy )(?<!\bhis )(?<!\bher )(?<!\bour )(?<!\byour )(?<!\btheir )"
    r"\b(?:(?:earlier|later|so far)\s+)?(?P<q>the last|the past|last|past|previous|this|current)\s+"
    rf"(?P<u>week|month|year|quarter|weekend)\b{_OWN}(?!\s+of\b|-)"
)
def _this_or_last(match: re.Match[str], now: datetime) -> Span | None:
    which, name = match["q"].lower(), match["u"].lower()
    if which in ("this", "current"):
        return None if name == "weekend" else unit(name, now)  # "this weekend" is mostly still to come
    if which in ("the last", "the past", "past") and name in ("week", "month", "year"):
        return rolling(name, 1, now)
    return unit(name, now, 1)


@_rule(r"\b(?:over|on|at|during) the weekend\b")
def _weekend(match: re.Match[str], now: datetime) -> Span | None:
    return unit("weekend", now, 0 if now.weekday() >= 5 else 1)


@_rule(rf"\b(?:the\s+)?(?:last|past|previous)\s+{COUNT}\s+{_UNIT}\b(?!-)")
def _last_units(match: re.Match[str], now: datetime) -> Span | None:
    return _counted(match, match["u"].lower(), now, back=True)


@_rule(rf"\b(?:(?:about|around|roughly|almost|nearly|over|some)\s+)?{COUNT}\s+{_UNIT}\s+(?:ago|back)\b")
def _units_ago(match: re.Match[str], now: datetime) -> Span | None:
    return _counted(match, match["u"].lower(), now)


@_rule(rf"\b(?P<q>last|past|this)\s+(?P<w>{WEEKDAYS})\b{_OWN}{_PERIOD}")
def _last_weekday(match: re.Match[str], now: datetime) -> Span | None:
    which = WEEKDAY_NUMBER[match["w"].lower()]
    if match["q"].lower() == "this":
        return days(week(now)[0] + which * DAY)
    return weekday(which, now, before=True)


@_rule(
    rf"\b(?P<w>{WEEKDAYS})\b{_OWN}{_PERIOD}", lead=r"on|since|after|before|until|till|up to", floating=True
)
def _bare_weekday(match: re.Match[str], now: datetime) -> Span | None:
    return weekday(WEEKDAY_NUMBER[match["w"].lower()], now)


@_rule(
    rf"\b(?P<q>last|past|this)\s+(?P<s>{SEASONS})\b{_OWN}",
    rf"\b(?P<s>{SEASONS}),?\s+(?:of\s+|in\s+)?(?:{_YEAR}|(?P<q>last|this)\s+year){_RIGHT}",
)
def _season(match: re.Match[str], now: datetime) -> Span | None:
    make = partial(season, match["s"].lower())
    year = match.groupdict().get("y")
    if year:
        return make(int(year))
    this = match["q"].lower() == "this"
    if "year" in match[0].lower():
        return make(now.year - (not this))
    if this:
        return latest(make, now)
    return next(span for span in (make(now.year - back) for back in range(3)) if span[1] <= now)


def _counted(match: re.Match[str], name: str, now: datetime, *, back: bool = False) -> Span | None:
    """N units ago, or with `back` the last N units; "a few" reaches wider than its number."""
    count, vague = count_of(match["n"], match["vague"])
    if count == 0:
        name, count = {"year": ("month", 6), "month": ("day", 15), "hour": ("minute", 30)}.get(
            name, ("", None)
        )
    if not count or count > LONGEST[name]:
        return None
    if back:
        return rolling(name, count + vague, now)
    return ago(name, count, now, slack=vague)


_VAGUE = (
    {"couple": (2, 1), "few": (3, 2), "several": (5, 3)} | dict.fromkeys("几幾数", (3, 2)) | {"好几": (5, 3)}
)


def count_of(text: str, vague: str | None) -> tuple[int | None, int]:
    """A count and how far it may be off; 0 is a half, None no count."""
    if vague:
        return _VAGUE[vague.lower()]
    if text.lower() in ("half a", "half an", "半"):
        return 0, 0
    return number(text) or None, 0


# --- Chinese -------------------------------------------------------------------------------------------

_ZH_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_ZH_COUNT = r"(?P<n>\d{1,6}|[一二两兩三四五六七八九十]{1,3}|(?P<vague>好几|几|幾|数)|半)"
_ZH_UNIT = r"(?P<u>天|日|周|週|星期|礼拜|月|年|小时|小時|钟头|分钟|分鐘)"
_ZH_UNITS = dict(zip("天日周週月年", ("day", "day", "week", "week", "month", "year"), strict=True)) | {
    "星期": "week",
    "礼拜": "week",
    "小时": "hour",
    "小時": "hour",
    "钟头": "hour",
    "分钟": "minute",
    "分鐘": "minute",
}
_ZH_DAYS = {c: order for order, c in enumerate("一二三四五六日")} | {"天": 6}
_ZH_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}


@_rule(r"大前天|(?<![目之以当眼大])前天(?!气)|昨天|昨日|昨晚|昨夜|一昨日")
def _zh_past_day(match: re.Match[str], now: datetime) -> Span | None:
    return days(now - {"大前天": 3, "前天": 2, "一昨日": 2}.get(match[0], 1) * DAY)


@_rule(r"今天(?!气)|今日|今早")
def _zh_today(match: re.Match[str], now: datetime) -> Span | None:
    asked = re.search(r"[?？吗嗎什谁誰哪几幾怎]|多少|有没有", match.string)
    return days(now) if asked or match.end() == len(match.string) else None


@_rule(
    r"(?P<q>上上|上|本|这|這|先|今)(?:一)?(?:个|個)?(?:周|週|星期|礼拜)(?P<d>[一二三四五六日天末])?(?![期围刊边年到遭])"
)
def _zh_week(match: re.Match[str], now: datetime) -> Span | None:
    this = week(now, {"上上": 2, "上": 1, "先": 1}.get(match["q"], 0))
    if match["d"] == "末":
        return days(this[0] + 5 * DAY, 2)
    return days(this[0] + _ZH_DAYS[match["d"]] * DAY) if match["d"] else this


@_rule(r"(?P<q>上上|上|本|先)(?:一)?(?:个|個)?月(?![亮光球饼票台色])份?|(?:这|這)(?:个|個)月份?|今月")
def _zh_month(match: re.Match[str], now: datetime) -> Span | None:
    return unit("month", now, {"上上": 2, "上": 1, "先": 1}.get(match["q"] or "", 0))


@_rule(
    r"(?<!过)(?:去|今|本|昨)年(?![轻纪龄代级度])(?P<half>上半年|下半年)?|(?<![\d一二两三四五六七八九十几半])前年"
)
def _zh_year(match: re.Match[str], now: datetime) -> Span | None:
    return _zh_half(now.year - {"去": 1, "昨": 1, "前": 2}.get(match[0][0], 0), match["half"])


@_rule(
    rf"(?<!\d)(?P<y>(?:19|20)\d\d|[一二][〇零一二三四五六七八九]{{3}})年(?![级代龄])(?P<half>上半年|下半年)?"
    rf"(?:(?P<m>{_ZH_NUMBER})月份?(?:(?P<d>{_ZH_NUMBER})[日号號])?)?"
)
def _zh_date(match: re.Match[str], now: datetime) -> Span | None:
    year = number(match["y"])
    if not year or not 1900 <= year <= 2100:
        return None
    if match["m"]:
        return _zh_day(year, number(match["m"]), match["d"])
    return _zh_half(year, match["half"])


@_rule(
    rf"(?<![\d一二三四五六七八九十个])(?P<m>\d{{1,2}}|十[一二]?|[一二三四五六七八九])月(?![天球亮光饼])份?"
    rf"(?:(?P<d>{_ZH_NUMBER})[日号號])?",
    floating=True,
)
def _zh_month_day(match: re.Match[str], now: datetime) -> Span | None:
    month = number(match["m"])
    return latest(lambda year: _zh_day(year, month, match["d"]), now)


@_rule(r"(?<=年)的?(?P<s>[春夏秋冬])(?:天|季)", floating=True)
def _zh_season(match: re.Match[str], now: datetime) -> Span | None:
    return latest(partial(season, _ZH_SEASONS[match["s"]]), now)


@_rule(rf"(?<![第\d]){_ZH_COUNT}(?:个|個)?多?{_ZH_UNIT}(?:之|以)?前(?![后後])")
def _zh_ago(match: re.Match[str], now: datetime) -> Span | None:
    return _counted(match, _ZH_UNITS[match["u"]], now)


@_rule(rf"(?:最近|近|过去|過去|这|這){_ZH_COUNT}(?:个|個)?{_ZH_UNIT}(?:以?来|里|内|間)?(?!前)")
def _zh_rolling(match: re.Match[str], now: datetime) -> Span | None:
    if re.match("[这這][一\\d]?[日天年月]", match[0]):  # 这一天 is some day, not the last one
        return None
    return _counted(match, _ZH_UNITS[match["u"]], now, back=True)


def _zh_half(year: int, half: str | None) -> Span:
    if not half:
        return years(year)
    return months(year, 1 if half[0] == "上" else 7, 6)


def _zh_day(year: int, month: int | None, day: str | None) -> Span:
    if not month or not 1 <= month <= 12:
        raise ValueError("no such month")
    return days(date(year, month, number(day) or 0)) if day else months(year, month)
