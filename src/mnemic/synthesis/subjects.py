"""What a chunk is about, by rules: the people who speak, the things with names, and the things it keeps coming back to.

A noun is told by its company (after "a", "my", "of", "playing"), not by a dictionary; what is as often a verb is none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mnemic.synthesis.voice import names_itself, sentences
from mnemic.synthesis.words import BEFORE_NOUN, GENERIC, NOT_BEFORE_NOUN
from mnemic.text.tokens import terms

MOST = 8
"""Subjects of a turn in a chunk, people not counted: a long text names more than anybody is told of it."""
_ASIDE = re.compile(r"\[[^\]\n]*\]")
"""What a program added to a message, such as the description of a picture."""
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f][\w\u00c0-\u024f&+'-]*|\d+|[^\w\s]")
_NAME = re.compile(r"[A-Z][\w&+'-]*(?:(?:\s+(?:of|the|de))*\s+[A-Z0-9][\w&+'-]*)*")
_QUALIFIES = re.compile(r"(?:al|ous|ive|ful|less|ic)$")
_QUOTED = re.compile(r'["“]([A-Z][^"”.!?]{2,50})["”]')
_TITLE = re.compile(r"[「《『]([^「」《》『』]{2,30})[」》』]")


@dataclass(frozen=True, slots=True)
class Mention:
    """A subject in a chunk."""

    key: str
    """Under which it is the same in every chunk: its stems."""
    surface: str
    kind: str
    """`thing` has a name of its own; `topic` is a common noun."""
    turns: int
    """In how many turns of the chunk it stands."""


def key_of(surface: str) -> str:
    """What makes two ways of writing a name the same: stems, without punctuation."""
    plain = re.sub(r"^(?:the|an?)\s+(?=\S)", "", surface.replace("’", "'"), flags=re.IGNORECASE)
    plain = re.sub(r"\b([A-Z]{2,})s\b", r"\1", plain)
    return " ".join(terms(plain.replace("'s", "").replace("-", " ")))


def mentions(turns: Sequence[str], people: Collection[str]) -> list[Mention]:
    """The subjects of a chunk, the most mentioned first. `people` are names that are no things."""
    called = {part.lower() for name in people for word in name.split() for part in (word, word[:3], word[:4])}
    seen: dict[str, set[int]] = defaultdict(set)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    proper: set[str] = set()
    others: Counter[str] = Counter()
    for place, turn in enumerate(_ASIDE.sub(" ", turn) for turn in turns):
        others.update(key_of(word) for word in re.findall(r"[a-z]{4,}", turn.lower()))
        for surface, named in [*_names(turn, called), *((noun, False) for noun in _nouns(turn, called))]:
            key = key_of(surface)
            if key:
                seen[key].add(place)
                forms[key][surface] += 1
                others[key] -= 1
                if named:
                    proper.add(key)
    whole = [key.split() for key in seen if " " in key and (len(seen[key]) > 1 or key in proper)]
    inside = {parts[-1] for parts in whole} | {part for parts in whole for part in parts[:-1] if _QUALIFIES.search(part)}
    found = [
        Mention(key, forms[key].most_common(1)[0][0], "thing" if key in proper else "topic", len(places))
        for key, places in seen.items()
        if not (" " in key and key not in proper and len(places) < 2)
        and not (key in inside and key not in proper)
        and (key in proper or others[key] <= 0.5 * sum(forms[key].values()) + 0.5)
    ]
    return sorted(found, key=lambda one: (-one.turns, one.kind, one.key))[: MOST * len(turns)]


def heads(key: str, sentences: Iterable[str]) -> tuple[int, int]:
    """How often a common noun stands at the end of its phrase, after a word that a noun follows; and how often it stands at all.

    "the harbour at dawn" counts, "a cute dog" and "we walk" do not.
    """
    last = key.split()[-1]
    good = total = 0
    for sentence in sentences:
        words = _WORD.findall(sentence.replace("’", "'"))
        for place, word in enumerate(words):
            if key_of(word) != last:
                continue
            total += 1
            before = words[place - 1].lower() if place else ""
            after = words[place + 1].lower() if place + 1 < len(words) else "."
            led = before in BEFORE_NOUN or (place > 1 and before.isalpha() and words[place - 2].lower() in BEFORE_NOUN)
            good += after in _AFTER_HEAD and (led or len(key.split()) > 1 or word.lower().endswith("ing"))
    return good, total


_AFTER_HEAD = {*".,!?;:-–—)"} | set(
    re.findall(
        r"\w+",
        "and or but of in on at to for from with by is was are were has have had that which who because so as about into after"
        " before during when since while where than too also again",
    )
)


def _names(turn: str, called: Collection[str]) -> Iterable[tuple[str, bool]]:
    for match in (*_QUOTED.finditer(turn), *_TITLE.finditer(turn)):
        yield match[1].strip(" ,"), True
    for sentence in sentences(turn):
        for match in _NAME.finditer(sentence):
            name = match[0].strip(" .,'-").removesuffix("'s")
            words = [word for word in name.split() if word.lower() not in called]
            alone = match.start() == 0 and len(words) < 2 and not _odd(name)
            if len(words) < len(name.split()) or (alone and not names_itself(sentence)):
                continue
            if match.start() == 0 and words and (words[0].lower() in GENERIC | BEFORE_NOUN | NOT_BEFORE_NOUN):
                words = words[1:]
            name = " ".join(words)
            if words and words[-1] == "I":
                continue
            if len(name) > 2 and name.lower() not in GENERIC and not re.fullmatch(r"I(?:'\w+)?|[IVX\d]+", name):
                yield name, True


def _odd(name: str) -> bool:
    """Whether a word is a name wherever it stands: LGBTQ, NumPy, B-12."""
    return sum(char.isupper() for char in name) > 1 or any(char.isdigit() for char in name)


def _nouns(turn: str, called: Collection[str]) -> Iterable[str]:
    words = [word for word in _WORD.findall(turn.replace("’", "'"))]
    lower = [word.lower().removesuffix("'s") for word in words]
    nouns = [False] * len(words)
    for place, word in enumerate(lower):
        if len(word) < 4 or word in GENERIC or word in called or not word.isalpha() or word.endswith(("ly", "est")):
            continue
        if len(word) > 5 and word.endswith("ed"):
            continue
        before = lower[place - 1] if place else ""
        after = lower[place + 1] if place + 1 < len(lower) else ""
        if before in NOT_BEFORE_NOUN or (words[place][0].isupper() and place and before not in ".!?"):
            continue
        nouns[place] = (
            before in BEFORE_NOUN
            or (place > 0 and nouns[place - 1])
            or (place > 1 and lower[place - 2] in BEFORE_NOUN and before.isalpha())
            or (word.endswith("s") and after in (".", ",", "!", "?", "and"))
        ) and after not in ("my", "the", "a", "his", "her", "their", "it", "me", "him", "them")
    for place, is_noun in enumerate(nouns):
        if is_noun:
            yield lower[place]
            if place and nouns[place - 1]:
                yield f"{lower[place - 1]} {lower[place]}"
