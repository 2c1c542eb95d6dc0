"""The life of experiences walked in full: a model that knows only the seed's table, against the store."""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mnemic.errors import Refused
from mnemic.knowledge.trust import Rules
from mnemic.models.event import Origin
from tests.homes import Home
from tests.knowledge.lessons import bare, batch, lesson, library

CAP = 2
SHOWN = ("status", "alpha", "beta", "value", "pinned", "approved_by")
OPEN = ("candidate", "live", "challenged")
TABLES = ("experiences", "reports", "consolidations")
CHANNELS: st.SearchStrategy[Origin] = st.sampled_from(["user", "user", "user", "agent"])
DRAWS = st.integers(0, 400)
MEMORY = Path("/dev/shm")
Rows = dict[str, list[dict[str, Any]]]


@dataclass
class Revision:
    """What the model knows of one revision."""

    line: int
    number: int
    family: str
    status: str
    external: bool
    born: int
    alpha: int = 0
    beta: int = 0
    priors: tuple[int, int] = (0, 0)
    value: int = 0
    pinned: bool = False
    by: str | None = None
    outcomes: str = ""


@dataclass
class Model:
    """All of them, and the keys of the reports that were counted."""

    revisions: list[Revision] = field(default_factory=list)
    keys: set[tuple[int, int, str]] = field(default_factory=set)

    def of(self, line: int) -> list[Revision]:
        return [item for item in self.revisions if item.line == line]

    def active(self, line: int) -> Revision | None:
        found = [item for item in self.of(line) if item.status in OPEN]
        return max(found, key=lambda item: (item.status == "live", item.number), default=None)

    def room(self, item: Revision) -> list[Revision] | None:
        others = [o for o in self.revisions if o.status == "live" and o.family == item.family and o.line != item.line]
        excess = len(others) + 1 - CAP
        loose = sorted((o for o in others if not o.pinned), key=lambda o: (o.value, o.born))
        return None if excess > len(loose) else loose[: max(0, excess)]

    def enter(self, item: Revision) -> bool:
        room = self.room(item)
        if room is None:
            return False
        for other in self.of(item.line):
            if other is not item and other.status in ("live", "challenged"):
                other.status = "superseded"
        for other in room:
            other.status = "archived"
        item.status = "live"
        return True

    def vouch(self, item: Revision) -> None:
        item.by = "human"
        if (item.priors[0] + 1) / (sum(item.priors) + 2) < 6 / 9:
            item.alpha += 5 - item.priors[0]
            item.beta += 2 - item.priors[1]
            item.priors = (5, 2)


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.home = Home(self.folder)
        self.lib = library(self.home, Rules(family_cap=CAP))
        self.model = Model()
        self.ids: list[str] = []
        self.made = 0
        self.last: tuple[int, Model, list[str], Rows] | None = None

    def teardown(self) -> None:
        try:
            assert self.home.ledger.verify("default").ok
        finally:
            self.home.store.close()
            shutil.rmtree(self.folder)

    # what every step does

    def rows(self) -> Rows:
        return {table: [dict(row) for row in self.home.store.rows("default", table)] for table in TABLES}

    def act(self, deed: Callable[[], Any], told: Callable[[Model], bool], moved: bool = True) -> Any:
        """Do it in both: the model says whether it is possible and changes itself; one entry or none follows."""
        self.home.clock.advance(minutes=1)
        before, rows, ids = copy.deepcopy(self.model), self.rows(), list(self.ids)
        head = self.home.store.head("default")
        seq = head.seq if head else 0
        possible = told(self.model)
        try:
            done = deed()
        except Refused:
            assert not possible
            assert self.rows() == rows
            self.model = before
            return None
        assert possible, done
        after = self.home.store.head("default")
        assert (after.seq if after else 0) == seq + (done.seq is not None)
        if done.seq is not None:
            self.last = (done.seq, before, ids, rows)
        return done

    def pick(self, draw: int, *fitting: str) -> Revision:
        """One of all revisions; three times of four one of a status that fits, where there is one."""
        fit = [item for item in self.model.revisions if item.status in fitting] if draw % 4 else []
        found = fit or self.model.revisions
        return found[draw // 4 % len(found)]

    def fresh(self, **more: Any) -> Revision:
        self.made += 1
        return Revision(**{"line": len(self.ids), "number": 1, "family": "f", "status": "candidate", "external": False,
                           "born": self.made, **more})  # fmt: skip

    def new(self, item: Revision, deed: Callable[[int], Any]) -> None:
        done = self.act(lambda: deed(self.made), lambda model: model.revisions.append(item) or True)
        self.ids.append(done.id if hasattr(done, "id") else done.receipts[0].id)

    @initialize()
    def begin(self) -> None:
        """A few to begin with, so that most steps have something to be about."""
        for _ in range(2):
            self.refine("f", "agent", 1)
        self.refine("f", "web", 0)
        self.add("f")

    # handing in

    @rule(family=st.sampled_from("fg"), origin=st.sampled_from(["agent", "tool", "web"]), saved=st.integers(0, 3))
    def refine(self, family: str, origin: str, saved: int) -> None:
        item = self.fresh(family=family, external=origin != "agent", value=-saved)
        work = {"tokens": 10 * saved, "steps": 6}
        self.new(item, lambda n: self.lib.refine(lesson(n, family=family, origin=origin, complexity=work)))

    @rule(family=st.sampled_from("fg"))
    def ingest(self, family: str) -> None:
        item = self.fresh(family=family, external=True, alpha=2, beta=2, priors=(2, 2))
        self.new(item, lambda n: self.lib.ingest(batch(bare(n, family=family), kind="conversation")))

    @rule(family=st.sampled_from("fg"))
    def add(self, family: str) -> None:
        item = self.fresh(family=family, alpha=5, beta=2, priors=(5, 2), by="human")

        def told(model: Model) -> bool:
            model.revisions.append(item)
            return model.enter(item)

        done = self.act(lambda: self.lib.add(bare(self.made, family=family)), told)
        if done is not None:
            self.ids.append(done.id)

    # reports

    @precondition(lambda self: any(item.status == "live" for item in self.model.revisions))
    @rule(draw=DRAWS)
    def fail_twice(self, draw: int) -> None:
        """What takes a live one out."""
        for _ in range(2):
            self.report(draw | 1, False, True, "it broke", 0, None)

    @precondition(lambda self: self.model.revisions)
    @rule(
        draw=DRAWS, success=st.booleans(), blamed=st.booleans(), saved=st.integers(0, 3),
        evidence=st.sampled_from(["it broke", "it broke", "", "network down"]), key=st.sampled_from([None, None, "a", "b"]),
    )  # fmt: skip
    def report(self, draw: int, success: bool, blamed: bool, evidence: str, saved: int, key: str | None) -> None:
        item = self.pick(draw, "candidate", "live", "archived")

        def told(model: Model) -> bool:
            if key is not None and (item.line, item.number, key) in model.keys:
                return True
            if item.status == "deleted":
                return False
            if key is not None:
                model.keys.add((item.line, item.number, key))
            item.value += saved
            if success:
                item.alpha, item.outcomes = item.alpha + 1, (item.outcomes + "S")[-6:]
                entering = item.status in ("candidate", "archived") and not item.external
                if entering and model.enter(item):
                    item.by = item.by or "agent"
                return True
            counts = blamed and (evidence == "it broke" or (evidence == "" and item.status == "candidate"))
            if not counts:
                return True
            item.beta, item.outcomes = item.beta + 1, (item.outcomes + "F")[-6:]
            share = item.outcomes.count("F") / len(item.outcomes)
            if item.status == "candidate":
                item.status = "cold"
            elif item.status == "live" and (item.outcomes[-2:] == "FF" or (len(item.outcomes) >= 3 and share >= 0.6)):
                item.status = "challenged"
            return True

        self.act(
            lambda: self.lib.report(
                self.ids[item.line], "success" if success else "fail", revision=item.number, evidence=evidence,
                attribution="experience" if blamed else "unrelated", tokens_saved=saved, dedupe_key=key,
            ),
            told,
        )  # fmt: skip

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, right=st.booleans())
    def replay(self, draw: int, right: bool) -> None:
        item = self.pick(draw, "candidate")
        gist = self.lib.show(self.ids[item.line], revision=item.number)["gist"]
        samples = [{"situation": gist, "expected": "success" if right else "fail"}]

        def told(model: Model) -> bool:
            if item.status != "candidate":
                return False
            if right and not item.external and model.enter(item):
                item.by = item.by or "agent"
            return True

        self.act(lambda: self.lib.verify(self.ids[item.line], revision=item.number, samples=samples), told)

    # revising

    @precondition(lambda self: any(item.status == "challenged" for item in self.model.revisions))
    @rule(draw=DRAWS, right=st.booleans())
    def revise_and_try(self, draw: int, right: bool) -> None:
        """A challenged one gets a draft, and the draft its trial."""
        self.revise(draw | 1, "agent")
        self.report(draw | 1, right, True, "it broke", 1, None)

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, channel=CHANNELS)
    def revise(self, draw: int, channel: Origin) -> None:
        line = self.pick(draw, *(("challenged",) if channel == "agent" else ("challenged", "live"))).line
        self.made += 1
        words, born = f"other{self.made} words{self.made}", self.made

        def told(model: Model) -> bool:
            active = model.active(line)
            evolves = active is not None and active.status == "live" and active.by == "human" and channel == "user"
            if active is None or not (active.status == "challenged" or evolves):
                return False
            number = max(item.number for item in model.of(line)) + 1
            if not evolves:
                draft = Revision(line, number, active.family, "candidate", active.external, born, value=active.value)
                model.revisions.append(draft)
                return True
            made = copy.copy(active)
            made.number, made.born = number, born
            model.vouch(made)
            model.revisions.append(made)
            return model.enter(made)

        self.act(lambda: self.lib.revise(self.ids[line], reason="r", gist=words, channel=channel), told)

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, channel=CHANNELS)
    def rollback(self, draw: int, channel: Origin) -> None:
        item = self.pick(draw, "superseded")

        def told(model: Model) -> bool:
            if item.status != "superseded" or channel == "agent":
                return False
            for other in model.of(item.line):
                if other.status in OPEN:
                    other.status = "superseded"
            item.by = "human"
            return model.enter(item)

        self.act(lambda: self.lib.rollback(self.ids[item.line], revision=item.number, channel=channel), told)

    @precondition(lambda self: len(self.ids) > 1)
    @rule(one=DRAWS, two=DRAWS, family=st.sampled_from("fg"), invented=st.booleans())
    def consolidate(self, one: int, two: int, family: str, invented: bool) -> None:
        first, second = self.pick(one, "live").line, self.pick(two, "live", "candidate").line
        if first == second:
            return
        item = self.fresh(family=family)

        def told(model: Model) -> bool:
            sources = [model.active(first), model.active(second)]
            if any(source is None or source.pinned for source in sources):
                return False
            known = [source for source in sources if source is not None]
            item.alpha, item.beta = sum(s.alpha for s in known), sum(s.beta for s in known)
            item.priors = (sum(s.priors[0] for s in known), sum(s.priors[1] for s in known))
            item.value, item.external = sum(s.value for s in known), any(s.external for s in known)
            lively = all(s.status == "live" for s in known)
            for other in [*model.of(first), *model.of(second)]:
                if other.status in OPEN:
                    other.status = "archived"
            model.revisions.append(item)
            if lively and not item.external and not invented and model.enter(item):
                item.by = "agent"
            return True

        ids = [self.ids[first], self.ids[second]]
        said = {} if invented else {name: self.lib.show(ids[0])[name] for name in ("gist", "situation", "path")}
        merge = {**bare(self.made, family=family), **said, "source_ids": ids}
        done = self.act(lambda: self.lib.consolidate(merge), told)
        if done is not None:
            self.ids.append(done.receipts[0].id)

    # a person's verbs

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, channel=CHANNELS)
    def promote(self, draw: int, channel: Origin) -> None:
        item = self.pick(draw, "candidate")

        def told(model: Model) -> bool:
            if item.status != "candidate" or channel == "agent":
                return False
            model.vouch(item)
            return model.enter(item)

        self.act(lambda: self.lib.promote(self.ids[item.line], revision=item.number, channel=channel), told)

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, channel=CHANNELS)
    def demote(self, draw: int, channel: Origin) -> None:
        item = self.pick(draw, "live", "candidate")

        def told(model: Model) -> bool:
            if item.status not in ("live", "candidate") or channel == "agent":
                return False
            item.status, item.by = {"live": "challenged", "candidate": "cold"}[item.status], None
            return True

        self.act(lambda: self.lib.demote(self.ids[item.line], reason="r", revision=item.number, channel=channel), told)

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, channel=CHANNELS, verb=st.sampled_from(["archive", "pin", "unpin", "release"]))
    def settle(self, draw: int, channel: Origin, verb: str) -> None:
        fits = {"archive": (*OPEN, "archived"), "pin": OPEN, "unpin": OPEN, "release": ("cold",)}[verb]
        item = self.pick(draw, *fits)

        def told(model: Model) -> bool:
            if item.status not in fits or channel == "agent":
                return False
            item.status = {"archive": "archived", "release": "candidate"}.get(verb, item.status)
            item.pinned = {"pin": True, "unpin": False}.get(verb, item.pinned)
            return True

        self.act(lambda: getattr(self.lib, verb)(self.ids[item.line], revision=item.number, channel=channel), told)

    @precondition(lambda self: self.model.revisions)
    @rule(draw=DRAWS, channel=CHANNELS)
    def delete(self, draw: int, channel: Origin) -> None:
        line = self.pick(draw).line

        def told(model: Model) -> bool:
            if channel == "agent" or all(item.status == "deleted" for item in model.of(line)):
                return False
            for item in model.of(line):
                item.status = "deleted"
            return True

        self.act(lambda: self.lib.delete(self.ids[line], channel=channel), told)

    # taking back

    @precondition(lambda self: self.last is not None)
    @rule()
    def undo_the_last(self) -> None:
        assert self.last is not None
        seq, model, ids, rows = self.last
        if not self.home.ledger.event("default", seq).payload or not self.changed(seq):
            return
        now = (self.model, self.ids, self.rows())
        with self.home.store.write("default") as tx:
            event, _ = self.home.ledger.undo(tx, "default", seq, actor="user", reason="test")
        self.home.ledger.committed("default", event)
        assert self.rows() == rows
        self.model, self.ids = copy.deepcopy(model), list(ids)
        self.last = (event.seq, *now)

    def changed(self, seq: int) -> bool:
        from mnemic.ledger.chain import changes_of

        return bool(changes_of(self.home.ledger.event("default", seq).payload or ""))

    # what always holds

    @invariant()
    def the_store_is_as_the_model_says(self) -> None:
        stored = {
            (row["id"], row["revision"]): tuple(row[name] for name in SHOWN)
            for status in (None, "deleted")
            for row in self.lib.list(status=status)
        }
        told = {
            (self.ids[item.line], item.number): (item.status, item.alpha, item.beta, item.value, item.pinned, item.by)
            for item in self.model.revisions
        }
        assert stored == told

    @invariant()
    def nothing_is_live_without_evidence_or_a_person(self) -> None:
        families: dict[str, int] = {}
        reports = [dict(row) for row in self.home.store.rows("default", "reports")]
        for row in self.lib.list(status="live"):
            families[row["family"]] = families.get(row["family"], 0) + 1
            person = row["approved_by"] == "human" and row["approved"] == row["seal"]
            won = any(
                (report["experience"], report["revision"], report["counted"]) == (row["id"], row["revision"], "alpha")
                for report in reports
            )
            proved = row["approved_by"] == "agent" and (won or row["verified_at"] or row["parents"])
            assert person or (proved and row["origin"] in ("user", "agent")), row
            assert self.lib.recall(row["gist"], deep=True).degraded == ()
        assert all(count <= CAP for count in families.values())

    @invariant()
    def no_count_is_lost(self) -> None:
        reports = list(self.home.store.rows("default", "reports"))
        for row in self.home.store.rows("default", "experiences"):
            if row["parents"] == "[]":
                mine = [r["counted"] for r in reports if (r["experience"], r["revision"]) == (row["id"], row["revision"])]
                assert row["alpha"] - row["prior_alpha"] == mine.count("alpha")
                assert row["beta"] - row["prior_beta"] == mine.count("beta")


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=30, stateful_step_count=40, suppress_health_check=list(HealthCheck)
)
