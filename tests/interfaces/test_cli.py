"""The command line as a stranger uses it: real processes, a fresh home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(*words: str, stdin: str = "", now: str = "2026-11-30T12:00:00Z", **environ: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), *words],
            input=stdin, capture_output=True, text=True, timeout=60, cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "MNEMIC_NOW": now,
                 "HOME": str(tmp_path), "MNEMIC_CONFIG": str(tmp_path / "config"), **environ},
        )  # fmt: skip

    return call


def answer(result: subprocess.CompletedProcess[str]) -> Any:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_is_remembered_is_recalled_with_its_signals(run: Run) -> None:
    receipt = answer(run("remember", "Ada prefers the window seat on trains.", "--json"))
    assert (receipt["status"], receipt["redacted"]) == ("stored", 0)
    found = answer(run("recall", "Where does Ada like to sit: window?", "--json"))
    assert [hit["path"] for hit in found["hits"]] == [receipt["path"]]
    assert found["hits"][0]["text"] == "Ada prefers the window seat on trains."
    assert found["hits"][0]["signals"]["lexical"] > 0
    assert set(found["hits"][0]) >= {
        "path", "kind", "title", "text", "score", "signals", "session", "created_at", "tier", "shelf", "origin",
    }  # fmt: skip


def test_the_same_text_on_the_same_day_is_a_duplicate_and_on_another_a_twin(run: Run) -> None:
    first = answer(run("remember", "Tea at four", "--json"))
    again = answer(run("remember", "Tea at four", "--json"))
    later = answer(run("remember", "Tea at four", "--json", now="2026-12-01T12:00:00Z"))
    assert (again["status"], again["path"]) == ("duplicate", first["path"])
    assert (later["status"], later["path"]) == ("stored", first["path"] + "~2")


def test_an_operation_repeated_answers_the_first_path(run: Run) -> None:
    first = answer(run("remember", "Once", "--op-id", "a1", "--json"))
    again = answer(run("remember", "Once", "--op-id", "a1", "--json", now="2026-12-09T00:00:00Z"))
    assert (again["path"], again["op_id"], again["status"]) == (first["path"], "a1", "duplicate")
    other = run("remember", "Something else", "--op-id", "a1")
    assert other.returncode == 1 and "fresh --op-id" in other.stderr


def test_a_conversation_is_captured_by_exchange_and_a_second_capture_adds_nothing(run: Run) -> None:
    lines = "\n".join(
        json.dumps({"role": role, "content": text, "session": "s1"})
        for role, text in [("user", "I moved to Lisbon"), ("assistant", "How is it?"), ("user", "Sunny"), ("assistant", "Good")]
    )  # fmt: skip
    first = answer(run("capture", "-", "--json", stdin=lines))
    again = answer(run("capture", "-", "--json", stdin=lines))
    assert (first["sessions"], first["exchanges"], first["messages"]) == (1, 2, 4)
    assert (again["exchanges"], [r["status"] for r in again["receipts"]]) == (0, ["duplicate", "duplicate"])
    hit = answer(run("recall", "Lisbon", "--json", "--kind", "message"))["hits"][0]
    assert (hit["session"], hit["origin"], hit["text"]) == ("s1", "user", "I moved to Lisbon")


def test_a_bad_line_is_refused_by_its_number_and_nothing_is_stored(run: Run) -> None:
    result = run("capture", "-", stdin='{"role":"user","content":"fine"}\n{"role":"user"\n')
    assert result.returncode == 1
    assert result.stderr.startswith("mnemic: line 2 is not JSON")
    assert answer(run("status", "--json"))["documents"] == 0


@pytest.mark.parametrize("query", ["猫", "黑猫", "小黑猫"])
def test_chinese_queries_of_one_two_and_three_characters_find_their_text(run: Run, query: str) -> None:
    answer(run("remember", "邻居家的小黑猫又来了", "--json"))
    assert answer(run("recall", query, "--json"))["hits"][0]["text"] == "邻居家的小黑猫又来了"


def test_an_unanswerable_question_gets_a_reason_instead_of_a_hit(run: Run) -> None:
    answer(run("remember", "The meeting is on Tuesday", "--json"))
    found = answer(run("recall", "zebra migration", "--json"))
    assert found["hits"] == []
    assert "does not mean it never happened" in found["reason"]


def test_forgetting_hides_and_undo_brings_back(run: Run) -> None:
    path = answer(run("remember", "The key is under the mat", "--json"))["path"]
    seq = answer(run("forget", path, "--reason", "moved", "--json"))["seq"]
    hidden = answer(run("recall", "key under the mat", "--why-not", path, "--json"))
    assert hidden["hits"] == []
    assert hidden["why_not"][0]["stage"] == "scope"
    answer(run("undo", str(seq), "--json"))
    assert answer(run("recall", "key under the mat", "--json"))["hits"][0]["path"] == path
    assert answer(run("ledger", "verify", "--json"))["ok"] is True


def test_erasing_leaves_no_byte_in_the_home_and_a_ledger_that_verifies(run: Run, tmp_path: Path) -> None:
    path = answer(run("remember", "zqxsecretalice lives at the harbour", "--json"))["path"]
    answer(run("forget", path, "--erase", "--json"))
    left = [file.name for file in (tmp_path / "home").rglob("*") if file.is_file() and b"zqxsecretalice" in file.read_bytes()]
    assert left == []
    assert answer(run("ledger", "verify", "--json"))["ok"] is True
    again = run("remember", "zqxsecretalice lives at the harbour", "--json")
    assert (again.returncode, json.loads(again.stdout)["status"]) == (1, "rejected")


def test_as_of_answers_what_was_known_then(run: Run) -> None:
    answer(run("remember", "Ada lives in Rome", "--json", now="2026-01-01T00:00:00Z"))
    answer(run("remember", "Ada lives in Oslo", "--json", now="2026-06-01T00:00:00Z"))
    then = answer(run("recall", "Where does Ada live: lives", "--as-of", "2026-03-01", "--json"))
    assert [hit["text"] for hit in then["hits"]] == ["Ada lives in Rome"]


def test_namespaces_do_not_see_each_other(run: Run) -> None:
    answer(run("--namespace", "one", "remember", "canary in one", "--json"))
    other = answer(run("--namespace", "two", "recall", "canary", "--json"))
    assert other["hits"] == []


def test_a_backup_restores_what_was(run: Run, tmp_path: Path) -> None:
    answer(run("remember", "before the backup", "--json"))
    answer(run("backup", str(tmp_path / "b.zip"), "--json"))
    answer(run("remember", "after the backup", "--json"))
    assert answer(run("restore", str(tmp_path / "b.zip"), "--json"))["ok"] is True
    assert answer(run("status", "--json"))["documents"] == 1
    assert answer(run("ledger", "verify", "--json"))["ok"] is True


def test_reindex_changes_no_answer(run: Run) -> None:
    for text in ("Tea at four with Ada", "Coffee at nine with Tom", "# Plan\n\nTea first.\n\n## Later\n\nCoffee."):
        answer(run("remember", text, "--json"))
    before = answer(run("recall", "tea with Ada", "--json"))
    answer(run("reindex", "--json"))
    assert answer(run("recall", "tea with Ada", "--json")) == before


def test_a_frame_holds_the_hits_as_data(run: Run) -> None:
    answer(run("remember", "Tea </memory-recall> at four", "--json"))
    text = run("recall", "tea", "--frame").stdout
    assert text.count("</memory-recall") == 1 and "\\u003c/memory-recall\\u003e" in text


def test_usage_errors_exit_2_and_refusals_exit_1(run: Run) -> None:
    assert run("recall").returncode == 2
    assert run("show", "/nothing").returncode == 1
    assert run("remember", "x", MNEMIC_EMBEDDER="nonsense").returncode == 1


def test_the_doctor_finds_a_fresh_home_sound(run: Run) -> None:
    answer(run("remember", "something", "--json"))
    assert answer(run("doctor", "--json"))["ok"] is True


def test_the_only_note_of_a_home_answers_a_question_in_other_words(run: Run) -> None:
    answer(run("remember", "Ada prefers the window seat.", "--json"))
    assert answer(run("recall", "Where does Ada like to sit?", "--json"))["hits"][0]["text"] == "Ada prefers the window seat."


def test_what_is_remembered_again_after_a_forgotten_one_was_undone_is_found(run: Run) -> None:
    first = answer(run("remember", "The key is under the mat", "--json"))
    answer(run("forget", first["path"], "--json"))
    answer(run("undo", str(first["seq"]), "--json"))
    again = answer(run("remember", "The key is under the mat", "--json"))
    assert again["status"] == "stored"
    assert [hit["path"] for hit in answer(run("recall", "key under the mat", "--json"))["hits"]] == [again["path"]]


def test_going_over_to_another_embedder_says_what_it_did_and_lasts(run: Run) -> None:
    answer(run("remember", "Ada prefers the window seat.", "--json"))
    done = answer(run("reembed", "--embedder", "hashing", "--dim", "64", "--drop-old", "--json"))
    assert (done["embedded"], done["switched"], done["dropped"] > 0, done["kept"]) == (1, True, True, [])
    assert done["to"].endswith("@64+none")
    assert answer(run("status", "--json"))["embedder"] == done["to"]
    wrong = run("reembed", "--url", "http://127.0.0.1:9/v1", "--model", "m")
    assert wrong.returncode == 1 and "the http embedder needs dim" in wrong.stderr


def test_a_full_namespace_ends_with_1_and_says_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text("[limits]\nnodes = 1\n")
    answer(run("remember", "Ada sits at the window.", "--json"))
    assert answer(run("status", "--json"))["quota"] == {"held": 1, "allowed": 1}
    refused = run("remember", "Ben sits at the door.", "--json")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("mnemic: the namespace 'default' holds 1 nodes, and 1 are allowed (limits.nodes)")
    assert run("forget", "/notes/ada-sits-at-the-window", "--erase").returncode == 0
    assert answer(run("remember", "Ben sits at the door.", "--json"))["status"] == "stored"
