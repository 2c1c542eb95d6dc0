"""The diary: what was said and what happened, raw and cheap. Facts are drawn from it, and cite it.

Entries are only added. What was added through an agent's channel is the agent's word, unless it repeats what the
user said: then it names the session, and a message of the user there must really say it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from mnemic.clock import iso
from mnemic.errors import BadInput, NotFound, Refused
from mnemic.knowledge.facet import Act, Facet, chosen, same
from mnemic.knowledge.origin import checked, human, lowered, lowest, must_be_human
from mnemic.ledger import canonical
from mnemic.ledger.record import erasure_mac
from mnemic.ledger.served import intact
from mnemic.models.event import Change, Origin, Row
from mnemic.models.semantic import DIARY_KINDS, Entry
from mnemic.store import Transaction
from mnemic.text.clean import cleaned
from mnemic.text.tokens import phrase_terms, query_terms, terms

Changes = list[Change]
Rows = list[dict[str, Any]]
DUE_COUNT = 8
DUE_MS = 12 * 3_600_000
"""Extraction is due with so many entries pending, so long after the last (digest §3.3)."""
CONTENT_CHARS = 20_000
QUOTING = ("said", "delegated", "promised", "preference")
"""Kinds that can be the user's own words in the agent's diary."""
QUOTE_SHARE = 0.8
QUOTE_MESSAGES = 400


@dataclass(frozen=True, slots=True)
class Evidence:
    """Diary entries that stand behind a proposal."""

    entries: tuple[Entry, ...]
    origin: Origin
    """The lowest of them all, an agent's faithful quotation of the user counting as the user's."""
    said: int
    """When the latest was said."""
    first: int
    own: bool
    """Whether every one came through a person's own channel."""
    text: str
    """What counts as said: the entries, but of an agent's quotation only the user's own words."""

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(entry.id for entry in self.entries)

    def speaks(self, channel: Origin, *subjects: str) -> bool:
        """Whether the entries speak of one of these; asked of an agent only, a person may read between the lines."""
        return (human(channel) and self.own) or any(supports(subject, self.text) for subject in subjects)


