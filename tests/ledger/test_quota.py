"""What a namespace may hold: who is refused, what always works, and that nothing is stored where somebody is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.capture.records import Entry
from mnemic.clock import CountingIds, FixedClock
from mnemic.errors import QuotaExceeded
from mnemic.interfaces.hooks.run import settled
from mnemic.models.document import Turn
from mnemic.models.receipt import CaptureReport
from tests.homes import NOON, both

LIMITS = '[limits]\nnodes = 5\n[limits.namespaces."wide"]\nnodes = 0\n'
CHAT = [Turn("user", "Where is the kiln?"), Turn("assistant", "In the shed.")]


@pytest.fixture
def memory(tmp_path: Path, place: str) -> Iterator[Memory]:
    """A home of either kind whose namespaces hold five nodes each, but one that holds what it likes."""
    folder = tmp_path / ("files" if place else "home")
    folder.mkdir()
    (folder / "mnemic.toml").write_text(LIMITS)
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_FILES": str(folder)}
    with Memory.open(place or folder, environ=environ, clock=FixedClock(NOON), ids=CountingIds()) as made:
        yield made


def fill(memory: Memory) -> None:
    for text in ("Ada sits at the window.", "Ben sits at the door."):
        memory.remember(text, op_id=text)
    memory.diary.add("I moved.")
    memory.facts.add("identity", "home_city", "Lisbon")
    memory.cards.new("Ada", "contact", body="She fires the kiln.")
    assert memory.status()["quota"] == {"held": 5, "allowed": 5}


REFUSED: dict[str, Callable[[Memory], Any]] = {
    "remember": lambda memory: memory.remember("Carl sits outside."),
    "capture": lambda memory: memory.capture(CHAT),
    "diary": lambda memory: memory.diary.add("I moved again."),
    "fact": lambda memory: memory.facts.add("identity", "name", "Ada"),
    "graph": lambda memory: memory.graph.create_entities([{"name": "Carl", "entityType": "person", "observations": []}]),
    "record": lambda memory: memory.records.put(Entry(key=("box", "seat"), body="Carl sits outside.")),
    "card": lambda memory: memory.cards.new("Carl", "contact"),
    "history": lambda memory: memory.cards.log("Ada", "She moved."),
    "state": lambda memory: memory.state.write("Carl waits."),
    "larger": lambda memory: memory.remember("One.\n\nTwo.\n\nThree.\n\nFour.", source="file:///a"),
}


@both
def test_a_full_namespace_takes_nothing_more_and_says_what_to_do(memory: Memory) -> None:
    fill(memory)
    before, files = memory.status(), sorted(file.name for file in memory.vault.root.rglob("*.md"))
    for name, act in REFUSED.items():
        with pytest.raises(QuotaExceeded) as refused:
            act(memory)
        assert str(refused.value) == (
            "the namespace 'default' holds 5 nodes, and 5 are allowed (limits.nodes): nothing was stored; make room with"
            " `mnemic forget PATH --erase`, or ask for a larger quota"
        ), name
    assert memory.status() == before
    assert sorted(file.name for file in memory.vault.root.rglob("*.md")) == files


@both
def test_what_is_there_already_still_gets_its_receipt(memory: Memory) -> None:
    memory.capture(CHAT, session="s")
    memory.remember("Ada sits at the window.", op_id="a")
    memory.remember("One.")
    memory.remember("Two.")
    assert memory.status()["quota"] == {"held": 5, "allowed": 5}
    assert memory.remember("Ada sits at the window.", op_id="a").status == "duplicate"
    assert memory.remember("Ada sits at the window.").status == "duplicate"
    assert [receipt.status for receipt in memory.capture(CHAT, session="s").receipts] == ["duplicate"]
    assert memory.remember(" ").status == "nothing"


@both
def test_reading_forgetting_erasing_and_undoing_work_in_a_full_namespace(memory: Memory) -> None:
    fill(memory)
    path = memory.recall("Who sits at the window?").hits[0].path
    assert memory.show(path)["text"] == "Ada sits at the window."
    memory.forget(path)
    seq = memory.ledger(limit=1)[0]["seq"]
    memory.undo(seq)
    memory.facts.delete(1)
    memory.undo(memory.ledger(limit=1)[0]["seq"])
    memory.cards.set("Ada", {"status": "inactive"})
    memory.forget(path, erase=True)
    assert memory.status()["quota"] == {"held": 4, "allowed": 5}
    assert memory.remember("Carl sits outside.").status == "stored"
    assert memory.verify().ok


@both
def test_a_revision_that_adds_no_nodes_passes(memory: Memory) -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(6))
    memory.remember(long, source="file:///a")
    assert memory.status()["quota"] == {"held": 7, "allowed": 5}
    assert memory.remember(long.replace("5", "6"), source="file:///a").status == "stored"
    with pytest.raises(QuotaExceeded):
        memory.remember(f"{long}\n\nParagraph 7.", source="file:///a")
    assert memory.remember("Paragraph 1.", source="file:///a").status == "stored"
    assert memory.status()["quota"] == {"held": 1, "allowed": 5}


@both
def test_a_write_that_begins_below_the_quota_goes_through_whole(memory: Memory) -> None:
    long = [turn for number in range(30) for turn in (Turn("user", f"Ask {number}?"), Turn("assistant", f"Say {number}."))]
    with pytest.raises(QuotaExceeded):
        memory.capture(long, session="s")
    assert memory.status()["messages"] == 40  # the first batch of twenty exchanges
    assert memory.verify().ok


@both
def test_one_namespace_may_have_another_quota(memory: Memory) -> None:
    fill(memory)
    wide = memory.within("wide")
    for number in range(5):
        wide.remember(f"Note {number}.")
    assert "quota" not in wide.status()
    assert memory.within("other").stats()["quota"] == {"held": 0, "allowed": 5}


def test_the_vault_is_followed_and_what_is_new_in_it_waits_for_room(memory: Memory) -> None:
    fill(memory)
    (memory.vault.root / "cards" / "people" / "Ada.md").write_text("# Ada\n\nShe fires the kiln.\n\nAnd she paints.\n")
    (memory.vault.root / "Carl.md").write_text("Carl sits outside.\n")
    found = memory.vault.sync()
    assert (found.edited, [*found.skipped]) == (["cards/people/Ada.md"], ["Carl.md"])
    assert "5 nodes, and 5 are allowed" in found.skipped["Carl.md"]
    assert memory.recall("Who paints?").hits[0].text == "And she paints."
    for path in ("/notes/ada-sits-at-the-window", "/notes/ben-sits-at-the-door"):
        memory.forget(path, erase=True)
    assert memory.vault.sync().new == ["Carl.md"]
    assert memory.recall("Who sits outside?").hits[0].text == "Carl sits outside."


def test_what_was_only_observed_is_not_piled_up(memory: Memory) -> None:
    fill(memory)
    for turn in CHAT:
        memory.observe("s", turn)
    assert memory.flush() == list[CaptureReport]()
    with pytest.raises(QuotaExceeded):
        memory.observe("s", Turn("user", "And the clay?"))
    assert "limits.nodes" in " ".join(memory.doctor()["notes"])
    memory.forget("/notes/ada-sits-at-the-window", erase=True)
    memory.observe("s", Turn("user", "And the clay?"))
    memory.flush()
    assert memory.status()["messages"] == 3


def test_a_hook_answers_nothing_and_leaves_the_reason_for_doctor(memory: Memory, tmp_path: Path) -> None:
    fill(memory)
    log = tmp_path / "log.jsonl"
    rows = [{"type": turn.role, "message": {"role": turn.role, "content": turn.content}, "uuid": str(place),
             "timestamp": "2026-03-10T12:00:00Z"} for place, turn in enumerate(CHAT)]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = json.dumps({"session_id": "s", "transcript_path": str(log), "hook_event_name": "SessionEnd"}).encode()
    home = str(memory.settings.home)
    assert settled("session-end", home, "default", given, None, 30, time.monotonic() + 30) == b"{}"
    notes = [note for note in memory.doctor()["notes"] if "session-end" in note]
    assert len(notes) == 1 and "holds 5 nodes, and 5 are allowed" in notes[0]
