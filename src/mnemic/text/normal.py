"""Unicode normalisation (NFKC) that no input can make slow or large.

Plain NFKC turns one U+FDFA into 18 characters and sorts a run of combining marks in quadratic time, so a
megabyte of hostile text costs seconds. Here text is normalised in short slices, cut where nothing can
compose, and the two ligatures that stand for whole phrases stay as they are: the output is at most six
times the input.
"""

from __future__ import annotations

import re
import unicodedata

_SLICE = 256
_PHRASES = re.compile("([\ufdfa\ufdfb]+)")


def nfkc(text: str) -> str:
    """The NFKC form of `text`, except for U+FDFA and U+FDFB. Linear in its length; at most six times as long.

    Runs of more than about 200 combining marks are not sorted as a whole.
    """
    if unicodedata.is_normalized("NFKC", text):
        return text
    parts: list[str] = []
    for piece in _PHRASES.split(text):
        if piece[:1] in ("\ufdfa", "\ufdfb"):
            parts.append(piece)
            continue
        start = 0
        while start < len(piece):
            end = _cut(piece, start)
            parts.append(unicodedata.normalize("NFKC", piece[start:end]))
            start = end
    return "".join(parts)


def _cut(text: str, start: int) -> int:
    """Where the slice from `start` ends: before a character that does not join the one before it."""
    end = start + _SLICE
    if end >= len(text):
        return len(text)
    for place in range(end, start + _SLICE // 4, -1):
        if not _joins(text[place]):
            return place
    return end


def _joins(char: str) -> bool:
    """Whether a character can compose with what stands before it: marks, Hangul vowels and finals."""
    if char < "\u0300":
        return False
    return (
        unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff" or "\uff9e" <= char <= "\uffdc"
    )
