"""The capability under a PydanticAI agent with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pip install 'mnemic[pydantic-ai]'")
from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402

from mnemic import Memory  # noqa: E402
from mnemic.errors import DiskFull  # noqa: E402
from mnemic.interfaces.integrations.pydantic_ai import MemoryCapability  # noqa: E402
from tests.interfaces.integrations.homes import home  # noqa: E402


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


class Scripted:
    """A model that says what it was told to, and keeps what it was shown."""

    def __init__(self, *parts: Any) -> None:
        self.parts, self.shown = list(parts), list[str]()

    def __call__(self, messages: Any, info: Any) -> ModelResponse:
        prompts = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
        self.shown.append("\n".join(prompts))
        self.instructions = info.instructions
        return ModelResponse(parts=[self.parts.pop(0)])


def _agent(model: Scripted, memory: Memory, **more: Any) -> Any:
    return Agent(FunctionModel(model), capabilities=[MemoryCapability(memory, **more)])


def _run(agent: Any, prompt: str, **more: Any) -> Any:
    return asyncio.run(agent.run(prompt, **more))  # its run_sync leaves an event loop open


def test_what_was_said_in_one_run_is_known_in_the_next(memory: Memory) -> None:
    model = Scripted(TextPart("Noted."), TextPart("By the window."))
    agent = _agent(model, memory)
    first = _run(agent, "I always sit by the window.", conversation_id="trip")
    second = _run(agent, "Where do I always sit?")
    assert "memory-recall" not in model.shown[0]
    assert model.shown[1].index("I always sit by the window.") < model.shown[1].index("Where do I always sit?")
    assert "memory-recall" in model.shown[1]
    assert model.instructions is None
    assert (first.output, second.output) == ("Noted.", "By the window.")
    assert "memory-recall" not in str(second.all_messages())
    assert [row["title"] for row in memory.tree("/sessions/trip", depth=1)] == ["I always sit by the window."]
    assert memory.verify().ok


def test_a_run_with_tools_asks_once_and_keeps_who_said_what(memory: Memory) -> None:
    memory.remember("Ada prefers seat 12A.")
    model = Scripted(ToolCallPart("book", {"seat": "12A"}), TextPart("Booked."))
    agent = _agent(model, memory)

    @agent.tool_plain
    def book(seat: str) -> str:
        return f"{seat} is hers"

    _run(agent, "Book the seat that Ada prefers.", conversation_id="trip")
    assert [shown.count("<memory-recall") for shown in model.shown] == [1, 1]
    assert model.shown[0] == model.shown[1]
    page = memory.show("/sessions/trip/1")
    assert page["text"] == "user: Book the seat that Ada prefers.\n\nbook: 12A is hers\n\nassistant: Booked."


def test_it_can_recall_without_capturing(memory: Memory) -> None:
    _run(_agent(Scripted(TextPart("Yes.")), memory, capture=False), "I like tea.")
    assert memory.tree() == []


def test_a_run_keeps_its_result_when_nothing_can_be_written(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **more: Any) -> Any:
        raise DiskFull("there is no room")

    monkeypatch.setattr(memory, "capture", full)
    assert _run(_agent(Scripted(TextPart("Yes.")), memory), "I like tea.").output == "Yes."
    assert "the last capture failed: there is no room" in memory.doctor()["notes"]
