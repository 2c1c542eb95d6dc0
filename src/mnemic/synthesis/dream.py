"""The dream: conversations become a cited wiki. One run through the stages, committed as one change or not at all.

Every stage works on pointers (rows.py) and on the texts of pages in memory, takes up what the stages before it left, and
can run alone: a chunk's state and a route's state are the watermarks. Nothing is written before all stages have run; then
rows, ledger entry and pages are committed together.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any, Protocol

from mnemic.clock import Clock, from_ms, iso, to_ms
from mnemic.errors import BadInput, BudgetSpent, MnemicError, ModelError, NotFound, Refused, StoreError
from mnemic.ledger import Ledger, canonical
from mnemic.models.event import Change, Draft, Origin
from mnemic.models.night import AFTER, ARTICLES, BEFORE, STAGES, Chore, Done, Tally
from mnemic.store import Store
from mnemic.synthesis import article, compose, gate, slots, wikify
from mnemic.synthesis.article import HISTORY, Section, Source
from mnemic.synthesis.compose import Sentence
from mnemic.synthesis.judges import Judge, Rules
from mnemic.synthesis.reading import Reading
from mnemic.synthesis.rows import CAPTURED, CHUNKED, DRAFTED, EXTRACTED, IDLE, IMPROVED, KEPT, SLIGHT, TIDY, WRITTEN, Rows
from mnemic.synthesis.signals import Signal, signals
from mnemic.synthesis.statement import Said, Statement, about, distinct, statements
from mnemic.synthesis.subjects import heads, key_of

RECURS = 2
"""Chunks that a subject needs for an article of its own."""
THIN_THING, THIN_TOPIC = 2, 3
"""Statements that name a thing, or a topic, before it gets an article."""
ENGAGED, PASSING = 0.15, 0.5
"""Share of its mentions in which a topic must be the head of its phrase: one that a chunk dwells on, and one only mentioned."""
RELATED, SEE_ALSO_MOST = 2, 12
IMPROVED_LEAST = 8
"""Cited sentences of a section that a model may say anew."""
CHANGELOG, MAP = "meta/Dreams.md", "moc/Wiki.md"
OPENED = "# Dreams\n\nWhat each dream changed, and why. `mnemic undo dream:N` takes one back.\n"
REMEDY = "undo the later dream first, or put the page back as the dream left it (the vault is a git repository)"
TOLD = {"dedupe": "notes folded into older ones", "pyramid": "changes of summaries", "facts": "facts and concerns drawn"}
"""What the changelog says of chores that change what is known."""
WRITING = ("create", "update", "reconcile", "link", "normalise")
"""Stages that work on what was written and not yet tidied."""
REJECTED = 20
"""Rejections that the changelog tells one by one."""


class Pages(Protocol):
    """What the dream needs of the vault."""

    def read(self) -> dict[str, str]:
        """The texts of articles, talk pages, the changelog and the map, by path."""
        ...

    def path(self, title: str) -> str:
        """The file of an article of this title."""
        ...

    def mapped(self, text: str | None, listing: str) -> str:
        """A map with this list in it, and what else stood in it."""
        ...

    def write(
        self, pages: Mapping[str, tuple[str | None, str | None]], origins: Mapping[str, Origin], token: str,
        commit: Callable[[], None], message: str, remedy: str = "repeat",
    ) -> None:  # fmt: skip
        """Put pages from one text to another (None: no file), all with `commit`, or none: Conflict names the remedy."""
        ...

    def written(self, token: str) -> dict[str, tuple[str | None, str | None]]:
        """The pages that a commit with this token wrote, before and after. Raises NotFound."""
        ...


@dataclass(slots=True)
class Patch:
    """New paragraphs of a page, so that later stages touch nothing else."""

    path: str
    title: str
    anchors: set[str] = field(default_factory=set)
    paragraphs: list[str] = field(default_factory=list)
    rows: list[Statement] = field(default_factory=list)
    key: str = ""
    created: bool = False


class Dream:
    """One namespace's dreams."""

    def __init__(self, store: Store, ledger: Ledger, clock: Clock, ns: str, pages: Pages) -> None:
        self._store, self._ledger, self._clock, self._ns, self._pages = store, ledger, clock, ns, pages

    def run(
        self, judge: Judge, *, stages: Sequence[str] = (), dry_run: bool = False, since: int | None = None,
        spent: Callable[[], dict[str, Any]] = dict, progress: Callable[[str], None] = lambda name: None,
        chores: Mapping[str, Chore] | None = None, moved: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Dream; the report. `since`: only what was said from then on (ms). Raises BadInput for an unknown stage.

        `chores`: what else a night does, by the stage's name. `moved`: paths of turns that an erasure changed; one that leads
        to "" is gone.
        """
        if unknown := [name for name in stages if name not in STAGES]:
            raise BadInput(f"stage {unknown[0]!r} is unknown: use {', '.join(STAGES)}")
        wanted = {name: chore for name, chore in (chores or {}).items() if not stages or name in stages}
        night = _Night(wanted, dry_run, progress)
        night.go(BEFORE)
        run = Run(self._store, self._ns, self._pages, judge, to_ms(self._clock.now()), since, moved or {})
        for name in ARTICLES:
            if not stages or name in stages:
                progress(name)
                night.tallies.append(run.stage(name))
        night.go(AFTER)
        begun = perf_counter()
        report = run.report(night, spent())
        if run.lost:
            return report | {"conserved": False, "lost": run.lost}
        changes, pages = run.rows.changes(), run.changed()
        if dry_run or not (changes or pages or night.changes or report["spent"]["calls"]):
            return report | {"diff": diff(pages) if dry_run else ""}
        progress("commit")
        number = self._commit(run, night, judge.name, report, changes, pages)
        tally = Tally("commit", len(pages), len(pages), 0, perf_counter() - begun)
        report["stages"].append(tally.json())
        return report | {"id": number}

    def _commit(
        self, run: Run, night: _Night, judge: str, report: dict[str, Any], changes: list[Change],
        pages: dict[str, tuple[str | None, str | None]],
    ) -> int:  # fmt: skip
        with self._store.write(self._ns) as tx:
            number = tx.allocate("dreams")
        if pages or night.changes:
            before, told = run.before.get(CHANGELOG), run.pages.get(CHANGELOG)
            pages[CHANGELOG] = before, (told or OPENED).rstrip("\n") + "\n\n" + _entry(number, report, from_ms(run.now))
        row = {"id": number, "at": run.now, "judge": judge, "report": canonical(report)}

        def commit() -> None:
            with self._store.write(self._ns) as tx:
                parts = [*night.parts, *(self._ledger.record(tx, self._ns, draft).seq for draft in night.drafts)]
                draft = Draft(
                    "dream", f"dream:{number}", "system", "agent", f"dream by {judge}",
                    (*changes, Change("dreams", (number,), None, row)), {"pages": len(pages), "parts": parts},
                )  # fmt: skip
                event = self._ledger.record(tx, self._ns, draft)
                tx.remember_operation(token_of(number), "dream", "{}", None)
            self._ledger.committed(self._ns, event)

        self._pages.write(pages, run.origins(), token_of(number), commit, f"dream {number}: {_counts(report)}")
        return number

    def list(self, limit: int = 50) -> list[dict[str, Any]]:
        """The dreams that stand, newest first."""
        rows = self._store.select(self._ns, "dreams", {}, limit=limit, newest=True)
        return [_dreamt(row) for row in rows]

    def show(self, id: str | int) -> dict[str, Any]:
        """A dream's report, with what it changed. Raises NotFound."""
        row = self._row(id)
        try:
            pages = self._pages.written(token_of(row["id"]))
        except NotFound:
            pages = {}
        return {**_dreamt(row), "diff": diff(pages)}

    def _row(self, id: str | int) -> dict[str, Any]:
        number = str(id).removeprefix("dream:")
        row = self._store.row(self._ns, "dreams", (int(number),)) if number.isdecimal() else None
        if row is None:
            raise NotFound(f"no dream {id!r} stands: see `mnemic dream list`")
        return row

    def undo(self, id: str | int, reason: str = "") -> dict[str, Any]:
        """Bring back the bytes from before a dream. Raises NotFound, Conflict where something stands on it, Refused."""
        number = self._row(id)["id"]
        event = next(
            (e for e in reversed(self._store.events(self._ns, object=f"dream:{number}", limit=1000)) if e.op == "dream"), None
        )
        if event is None:
            raise NotFound(f"the ledger has no entry of dream {number}")
        try:
            written = self._pages.written(token_of(number))
        except NotFound:
            raise Refused(
                f"dream {number} cannot be undone: what stood before it is not kept, because of an erasure or an import since"
            ) from None
        back = {path: (after, before) for path, (before, after) in written.items()}
        undone: list[int] = []
        token = f"mnemic.undo-dream:{number}"

        def commit() -> None:
            with self._store.write(self._ns) as tx:
                entry, _ = self._ledger.undo(tx, self._ns, event.seq, actor="user", reason=reason)
                tx.remember_operation(token, "undo", "{}", None)
            self._ledger.committed(self._ns, entry)
            undone.append(entry.seq)

        self._pages.write(back, {}, token, commit, f"undo dream {number}", REMEDY)
        return {"undone": f"dream:{number}", "seq": undone[0], "path": None, "changes": len(back)}


class _Night:
    """The chores of one night, and what came of them."""

    def __init__(self, chores: Mapping[str, Chore], dry_run: bool, progress: Callable[[str], None]) -> None:
        self._chores, self.dry_run, self._progress = chores, dry_run, progress
        self.tallies: list[Tally] = []
        self.drafts: list[Draft] = []
        self.parts: list[int] = []
        self.findings: list[Mapping[str, Any]] = []
        self.failures: list[str] = []

    @property
    def changes(self) -> int:
        """Entries that belong to the dream beside its own."""
        return len(self.drafts) + len(self.parts)

    def go(self, names: Sequence[str]) -> None:
        """Do those that were lent. One that fails is told of, and the others go on; only a failing store ends the night."""
        for name in names:
            if (chore := self._chores.get(name)) is None:
                continue
            self._progress(name)
            begun = perf_counter()
            try:
                done = chore(self.dry_run)
            except StoreError:
                raise
            except MnemicError as error:
                done = Done(rejected=1)
                self.failures.append(f"{name}: {error}")
            self.drafts += done.drafts
            self.parts += done.parts
            self.findings += done.findings
            self.tallies.append(Tally(name, done.taken, done.given, done.rejected, perf_counter() - begun))


class Run:
    """One run: what it reads, what it has made of it so far."""

    def __init__(self, store: Store, ns: str, pages: Pages, judge: Judge, now: int, since: int | None,
                 moved: Mapping[str, str]) -> None:  # fmt: skip
        self.moved = moved
        self.judge, self.now, self.since = judge, now, since
        self.rows = Rows.read(store, ns)
        self.reading = Reading(store, ns)
        self.before = pages.read()
        self.pages: dict[str, str] = dict(self.before)
        self._path, self._mapped = pages.path, pages.mapped
        self.found: list[Signal] = []
        self.patches: dict[str, Patch] = {}
        self.pruned: set[str] = set()
        self.rejections: list[str] = []
        self.refused: set[str] = set()
        self.lost: list[str] = []
        self.waiting = False
        self.touched: dict[str, None] = {}
        self._writing = False
        self._said: dict[str, list[Statement]] = {}
        self._home_rows: dict[tuple[str, int], str] = {}

    # the stages

    def stage(self, name: str) -> Tally:
        tally = Tally(name)
        begun = perf_counter()
        if name in WRITING and not self._writing:
            self._writing = True
            self.patches = self._patches((WRITTEN, DRAFTED))
        getattr(self, "_" + name)(tally)
        tally.seconds = perf_counter() - begun
        return tally

    def _patches(self, states: Collection[str]) -> dict[str, Patch]:
        """What went into pages with the routes in these states: what earlier dreams wrote, and no later stage has seen."""
        left: dict[str, dict[str, list[str]]] = {}
        for row in self.rows.now["routes"].values():
            subject = self.rows.subject(row["subject"])
            if row["state"] in states and subject is not None and subject["article"] in self.pages:
                left.setdefault(str(subject["article"]), {}).setdefault(str(row["subject"]), []).append(str(row["chunk"]))
        return {path: self._patch(path, chunks) for path, chunks in left.items()}

    def _patch(self, path: str, chunks: Mapping[str, Sequence[str]]) -> Patch:
        """The paragraphs of a page that cite these chunks, by subject."""
        text = self.pages[path]
        rows = [row for key, of in chunks.items() for row in self._material(key, of)]
        said = {row.said.path for row in rows}
        numbers = {number for number, source in article.notes(text).items() if source.path in said}
        fresh = (CAPTURED, IDLE, WRITTEN, DRAFTED)
        whole = all(self.rows.route(chunk, key)["state"] in fresh for key in chunks for chunk in self.rows.by_subject[key])
        patch = Patch(path, article.title_of(text), rows=rows, key=next(iter(chunks)), created=whole)
        for section in article.sections(text):
            if section.level not in (0, 2) or section.heading in (*article.APPARATUS, HISTORY):
                continue
            lines = [line for line in text[section.body : section.end].splitlines() if numbers & set(article.markers(line))]
            patch.paragraphs += lines
            patch.anchors |= {section.anchor} if lines else set()
        return patch

    def _ingest(self, tally: Tally) -> None:
        """See which chunks no longer are what they were: their pointers are let go of, and made anew."""
        for (id,), row in list(self.rows.now["chunks"].items()):
            tally.taken += 1
            if row["digest"] == self.reading.digest(row["session"], row["first"], row["last"]):
                tally.given += 1
                continue
            for subject in list(self.rows.by_chunk[str(id)]):
                self.rows.drop("routes", (id, subject))
            self.rows.drop("chunks", (id,))
        self._healed()
        for (key,), row in list(self.rows.now["subjects"].items()):
            if not self.rows.by_subject[str(key)] and row["article"] not in self.pages:
                self.rows.drop("subjects", (key,))

    def _chunk(self, tally: Tally) -> None:
        """Cut what was said since into stretches of one topic."""
        done: dict[str, set[int]] = {}
        for row in self.rows.now["chunks"].values():
            done.setdefault(row["session"], set()).update(range(row["first"], row["last"] + 1))
        for session in self.reading.order():
            messages = self.reading.sessions[session]
            fresh = [row.seq for row in messages if row.seq not in done.get(session, ())
                     and (self.since is None or row.created_at >= self.since)]  # fmt: skip
            for first, last in _stretches(fresh):
                turns = self.reading.turns(session, first, last)
                tally.taken += len(turns)
                if turns:
                    self._cut(session, turns, tally)

    def _cut(self, session: str, turns: list[Said], tally: Tally) -> None:
        lengths = self._asked(tally, lambda: self.judge.segment(turns), f"chunk {session}")
        if lengths is None:
            return
        at = 0
        for length in lengths:
            part = turns[at : at + length]
            at += length
            first, last = part[0].seq, part[-1].seq
            self.rows.put("chunks", {
                "id": f"{session}:{first}-{last}", "session": session, "first": first, "last": last,
                "digest": self.reading.digest(session, first, last), "state": CHUNKED, "judge": self.judge.name,
            })  # fmt: skip
            tally.given += 1

    def _worth(self, tally: Tally) -> None:
        """Tell what says something from small talk, of which the pointer stays. What a model dismissed, the rules see again."""
        for id in [*self._chunks(CHUNKED), *(self._dismissed() if self.judge.name == "rules" else ())]:
            tally.taken += 1
            row = self.rows.chunk(id)
            turns = self.reading.turns(row["session"], row["first"], row["last"])
            keep = self._asked(tally, partial(self.judge.worth, turns, self._statements(id)), f"worth {id}")
            if keep is not None:
                self.rows.put("chunks", {**row, "state": KEPT if keep else SLIGHT, "judge": self.judge.name})
                tally.given += keep

    def _dismissed(self) -> list[str]:
        return [id for id in self._chunks(SLIGHT) if self.rows.chunk(id)["judge"] != "rules"]

    def _extract(self, tally: Tally) -> None:
        """Note which subjects each chunk is about: all of them are captured, nothing is dropped."""
        for id in self._chunks(KEPT):
            tally.taken += 1
            row = self.rows.chunk(id)
            turns = self.reading.turns(row["session"], row["first"], row["last"])
            found = self._asked(tally, partial(self.judge.subjects, turns), f"extract {id}")
            if found is None:
                continue
            for turn in turns:
                if turn.person and (person := self.reading.people.get((turn.session, turn.name))):
                    self._captured(id, person.key, person.title, "person", sum(other.person == turn.person for other in turns))
                    tally.given += 1
            for mention in found:
                self._captured(id, mention.key, _titled(mention.surface), mention.kind, mention.turns)
                tally.given += 1
            self.rows.put("chunks", {**row, "state": EXTRACTED})

    def _captured(self, chunk: str, key: str, title: str, kind: str, turns: int) -> None:
        subject = self.rows.subject(key)
        if subject is None:
            self.rows.put("subjects", {"key": key, "title": title, "kind": kind, "article": ""})
        elif not subject["article"] and len(title) < len(subject["title"]) and kind != "person":
            self.rows.put(
                "subjects", {**subject, "title": title, "kind": "thing" if "thing" in (kind, subject["kind"]) else kind}
            )
        if chunk not in self.rows.by_subject[key]:
            self.rows.put("routes", {"chunk": chunk, "subject": key, "turns": turns, "state": CAPTURED, "section": ""})
            self.touched[key] = None

    def _route(self, tally: Tally) -> None:
        """Find the article of each subject that has something new: by its stem, squeezed, or by an alias."""
        stems = self._stems()
        for key in self._open_subjects():
            tally.taken += 1
            tally.given += self._has_page(key) or self._resolved(key, stems)

    def _stems(self) -> dict[str, str]:
        """Name without punctuation → page; a name that two pages bear leads to its own page."""
        found: dict[str, str] = {}
        pages = {path: text for path, text in self.pages.items() if path.startswith("articles/")}
        for path, text in pages.items():
            for alias in article.infobox(text).get("aliases", "").split(","):
                found.setdefault(_squeezed(alias), path)
        found |= {_squeezed(article.title_of(text)): path for path, text in pages.items()}
        for name, path in list(found.items()):
            if leads := article.redirect(pages[path]):
                found[name] = found.get(_squeezed(leads), path)
        found.pop("", None)
        return found

    def _resolved(self, key: str, stems: Mapping[str, str]) -> bool:
        subject = self.rows.subject(key)
        path = stems.get(_squeezed(str(subject["title"]))) if subject else None
        if subject is None or path is None or article.redirect(self.pages[path]):
            return False
        self.rows.put("subjects", {**subject, "article": path})
        return True

    def _create(self, tally: Tally) -> None:
        """Write an article for each subject that recurs and has none: outline, then each section from its own chunks."""
        ranked = sorted(
            (key for key in self._open_subjects() if not self._has_page(key)),
            key=lambda key: (self._kind(key) != "person", -len(self.rows.by_subject[key]), key),
        )
        for key in ranked:
            tally.taken += 1
            rows = self._material(key, list(self.rows.by_subject[key]))
            if self._deserves(key, rows):
                tally.given += self._created(key, rows, tally)

    def _deserves(self, key: str, rows: Sequence[Statement]) -> bool:
        chunks = self.rows.by_subject[key]
        if len(chunks) < RECURS or len({(row.said.session, row.said.seq) for row in rows}) < RECURS:
            return False
        kind = self._kind(key)
        if kind == "topic":
            engaged = any(self.rows.route(chunk, key)["turns"] > 1 for chunk in chunks)
            good, total = heads(key, (row.plain for row in rows))
            known = good >= 1 and good >= ENGAGED * total if engaged else len(chunks) > RECURS and good >= max(2, PASSING * total)
            return len(rows) >= THIN_TOPIC and known
        return len(rows) >= THIN_THING

    def _created(self, key: str, rows: list[Statement], tally: Tally) -> bool:
        subject = self.rows.subject(key)
        assert subject is not None
        person = subject["kind"] == "person"
        title = str(subject["title"]) if person else _called(key, str(subject["title"]), rows)
        path = self._path(title)
        title = _named(path)
        if path in self.pages or path in self.refused:
            return False
        opening = compose.lead(rows, _name(rows) if person else title, "" if person else key)
        rest = [row for row in rows if row not in opening]
        parts: list[tuple[str, list[Sentence]]] = []
        homes: dict[str, str] = {}
        whole = True
        sections = compose.outline(rest, person)
        for heading, inside in [("", opening), *sections.items()]:
            best = [row for group in self._by_chunk(inside).values() for row in compose.kept(group)] if heading else inside
            drafted = self._asked(
                tally, partial(self.judge.draft, title, heading or "lead", best), f"{title}: {heading or 'lead'}"
            )
            if drafted is None:  # the other sections are asked for all the same: an agent answers them together
                whole = False
                continue
            parts.append((heading, drafted))
            homes |= {self._home_chunk(row): heading for row in inside}
        if not whole:
            return False
        text = self._assembled(key, title, person, parts, rows)
        if not self._pass(path, None, text, title, tally):
            return False
        self.pages[path] = text
        self.rows.put("subjects", {**subject, "title": title, "article": path})
        state = WRITTEN if self.judge.name == Rules.name else DRAFTED
        for chunk in self.rows.by_subject[key]:
            self.rows.moved(chunk, key, state if chunk in homes else IDLE, homes.get(chunk, ""))
        bodies = [
            text[row.body : row.end]
            for row in article.sections(text)
            if row.level in (0, 2) and row.heading not in article.APPARATUS
        ]
        self.patches[path] = Patch(
            path, title, set(), [line for body in bodies for line in body.splitlines() if line.strip()], rows, key, True
        )
        return True

    def _assembled(
        self, key: str, title: str, person: bool, parts: Sequence[tuple[str, list[Sentence]]], rows: Sequence[Statement]
    ) -> str:
        numbers = article.numbered({}, (source for _, inside in parts for one in inside for source in one.sources))
        name = _name(rows) if person else title
        opening = parts[0][1]
        told = [one.text for one in opening]
        told[0] = compose.bold(told[0], name)
        lead = " ".join(
            article.cited(text, sorted({numbers[s.path] for s in one.sources})) for text, one in zip(told, opening, strict=True)
        )
        info = {"type": "person" if person else "thing" if self._kind(key) == "thing" else "topic",
                "kind": "person" if person else "thing",
                "since": f"{from_ms(min(row.said.at for row in rows)):%Y-%m-%d}"}  # fmt: skip
        body = [(heading, compose.paragraphs(inside, numbers)) for heading, inside in parts[1:]]
        group = compose.PEOPLE if person else Counter(row.theme for row in rows).most_common(1)[0][0]
        sources = {numbers[s.path]: s for _, inside in parts for one in inside for s in one.sources}
        return article.assembled(title, info, lead, body, (), sources, (group,))

    def _update(self, tally: Tally) -> None:
        """Take new chunks into standing articles: section by section, everything else byte-identical."""
        stems = self._stems()
        for key in self._open_subjects():
            if not self._has_page(key) and not self._resolved(key, stems):
                continue
            subject = self.rows.subject(key)
            assert subject is not None
            chunks = self.rows.open_routes(key)
            tally.taken += len(chunks)
            if str(subject["article"]) in self.refused:
                continue
            self._patched(key, str(subject["article"]), chunks, tally)

    def _patched(self, key: str, path: str, chunks: list[str], tally: Tally) -> None:
        person = self._kind(key) == "person"
        rows = self._material(key, chunks)
        standing = [row.heading for row in article.body_sections(self.pages[path])]
        plain = unlinked(self.pages[path])
        by_home: dict[str, list[Statement]] = {}
        for row in rows:
            if row.text not in plain:
                by_home.setdefault(compose.home_of(row, person, standing), []).append(row)
        failed: set[str] = set()
        homes: dict[str, str] = {}
        for heading, inside in by_home.items():
            best = [row for group in self._by_chunk(inside).values() for row in compose.kept(group)]
            chunks_here = {self._home_chunk(row) for row in inside}
            if self._section(key, path, heading, best, tally):
                homes |= dict.fromkeys(chunks_here, heading)
            else:
                failed |= chunks_here
        for chunk in chunks:
            if chunk not in failed:
                self.rows.moved(chunk, key, WRITTEN if chunk in homes else IDLE, homes.get(chunk, ""))
                tally.given += 1

    def _section(self, key: str, path: str, heading: str, rows: list[Statement], tally: Tally) -> bool:
        """Patch one section, or begin it; whether that passed."""
        before = self.pages[path]
        title = article.title_of(before)
        drafted = self._asked(tally, lambda: self.judge.draft(title, heading, rows), f"{title}: {heading}")
        if drafted is None:
            return False
        sources = [source for one in drafted for source in one.sources]
        numbers = article.numbered(article.notes(before), sources)
        told = compose.paragraphs(drafted, numbers)
        target = next((row for row in article.body_sections(before) if row.heading == heading), None)
        text = article.appended(before, target, told) if target else article.inserted(before, heading, told)
        text = article.marked(article.with_sources(text, numbers, sources))
        anchors = {target.anchor} if target else set()
        if not self._pass(path, before, text, title, tally, anchors):
            return False
        self.pages[path] = text
        patch = self.patches.setdefault(path, Patch(path, title, key=key))
        patch.anchors |= anchors or {row.anchor for row in article.body_sections(text) if row.heading == heading}
        patch.paragraphs += told.split("\n\n")
        patch.rows += rows
        return True

    def _reconcile(self, tally: Tally) -> None:
        """What is known of a person at a glance: a new value takes the place of the old, which goes into the history."""
        for path, patch in self.patches.items():
            if self._kind(patch.key) != "person":
                continue
            tally.taken += 1
            before = self.pages[path]
            text = slots.reconciled(before, patch.rows)
            history = article.section(text, HISTORY)
            anchors = {history.anchor} if history else set()
            if text != before and self._pass(path, before, text, patch.title, tally, anchors):
                self.pages[path] = text
                tally.given += 1

    def _link(self, tally: Tally) -> None:
        """Let new paragraphs link to the articles they name, and say what else is related."""
        linker = compose.Linker(self._surfaces())
        titles = {str(row["article"]): article.title_of(self.pages[str(row["article"])])
                  for row in self.rows.now["subjects"].values() if row["article"] in self.pages}  # fmt: skip
        for path, patch in self.patches.items():
            tally.taken += 1
            before = text = self.pages[path]
            see = article.section(text, article.SEE_ALSO)
            standing = compose.links(text[: see.start] if see else text)
            made = {paragraph: linker.linked(paragraph, patch.title, standing) for paragraph in patch.paragraphs}
            text = "\n".join(made.get(line, line) for line in text.split("\n"))
            text = article.with_see_also(text, self._related(patch, titles, text))
            changed = {row.anchor for row in article.sections(text)} if patch.created else patch.anchors
            if text != before and self._pass(path, before, text, patch.title, tally, changed):
                self.pages[path] = text
                tally.given += 1

    def _related(self, patch: Patch, titles: Mapping[str, str], text: str) -> list[str]:
        shared: Counter[str] = Counter()
        for chunk in self.rows.by_subject[patch.key]:
            for other in self.rows.by_chunk[chunk]:
                row = self.rows.subject(other)
                if other != patch.key and row and row["article"] in titles and row["article"] != patch.path:
                    shared[titles[row["article"]]] += 1
        see = article.section(text, article.SEE_ALSO)
        standing = text[see.start : see.end].count("[[") if see else 0
        strong = sorted((name for name, count in shared.items() if count >= RELATED), key=lambda name: (-shared[name], name))
        fresh = [name for name in strong if see is None or f"[[{name}]]" not in text[see.start : see.end]]
        return fresh[: max(0, SEE_ALSO_MOST - standing)]

    def _surfaces(self) -> dict[str, str]:
        """What articles are called in prose; what several are called is left out."""
        found: dict[str, set[str]] = {}
        for path, text in self.pages.items():
            if path.startswith("articles/") and article.redirect(text) is None:
                title = article.title_of(text)
                plain = re.sub(r" \(with [^)]*\)$", "", title)
                for surface in {
                    title,
                    plain,
                    *({title[:1].lower() + title[1:]} if article.infobox(text).get("type") == "topic" else set()),
                }:
                    found.setdefault(surface, set()).add(title)
        return {surface: min(titles) for surface, titles in found.items() if len(titles) == 1 and len(surface) > 2}

    def _normalise(self, tally: Tally) -> None:
        """Bring the form of what was written to the grammar's: infobox in order, stub line as the words say. A fixed point."""
        for path, patch in self.patches.items():
            tally.taken += 1
            before = self.pages[path]
            text = article.marked(article.with_infobox(before, article.infobox(before)) if article.infobox(before) else before)
            if text != before and self._pass(path, before, text, patch.title, tally, set()):
                self.pages[path] = text
                tally.given += 1

    def _healed(self) -> None:
        """Let go of sentences whose turn was erased or forgotten."""
        gone: list[str] = []
        for path, before in list(self.pages.items()):
            if not path.startswith("articles/") or article.redirect(before) is not None or not self._has_dead(before):
                continue
            text, pruned = healed(before, self._lives, self.moved)
            self.pruned |= pruned
            if article.notes(text):
                self.pages[path] = article.marked(text)
            else:
                gone.append(article.title_of(before))
                del self.pages[path]
                self.patches.pop(path, None)
                self._homeless(path)
        for title in gone:
            for path, text in self.pages.items():
                if f"[[{title}]]" in text:
                    self.pages[path] = _unlisted(
                        text.replace(f"- [[{title}]]\n", "").replace(
                            f"[[{title}]]", "an erased article" if path == CHANGELOG else title
                        )
                    )

    def _homeless(self, path: str) -> None:
        for (key,), row in list(self.rows.now["subjects"].items()):
            if row["article"] == path:
                self.rows.put("subjects", {**row, "article": ""})
                for chunk in self.rows.by_subject[str(key)]:
                    self.rows.moved(chunk, str(key), CAPTURED)

    def _has_dead(self, text: str) -> bool:
        return any(not self._lives(source) or source.path in self.moved for source in article.notes(text).values())

    def _lives(self, source: Source) -> bool:
        if source.path in self.moved:
            return bool(self.moved[source.path])
        return self.reading.resolves(source) and not self.reading.hidden(source.path)

    def _wikify(self, tally: Tally) -> None:
        """Tidy the sections that something new went into, let a model improve them, split off what has outgrown its article."""
        for path, sections in sorted(self._edited().items()):
            tally.taken += 1
            for heading, routes in sections.items():
                self._tidied(path, heading, tally)
                if (state := self._improved(path, heading, tally)) is not None:
                    for chunk, subject in routes:
                        self.rows.moved(chunk, subject, state, heading)
            self._rewritten(path, wikify.ordered(self.pages[path]), (), tally)
            self._split(path, tally)
        for row in [row for row in self.rows.now["routes"].values() if row["state"] == DRAFTED]:
            self.rows.moved(row["chunk"], row["subject"], IMPROVED, row["section"])

    def _edited(self) -> dict[str, dict[str, list[tuple[str, str]]]]:
        """Article → section → the routes that a judge has not looked at since they went into it."""
        fresh = (WRITTEN,) if self.judge.name == Rules.name else (WRITTEN, TIDY)
        found: dict[str, dict[str, list[tuple[str, str]]]] = {}
        for row in self.rows.now["routes"].values():
            subject = self.rows.subject(row["subject"])
            if row["state"] in fresh and subject is not None and subject["article"] in self.pages:
                found.setdefault(subject["article"], {}).setdefault(row["section"], []).append((row["chunk"], row["subject"]))
        for path, patch in self.patches.items():
            for section in article.body_sections(self.pages[path]):
                if section.anchor in patch.anchors and not patch.created:
                    found.setdefault(path, {}).setdefault(section.heading, [])
        return found

    def _tidied(self, path: str, heading: str, tally: Tally) -> None:
        text = self.pages[path]
        at = self._target(path, heading)
        if at is not None:
            body = wikify.tidied(text[at.body : at.end])
            self._rewritten(path, text[: at.body] + body + text[at.end :], (at.anchor,), tally)

    def _improved(self, path: str, heading: str, tally: Tally) -> str | None:
        """Let the judge say a section anew; the state of its routes, None while the answer is waited for."""
        at = self._target(path, heading)
        rows = self._told(self.pages[path], at) if at is not None and self.judge.name != Rules.name else []
        if at is None or len(rows) < IMPROVED_LEAST:
            return TIDY
        text, title = self.pages[path], article.title_of(self.pages[path])
        refused = tally.rejected
        drafted = self._asked(tally, partial(self.judge.improve, title, heading, rows), f"{title}: {heading}")
        if drafted is None:
            return IMPROVED if tally.rejected > refused else None
        numbers = {source.path: number for number, source in article.notes(text).items()}
        linker = compose.Linker(self._surfaces())
        standing = compose.links(text[: at.start] + text[at.end :])
        told = compose.paragraphs(sorted(drafted, key=lambda one: one.at), numbers)
        body = "\n\n".join(linker.linked(line, title, standing) for line in told.split("\n\n"))
        self._rewritten(path, article.with_body(text, at, body), (at.anchor,), tally)
        return IMPROVED

    def _target(self, path: str, heading: str) -> Section | None:
        return next((row for row in article.body_sections(self.pages[path]) if row.heading == heading != HISTORY), None)

    def _told(self, text: str, at: Section) -> list[Statement]:
        """The sentences of a section as statements, one for each turn that they cite; none where it is not ours alone."""
        known = article.notes(text)
        rows: list[Statement] = []
        for paragraph in wikify.paragraphs(text[at.body : at.end]) or ():
            for one in paragraph.told:
                plain = article.shown(one.text)
                for number in one.numbers:
                    said = self.reading.turn(known[number].path) if number in known else None
                    if said is None:
                        return []
                    rows.append(Statement(plain, said, 0.0, False, "", frozenset(), plain))
        return rows

    def _rewritten(self, path: str, text: str, anchors: Iterable[str], tally: Tally) -> None:
        before = self.pages[path]
        if text != before and self._pass(path, before, text, article.title_of(before), tally, anchors):
            self.pages[path] = text
            tally.given += 1

    def _split(self, path: str, tally: Tally) -> None:
        """Split a section off that has outgrown its article; the parent keeps a summary and points to it."""
        title = article.title_of(self.pages[path])
        parted = wikify.split(self.pages[path], title)
        if parted is None or self._path(parted.title) in self.pages:
            return
        child_path = self._path(parted.title)
        ok = self._pass(child_path, None, parted.child, parted.title, tally)
        kept = {source.path for source in article.notes(parted.parent).values()}
        moved = {source.path for source in article.notes(self.pages[path]).values()} - kept
        problems = [
            p
            for p in gate.check(self.pages[path], parted.parent, title, self.reading.resolves, moved)
            if "shrink" not in p
        ]
        if ok and not problems and moved <= {source.path for source in article.notes(parted.child).values()}:
            self.pages[child_path], self.pages[path] = parted.child, parted.parent
            tally.given += 1
        else:
            tally.rejected += 1

    def _maps(self, tally: Tally) -> None:
        """Keep the map of all articles, by category. What a person writes around the list stays."""
        rows = compose.contents({path: text for path, text in self.pages.items() if path.startswith("articles/")})
        tally.taken = tally.given = sum(map(len, rows.values()))
        if rows or MAP in self.pages:
            self.pages[MAP] = self._mapped(self.pages.get(MAP), compose.listed(rows))

    def _signals(self, tally: Tally) -> None:
        """Raise on talk pages what is a person's to decide."""
        touched = self.patches if self._writing else self._patches((WRITTEN, DRAFTED, TIDY, IMPROVED))
        found = signals(self.pages, touched, self.rows)
        tally.taken = len(touched)
        for signal in found:
            path = "talk/" + signal.path.removeprefix("articles/")
            text = self.pages.get(path) or f"# Talk: {article.title_of(self.pages[signal.path])}\n"
            if signal.line not in text:
                self.pages[path] = text.rstrip("\n") + f"\n\n{signal.line}\n"
                self.found.append(signal)
                tally.given += 1

    # around the stages

    def _asked(self, tally: Tally, ask: Callable[[], Any], what: str) -> Any:
        """What the judge says; None where it is refused or does not come."""
        if self.waiting and self.judge.name != "agent":
            return None
        try:
            return ask()
        except BudgetSpent:
            self.waiting = True
        except ModelError as error:
            tally.rejected += 1
            self._note(f"{what}: {error}")
        return None

    def _note(self, line: str) -> None:
        if len(self.rejections) < 200:
            self.rejections.append(" ".join(line.split())[:300])

    def _pass(
        self, path: str, before: str | None, after: str, title: str, tally: Tally, anchors: Iterable[str] | None = None
    ) -> bool:
        """Whether the gate lets a page through."""
        problems = gate.check(before, after, title, self.reading.resolves, self.pruned)
        if before is not None and anchors is not None:
            problems += gate.outside(before, after, set(anchors))
        if problems:
            tally.rejected += 1
            self.refused.add(path)
            self._note(f"{title}: {problems[0]}")
        return not problems

    def _chunks(self, state: str) -> list[str]:
        ids = [str(row["id"]) for row in self.rows.now["chunks"].values() if row["state"] == state]
        order = {session: place for place, session in enumerate(self.reading.order())}
        return sorted(ids, key=lambda id: (order.get(self.rows.chunk(id)["session"], 0), self.rows.chunk(id)["first"]))

    def _open_subjects(self) -> list[str]:
        """Subjects with something new, in a fixed order."""
        keys = {str(row["subject"]) for row in self.rows.now["routes"].values() if row["state"] == CAPTURED}
        return sorted(key for key in keys if key in self.touched or self._has_page(key) or self._retry(key))

    def _retry(self, key: str) -> bool:
        """Whether a captured subject recurs: it may have been refused before, or its stage not have run."""
        return len(self.rows.by_subject[key]) >= RECURS

    def _has_page(self, key: str) -> bool:
        subject = self.rows.subject(key)
        return subject is not None and subject["article"] in self.pages

    def _kind(self, key: str) -> str:
        subject = self.rows.subject(key)
        return str(subject["kind"]) if subject else ""

    def _statements(self, chunk: str) -> list[Statement]:
        if chunk not in self._said:
            row = self.rows.chunk(chunk)
            self._said[chunk] = statements(self.reading.turns(row["session"], row["first"], row["last"]))
        return self._said[chunk]

    def _material(self, key: str, chunks: Sequence[str]) -> list[Statement]:
        """What the chunks say about a subject, in the order it was said."""
        person = self._kind(key) == "person"
        found: list[Statement] = []
        for chunk in chunks:
            rows = self._statements(chunk)
            found += [row for row in rows if row.said.person == key] if person else _leaned(about(key, rows))
        found.sort(key=lambda row: (row.said.at, row.said.session, row.said.seq))
        return distinct(found)

    def _home_chunk(self, row: Statement) -> str:
        return self._homes()[row.said.session, row.said.seq]

    def _by_chunk(self, rows: Sequence[Statement]) -> dict[str, list[Statement]]:
        found: dict[str, list[Statement]] = {}
        for row in rows:
            found.setdefault(self._home_chunk(row), []).append(row)
        return found

    def _homes(self) -> dict[tuple[str, int], str]:
        if not self._home_rows:
            self._home_rows = {
                (str(row["session"]), seq): str(row["id"])
                for row in self.rows.now["chunks"].values()
                for seq in range(row["first"], row["last"] + 1)
            }
        return self._home_rows

    # the end

    def changed(self) -> dict[str, tuple[str | None, str | None]]:
        """The pages that are different now: before and after."""
        paths = sorted({*self.before, *self.pages})
        pairs = {path: (self.before.get(path), self.pages.get(path)) for path in paths}
        return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}

    def origins(self) -> dict[str, Origin]:
        """What each page may be called that this dream writes."""
        found: dict[str, Origin] = {}
        for path, patch in self.patches.items():
            sessions = {self.rows.chunk(chunk)["session"] for chunk in self.rows.by_subject[patch.key]}
            found[path] = self.reading.origin(sorted(sessions))
        return found

    def report(self, night: _Night, spent: dict[str, Any]) -> dict[str, Any]:
        pages = {path: pair for path, pair in self.changed().items() if path.startswith("articles/")}
        created = sorted(path for path, (was, _) in pages.items() if was is None)
        updated = sorted(path for path, (was, now) in pages.items() if was is not None and now is not None)
        removed = len(pages) - len(created) - len(updated)
        standing = [path for path in self.before if path.startswith("articles/")]
        old = {path: was for path, (was, _) in pages.items() if was is not None}
        self.lost = gate.conserved(old, {path: now for path, (_, now) in pages.items()}, self.pruned)
        return {
            "id": None, "dry_run": night.dry_run, "stages": [tally.json() for tally in night.tallies],
            "articles": {"created": len(created), "updated": len(updated), "unchanged": len(standing) - len(updated) - removed,
                         "rejected": len(self.refused)},
            "created": created, "updated": updated, "removed": removed,
            "signals": [signal.json() for signal in self.found],
            "entries": [f"{draft.op} {draft.note.get('path') or draft.object}: {draft.reason}".rstrip(": ")
                        for draft in night.drafts],
            "audit": len(night.findings),
            "rejections": [*night.failures, *self.rejections], "waiting": self.waiting,
            "spent": {"judge": self.judge.name, "calls": 0, "tokens": 0, **spent}, "conserved": True, "diff": "",
        }  # fmt: skip


