"""The judge that answers questions: how much it is shown at a time, and what its weak answers come to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import ModelError
from mnemic.llm import bound
from mnemic.synthesis.judges import Asked
from mnemic.synthesis.statement import Said, statements
from tests.synthesis.homes import Scripted, files, honest, opened, shown, talk


def said(count: int, text: str) -> list[Said]:
    return [Said("s", place, "user", "Ines", f"{text} {place}.", 0, f"/s/{place}", "d", "ines", "Ines") for place in range(count)]


class Asking:
    """Answers as told, and keeps how large each question with its answer was."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.sizes, self.prompts = answer, list[int](), list[str]()

    def __call__(self, stage: str, system: str, prompt: str, schema: Mapping[str, Any], tokens: int) -> Any:
        self.sizes.append(bound(system) + bound(prompt) + tokens)
        self.prompts.append(prompt)
        return self.answer(stage, prompt) if callable(self.answer) else self.answer


def judge(asking: Asking, context: int) -> Asked:
    return Asked("endpoint", asking, lambda: "0123456789abcdef", context=context)


def test_a_session_longer_than_the_models_context_is_cut_in_parts_that_fit() -> None:
    asking = Asking({"starts": [0]})
    turns = said(100, "I painted the harbour at dawn with my aunt Rosa in Lisbon, and it calmed me")
    lengths = judge(asking, 2048).segment(turns)
    assert sum(lengths) == 100 and len(asking.sizes) == len(lengths) > 1
    assert max(asking.sizes) <= 2048


@pytest.mark.parametrize("context", [2048, 4096, 8192])
def test_long_turns_are_clipped_so_far_that_question_and_answer_fit(context: int) -> None:
    asking = Asking({"subjects": ["harbour"]})
    judge(asking, context).subjects(said(12, "I painted the harbour at dawn. " * 60))
    assert asking.sizes[0] <= context
    assert len(shown(asking.prompts[0])) == 12


def test_a_section_of_many_statements_is_drafted_in_parts_and_every_source_is_cited() -> None:
    asking = Asking(honest)
    rows = statements(said(60, "I painted the old lighthouse of Skagen for my sister and sold the picture to number"))
    drafted = judge(asking, 2048).draft("Ines", "Arts", rows)
    assert len(asking.sizes) > 1 and max(asking.sizes) <= 2048
    assert {source.path for one in drafted for source in one.sources} == {row.said.path for row in rows}


@pytest.mark.parametrize(
    ("starts", "told"),
    [(list(range(9)), "9 cuts in 9 turns are no topics"), ([0, 1, 2, 3, 4, 6], "6 cuts in 9"), ([1, 2, 1], "beginning with 0")],
)
def test_a_cut_of_nearly_every_turn_is_no_cut(starts: list[int], told: str) -> None:
    with pytest.raises(ModelError, match=told):
        judge(Asking({"starts": starts}), 8192).segment(said(9, "I painted the harbour"))


def test_a_hundred_turns_are_not_one_topic() -> None:
    with pytest.raises(ModelError, match="100 turns are not one topic"):
        judge(Asking({"starts": [0]}), 32_768).segment(said(100, "I painted the harbour"))


def test_subjects_that_the_model_overlooks_are_added_to_those_it_names() -> None:
    named = judge(Asking({"subjects": ["dawn"]}), 8192).subjects(said(3, "I painted my harbour in Lisbon at dawn"))
    assert [one.surface for one in named][0] == "dawn"
    assert {"harbour", "Lisbon"} <= {one.surface for one in named}


def test_what_a_model_dismissed_the_rules_look_at_again(tmp_path: Path) -> None:
    def dismissive(stage: str, prompt: str) -> Any:
        return {"keep": False} if stage == "worth" else honest(stage, prompt)

    with opened(tmp_path / "a", judge=Scripted(dismissive)) as memory:
        talk(memory)
        memory.dream(stages=("ingest", "chunk"))
        assert memory.dream(judge="endpoint")["articles"]["created"] == 0
        assert memory.dream()["articles"]["created"] == 14
        assert memory.dream()["id"] is None
        found = {path: text for path, text in files(memory).items() if path.startswith("articles/")}
    with opened(tmp_path / "b") as memory:
        talk(memory)
        memory.dream()
        assert found == {path: text for path, text in files(memory).items() if path.startswith("articles/")}
