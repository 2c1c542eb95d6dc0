"""Daily notes: what was captured on a day, mirrored into `daily/YYYY-MM-DD.md`, and what a session's start reads of it.

A capture belongs to the day on which it was said, by the vault's time zone. What was said earlier and captured on the
day, such as an imported history, is told there by one line a session, so that the note is complete and stays small.

Which documents a note has been told is noted outside of it: a line that a person deletes stays away, and a note that
they delete comes back only for what is captured afterwards, or when somebody asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from mnemic.clock import Clock, to_ms
from mnemic.errors import BadInput, MnemicError, NotFound
from mnemic.knowledge.origin import checked, external, lowest
from mnemic.ledger.served import intact
from mnemic.lifecycle import Usages
from mnemic.lifecycle.usage import hidden_by, stand
from mnemic.models.document import Document, Message
from mnemic.models.event import Origin
from mnemic.settings import DecaySettings
from mnemic.store import Store
from mnemic.text.tree import body as content_start
from mnemic.vault import frontmatter
from mnemic.vault.daybook import Entry, clock_at, day_at, file_of, mirrored, own_text, paths_in, placed, shown, span
from mnemic.vault.vault import SCHEME, Vault, head_of

WORDLESS = ("tool", "function")
TITLE_CHARS = 80
ELSEWHERE = ("summary", "article", "talk", "card", "daily", "moc", "meta")
"""Kinds that are no captures."""
MOST_SESSIONS = 20
"""Sessions of earlier days that a note names one by one."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a session's start reads of a day's note."""

    path: str
    date: str
    own: list[str]
    """A person's lines."""
    mirrored: list[str]
    """mnemic's lines."""
    origin: Origin
    """The lowest origin of what is told there."""


@dataclass(slots=True)
class Done:
    """What became of a note."""

    status: str = "unchanged"
    """created, updated, unchanged, nothing (there is nothing to tell), or skipped."""
    added: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Day:
    """The memories of a day."""

    entries: list[Entry] = field(default_factory=list)
    ids: frozenset[int] = frozenset()
    origins: tuple[Origin, ...] = ()


