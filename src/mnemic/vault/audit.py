"""What a vault should not have, as a linter finds it: it reads the files as they are now, and changes nothing.

    state         the state file is 4 KB or more, or has over 80 lines
    loaded        what is loaded all the time has 25 KB or more in all, or its configuration 15 KB or more
    described     the same person or project is described in three or more files: one fact, one place (001 §2.1)
    daily         a daily note is over 20 KB
    link          a wikilink leads nowhere
    stale         a card in use was not used for over 90 days
    description   a card has no description
    unreadable    a file cannot be read
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mnemic.clock import DAY_MS, Clock, to_ms
from mnemic.errors import MnemicError
from mnemic.lifecycle.usage import Usage
from mnemic.store import Store
from mnemic.vault import frontmatter
from mnemic.vault.daybook import day_of
from mnemic.vault.files import Read
from mnemic.vault.links import Graph, key_of, links, stem
from mnemic.vault.names import Names
from mnemic.vault.scan import scan
from mnemic.vault.state import CONFIG_BYTES, DAILY_BYTES, FILE, LOADED_BYTES, STATE_BYTES, STATE_LINES, Measure, measure
from mnemic.vault.vault import Vault, head_of, kind_of

STALE_DAYS = 90
FILES = 3
"""In so many files nothing may be described."""
WORDS, WIDE_CHARS = 8, 12
"""What the sentences that name somebody must have besides, to describe them: words, or characters of Chinese or Japanese."""
TYPES = ("crm", "lead", "contact", "person", "personal", "project")
FOLDERS = ("cards/people", "cards/projects", "cards/crm", "cards/leads", "cards/personal")
DONE = ("inactive", "done", "lost")
LOGS = ("daily", "moc", "talk")
"""Kinds in which everybody may be named: what happened, what there is, what is disputed."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*")


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong, and where."""

    rule: str
    path: str
    message: str
    value: int | None = None
    limit: int | None = None

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(slots=True)
class _Seen:
    """What one look at all files found."""

    heads: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    reads: dict[str, Read] = field(default_factory=dict)


class Audit:
    """The linter of one vault."""

    def __init__(self, vault: Vault, store: Store, clock: Clock, ns: str) -> None:
        self._vault, self._store, self._clock, self._ns = vault, store, clock, ns

    def audit(self, loaded: Sequence[Measure]) -> dict[str, Any]:
        """Everything that is wrong; `loaded` is what is loaded all the time."""
        seen, found = _Seen(), list[Violation]()
        listing = scan(self._vault.root) if self._vault.root.is_dir() else None
        for path in sorted(listing.notes) if listing else ():
            try:
                read = self._vault.folder.read(path)
            except MnemicError as error:
                found.append(Violation("unreadable", path, str(error)))
                continue
            seen.reads[path], seen.heads[path] = read, head_of(read.data)
            seen.texts[path] = read.data.decode("utf-8-sig", "replace")
        if listing:
            found += [Violation("unreadable", path, why) for path, why in sorted(listing.skipped.items())]
        cards = [path for path in seen.reads if kind_of(path) == "card"]
        found += [*_too_much(loaded, seen), *_large(seen), *_broken(seen), *self._stale(seen, cards)]
        found += [
            Violation("description", path, "it has no description: one line says what it is about")
            for path in cards
            if not str(seen.heads[path].get("description") or "").strip() and seen.heads[path].get("status") not in DONE
        ]
        names = _entities(seen, cards)
        found += _described(seen, names)
        return {
            "ok": not found, "violations": [one.json() for one in found],
            "checked": {"files": len(seen.reads), "cards": len(cards), "names": len(names)},
        }  # fmt: skip

    def _stale(self, seen: _Seen, cards: Iterable[str]) -> Iterable[Violation]:
        now = to_ms(self._clock.now())
        for path in cards:
            head = seen.heads[path]
            if head.get("status") in DONE or head.get("tier") == "core":
                continue
            document = self._store.document_by_source(self._ns, self._vault.source(path))
            row = self._store.row(self._ns, "usage", (document.id,)) if document else None
            usage = Usage(**row) if row else None
            if usage is not None and usage.tier == "core":
                continue
            said = [_moment(head.get(key)) for key in ("last_accessed", "updated", "created")]
            dates = [usage.last_accessed if usage else None, *said]
            known = [ms for ms in dates if ms is not None]
            days = max(0, now - (max(known) if known else seen.reads[path].stamp.mtime_ns // 1_000_000)) // DAY_MS
            if days > STALE_DAYS:
                yield Violation("stale", path, f"it was not used for {days} days: touch, update or retire it", days, STALE_DAYS)


def totals(loaded: Sequence[Measure]) -> dict[str, Any]:
    """What is loaded, in all and against the targets."""
    size, tokens = sum(one.bytes for one in loaded), sum(one.tokens for one in loaded)
    config = sum(one.bytes for one in loaded if one.what == "config")
    return {"bytes": size, "tokens": tokens, "limit": LOADED_BYTES, "over": size >= LOADED_BYTES, "config_bytes": config,
            "config_limit": CONFIG_BYTES, "config_over": config >= CONFIG_BYTES}  # fmt: skip


def _too_much(loaded: Sequence[Measure], seen: _Seen) -> Iterable[Violation]:
    if FILE in seen.reads:
        state = measure("state", FILE, seen.reads[FILE].data, STATE_BYTES)
        if state.bytes >= STATE_BYTES:
            yield Violation("state", FILE, f"it has {state.bytes:,} bytes, it must stay below {STATE_BYTES:,}: move what is not"
                            " needed in every session to cards", state.bytes, STATE_BYTES)  # fmt: skip
        if state.lines > STATE_LINES:
            yield Violation("state", FILE, f"it has {state.lines} lines, at most {STATE_LINES} are read in every session: cut it",
                            state.lines, STATE_LINES)  # fmt: skip
    total = totals(loaded)
    if total["over"]:
        largest = max(loaded, key=lambda one: one.bytes)
        yield Violation("loaded", largest.path, f"{total['bytes']:,} bytes are loaded all the time, they must stay below"
                        f" {LOADED_BYTES:,}; this is the largest part", total["bytes"], LOADED_BYTES)  # fmt: skip
    if total["config_over"]:
        path = ", ".join(one.path for one in loaded if one.what == "config")
        yield Violation("loaded", path, f"the configuration has {total['config_bytes']:,} bytes, it must stay below"
                        f" {CONFIG_BYTES:,}", total["config_bytes"], CONFIG_BYTES)  # fmt: skip


def _large(seen: _Seen) -> Iterable[Violation]:
    for path, read in seen.reads.items():
        size = len(read.data)
        if day_of(path) and size > DAILY_BYTES:
            yield Violation("daily", path, f"it has {size:,} bytes: `mnemic daily compress`", size, DAILY_BYTES)


def _broken(seen: _Seen) -> Iterable[Violation]:
    rows = [(path, link.target.strip()) for path, text in seen.texts.items() for link in links(text)]
    for source, target in Graph(seen.reads, rows).broken:
        yield Violation("link", source, f"[[{target}]] leads nowhere: make that note or correct the link")


def _entities(seen: _Seen, cards: Iterable[str]) -> dict[str, str]:
    """Every name of a person or project → the name that it is reported under."""
    found: dict[str, str] = {}
    for path in cards:
        head = seen.heads[path]
        if head.get("type") not in TYPES and not path.startswith(tuple(folder + "/" for folder in FOLDERS)):
            continue
        name = stem(path).rpartition("/")[2]
        aliases = head.get("aliases")
        others = [head.get("title"), *(aliases if isinstance(aliases, list) else [aliases])]
        for one in (name, *(str(other) for other in others if other)):
            found.setdefault(" ".join(one.split()), found.get(name, name))
    return found


def _described(seen: _Seen, entities: dict[str, str]) -> Iterable[Violation]:
    if not entities:
        return
    names, where = Names(entities), defaultdict[str, set[str]](set)
    by_key = {key_of(name): entity for name, entity in entities.items()}
    for path, text in seen.texts.items():
        if kind_of(path) in LOGS:
            continue
        title = " ".join(str(seen.heads[path].get("title") or "").split())
        for entity in {by_key.get(key_of(path)), entities.get(title)} - {None}:
            where[str(entity)].add(path)
        for entity in _told(seen.reads[path].data, text, names, entities):
            where[entity].add(path)
    for entity, paths in sorted(where.items()):
        if len(paths) >= FILES:
            files = sorted(paths)
            yield Violation("described", files[0], f"{entity!r} is described in {len(files)} files: {', '.join(files)};"
                            " keep the facts on one card and link to it", len(files), FILES)  # fmt: skip


def _told(data: bytes, text: str, names: Names, entities: dict[str, str]) -> set[str]:
    """Of whom a text says something: a heading bears the name, or sentences that name them say enough. Links are none."""
    with suppress(MnemicError):
        text = frontmatter.split(data).body.decode("utf-8", "replace")
    text, _, _ = text.partition("\n## History")
    found, told = set[str](), defaultdict[str, int](int)
    for sentence in _SENTENCE.split(_unlinked(text)):
        heading = _HEADING.fullmatch(sentence.strip())
        if heading:
            if entity := entities.get(" ".join(heading[1].split())):
                found.add(entity)
            continue
        for name in {name for _, name in names.within(sentence)}:
            rest = sentence.replace(name, "")
            wide = len(_WIDE.findall(rest))
            told[entities[name]] += len(_WORD.findall(_WIDE.sub(" ", rest))) + wide * WORDS // WIDE_CHARS
    return found | {entity for entity, words in told.items() if words >= WORDS}


def _unlinked(text: str) -> str:
    """A text without what stands in its wikilinks: to link to a card is what one should do."""
    parts, done = list[str](), 0
    for link in links(text):
        close = text.find("]]", link.end)
        parts.append(text[done : link.start - 2])
        done = close + 2 if close >= 0 else link.end
    return "".join([*parts, text[done:]])


def _moment(value: object) -> int | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
