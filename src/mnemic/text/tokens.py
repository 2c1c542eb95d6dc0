"""Turns text into index terms, the same way for what is stored and for what is asked.

Full-text search finds nothing when the two sides cut words differently, so there is one cutter. Latin
words are folded and stemmed; scripts written without spaces (Chinese, Japanese, Korean, and Thai, Lao,
Khmer, Burmese) become overlapping pairs, because a dictionary would be a dependency and would disagree
with itself between versions. The stored text is never changed, only the terms are derived from it. Any
change of the terms needs a new `RULES` string, and the stemmer's version stands beside it, so that a store
knows when its index must be rebuilt.

The token estimates stand here as well: three seeds count CJK characters in three ways, and each of their
budgets depends on its own way.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Protocol

from mnemic.errors import BadInput
from mnemic.text.normal import nfkc

RULES = "mnemic-terms-1"
"""Name and version of the rules below."""

MAX_TERM = 64
"""Longest term in characters; longer words are cut, the same on both sides."""

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u309f\u30a1-\u30fa\u30fc-\u312f"
    "\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Burmese, Khmer: no spaces either, but a letter and its marks are one unit.
_SEA = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f"
    "\u1780-\u17d3\u17d7\u17dc\u17dd"
)
_SEA_MARKS = (
    "\u0e31\u0e33-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u17b4-\u17d3\u17dd"
)
# Marks that belong to the word they stand in, which \w leaves out.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u09e2\u09e3\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83"
    "\u0abc-\u0acd\u0ae2\u0ae3\u0b01-\u0b03\u0b3c-\u0b57\u0b62\u0b63\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04"
    "\u0c3c-\u0c56\u0c62\u0c63\u0c81-\u0c83\u0cbc-\u0cd6\u0ce2\u0ce3\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d62\u0d63"
    "\u0d81-\u0d83\u0dca-\u0ddf\u0df2\u0df3\u135d-\u135f\u1dc0-\u1dff\u20d0-\u20f0"
)

_LETTER = f"[^\\W0-9a-z_{_CJK}{_SEA}]"
_LATIN_WORD = "[a-z0-9]+(?:_+[a-z0-9]+)*"  # outer underscores are Markdown emphasis
_ASCII_WORD = re.compile(_LATIN_WORD)
_ANY_WORD = f"{_LATIN_WORD}|[{_CJK}]+|[{_SEA}]+|{_LETTER}(?:{_LETTER}|[{_MARKS}])*"
_APOSTROPHE = re.compile("(?<=[a-z0-9_])'(?:s(?![a-z0-9_])|(?=[a-z0-9_]))")
_DIGIT = re.compile("[0-9]")
_INVISIBLE = (0xAD, *range(0x200B, 0x2010), 0x2060, *range(0xFE00, 0xFE10), 0xFEFF)
_NEEDS_FOLD = re.compile("[\u00ad\u00c0-\u036f\u1e00-\u1eff\u200b-\u200f\u2019\u2060\ufe00-\ufe0f\ufeff]")
_LATIN_MARK = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_STROKED = "øo łl đd ħh ıi ðd þth ŧt ŋn ĸk æae œoe"  # letters that Unicode does not decompose
_CJK_CHAR = re.compile(f"[{_CJK}]")
_SEA_CHAR = re.compile(f"[{_SEA}]")
_SEA_UNIT = re.compile(f"[{_SEA}][{_SEA_MARKS}]{{0,8}}")

_ESTIMATE_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]+")


class _Stems(Protocol):
    def stemWords(self, words: list[str]) -> list[str]: ...


def terms(text: str) -> list[str]:
    """The index terms of `text`, in order, stop words included (phrases need them).

    Latin words are stemmed; a run of CJK gives its pairs and then its last character, so that a search for
    one character can be a prefix search over terms that begin with it. Time and output are linear in the
    length of the text, whatever it contains.
    """
    return _terms(text, trailing=True)


def phrase_terms(text: str) -> list[str]:
    """The terms of `text` as they stand next to each other in an index: pairs without the last character."""
    return _terms(text, trailing=False)


def query_terms(text: str) -> list[str]:
    """The distinct terms to search for, in order of appearance, without stop words.

    When everything is a stop word, everything is kept: "who are you" must still find itself.
    """
    words = _words(text)
    kept = _kept(words)
    return list(dict.fromkeys(_expand(kept or words, trailing=False, stops=bool(kept))))


@cache
def tokenizer() -> str:
    """The rules and the stemmer that make the terms; stored beside what was built with them.

    Of the stemmer's version the first two numbers: Snowball changes its stems in them, not in patches.
    """
    version = str(import_module("Stemmer").version())
    return f"{RULES}.snowball-{'.'.join(version.split('.')[:2])}"


def is_prefix(term: str) -> bool:
    """Whether a query term is one character of a script without spaces, to be searched as a prefix."""
    if _CJK_CHAR.match(term):
        return len(term) == 1
    return bool(_SEA_UNIT.fullmatch(term))


def estimate(text: str, profile: str = "cjk1") -> int:
    """About how many tokens a language model sees in `text`, always rounded up.

    Profiles: `bytes4` is UTF-8 bytes / 4 (vault budgets), `cjk06` is 0.6 per CJK character and 1/4 per
    other one (experience recall), `cjk1` is 1 per CJK character and 1/4 per other one (window budgets).
    CJK is U+3400-4DBF, U+4E00-9FFF, U+F900-FAFF, U+3040-30FF and U+AC00-D7AF. Whole numbers throughout.
    """
    if profile == "bytes4":
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        return -(-size // 4)
    wide = 0 if text.isascii() else sum(map(len, _ESTIMATE_CJK.findall(text)))
    narrow = len(text) - wide
    if profile == "cjk06":
        return -(-(12 * wide + 5 * narrow) // 20)
    if profile == "cjk1":
        return wide - (-narrow // 4)
    raise BadInput(f"unknown token profile {profile!r}: use 'bytes4', 'cjk06' or 'cjk1'")


def _terms(text: str, *, trailing: bool) -> list[str]:
    return _expand(_words(text), trailing=trailing, stops=False)


def _words(text: str) -> list[str]:
    """The folded words and runs of `text`, not yet stemmed or paired."""
    if text.isascii():
        folded, pattern = text.lower(), _ASCII_WORD
    else:
        folded, pattern = _fold(text), _any_word()
    if "'" in folded:
        folded = _APOSTROPHE.sub("", folded)
    return pattern.findall(folded)


@cache
def _any_word() -> re.Pattern[str]:
    return re.compile(_ANY_WORD)


def _fold(text: str) -> str:
    folded = nfkc(text).casefold()
    if not _NEEDS_FOLD.search(folded):
        return folded
    return _LATIN_MARK.sub("", folded.translate(_latin()))


@cache
def _latin() -> dict[int, str | None]:
    """Latin letters to their bare form, typographic apostrophes to ASCII, invisible characters to nothing."""
    table: dict[int, str | None] = dict.fromkeys(_INVISIBLE)
    table |= {0x2019: "'", 0x02BC: "'"}
    table |= {ord(pair[0]): pair[1:] for pair in _STROKED.split()}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))
        if "a" <= base[0] <= "z":
            table[code] = "".join(c for c in base if not unicodedata.combining(c))
    return table


def _expand(words: list[str], *, trailing: bool, stops: bool) -> list[str]:
    """Stems and pairs of folded words; `stops` leaves out the pairs that only carry grammar."""
    latin = [w[:MAX_TERM] for w in words if w < "\x80"]
    stems = iter(_stem(latin))
    if len(latin) == len(words):
        return list(stems)
    out: list[str] = []
    for word in words:
        if word < "\x80":
            out.append(next(stems))
        elif _CJK_CHAR.match(word):
            pairs = _pairs(word, trailing)
            out += [p for p in pairs if not _is_stop_pair(p)] if stops else pairs
        elif _SEA_CHAR.match(word):
            out += _pairs(_SEA_UNIT.findall(word), trailing)
        else:
            out.append(word[:MAX_TERM])
    return out


def _pairs(run: str | list[str], trailing: bool) -> list[str]:
    pairs = [a + b for a, b in pairwise(run)]
    if trailing or not pairs:
        pairs.append(run[-1])
    return pairs


def _stem(words: list[str]) -> list[str]:
    stems = _stemmer().stemWords(words)
    if _DIGIT.search("".join(words)):
        return [w if _DIGIT.search(w) else s for w, s in zip(words, stems, strict=True)]
    return stems


_LOCAL = threading.local()


def _stemmer() -> _Stems:
    """This thread's stemmer: PyStemmer's objects must not be shared between threads."""
    stemmer: _Stems | None = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        stemmer = _LOCAL.stemmer = import_module("Stemmer").Stemmer("english")
    return stemmer


# --- stop words -----------------------------------------------------------------------------------------
# Words a question is built from. Names and months that look like grammar (will, may, mark, us) are not here.

_STOP_LIST = """
a about after again all also am an and any are arent as at be because been before being both but by can cant
cannot could couldnt did didnt do does doesnt doing dont each else for from further had hadnt has hasnt have
havent having he hed her here hers herself him himself his how however i id if ill im in into is isnt it
itself ive just lets me more most my myself no nor not of off on once only or other our ours ourselves out
over own per please shall she should shouldnt so some such tell than that the their theirs them themselves
then there these they theyd theyll theyre theyve this those through to too under until up upon very was wasnt
we wed weve were werent what whatever when where whether which while who whod whom whose why with without
wont would wouldnt you youd youll your youre yours yourself yourselves youve
"""
_STOP_PAIR_LIST = """
什么 怎么 怎样 哪里 哪个 哪些 哪儿 为什 为何 多少 是什 什麼 怎麼 怎樣 哪裡 哪個 為什 時候 么时 麼時 时候
是否 请问 告诉 诉我 我们 你们 他们 这个 那个 一个 这些 那些 有没 是不 不是 就是 还是 也是 都是 是我 是你
です ます した して いる から まで まし でし たい とい いう こと この その あの どの なに 何が 何を どこ いつ
だれ
"""
# Content words that hold a stop character.
_KEPT_PAIR_LIST = """
目的 标的 的士 的确 了解 了结 明了 为了 除了 终了 酒吧 网吧 贴吧 吧台 啊哈 呢喃 呢绒 么么
"""
_STOP_WORDS = frozenset(_STOP_LIST.split())
_STOP_PAIRS = frozenset(_STOP_PAIR_LIST.split())
_STOP_CHARS = frozenset("的了吗呢吧啊呀嘛么嗎麼")
_KEPT_PAIRS = frozenset(_KEPT_PAIR_LIST.split())


def _kept(words: list[str]) -> list[str]:
    """The words that say what is asked for; runs of CJK stay whole unless all their pairs are grammar."""
    return [w for w in words if w not in _STOP_WORDS and not _is_stop_run(w)]


def _is_stop_run(word: str) -> bool:
    return bool(_CJK_CHAR.match(word)) and all(_is_stop_pair(p) for p in _pairs(word, False))


def _is_stop_pair(pair: str) -> bool:
    if pair in _STOP_PAIRS:
        return True
    return not _STOP_CHARS.isdisjoint(pair) and pair not in _KEPT_PAIRS
