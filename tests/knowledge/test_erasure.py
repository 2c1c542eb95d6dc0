"""Erasure of what is known: the bytes go from every file, and the ledger still proves itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.clock import FixedClock
from mnemic.errors import NotFound, Refused
from mnemic.store.sqlite.connection import connect
from tests.homes import NOON
from tests.knowledge.lessons import asked, bare, batch, failing, lesson

WORD = "quokkaphone"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "HOME": str(tmp_path)}
    with Memory.open(tmp_path / "home", environ=environ, clock=FixedClock(NOON)) as opened:
        yield opened


def held(memory: Memory) -> list[str]:
    """The files in which the bytes of the word stand, after all is settled."""
    assert memory.verify().ok, memory.verify()
    assert memory.profile().degraded == [] and memory.experiences.recall(asked(2), deep=True).degraded == ()
    files = [file for file in memory.settings.home.parent.rglob("*") if file.is_file()]
    return [file.name for file in files if WORD.encode() in file.read_bytes()]


def told(memory: Memory, text: str, value: str, key: str = "device", **more: Any) -> dict[str, Any]:
    """A diary entry and the fact drawn from it; the fact's receipt."""
    entry = memory.diary.add(text, **more)
    proposal = {"category": "preference", "key": key, "value": value, "source_diary_ids": [entry["id"]]}
    data = {"proposals": [proposal], "summary": f"the user on {value}"}
    receipt: dict[str, Any] = memory.extract(data, op_id=f"extract {entry['id']}")["receipts"][0]
    return receipt


def test_an_erased_diary_entry_names_what_was_drawn_from_it_and_that_stays(memory: Memory) -> None:
    told(memory, f"I use a {WORD}.", "a small phone", op_id="one")
    done = memory.forget("diary/1", erase=True, reason="asked")
    assert (done.documents, done.elsewhere, held(memory)) == (1, ("facts/1",), [])
    assert memory.facts.list()[0]["value"] == "a small phone"
    assert memory.diary.add(f"I use a {WORD}.")["status"] == "rejected"
    with pytest.raises(Refused, match="was erased"):
        memory.diary.add(f"I use a {WORD}.", op_id="one")


def test_an_erased_fact_takes_its_revisions_and_leaves_the_diary(memory: Memory) -> None:
    told(memory, "I use one.", WORD)
    memory.facts.edit(1, f"the new {WORD}")
    memory.facts.lock(1)
    memory.facts.add("preference", "colour", "red", op_id="two")
    assert memory.forget("facts/1", erase=True).elsewhere == ("diary/1",)
    assert held(memory) == []
    assert [row["value"] for row in memory.facts.list()] == ["red"]
    assert memory.facts.add("preference", "colour", "red", op_id="two")["status"] == "duplicate"


def test_a_fact_goes_with_what_it_replaced_still_standing(memory: Memory) -> None:
    told(memory, "I use a landline.", "landline")
    memory.clock.advance(days=1)  # type: ignore[attr-defined]
    told(memory, f"Now I use a {WORD}.", WORD)
    memory.forget("facts/2", erase=True)
    memory.forget("diary/2", erase=True)
    assert held(memory) == []
    assert [row["status"] for row in memory.facts.list(everything=True)] == ["superseded"]


def test_records_that_stand_on_each_other_are_erased_one_after_the_other(memory: Memory) -> None:
    told(memory, f"I use a {WORD}.", WORD)
    told(memory, f"My {WORD} is red.", f"a red {WORD}", key="colour")
    memory.facts.delete(2)
    for path in ("diary/1", "facts/1", "diary/2", "facts/2"):
        memory.forget(path, erase=True)
    assert held(memory) == []
    assert memory.facts.list(everything=True) == memory.diary.list() == []


def test_an_erased_concern_takes_its_mentions(memory: Memory) -> None:
    memory.diary.add("Buy it, and a case for it.")
    new = {"action": "new", "title": f"buy a {WORD}", "kind": "todo", "source_diary_ids": [1]}
    mention = {"action": "mention", "title": f"a case for the {WORD}", "concern_id": 1, "source_diary_ids": [1]}
    memory.extract({"concerns": [new, mention]})
    memory.concerns.status(1, "paused", reason=f"no {WORD} to be had")
    assert memory.forget("concerns/1", erase=True).documents == 2
    assert held(memory) == []


def test_what_was_undone_is_erased_too(memory: Memory) -> None:
    seq = memory.facts.add("preference", "device", WORD)["seq"]
    memory.undo(seq)
    memory.forget("facts/1", erase=True)
    assert held(memory) == []


def test_an_erased_experience_is_gone_for_every_process_and_its_merge_stays(memory: Memory) -> None:
    lib = memory.experiences
    first = lib.refine({**lesson(1), "reasoning": WORD}).id or ""
    second = lib.refine(lesson(2)).id or ""
    other = memory.within("default").experiences
    for number in (first, second):
        lib.report(number, "success", evidence=f"the {WORD} rang" if number == first else "ok")
    lib.ingest(batch(bare(1), bare(3), note=f"about the {WORD}"))
    lib.report(first, "fail", **failing(1))
    assert other.recall(asked(1)).items
    merged = lib.consolidate({**bare(2), "source_ids": [first, second]}).receipts[0].id or ""
    done = memory.forget(f"experiences/{first}", erase=True)
    assert (done.elsewhere, held(memory)) == ((f"experiences/{merged}",), [])
    assert {row["id"] for row in lib.list()} > {second, merged}
    assert other.recall(asked(1), deep=True).none
    with pytest.raises(NotFound):
        lib.show(first)


def test_erasing_says_what_it_cannot_do(memory: Memory) -> None:
    with pytest.raises(NotFound, match="mnemic fact list"):
        memory.forget("facts/7", erase=True)
    memory.facts.add("preference", "device", "phone")
    with pytest.raises(Refused, match="--erase"):
        memory.forget("facts/1")
    seq = memory.forget("facts/1", erase=True).seq
    with pytest.raises(Refused):
        memory.undo(seq)


def test_an_erasure_that_is_taken_out_of_the_ledger_is_noticed(memory: Memory) -> None:
    memory.facts.add("preference", "device", "phone")
    seq = memory.forget("facts/1", erase=True).seq
    db = connect(memory.settings.home / "memory.db")
    db.execute("DELETE FROM payloads WHERE seq=?", (seq,))
    db.close()
    assert "no erasure says so" in (memory.verify().problem or "")
