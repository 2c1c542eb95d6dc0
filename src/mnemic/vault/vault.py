"""The vault: Markdown files that a person and mnemic both write, and the one way in which what stands there is taken in.

The files are the truth for their text; rows about them are derived. A file that changed since it was last read was
changed by a person, unless it holds exactly what mnemic had noted it was about to write (F05): so a kill between a
write and its record neither loses the write nor passes it off as a person's.

What was read goes out through a `Door`, behind which capture stands: flows meet in the store and do not call each other.
"""

from __future__ import annotations

import fcntl
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mnemic.clock import Clock, to_ms
from mnemic.errors import BadInput, Conflict, MnemicError, NotFound, QuotaExceeded, Refused
from mnemic.lifecycle.usage import hidden_by
from mnemic.models.document import Document
from mnemic.models.event import Origin
from mnemic.models.receipt import Receipt
from mnemic.settings import VaultSettings
from mnemic.store import Store, VaultFile
from mnemic.text.tree import slug
from mnemic.vault import daybook, frontmatter, moc
from mnemic.vault.files import Busy, Disk, Edit, Folder, Read, Stamp, contained, sha256
from mnemic.vault.history import History
from mnemic.vault.links import Graph, Link, key_of, leads, led, links, resolve, rewritten, stem, written
from mnemic.vault.log import only_appended
from mnemic.vault.scan import Listing, scan
from mnemic.vault.together import Together, journal_name

GONE = "its file was deleted from the vault"
"""Why a document is hidden whose file is gone; the file's return shows it again."""
BARE = "its file holds no text of a person's any more"
"""Why a document is hidden whose file holds only what mnemic wrote; a person's text shows it again."""
OWN_FOLDERS = ("articles", "talk", "cards", "daily", "moc", "meta")
KINDS = {"articles": "article", "talk": "talk", "cards": "card", "daily": "daily", "moc": "moc", "meta": "meta"}
SCHEME = "vault:"
"""Leads the source of a document that was read from here; the rest is its path."""
RACE_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again within the same tick: it is read once more."""
AUTOMATIC = ("type", "title", "created", "updated", "last_accessed", "relevance", "tier", "access_count")
"""Keys that say nothing that is not known from elsewhere, or change with use."""
BATCH = 200
HELD_SHARE, HELD_LEAST = 0.5, 20
"""When more than this share of so many notes is gone at once, their forgetting waits to be confirmed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file's text on its way into memory."""

    text: str
    title: str
    kind: str
    path: str
    """Where its document should stand."""
    source: str
    at: int
    """When the file was last changed, in ms."""
    origin: Origin
    was: str | None = None
    """The source it had before it was moved."""


class Door(Protocol):
    """What the vault needs of capture and of the ledger."""

    def room(self) -> None:
        """Raises QuotaExceeded where nothing may be added."""
        ...

    def take(self, page: Page) -> Receipt:
        """Raises QuotaExceeded for what is new where nothing may be added."""
        ...

    def hide(self, source: str, why: str) -> None:
        """The file of this source is gone, or bare."""
        ...

    def settle(self) -> None:
        """Nothing more comes for now."""
        ...


