"""A memory block for LlamaIndex: `Memory.from_defaults(memory_blocks=[MnemicBlock(memory=…)])`, with LlamaIndex's `Memory`.

What leaves the short-term memory is captured, exchange by exchange; what fits the latest message of the user is given in
its frame, so that it is not captured again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from mnemic.interfaces.integrations import missing
from mnemic.memory import Memory
from mnemic.models.document import Turn

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
except ImportError:
    raise missing("llama-index-core", "llama-index") from None

ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant"}
SESSION = "session_id"
"""Where LlamaIndex tells the session of a message."""


class MnemicBlock(BaseMemoryBlock[str]):
    """Long-term memory of everything that was said."""

    name: str = Field(default="mnemic", description="The name/identifier of the memory block.")
    priority: int = Field(default=1, description="It gives way before what has priority 0.")
    _memory: Memory = PrivateAttr()

    def __init__(self, memory: Memory, **fields: Any) -> None:
        """`fields` are those of the framework's own class: `name`, `description`, `priority`, `accept_short_term_memory`."""
        super().__init__(**fields)
        self._memory = memory

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        query = next((_text(one) for one in reversed(messages or []) if one.role is MessageRole.USER and _text(one)), "")
        if not query:
            return ""
        answer = await asyncio.to_thread(self._memory.recall, query, frame=True)
        return answer.frame or ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._memory.capture, _turns(messages), session=None)


def _turns(messages: Sequence[ChatMessage]) -> list[Turn]:
    return [
        Turn(ROLES.get(one.role, one.role.value), _text(one), name=str(one.additional_kwargs.get("name") or ""),
             session=one.additional_kwargs.get(SESSION))
        for one in messages
    ]  # fmt: skip


def _text(message: ChatMessage) -> str:
    return message.content or ""
