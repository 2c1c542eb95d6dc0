"""The verbs on experiences through the command line: a fresh home; one real process shows how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.errors import MnemicError
from mnemic.interfaces.cli.app import app

Run = Callable[..., Any]
LESSON = {
    "kind": "positive", "family": "pip", "gist": "Use a mirror when pip install is slow",
    "situation": "pip install hangs at work", "path": "set the index url, then retry",
    "reasoning": "the proxy throttles", "limits": "private packages",
    "evidence": {"note": "run 12"}, "complexity": {"tokens": 5000, "steps": 2, "had_failure": False},
}  # fmt: skip


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    return {"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config"),
            "MNEMIC_NOW": "2026-11-30T12:00:00Z"}  # fmt: skip


@pytest.fixture
def run(surroundings: dict[str, str]) -> Run:
    def call(*words: str, stdin: object = None, code: int = 0) -> Any:
        given = "" if stdin is None else json.dumps(stdin)
        result = CliRunner(env=surroundings).invoke(app, [*words, "--json"], input=given)
        if code == 1:
            assert isinstance(result.exception, MnemicError), result.output
            return str(result.exception)
        assert result.exit_code == code, result.exception
        return json.loads(result.stdout) if code == 0 else None

    return call


def test_a_failure_is_one_line_on_stderr_and_exit_one(surroundings: dict[str, str]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "mnemic", "experience", "refine", "-", "--json"], input=json.dumps({**LESSON, "evidence": {}}),
        capture_output=True, text=True, timeout=60, env={**os.environ, **surroundings},
    )  # fmt: skip
    assert (result.returncode, json.loads(result.stdout)["status"]) == (1, "rejected")
    assert result.stderr == "mnemic: no evidence: point to a note, a trace_ref or a session_ref\n"


def test_an_experience_lives_through_the_command_line(run: Run) -> None:
    made = run("experience", "refine", "-", stdin=LESSON)
    number = made["id"]
    assert (made["status"], made["seq"], made["experience"]["status"]) == ("stored", 1, "candidate")
    assert run("experience", "refine", "-", stdin=LESSON)["corroborated"] == number
    found = run("experience", "recall", "pip install hangs", "--k", "3")
    assert (found["none"], [item["id"] for item in found["candidate_trials"]]) == (True, [number])
    won = run("experience", "report", number, "success", "--tokens-saved", "900", "--dedupe-key", "a")
    assert (won["op"], won["counted"], won["state"]) == ("promote", "alpha", "live")
    assert run("experience", "report", number, "success", "--dedupe-key", "a")["status"] == "duplicate"
    (item,) = run("experience", "recall", "pip install hangs")["items"]
    assert {"id", "revision", "status", "trust", "origin", "context", "valid_from", "valid_to", "corroboration", "sources",
            "family", "kind", "gist", "situation", "path", "reasoning", "limits", "alpha", "beta", "verified", "rejected",
            "pinned", "tokens_spent", "tokens_saved", "value", "approved_by", "seal", "score", "verdict", "conflicts",
            "cost"} <= set(item)  # fmt: skip
    assert (item["situation"], item["valid_to"], item["value"]) == (LESSON["situation"], None, 400)
    lost = ("experience", "report", number, "fail", "--attribution", "experience", "--evidence", "still slow")
    run(*lost)
    assert run(*lost)["state"] == "challenged"
    assert run("experience", "revise", number, "--reason", "other mirror", "--path", "use uv")["revision"] == 2
    assert run("experience", "report", number, "success", "--revision", "2")["op"] == "adopt"
    back = run("experience", "rollback", number, "--reason", "it was right")
    assert (back["revision"], back["state"]) == (1, "live")
    run("undo", str(back["seq"]))
    assert [(row["revision"], row["status"]) for row in run("experience", "list")] == [(1, "superseded"), (2, "live")]
    assert run("experience", "verify")["ok"] is True
    assert [event["op"] for event in run("experience", "show", number)["history"]][:2] == ["refine", "promote"]


def test_a_persons_verbs(run: Run) -> None:
    own = {key: value for key, value in LESSON.items() if key not in ("evidence", "complexity")}
    number = run("experience", "add", "-", stdin=own)["id"]
    assert run("experience", "pin", number)["experience"]["pinned"] is True
    assert run("experience", "unpin", number)["experience"]["pinned"] is False
    assert run("experience", "archive", number)["state"] == "archived"
    assert run("experience", "recall", "pip install hangs", "--deep")["items"][0]["id"] == number
    assert run("experience", "delete", number)["state"] == "deleted"
    assert run("experience", "list") == []
    batch = {"source_type": "skill", "source_ref": "pip skill", "experiences": [own]}
    read = run("experience", "ingest", "-", stdin=batch)["receipts"][0]["id"]
    assert run("experience", "report", read, "success")["state"] == "candidate"
    seal = run("experience", "show", read)["seal"]
    assert run("experience", "promote", read, "--seen", seal)["state"] == "live"
    assert run("experience", "demote", read, "--reason", "no")["state"] == "challenged"


def test_replay_and_consolidation_read_json(run: Run) -> None:
    first = run("experience", "refine", "-", stdin=LESSON)["id"]
    other = {**LESSON, "gist": "Pin every version", "situation": "builds differ between machines"}
    second = run("experience", "refine", "-", stdin=other)["id"]
    samples = [{"situation": LESSON["situation"], "expected": "success"}]
    assert run("experience", "verify", first, "--samples", "-", stdin=samples)["op"] == "shadow-pass"
    merge = {"source_ids": [first, second], "kind": "positive", "family": "pip", "gist": "Own your index", "situation": "pip",
             "path": "mirror and pin"}  # fmt: skip
    done = run("experience", "consolidate", "-", stdin={"merges": [merge], "note": "both"})
    assert (done["status"], done["receipts"][0]["state"]) == ("stored", "candidate")


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (("refine", "-"), {**LESSON, "evidence": {}}, "no evidence"),
        (("refine", "-"), [1], "must be a JSON object"),
        (("refine", "missing.json"), None, "cannot be read"),
        (("show", "nobody"), None, "no experience 'nobody'"),
        (("demote", "nobody"), None, "needs a reason"),
        (("ingest", "-"), {"source_type": "skill", "experiences": [{}]}, "source_ref"),
    ],
)
def test_what_is_refused_says_why(run: Run, words: tuple[str, ...], stdin: object, told: str) -> None:
    assert told in run("experience", *words, stdin=stdin, code=1)


def test_an_impossible_step_names_the_state_and_what_is_possible(run: Run) -> None:
    number = run("experience", "refine", "-", stdin=LESSON)["id"]
    told = run("experience", "rollback", number, code=1)
    assert f"experience {number}@1 is candidate, so 'rollback' is impossible: possible are report, verify" in told


def test_usage_is_exit_two(run: Run) -> None:
    run("experience", "report", code=2)
