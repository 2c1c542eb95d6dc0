from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.interfaces.cli.app import app

TURNS = '{"role": "user", "content": "Where does Ada sit?"}\n{"role": "assistant", "content": "At the window."}\n'


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MNEMIC_NOW", "2026-03-10T12:00:00Z")
    return lambda *words, stdin="": CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words], input=stdin)


@pytest.fixture
def run(call: Any) -> Any:
    return lambda *words, stdin="": json.loads(call(*words, "--json", stdin=stdin).stdout)


def test_a_daily_note_from_the_command_line(run: Any, call: Any, tmp_path: Path) -> None:
    run("capture", "-", "--session", "chat", stdin=TURNS)
    row = run("daily")
    assert (row["path"], row["status"], row["added"]) == ("daily/2026-03-10.md", "created", 1)
    assert "[Where does Ada sit?](/sessions/chat/1)" in row["body"]
    for name in ("2026-03-10", "today", "show"):
        assert run("daily", name)["status"] == "unchanged"
    assert run("daily", "yesterday")["date"] == "2026-03-09" and run("daily", "2026-03-08")["status"] == "nothing"
    assert [one["date"] for one in run("daily", "list")] == ["2026-03-10"]
    assert "At the window." in call("daily").stdout
    assert call("daily", "no day").exit_code == 1
    (tmp_path / "home/vault/daily/2026-03-01.md").write_text("---\nmood: good\n---\n" + "- The port is 8080.\n" * 1_100)
    assert run("daily", "compress", "--dry-run")["compressed"][0]["path"] == "daily/2026-03-01.md"
    assert run("daily", "compress")["compressed"][0]["lines"] <= 20
    assert "no daily note is over 20 KB" in call("daily", "compress").stdout
    assert run("ledger", "verify")["ok"]


def test_the_state_and_the_budget_from_the_command_line(run: Any, call: Any, tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("x" * 400)
    assert run("state", "-", stdin="Focus: ship.\n")["bytes"] == 13 and run("state")["body"] == "Focus: ship.\n"
    assert call("state", "x" * 5_000).exit_code == 1
    row = run("budget", str(tmp_path / "CLAUDE.md"))
    assert [(part["what"], part["bytes"], part["tokens"]) for part in row["parts"]] == [("state", 13, 4), ("config", 400, 100)]
    assert row["total"]["over"] is False and "413 of 25,600 bytes" in call("budget", str(tmp_path / "CLAUDE.md")).stdout
    assert call("budget", "/nowhere").exit_code == 1


def test_an_audit_answers_as_a_linter_does(call: Any, tmp_path: Path) -> None:
    assert call("audit").exit_code == 0
    cards = tmp_path / "home/vault/cards/notes"
    cards.mkdir(parents=True)
    (cards / "a.md").write_text("[[Nobody]]\n")
    found = call("audit", "--json")
    assert found.exit_code == 1
    assert [(row["rule"], row["path"]) for row in json.loads(found.stdout)["violations"]] == [
        ("link", "cards/notes/a.md"), ("description", "cards/notes/a.md"),
    ]  # fmt: skip
    assert "cards/notes/a.md: link [[Nobody]] leads nowhere" in call("audit").stdout
    assert call("audit", "--unknown").exit_code == 2
