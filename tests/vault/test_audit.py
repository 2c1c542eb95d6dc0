from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mnemic.clock import FixedClock
from mnemic.errors import BadInput
from mnemic.memory import Memory
from mnemic.models.document import Turn
from mnemic.vault.names import Names
from tests.homes import NOON
from tests.vault.homes import note, opened

CARD = "---\ntype: {type}\ndescription: d\nlast_accessed: 2026-03-01\n---\n"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path, git="off")


def card(memory: Memory, path: str, body: str = "", type: str = "contact") -> Path:
    return note(memory, path, CARD.format(type=type) + body)


def found(memory: Memory, rule: str, *files: Path) -> list[tuple[str, Any, Any]]:
    return [(row["path"], row["value"], row["limit"]) for row in memory.audit(files)["violations"] if row["rule"] == rule]


def test_a_new_home_has_nothing_to_find(memory: Memory) -> None:
    assert memory.audit() == {"ok": True, "violations": [], "checked": {"files": 0, "cards": 0, "names": 0}}


def test_an_audit_changes_nothing(memory: Memory) -> None:
    card(memory, "cards/people/Ada.md", "[[Nobody]]")
    memory.capture([Turn("user", "question")], session="s")
    before = [(str(file), file.stat().st_mtime_ns) for file in sorted(memory.vault.root.rglob("*"))]
    head = memory.status()["head"]
    assert not memory.audit()["ok"]
    assert [(str(file), file.stat().st_mtime_ns) for file in sorted(memory.vault.root.rglob("*"))] == before
    assert memory.status()["head"] == head and memory.vault.known() == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("x" * 4095, []), ("x" * 4096, [("state.md", 4096, 4096)]), ("x\n" * 80, []), ("x\n" * 81, [("state.md", 81, 80)])],
    ids=["below", "4 KB", "80 lines", "81 lines"],
)
def test_a_state_of_4_kb_or_over_80_lines_is_too_long(memory: Memory, text: str, wrong: list[Any]) -> None:
    note(memory, "state.md", text)
    assert found(memory, "state") == wrong


def test_what_is_loaded_all_the_time_is_measured_with_what_the_agent_loads(memory: Memory, tmp_path: Path) -> None:
    rules = tmp_path / "CLAUDE.md"
    rules.write_text("x" * 15_359)
    assert found(memory, "loaded", rules) == []
    rules.write_text("x" * 15_360)
    assert found(memory, "loaded", rules) == [(str(rules), 15_360, 15_360)]
    rules.write_text("x" * 25_600)
    assert found(memory, "loaded", rules) == [(str(rules), 25_600, 25_600), (str(rules), 25_600, 15_360)]


def test_large_dailies_and_broken_links_are_named(memory: Memory) -> None:
    note(memory, "daily/2026-03-01.md", "x" * 20_481)
    note(memory, "daily/2026-03-02.md", "x" * 20_480)
    note(memory, "daily/other.md", "x" * 30_000 + "\n[[daily/2026-03-01]] [[Nobody#Here|x]] `[[code]]`")
    assert found(memory, "daily") == [("daily/2026-03-01.md", 20_481, 20_480)]
    assert found(memory, "link") == [("daily/other.md", None, None)]


def test_a_card_in_use_that_was_not_used_for_over_90_days_is_stale(memory: Memory) -> None:
    head = "---\ntype: note\ndescription: d\n{}\n---\ntext"
    note(memory, "cards/notes/old.md", head.format("last_accessed: 2025-12-09"))
    note(memory, "cards/notes/fresh.md", head.format("last_accessed: 2025-12-10"))
    note(memory, "cards/notes/edited.md", head.format("last_accessed: 2025-01-01\nupdated: 2026-03-01"))
    note(memory, "cards/notes/done.md", head.format("last_accessed: 2025-01-01\nstatus: done"))
    note(memory, "cards/notes/core.md", head.format("last_accessed: 2025-01-01\ntier: core"))
    undated = note(memory, "cards/notes/undated.md", head.format("status: active"))
    os.utime(undated, (1, (NOON - timedelta(days=91)).timestamp()))
    assert found(memory, "stale") == [("cards/notes/old.md", 91, 90), ("cards/notes/undated.md", 91, 90)]
    memory.vault.sync()
    memory.touch("/cards/notes/undated")
    memory.tier("/cards/notes/old", "core")
    assert found(memory, "stale") == []


def test_a_touched_card_ages_from_its_touch(memory: Memory) -> None:
    memory.cards.new("Ada", "contact", description="d")
    assert isinstance(memory.clock, FixedClock)
    memory.clock.advance(days=60)
    memory.touch("/cards/people/ada")
    memory.clock.advance(days=60)
    assert found(memory, "stale") == []
    memory.clock.advance(days=40)
    assert [row[0] for row in found(memory, "stale")] == ["cards/people/Ada.md"]


