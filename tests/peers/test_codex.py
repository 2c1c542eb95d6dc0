"""The real Codex against a scripted model, offline. Opt-in: the program comes from npm.

    npm i @openai/codex@0.171.0
    MNEMIC_CODEX=…/node_modules/.bin/codex pytest tests/peers/test_codex.py
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from tests.peers.models import command, model, responses_stream

CODEX = os.environ.get("MNEMIC_CODEX", "")
pytestmark = pytest.mark.skipif(not CODEX, reason="set MNEMIC_CODEX to the codex command")
PROVIDER = """model = "fake-model"
model_provider = "fake"  # kept as it is

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
"""


def answered(path: str, body: dict[str, Any]) -> bytes | None:
    if not path.endswith("/responses"):
        return None
    told = json.dumps(body["input"])
    return responses_stream({"text": "I see you live in Porto." if "Where did I" in told else "Noted: Porto it is."})


def run(folder: Path, ours: Path, url: str, prompt: str) -> str:
    """Ask Codex once in a home of its own."""
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "FAKE_KEY": "x", "MNEMIC_HOOK_SECONDS": "9"}
    config = folder / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(PROVIDER.format(url=url), "utf-8")
    subprocess.run([ours, "install", "codex"], env=environ, check=True, capture_output=True)
    project = folder / "project"
    project.mkdir(exist_ok=True)
    asked = [CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt]
    done = subprocess.run(asked, env=environ, cwd=project, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([ours, "uninstall", "codex"], env=environ, check=True, capture_output=True)
    assert config.read_text("utf-8") == PROVIDER.format(url=url)
    return done.stdout + done.stderr


def test_recall_arrives_in_the_prompt_and_the_next_session_remembers(tmp_path: Path) -> None:
    ours = command(tmp_path)
    with model(answered) as (url, asked):
        assert "Noted: Porto it is." in run(tmp_path, ours, url, "I moved to Porto last week.")
        first = json.dumps(asked)
    assert "mnemic keeps this conversation as session" in first
    assert "mcp__mnemic" in first or "tool_search" in first
    with Memory.open(tmp_path / ".mnemic", environ={"MNEMIC_CONFIG": str(tmp_path / ".config" / "mnemic")}) as memory:
        paths = [row["path"] for row in memory.tree("/sessions", depth=2) if row["kind"] == "exchange"]
        kept = [memory.show(path, touch=False)["text"] for path in paths]
        assert kept == ["user: I moved to Porto last week.\n\nassistant: Noted: Porto it is."]
        assert "hook" not in " ".join(memory.doctor()["notes"])
    with model(answered) as (url, asked):
        assert "I see you live in Porto." in run(tmp_path, ours, url, "Where did I say that I moved to?")
        second = json.dumps(asked)
    assert "memory-recall" in second and "moved to Porto" in second
