"""Whatever is done in whatever order: the ledger replays to the state, undo restores it, and the rules hold."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mnemic.errors import MnemicError
from mnemic.models.event import Row
from mnemic.models.semantic import CURRENT, Fact
from tests.homes import Home
from tests.minds import Mind, ended, stated

KEYS = st.sampled_from(["home city", "Home_City", "name"])
VALUES = st.sampled_from(["Porto", "porto.", "Lisbon", "里斯本"])
ORIGINS = st.sampled_from(["user", "user", "human-file", "agent", "tool", "web", "import"])
CATEGORIES = st.sampled_from(["identity", "identity", "other"])
NUMBERS = st.integers(1, 6)
TABLES = ("diary", "extractions", "facts", "concerns")


class Semantics(RuleBasedStateMachine):
    """Operations as agents and people make them, the impossible ones among them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.mind = Mind(Home(self.folder))

    def teardown(self) -> None:
        assert self.mind.home.sane()
        self.mind.home.store.close()
        shutil.rmtree(self.folder)

    def state(self) -> dict[str, list[Row]]:
        return {table: list(self.mind.home.store.rows("default", table)) for table in TABLES}

    def seq(self) -> int:
        head = self.mind.home.store.head("default")
        return head.seq if head else 0

    def attempt(self, act: Any) -> None:
        """Do it; what is refused leaves no trace, and what is done is taken back exactly."""
        before, start = self.state(), self.seq()
        try:
            act()
        except MnemicError:
            assert (self.state(), self.seq()) == (before, start)
            return
        if self.seq() == start:
            assert self.state() == before
            return
        after, end = self.state(), self.seq()
        self.mind.undo(end)
        assert self.state() == before
        self.mind.undo(self.seq())
        assert self.state() == after

    @rule(key=KEYS, value=VALUES, origin=ORIGINS, days=st.integers(0, 20), session=st.sampled_from([None, "s"]),
          category=CATEGORIES, withdraw=st.booleans(), channel=st.sampled_from(["user", "user", "agent"]))  # fmt: skip
    def learn(self, key: str, value: str, origin: str, days: int, session: str | None, category: str, withdraw: bool,
              channel: Any) -> None:  # fmt: skip
        text = f"{key} is {value}"
        at = int(self.mind.home.clock.now().timestamp() * 1000) - days * 86_400_000
        source = int(self.mind.diary.add(text, at=at, session=session, origin=origin)["id"])
        proposals = [stated(key, value, source, category=category)]
        if withdraw:
            proposals.append(ended(key, source, category=category))
        concern = {"title": value, "source_diary_ids": [source]}
        self.attempt(lambda: self.mind.draw(*proposals, concerns=(concern,), channel=channel))

    @rule(number=NUMBERS, key=KEYS, value=VALUES)
    def cite_again(self, number: int, key: str, value: str) -> None:
        self.attempt(lambda: self.mind.draw(stated(key, value, number, number + 1)))

    @rule(number=NUMBERS, value=VALUES, what=st.sampled_from(
        ["lock", "unlock", "delete", "approve", "reject", "keep", "take", "edit", "move", "confirm"]))  # fmt: skip
    def decide(self, number: int, value: str, what: str) -> None:
        facts = self.mind.facts
        acts: dict[str, Any] = {
            "lock": lambda: facts.lock(number), "unlock": lambda: facts.unlock(number),
            "delete": lambda: facts.delete(number), "approve": lambda: facts.approve(number),
            "reject": lambda: facts.reject(number), "keep": lambda: facts.resolve(number, False),
            "take": lambda: facts.resolve(number, True), "edit": lambda: facts.edit(number, value),
            "move": lambda: facts.edit(number, category="value"), "confirm": lambda: facts.confirm(number),
        }  # fmt: skip
        self.attempt(acts[what])

    @rule(key=KEYS, value=VALUES, lock=st.booleans())
    def add(self, key: str, value: str, lock: bool) -> None:
        self.attempt(lambda: self.mind.facts.add("identity", key, value, lock=lock))

    @rule(number=NUMBERS, action=st.sampled_from(["mention", "status"]), origin=ORIGINS)
    def speak_of(self, number: int, action: str, origin: str) -> None:
        source = self.mind.say(f"about {number}", origin=origin)
        item = {"action": action, "title": "Porto", "concern_id": number, "status": "concluded", "source_diary_ids": [source]}
        self.attempt(lambda: self.mind.draw(concerns=(item,)))

    @rule(number=NUMBERS, what=st.sampled_from(["paused", "delete", "approve", "reject"]))
    def decide_concern(self, number: int, what: str) -> None:
        concerns = self.mind.concerns
        if what == "paused":
            self.attempt(lambda: concerns.status(number, what))
        else:
            self.attempt(lambda: getattr(concerns, what)(number))

    @rule(number=NUMBERS)
    def clear(self, number: int) -> None:
        self.attempt(lambda: self.mind.diary.ack(number))

    @precondition(lambda self: self.seq() > 0)
    @rule(back=st.integers(0, 9))
    def take_back(self, back: int) -> None:
        try:
            self.mind.undo(max(1, self.seq() - back))
        except MnemicError:
            return

    @rule()
    def wait(self) -> None:
        self.mind.home.clock.advance(hours=7)

    @invariant()
    def one_fact_holds_in_a_slot_and_none_without_authority(self) -> None:
        rows = [Fact(**row) for row in self.mind.home.store.rows("default", "facts")]
        live = [fact for fact in rows if fact.retired_at is None and fact.status in CURRENT]
        assert len({(fact.category, fact.slot, fact.context) for fact in live}) == len(live)
        for fact in live:
            assert fact.origin in ("user", "human-file") or fact.approved, fact
            assert fact.valid_to is None
        latest: dict[int, int] = {}
        for fact in rows:
            latest[fact.id] = latest.get(fact.id, 0) + (fact.retired_at is None)
        assert set(latest.values()) <= {1}
        for fact in rows:
            assert fact.valid_to is None or fact.valid_from <= fact.valid_to
            assert fact.retired_at is None or fact.recorded_at <= fact.retired_at

    @invariant()
    def the_ledger_replays_to_the_state(self) -> None:
        assert self.mind.home.ledger.verify("default").ok


Semantics.TestCase.settings = settings(
    max_examples=12, stateful_step_count=18, suppress_health_check=list(HealthCheck)
)
TestSemantics = Semantics.TestCase
