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
        (line,) = map(json.loads, body.splitlines())
        assert line["id"] == number
        assert line["evidence"] == ["drawn from note:run 12", *(f"success {place + 1}: note:run {place}" for place in range(6))]
        with pytest.raises(BadInput, match="there already"):
            memory.export_training(tmp_path / "set.jsonl")


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        proven(memory)
        made = memory.export_training(tmp_path / "set.jsonl")
        assert made["examples"] == 0
        assert made["left"][0]["why_not"] == "0 of 5 successes"
        assert (tmp_path / "set.jsonl").read_text("utf-8") == ""


def test_the_check_in_the_documentation_tells_an_adapter_whose_experiences_changed_and_one_of_another_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text("utf-8")
    check = page.partition("## 4.")[2].partition("```python\n")[2].partition("```")[0]
    monkeypatch.setenv("MNEMIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "adapter-412" / "mnemic.json"
    kept.parent.mkdir()
    with opened(tmp_path) as memory:
        number = proven(memory)
        for place in range(6):
            memory.experiences.report(number, "success", attribution="experience", dedupe_key=f"k{place}", channel="user")
        memory.export_training(tmp_path / "set.jsonl")
    kept.write_bytes((tmp_path / "set.jsonl.manifest.json").read_bytes())
    exec(check, {})
    assert capsys.readouterr().out == ""
    with opened(tmp_path) as memory:
        memory.experiences.demote(number, reason="the proxy is gone", channel="user")
    exec(check, {})
    assert capsys.readouterr().out == f"{number} was revision 1 and live, is revision 1 and challenged\n"
    with opened(tmp_path) as memory:
        memory.forget(f"experiences/{number}", erase=True, reason="asked to")
    exec(check, {})
    assert capsys.readouterr().out == f"{number} is gone: train anew\n"
    made = json.loads(kept.read_text("utf-8"))
    kept.write_text(json.dumps({**made, "ledger_head": {**made["ledger_head"], "hash": "0" * 64}}))
    with pytest.raises(AssertionError, match="another history"):
        exec(check, {})
