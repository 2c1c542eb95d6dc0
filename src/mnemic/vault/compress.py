"""A daily note that grew over 20 KB becomes 20 lines: its facts move to cards, its best lines stay, the original is in git.

Whether a line is a fact is a judgement that comes in from outside; what is done with it is not. The order makes a kill
harmless: the note as it is stands in a commit before anything changes, the facts stand on their cards before the note
is cut, and a fact that is on its card already is not put there again. Where git does not hold the note, it is left.

What mnemic mirrored into the note is in memory where it was captured: it goes to no card, and its line keeps the link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from mnemic.clock import Clock, to_ms
from mnemic.errors import BadInput, Conflict, MnemicError
from mnemic.text.fences import Fence
from mnemic.vault import frontmatter
from mnemic.vault.daily import Daily
from mnemic.vault.daybook import BEGIN, END, Line, day_at, file_of, lines_of, shown
from mnemic.vault.files import sha256
from mnemic.vault.links import key_of, links, resolve, stem
from mnemic.vault.log import extended
from mnemic.vault.names import Names
from mnemic.vault.state import DAILY_BYTES
from mnemic.vault.vault import Vault

LINES = 20
"""Of a compressed note, its heading and marks included."""
FRAME_LINES = 5
WEIGHTS = {"decision": 0, "constraint": 1, "open": 2, "fact": 3, "note": 4}
"""Which lines are kept first."""
SUMMARY_CHARS = 200
HISTORY = "## History"
ALIKE = 0.7
"""The share of words, numbers aside, above which two lines say the same."""
_WORD = re.compile(r"[^\W\d_]+")
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+|\d{1,9}[.)]\s+)?")
_HEADING = re.compile(r"#{1,6}\s")
Judge = Callable[[str], str]
"""What a text is: decision, constraint, open, fact or note."""


@dataclass(slots=True)
class _Unit:
    """A line of a note, or a block of code as a whole."""

    lines: list[str]
    kind: str
    link: str | None = None
    """Where it can be read in full: a link, as Markdown."""
    ours: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def words(self) -> str:
        """Its text on one line, without what makes it an item of a list."""
        return " ".join(self.text[_MARKER.match(self.text).end() :].split())  # type: ignore[union-attr]


@dataclass(slots=True)
class Plan:
    """What compressing one note does."""

    day: date
    before: bytes
    after: bytes = b""
    commit: str | None = None
    cards: dict[str, list[_Unit]] = field(default_factory=dict)
    """Facts by the file of the card that they move to."""

    def json(self) -> dict[str, Any]:
        return {
            "date": self.day.isoformat(), "path": file_of(self.day), "bytes_before": len(self.before),
            "bytes_after": len(self.after), "lines": len(frontmatter.split(self.after).body.splitlines()),
            "facts": sum(map(len, self.cards.values())), "cards": sorted(self.cards), "original": self.commit,
        }  # fmt: skip


class Compression:
    """Compresses the daily notes of one vault."""

    def __init__(self, vault: Vault, daily: Daily, clock: Clock, judge: Judge) -> None:
        self._vault, self._daily, self._clock, self._judge = vault, daily, clock, judge

    def compress(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Compress every note that is too large; a dry run says what would become of it."""
        done, skipped = [], {}
        for day in self._daily.days():
            path = file_of(day)
            try:
                if len(self._vault.folder.read(path).data) > DAILY_BYTES:
                    done.append((self._foreseen(day) if dry_run else self._compressed(day)).json())
            except MnemicError as error:
                skipped[path] = str(error)
        return {"compressed": done, "skipped": skipped, "dry_run": dry_run}

    def _foreseen(self, day: date) -> Plan:
        return self._plan(day, self._vault.folder.read(file_of(day)).data, None)

    def _compressed(self, day: date) -> Plan:
        path = file_of(day)
        with self._vault.alone() as tick:
            self._vault.read_back([path], tick, f"daily {day.isoformat()}")
            data = self._vault.folder.read(path).data
            commit = self._vault.history.holding(path, data)
            if commit is None:
                state = self._vault.history.state()
                raise Conflict(f"git does not hold it as it is (git: {state}), so its original would be lost: it was left")
            plan = self._plan(day, data, commit)
            for card, units in sorted(plan.cards.items()):
                self._move(day, card, units)
            self._vault.change(path, self._cut(plan))
            self._vault.read_back([*sorted(plan.cards), path], tick, f"compress {day.isoformat()}")
        return plan

    def _cut(self, plan: Plan) -> Callable[[bytes], bytes]:
        def cut(data: bytes) -> bytes:
            if sha256(data) != sha256(plan.before):
                raise Conflict("it was edited meanwhile: it was left, compress it again")
            return plan.after

        return cut

    # what becomes of a note

    def _plan(self, day: date, data: bytes, commit: str | None) -> Plan:
        if data.decode("utf-8", "replace").encode() != data:
            raise BadInput("it is not UTF-8 text: convert it")
        parts = frontmatter.split(data)
        body = parts.body
        head, newline = data[: len(data) - len(body)], "\r\n" if b"\r\n" in data else "\n"
        lines = lines_of(body)
        title = next((line.plain for line in lines if line.text.strip()), "")
        title = title if title.startswith("# ") else f"# {day.isoformat()}"
        units = self._units([line for line in lines if line.plain != title])
        plan = Plan(day, data, commit=commit)
        self._place(plan, [unit for unit in units if not unit.ours])
        today = day_at(to_ms(self._clock.now()), self._vault.settings.timezone)
        where = f"git show {commit[:12] if commit else '…'}:{file_of(day)}"
        told = f"- Compressed on {today.isoformat()} from {len(data):,} bytes; the original: `{where}`"
        best = _best(units, LINES - FRAME_LINES)
        own = [unit.lines[0] for unit in best if unit.link is None]
        summary = [_summed(unit) for unit in best if unit.link is not None]
        rows = [title, *own, "", BEGIN, told, *summary, END]
        plan.after = head + newline.join([*rows, ""]).encode("utf-8")
        return plan

    def _units(self, lines: Sequence[Line]) -> list[_Unit]:
        units: list[_Unit] = []
        fence = Fence()
        for line in lines:
            plain = line.plain
            if fence.open:
                fence.takes(plain)
                units[-1].lines.append(plain)
            elif line.ours:
                self._mirrored(line, units)
            elif fence.takes(plain) or plain.strip() and not _HEADING.match(plain):
                units.append(_Unit([plain], ""))
        for unit in units:
            unit.kind = unit.kind or self._judge(unit.text)
        return units

    def _mirrored(self, line: Line, units: list[_Unit]) -> None:
        if line.head:
            plain = line.plain
            known = re.search(r" → (\[\[[^\[\]]+\]\]|\[[^\[\]]*\]\([^()\s]+\))$", plain)
            link = known[1] if known else f"[{line.path}]({line.path})"
            text = plain[: known.start()] if known else re.sub(r"\[(.*)\]\([^()]*\)", r"\1", plain)
            units.append(_Unit([text], "", link, ours=True))
        elif line.plain.startswith("  - **") and units and units[-1].ours and len(units[-1].lines[0]) < SUMMARY_CHARS:
            units[-1].lines[0] += f": {line.plain.partition('**: ')[2]}"

    def _place(self, plan: Plan, units: Sequence[_Unit]) -> None:
        """Which card each fact moves to: one it names, else the day's own."""
        files = [row for row in self._vault.known() if row.kind == "card" and row.status != "inactive"]
        paths = [row.path for row in self._vault.known()]
        by_name = {stem(row.path).rpartition("/")[2]: row.path for row in files}
        cards, names = set(by_name.values()), Names(by_name)
        by_key: dict[str, list[str]] = {}
        for path in paths:
            by_key.setdefault(key_of(path), []).append(path)
        own = f"cards/notes/Facts of {plan.day.isoformat()}.md"
        for unit in units:
            if unit.kind == "note":
                continue
            found = None
            if len(unit.lines) == 1:
                here = file_of(plan.day)
                linked = [resolve(link.target, here, by_key.get(key_of(link.target), ())) for link in links(unit.text)]
                named = [by_name.get(name) for _, name in names.within(unit.text)]
                found = next((path for path in (*linked, *named) if path in cards), None)
            plan.cards.setdefault(found or own, []).append(unit)
            name = stem(found or own)
            short = name.rpartition("/")[2]
            unit.link = f"[[{short}]]" if len(by_key.get(key_of(short), ())) < 2 else f"[[{name}|{short}]]"

    # moving facts

    def _move(self, day: date, card: str, units: Sequence[_Unit]) -> None:
        """Put facts on a card, below its history; those that stand there are left."""
        name, facts = stem(card).rpartition("/")[2], list(dict.fromkeys(_fact(day, unit) for unit in units))
        if not self._vault.folder.exists(card):
            self._vault.room()
            today = day_at(to_ms(self._clock.now()), self._vault.settings.timezone)
            head = {
                "type": "note", "title": name, "description": f"What the daily note of {day.isoformat()} said",
                "tags": ["daily"], "status": "active", "created": today, "updated": today, "last_accessed": today,
                "relevance": 1.0, "tier": "active",
            }  # fmt: skip
            body = f"# {name}\n\n{HISTORY}\n\n" + "".join(f"{line}\n" for fact in facts for line in fact)
            self._vault.create(card, frontmatter.render(head, body), "human-file")
            return
        self._vault.catch_up(card, self._vault.tick())
        self._vault.change(card, lambda data: with_history(data, facts))


