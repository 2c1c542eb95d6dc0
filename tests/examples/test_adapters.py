"""The examples of docs/adapters.md, each run as it stands there, against models on the loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.integrations.loopback import serving

DOCS = Path(__file__).parents[2] / "docs" / "adapters.md"
PARTS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", DOCS.read_text("utf-8"), re.M | re.S))
EXAMPLES = {name: found[1] for name, text in PARTS.items() if (found := re.search(r"```python\n(.*?)```", text, re.S))}
NEEDS = {"Anthropic's memory tool": "anthropic", "OpenAI Agents": "agents", "LangGraph": "langgraph", "PydanticAI": "pydantic_ai",
         "LlamaIndex": "llama_index"}  # fmt: skip
SHOWN = {
    "Anthropic's memory tool": "I see.\n",
    "OpenAI Agents": "I see.\n['I like the window seat.']\n",
    "LangGraph": "{'text': 'Ada likes the window seat.', 'since': 2024}\n",
    "PydanticAI": "I see.\n",
    "LlamaIndex": "I like the window seat.",
    "mem0": "I like the window seat.\n",
}
TOKENS = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
          "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip


def _reply(path: str, number: int) -> dict[str, Any]:
    """What Anthropic's and OpenAI's servers would answer."""
    if path.startswith("/v1/messages"):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
                "stop_sequence": None, "content": [{"type": "text", "text": "I see."}],
                "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    if path.endswith("/responses"):
        said = {"type": "output_text", "text": "I see.", "annotations": [], "logprobs": []}
        return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt", "usage": TOKENS,
                "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}],
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
                "instructions": None, "metadata": {}, "temperature": 1.0, "top_p": 1.0}  # fmt: skip
    return {"id": "c_1", "object": "chat.completion", "created": 1, "model": "gpt",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "I see."}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip


def test_every_adapter_has_an_example() -> None:
    assert EXAMPLES.keys() == SHOWN.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_the_example_runs_as_it_stands_in_the_docs(name: str, tmp_path: Path) -> None:
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    with serving(_reply) as (url, _):
        environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("MNEMIC_", "OPENAI_", "ANTHROPIC_"))},
            "MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config"),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        command = [sys.executable, "-c", EXAMPLES[name]]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert SHOWN[name] in done.stdout
    assert len(EXAMPLES[name].splitlines()) <= 12
