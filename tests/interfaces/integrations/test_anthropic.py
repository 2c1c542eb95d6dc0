"""The memory tool under Anthropic's own SDK: its runner drives it, and its tool over files is the oracle."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

anthropic = pytest.importorskip("anthropic", reason="pip install 'mnemic[anthropic]'")
from anthropic.lib.tools import ToolError  # noqa: E402
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool  # noqa: E402

from mnemic import Memory  # noqa: E402
from mnemic.interfaces.integrations.anthropic import AsyncMemoryTool, MemoryTool  # noqa: E402
from tests.interfaces.integrations.homes import home, rooms  # noqa: E402
from tests.interfaces.integrations.loopback import serving  # noqa: E402

COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/ada.md", "file_text": "Ada likes tea.\n"},
    {"command": "str_replace", "path": "/memories/ada.md", "old_str": "tea", "new_str": "coffee"},
    {"command": "insert", "path": "/memories/ada.md", "insert_line": 1, "insert_text": "She sits by the window."},
    {"command": "rename", "old_path": "/memories/ada.md", "new_path": "/memories/people/ada.md"},
    {"command": "delete", "path": "/memories/bob.md"},
]


def _message(number: int, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-test", "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


REPLIES = [
    *(_message(n, [{"type": "tool_use", "id": f"toolu_{n}", "name": "memory", "input": command}], "tool_use")
      for n, command in enumerate(COMMANDS)),
    _message(99, [{"type": "text", "text": "Done."}], "end_turn"),
]  # fmt: skip


def _results(asked: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """What the model was told of its calls."""
    said = [message["content"] for request in asked for message in request["messages"]]
    every = [block for content in said if isinstance(content, list) for block in content]
    blocks = {block["tool_use_id"]: block for block in every if block["type"] == "tool_result"}
    return [(_text(block["content"]), bool(block.get("is_error"))) for _, block in sorted(blocks.items())]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


TOLD = [
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories",
    "File created successfully at: /memories/ada.md",
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    "     1\tAda likes coffee.\n     2\t",
    "The file /memories/ada.md has been edited.",
    "Successfully renamed /memories/ada.md to /memories/people/ada.md",
    "Error: The path /memories/bob.md does not exist",
]


def test_the_sdks_runner_works_all_six_commands(tmp_path: Path) -> None:
    with home(tmp_path) as memory, serving(lambda path, number: REPLIES[number]) as (url, asked):
        with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
            last = client.beta.messages.tool_runner(
                model="claude-test", max_tokens=100, tools=[MemoryTool(memory)], max_iterations=10,
                messages=[{"role": "user", "content": "Remember that I like coffee"}],
            ).until_done()  # fmt: skip
        assert last.content[0].text == "Done."
        assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
        assert _results(asked) == [(text, text.startswith("Error")) for text in TOLD]
        assert memory.recall("what does Ada like?").hits[0].text == "Ada likes coffee.\nShe sits by the window."


def test_the_asynchronous_tool_answers_alike(tmp_path: Path) -> None:
    async def asked(tool: AsyncMemoryTool, command: dict[str, Any]) -> str:
        try:
            return str(await tool.call(command))
        except ToolError as error:
            return str(error)

    async def run() -> list[str]:
        with home(tmp_path) as memory:
            tool = AsyncMemoryTool(memory)
            said = [await asked(tool, command) for command in COMMANDS]
            assert await tool.clear_all_memory() == "All memory cleared"
            return said

    assert asyncio.run(run()) == TOLD


PATHS = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "d", "d/e"]).map("/memories/{}".format)
TEXTS = st.sampled_from(["", "tea", "tea\n", "tea\ncoffee\n", "one\ntea\nthree", "tea tea", "\n\n", "  x "])
CALLS = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": PATHS, "view_range": st.sampled_from([None, [1, 2], [2, -1]])}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PATHS, "old_str": st.sampled_from(["tea", "coffee"]),
                           "new_str": TEXTS}),
    st.fixed_dictionaries({"command": st.just("insert"), "path": PATHS, "insert_line": st.integers(-1, 3), "insert_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)  # fmt: skip


class _Files(BetaLocalFilesystemMemoryTool):
    """The SDK's tool, whose folders vanish with the last that lies in them, as here."""

    def call(self, input: Any) -> Any:
        try:
            return super().call(input)
        finally:
            for folder in sorted((path for path in self.memory_root.rglob("*") if path.is_dir()), reverse=True):
                if not any(folder.iterdir()):
                    folder.rmdir()


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[Memory]]:
    with rooms(tmp_path_factory.mktemp("rooms")) as made:
        yield made


@settings(max_examples=8)
@given(calls=st.lists(CALLS, min_size=4, max_size=14))
@example(calls=[{"command": "create", "path": "/memories/a", "file_text": ""},
                {"command": "view", "path": "/memories/a", "view_range": [2, -1]}])  # fmt: skip
def test_a_thing_done_leaves_the_files_as_the_sdks_own_tool_leaves_them(
    room: Iterator[Memory], calls: list[dict[str, Any]]
) -> None:
    memory = next(room)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = MemoryTool(memory), _Files(folder)
        for call in calls:
            assert _answer(ours, call) == _answer(theirs, call), call
        kept = {f"/{'/'.join(record.key)}": record.body for record in memory.records.below(("memories",))}
        files = {path for path in theirs.memory_root.rglob("*") if path.is_file()}
        assert kept == {f"/memories/{path.relative_to(theirs.memory_root)}": path.read_text() for path in files}


def _answer(tool: Any, call: dict[str, Any]) -> tuple[bool, str]:
    """Whether it was done, and the text where it was: of a refusal the documents and the SDK give different ones. Sizes
    of folders are the disk's own there."""
    try:
        said = str(tool.call(call))
    except (ToolError, OSError):
        return False, ""
    if said.startswith("Here're"):
        said = "\n".join(re.sub(r"^\S+\t", "", line) for line in said.splitlines()[1:])
    return True, said
