"""Diary, facts, concerns and profile on the command line, called in this process: a process each takes a second."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from mnemic.interfaces.cli import main
from tests.interfaces.test_cli import Run, answer


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str, stdin: str = "", now: str = "2026-11-30T12:00:00Z") -> CompletedProcess[str]:
        for name in [name for name in os.environ if name.startswith("MNEMIC_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("MNEMIC_NOW", now)
        monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))
        monkeypatch.setattr(sys, "argv", ["mnemic", "--home", str(tmp_path / "home"), *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capsys.readouterr()
        return CompletedProcess(words, code, shown.out, shown.err)

    return call


ROW = {"id", "revision", "status", "trust", "origin", "context", "valid_from", "valid_to", "corroboration", "sources"}


def extract(run: Run, *proposals: dict[str, Any], concerns: tuple[dict[str, Any], ...] = (), now: str = "2026-11-30") -> Any:
    data = {"proposals": list(proposals), "concerns": list(concerns), "summary": "s"}
    return answer(run("extract", "-", "--json", stdin=json.dumps(data), now=now))


def city(value: str, source: int) -> dict[str, Any]:
    return {"category": "identity", "key": "home_city", "value": value, "source_diary_ids": [source]}


def test_from_diary_to_fact_to_profile_and_back(run: Run) -> None:
    words = ("diary", "add", "I live in Porto", "--session", "s1", "--tag", "a", "--tag", "b", "--json")
    entry = answer(run(*words, now="2026-01-01"))
    assert (entry["status"], entry["tags"], entry["origin"]) == ("stored", ["a", "b"], "user")
    assert [row["id"] for row in answer(run("diary", "list", "--pending", "--json"))] == [entry["id"]]
    first = extract(run, city("Porto", entry["id"]), now="2026-01-01")
    assert answer(run("diary", "list", "--pending", "--json")) == []
    moved = answer(run("diary", "add", "I moved to Lisbon", "--json", now="2026-03-01"))["id"]
    second = extract(run, city("Lisbon", moved), now="2026-03-01")
    rows = answer(run("fact", "list", "--json"))
    assert [(row["value"], row["status"]) for row in rows] == [("Lisbon", "current")] and set(rows[0]) >= ROW
    then = answer(run("fact", "list", "--as-of", "2026-02-01", "--json"))
    assert [(row["value"], row["valid_to"]) for row in then] == [("Porto", None)]
    assert "[identity] home_city: Porto" in answer(run("profile", "--as-of", "2026-02-01", "--json"))["text"]
    assert "[identity] home_city: Lisbon" in run("profile").stdout
    old = answer(run("fact", "show", str(first["receipts"][0]["id"]), "--json"))
    assert (old["status"], old["valid_to"]) == ("superseded", "2026-03-01T00:00:00Z")
    answer(run("undo", str(second["seq"]), "--json"))
    assert [row["value"] for row in answer(run("fact", "list", "--json"))] == ["Porto"]
    assert answer(run("ledger", "verify", "--json"))["ok"]


def test_people_add_edit_lock_settle_and_delete(run: Run) -> None:
    added = answer(run("fact", "add", "identity", "home_city", "Porto", "--reason", "told me", "--json"))
    assert (added["locked"], added["seq"], added["revision"]) == (True, 1, 1)
    source = answer(run("diary", "add", "I live in Lisbon", "--json"))["id"]
    receipt = extract(run, city("Lisbon", source))["receipts"][0]
    assert receipt["status"] == "conflict"
    refused = run("fact", "lock", "1")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "mnemic: fact 1 is locked already: possible are edit, unlock, delete\n"
    assert answer(run("fact", "edit", "1", "Braga", "--json"))["revision"] == 2
    assert not answer(run("fact", "unlock", "1", "--json"))["locked"]
    taken = answer(run("fact", "resolve", str(receipt["id"]), "take", "--json"))
    assert (taken["value"], taken["status"]) == ("Lisbon", "current")
    assert answer(run("fact", "delete", str(receipt["id"]), "--reason", "gone", "--json"))["status"] == "deleted"
    assert answer(run("fact", "list", "--json")) == []
    assert [row["status"] for row in answer(run("fact", "list", "--all", "--json"))] == ["superseded", "deleted"]
    reasons = [row["reason"] for row in answer(run("ledger", "list", "--json"))]
    assert reasons[0] == "gone" and reasons[-1] == "told me"


def test_what_was_read_waits_for_an_approval_bound_to_what_was_shown(run: Run) -> None:
    source = answer(run("diary", "add", "The user lives in Evilton", "--origin", "web", "--json"))["id"]
    receipt = extract(run, city("Evilton", source))["receipts"][0]
    assert (receipt["status"], run("profile").stdout) == ("quarantined", "")
    row = answer(run("fact", "show", str(receipt["id"]), "--json"))
    assert run("fact", "approve", "1", "--seen", "0" * 64).returncode == 1
    approved = answer(run("fact", "approve", "1", "--seen", row["seal"], "--json"))
    assert (approved["status"], approved["origin"], approved["approved"]) == ("current", "web", row["seal"])


def test_concerns_are_listed_closed_and_deleted(run: Run) -> None:
    source = answer(run("diary", "add", "Find a flat", "--kind", "promised", "--json"))["id"]
    made = extract(run, concerns=({"action": "new", "title": "Flat", "kind": "todo", "source_diary_ids": [source]},))
    assert made["receipts"][0]["status"] == "stored"
    (row,) = answer(run("concern", "list", "--json"))
    assert set(row) >= ROW and (row["title"], row["status"]) == ("Flat", "ongoing")
    assert answer(run("profile", "--json"))["concerns"][0]["title"] == "Flat"
    assert answer(run("concern", "status", "1", "concluded", "--reason", "found", "--json"))["status"] == "concluded"
    assert answer(run("concern", "show", "1", "--json"))["evidence"][0]["content"] == "Find a flat"
    assert answer(run("concern", "delete", "1", "--json"))["status"] == "deleted"
    assert "cannot be given a status" in run("concern", "status", "1", "paused").stderr


def test_a_namespace_sees_nothing_of_another(run: Run) -> None:
    answer(run("fact", "add", "identity", "name", "Ada", "--json"))
    assert answer(run("--namespace", "other", "fact", "list", "--json")) == []
    assert run("--namespace", "other", "fact", "show", "1").returncode == 1


def test_wrong_usage_is_told_apart_from_what_is_refused(run: Run, tmp_path: Path) -> None:
    assert run("extract").returncode == 2
    assert run("fact", "resolve", "1", "perhaps").returncode == 2
    assert run("fact", "show", "one").returncode == 2
    for words, told in (
        (("fact", "show", "9"), "there is no fact 9"),
        (("diary", "add", "x", "--kind", "gossip"), "kind 'gossip' is unknown"),
        (("diary", "add", "x", "--origin", "root"), "origin 'root' is unknown"),
        (("diary", "ack", "9"), "there is no diary entry 9"),
        (("extract", str(tmp_path / "none.json")), "cannot be read"),
        (("extract", "--auto"), "set MNEMIC_LLM_URL and MNEMIC_LLM_MODEL"),
        (("profile", "--as-of", "whenever"), "no moment can be read"),
    ):
        refused = run(*words)
        assert refused.returncode == 1 and told in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr
    assert "not JSON" in run("extract", "-", stdin="{").stderr


def test_terminal_output_shows_what_matters(run: Run) -> None:
    for number in range(8):
        last = run("diary", "add", f"I said {number} \x1b[31m")
    assert "8 entries wait to be extracted" in last.stdout and "\x1b" not in last.stdout
    data = {"proposals": [{**city("Porto", 1), "provisional": True}], "concerns": [{"title": "Flat", "source_diary_ids": [2]}]}
    assert "2 applied, 0 rejected" in run("extract", "-", stdin=json.dumps(data)).stdout
    assert "[identity] home_city: Porto  provisional" in run("fact", "list").stdout
    assert "“I said 0" in run("fact", "show", "1").stdout and "(other) Flat" in run("concern", "list").stdout


def test_the_skill_is_printed(run: Run) -> None:
    text = run("skill").stdout
    for verb in ("mnemic diary add", "mnemic extract", "mnemic experience report", "mnemic experience recall", "withdraw"):
        assert verb in text
    assert answer(run("skill", "--json"))["name"] == "mnemic"
