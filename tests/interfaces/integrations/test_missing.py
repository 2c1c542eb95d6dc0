"""A framework that is not installed is told with the command that installs it, and costs nothing until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

ADAPTERS = {
    "anthropic": "anthropic", "openai_agents": "openai-agents", "langgraph": "langgraph", "pydantic_ai": "pydantic-ai",
    "llama_index": "llama-index",
}  # fmt: skip
PACKAGES = ("anthropic", "agents", "langgraph", "langchain_core", "pydantic_ai", "llama_index", "pydantic", "httpx")


@pytest.mark.parametrize("module", ADAPTERS)
def test_an_absent_package_is_named_with_its_extra(module: str) -> None:
    script = (
        f"import sys\nfor name in {PACKAGES!r}: sys.modules[name] = None\n"
        "from mnemic.errors import MissingExtra\n"
        f"try:\n    import mnemic.interfaces.integrations.{module}\n"
        "except MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"pip install 'mnemic[{ADAPTERS[module]}]'\n")


def test_memory_loads_none_of_them() -> None:
    script = (
        "import sys, mnemic.memory, mnemic.interfaces.integrations.mem0_rest\n"
        f"print([name for name in {PACKAGES!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