@dataclass(slots=True)
class Report:
    """What a sync found and did; of a dry run, what one would do."""

    new: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    moved: list[dict[str, str]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Half saved, or emptied just now: looked at again by the next sync."""
    held: list[str] = field(default_factory=list)
    """Gone, but so many at once that nothing was forgotten: `--accept-deletions`."""
    conflicts: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    mirrored: list[str] = field(default_factory=list)
    """Daily notes into which what was captured since was written."""
    unchanged: int = 0
    commit: str | None = None
    dry_run: bool = False

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Vault:
    """One namespace's vault."""

    def __init__(
        self, root: Path, lock: Path, store: Store, clock: Clock, ns: str, settings: VaultSettings, door: Door,
        *, disk: Disk | None = None,
    ) -> None:  # fmt: skip
        self.root, self.folder = root, Folder(root, disk)
        self._lock, self._store, self._clock, self._ns, self._door = lock, store, clock, ns, door
        self.settings = settings
        self.history = History(root, settings.git)
        self.git_problem: str | None = None
        self.together = Together(self, lock.parent / "journal" / journal_name(ns), store, ns)
        self.mirror: Callable[[int], list[str]] | None = None
        """Brings the daily notes up to date after a sync; returns those that it changed."""

    # syncing

    def sync(
        self, *, dry_run: bool = False, accept_deletions: bool = False, progress: Callable[[int], None] | None = None
    ) -> Report:
        """Take in what people changed since the last sync. Running it twice is harmless.

        `progress` is told how many changed files are taken in.
        """
        if dry_run:
            return self._synced(scan(self.root), 0, True, accept_deletions)
        with self.alone() as tick:
            self.together.recover(tick)
            self.finish_renames()
            report = self._synced(scan(self.root), tick, False, accept_deletions, progress)
            if self.mirror is not None:
                report.mirrored = self.mirror(tick)
            return report

    def look(self, tick: int) -> Report:
        """`sync` for one who is alone already: without what follows from it."""
        return self._synced(scan(self.root), tick, False, False)

    def _synced(
        self, listing: Listing, tick: int, dry_run: bool, accept: bool, progress: Callable[[int], None] | None = None
    ) -> Report:
        report = Report(skipped=dict(listing.skipped), conflicts=sorted(listing.copies), dry_run=dry_run)
        known = {row.path: row for row in self._store.vault_files(self._ns)}
        if not known and not self.root.exists():  # not begun yet, rather than gone
            report.skipped.clear()
            if not dry_run:
                self.root.mkdir(mode=0o700, parents=True)
        if not dry_run:
            for path in listing.side:
                if kept := self.folder.sweep(path):
                    report.conflicts.append(kept)
        changed = {path: stamp for path, stamp in listing.notes.items() if not _same(known.get(path), stamp)}
        report.unchanged = len(listing.notes) - len(changed)
        gone = [row for path, row in known.items() if row.state != "gone" and listing.knows_absence(path)]
        reads = self._read_all(changed, known, report)
        moves = _moves(reads, known, gone)
        moved = set(moves.values())
        lost = [row for row in gone if row.path not in moved]
        held = self._held(listing, lost, known, accept)
        if dry_run:
            self._foresee(reads, known, moves, lost, held, report)
            return report
        batch = _Batch(self._store, self._ns)
        # What a killed sync took in and did not commit may be missing from its map as well.
        batch.maps |= {moc.moc_of(path) for path, _ in self._store.vault_uncommitted(self._ns)}
        for done, (path, found) in enumerate(reads, 1):
            self._take(path, found, known, moves.get(path), tick, report, batch)
            if progress:
                progress(done)
        for row in lost:
            if row.path in held:
                report.held.append(row.path)
            elif row.state == "kept":
                self._door.hide(self.source(row.path), GONE)
                batch.put(replace(row, state="gone", committed=0), links=())
                report.deleted.append(row.path)
            else:
                batch.drop(row.path)
        batch.close()
        if "" not in listing.closed:  # nothing is made where the folder is not to be seen
            self._keep_maps(batch.maps, tick)
        report.commit = self._commit(_summary(report))
        if self.git_problem:
            report.skipped[".git"] = self.git_problem
        self._door.settle()  # also what a killed sync took in
        return report

    def _read_all(
        self, changed: dict[str, Stamp], known: dict[str, VaultFile], report: Report
    ) -> Iterator[tuple[str, Read]] | list[tuple[str, Read]]:
        reads = []
        for path in changed:
            try:
                reads.append((path, self.folder.read(path)))
            except (Busy, NotFound):
                report.waiting.append(path)
            except MnemicError as error:
                report.skipped[path] = str(error)
        return reads

    def _held(
        self, listing: Listing, lost: list[VaultFile], known: dict[str, VaultFile], accept: bool
    ) -> set[str]:
        kept = sum(row.state == "kept" for row in known.values())
        many = len(lost) >= HELD_LEAST and len(lost) > HELD_SHARE * kept
        return {row.path for row in lost} if lost and not accept and (many or not listing.entries) else set()

    def _foresee(
        self, reads: Any, known: dict[str, VaultFile], moves: dict[str, str], lost: list[VaultFile], held: set[str],
        report: Report,
    ) -> None:  # fmt: skip
        for path, found in reads:
            before = known.get(path)
            if path in moves:
                report.moved.append({"from": moves[path], "to": path})
            elif before is None or before.state in ("gone", "writing"):
                report.new.append(path)
            elif before.digest == found.digest:
                report.unchanged += 1
            elif not found.data.strip():
                report.waiting.append(path)
            else:
                report.edited.append(path)
        report.held = sorted(held)
        report.deleted = [row.path for row in lost if row.path not in held and row.state == "kept"]

    def _take(
        self, path: str, found: Read, known: dict[str, VaultFile], was: str | None, tick: int, report: Report,
        batch: _Batch,
    ) -> None:  # fmt: skip
        before = known.get(was or path)
        head = head_of(found.data)
        fresh = self._row(path, found, head, before, tick)
        if was is None and before is not None and before.digest == found.digest and before.state not in ("gone", "writing"):
            batch.put(replace(before, mtime_ns=fresh.mtime_ns, ctime_ns=fresh.ctime_ns, size=fresh.size, inode=fresh.inode))
            report.unchanged += 1
            if before.state == "empty" and _seen_before(before, found):
                self._door.hide(self.source(path), GONE)
                batch.put(replace(fresh, state="refused", why="it is empty"), links=())
                report.deleted.append(path)
            return
        if not found.data.strip() and before is not None and before.state == "kept" and was is None:
            batch.put(replace(fresh, state="empty"))
            report.waiting.append(path)
            return
        text, why = _decoded(found.data)
        if why is None:
            try:
                why = self._handed_over(path, text, head, found, fresh, was)
            except QuotaExceeded as error:  # nothing is noted of it, so that the next sync tries again
                report.skipped[path] = str(error)
                return
        if why is not None:
            report.skipped[path] = why
            fresh = replace(fresh, state="refused", why=why)
        batch.put(fresh, links=_link_rows(text, path) if fresh.kind != "moc" else (), listed=_listed(before) != _listed(fresh))
        if was is not None:
            batch.put(replace(before or fresh, path=was, key=key_of(was), state="gone", committed=0), links=())
            report.moved.append({"from": was, "to": path})
        elif before is None or before.state in ("gone", "writing"):
            report.new.append(path)
        else:
            report.edited.append(path)

    def _handed_over(
        self, path: str, text: str, head: Mapping[str, Any], found: Read, row: VaultFile, was: str | None
    ) -> str | None:
        """Give a text to memory; why that was refused, if so."""
        data, at = found.data, found.stamp.mtime_ns // 1_000_000
        if row.kind in ("moc", "daily"):
            data = (moc if row.kind == "moc" else daybook).own_text(data)
            text = data.decode("utf-8-sig", "replace")
            if not _says_something(data):
                self._door.hide(self.source(path), BARE)
                return None
        if row.kind != "moc":
            text = page_text(head, data, text)
        if row.kind == "daily" and (day := daybook.day_of(path)):
            at = daybook.span(day, self.settings.timezone)[0]
        page = Page(
            text=text, title=stem(path).rpartition("/")[2], kind=row.kind, path=document_path(path),
            source=self.source(path), at=at, origin=row.origin,  # type: ignore[arg-type]
            was=self.source(was) if was else None,
        )  # fmt: skip
        try:
            receipt = self._door.take(page)
        except BadInput as error:
            return str(error)
        return receipt.reason if receipt.status == "rejected" else None

    def _row(
        self, path: str, found: Read, head: Mapping[str, Any], before: VaultFile | None, tick: int
    ) -> VaultFile:
        ours = before is not None and before.intent == found.digest
        stamp = found.stamp
        racy = stamp.mtime_ns >= tick - RACE_NS
        return VaultFile(
            path, key_of(path), "kept", stamp.mtime_ns, stamp.ctime_ns, -1 if racy else stamp.size, stamp.inode,
            found.digest, "", before.origin if ours and before else "human-file", kind_of(path),
            str(head.get("type") or ""), str(head.get("description") or ""), str(head.get("status") or ""), 0, "",
        )  # fmt: skip

    # writing

    def room(self) -> None:
        """Raises QuotaExceeded where nothing may be added to memory."""
        self._door.room()

    def write(self, path: str, data: bytes, origin: Origin, message: str = "card new") -> None:
        """Make a new file and take it in. Raises Conflict if one is there, QuotaExceeded."""
        self.room()
        with self.alone() as tick:
            self.create(path, data, origin)
            self.read_back([path], tick, message)

    def intend(self, texts: Mapping[str, tuple[bytes, Origin]]) -> None:
        """Note what is going to be written, so that it is known as ours (F05)."""
        with self._store.write(self._ns) as tx:
            for path, (data, origin) in texts.items():
                before = self._store.vault_file(self._ns, path)
                row = before or VaultFile(path, key_of(path), "writing", 0, 0, -1, 0, "", "", origin, kind_of(path),
                                          "", "", "", 0, "")  # fmt: skip
                state = "writing" if before is None or before.state == "gone" else before.state
                tx.put_vault_file(replace(row, intent=sha256(data), origin=origin, state=state))

    def take_out(self, path: str) -> None:
        """A file that is ours to take away goes; its document is hidden."""
        self.folder.remove(path)
        row = self._store.vault_file(self._ns, path)
        if row is None or row.state == "gone":
            return
        if row.state == "kept":
            self._door.hide(self.source(path), GONE)
        batch = _Batch(self._store, self._ns)
        if row.state == "writing":
            batch.drop(path)
        else:
            batch.put(replace(row, state="gone", committed=0), links=())
        batch.close()

    def create(self, path: str, data: bytes, origin: Origin) -> None:
        """Make a new file. Raises Conflict if one is there."""
        if self.folder.exists(path):
            raise Conflict(f"{path!r} is there already: choose another title, or edit it")
        self.intend({path: (data, origin)})
        self.folder.create(path, data)

    def revise(self, path: str, edit: Edit, message: str, by: Origin | None = None) -> None:
        """Edit a file in place and take it in; with `by`, as a text that is wholly theirs.

        Raises Refused if that changes what a History says already.
        """

        def checked(data: bytes) -> bytes:
            result = edit(data)
            if not only_appended(data, result):
                raise Refused(f"{path!r} has a History, to which lines can only be appended: nothing was changed")
            return result

        with self.alone() as tick:
            self.catch_up(path, tick)
            self.change(path, checked, by)
            self.read_back([path], tick, message)

    def catch_up(self, path: str, tick: int) -> None:
        """Take in what a person left in a file before it is edited: what is ours and what is theirs stay apart."""
        found, row = self.folder.read(path), self._store.vault_file(self._ns, path)
        if row is None or row.digest != found.digest:
            self.read_back([path], tick, "sync: 1 edited")

    def known(self) -> list[VaultFile]:
        """The files that the last sync read, by path."""
        return [row for row in self._store.vault_files(self._ns) if row.state not in ("gone", "writing")]

    def named(self, key: str) -> list[str]:
        """The files that bear a name."""
        return self._store.vault_named(self._ns, key)

    def origin_of(self, path: str) -> Origin:
        """Whose text a file holds, as the last sync knew it."""
        row = self._store.vault_file(self._ns, path)
        return row.origin if row else "human-file"  # type: ignore[return-value]

    def hidden(self, path: str) -> bool:
        """Whether the document of a file was forgotten."""
        found = self._store.document_by_source(self._ns, self.source(path))
        return found is not None and hidden_by(found.path, self._store.forgotten(self._ns)) is not None

    def file_at(self, document: str) -> str | None:
        """The file of a document."""
        found = self._store.document(self._ns, document)
        return self.file_of(found) if found else None

    def change(self, path: str, edit: Edit, by: Origin | None = None) -> None:
        """Edit a file in place, on top of whatever a person left there; what it is then is theirs, or of `by`."""

        def about(was: str, digest: str) -> None:
            row = self._store.vault_file(self._ns, path)
            if row is not None:
                origin = row.origin if row.digest == was else "human-file"
                self._note(replace(row, intent=digest, origin=by or origin))

        self.folder.update(path, edit, about)

    def read_back(self, paths: Sequence[str], tick: int, message: str) -> Report:
        """Take in files that mnemic itself has just written."""
        report, batch = Report(), _Batch(self._store, self._ns)
        known = {row.path: row for path in paths if (row := self._store.vault_file(self._ns, path))}
        for path in paths:
            found = self.folder.read(path)
            self._take(path, found, known, None, tick, report, batch)
        batch.close()
        self._keep_maps(batch.maps, tick)
        report.commit = self._commit(message)
        self._door.settle()
        return report

    def rename(self, path: str, to: str, edit: Edit) -> list[str]:
        """Give a note another name and let the links to it follow; returns the notes whose links were rewritten.

        What is to be done is noted first, so that a kill leaves it half done only until the next sync.
        """
        self.sync()
        with self.alone():
            if self.folder.exists(to) and key_of(to) != key_of(path):
                raise Conflict(f"{to!r} is there already: choose another title")
            with self._store.write(self._ns) as tx:
                tx.put_vault_rename(path, to)
            follow = self._follow(path, to)
            try:
                self.change(path, lambda data: follow.own(edit(data)))
            except MnemicError:
                self._renamed(path)
                raise
            return self.finish_renames()

    def finish_renames(self) -> list[str]:
        """Do what is left of the renames that were begun."""
        touched: list[str] = []
        for path, to in self._store.vault_renames(self._ns):
            if not self.folder.exists(path) and not self.folder.exists(to):
                self._renamed(path)
                continue
            sources = [source for source in self.backlinks(path) if source != path]
            name, follow = stem(to).rpartition("/")[2], self._follow(path, to)
            if self.folder.exists(path):
                self.change(path, follow.own)
                self.folder.move(path, to)
            tick = self.tick()
            report, batch = Report(), _Batch(self._store, self._ns)
            known = {row.path: row for name_ in (path, to) if (row := self._store.vault_file(self._ns, name_))}
            moving = path in known and known[path].state == "kept"
            self._take(to, self.folder.read(to), known, path if moving else None, tick, report, batch)
            batch.close()
            for source in sources:
                try:
                    self.change(source, follow.within(source))
                    touched.append(source)
                except MnemicError:  # left with a link that leads nowhere, which `status` tells
                    continue
            self.read_back(touched, tick, f"rename to {name}")
            self._keep_maps({moc.moc_of(path), moc.moc_of(to)}, tick)
            self._renamed(path)
            self._commit(f"rename to {name}")
        return touched

    def _follow(self, path: str, to: str) -> _Follow:
        candidates = {*self._store.vault_named(self._ns, key_of(path)), path}
        taken = set(self._store.vault_named(self._ns, key_of(to))) - {path, to}
        return _Follow(path, to, tuple(sorted(candidates)), bool(taken))

    def _renamed(self, path: str) -> None:
        with self._store.write(self._ns) as tx:
            tx.put_vault_rename(path, None)

    def _note(self, row: VaultFile) -> None:
        with self._store.write(self._ns) as tx:
            tx.put_vault_file(row)

    # links

    def backlinks(self, path: str) -> list[str]:
        """The notes that link to a note, by path."""
        key = key_of(path)
        candidates = sorted({*self._store.vault_named(self._ns, key), path})
        rows = self._store.vault_links(self._ns, key=key)
        return sorted({source for source, target, _, _ in rows if resolve(target, source, candidates) == path})

    def graph(self) -> Graph:
        """All links of the vault."""
        files = [row.path for row in self.known()]
        return Graph(files, ((source, target) for source, target, _, _ in self._store.vault_links(self._ns)))

    def links_of(self, path: str) -> dict[str, Any]:
        """What a note links to and what links to it."""
        forward = []
        for _, target, heading, alias in self._store.vault_links(self._ns, path=path):
            to = resolve(target, path, self._store.vault_named(self._ns, key_of(target)))
            forward.append({"target": target, "path": to, "heading": heading, "alias": alias})
        return {"path": path, "links": forward, "backlinks": self.backlinks(path)}

    def rebuild(self) -> dict[str, int]:
        """Read every note's links anew, and write every map."""
        with self.alone() as tick:
            batch, rows = _Batch(self._store, self._ns), self._store.vault_files(self._ns)
            before: dict[str, list[tuple[str, str, str]]] = {}
            for source, target, heading, alias in self._store.vault_links(self._ns):
                before.setdefault(source, []).append((target, heading, alias))
            maps: set[str | None] = set()
            for row in rows:
                if row.state == "kept" and row.kind != "moc":
                    text, _ = _decoded(self.folder.read(row.path).data)
                    found = _link_rows(text, row.path)
                    if [row[1:] for row in found] != before.get(row.path, []):
                        batch.link(row.path, found)
                    maps.add(moc.moc_of(row.path))
            batch.close()
            self._keep_maps(maps, tick)
            graph = self.graph()
        return {"notes": len(rows), "links": sum(map(len, graph.forward.values())), "broken": len(graph.broken)}

    def _keep_maps(self, maps: set[str | None], tick: int) -> None:
        """Bring the lists of these maps up to date; around them nothing is touched."""
        for path in sorted(name for name in maps if name):
            rows = self._store.vault_listed(self._ns, moc.folder_of(path))
            listed = [(card, stem(card).rpartition("/")[2], shown) for card, _, shown, status in rows if status != "inactive"]
            keys = Counter(key for _, key, _, _ in rows)
            inside = moc.region(listed, {card for card, key, _, _ in rows if keys[key] > 1})
            title = moc.folder_of(path).partition("/")[2].replace("/", " ").capitalize()
            before = self._store.vault_file(self._ns, path)
            if before is None and not listed:
                continue
            if not self.folder.exists(path):
                data = moc.placed(b"", inside, title)
                self.folder.create(path, data)
            else:
                self.folder.update(path, partial(moc.placed, inside=inside, title=title))
            self._note_map(path, before, tick)

    def _note_map(self, path: str, before: VaultFile | None, tick: int) -> None:
        found = self.folder.read(path)
        if before is not None and before.digest == found.digest:
            return
        batch = _Batch(self._store, self._ns)
        row = self._row(path, found, {}, before, tick)
        with suppress(QuotaExceeded):  # what a person wrote around the list; the next time its list changes
            self._handed_over(path, found.data.decode("utf-8", "replace"), {}, found, row, None)
            batch.put(row, links=())
        batch.close()

    # care

    def status(self) -> dict[str, Any]:
        """How the vault stands."""
        report = self.sync(dry_run=True)
        rows = self._store.vault_files(self._ns)
        graph = self.graph()
        return {
            "folder": str(self.root),
            "notes": sum(row.state == "kept" for row in rows),
            "changed": len(report.new) + len(report.edited) + len(report.moved) + len(report.deleted),
            "waiting": report.waiting,
            "held": report.held,
            "conflicts": report.conflicts,
            "skipped": {**{row.path: row.why for row in rows if row.why}, **report.skipped},
            "links": sum(map(len, graph.forward.values())),
            "broken_links": [{"path": source, "target": target} for source, target in graph.broken],
            "git": self.history.state(),
            "git_problem": self.git_problem,
            "uncommitted": len(self._store.vault_uncommitted(self._ns)),
        }

    def source(self, path: str) -> str:
        """The source under which a file's document is known; the same wherever the home lies."""
        return SCHEME + path

    def file_of(self, document: Document) -> str | None:
        """The file a document was read from, if it is one of the vault's."""
        source = document.source or ""
        return source.removeprefix(SCHEME) if source.startswith(SCHEME) else None

    def erased(self, paths: Sequence[str]) -> None:
        """The documents of these files were erased: the files and all that is known of them go too."""
        if not paths:
            return
        with self.alone() as tick:
            for path in paths:
                self.folder.remove(path)
                row = self._store.vault_file(self._ns, path)
                with self._store.write(self._ns) as tx:
                    tx.drop_vault_file(path)
                    if row is not None:
                        tx.put_vault_file(replace(row, state="gone", committed=0, description="", type="", status=""))
            self._keep_maps({moc.moc_of(path) for path in paths}, tick)
            self._commit("erase")

    def _commit(self, message: str) -> str | None:
        waiting = self._store.vault_uncommitted(self._ns)
        if not waiting and self.history.state() != "none":
            return None
        if not self.root.is_dir():
            return None
        at = to_ms(self._clock.now()) // 1000
        paths = [path for path, state in waiting if state != "writing"]
        try:
            made = self.history.commit(paths, message, self._store.head(self._ns), at)
        except Exception as error:  # whatever git says, the notes are taken in; the next sync commits them
            self.git_problem = f"the vault's git repository cannot be written ({error!r}): see that no lock was left"
            return None
        self.git_problem = None
        with self._store.write(self._ns) as tx:
            for path, state in waiting:
                row = self._store.vault_file(self._ns, path)
                if state == "gone":
                    tx.drop_vault_file(path)
                elif row is not None and state != "writing":
                    tx.put_vault_file(replace(row, committed=1))
        return made

    @contextmanager
    def alone(self, *, wait: bool = True) -> Iterator[int]:
        """One writer of ours at a time; gives the file system's own time, in ns. Raises Busy instead of waiting."""
        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise Busy("another process writes to the vault: try again later") from None
            yield self.tick()
        finally:
            os.close(descriptor)

    def tick(self) -> int:
        """The file system's own time, in ns."""
        os.utime(self._lock)
        return os.stat(self._lock).st_mtime_ns


LinkRows = Sequence[tuple[str, str, str, str]]


class _Batch:
    """Rows about files, written a few hundred at a time: losing them only means reading these files again."""

    def __init__(self, store: Store, ns: str) -> None:
        self._store, self._ns = store, ns
        self._rows: list[VaultFile] = []
        self._links: dict[str, LinkRows] = {}
        self._dropped: list[str] = []
        self.maps: set[str | None] = set()

    def put(self, row: VaultFile, links: LinkRows | None = None, *, listed: bool = True) -> None:
        """A file's row; with `links`, what it links to; `listed`: its map shows it differently now."""
        self._rows.append(row)
        if links is not None:
            self.link(row.path, links, listed=listed)
        elif len(self._rows) >= BATCH:
            self.close()

    def link(self, path: str, links: LinkRows, *, listed: bool = True) -> None:
        self._links[path] = links
        if listed:
            self.maps.add(moc.moc_of(path))
        if len(self._links) >= BATCH:
            self.close()

    def drop(self, path: str) -> None:
        self._dropped.append(path)

    def close(self) -> None:
        if self._rows or self._links or self._dropped:
            with self._store.write(self._ns) as tx:
                for row in self._rows:
                    tx.put_vault_file(row)
                for path, found in self._links.items():
                    tx.put_vault_links(path, found)
                for path in self._dropped:
                    tx.drop_vault_file(path)
        self._rows, self._links, self._dropped = [], {}, []


def document_path(path: str) -> str:
    """Where the document of a file stands: the vault's own folders at the top, everything else below `/vault`."""
    parts = [slug(part) for part in stem(path).split("/")]
    own = "/" in path and parts[0] in OWN_FOLDERS
    return "/" + "/".join(parts if own else ["vault", *parts])


def kind_of(path: str) -> str:
    """What kind of document a file is, by the folder it lies in."""
    return KINDS.get(path.partition("/")[0], "note") if "/" in path else "note"


def head_of(data: bytes) -> dict[str, Any]:
    """A note's frontmatter; nothing where it is no good."""
    try:
        return frontmatter.read(data)
    except BadInput:
        return {}


def page_text(head: Mapping[str, Any], data: bytes, text: str) -> str:
    """What memory keeps of a note: its frontmatter as lines that can be found, without what changes by itself; its body."""
    lines = []
    for key, value in head.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if key not in AUTOMATIC and shown not in (None, "", {}):
            lines.append(f"{key}: {shown}")
    if not lines:
        return text if not head else _body(data)
    return "\n".join(lines) + "\n\n" + _body(data)


def _says_something(data: bytes) -> bool:
    """Whether there is more in a note than headings."""
    try:
        text = _body(data)
    except BadInput:
        text = data.decode("utf-8", "replace")
    return any(line.strip() and not line.startswith("#") for line in text.splitlines())


def _body(data: bytes) -> str:
    return frontmatter.split(data).body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Follow:
    """How the links to a note follow its renaming."""

    path: str
    to: str
    candidates: tuple[str, ...]
    shared: bool
    """Whether other notes bear the new name: links then need the whole path."""

    def within(self, source: str) -> Edit:
        def edit(data: bytes) -> bytes:
            text = data.decode("utf-8", "surrogateescape")
            return rewritten(text, partial(self._target, source)).encode("utf-8", "surrogateescape")

        return edit

    def _target(self, source: str, link: Link) -> str | None:
        old = link.target.strip()
        if key_of(old) != key_of(self.path) or resolve(old, source, self.candidates) != self.path:
            return None
        if link.raw:
            return self._way(source, link)
        return stem(self.to) if "/" in old or self.shared else stem(self.to).rpartition("/")[2]

    def _way(self, source: str, link: Link) -> str:
        """A Markdown link's new path: as the old one goes, but for the last step, or else from note to note."""
        above, name = posixpath.split(self.to)
        if above == posixpath.dirname(self.path) and leads(link.target, source, self.path):
            return link.raw[: link.raw.rfind("/") + 1] + written(name, angled=link.angled)
        way = posixpath.relpath("/" + self.to, "/" + posixpath.dirname(source))
        return written(way, angled=link.angled)

    def own(self, data: bytes) -> bytes:
        """The renamed note itself: its links to itself, and its title where that was the old name."""
        data = self.within(self.path)(data)
        title = head_of(data).get("title")
        old, new = (stem(path).rpartition("/")[2] for path in (self.path, self.to))
        if not isinstance(title, str) or title != old:
            return data
        try:
            return frontmatter.edit(data, {"title": new})
        except BadInput:
            return data


def card_path(name: str, root: Path) -> str:
    """The file that a person means: relative to the vault or absolute, with or without its ending. Raises BadInput."""
    if name.startswith(str(root) + "/"):
        name = name[len(str(root)) + 1 :]
    name = name.lstrip("/")
    contained(name)
    return name if name.lower().endswith(".md") else name + ".md"


def _same(row: VaultFile | None, stamp: Stamp) -> bool:
    return (
        row is not None and row.state in ("kept", "refused")
        and (row.mtime_ns, row.ctime_ns, row.size, row.inode) == (stamp.mtime_ns, stamp.ctime_ns, stamp.size, stamp.inode)
    )  # fmt: skip


def _listed(row: VaultFile | None) -> tuple[str, ...]:
    """What a map shows of a card."""
    return (row.path, row.state, row.description, row.status) if row else ()


def _seen_before(row: VaultFile, found: Read) -> bool:
    return (row.mtime_ns, row.inode) == (found.stamp.mtime_ns, found.stamp.inode)


def _moves(
    reads: Sequence[tuple[str, Read]] | Any, known: dict[str, VaultFile], gone: Sequence[VaultFile]
) -> dict[str, str]:
    """New path → the path it had: the same bytes, or the same file under the same name in another folder."""
    by_digest: dict[str, list[VaultFile]] = {}
    by_inode = {row.inode: row for row in gone if row.inode}
    for row in gone:
        if row.state == "kept":
            by_digest.setdefault(row.digest, []).append(row)
    moves: dict[str, str] = {}
    used: set[str] = set()
    for path, found in reads:
        if path in known and known[path].state not in ("gone",):
            continue
        same = [row for row in by_digest.get(found.digest, ()) if row.path not in used]
        best = next((row for row in same if row.inode == found.stamp.inode), same[0] if same else None)
        if best is None:
            twin = by_inode.get(found.stamp.inode)
            if twin and twin.path not in used and twin.state == "kept" and twin.key == key_of(path):
                best = twin
        if best is not None and found.data.strip():
            used.add(best.path)
            moves[path] = best.path
    return moves


def _decoded(data: bytes) -> tuple[str, str | None]:
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        return "", "it is not UTF-8 text: convert it"


def _link_rows(text: str, path: str) -> list[tuple[str, str, str, str]]:
    """What a note links to; a Markdown link out of the vault is no link between notes."""
    return [
        (key_of(link.target), link.target.strip(), link.heading, link.alias)
        for link in links(text) if not link.raw or led(link.target, path) is not None
    ]  # fmt: skip


def _summary(report: Report) -> str:
    counts: dict[str, Sequence[object]] = {
        "new": report.new, "edited": report.edited, "moved": report.moved, "deleted": report.deleted
    }  # fmt: skip
    told = [f"{len(rows)} {name}" for name, rows in counts.items() if rows]
    return "sync: " + (", ".join(told) or "nothing new")


