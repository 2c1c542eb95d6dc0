from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import BadInput
from mnemic.knowledge.training import example, worth
from mnemic.memory import Memory
from tests.synthesis.homes import opened

LESSON: dict[str, Any] = {
    "id": "x", "revision": 1, "status": "live", "origin": "agent", "trust": 0.9, "family": "pip", "gist": "Use a mirror",
    "situation": ["pip hangs"], "path": ["set the index url", "retry"], "reasoning": "the proxy throttles",
    "limits": ["private packages"], "failure_reason": None,
}  # fmt: skip


def reports(outcomes: str) -> list[dict[str, Any]]:
    return [
        {"revision": 1, "number": place, "counted": {"S": "alpha", "F": "beta", "-": "none"}[one]}
        for place, one in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("change", "outcomes", "why"),
    [
        ({}, "SSSSS", ""),
        ({}, "SSSS", "4 of 5 successes"),
        ({}, "SSSSS-----", ""),
        ({}, "FSSSSS", ""),
        ({}, "SSSSSFS", "a failure among the last 3"),
        ({"trust": 0.7}, "SSSSS", "trust 0.7 is below 0.8"),
        ({"status": "candidate"}, "SSSSS", "it is candidate"),
        ({"origin": "web"}, "SSSSS", "it was read somewhere (web)"),
        ({"revision": 2}, "SSSSS", "0 of 5 successes"),
    ],
)
def test_only_what_proved_itself_often_and_lately_is_worth_it(change: dict[str, Any], outcomes: str, why: str) -> None:
    assert worth({**LESSON, **change}, reports(outcomes)).why_not == why


def test_an_example_asks_the_situation_and_answers_with_path_reason_and_limits() -> None:
    assert example(LESSON)["messages"] == [
        {"role": "user", "content": "pip hangs"},
        {
            "role": "assistant",
            "content": "Use a mirror\n- set the index url\n- retry\nWhy: the proxy throttles\nNot for: private packages",
        },
    ]


def proven(memory: Memory) -> str:
    lesson = {
        "kind": "positive", "family": "pip", "gist": "Use a mirror when pip install is slow",
        "situation": "pip install hangs at work",
        "path": "set the index url, then retry", "reasoning": "the proxy throttles", "limits": "private packages",
        "evidence": {"note": "run 12"},
    }  # fmt: skip
    made = memory.experiences.add(lesson, reason="seen often", channel="user")
    return str(made.json()["id"])


def test_a_set_names_its_experiences_and_the_ledgers_head(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        number = proven(memory)
        for place in range(6):
            memory.experiences.report(
                number,
                "success",
                attribution="experience",
                evidence={"note": f"run {place}"},
                dedupe_key=f"k{place}",
                channel="user",
            )
        made = memory.export_training(tmp_path / "set.jsonl")
        body = (tmp_path / "set.jsonl").read_text("utf-8")
        head = memory.ledger(limit=1)[0]
        assert made["sha256"] == hashlib.sha256(body.encode()).hexdigest()
        assert made["ledger_head"] == {"seq": head["seq"], "hash": head["hash"]}
        assert json.loads((tmp_path / "set.jsonl.manifest.json").read_text("utf-8"))["taken"][0]["id"] == number
        assert [json.loads(line)["id"] for line in body.splitlines()] == [number]
        with pytest.raises(BadInput, match="there already"):
            memory.export_training(tmp_path / "set.jsonl")


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        proven(memory)
        made = memory.export_training(tmp_path / "set.jsonl")
        assert made["examples"] == 0
        assert made["left"][0]["why_not"] == "0 of 5 successes"
        assert (tmp_path / "set.jsonl").read_text("utf-8") == ""
