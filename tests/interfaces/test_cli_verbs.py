"""What holds for every verb: its place in the help, one JSON document with --json, words where there is nothing to show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from mnemic.errors import MnemicError
from mnemic.interfaces.cli.app import PANELS, app

Call = Callable[..., Result]
TALK = '{"role": "user", "content": "The kiln is at 1240 degrees.", "session": "s"}'
ALONE = {"hook", "proxy", "mcp", "serve"}
"""These serve: what they print is a protocol."""

FIRST = [
    ["remember", "Ada prefers the window seat."],
    ["capture", "talk.jsonl"],
    ["diary", "add", "I moved to Lisbon.", "--session", "s"],
    ["extract", "proposals.json"],
    ["experience", "refine", "lesson.json"],
    ["card", "new", "Ada", "--type", "contact"],
]
"""What a home is filled with; each is a verb as well."""

WORDS = [
    "recall Ada", "recall nothing-of-the-kind", "show /notes/ada-prefers-the-window-seat", "tree", "status", "doctor", "reindex",
    "ledger list", "ledger show 1", "ledger verify", "ledger export", "diary list", "diary show 1", "fact list",
    "fact show 1", "concern list", "profile", "skill", "experience list", "experience recall kiln", "vault sync", "vault status",
    "vault links Ada", "vault rebuild", "card list", "card show Ada", "card set Ada status=active", "card log Ada met", "daily",
    "daily list", "daily compress", "state", "state Focus", "budget", "audit", "dream", "dream list", "dream show 1",
    "dream schedule", "dream work next", "wiki list", "wiki search Ada", "wiki resolve Ada", "touch /sessions/s/1",
    "tier /sessions/s/1 core", "decay", "rotate", "vacuum", "stats", "tend", "window status", "window work next",
    "window prepare messages.json --window 4000", "plugin", "backup kept", "import markdown notes", "export out",
    "export training set.jsonl", "uninstall codex", "install cursor --dry-run", "forget /sessions/s/1", "undo 1",
]  # fmt: skip


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    files = {
        "talk.jsonl": TALK,
        "proposals.json": json.dumps(
            {"proposals": [{"category": "identity", "key": "city", "value": "Lisbon", "source_diary_ids": [1]}]}
        ),
        "lesson.json": json.dumps(
            {"kind": "positive", "family": "kiln", "gist": "Dry first", "situation": "firing the kiln", "path": "1. dry",
             "evidence": {"note": "seen"}, "complexity": {"tokens": 9000, "steps": 8, "had_failure": True}}
        ),
        "messages.json": '[{"role": "user", "content": "Where does Ada sit?"}]',
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n\nTea at four.")
    environ = {"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config"), "HOME": str(tmp_path),
               "MNEMIC_NOW": "2026-11-30T12:00:00Z", "TERM": "dumb", "COLUMNS": "200"}  # fmt: skip
    return lambda *words: CliRunner(env=environ).invoke(app, list(words))


def leaves(command: object, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every verb that does something, with its words."""
    inner = getattr(command, "commands", None)
    if inner is None or getattr(command, "invoke_without_command", False):
        yield words, command
    for name, child in (inner or {}).items():
        yield from leaves(child, (*words, name))


def test_every_verb_stands_in_exactly_one_panel_of_the_help_and_says_what_it_is_for() -> None:
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(" ".join(PANELS.values()).split()) == sorted(verbs)
    assert [words for words, command in leaves(typer.main.get_command(app)) if not getattr(command, "help", None)] == []


def test_the_help_begins_with_remember_and_keeps_the_order_of_the_panels(call: Call) -> None:
    text = call("--help").stdout
    at = [text.index(f"─ {panel} ─") for panel in PANELS]
    assert at == sorted(at)
    assert text.index("│ remember") < text.index("│ recall") < text.index("│ undo") < text.index("│ mcp")


def test_every_verb_that_answers_can_do_so_in_json() -> None:
    without = [
        words for words, command in leaves(typer.main.get_command(app))
        if words[0] not in ALONE and "as_json" not in {option.name for option in command.params}  # type: ignore[attr-defined]
    ]  # fmt: skip
    assert without == []


def test_with_json_there_is_one_document_on_stdout_and_nothing_else(call: Call) -> None:
    for words in [*FIRST, *(line.split() for line in WORDS)]:
        result = call(*words, "--json")
        if not isinstance(result.exception, MnemicError):
            assert result.exit_code in (0, 1) and result.stdout, (words, result.output, result.exception)
            json.loads(result.stdout)
        else:
            assert words == ["undo", "1"], (words, result.exception)


def test_for_people_there_are_words_and_nothing_of_the_notation_of_python(call: Call) -> None:
    for words in [*FIRST, *(line.split() for line in WORDS)]:
        if words[:1] in (["profile"], ["skill"]) or words[:2] in (["window", "prepare"], ["ledger", "export"]):
            continue
        text = call(*words).stdout
        bad = [mark for mark in ("{'", "['", " None", " True", " False", "1 nodes", "1 messages", '{"') if mark in text]
        assert bad == [], (words, bad, text)


def test_a_list_of_nothing_says_so(call: Call) -> None:
    for words in ("fact list", "concern list", "diary list", "experience list", "card list", "wiki list", "dream list",
                  "ledger list", "tree", "uninstall codex", "daily list"):  # fmt: skip
        assert call(*words.split()).stdout.strip(), words


@pytest.mark.parametrize("verb", ["remember", "state"])
def test_the_name_of_a_file_that_is_not_there_is_not_taken_for_a_text(call: Call, verb: str) -> None:
    refused = call(verb, "notes/plan.md")
    assert isinstance(refused.exception, MnemicError)
    assert "there is no file 'notes/plan.md'" in str(refused.exception)
    assert call(verb, "See notes/plan.md").exit_code == 0
    assert call(verb, "https://example.org/plan.md").exit_code == 0


def test_a_training_set_without_a_file_is_not_an_export_into_a_folder_of_that_name(call: Call, tmp_path: Path) -> None:
    refused = call("export", "training")
    assert "./training" in str(refused.exception)
    assert not (tmp_path / "training").exists()
    assert call("export", "./training").exit_code == 0
    assert (tmp_path / "training" / "mnemic.json").is_file()


def test_links_of_a_note_that_is_not_there_are_refused_like_the_note(call: Call) -> None:
    assert str(call("vault", "links", "Nobody").exception) == str(call("card", "show", "Nobody").exception)


def test_what_cannot_be_read_is_told_in_one_line_that_says_what_to_do(call: Call, tmp_path: Path) -> None:
    (tmp_path / "bytes.zip").write_bytes(b"\xff\xfe no archive")
    for verb in ("capture", "extract", "experience refine", "window prepare", "import chatgpt", "import mnemic", "restore"):
        for name in ("bytes.zip", "nowhere/at-all"):
            refused = call(*verb.split(), name)
            assert isinstance(refused.exception, MnemicError), (verb, name, refused.output)
            assert ": " in str(refused.exception) and "Errno" not in str(refused.exception), str(refused.exception)