def with_history(data: bytes, entries: Sequence[Sequence[str]]) -> bytes:
    """A card with entries added to its history; those that are there are not."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    plain = "\n".join(["", *(line.removesuffix("\r") for line in lines), ""])
    new = [line for entry in entries if "\n".join(["", *entry, ""]) not in plain for line in entry]
    return extended(data, [line.encode("utf-8", "surrogateescape") for line in new]) if new else data


def _fact(day: date, unit: _Unit) -> tuple[str, ...]:
    source = f"[[{day.isoformat()}]]"
    if len(unit.lines) > 1:
        return (f"- {source}:", "", *unit.lines, "")
    return (f"- {source}: {unit.words}",)


def _best(units: Sequence[_Unit], count: int) -> list[_Unit]:
    """The units that are kept, in their order: the weightiest, each unlike those before; of code and long lines none unmoved."""
    fitting = [unit for unit in units if unit.link or (len(unit.lines) == 1 and len(unit.lines[0]) <= SUMMARY_CHARS)]
    kept: list[int] = []
    said: list[frozenset[str]] = []
    for place in sorted(range(len(fitting)), key=lambda place: (WEIGHTS.get(fitting[place].kind, 4), place)):
        words = frozenset(_WORD.findall(fitting[place].words.lower()))
        if len(kept) < count and not any(len(words & other) > ALIKE * len(words | other) for other in said):
            kept.append(place)
            said.append(words)
    return [fitting[place] for place in sorted(kept)]


def _summed(unit: _Unit) -> str:
    words = unit.words
    if not unit.ours:
        words = shown(words, SUMMARY_CHARS)
    elif len(words) > SUMMARY_CHARS:  # escaped already
        words = words[:SUMMARY_CHARS].rstrip("\\") + "…"
    return f"- {words} → {unit.link}"
