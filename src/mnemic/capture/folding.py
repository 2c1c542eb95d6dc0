"""Folding: of notes that say the same, the oldest stays and the others are hidden. Similarity alone never decides.

Two texts say the same when they have the same words in the same order, but for case, punctuation, a few words that say
nothing, and other ways to write the same word, number or date. So slots, numbers, dates, names, tenses and negations agree
by construction. What was folded is hidden, not deleted: an undo unfolds it, and it stays unfolded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import cast

from mnemic.capture.forget import Forgetting
from mnemic.knowledge.origin import RANK
from mnemic.ledger.chain import opened
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import Document
from mnemic.models.event import Draft, Origin
from mnemic.store import Store, batches

REASON = "it says the same as"
"""Why a note is hidden that was folded into another."""
LEAST = 4
"""Words that a text needs to be told from a chance."""
_WORD = re.compile(r"[^\W_]+(?:['’.:/-][^\W_]+)*|[%€$£+=<>&]|(?<!\w)-(?=\d)")
_EMPTY = frozenset(["a", "an", "the", "that", "really", "very", "just", "please"])
_SAME = {
    "&": "and", "%": "percent", "okay": "ok", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "can't": "can not",
    "cannot": "can not", "won't": "will not", "shan't": "shall not", "let's": "let us", "i'm": "i am",
}  # fmt: skip
_SHORT = (("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"))
"""What is short for one thing only; "'s" and "'d" are not."""
_MONTHS = {name: place for place, names in enumerate(
    ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
     "september sept sep", "october oct", "november nov", "december dec"), 1) for name in names.split()}  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DATES = (
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\.?,? (?P<year>\d{{4}})\b"),
    re.compile(rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b"),
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_UNIT = re.compile(r"(?<![\w.,:/-])(\d+(?:\.\d+)?)(km|kg|cm|mm|mb|gb|tb|kb|am|pm|ml|mg|hz|kw|min)\b")


def signature(text: str) -> bytes | None:
    """What two texts share that say the same; None for one that is too short."""
    plain = text.replace("’", "'").casefold()
    for pattern in _DATES:
        plain = pattern.sub(_iso, plain)
    plain = _UNIT.sub(r"\1 \2", _THOUSANDS.sub(lambda match: match[0].replace(",", ""), plain))
    words = [word for said in _WORD.findall(plain) for word in _written_out(said).split() if word not in _EMPTY]
    if len(words) < LEAST:
        return None
    return hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _written_out(word: str) -> str:
    if word in _SAME:
        return _SAME[word]
    return next((word.removesuffix(end) + full for end, full in _SHORT if word.endswith(end) and word != end), word)


def _iso(match: re.Match[str]) -> str:
    try:
        return date(int(match["year"]), _MONTHS[match["month"]], int(match["day"])).isoformat()
    except ValueError:
        return match[0]


@dataclass(frozen=True, slots=True)
class Fold:
    """A note that says what an older one says."""

    path: str
    into: str


class Folding:
    """Finds what can be folded in a namespace. Only within a context, and never one of a higher origin."""

    def __init__(self, store: Store, forgetting: Forgetting, ns: str) -> None:
        self._store, self._forgetting, self._ns = store, forgetting, ns

    def due(self) -> tuple[int, list[Fold]]:
        """How many notes there are, and those to be folded. What was unfolded once is none of them."""
        count = 0
        seen: dict[tuple[bytes, str], Document] = {}
        folds: list[Fold] = []
        for document, body in self._notes():
            count += 1
            mark = signature(body)
            if mark is None:
                continue
            first = seen.setdefault((mark, document.context), document)
            if first is not document and _rank(document) <= _rank(first) and not self._unfolded(document):
                folds.append(Fold(document.path, first.path))
        return count, folds

    def draft(self, fold: Fold) -> Draft:
        """What hides a note because of another, to be recorded."""
        return self._forgetting.hiding(self._ns, fold.path, reason=f"{REASON} {fold.into}", actor="system", origin="agent")[1]

    def hide(self, fold: Fold) -> int:
        """Fold one by itself; the number of the entry."""
        reason = f"{REASON} {fold.into}"
        return self._forgetting.forget(self._ns, fold.path, reason=reason, actor="system", origin="agent").seq

    def _notes(self) -> Iterator[tuple[Document, str]]:
        forgotten = self._store.forgotten(self._ns)
        for batch in batches(self._store, self._ns, 500, kind="note"):
            for document in batch:
                if document.text_id is not None and hidden_by(document.path, forgotten) is None:
                    body = self._store.text(self._ns, document.text_id, document.shelf)
                    if body is not None:
                        yield document, body

    def _unfolded(self, document: Document) -> bool:
        """Whether a note was folded before, and taken back."""
        events = self._store.events(self._ns, object=f"document:{document.id}", limit=1_000)
        return any(
            event.op == "forget" and event.payload is not None and str(opened(event.payload)["reason"]).startswith(REASON)
            for event in events
        )


def _rank(document: Document) -> int:
    return RANK[cast(Origin, document.origin)]
