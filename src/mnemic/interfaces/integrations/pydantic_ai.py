"""Memory as a capability of a PydanticAI agent: `Agent(model, capabilities=[MemoryCapability(memory)])`.

What fits the prompt is put before it, in its frame and as the user's message, never among the instructions: a memory is
quoted, it does not command. It is not part of the history. After the run, what was said in it is captured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mnemic.errors import MnemicError
from mnemic.interfaces.integrations import missing
from mnemic.models.document import Turn

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        TextContent,
        TextPart,
        ToolReturnPart,
        UserPromptPart,
    )
except ImportError:
    raise missing("pydantic-ai", "pydantic-ai") from None

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

    from mnemic.memory import Memory


class MemoryCapability(AbstractCapability[Any]):
    """Recall before each prompt and capture after each run, in the conversation that PydanticAI names."""

    def __init__(self, memory: Memory, *, capture: bool = True) -> None:
        """With `capture` false, it only recalls."""
        self._memory, self._capture = memory, capture
        self._frame: str | None = None

    async def for_run(self, ctx: RunContext[Any]) -> MemoryCapability:
        """One of its own for each run, which asks once."""
        return MemoryCapability(self._memory, capture=self._capture)

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        """Put what fits the prompt before it, in this request only."""
        if self._frame is None:
            query = _text(ctx.prompt)
            self._frame = (await asyncio.to_thread(self._memory.recall, query, frame=True)).frame or "" if query else ""
        if not self._frame:
            return request_context
        return replace(request_context, messages=_with(self._frame, request_context.messages))

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Capture what was said. That it failed does not take the run's result away: `mnemic doctor` tells."""
        if self._capture:
            turns = list(_turns(result.new_messages()))
            try:
                await asyncio.to_thread(self._memory.capture, turns, session=ctx.conversation_id)
            except MnemicError as error:
                self._memory.last_error = str(error)
        return result


def _with(frame: str, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages with a frame before the last that the user said. The history's own are left as they are."""
    found = list(messages)
    for place in range(len(found) - 1, -1, -1):
        message = found[place]
        if isinstance(message, ModelRequest):
            first = next((n for n, part in enumerate(message.parts) if isinstance(part, UserPromptPart)), None)
            if first is not None:
                parts = [*message.parts[:first], UserPromptPart(frame), *message.parts[first:]]
                found[place] = replace(message, parts=parts)
                break
    return found


def _turns(messages: Sequence[ModelMessage]) -> Iterator[Turn]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                yield Turn("user", _text(part.content))
            elif isinstance(part, ToolReturnPart):
                yield Turn("tool", part.model_response_str(), name=part.tool_name)
            elif isinstance(part, TextPart):
                yield Turn("assistant", part.content)


def _text(prompt: Any) -> str:
    """What a prompt says in words."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    said = [item.content if isinstance(item, TextContent) else item for item in prompt]
    return "\n".join(item for item in said if isinstance(item, str))
