"""The chores of a night: what they do, what the dream records of them, and what an undo brings back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.context.summaries import Summary
from mnemic.errors import ModelError
from mnemic.memory import Memory
from mnemic.models.night import STAGES
from tests.synthesis.homes import Scripted, files, honest, opened, say, talk

YORK = ("The train to York leaves at 9:30.", "the train to York leaves at 9:30!")


def stage(report: dict[str, Any], name: str) -> tuple[int, int, int]:
    row = next(row for row in report["stages"] if row["name"] == name)
    return row["in"], row["out"], row["rejected"]


def mid(memory: Memory, session: str, number: int, text: str = "[decision] user 1/user: We use Postgres.") -> None:
    made = Summary(id=0, session=session, level="mid", begins=f"b{number}", ends=f"e{number}", messages=3, replaced=90, text=text,
                   importance=0.6, origin="user", judge="rules", created_at=number)  # fmt: skip
    memory._pyramid("remove").add(made, [made], [])


def levels(memory: Memory) -> list[tuple[str, str]]:
    return [(row["level"], row["tier"]) for row in memory._store.select("default", "summaries", {})]


def test_the_order_is_decay_rotation_dedupe_edges_pyramid_facts_articles_maps_audit_commit() -> None:
    assert STAGES[:6] == ("decay", "rotate", "dedupe", "edges", "pyramid", "facts")
    assert STAGES[6:] == ("ingest", "chunk", "worth", "extract", "route", "create", "update", "reconcile", "link", "normalise",
                          "wikify", "signals", "maps", "audit", "commit")  # fmt: skip


def test_a_note_that_is_folded_at_night_is_unfolded_with_the_dream(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        first, second = (str(memory.remember(text, index=False).path) for text in YORK)
        foreseen = memory.dream(dry_run=True)
        assert (foreseen["entries"], foreseen["id"]) == ([f"forget {second}: it says the same as {first}"], None)
        assert memory.show(second, touch=False)["forgotten"] is False
        report = memory.dream()
        assert stage(report, "dedupe") == (2, 1, 0)
        assert memory.show(second, touch=False)["forgotten"] is True
        assert "- notes folded into older ones: 1\n" in (memory.vault.root / "meta" / "Dreams.md").read_text("utf-8")
        memory.undo(f"dream:{report['id']}")
        assert memory.show(second, touch=False)["forgotten"] is False
        assert files(memory) == {}
        assert memory.dream()["id"] is None  # what was unfolded stays so
        assert memory.verify().ok


def test_one_of_two_folds_can_be_undone_alone_and_the_dream_after_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        notes = [str(memory.remember(text, index=False).path) for text in (*YORK, "THE TRAIN TO YORK LEAVES AT 9:30")]
        report = memory.dream()
        entry = next(row for row in memory.ledger() if row["op"] == "forget" and row["path"] == notes[1])
        memory.undo(entry["seq"])
        hidden = [memory.show(path, touch=False)["forgotten"] for path in notes]
        assert hidden == [False, False, True]
        memory.undo(f"dream:{report['id']}")
        assert memory.show(notes[2], touch=False)["forgotten"] is False
        assert memory.verify().ok


def test_summaries_that_are_due_are_merged_and_the_faded_put_away_and_all_that_is_undone_with_the_dream(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        for number in range(4):
            mid(memory, "long", number)
        before = memory._store.select("default", "summaries", {})
        numbers = memory._store.sequences("default")
        assert stage(memory.dream(stages=["pyramid"], dry_run=True), "pyramid")[1] == 4
        assert memory._store.sequences("default") == numbers
        report = memory.dream(stages=["pyramid"])
        assert levels(memory) == [("mid", "active"), ("long", "active")]
        assert stage(report, "pyramid")[1] == 4
        memory.undo(f"dream:{report['id']}")
        assert memory._store.select("default", "summaries", {}) == before
        assert memory.verify().ok


def test_what_faded_of_one_session_is_told_of_in_an_entry_of_its_own_so_that_its_erasure_empties_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "old", ("user", "", "The walrus code is ZEBRA."))
        say(memory, "new", ("user", "", "We use Postgres."))
        faint = Summary(id=0, session="old", level="short", begins="", ends="e", messages=1, replaced=9, importance=0.3,
                        origin="user", judge="rules", created_at=1, text="[fact] user 1/user: The code is ZEBRA.")  # fmt: skip
        memory._pyramid("remove").add(faint, [], [])
        mid(memory, "new", 2)
        assert sorted(levels(memory)) == [("mid", "active"), ("short", "archive")]
        memory.forget("/sessions/old", erase=True)
        assert memory.verify().ok
        assert "ZEBRA" not in str(memory.ledger_export())


def test_a_chore_that_fails_is_told_of_and_the_night_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as memory:
        talk(memory)

        def broken(dry_run: bool = False) -> Any:
            raise ModelError("the disk of the shelves is away")

        monkeypatch.setattr(memory, "decay", lambda *, dry_run: broken())
        report = memory.dream()
        assert stage(report, "decay") == (0, 0, 1)
        assert report["rejections"] == ["decay: the disk of the shelves is away"]
        assert report["articles"]["created"] == 14


def test_facts_are_drawn_within_the_budget_of_the_dream_and_undone_with_it(tmp_path: Path) -> None:
    def answer(name: str, prompt: str) -> Any:
        if name != "extract":
            return honest(name, prompt)
        fact = {"action": "state", "category": "identity", "key": "home_city", "value": "Aarhus", "source_diary_ids": [1],
                "valid_from": None, "valid_to": None}  # fmt: skip
        return {"proposals": [fact], "concerns": [], "summary": "one"}

    with opened(tmp_path, judge=Scripted(answer)) as memory:
        memory.diary.add("I live in Aarhus.")
        assert memory.dream(judge="endpoint", max_calls=0)["spent"]["calls"] == 0
        assert memory.facts.list() == []
        report = memory.dream(judge="endpoint", max_calls=5)
        assert stage(report, "facts") == (1, 1, 0)
        assert (report["spent"]["calls"], report["spent"]["tokens"]) == (1, 100)
        assert [fact["value"] for fact in memory.facts.list()] == ["Aarhus"]
        memory.undo(f"dream:{report['id']}")
        assert memory.facts.list() == []
        assert memory.verify().ok


def test_what_is_switched_off_is_left_out_but_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text('[vault]\ngit = "off"\n[decay]\ntimer = false\n[rotate]\ntimer = false\n')
    with opened(tmp_path) as memory:
        assert memory.dream()["stages"][0]["name"] == "dedupe"
        assert [row["name"] for row in memory.dream(stages=["rotate"])["stages"]] == ["rotate"]


def test_the_map_lists_articles_by_category_and_leaves_what_a_person_writes_around_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "spring-1", "spring-2", "summer-1")
        memory.dream()
        file = memory.vault.root / "moc" / "Wiki.md"
        text = file.read_text("utf-8")
        assert "## People\n\n- [[Ines]]: Ines works as a ferry pilot" in text
        file.write_text(text.replace("# Wiki\n", "# Wiki\n\nMy own words.\n"), "utf-8")
        talk(memory, "summer-2", "autumn-1")
        memory.dream()
        after = file.read_text("utf-8")
        assert "My own words.\n" in after
        assert after.count("- [[") > text.count("- [[")
        assert not [hit for hit in memory.recall("ferry pilot").hits if hit.path.startswith("/moc")]


def test_the_audit_tells_of_an_article_that_a_person_broke(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream()
        clean = stage(memory.dream(), "audit")[1]
        file = memory.vault.root / "articles" / "Ines.md"
        file.write_text(file.read_text("utf-8").replace("[^1]: `conv:", "[^1]: `kahn:"), "utf-8")
        assert stage(memory.dream(), "audit")[1] > clean
        broken = [row["message"] for row in memory.audit()["violations"] if row["rule"] == "article"]
        assert broken[:2] == ["a footnote is not of the form, or stands twice", "[^1] has no footnote"]
