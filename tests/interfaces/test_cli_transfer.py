"""`mnemic import` and `mnemic export` as a stranger uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.interfaces.cli.app import app
from tests.interfaces.importers import shapes


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MNEMIC_NOW", "2026-11-30T12:00:00Z")

    def call(*words: str, home: str = "home") -> Any:
        result = CliRunner().invoke(app, ["--home", str(tmp_path / home), *words], catch_exceptions=False)
        return json.loads(result.stdout) if "--json" in words else result.stdout

    return call


def test_an_import_answers_one_json_document_with_a_row_for_each_conversation(run: Any, tmp_path: Path) -> None:
    file = shapes.zipped(tmp_path / "export.zip", {"conversations.json": [shapes.trains(), {"id": "bad"}]})
    dry = run("import", "chatgpt", str(file), "--dry-run", "--json")
    assert (dry["dry_run"], dry["conversations"], dry["stored"], dry["broken"]) == (True, 3, 0, 1)
    assert dry["items"][0] == {
        "where": "conversations.json, record 1", "kind": "conversation", "name": "chatgpt-c-1", "title": "Trains", "messages": 4,
        "stored": 0, "duplicate": 0, "rejected": 0, "left_out": 2, "redacted": 0, "known": False,
        "since": "2026-03-10T12:00:00Z", "until": "2026-03-10T12:00:08Z",
    }  # fmt: skip
    assert dry["skipped"] == [
        {"where": "conversations.json, record 2", "why": "it has no 'mapping' of messages", "broken": True}
    ]
    done = run("import", "chatgpt", str(file), "--json")
    assert (done["stored"], done["indexed"], done["reason"]) == (4, 4, None)
    assert run("import", "chatgpt", str(file), "--json")["duplicate"] == 4


def test_a_person_is_told_line_by_line(run: Any, tmp_path: Path) -> None:
    file = shapes.write(tmp_path / "conversations.json", [shapes.claude(), 7])
    dry = run("import", "claude", str(file), "--dry-run")
    assert "new        claude-k-1  Garden  2026-03-10  2 messages" in dry
    assert "a dry run: 1 conversation and 0 pages with 2 messages; 1 broken; nothing was stored" in dry
    done = run("import", "claude", str(file))
    assert "stored     claude-k-1  Garden  2026-03-10  2 messages, 1 new" in done
    assert "skipped   conversations.json, record 2  it is no object" in done
    assert "1 conversation and 0 pages with 2 messages: 1 stored, 0 there already, 0 erased before, 1 broken" in done


def test_an_export_goes_out_and_comes_back(run: Any, tmp_path: Path) -> None:
    run("import", "mem0", str(shapes.write(tmp_path / "mem0.json", shapes.MEM0)), "--json")
    out = run("export", str(tmp_path / "out"), "--json")
    assert (out["counts"]["documents"], out["counts"]["markdown"]) == (2, 2)
    back = run("import", "mnemic", str(tmp_path / "out"), "--json", home="other")
    assert (back["stored"], back["duplicate"], back["documents"]) == (2, 0, 2)
    assert run("recall", "Who plays the viola?", "--json", home="other")["hits"][0]["text"] == "Plays the viola 🎻"


def test_what_is_wrong_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MNEMIC_CONFIG": str(tmp_path / "config")}
    words = [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), "import", "whatsapp", "x"]
    result = subprocess.run(words, capture_output=True, text=True, env=environ, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("mnemic: format 'whatsapp' is unknown: use mnemic, chatgpt,")


@pytest.mark.parametrize("held", ["", "[13]", '[{"uuid": "u", "chat_messages": []}]'])
def test_a_file_of_another_format_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str) -> None:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))
    (tmp_path / "talk.json").write_text(held, "utf-8")
    done = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), "import", "chatgpt", str(tmp_path / "talk.json"), "--json"])
    assert json.loads(done.stdout)["broken"] == 1
    assert done.exit_code == 1
    assert "has the shape of chatgpt: give another file" in str(done.exception)