class Daily:
    """The daily notes of one vault."""

    def __init__(
        self, vault: Vault, store: Store, usages: Usages, clock: Clock, ns: str, decay: DecaySettings
    ) -> None:
        self._vault, self._store, self._usages, self._clock, self._ns = vault, store, usages, clock, ns
        self._decay = decay
        if vault.settings.daily:
            vault.mirror = self._after_sync

    def today(self) -> date:
        """The day that it is in the vault's time zone."""
        return day_at(to_ms(self._clock.now()), self._zone)

    @property
    def _zone(self) -> str:
        return self._vault.settings.timezone

    # showing

    def named(self, name: str | None) -> dict[str, Any]:
        """The note of a day that is named as a person does, e.g. 2026-11-30, today, yesterday. Raises BadInput."""
        if name is None or name.strip().lower() == "today":
            return self.note()
        if name.strip().lower() == "yesterday":
            return self.note(self.today() - timedelta(days=1))
        try:
            return self.note(date.fromisoformat(name.strip()))
        except ValueError:
            from mnemic.text.when import parse_moment

            return self.note(parse_moment(name, self._clock.now()).date())

    def note(self, day: date | None = None) -> dict[str, Any]:
        """A day's note, brought up to date: asking for it makes it anew where it was deleted."""
        day = day or self.today()
        with self._vault.alone() as tick:
            done = self._update(day, tick, asked=True)
        path = file_of(day)
        data = self._vault.folder.read(path).data if self._vault.folder.exists(path) else b""
        return {
            "date": day.isoformat(), "path": path, "status": done.status, "added": done.added, "reason": done.reason,
            **self.standing(day), "bytes": len(data), "frontmatter": head_of(data),
            "body": frontmatter.split(data).body.decode("utf-8", "replace"),
        }  # fmt: skip

    def all(self) -> list[dict[str, Any]]:
        """All daily notes, newest first, with their size and tier."""
        rows = []
        for day in self.days():
            try:
                size = len(self._vault.folder.read(file_of(day)).data)
            except MnemicError:
                continue
            rows.append({"date": day.isoformat(), "path": file_of(day), "bytes": size, **self.standing(day)})
        return rows

    def days(self) -> list[date]:
        """The days that have a note, newest first."""
        from mnemic.vault.daybook import FOLDER, day_of
        from mnemic.vault.scan import scan

        found = (day_of(f"{FOLDER}/{path}") for path in scan(self._vault.root / FOLDER).notes)
        return sorted((day for day in found if day), reverse=True)

    def standing(self, day: date) -> dict[str, Any]:
        """The tier and relevance of a day's note: by its day or its last use, whichever is later (001 §2.6)."""
        document = self._store.document_by_source(self._ns, self._vault.source(file_of(day)))
        if document is not None:
            found = self._usages.standing(self._ns, document)
            return {"tier": found.tier, "relevance": round(found.relevance, 4)}
        tier, left = stand(span(day, self._zone)[0], None, "daily", to_ms(self._clock.now()), self._decay)
        return {"tier": tier, "relevance": round(left, 4)}

    def pages(self, *, follow: bool = True) -> tuple[list[Page], list[str]]:
        """Today's and yesterday's notes, with `follow` brought up to date, and what went wrong with them."""
        today = self.today()
        days, problems, found = (today, today - timedelta(days=1)), list[str](), list[Page | None]()
        if not (follow and self._vault.settings.daily):
            found = [self._page(day, self._day(day), problems) for day in days]
            return [page for page in found if page], problems
        with self._vault.alone() as tick:  # until it is read, so that nobody writes what these memories do not have
            for day in days:
                memories = self._day(day)
                done = self._update(day, tick, memories=memories)
                if done.status == "skipped":
                    problems.append(f"{file_of(day)}: {done.reason}")
                found.append(self._page(day, memories, problems))
        return [page for page in found if page], problems

    def _page(self, day: date, memories: _Day, problems: list[str]) -> Page | None:
        path = file_of(day)
        if not self._vault.folder.exists(path):
            return None
        try:
            data = self._vault.folder.read(path).data
            own = frontmatter.split(own_text(data)).body.decode("utf-8", "replace").splitlines()
        except MnemicError as error:
            problems.append(f"{path}: {error}")
            return None
        own = [] if self._vault.hidden(path) else own
        there = paths_in(data)
        origins = [origin for entry, origin in zip(memories.entries, memories.origins, strict=True) if entry.path in there]
        return Page(path, day.isoformat(), own, mirrored(data), lowest([*origins, "human-file"]))

    # keeping

    def _after_sync(self, tick: int) -> list[str]:
        """Bring the last two days' notes up to date; returns those that changed."""
        today = self.today()
        changed = []
        for day in (today - timedelta(days=1), today):
            if self._update(day, tick).status in ("created", "updated"):
                changed.append(file_of(day))
        return changed

    def told_of(self, documents: Iterable[Document]) -> list[date]:
        """The days whose notes tell of some documents."""
        documents = list(documents)
        days = {day_at(ms, self._zone) for one in documents for ms in (one.created_at, one.recorded_at)}
        paths = {one.path for one in documents} | {path for one in documents if (path := _session_path(one))}
        found = []
        for day in sorted(days):
            try:
                if paths & paths_in(self._vault.folder.read(file_of(day)).data):
                    found.append(day)
            except NotFound:
                continue
            except MnemicError:  # it may tell of them: `withdraw` says why that is not known
                found.append(day)
        return found

    def withdraw(self, days: Sequence[date], paths: Collection[str]) -> list[str]:
        """Some memories were forgotten, erased in part or whole: take them out of the notes. Returns what went wrong."""
        problems = []
        try:
            with self._vault.alone() as tick:
                for day in days:
                    done = self._update(day, tick, add=False, redo=paths)
                    if done.status == "skipped":
                        problems.append(f"{file_of(day)}: {done.reason}")
        except OSError as error:
            problems.append(f"the daily notes: they cannot be written ({error.strerror})")
        return problems

    def _update(
        self, day: date, tick: int, *, asked: bool = False, add: bool = True, redo: Collection[str] = (),
        memories: _Day | None = None,
    ) -> Done:  # fmt: skip
        """Bring one note up to date; what cannot be read or written is left as it is, with the reason."""
        try:
            return self._updated(day, self._day(day) if memories is None else memories, tick, asked, add, redo)
        except MnemicError as error:
            return Done("skipped", reason=str(error))

    def _updated(self, day: date, memories: _Day, tick: int, asked: bool, add: bool, redo: Collection[str]) -> Done:
        path, key = file_of(day), f"daily:{self._ns}:{day.isoformat()}"
        told = frozenset[int](json.loads(self._store.meta(key) or "[]"))
        exists = self._vault.folder.exists(path)
        if not exists and (row := self._store.vault_file(self._ns, path)) is not None and row.state == "kept":
            self._vault.look(tick)  # moved or deleted since the last sync: that is taken in as a person's first
        fresh = (memories.ids if asked and not exists else memories.ids - told) if add else frozenset()
        if not exists:
            if not fresh:
                return Done("nothing", reason="nothing was captured on this day" if not memories.ids else None)
            data = placed(_new(day), memories.entries, (), (), fresh)
            self._vault.create(path, data, "human-file")
            done = Done("created", added=len(paths_in(data)))
        else:
            done = self._edited(path, memories, fresh, redo, tick)
        if done.status in ("created", "updated"):
            self._vault.read_back([path], tick, f"daily {day.isoformat()}")
        if done.status != "skipped" and (now := (told & memories.ids) | fresh) != told:
            self._store.set_meta(key, json.dumps(sorted(now), separators=(",", ":")))
        return done

    def _edited(
        self, path: str, memories: _Day, fresh: frozenset[int], redo: Collection[str], tick: int
    ) -> Done:
        found = self._vault.folder.read(path)
        dead = {name for name in paths_in(found.data) if not self._alive(name)}
        if _placed(found.data, memories, dead, redo, fresh) == found.data:
            return Done()
        self._vault.catch_up(path, tick)
        self._vault.change(path, lambda data: _placed(data, memories, dead, redo, fresh))
        before, after = paths_in(found.data), paths_in(self._vault.folder.read(path).data)
        return Done("updated", added=len(after - before))

    def _alive(self, path: str) -> bool:
        if hidden_by(path, self._store.forgotten(self._ns)) is not None:
            return False
        return self._store.document(self._ns, path) is not None or bool(self._store.documents(self._ns, below=path, limit=1))

    # reading what was captured

    def _day(self, day: date) -> _Day:
        """The memories of a day in the order in which they were said."""
        since, until = span(day, self._zone)
        forgotten = self._store.forgotten(self._ns)
        said: list[tuple[int, Entry, Origin]] = []
        late: dict[str, list[Document]] = {}
        for document in self._store.documents_of(self._ns, since, until):
            if not _captured(document) or hidden_by(document.path, forgotten) is not None:
                continue
            at = min(document.created_at, document.recorded_at)
            if at >= since:
                said.append((at, self._entry(document, at, forgotten), checked(document.origin)))
            else:
                late.setdefault(_session_path(document) or document.path, []).append(document)
        if len(late) > MOST_SESSIONS:  # an import: one line for all of it
            late = {"/sessions": [one for path in list(late) if late[path][0].session for one in late.pop(path)], **late}
        for path, documents in late.items():
            if documents:
                origin = lowest(checked(one.origin) for one in documents)
                said.append((documents[0].recorded_at, self._late(path, documents, origin), origin))
        said.sort(key=lambda item: (item[0], item[1].ids))
        ids = frozenset(number for _, entry, _ in said for number in entry.ids)
        return _Day([entry for _, entry, _ in said], ids, tuple(origin for _, _, origin in said))

    def _entry(self, document: Document, at: int, forgotten: dict[str, int]) -> Entry:
        name = shown(document.title, TITLE_CHARS) or document.path
        head = f"- {clock_at(at, self._zone)} [{name}]({document.path}){_from(document.origin)}"
        if any(path.startswith(document.path + "/") for path in forgotten):  # a part of it is not to be shown
            return Entry(document.path, (document.id,), (head.replace(f"[{name}]", f"[{document.path}]", 1),))
        versions = [tuple([head, *under]) for under in self._quotes(document)]
        return Entry(document.path, (document.id,), versions[-1], tuple(versions[:-1]))

    def _quotes(self, document: Document) -> list[list[str]]:
        """What is quoted of a document, as it grew; the last is how it stands."""
        messages = self._store.messages(self._ns, document=document.id)
        ids = [item.text_id for item in messages] if document.text_id is None else [document.text_id]
        bodies = self._store.texts(self._ns, ids, document.shelf)
        if not intact(self._store, self._ns, document.id, bodies):
            return [[]]
        if document.text_id is not None:
            text = bodies.get(document.text_id, "")
            return [_said(document.kind, text[content_start(text) :], document.title)]
        spoken = [item for item in messages if item.role not in WORDLESS]
        return [_exchange(spoken[:count], bodies, document.title) for count in range(min(1, len(spoken)), len(spoken) + 1)]

    def _late(self, path: str, documents: Sequence[Document], origin: Origin) -> Entry:
        """What was said on an earlier day and captured on this one."""
        first, times = documents[0], [one.created_at for one in documents]
        begun, ended = (day_at(at, self._zone).isoformat() for at in (min(times), max(times)))
        when = begun if begun == ended else f"{begun} to {ended}"
        what = "exchange" if first.session else first.kind
        name = path if path == "/sessions" else shown(first.session or first.title, TITLE_CHARS)
        many = f"{len(documents):,} {what}{'s' if len(documents) > 1 else ''}"
        line = f"- {clock_at(first.recorded_at, self._zone)} {many} of {when}: [{name}]({path}){_from(origin)}"
        return Entry(path, tuple(one.id for one in documents), (line,), tally=True)


