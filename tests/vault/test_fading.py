from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.interfaces.cli.app import app
from mnemic.memory import Memory
from mnemic.models.document import Turn
from tests.vault.homes import note, opened

ADA = "cards/people/Ada Lovelace.md"
PAGE = "/cards/people/ada-lovelace"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = opened(tmp_path)
    made.cards.new("Ada Lovelace", "contact", description="first programmer")
    return made


def head(memory: Memory, path: str = ADA) -> dict[str, Any]:
    """What the file says, without opening it as a user does."""
    from mnemic.vault.vault import head_of

    found = head_of((memory.vault.root / path).read_bytes())
    return {key: found.get(key) for key in ("tier", "relevance", "last_accessed", "access_count")}


def later(memory: Memory, days: int) -> None:
    memory.clock.advance(days=days)  # type: ignore[attr-defined]


def standing(memory: Memory) -> dict[str, Any]:
    page = memory.show(PAGE, touch=False)
    return {"tier": page["tier"], "relevance": round(page["relevance"], 2), "last_accessed": page["last_accessed"][:10],
            "access_count": page["access_count"]}  # fmt: skip


@pytest.mark.parametrize(
    ("days", "tier", "left"),
    [(0, "active", 1.0), (7, "active", 0.9), (8, "warm", 0.88), (21, "warm", 0.69), (22, "cold", 0.67), (33, "cold", 0.51),
     (60, "cold", 0.1), (61, "archive", 0.1)],
)  # fmt: skip
def test_decay_writes_where_a_card_stands_at_its_head(memory: Memory, days: int, tier: str, left: float) -> None:
    later(memory, days)
    done = memory.decay()
    assert (head(memory)["tier"], head(memory)["relevance"]) == (tier, left)
    assert done["tiers"][tier] >= 1 and done["cards"] == (1 if days else 0)
    assert memory.decay()["cards"] == 0


def test_three_touches_take_an_archived_card_to_active_one_step_each_across_a_vault_commit(memory: Memory) -> None:
    later(memory, 100)
    memory.decay()
    assert head(memory) == {"tier": "archive", "relevance": 0.1, "last_accessed": "2026-03-10", "access_count": 0}
    steps = []
    for _ in range(3):
        done = memory.touch(PAGE)
        steps.append((done["tier_before"], done["tier_after"], round(done["relevance"], 2)))
        note(memory, "elsewhere.md", f"A person writes on, {len(steps)}.\n")
        assert memory.vault.sync().commit is not None
        memory.decay()
        assert head(memory) == standing(memory)
        assert memory._store.vault_uncommitted("default") == []  # decay committed what it wrote
        assert memory.vault.sync().commit is None
    assert steps == [("archive", "cold", 0.4), ("cold", "warm", 0.79), ("warm", "active", 0.95)]
    assert head(memory) == {"tier": "active", "relevance": 0.95, "last_accessed": "2026-06-15", "access_count": 3}
    assert memory.verify().ok


def test_only_the_lines_of_the_curve_change_and_memory_takes_it_for_no_edit(memory: Memory) -> None:
    text = b"\xef\xbb\xbf---\r\ntags: [x, 'y']   # mine\r\ntier:   active  \r\nodd: {a: 1}\r\n---\r\nBody\r\n"
    file = note(memory, "cards/people/Grace.md", text)
    bare = note(memory, "cards/people/Bare.md", "No frontmatter.\n")
    outside = note(memory, "Plan.md", "---\ntier: active\n---\nNo card.\n")
    memory.vault.sync()
    later(memory, 30)
    entries = len(memory.ledger(limit=999))
    assert memory.decay()["cards"] == 2
    own = (b"tier", b"relevance", b"last_accessed", b"access_count")
    kept = [line for line in file.read_bytes().splitlines() if not line.startswith(own)]
    assert kept == [line for line in text.splitlines() if not line.startswith(b"tier")]
    assert head(memory, "cards/people/Grace.md")["tier"] == "cold"
    assert (bare.read_text(), outside.read_text()) == ("No frontmatter.\n", "---\ntier: active\n---\nNo card.\n")
    assert len(memory.ledger(limit=999)) == entries
    assert memory.show("/cards/people/grace", touch=False)["tier"] == "cold"


