"""From what somebody said to a sentence of an article: third person, dates instead of "yesterday"; else a quotation.

A sentence is restated only where the rules cover all of it; where they do not, it is quoted as it was said. Either way
its words are the speaker's own: names take the place of "I", dates that of words such as "last week", nothing is added.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemic.synthesis.words import (
    ADVERBS,
    AMBIGUOUS,
    BEFORE_NOUN,
    COMMON_VERBS,
    ELLIPSES,
    GENERIC,
    NOT_BEFORE_NOUN,
    PAST,
    PLAIN_VERBS,
)
from mnemic.text.when import find

LONGEST = 420
"""Characters of a sentence; a longer one is cut at a word, as a quotation."""
_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9\u00c0-\u024f])|(?<=[。！？])|\s*\n+\s*")
_LEAD = re.compile(
    r"(?:(?:yeah|yep|yup|yes|no|nope|nah|well|oh|ah|wow|so|hey|hi|hello|haha|lol|okay|ok|anyway|thx|totally"
    r"|thanks(?! for| to| again)|thank you(?! for| so)"
    r"|absolutely|definitely|exactly|of course|for sure|sure|sure thing|btw|by the way|actually|honestly|and|but|also|plus"
    r"|same here"
    r"|no worries|agreed|totally agree|i agree|right|cool|nice|great|awesome|good to (?:see|hear from) you|sounds good"
    r"|to be honest|you know|you know what|guess what(?=[\s]*[!?,.])|i mean|like(?=,)|as for me|(?:for|to) me(?=,)"
    r"|speaking of (?:which|[\w' ]{2,40}(?=,))"
    r"|i (?:do|did|am|have|will|can|was)(?= ?[-\u2013\u2014,] ?)"
    r"|however|though|for example)\b[\s,!.\u2013\u2014-]*)+",
    re.IGNORECASE,
)
_YOU = re.compile(r"\b(?:you|your|yours|yourself|u|ur|ya|y'all)\b|你|您", re.IGNORECASE)
_WE = re.compile(r"\b(?:we|us|our|ours|ourselves|we're|we've|we'll|we'd|let's)\b", re.IGNORECASE)
_FIRST = re.compile(r"\b(?:I|i)(?:'(?:m|ve|ll|d))?\b(?!\.)|\b(?:[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b(?!-)")
_OPENING = re.compile(
    r"(?:(?:yesterday|today|tomorrow|tonight|next \w+|recently|lately|currently|since then|last \w+|this \w+|two \w+ ago"
    r"|a \w+ ago|a few \w+ ago|unfortunately"
    r"|luckily|fortunately|last but not least|growing up|these days|right now|at first|nowadays|as a kid|now|then|after that)"
    r"[,]?\s+|(?!if\b|when\b|because\b|since\b|i\b|my\b|me\b|we\b)(?:[^\W\d]['\w-]*\s+){1,6}?[^\W\d]['\w-]*,\s+(?=i\b))?",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?:the|an?|this|that|it|it's|that's|my|these|those|one|some|being|having|seeing|when|whenever|if|since|after|before|while|as"
    r"|once|because|even|every\w*|there(?:'s)?|one of|most of|all of|people|nothing|something|knowing|playing|working|watching"
    r"|reading|writing|painting|running|hiking|talking|spending|doing|getting|taking|creating|helping|in|on|at|for|with|during|by)\b"
    r"|[A-Za-z]+'s (?:\w+ed|been|a|the|so|really|my|always|also)\b"
    r"|[\w'\" -]{2,40}? (?:is|are|was|were|has|have|made|makes|gave|gives|helps|helped|means|feels|keeps)\b",
    re.IGNORECASE,
)
"""How a sentence begins that has a subject of its own."""
_NAMED = re.compile(
    r"([A-Z][\w-]+(?: [A-Z][\w-]+)*)(?: (?:also|just|already|finally|recently|now|never|always))? ?((?<! )'s|(?<= )[a-z]+)\b"
)
_INNER = re.compile(r"[“\"]([^“”\"]*)[”\"]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_MARKUP = re.compile(r"[`#*|<>\[\]{}]|https?://")
_DANGLING = re.compile(r"\s+([,.!?;:])")
_EMOTES = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_BRACKETED = re.compile(r"\s*\[shares a photo: [^\]]*\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence for an article, without its citation."""

    text: str
    quoted: bool


def sentences(text: str) -> list[str]:
    """The sentences of a message as they were said, on one line each."""
    plain = _BRACKETED.sub("", text.replace("’", "'").replace("‘", "'"))
    found = []
    for piece in _BREAK.split(plain):
        line = " ".join(_EMOTES.sub(" ", piece or "").split()).lstrip("-*#> ").strip()
        if line:
            found.append(line)
    return found


