from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnemic.errors import BadInput, Refused
from mnemic.memory import Memory
from tests.vault.homes import note, opened

ROUNDS = 6


def test_agents_that_write_at_once_lose_nothing_of_each_other_and_the_last_wins_a_key(tmp_path: Path) -> None:
    with opened(tmp_path, git="off") as memory:
        memory.cards.new("Ada", "contact", body="# Ada\n\n## History\n\n- born\n", origin="agent")
        memory.tier("/cards/people/ada", "auto")
    paths = os.pathsep.join(path for path in sys.path if path)
    commands = {name: [sys.executable, "-m", "tests.vault.agents", str(tmp_path), name, str(ROUNDS)] for name in ("wren", "lark")}
    environ = {**os.environ, "PYTHONPATH": paths}
    running = {
        name: subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) for name, command in commands.items()
    }  # fmt: skip
    said = {name: json.loads(process.communicate(timeout=120)[0]) for name, process in running.items()}
    with opened(tmp_path, git="off") as memory:
        report = memory.vault.sync()
        assert not (report.new or report.edited or report.deleted or report.conflicts)
        page = memory.cards.show("Ada")
        history = page["body"].partition("## History\n\n")[2].splitlines()
        assert history[0] == "- born" and len(history) == 1 + 2 * ROUNDS
        for name, lines in said.items():
            assert [line[2:] for line in history if f", {name}: " in line] == lines
            assert page["frontmatter"][f"seen-by-{name}"] == f"round {ROUNDS - 1}"
        assert page["frontmatter"]["mood"] in (f"wren {ROUNDS - 1}", f"lark {ROUNDS - 1}")
        assert len(memory.vault.backlinks("cards/people/Ada.md")) == 2 * ROUNDS
        touches = [entry for entry in memory.ledger(limit=1000) if entry["op"] == "touch"]
        assert len(touches) >= 2 * ROUNDS  # a link in a new card is a mention, which counts as a use too
        assert {row.origin for row in memory.vault.known() if row.kind == "card"} == {"agent"}
        assert memory.verify().ok and memory.doctor()["problems"] == []


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Memory, Memory]:
    return opened(tmp_path, git="off"), opened(tmp_path, git="off")


def test_two_agents_with_the_card_open_each_keep_what_the_other_wrote(pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    one.cards.new("Ada", "contact", description="first", origin="agent")
    two.cards.set("Ada", {"description": "second", "owner": "two"})
    one.cards.set("Ada", {"region": "north", "status": "done"})
    two.cards.set("Ada", {"status": "pending"})
    head = two.cards.show("Ada")["frontmatter"]
    assert [head[key] for key in ("description", "owner", "region", "status")] == ["second", "two", "north", "pending"]
    assert one.cards.show("Ada")["frontmatter"] == head and one.show("/cards/people/ada")["text"].count("second") == 1


def test_touches_by_each_agent_count(pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    one.cards.new("Ada", "contact", origin="agent")
    for agent in (one, two, one):
        agent.touch("/cards/people/ada")
    assert one.show("/cards/people/ada", touch=False)["access_count"] == 3


def test_a_write_that_would_change_a_history_is_refused_and_a_person_may_change_it(pair: tuple[Memory, Memory]) -> None:
    memory, _ = pair
    memory.cards.new("Ada", "contact", origin="agent")
    memory.cards.log("Ada", "moved to\nParis", by="wren")
    file = memory.vault.root / "cards/people/Ada.md"
    before = file.read_bytes()
    assert before.endswith(b"# Ada\n\n## History\n\n- 2026-03-10, wren: moved to Paris\n")
    for edit in (lambda data: data.replace(b"Paris", b"Rome"), lambda data: data.partition(b"## History")[0]):
        with pytest.raises(Refused, match="only be appended"):
            memory.vault.revise("cards/people/Ada.md", edit, "an agent's edit")
    assert file.read_bytes() == before
    note(memory, "cards/people/Ada.md", before.replace(b"Paris", b"Rome"))
    assert memory.vault.sync().edited == ["cards/people/Ada.md"] and "Rome" in memory.show("/cards/people/ada")["text"]


def test_a_persons_comments_and_order_stay_when_keys_are_set(pair: tuple[Memory, Memory]) -> None:
    memory, _ = pair
    note(memory, "cards/people/Ada.md", b"---\r\n# mine\r\nstatus:  'active'  # why\r\nodd: [x]\r\n---\r\nbody")
    memory.vault.sync()
    memory.cards.set("Ada", {"status": "done", "tags": ["a", "b"], "odd": None})
    assert (memory.vault.root / "cards/people/Ada.md").read_bytes() == (
        b"---\r\n# mine\r\nstatus: done  # why\r\ntags: [a, b]\r\nupdated: 2026-03-10\r\n---\r\nbody"
    )


@pytest.mark.parametrize("key", ["tier", "title", "updated", "a b", "", "1x", "a: b"])
def test_a_key_that_is_not_set_by_hand_is_refused(pair: tuple[Memory, Memory], key: str) -> None:
    pair[0].cards.new("Ada", "contact")
    with pytest.raises(BadInput):
        pair[0].cards.set("Ada", {key: "x"})