class Diary(Facet):
    """Entries in the order in which they came."""

    def add(
        self, text: str, *, kind: str = "said", session: str | None = None, tags: Sequence[str] = (),
        context: str = "", at: int | None = None, origin: str | None = None, channel: Origin = "user",
        op_id: str | None = None, reason: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Append an entry. `at` is when it was said (ms; now if not given), `origin` may only lower the channel's.

        The receipt says whether an extraction is due, and then what is pending. Raises BadInput, Refused.
        """
        if len(text) > CONTENT_CHARS:
            raise BadInput(f"the entry has {len(text):,} characters, the limit is {CONTENT_CHARS:,}: keep to the point")
        clean = cleaned(text, redact=self._redact)
        if not clean.text.strip():
            why = "only a recalled frame was given; it is in memory already" if clean.frames else "the text is empty"
            return {"status": "nothing", "id": None, "seq": None, "redacted": clean.redacted, "reason": why,
                    "extraction_due": False}  # fmt: skip
        now = self._now()
        if at is not None and at > now:
            raise BadInput(f"{iso(at)} lies ahead of now, {iso(now)}: the diary holds what was said and what happened")
        draft = Entry(
            id=0, kind=chosen(kind, DIARY_KINDS, "kind"), content=clean.text.strip(),
            session=self._line(session, "session") or None if session else None,
            tags=canonical([line for tag in tags if (line := self._line(tag, "tag"))]),
            context=self._line(context, "context"), origin=lowered(channel, origin), at=now if at is None else at,
            recorded_at=now, extracted_at=None, extraction=None,
        )  # fmt: skip
        request = ["diary", {**asdict(draft), "at": at, "recorded_at": 0}]

        def do(act: Act) -> dict[str, Any]:
            mac = erasure_mac(self._store.erasure_key_of(self._ns), draft.content)
            if self._store.when_erased(self._ns, [mac]):
                why = "this text was erased and must not come back"
                return {"status": "rejected", "id": None, "seq": None, "redacted": clean.redacted, "reason": why,
                        "extraction_due": False}  # fmt: skip
            entry = replace(draft, id=act.tx.allocate("diary"))
            change = Change("diary", (entry.id,), None, asdict(entry))
            seq = act.record("diary", f"diary:{entry.id}", [change], reason, note={"redacted": clean.redacted})
            due = _due(act.tx.select, act.now)
            return {
                **entry.json(), "status": "stored", "seq": seq, "redacted": clean.redacted, "reason": None,
                "op_id": op_id, "extraction_due": due, "pending": [],
            }  # fmt: skip

        receipt = self._once(op_id, request, channel, do)
        return {**receipt, "pending": self.list(pending=True, limit=100)} if receipt["extraction_due"] else receipt

    def list(
        self, *, pending: bool = False, kind: str | None = None, session: str | None = None, limit: int = 1_000
    ) -> Rows:
        """The latest entries, oldest first."""
        where: dict[str, Any] = {"extracted_at": None} if pending else {}
        if kind is not None:
            where["kind"] = chosen(kind, DIARY_KINDS, "kind")
        if session is not None:
            where["session"] = session
        rows = self._store.select(self._ns, "diary", where, limit=limit, newest=True)
        return [Entry(**row).json() for row in reversed(rows)]

    def show(self, number: int) -> dict[str, Any]:
        """One entry. A use of it. Raises NotFound."""
        page = _found(self._store.row(self._ns, "diary", (number,)), number).json()
        self.used(f"diary/{number}", "opened")
        return page

    def ack(self, number: int, *, reason: str = "", channel: Origin = "user") -> dict[str, Any]:
        """Clear an entry that holds nothing to extract. A person's act. Raises NotFound, Refused."""
        must_be_human(channel, "clear a diary entry")
        with self._acting(channel) as act:
            entry = _found(act.tx.row("diary", (number,)), number)
            if entry.extracted_at is not None:
                how = f"extraction {entry.extraction}" if entry.extraction else "a person"
                raise Refused(f"diary entry {number} is not pending: {how} took it on {iso(entry.extracted_at)}")
            done = replace(entry, extracted_at=act.now)
            change = Change("diary", (number,), asdict(entry), asdict(done))
            seq = act.record("diary-ack", f"diary:{number}", [change], reason)
        return {**done.json(), "seq": seq}

    def due(self) -> bool:
        """Whether an extraction is due: 8 entries pending, and 12 hours since the last."""
        with self._store.reading():
            return _due(partial(self._store.select, self._ns), self._now())

    # what stands behind a proposal

    def evidence(self, tx: Transaction, numbers: Iterable[int], run: int) -> Evidence:
        """The cited entries, checked. Raises Refused for one that is not there, or when all were extracted before."""
        entries = []
        for number in dict.fromkeys(numbers):
            row = tx.row("diary", (number,))
            if row is None:
                raise Refused(f"there is no diary entry {number}: cite ids that `mnemic diary list --pending` shows")
            entries.append(Entry(**row))
        if not entries:
            raise Refused("no diary entry is cited: give source_diary_ids")
        if all(entry.extracted_at is not None and entry.extraction != run for entry in entries):
            taken = ", ".join(str(entry.id) for entry in entries)
            raise Refused(f"diary {taken} was extracted already: cite at least one pending entry")
        voices = [self._voice(entry) for entry in entries]
        return Evidence(
            entries=tuple(entries), origin=lowest(origin for origin, _ in voices), said=max(entry.at for entry in entries),
            first=min(entry.at for entry in entries), own=all(human(entry.origin) for entry in entries),
            text="\n".join(words for _, words in voices),
        )  # fmt: skip

    def said(self, tx: Transaction, numbers: Iterable[int]) -> int:
        """When the latest of some entries was said; the epoch if none of them is there."""
        rows = [tx.row("diary", (number,)) for number in numbers]
        return max((int(row["at"]) for row in rows if row is not None), default=0)

    def marks(self, evidence: Evidence, run: int, now: int) -> Changes:
        """The changes that say these entries are extracted."""
        return [
            Change("diary", (e.id,), asdict(e), asdict(replace(e, extracted_at=now, extraction=run)))
            for e in evidence.entries
            if e.extracted_at is None
        ]

    def corroboration(self, tx: Transaction, numbers: Iterable[int]) -> int:
        """How many entries stand behind it; the same words in the same session count once."""
        voices: set[object] = set()
        for number in numbers:
            row = tx.row("diary", (number,))
            if row is not None:
                voices.add((row["session"], same(str(row["content"]))) if row["session"] else number)
        return len(voices)

    def _voice(self, entry: Entry) -> tuple[Origin, str]:
        """Whose words an entry holds, and which."""
        if entry.origin == "agent" and entry.kind in QUOTING and entry.session is not None:
            for text in self._user_said(entry.session):
                if words := quoted(entry.content, text):
                    return "user", words
        return entry.origin, entry.content

    def _user_said(self, session: str) -> Iterable[str]:
        """What the user wrote in a captured session, newest first, but for what was forgotten or is not as recorded."""
        hidden = self._store.forgotten(self._ns)
        messages = [m for m in self._store.messages(self._ns, session=session, last=QUOTE_MESSAGES) if m.role == "user"]
        theirs: dict[int, dict[int, str]] = {}
        for number in {message.document for message in messages}:
            document = self._store.document_by_id(self._ns, number)
            if document is not None and human(checked(document.origin)) and not _within(document.path, hidden):
                ids = [message.text_id for message in messages if message.document == number]
                bodies = self._store.texts(self._ns, ids, document.shelf)
                theirs[number] = bodies if intact(self._store, self._ns, number, bodies) else {}
        for message in reversed(messages):
            if body := theirs.get(message.document, {}).get(message.text_id):
                yield body


def quoted(entry: str, message: str) -> str:
    """The words of a message that an entry repeats, as the message's writer said them; empty if it does not.

    What stands in quotation marks in the entry must stand in the message word for word, and is all that counts: what
    stands around it is the entry's own. Without any, four fifths of the entry's content words must occur in one
    sentence, and that sentence counts. Either way the sentence must be negated as the entry is. What the message
    itself quotes (in quotation marks, after `>`, as code) are somebody else's words.
    """
    said = [sentence for sentence in _SENTENCE.split(_QUOTED.sub(" ", _PASTED.sub("\n", message))) if sentence.strip()]
    parts = [part for part in _QUOTED.findall(entry) if len(query_terms(part)) >= 2]
    if parts:
        pieces = [piece for part in parts for piece in _SENTENCE.split(part) if terms(piece)]
        return "\n".join(pieces) if all(any(_stands(piece, one) for one in said) for piece in pieces) else ""
    wanted = set(query_terms(entry)) - _REPORTING
    if len(wanted) < 2:
        return message if same(entry) == same(message) else ""
    shared = (
        sentence
        for sentence in said
        if len(wanted & set(terms(sentence))) >= QUOTE_SHARE * len(wanted) and negated(entry) == negated(sentence)
    )
    return next(shared, "")


def _stands(piece: str, sentence: str) -> bool:
    """Whether words stand in a sentence one after the other, and it denies what they deny."""
    run, whole = f" {' '.join(phrase_terms(piece))} ", f" {' '.join(terms(sentence))} "
    return (run in whole or same(piece) in same(sentence)) and negated(piece) == negated(sentence)


def negated(text: str) -> bool:
    """Whether a sentence says that something is not so."""
    return _NEGATION.search(text.casefold().replace("’", "'")) is not None


def supports(value: str, text: str) -> bool:
    """Whether half of a value's content words stand in a text: what is derived must be found in what it cites."""
    wanted = set(query_terms(value))
    return 2 * len(wanted & set(terms(text))) >= len(wanted) if wanted else same(value) in same(text)


def _due(select: Callable[..., list[Row]], now: int) -> bool:
    if len(select("diary", {"extracted_at": None}, limit=DUE_COUNT)) < DUE_COUNT:
        return False
    last = select("extractions", {}, limit=1, newest=True)
    return not last or now - int(last[0]["recorded_at"]) >= DUE_MS


def _within(path: str, hidden: Iterable[str]) -> bool:
    return any(path == one or path.startswith(one + "/") for one in hidden)


def _found(row: Any, number: int) -> Entry:
    if row is None:
        raise NotFound(f"there is no diary entry {number}: see `mnemic diary list`")
    return Entry(**row)


_QUOTED = re.compile("[\"“「『«]([^\"“”「」『』«»]{2,2000})[\"”」』»]")
_PASTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。！？；\n]+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|nobody|nothing|stopped|quit|hates?|no longer)\b|n't\b"
    "|[不没沒無无未别別勿非莫]|戒了|停了|ない|ません"
)
_REPORTING = frozenset(
    query_terms("user says said saying told tells states stated asked asks wants wanted")
    + query_terms("用户 用戶 用户说 用戶說")
)
