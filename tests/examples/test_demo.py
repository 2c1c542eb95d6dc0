"""The demo is what a stranger runs first: it must show every part, leave nothing behind and touch nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import demo


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def shown(outside: Path, capsys: pytest.CaptureFixture[str]) -> str:
    given = {f"MNEMIC_{name}": str(outside / name.lower()) for name in ("HOME", "CONFIG")}
    assert demo.tour({**given, "MNEMIC_NAMESPACE": "mine"})
    return capsys.readouterr().out


def test_the_tour_asks_every_question_answers_all_but_the_last_and_ends_well(shown: str, outside: Path) -> None:
    parts = shown.split("\n? ")[1:]
    asked = {query: part for part in parts[:5] for query, _, _ in demo.QUESTIONS if part.startswith(query)}
    assert len(asked) == 5
    answers = list(asked.values())
    assert "Tomasz Wrona asks 7,200 euros" in answers[0]
    assert "妈妈喜欢淡蓝色的手工瓷砖" in answers[1]
    assert "2026-04-14" in answers[2] and "2026-06-19" not in answers[2]
    assert "1. /" in answers[3]
    assert "nothing reaches the floor" in answers[4] and "1. /" not in answers[4]
    assert "why not /sessions/kitchen-4-build/1" in shown
    assert "[redacted:github-token]" in shown and "ghp_" not in shown
    assert shown.index("after forget: recall does not find it") < shown.index("after undo: recall finds it")
    assert shown.splitlines()[-1].startswith("ok  ")
    assert list(outside.iterdir()) == []


def test_the_conversation_has_four_sessions_of_ten_turns_with_names_and_times() -> None:
    turns = demo.turns()
    assert len(turns) == 40
    assert sorted({str(turn.session) for turn in turns}) == [
        "kitchen-1-plan", "kitchen-2-people", "kitchen-3-chinese", "kitchen-4-build",
    ]  # fmt: skip
    assert {(turn.role, turn.name) for turn in turns} == {("user", "Maren"), ("assistant", "Kit")}
    assert all(turn.created_at is not None for turn in turns)


def test_a_folder_without_git_history_has_no_commits(tmp_path: Path) -> None:
    assert demo.commits(tmp_path) == []
    assert demo.papers(tmp_path) == []