def token_of(number: int) -> str:
    """The operation by which a dream's commit is known."""
    return f"mnemic.dream:{number}"


def diff(pages: Mapping[str, tuple[str | None, str | None]]) -> str:
    """What changes, as a unified diff."""
    parts = []
    for path, (before, after) in pages.items():
        lines = difflib.unified_diff(
            (before or "").splitlines(),
            (after or "").splitlines(),
            path if before else "(new)",
            path if after else "(gone)",
            lineterm="",
            n=1,
        )
        parts += list(lines)
    return "\n".join(parts)


def unlinked(text: str) -> str:
    """A text with what its links show instead of them, and without bold."""
    return re.sub(r"\[\[(?:[^\]|\n]*\|)?([^\]|\n]*)\]\]", r"\1", text).replace("**", "")


def _unlisted(text: str) -> str:
    """A page without a See also that lists nothing."""
    return re.sub(r"(?m)^## See also\n+(?=## |\Z)", "", text)


_PIECE = re.compile(r"(.*?)((?:\[\^\d+\])+)\s*", re.DOTALL)


def healed(text: str, resolves: Callable[[Source], bool], moved: Mapping[str, str]) -> tuple[str, set[str]]:
    """A page without the sentences that rest only on turns that are gone, footnotes closed up; and what was let go of."""
    known = article.notes(text)
    dead = {number for number, source in known.items() if not resolves(source)}
    text = re.sub(r"`(/[^`\n]+)`$", lambda match: f"`{moved.get(match[1]) or match[1]}`", text, flags=re.MULTILINE)
    if not dead:
        return text, {source.path for source in known.values() if source.path in moved}
    first = article.section(text, article.REFERENCES)
    body, tail = (text[: first.start], text[first.start :]) if first else (text, "")
    lines = [line for line in (_healed_line(line, dead) for line in body.split("\n")) if line is not None]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    body = re.sub(r"(?m)^## (?!See also|Notes)[^\n]+\n+(?=## |\Z)", "", body)
    tail = "\n".join(line for line in tail.split("\n") if not any(line.startswith(f"[^{number}]:") for number in dead))
    whole = body + tail
    order: dict[int, int] = {}
    for number in sorted(set(known) - dead):
        order[number] = len(order) + 1
    whole = re.sub(r"\[\^(\d+)\]", lambda match: f"[^{order[int(match[1])]}]" if int(match[1]) in order else "", whole)
    return whole, {source.path for number, source in known.items() if number in dead or source.path in moved}


