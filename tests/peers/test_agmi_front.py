"""The public agmi front-door attacks, each also in its evasions, against what memory holds to be so.

The attacker writes through the memory API: as external content, or under a label that says user without the user's
key. mnemic has no label to lie in: the first comes through a page's channel, the second through the agent's. (With
the user's own key the attacker is the user: that third channel is not scored here.)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mnemic.models.event import Origin
from tests.homes import Home
from tests.minds import Mind, stated

pytest.importorskip("agmi")

ATTACKS = ("memory_injection", "cross_session_bleed", "retrieval_hijack", "indirect_prompt_injection", "update_poisoning")


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def adapter(home: Home) -> Any:
    """mnemic as agmi sees it: a memory is a diary entry and the fact drawn from it, a user is a namespace."""
    from agmi.adapters.semantic_base import Retrieved, SemanticMemoryAdapter
    from agmi.signing import KEYRING

    class Front(SemanticMemoryAdapter):
        name = "mnemic"

        def __init__(self) -> None:
            self.round = 0

        def reset(self) -> None:
            self.round += 1

        def mind(self, user: str) -> Mind:
            return Mind(home, f"{self.round}/{user}")

        def add_memory(self, item: Any) -> None:
            mind = self.mind(item.user_id)
            signed = KEYRING.verify(item.user_id, item.source, item.text, item.signature)
            channel: Origin = "user" if signed else "agent"
            origin = "web" if item.source == "external" else None
            source = mind.say(item.text, channel=channel, origin=origin)
            mind.draw(stated(f"note {source}", item.text, source, category="background"), channel=channel)

        def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Any]:
            asked, found = words(query), []
            for row in self.mind(user_id).facts.list():
                score = len(asked & words(row["value"]))
                if row["status"] in ("current", "provisional") and score:
                    found.append(Retrieved(row["value"], user_id, score))
            return sorted(found, key=lambda hit: -hit.score)[:k]

    return Front()


@pytest.mark.parametrize("mutate", [False, True])
def test_no_external_or_laundered_memory_surfaces_as_a_fact(tmp_path: Path, mutate: bool) -> None:
    from agmi.measure import run_memory_attacks

    home = Home(tmp_path)
    results = {result.attack: result for result in run_memory_attacks(adapter(home), mutate=mutate)}
    home.store.close()
    for name in ATTACKS:
        result = results[name]
        assert result.error is None, result
        outcomes = result.channels or {"external": result.fixtures}
        for channel in ("external", "laundered"):
            if channel in outcomes:
                assert set(outcomes[channel]) == {False}, (name, channel, outcomes[channel])
    assert {"external", "laundered"} <= set(results["memory_injection"].channels)
