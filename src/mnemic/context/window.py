"""`ContextWindow`: puts a prompt together that fits, from a conversation of any length.

    read ─▶ what stands? (instructions, pinned, summaries, the talk) ─▶ too much? the oldest span becomes a summary
         ─▶ still too much? older units out, then texts shortened ─▶ memory's frame before the user's latest message

A client may send the whole conversation every time, or what was prepared last and what came since: summaries bear the
digest of where they end, and frames prove by their nonce that they are ours. What is sent is never changed; messages
that stay are handed on as they came.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mnemic.context import inject, rules
from mnemic.context.budget import PROFILE, Budget
from mnemic.context.shapes import Entry, is_cut, read, said, shortened, units, unmarked, unprompted
from mnemic.context.summaries import AWAITED, IMPORTANCE, MERGE_THRESHOLD, Pyramid, Summary, folded
from mnemic.errors import BadInput, MnemicError, ModelError
from mnemic.ledger.record import digest, erasure_mac
from mnemic.models.document import Turn
from mnemic.models.receipt import CaptureReport
from mnemic.store import Store
from mnemic.text import frame as frames
from mnemic.text.clean import cleaned
from mnemic.text.tokens import estimate

HEADING = (
    "The earlier part of this conversation, in quotes. Each line names its message by the path below that of the block"
)
KIND = "summary"
LEAST_MID = 48
"""Tokens below which a summary says nothing."""
PROFILE_SHARE = 4
"""The profile may take a quarter of what memory may add."""
REMEMBERED = 64
"""Turns whose frames are put back when the client sends the conversation without them."""

Keep = Callable[[Sequence[Turn], str], CaptureReport]
"""Stores turns of a session; what is stored already is recognised."""
Summarise = Callable[[Sequence[rules.Line], int], list[rules.Line]]
"""A judge: lines for a span, given as lines, in at most so many tokens. Raises ModelError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A prompt, and what was done to make it fit."""

    messages: list[Any]
    session: str
    before: int
    """Tokens of what was sent."""
    after: int
    by_part: Mapping[str, int]
    """system, pinned, summary, retrieved, recent."""
    compacted: tuple[Mapping[str, Any], ...] = ()
    injected: tuple[Mapping[str, Any], ...] = ()
    degraded: tuple[str, ...] = ()
    nothing: str = ""
    """Why memory added nothing, if so."""
    turn: tuple[Entry, ...] = field(default=(), repr=False)
    """The latest user message and what came after it, as it was sent: what `observe` remembers."""

    def json(self) -> dict[str, Any]:
        tokens = {"before": self.before, "after": self.after, "by_part": dict(self.by_part)}
        return {"messages": self.messages, "session": self.session, "tokens": tokens, "compacted": list(self.compacted),
                "injected": list(self.injected), "degraded": list(self.degraded), "nothing_injected": self.nothing}  # fmt: skip


@dataclass(slots=True)
class _Known:
    """A message that was read before, so that a long conversation is not read again every turn."""

    message: Any
    """A copy: the client may change its own."""
    entry: Entry
    after: str = ""
    mark: str | None = None
    """Digest of the talk up to here, if what came before had the digest `after`."""
    part: str = ""
    """What it is as a unit of its own; empty until that was asked."""

    def chained(self, after: str) -> str:
        if self.mark is None or self.after != after:
            self.after, self.mark = after, _chained(after, self.entry)
        return self.mark


@dataclass(slots=True)
class _Unit:
    """Entries that stay together."""

    entries: list[Entry]
    part: str
    """system, pinned, summary, retrieved or talk."""
    mark: str = ""
    """Digest of the talk up to its end."""

    @property
    def tokens(self) -> int:
        entries = self.entries
        return entries[0].tokens if len(entries) == 1 else sum(entry.tokens for entry in entries)


@dataclass(slots=True)
class _Work:
    """One preparation."""

    units: list[_Unit]
    session: str
    begins: str
    """Digest of the talk that the frame in the conversation stands for."""
    frame: frames.Item | None
    compacted: list[Mapping[str, Any]] = field(default_factory=list)
    injected: list[Mapping[str, Any]] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)

    @property
    def latest(self) -> int:
        """The unit of the latest real user message; else the last of the talk."""
        talk = [place for place, unit in enumerate(self.units) if unit.part == "talk"]
        for place in reversed(talk):
            if any(entry.role == "user" and entry.spoken for entry in self.units[place].entries):
                return place
        return talk[-1] if talk else len(self.units)

    def tokens(self, *parts: str) -> int:
        return sum(unit.tokens for unit in self.units if not parts or unit.part in parts)

    def talk_tokens(self) -> int:
        """Everything but what memory adds to the current turn."""
        place = self.latest - 1
        extra = self.units[place].tokens if place >= 0 and self.units[place].part == "retrieved" else 0
        return self.tokens() - extra


class ContextWindow:
    """The window of one conversation. Not shared between threads; close it, or use it as a context manager."""

    def __init__(
        self, store: Store, pyramid: Pyramid, namespace: str, size: Budget, *, keep: Keep, beside: inject.Beside | None,
        session: str | None = None, judge: Summarise | None = None, awaits: bool = False, redact: bool = True,
    ) -> None:  # fmt: skip
        self._size = self.budget = size
        self.session = session
        self._store, self._pyramid, self._ns = store, pyramid, namespace
        self._keep, self._judge, self._awaits, self._redact = keep, judge, awaits, redact
        self._beside = beside
        self._key = store.erasure_key_of(namespace)
        self._read: list[_Known] = []
        self._last: Prepared | None = None
        self._frames: dict[str, Entry] = {}
        self._shown: tuple[tuple[Budget, list[Summary]], frames.Item, Entry] | None = None

    def __enter__(self) -> ContextWindow:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the search's threads end."""
        if self._beside is not None:
            self._beside.close()

    def prepare(self, messages: Sequence[Any], *, pinned: Collection[int] = (), beside: int = 0) -> Prepared:
        """The prompt for the next call of a model; at most `budget.limit` tokens by the estimate.

        `pinned` are places in `messages` that always stay; `beside` is how many tokens go out with the messages without
        being among them (tools, instructions in a field of their own). Raises BadInput for what is no conversation, and
        where `beside` leaves no room; whatever else fails is told in `degraded`.
        """
        self.budget = self._size.less(beside)
        entries = self._entries(messages)
        work = self._work(entries, pinned)
        before = work.tokens()
        turn = tuple(entry for unit in work.units[_turn_begin(work) :] for entry in unit.entries)
        self._put_back(work)
        if work.talk_tokens() > self.budget.room:
            _drop_frames(work)
        if work.talk_tokens() > self.budget.room:
            try:
                self._compact(work)
            except MnemicError as error:
                work.degraded.append(f"not summarised, the conversation is as it was: {error}")
            self._force(work)
        nothing = self._inject(work)
        self._last = Prepared(
            messages=[entry.raw for unit in work.units for entry in unit.entries], session=work.session, before=before,
            after=work.tokens(), by_part=_by_part(work), compacted=tuple(work.compacted),
            injected=tuple(work.injected), degraded=tuple(dict.fromkeys(work.degraded)), nothing=nothing, turn=turn,
        )  # fmt: skip
        return self._last

    def observe(self, reply: Any, made: Prepared | None = None) -> CaptureReport:
        """Remember a turn with its reply: a text, a message, or a list of messages or items; without one, an empty list.

        The turn is that of `made`, else the one that was prepared last.
        """
        made = made or self._last
        if made is None:
            raise BadInput("nothing was prepared yet: call prepare first")
        given = reply if isinstance(reply, list | tuple) else [reply]
        answers = [read({"role": "assistant", "content": one} if isinstance(one, str) else one) for one in given]
        return self._keep(_turns([*made.turn, *answers]), made.session)

    # reading

    def _entries(self, messages: Sequence[Any]) -> list[Entry]:
        """The messages read; those that came before in the same place are not read again."""
        found = list[_Known]()
        for place, message in enumerate(messages):
            known = self._read[place] if place < len(self._read) else None
            if known is None or known.message != message:
                known = _Known(copy.deepcopy(message), read(message))
            elif known.entry.raw is not message:
                known.entry = replace(known.entry, raw=message)
            found.append(known)
        self._read = found
        return [known.entry for known in found]

    def _work(self, entries: Sequence[Entry], pinned: Collection[int]) -> _Work:
        found, mark, frame = list[_Unit](), "", None
        for run in units(entries):
            own = [entries[place] for place in run]
            first = self._read[run[0]]
            if len(run) > 1:
                part = "talk"
            else:
                part = first.part = first.part or self._part(own[0])
            if pinned and any(place in pinned for place in run):
                part = "pinned"
            if part == "summary" and frame is None:
                frame = frames.parse(_content(own[0]))[0]
                mark = _ends(frame)
            elif part == "talk":
                for place in run:
                    mark = self._read[place].chained(mark)
            found.append(_Unit(own, part, mark))
        begins = _ends(frame) if frame else ""
        return _Work(found, self._session(found, frame), begins, frame)

    def _part(self, entry: Entry) -> str:
        if entry.role == "system":
            return "system"
        text = _content(entry) if entry.role == "user" else ""
        if text and inject.is_ours(text, self._key):
            items = frames.parse(text)
            return "summary" if items and items[0].kind == KIND else "retrieved"
        return "talk"

    def _session(self, found: Sequence[_Unit], frame: frames.Item | None) -> str:
        if self.session:
            return self.session
        if frame is not None and frame.path.count("/") == 2:
            return frame.path.rpartition("/")[2]
        first = next((unit.entries[0] for unit in found if unit.part == "talk"), None)
        return f"window-{erasure_mac(self._key, _plain(unmarked(first.raw)))[:12]}" if first else "window"

    def _put_back(self, work: _Work) -> None:
        """Put the frames of earlier turns, and of this one, back before their messages: the client sent only its own."""
        if not self._frames:
            return
        found = list[_Unit]()
        for unit in work.units:
            entry = self._frames.get(_turn_key(work.session, unit)) if unit.part == "talk" else None
            if entry is not None and not (found and found[-1].part == "retrieved"):
                found.append(_Unit([entry], "retrieved"))
            found.append(unit)
        work.units = found

    # compaction

    def _compact(self, work: _Work) -> None:
        """Put summaries for the oldest span; what is known from before first, then one more if that is not enough."""
        shown, place = self._known(work)
        if place >= 0:
            self._replace(work, shown, place)
        if work.talk_tokens() <= self.budget.room:
            return
        while (last := self._piece(work)) >= 0:
            pyramid = self._summarised(work, shown, last)
            if pyramid is None:
                return
            shown = pyramid

    def _piece(self, work: _Work) -> int:
        """The last unit of what one summary takes: all that leaves the window, or an even part of it if that is larger."""
        cut = self._cut(work)
        talk = [(place, unit.tokens) for place, unit in enumerate(work.units[: cut + 1]) if unit.part == "talk"]
        total = sum(size for _, size in talk)
        share = -(-total // max(1, -(-total // self.budget.room)))
        taken = 0
        for place, size in talk:
            taken += size
            if taken >= share:
                return place
        return -1

    def _summarised(self, work: _Work, shown: Sequence[Summary], last: int) -> list[Summary] | None:
        """Put one more summary for the talk up to a unit; None, and nothing changed, where that would save nothing."""
        span = [unit for unit in work.units[: last + 1] if unit.part == "talk"]
        size = sum(unit.tokens for unit in span)
        limit = min(max(self.budget.mid // MERGE_THRESHOLD, LEAST_MID), size // 2)
        mid, parts = self._mid(work, span, limit)
        pyramid, merges = folded([*shown, mid], self.budget)
        gain = replace(work, units=list(work.units))
        self._replace(gain, pyramid, last)
        if gain.tokens() >= work.tokens():
            return None
        try:
            pyramid = self._pyramid.add(mid, pyramid, merges)
        except MnemicError as error:
            work.degraded.append(f"the summary was not stored: {error}")
        self._replace(work, pyramid, last)
        work.compacted.append({
            "messages": mid.messages, "tokens": size, "summary_tokens": estimate(mid.text, PROFILE), "judge": mid.judge,
            "sources": parts, "merged": [json.loads(long.merged_from) for long, _ in merges],
        })  # fmt: skip
        return pyramid

    def _known(self, work: _Work) -> tuple[list[Summary], int]:
        """The summaries that stand for the beginning of this conversation, and the unit that the last of them ends with."""
        rows = self._pyramid.of(work.session)
        shown = self._framed(work, rows) if work.frame is not None else []
        marks = {unit.mark: place for place, unit in enumerate(work.units[: work.latest]) if unit.part == "talk"}
        here, place = work.begins, -1
        while steps := [row for row in rows if row.begins == here and row.ends in marks and row.ends != here]:
            step = max(steps, key=lambda row: (marks[row.ends], row.id))
            shown, here, place = [*shown, step], step.ends, marks[step.ends]
        return shown, place

    def _framed(self, work: _Work, rows: Sequence[Summary]) -> list[Summary]:
        """The summaries that the frame in the conversation shows: the stored ones, or one made of its lines."""
        found, here = list[Summary](), work.begins
        while here and (row := next((row for row in reversed(rows) if row.ends == here), None)):
            found.insert(0, row)
            here = row.begins
            if len(found) > len(rows):
                break
        if found and not here:
            return found
        assert work.frame is not None
        return [self._summary(work, "long", "", work.begins, 0, 0, work.frame.text, "rules", ())]

    def _cut(self, work: _Work) -> int:
        """The last unit of the span to summarise: behind it the recent tail stays verbatim, in its allotment."""
        fixed = work.tokens("system", "pinned")
        room = min(self.budget.short, self.budget.room - fixed - self.budget.mid - self.budget.long)
        place = work.latest
        if place and work.units[place - 1].part == "retrieved":
            place -= 1  # what memory said to this turn stays with it
        room -= sum(unit.tokens for unit in work.units[place:] if unit.part == "talk")
        while place > 0:
            unit = work.units[place - 1]
            if unit.part in ("talk", "retrieved"):
                room -= unit.tokens
                if room < 0:
                    break
            place -= 1
        return place - 1

    def _mid(self, work: _Work, span: Sequence[_Unit], limit: int) -> tuple[Summary, list[str]]:
        entries = [entry for unit in span for entry in unit.entries]
        texts = [cleaned(entry.text, redact=self._redact).text for entry in entries]
        places = self._places(work, entries, texts)
        lines = [
            line
            for entry, text, place in zip(entries, texts, places, strict=True)
            for line in rules.lines_of(text, entry.role, place.removeprefix(_folder(places) + "/"))
        ]
        name, picked = AWAITED if self._awaits else "rules", list[rules.Line]()
        if self._judge is not None:
            try:
                picked, name = self._proposed(lines, limit), "endpoint"
            except ModelError as error:
                work.degraded.append(f"the rules summarised instead of the model: {error}")
        picked = picked or rules.chosen(lines, limit)
        documents = list(dict.fromkeys(place.rpartition("/")[0] for place in places if place))
        size = sum(unit.tokens for unit in span)
        text = rules.joined(picked)
        return self._summary(work, "mid", work.begins, span[-1].mark, len(entries), size, text, name, documents), documents

    def _proposed(self, lines: Sequence[rules.Line], limit: int) -> list[rules.Line]:
        """What the judge makes of lines; where that is less than half of what the rules would keep, with theirs among it."""
        assert self._judge is not None
        picked = rules.chosen(self._judge(lines, limit), limit)
        size = sum(map(rules.cost_of, picked))
        if 2 * size >= sum(map(rules.cost_of, rules.chosen(lines, limit))):
            return picked
        told = {line.place for line in picked}
        order = {line.place: place for place, line in reversed(list(enumerate(lines)))}
        more = rules.chosen([line for line in lines if line.place not in told], limit - size)
        return sorted([*picked, *more], key=lambda line: order[line.place])

    def _summary(
        self, work: _Work, level: str, begins: str, ends: str, messages: int, replaced: int, text: str, judge: str,
        sources: Sequence[str],
    ) -> Summary:  # fmt: skip
        return Summary(
            id=0, session=work.session, level=level, begins=begins, ends=ends, messages=messages, replaced=replaced,
            text=text, importance=IMPORTANCE["mid"], origin="agent", judge=judge, sources=json.dumps(list(sources)),
            created_at=self._pyramid.now(),
        )  # fmt: skip

    def _places(self, work: _Work, entries: Sequence[Entry], texts: Sequence[str]) -> list[str]:
        """The path of every message's original in the store, which it is put into if it is not there; empty if it has none."""
        try:
            known = self._stored(work.session)
            wanted = [digest(text) if text.strip() else "" for text in texts]
            if missing := [entry for entry, name in zip(entries, wanted, strict=True) if name and name not in known]:
                self._keep(_turns(missing), work.session)
                known = self._stored(work.session)
        except MnemicError as error:
            work.degraded.append(f"originals were not stored: {error}")
            return [""] * len(entries)
        if any(name and name not in known for name in wanted):
            work.degraded.append("some originals were not stored: they were erased, or hold nothing that may be kept")
        return self._paths([known.get(name) for name in wanted])

    def _stored(self, session: str) -> dict[str, tuple[int, int]]:
        return {row.digest: (row.document, row.seq) for row in self._store.messages(self._ns, session=session)}

    def _paths(self, places: Sequence[tuple[int, int] | None]) -> list[str]:
        paths: dict[tuple[int, int], str] = {}
        for number in {place[0] for place in places if place}:
            document = self._store.document_by_id(self._ns, number)
            for node in self._store.nodes(self._ns, number, document.shelf) if document else ():
                if node.kind == "message" and node.message is not None:
                    paths[number, node.message] = node.path
        return [paths.get(place, "") if place else "" for place in places]

    def _replace(self, work: _Work, shown: Sequence[Summary], last: int) -> None:
        """Put the summaries in the place of all talk up to a unit. Instructions and pinned messages stay."""
        key = (self.budget, list(shown))
        if self._shown is None or self._shown[0] != key:
            self._shown = (key, *self._rendered(shown))
        _, item, entry = self._shown
        found, stands = list[_Unit](), False
        for place, unit in enumerate(work.units):
            if place > last or unit.part in ("system", "pinned"):
                found.append(unit)
            elif not stands:
                found.append(_Unit([entry], "summary", shown[-1].ends))
                stands = True
        work.units, work.frame, work.begins = found, item, shown[-1].ends

    def _rendered(self, shown: Sequence[Summary]) -> tuple[frames.Item, Entry]:
        folder = next((path.rpartition("/")[0] for one in shown for path in json.loads(one.sources)), "/sessions")
        room = self.budget.mid + self.budget.long
        lines = [line for one in shown for line in rules.parsed(one.text)]
        title = f"{sum(one.messages for one in shown)} messages, up to {shown[-1].ends}"
        item = frames.Item(folder, rules.joined(rules.chosen(lines, room)), _date(shown), "agent", title, KIND)
        return item, read(said(inject.sealed([item], self._key, HEADING)))

    # what has to fit fits

    def _force(self, work: _Work) -> None:
        """Make the talk fit where summaries were not enough: older units go, then texts are shortened, oldest first."""
        room = self.budget.room
        if work.talk_tokens() <= room:
            return
        size, latest = room, work.latest
        while work.talk_tokens() > room and size > LEAST_MID:
            size //= 2
            for unit in work.units[latest + 1 :]:
                if unit.part == "talk":
                    self._shorten(work, unit, size)
        dropped = self._drop_older(work, room, ("talk", "retrieved"))
        self._drop_newer(work, room)
        self._shorten_latest(work, room)
        dropped += self._drop_older(work, room, ("summary",))
        self._shorten_fixed(work, room)
        if dropped:
            self._lead(work)

    def _drop_older(self, work: _Work, room: int, parts: Sequence[str]) -> int:
        """Units before the latest user message, oldest first; what is left of them begins with a user. How many went."""
        over, count = work.talk_tokens() - room, 0
        while (place := _first(work, parts)) is not None and (over > 0 or (count and _orphan(work, place))):
            unit = work.units.pop(place)
            over, count = over - unit.tokens, count + len(unit.entries)
        if count:
            what = "the summary was left out" if "summary" in parts else f"{count} older messages were left out unsummarised"
            work.degraded.append(f"{what}: the rest alone fills the window")
        return count

    def _lead(self, work: _Work) -> None:
        """The latest user message alone, without results that it brings: no talk begins with the calls they answer."""
        place = next((n for n, unit in enumerate(work.units) if unit.part != "system"), None)
        if place is None or place != work.latest or not _orphan(work, place):
            return
        unit = work.units[place]
        spoken = next((entry for entry in reversed(unit.entries) if entry.role == "user" and entry.spoken), None)
        if spoken is not None:
            own = [part for part in spoken.raw["content"] if part.get("type") != "tool_result"]
            unit.entries = [read({**spoken.raw, "content": own})]
            work.degraded.append("calls of this turn were left out with their results: no user spoke before them in what is left")

    def _shorten(self, work: _Work, unit: _Unit, size: int) -> None:
        for place, entry in enumerate(unit.entries):
            if entry.tokens > size:
                cut = shortened(entry, size)
                if cut.tokens < entry.tokens:
                    unit.entries[place] = cut
                    work.degraded.append("messages larger than the window allows were shortened")

    def _drop_newer(self, work: _Work, room: int) -> None:
        """Rounds of calls behind the latest user message, oldest first."""
        while work.talk_tokens() > room and work.latest + 1 < len(work.units):
            place = next((n for n in range(work.latest + 1, len(work.units)) if work.units[n].part == "talk"), None)
            if place is None:
                return
            work.units.pop(place)
            work.degraded.append("rounds of this turn were left out")

    def _shorten_latest(self, work: _Work, room: int) -> None:
        over = work.talk_tokens() - room
        if over <= 0 or work.latest >= len(work.units):
            return
        unit = work.units[work.latest]
        size = max(unit.tokens - over, min(unit.tokens, room // 4))
        entry = next((one for one in reversed(unit.entries) if one.role == "user" and one.spoken), unit.entries[-1])
        others = unit.tokens - entry.tokens
        cut = shortened(entry, size - others) if size > others else entry
        if cut.tokens + others > size:
            # Calls cannot be shortened and results cannot stay without them: the words of the user alone stay.
            own = _own_text(entry) or entry.text or "…"
            role = "user" if entry.role == "user" else "assistant"
            cut = shortened(read({"role": role, "content": own}), size)
            unit.entries = [cut]
        else:
            unit.entries = [cut if one is entry else one for one in unit.entries]
        work.degraded.append("the latest user message was shortened: it is larger than the window allows")

    def _shorten_fixed(self, work: _Work, room: int) -> None:
        """Instructions last: a model without them is another one, so this is told."""
        for part in ("pinned", "system"):
            for unit in [unit for unit in work.units if unit.part == part]:
                over = work.talk_tokens() - room
                if over <= 0:
                    return
                size = max(LEAST_MID // 4, unit.tokens - over)
                unit.entries = [shortened(entry, size) if entry.tokens > size else entry for entry in unit.entries]
                work.degraded.append(f"{part} messages were shortened: they alone are larger than the window allows")
        for part in ("pinned", "system"):
            while work.talk_tokens() > room and (place := _first(work, (part,))) is not None:
                work.units.pop(place)
                work.degraded.append(f"{part} messages were left out: they alone are larger than the window allows")

    # what memory adds

    def _inject(self, work: _Work) -> str:
        """Put memory's frame before the latest real user message, once a turn, if it fits its allotment; or why not."""
        if self._beside is None:
            return "memory was not asked"
        if work.latest >= len(work.units):
            return "nobody spoke"
        unit = work.units[work.latest]
        entry = next((one for one in unit.entries if one.role == "user" and one.spoken), None)
        before = work.units[work.latest - 1] if work.latest else None
        if before is not None and before.part == "retrieved":
            if before.tokens <= self.budget.retrieved:
                work.injected += [{"path": item.path, "again": True} for item in frames.parse(_content(before.entries[0]))]
                return ""
            work.units.remove(before)
        query = unprompted(_own_text(entry))[: inject.QUERY_CHARS] if entry else ""
        if entry is None or not query.strip() or any(map(is_cut, unit.entries)):
            return "the user said nothing that could be searched for"
        found = self._beside.ask(query, self.budget.retrieved // PROFILE_SHARE)
        if isinstance(found, str):
            work.degraded.append(found)
            return found
        profile, answer = found
        work.degraded += answer.degraded
        visible = "\n".join(_plain(one.raw) for unit in work.units for one in unit.entries)
        items = [item for item in profile if item.text not in visible and frames.escaped(item.text) not in visible]
        hits = inject.unseen(answer.hits, visible)
        fitting = inject.within([*items, *map(frames.recalled, hits)], self.budget.retrieved, inject.HEADING)
        if not fitting:
            if items or hits:
                return f"nothing that was found fits into {self.budget.retrieved} tokens"
            return "the window shows already what was found" if answer.hits else "nothing fitting was found"
        items = fitting
        frame = read(said(inject.sealed(items, self._key, inject.HEADING)))
        self._frames[_turn_key(work.session, unit)] = frame
        while len(self._frames) > REMEMBERED:
            self._frames.pop(next(iter(self._frames)))
        work.units.insert(work.latest, _Unit([frame], "retrieved"))
        scores = {hit.path: round(hit.score, 4) for hit in hits}
        work.injected += [{"path": item.path, "score": scores.get(item.path)} for item in items]
        return ""


def _drop_frames(work: _Work) -> None:
    """What memory said to earlier turns goes first: it can be found again."""
    keep = work.latest - 1
    work.units = [unit for place, unit in enumerate(work.units) if unit.part != "retrieved" or place >= keep]


def _by_part(work: _Work) -> dict[str, int]:
    names = {"system": "system", "pinned": "pinned", "summary": "summary", "retrieved": "retrieved", "talk": "recent"}
    return {name: work.tokens(part) for part, name in names.items()}


def _chained(mark: str, entry: Entry) -> str:
    """The digest of a conversation with one more message."""
    return hashlib.sha256(f"{mark}\0{_plain(unmarked(entry.raw))}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(raw: Mapping[str, Any]) -> str:
    return json.dumps(raw, ensure_ascii=False, sort_keys=True, default=str)


def _turn_key(session: str, unit: _Unit) -> str:
    return f"{session}\0{unit.mark}"


def _content(entry: Entry) -> str:
    """The text of a message that is only one text."""
    content = entry.raw.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        content = content[0].get("text")
    return content if isinstance(content, str) else ""


def _ends(frame: frames.Item) -> str:
    """The digest up to which the summary of a frame goes."""
    return frame.title.rpartition(" ")[2]


def _own_text(entry: Entry) -> str:
    """What the user wrote, without results of calls that came in the same message."""
    content = entry.raw.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(
        part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def _turns(entries: Sequence[Entry]) -> list[Turn]:
    """Entries as capture takes them; frames of ours are taken out there."""
    return [Turn(entry.role, entry.text) for entry in entries if entry.text.strip()]


def _first(work: _Work, parts: Sequence[str]) -> int | None:
    """The first unit of these parts before the latest user message, what memory adds to it excepted."""
    end = work.latest
    if end and end <= len(work.units) and work.units[end - 1].part == "retrieved":
        end -= 1
    if set(parts) & {"system", "pinned"}:
        end = len(work.units)
    return next((place for place, unit in enumerate(work.units[:end]) if unit.part in parts), None)


def _turn_begin(work: _Work) -> int:
    """The first unit of what the user said last: of several messages in a row all."""
    place = work.latest
    while place and (unit := work.units[place - 1]).part != "system" and all(entry.role == "user" for entry in unit.entries):
        place -= 1
    return place


def _orphan(work: _Work, place: int) -> bool:
    """Whether the talk would begin with an answer."""
    unit = work.units[place]
    return unit.part == "talk" and unit.entries[0].role != "user"


def _folder(places: Sequence[str]) -> str:
    """The folder of a session, from a path of one of its messages."""
    return next((place.rsplit("/", 2)[0] for place in places if place), "/sessions")


def _date(shown: Sequence[Summary]) -> str:
    from mnemic.clock import from_ms

    return from_ms(shown[-1].created_at).date().isoformat()
