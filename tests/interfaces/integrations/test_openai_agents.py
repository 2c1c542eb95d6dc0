"""The session under the OpenAI Agents SDK: its runner drives it, and its own session is the oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

agents = pytest.importorskip("agents", reason="pip install 'mnemic[openai-agents]'")
from agents.items import ModelResponse  # noqa: E402
from agents.memory.session import Session  # noqa: E402
from agents.models.interface import Model  # noqa: E402
from agents.usage import Usage  # noqa: E402
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText  # noqa: E402

from mnemic import Memory  # noqa: E402
from mnemic.interfaces.integrations.openai_agents import MemorySession  # noqa: E402
from tests.interfaces.integrations.homes import home, rooms  # noqa: E402

ITEMS: list[Any] = [
    {"role": "user", "content": "I like the window seat."},
    {"role": "user", "content": [{"type": "input_text", "text": "See this."}, {"type": "input_image", "image_url": "data:,"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABmVx+/=="},
    {"type": "function_call", "call_id": "call_1", "name": "book", "arguments": '{"seat": "12A"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "call_1", "output": "Seat 12A is booked."},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "Booked.", "annotations": [], "logprobs": []}]},
    {"role": "user", "content": ""},
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "yes"},
    {"role": "system", "content": "Be brief."},
    {"role": "assistant", "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]},
]  # fmt: skip


class Scripted(Model):
    """A model that says what it was told to, and keeps what it was shown."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs, self.shown = list(outputs), list[Any]()

    async def get_response(self, *, input: Any, **more: Any) -> ModelResponse:
        self.shown.append(input)
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, **more: Any) -> Any:
        raise NotImplementedError


def _said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="msg", type="message", role="assistant", status="completed", content=[part])


def test_the_runner_finds_the_last_conversation_again(tmp_path: Path) -> None:
    @agents.function_tool
    def book(seat: str) -> str:
        """Book a seat."""
        return f"{seat} is booked"

    call = ResponseFunctionToolCall(type="function_call", call_id="call_1", name="book", arguments='{"seat": "12A"}')
    model = Scripted(call, _said("Done, 12A."), _said("You sit at the window."))
    agent = agents.Agent(name="travel", model=model, tools=[book])
    config = agents.RunConfig(tracing_disabled=True)

    async def run() -> list[Any]:
        with home(tmp_path) as memory:
            await agents.Runner.run(agent, "Book me a window seat.", session=MemorySession("ada", memory), run_config=config)
        with home(tmp_path) as memory:
            await agents.Runner.run(agent, "Where do I sit?", session=MemorySession("ada", memory), run_config=config)
            return list(await MemorySession("ada", memory).get_items())

    items = asyncio.run(run())
    assert [item.get("role") or item["type"] for item in items] == [
        "user", "function_call", "function_call_output", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert [item.get("content") for item in model.shown[2] if item.get("role") == "user"] == [
        "Book me a window seat.", "Where do I sit?",
    ]  # fmt: skip
    with home(tmp_path) as memory:
        hit = memory.recall("window seat").hits[0]
        assert (hit.text, hit.origin) == ("Book me a window seat.", "user")


def test_it_is_a_session(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        assert isinstance(MemorySession("s", memory), Session)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with home(tmp_path) as made:
        yield made


def test_items_come_back_as_they_were_given(memory: Memory) -> None:
    async def run() -> None:
        session = MemorySession("s", memory)
        await session.add_items(ITEMS[:6])
        await session.add_items(ITEMS[6:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[-2:]
        assert await session.get_items(limit=0) == []
        assert await MemorySession("s", memory, session_settings=agents.SessionSettings(limit=1)).get_items() == ITEMS[-1:]
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items() == ITEMS[:-1]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(run())
    assert memory.verify().ok


def test_who_spoke_is_told_by_the_role_and_instructions_are_not_recalled(memory: Memory) -> None:
    asyncio.run(MemorySession("s", memory).add_items(ITEMS))
    origins = {record.body: record.origin for record in memory.records.below(("conversations", "s")) if record.body}
    assert origins == {"I like the window seat.": "user", "See this.": "user", "Seat 12A is booked.": "tool",
                       "Booked.": "agent", "yes": "user", "a\n\nb": "agent"}  # fmt: skip
    assert memory.recall("Be brief").hits == ()


def test_two_sessions_and_two_namespaces_see_nothing_of_each_other(memory: Memory) -> None:
    asyncio.run(MemorySession("Ada 1", memory).add_items(ITEMS[:1]))
    for other in (MemorySession("ada-1", memory), MemorySession("Ada 1", memory.within("other"))):
        assert asyncio.run(other.get_items()) == []


def test_two_who_append_at_once_lose_nothing(memory: Memory) -> None:
    def add(who: int) -> None:
        for number in range(5):
            asyncio.run(MemorySession("s", memory).add_items([{"role": "user", "content": f"{who}.{number}"}]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    said = [item["content"] for item in asyncio.run(MemorySession("s", memory).get_items())]
    assert sorted(said) == sorted(f"{who}.{number}" for who in range(4) for number in range(5))
    assert [line for line in said if line.startswith("2.")] == [f"2.{number}" for number in range(5)]


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from(ITEMS), max_size=3)),
        st.tuples(st.just("get"), st.sampled_from([None, 0, 1, 3, -1])),
        st.tuples(st.just("pop"), st.none()),
        st.tuples(st.just("clear"), st.none()),
    ),
    min_size=3, max_size=10,
)  # fmt: skip


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Memory]]:
    with rooms(tmp_path_factory.mktemp("rooms")) as made:
        yield made


@settings(max_examples=6)
@given(acts=ACTS)
def test_it_does_what_the_sdks_own_session_does(room: Iterator[Memory], acts: list[tuple[str, Any]]) -> None:
    async def run(session: Any) -> list[Any]:
        ways: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "add": session.add_items, "get": lambda limit: session.get_items(limit=limit), "pop": lambda _: session.pop_item(),
            "clear": lambda _: session.clear_session(),
        }  # fmt: skip
        return [await ways[act](given) for act, given in acts]

    theirs = agents.SQLiteSession("s")
    try:
        expected = asyncio.run(run(theirs))
    finally:
        theirs.close()
    assert asyncio.run(run(MemorySession("s", next(room)))) == expected
