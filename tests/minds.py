"""A home with all that knows about the user, in one namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mnemic.clock import to_ms
from mnemic.knowledge.concerns import Concerns
from mnemic.knowledge.diary import Diary
from mnemic.knowledge.extract import Extractor
from mnemic.knowledge.facts import Facts
from mnemic.knowledge.placing import Placing
from mnemic.knowledge.profile import MAX_TOKENS, profile
from mnemic.models.semantic import Profile
from mnemic.text.when import parse_moment
from tests.homes import Home


@dataclass
class Mind:
    """What memory holds about one user."""

    home: Home
    ns: str = "default"

    def __post_init__(self) -> None:
        parts = (self.home.store, self.home.ledger, self.home.clock, self.ns)
        self.diary = Diary(*parts)
        self.facts = Facts(self.diary, *parts)
        self.concerns = Concerns(self.diary, *parts)
        self.extractor = Extractor(self.diary, Placing(self.diary, *parts), self.concerns, *parts)

    def say(self, text: str, at: str | None = None, **more: Any) -> int:
        """Add a diary entry; its id."""
        return int(self.diary.add(text, at=None if at is None else self.ms(at), **more)["id"])

    def ms(self, text: str) -> int:
        return to_ms(parse_moment(text, self.home.clock.now()))

    def draw(self, *proposals: dict[str, Any], concerns: tuple[dict[str, Any], ...] = (), **more: Any) -> list[dict[str, Any]]:
        """Extract; the receipts."""
        data = {"proposals": list(proposals), "concerns": list(concerns), "summary": "test"}
        receipts: list[dict[str, Any]] = self.extractor.extract(data, **more)["receipts"]
        return receipts

    def learn(self, text: str, key: str, value: str, *, category: str = "identity", at: str | None = None,
              channel: Any = "user", **more: Any) -> dict[str, Any]:  # fmt: skip
        """Say something and extract one fact from it; the receipt."""
        source = self.say(text, at, channel=channel, **more)
        return self.draw(stated(key, value, source, category=category), channel=channel)[0]

    def current(self, key: str, **more: Any) -> list[str]:
        """The values that hold under a key, in any category."""
        return [row["value"] for row in self.facts.list(key=key, **more) if row["status"] in ("current", "provisional")]

    def statuses(self, key: str) -> dict[str, str]:
        """Every value ever put under a key, with its status."""
        return {row["value"]: row["status"] for row in self.facts.list(key=key, everything=True)}

    def profile(self, max_tokens: int = MAX_TOKENS, **more: Any) -> Profile:
        return profile(self.facts, self.concerns, self.home.clock, self.home.ledger.ids.token(8), max_tokens=max_tokens, **more)

    def undo(self, seq: int) -> None:
        with self.home.store.write(self.ns) as tx:
            event, _ = self.home.ledger.undo(tx, self.ns, seq, actor="user", reason="test")
        self.home.ledger.committed(self.ns, event)


def stated(key: str, value: str, *sources: int, category: str = "identity", **more: Any) -> dict[str, Any]:
    """A proposal."""
    return {"category": category, "key": key, "value": value, "source_diary_ids": list(sources), **more}


def ended(key: str, *sources: int, category: str = "identity", **more: Any) -> dict[str, Any]:
    """A withdrawal."""
    return {"action": "withdraw", "category": category, "key": key, "source_diary_ids": list(sources), **more}