def told(sentence: str, name: str, at: datetime, partners: Collection[str] = ()) -> Told:
    """A sentence in the third person, or quoted where that would be a guess."""
    plain = bare(sentence, partners)
    if _CJK.search(plain):
        return Told(f"{name}：「{_clipped(plain).strip('「」')}」", True)
    if not _YOU.search(plain) and not _WE.search(plain) and not _MARKUP.search(plain) and len(plain) <= LONGEST:
        restated = _restated(plain, name)
        if restated is not None:
            return Told(_ended(_dated(_written(restated), at)), False)
    quote = _INNER.sub("‘\\1’", _clipped(plain))
    return Told(f"{name} said: “{_ended(quote)}”", True)


_SPOKEN = (
    (re.compile(r"(?<!\w)'(?:cause|cuz)\b", re.IGNORECASE), "because"),
    (re.compile(r"\bgonna\b"), "going to"),
    (re.compile(r"\bwanna\b"), "want to"),
    (re.compile(r"\b(they(?:'ve)?|you|we|who) (?:have )?gotta\b"), r"\1 have to"),
    (re.compile(r"(?:'s| has) gotta\b"), " has to"),
    (re.compile(r"\bgotta\b"), "has to"),
    (re.compile(r"\bkinda\b"), "kind of"),
    (re.compile(r",? speaking of(?=[.!]*$)"), ""),
)
"""What is said so, and how it is written."""


def _written(text: str) -> str:
    for pattern, shown in _SPOKEN:
        text = pattern.sub(shown, text)
    return text


def bare(sentence: str, partners: Collection[str] = ()) -> str:
    """A sentence without what only leads into it, and without the name of whom it is said to."""
    plain = sentence.strip()
    names = [re.escape(part) for partner in partners for part in _callings(partner)]
    if names:
        called = "(?:" + "|".join(sorted(names, key=len, reverse=True)) + ")"
        plain = re.sub(rf"(?:,\s*|^){called}\s*(?=[,.!?–—-]|$)[,!]?\s*", _joint, plain, flags=re.IGNORECASE)
    lead = _LEAD.match(plain)
    if lead and len(plain) - lead.end() > 8:
        plain = plain[lead.end() :]
    lead = re.match(rf"{called}[,!.\s]+(?=\w)", plain, re.IGNORECASE) if names else None
    plain = plain[lead.end() :] if lead else plain
    plain = plain.lstrip(" ,!.–—-").strip()
    return plain[:1].upper() + plain[1:]


def _joint(match: re.Match[str]) -> str:
    return "" if match.start() == 0 or match.end() == len(match.string) else match[0][-1:] if match[0][-1:] == " " else ""


def _callings(name: str) -> list[str]:
    """A name and how it is shortened when somebody is called."""
    first = (name.split() or [name])[0]
    return [name, first, *{first[:size] for size in (3, 4) if len(first) > size}]


def _restated(plain: str, name: str) -> str | None:
    if not plain:
        return None
    word = plain.split(maxsplit=1)[0]
    first, rest = word.lower().strip(","), plain[len(word) :]
    if first in ELLIPSES and _lacks_subject(first, rest):
        told = f"{name} {ELLIPSES[first]}"
        return _third(rest, name, told, present=False)
    if first == "just" and (match := re.match(r"\s+(\w+)", rest)) and (_is_past(match[1].lower())):
        return _third(rest, name, f"{name} just", present=False)
    opening = _OPENING.match(plain)
    start = opening.end() if opening else 0
    if re.match(r"(?:I|i)(?:'\w+)?\s", plain[start:]):
        subject = plain[:start]
        return _subject(plain[start:], name, subject)
    if not _FIRST.search(plain):
        return plain if names_itself(plain) else None
    return _third(plain, name, "", present=False, named=False) if _WHOLE.match(plain) else None


def _lacks_subject(first: str, rest: str) -> bool:
    """Whether a sentence that begins with this verb left out its subject, rather than having the verb for one."""
    if re.match(r"\s+(?:(?:I|i)|be)\b", rest):
        return False
    if first == "been":
        return re.match(r"\s+(?:\w+(?:ing|ed)|busy|to|there|on)\b", rest) is not None
    return not first.endswith("ing") or re.match(r"[^,.;–]{0,60}?\b(?:is|was|are|has|helps|makes|gives|means)\b", rest) is None


def names_itself(plain: str) -> bool:
    """Whether a sentence tells something of a thing with a name, so that it can stand as it was said."""
    match = _NAMED.match(plain)
    if match is None:
        return False
    first, *others = match[1].lower().split()
    if first in GENERIC | BEFORE_NOUN | NOT_BEFORE_NOUN or (others and first in COMMON_VERBS | PLAIN_VERBS | {"bet"}):
        return False
    verb, rest = match[2].lower(), plain[match.end() :]
    if match[1].lower().endswith(("ing", "ed")) or rest.startswith((" -", " \u2013", " \u2014")):
        return False
    return _is_past(verb) or verb in ("is", "has", "'s") or (verb.endswith("s") and len(verb) > 3 and _is_verb(verb, rest))