def _healed_line(line: str, dead: set[int]) -> str | None:
    """A line without its dead sentences; None if nothing is left of it."""
    if not set(article.markers(line)) & dead:
        return line
    lead = re.match(r"\*[^*]+\.\* ", line)
    start = lead.end() if lead else 0
    kept, end = [], start
    for match in _PIECE.finditer(line, start):
        end = match.end()
        alive = [number for number in article.markers(match[2]) if number not in dead]
        if alive:
            kept.append(match[1].strip() + "".join(f"[^{number}]" for number in alive))
    rest = line[end:].strip()
    if not kept and not rest:
        return None
    return line[:start] + " ".join([*kept, *([rest] if rest else [])])


def _stretches(seqs: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of messages that follow each other."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and seq == found[-1][1] + 1:
            found[-1] = found[-1][0], seq
        else:
            found.append((seq, seq))
    return found


def _leaned(rows: list[Statement]) -> list[Statement]:
    """Of what an assistant without a name says, only the two best statements of a chunk."""
    own = [row for row in rows if row.said.person]
    return own + sorted((row for row in rows if not row.said.person), key=lambda row: -row.worth)[:2]


def _name(rows: Sequence[Statement]) -> str:
    return rows[0].said.title or rows[0].said.name


def _titled(surface: str) -> str:
    return surface[:1].upper() + surface[1:]


def _called(key: str, title: str, rows: Sequence[Statement]) -> str:
    """The form of a name that is said most often."""
    size = len(key.split())
    forms: Counter[str] = Counter()
    for row in rows:
        said = re.findall(r"[\w&+'-]+", row.plain.replace("’", "'"))
        for place in range(len(said) - size + 1):
            surface = " ".join(said[place : place + size]).removesuffix("'s")
            if key_of(surface) == key:
                forms[
                    surface if surface.casefold() != surface[:1].casefold() + surface[1:] else surface[:1].lower() + surface[1:]
                ] += 1
    best = max(forms, key=lambda form: (forms[form], -len(form), form), default=title)
    return _titled(best)


def _squeezed(name: str) -> str:
    return re.sub(r"\W+", "", name).casefold()


def _counts(report: Mapping[str, Any]) -> str:
    made = report["articles"]
    return f"{made['created']} created, {made['updated']} updated, {made['rejected']} rejected"


def _entry(number: int, report: Mapping[str, Any], at: datetime) -> str:
    """What the changelog says of a dream: what changed, why, what was rejected, and what it cost."""
    lines = [f"## Dream {number}, {at:%Y-%m-%d %H:%M}", ""]
    for row in report["stages"]:
        if row["name"] in TOLD and row["out"]:
            lines.append(f"- {TOLD[row['name']]}: {row['out']}")
    for verb in ("created", "updated"):
        if report[verb]:
            lines.append(f"- {verb}: " + ", ".join(f"[[{_named(path)}]]" for path in report[verb]))
    if report["removed"]:
        lines.append(f"- removed: {report['removed']} articles of which every source was erased or forgotten")
    lines += [f"- raised: [[{_named(signal['path'])}]]: {signal['line'].lstrip('- ')}" for signal in report["signals"]]
    lines += [f"- rejected: {line}" for line in report["rejections"][:REJECTED]]
    if (more := len(report["rejections"]) - REJECTED) > 0:
        lines.append(f"- rejected besides: {more}")
    spent = report["spent"]
    cost = f", {spent['money']} spent" if spent.get("money") else ""
    lines.append(f"- judge: {spent['judge']}, {spent['calls']} calls, {spent['tokens']} tokens{cost}")
    return "\n".join(lines) + "\n"


def _named(path: str) -> str:
    return path.removeprefix("articles/").removesuffix(".md")


def _dreamt(row: Mapping[str, Any]) -> dict[str, Any]:
    report = json.loads(str(row["report"]))
    return {**report, "id": row["id"], "at": iso(int(row["at"])), "judge": row["judge"]}