def _placed(data: bytes, memories: _Day, dead: Collection[str], redo: Collection[str], fresh: Set[int]) -> bytes:
    """Raises BadInput where something is to be added and there is no telling what stands there."""
    if fresh and not data.strip():
        raise BadInput("it is empty and may be half saved: it was left alone")
    if fresh and data.decode("utf-8", "replace").encode() != data:
        raise BadInput("it is not UTF-8 text: convert it")
    return placed(data, memories.entries, dead, redo, fresh)


def _new(day: date) -> bytes:
    name = day.isoformat()
    return frontmatter.render({"type": "daily", "title": name, "created": day}, f"# {name}\n")


def _captured(document: Document) -> bool:
    """Whether a document is a capture, and not a note of the vault or made from others."""
    return document.kind not in ELSEWHERE and not (document.source or "").startswith(SCHEME)


def _session_path(document: Document) -> str | None:
    return document.path.rpartition("/")[0] if document.session else None


def _from(origin: str) -> str:
    return f", from {origin}" if external(checked(origin)) else ""


def _said(who: str, text: str, title: str = "") -> list[str]:
    words = shown(text)
    return [f"  - **{shown(who, TITLE_CHARS)}**: {words}"] if words and words != shown(title) else []


def _exchange(messages: Sequence[Message], bodies: dict[int, str], title: str) -> list[str]:
    """The first words of the one who asked, and the last of the one who answered."""
    if not messages:
        return []
    first, last = messages[0], messages[-1]
    found = _said(first.name or first.role, bodies.get(first.text_id, ""), title)
    if last is not first and last.role != first.role:
        found += _said(last.name or last.role, bodies.get(last.text_id, ""))
    return found
