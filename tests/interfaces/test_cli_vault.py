from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.interfaces.cli.app import app


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))

    def call(*words: str, stdin: str = "") -> Any:
        found = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words, "--json"], input=stdin)
        if found.exception:
            raise found.exception
        return json.loads(found.stdout)

    return call


def test_cards_and_the_vault_from_the_command_line(run: Any, tmp_path: Path) -> None:
    made = run("card", "new", "Ada", "--type", "contact", "--description", "d", "--tag", "a", "--tag", "b", "--body", "-",
               stdin="Met at [[Engine]].\n")  # fmt: skip
    assert made["path"] == "cards/people/Ada.md"
    run("card", "new", "Engine", "--type", "project")
    shown = run("card", "show", "cards/people/Ada.md")
    assert set(shown) == {"path", "frontmatter", "body"} and shown["frontmatter"]["tags"] == ["a", "b"]
    assert shown["body"] == "Met at [[Engine]].\n"
    assert [row["path"] for row in run("card", "list")] == ["cards/people/Ada.md", "cards/projects/Engine.md"]
    assert run("card", "rename", "cards/projects/Engine.md", "Motor")["rewritten"] == ["cards/people/Ada.md"]
    assert run("card", "link", "Motor", "Ada")["link"] == "[[Ada]]"
    assert run("card", "set", "Ada", "status=done", "odd=[x, y]", "description=")["frontmatter"]["odd"] == ["x", "y"]
    assert run("card", "log", "Ada", "met again", "--by", "wren")["line"].endswith(", wren: met again")
    assert "description" not in run("card", "show", "Ada")["frontmatter"]
    assert run("card", "retire", "Motor")["status"] == "inactive"
    with open(tmp_path / "home/vault/cards/people/Ada.md", "a") as handle:
        handle.write("by hand\n")
    assert run("vault", "sync", "--dry-run")["edited"] == ["cards/people/Ada.md"]
    assert run("vault", "sync")["edited"] == ["cards/people/Ada.md"]
    assert run("vault", "status")["changed"] == 0 and run("vault", "links", "Ada")["backlinks"] == ["cards/projects/Motor.md"]
    assert run("ledger", "verify")["ok"]
