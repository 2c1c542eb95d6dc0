"""The block under LlamaIndex's own memory. Opt-in: the package brings 270 MB.

    pip install 'mnemic[llama-index]' && pytest tests/peers/test_llama_index.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="pip install 'mnemic[llama-index]' (270 MB)")
from llama_index.core.base.llms.types import ChatMessage  # noqa: E402
from llama_index.core.memory import Memory as LlamaMemory  # noqa: E402

from mnemic import Memory  # noqa: E402
from mnemic.interfaces.integrations.llama_index import MnemicBlock  # noqa: E402
from tests.interfaces.integrations.homes import home  # noqa: E402


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


def _memory(memory: Memory, session: str) -> LlamaMemory:
    return LlamaMemory.from_defaults(
        session_id=session, token_limit=400, token_flush_size=60, chat_history_token_ratio=0.2, tokenizer_fn=str.split,
        memory_blocks=[MnemicBlock(memory)],
    )  # fmt: skip


def test_what_leaves_the_short_term_memory_is_recalled_in_the_next_session(memory: Memory) -> None:
    async def run() -> str:
        first = _memory(memory, "one")
        await first.aput(ChatMessage(role="user", content="I always sit by the window, on the train too."))
        await first.aput(ChatMessage(role="assistant", content="Noted, by the window."))
        for number in range(8):
            await first.aput(ChatMessage(role="user", content=f"Tell me about station {number} " + "and its history " * 4))
            await first.aput(ChatMessage(role="assistant", content=f"Station {number} is old."))
        second = _memory(memory, "two")
        await second.aput(ChatMessage(role="user", content="Where do I always sit?"))
        shown = "\n".join(str(message.content) for message in await second.aget())
        for one in (first, second):
            await one.sql_store._async_engine.dispose()  # it has no way to close it
        return shown

    shown = asyncio.run(run())
    assert "<memory-recall" in shown
    assert "I always sit by the window" in shown
    assert {row["path"] for row in memory.tree("/sessions", depth=1)} == {"/sessions/one"}
    hit = memory.recall("Where do I always sit?").hits[0]
    assert (hit.session, hit.speaker or "user") == ("one", "user")
    assert memory.verify().ok


def test_who_spoke_is_kept_and_a_frame_is_not_captured_again(memory: Memory) -> None:
    async def run() -> None:
        block = MnemicBlock(memory)
        said = [ChatMessage(role="user", content="Ada likes tea."), ChatMessage(role="model", content="So she does."),
                ChatMessage(role="tool", content="tea: 3", additional_kwargs={"name": "stock"})]  # fmt: skip
        await block.aput(said, session_id="s")
        frame = await block.aget([ChatMessage(role="user", content="What does Ada like?")])
        assert "Ada likes tea." in frame
        await block.aput([ChatMessage(role="user", content=frame)], session_id="s")
        assert await block.aget([ChatMessage(role="assistant", content="What does Ada like?")]) == ""
        assert await block.aget() == ""

    asyncio.run(run())
    assert len(memory.ledger()) == 1
    assert memory.show("/sessions/s/1")["text"] == "user: Ada likes tea.\n\nassistant: So she does.\n\nstock: tea: 3"
