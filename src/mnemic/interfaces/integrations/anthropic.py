"""Anthropic's memory tool, kept by mnemic: give it to `client.beta.messages.tool_runner(tools=[…])`.

    with Memory.open() as memory:
        runner = client.beta.messages.tool_runner(model=…, max_tokens=…, messages=[…], tools=[MemoryTool(memory)])

What Claude writes below `/memories` is found by recall too, and can be undone like every other change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mnemic.interfaces.integrations import missing
from mnemic.interfaces.integrations.memory_files import CommandError, MemoryFiles

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError:
    raise missing("anthropic", "anthropic") from None

if TYPE_CHECKING:
    from mnemic.memory import Memory


def _done(command: Callable[..., str], *given: Any) -> str:
    try:
        return command(*given)
    except CommandError as error:
        raise ToolError(str(error)) from None


class MemoryTool(BetaAbstractMemoryTool):
    """The tool for the synchronous client."""

    def __init__(self, memory: Memory, **options: Any) -> None:
        """`options` are those of the SDK's own class, e.g. `cache_control`."""
        super().__init__(**options)
        self._files = MemoryFiles(memory)

    def view(self, command: Any) -> str:
        return _done(self._files.view, command.path, command.view_range)

    def create(self, command: Any) -> str:
        return _done(self._files.create, command.path, command.file_text)

    def str_replace(self, command: Any) -> str:
        return _done(self._files.str_replace, command.path, command.old_str, command.new_str)

    def insert(self, command: Any) -> str:
        return _done(self._files.insert, command.path, command.insert_line, command.insert_text)

    def delete(self, command: Any) -> str:
        return _done(self._files.delete, command.path)

    def rename(self, command: Any) -> str:
        return _done(self._files.rename, command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        return _done(self._files.clear)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The tool for the asynchronous client: the same, in a worker thread."""

    def __init__(self, memory: Memory, **options: Any) -> None:
        """`options` are those of the SDK's own class, e.g. `cache_control`."""
        super().__init__(**options)
        self._tool = MemoryTool(memory)

    async def view(self, command: Any) -> str:
        return await _aside(self._tool.view, command)

    async def create(self, command: Any) -> str:
        return await _aside(self._tool.create, command)

    async def str_replace(self, command: Any) -> str:
        return await _aside(self._tool.str_replace, command)

    async def insert(self, command: Any) -> str:
        return await _aside(self._tool.insert, command)

    async def delete(self, command: Any) -> str:
        return await _aside(self._tool.delete, command)

    async def rename(self, command: Any) -> str:
        return await _aside(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await _aside(self._tool.clear_all_memory)


async def _aside(command: Callable[..., str], *given: Any) -> str:
    from anyio.to_thread import run_sync

    return await run_sync(command, *given)