def _is_verb(word: str, rest: str) -> bool:
    """Whether a word on -s is rather a verb than the plural of a noun, by itself or by what follows."""
    stems = {word[:-1], word[:-2], word[:-3] + "y"}
    return bool(stems & (COMMON_VERBS | PLAIN_VERBS)) or _OBJECT.match(rest) is not None


_OBJECT = re.compile(
    r" (?:the|an?|his|her|their|its|it|him|them|to|so|every\w*|all|people|[A-Z]\w+|\w+ing|much|many|really|well|better)\b"
)


def _subject(text: str, name: str, lead: str) -> str | None:
    """`I …` with the verb that goes with a name."""
    match = re.match(r"(?:I|i)('m|'ve|'ll|'d)?\s+", text)
    if match is None:
        return None
    rest, short, lead = text[match.end() :], match[1], _upper(_they(lead))
    if short == "'d":
        verb = "had" if re.match(r"(?:been|never|always|had|\w+ed)\b", rest) else "would"
        return _third(" " + rest, name, f"{lead}{name} {verb}", present=False)
    if short:
        verb = {"'m": "is", "'ve": "has", "'ll": "will"}[short]
        return _third(" " + rest, name, f"{lead}{name} {verb}", present=verb == "is")
    skipped = ""
    while (word := re.match(r"(\w+)(,?\s+)", rest)) and word[1].lower() in ADVERBS:
        skipped += word[0]
        rest = rest[word.end() :]
    word = re.match(r"([A-Za-z]+(?:'t)?)", rest)
    if word is None:
        return None
    shown = _conjugated(word[1])
    if shown is None:
        return None
    return _third(rest[word.end() :], name, f"{lead}{name} {skipped}{shown}", present=shown != word[1])


def _conjugated(verb: str) -> str | None:
    lower = verb.lower()
    fixed = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "was": "was", "wasn't": "wasn't"}
    if lower in fixed:
        return fixed[lower]
    if _is_past(lower) or lower.endswith("n't"):
        return lower
    if (
        lower in AMBIGUOUS
        or lower in ADVERBS
        or lower.endswith(("ing", "ly"))
        or len(lower) < 2
        or lower in ("gotta", "wanna", "gonna")
    ):
        return None
    if lower.endswith(("s", "sh", "ch", "x", "z", "o")):
        return lower + "es"
    return lower[:-1] + "ies" if lower.endswith("y") and lower[-2] not in "aeiou" else lower + "s"


def _is_past(word: str) -> bool:
    return word in PAST or (word.endswith("ed") and word not in ("need", "feed", "speed", "succeed", "proceed", "exceed"))


_THIRD = {
    "i": "they", "i'm": "they're", "i've": "they've", "i'll": "they'll", "i'd": "they'd", "me": "them", "my": "their",
    "mine": "theirs", "myself": "themselves",
}  # fmt: skip


def _third(rest: str, name: str, told: str, *, present: bool, named: bool = True) -> str | None:
    """The rest of a sentence with "they" for "I"; the first mention bears the name where it has not been told yet."""
    parts: list[str] = [told]
    done = 0
    for match in _FIRST.finditer(rest):
        word = match[0].lower()
        shown = _THIRD[word]
        if not named:
            if word in ("my", "me"):
                shown, named = (f"{name}'s" if word == "my" else name), True
            elif word == "mine" or word == "myself":
                return None
            else:
                said = _subject(rest[match.start() :], name, "")
                return None if said is None else _upper("".join([*parts, rest[done : match.start()], said]))
        before = rest[: match.start()].rstrip().lower()
        if word == "i" and before.endswith((" and", ",")) and re.search(r"\bmy [\w\s]+ and$", before):
            return None
        parts += [rest[done : match.start()], shown]
        done = match.end()
    text = _agreeing("".join([*parts, rest[done:]]))
    if present and " to " not in text:
        text = re.sub(r"\b(and|but|or) ([a-z]+)\b", _also_conjugated, text)
    return _upper(text)


def _they(text: str) -> str:
    """A part of a sentence with "they" for "I"."""
    return _agreeing(_FIRST.sub(lambda match: _THIRD[match[0].lower()], text))


def _agreeing(text: str) -> str:
    """The text with the verbs that go with "they"."""
    text = re.sub(r"\bthey am\b", "they are", re.sub(r"\bthey was\b", "they were", text))
    return re.sub(r"\bthey wasn't\b", "they weren't", text)