def test_cards_in_use_without_a_description_are_named(memory: Memory) -> None:
    for name, head in (("a", "type: note"), ("b", "description: ' '"), ("c", "description: d"), ("d", "status: inactive")):
        note(memory, f"cards/notes/{name}.md", f"---\n{head}\nupdated: 2026-03-01\n---\n")
    note(memory, "cards/notes/e.md", "no head at all\n")
    note(memory, "loose.md", "no card\n")
    assert [row[0] for row in found(memory, "description")] == [f"cards/notes/{name}.md" for name in "abe"]


DETAIL = "Ada Lovelace lives in Lisbon and prefers the window seat on long trains."


def test_a_person_described_in_three_files_is_told_with_the_files(memory: Memory) -> None:
    card(memory, "cards/people/Ada Lovelace.md", "Mathematician.")
    note(memory, "articles/Trains.md", DETAIL)
    assert found(memory, "described") == []
    note(memory, "ideas/Seats.md", "# Ada Lovelace\nwindow")
    assert found(memory, "described") == [("articles/Trains.md", 3, 3)]
    message = next(row["message"] for row in memory.audit()["violations"] if row["rule"] == "described")
    assert "'Ada Lovelace'" in message and "articles/Trains.md, cards/people/Ada Lovelace.md, ideas/Seats.md" in message


def test_links_mentions_logs_and_histories_describe_nobody(memory: Memory) -> None:
    card(memory, "cards/people/Ada Lovelace.md")
    card(memory, "cards/projects/Motor.md", f"Runs.\n\n## History\n\n- {DETAIL}\n", "project")
    note(memory, "articles/a.md", DETAIL.replace("Ada Lovelace", "[[Ada Lovelace]]"))
    note(memory, "articles/b.md", "Met Ada Lovelace today.")
    note(memory, "daily/2026-03-01.md", DETAIL)
    note(memory, "talk/c.md", DETAIL)
    note(memory, "articles/d.md", DETAIL.replace("Ada Lovelace", "ada lovelace"))
    assert found(memory, "described") == []


def test_the_same_project_on_three_cards_is_told_and_an_alias_is_the_same(memory: Memory) -> None:
    card(memory, "cards/projects/Motor.md", type="project")
    card(memory, "cards/crm/Motor.md", type="crm")
    note(memory, "cards/projects/M2.md", "---\ntype: project\ntitle: Motor\ndescription: d\nupdated: 2026-03-01\n---\n")
    assert found(memory, "described") == [("cards/crm/Motor.md", 3, 3)]


def test_names_in_chinese_are_found_without_blanks(memory: Memory) -> None:
    card(memory, "cards/people/王小明.md")
    for name in ("a", "b"):
        note(memory, f"articles/{name}.md", "昨天王小明搬到了上海的一个新的公寓里面住。")
    assert found(memory, "described") == [("articles/a.md", 3, 3)]


def test_what_cannot_be_read_is_told_and_the_rest_is_looked_at(memory: Memory) -> None:
    card(memory, "cards/people/Ada.md", "[[Nobody]]")
    os.mkfifo(memory.vault.root / "pipe.md")
    assert [row[0] for row in found(memory, "unreadable")] == ["pipe.md"] and len(found(memory, "link")) == 1


def test_a_file_that_is_not_there_cannot_be_measured(memory: Memory) -> None:
    with pytest.raises(BadInput, match="No such file"):
        memory.budget(["/nowhere/CLAUDE.md"])


def test_the_budget_counts_bytes_and_tokens_of_every_part(memory: Memory, tmp_path: Path) -> None:
    note(memory, "state.md", "Focus: ship.\n")
    note(memory, "daily/2026-03-10.md", "lunch with 王小明\n")
    (tmp_path / "AGENTS.md").write_text("é" * 10)
    row = memory.budget([tmp_path / "AGENTS.md"])
    assert [(part["what"], part["bytes"], part["tokens"], part["over"]) for part in row["parts"]] == [
        ("state", 13, 4, False), ("today", 20, 5, False), ("config", 20, 5, False),
    ]  # fmt: skip
    assert row["total"] == {"bytes": 53, "tokens": 14, "limit": 25_600, "over": False, "config_bytes": 20,
                            "config_limit": 15_360, "config_over": False}  # fmt: skip


def test_of_names_that_begin_at_a_place_the_longest_is_found() -> None:
    names = Names(["Ada", "Ada Lovelace", "O'Neil", "王", "小明", "小明星"])
    assert list(names.within("Adam met Ada Lovelace, Ada and O'Neil; 小明星")) == [
        (9, "Ada Lovelace"), (23, "Ada"), (31, "O'Neil"), (39, "小明星"),
    ]  # fmt: skip