def test_what_a_person_has_not_yet_saved_into_memory_is_left_alone(memory: Memory) -> None:
    later(memory, 30)
    file = memory.vault.root / ADA
    edited = file.read_text() + "A person's line.\n"
    file.write_text(edited)
    assert memory.decay()["cards"] == 0
    assert file.read_text() == edited
    memory.vault.sync()
    assert standing(memory)["tier"] == "active"


def test_a_dry_run_and_the_setting_write_no_card(memory: Memory, tmp_path: Path) -> None:
    later(memory, 30)
    before = (memory.vault.root / ADA).read_bytes()
    assert memory.decay(dry_run=True)["cards"] == 1
    (tmp_path / "home" / "mnemic.toml").write_text("[decay]\ncards = false\n")
    with opened(tmp_path) as other:
        later(other, 30)
        assert other.decay()["cards"] == 0
    assert (memory.vault.root / ADA).read_bytes() == before


def test_showing_a_card_is_a_use_and_listing_it_is_none(memory: Memory, tmp_path: Path) -> None:
    later(memory, 30)
    memory.cards.list()
    memory.recall("programmer", mode="deep")
    assert standing(memory)["access_count"] == 0
    assert memory.cards.show(ADA)["frontmatter"]["title"] == "Ada Lovelace"
    assert (standing(memory)["tier"], standing(memory)["access_count"]) == ("warm", 1)


@pytest.mark.parametrize(
    ("role", "text", "uses"),
    [("user", "Did Ada Lovelace answer?", 1), ("user", "See [[ada lovelace]] on it.", 1), ("user", "did somebody answer?", 0),
     ("assistant", "Ada Lovelace answered.", 0), ("assistant", f"It stands in {PAGE}.", 1),
     ("user", "<memory>Ada Lovelace</memory> hello", 1)],
)  # fmt: skip
def test_naming_a_card_is_a_use_by_the_user_and_citing_its_path_by_anyone(
    memory: Memory, role: str, text: str, uses: int
) -> None:
    later(memory, 30)
    other = Turn("assistant" if role == "user" else "user", "Well.")
    memory.capture([Turn(role, text), other] if role == "user" else [other, Turn(role, text)], session="s")  # type: ignore[arg-type]
    assert standing(memory)["access_count"] == uses


def test_naming_it_all_day_counts_once_and_an_old_transcript_not_at_all(memory: Memory) -> None:
    later(memory, 100)
    old = int(memory.clock.now().timestamp() * 1000) - 5 * 86_400_000
    memory.capture([Turn("user", "Ada Lovelace?", created_at=old), Turn("assistant", "Yes.", created_at=old)], session="old")
    assert standing(memory)["access_count"] == 0
    for number in range(3):
        memory.capture([Turn("user", f"Ada Lovelace, {number}?"), Turn("assistant", "Yes.")], session="new")
    assert (standing(memory)["access_count"], standing(memory)["tier"]) == (1, "cold")
    later(memory, 1)
    memory.capture([Turn("user", "Ada Lovelace again?"), Turn("assistant", "Yes.")], session="new")
    assert (standing(memory)["access_count"], standing(memory)["tier"]) == (2, "warm")


def test_what_recall_put_into_the_prompt_names_nothing(memory: Memory) -> None:
    later(memory, 30)
    frame = memory._frame(memory.recall("first programmer", mode="deep"))
    assert "ada-lovelace" in frame
    memory.capture([Turn("user", f"{frame}\n\nWhat now?"), Turn("assistant", "Nothing.")], session="s")
    assert standing(memory)["access_count"] == 0


def test_the_command_tells_how_many_cards_it_brought_up_to_date(memory: Memory, tmp_path: Path) -> None:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_NOW": "2026-04-20T12:00:00Z"}
    done = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), "decay", "--json"], env=environ)
    assert json.loads(done.stdout)["cards"] == 1