_AFTER_VERB = r"to|up|out|as|the|an?|my|their|his|her|it|that|them|how|what|in|on|at|about|with|for|some|new|\w+ing"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _also_conjugated(match: re.Match[str]) -> str:
    if re.search(r"\b(?:who|that|which)\b[^,.;]*$", match.string[: match.start()]):
        return match[0]  # it goes with the relative clause before it
    follows = re.match(rf" (?:{_AFTER_VERB})\b", match.string[match.end() :])
    known = match[2] in PLAIN_VERBS or (match[2] in COMMON_VERBS and follows)
    verb = _conjugated(match[2]) if known else None
    return f"{match[1]} {verb}" if verb else match[0]


def day(moment: datetime) -> str:
    """A day as it is written in articles: 8 May 2023."""
    return f"{moment.day} {moment:%B %Y}"


_AHEAD = re.compile(
    r"\b(?:today|tonight|tomorrow|(?:next|this) (?:week|weekend|month|year|spring|summer|autumn|fall))\b(?!')", re.IGNORECASE
)


_TO_COME = re.compile(
    r"\b(?:will|going to|gonna|plans?|planning|hopes?|hoping|wants?|next|soon|looking forward)\b|'ll\b", re.IGNORECASE
)
_DAYS = {
    "mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday", "thurs": "Thursday",
    "fri": "Friday", "sat": "Saturday", "sun": "Sunday",
}  # fmt: skip
_SHORT_DAY = re.compile(r"\b((?:last|this|next|on) )(mon|tues?|wed|thu(?:rs)?|fri|sat|sun)\b\.?(?!\w)", re.IGNORECASE)


def _dated(text: str, at: datetime) -> str:
    """The text with dates for words that mean one only on the day they were said."""
    text = _SHORT_DAY.sub(lambda match: match[1] + _DAYS[match[2].lower()], text)
    found = find(text, at)
    if found and _TO_COME.search(text) and not re.search(r"\b(?:ago|last|yesterday|past)\b", found.text, re.IGNORECASE):
        found = None  # the reader of times looks back: what is still to come keeps its words
    if found and found.since and found.until and not re.search(r"\d{4}", found.text):
        said = _span(found.since, found.until)
        if said and text[found.end : found.end + 2] != "'s":
            if not text[: found.start].strip() and re.match(r"\s+(?:was|is|has|had|were|will)\b", text[found.end :]):
                said = said.removeprefix("in ").removeprefix("on ")
            text = text[: found.start] + said + text[found.end :]
    text = _AHEAD.sub(lambda match: _ahead(match[0].lower(), at), text)
    return text[:1].upper() + text[1:]


def _ahead(word: str, at: datetime) -> str:
    if word in ("today", "tonight"):
        return f"on {day(at)}"
    if word == "tomorrow":
        return f"on {day(at + timedelta(days=1))}"
    which, unit = word.split()
    later = which == "next"
    if unit in ("week", "weekend"):
        begin = at - timedelta(days=at.weekday()) + timedelta(days=7 * later + 5 * (unit == "weekend"))
        return f"in the week of {day(begin)}" if unit == "week" else f"on the weekend of {day(begin)}"
    if unit == "month":
        month = at.month + later
        moment = at.replace(day=1, year=at.year + (month > 12), month=(month - 1) % 12 + 1)
        return f"in {moment:%B %Y}"
    return f"in {at.year + later}" if unit == "year" else f"in the {unit} of {at.year + later}"


def _span(since: datetime, until: datetime) -> str:
    """A stretch of time in words; empty where there is no short way to say it."""
    length = (until - since).days
    if length <= 1:
        return f"on {day(since)}"
    if length == 2 and since.weekday() == 5:
        return f"on the weekend of {day(since)}"
    if length == 7:
        return f"in the week of {day(since)}"
    if since.day == 1 and 28 <= length <= 31:
        return f"in {since:%B %Y}"
    if since.day == 1 and since.month == 1 and 365 <= length <= 366:
        return f"in {since.year}"
    return ""


def _ended(text: str) -> str:
    text = re.sub(r",? (?:by the way|btw|though|lol|haha|you know|as well, by the way)(?=[.!]*$)", "", text, flags=re.IGNORECASE)
    text = _DANGLING.sub(r"\1", text).rstrip(" ,;:-–—")
    text = re.sub(r"[!.]{2,}$", ".", text)
    text = text[:-1] + "." if text.endswith("!") else text
    return text if text.endswith((".", "?", "…", "。", "！", "？", "”", '"')) else text + "."


def _clipped(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    cut = text.rfind(" ", LONGEST // 2, LONGEST - 1)
    return text[: cut if cut > 0 else LONGEST - 1] + "…"
