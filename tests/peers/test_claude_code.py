"""The real Claude Code against a scripted model, offline. Opt-in: the program comes from npm.

    npm i @anthropic-ai/claude-code@2.1.332
    MNEMIC_CLAUDE=…/node_modules/.bin/claude pytest tests/peers/test_claude_code.py
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces.hosts import PLUGIN
from tests.peers.models import command, messages_stream, model

CLAUDE = os.environ.get("MNEMIC_CLAUDE", "")
pytestmark = pytest.mark.skipif(not CLAUDE, reason="set MNEMIC_CLAUDE to the claude command")


class Host:
    """Claude Code in a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, folder / "project"
        self.project.mkdir()
        self.environ = {
            "HOME": str(folder), "PATH": f"{command(folder).parent}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1", "MNEMIC_HOOK_SECONDS": "9",
        }  # fmt: skip

    def run(self, prompt: str, url: str, *words: str) -> dict[str, Any]:
        words_of = [CLAUDE, "-p", prompt, "--output-format", "json", *words]
        environ = {**self.environ, "ANTHROPIC_BASE_URL": url}
        done = subprocess.run(words_of, env=environ, cwd=self.project, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def memory(self) -> Memory:
        return Memory.open(self.folder / ".mnemic", environ={"MNEMIC_CONFIG": str(self.folder / ".config" / "mnemic")})


def said(asked: list[dict[str, Any]]) -> str:
    """All that the model was sent."""
    return json.dumps([row.get("messages") for row in asked])


def answered(path: str, body: dict[str, Any]) -> bytes | None:
    if not path.startswith("/v1/messages") or "count_tokens" in path:
        return None
    told = json.dumps(body["messages"])
    text = "I see you live in Porto." if "moved to Porto" in told and "Where" in told else "Noted: Porto it is."
    return messages_stream({"text": text}, body["model"])


@pytest.mark.parametrize("way", ["plugin", "install"])
def test_recall_arrives_in_the_prompt_and_the_next_session_remembers(tmp_path: Path, way: str) -> None:
    host = Host(tmp_path)
    words = ["--plugin-dir", str(PLUGIN)] if way == "plugin" else []
    if way == "install":
        subprocess.run([tmp_path / "bin" / "mnemic", "install", "claude-code"], env=host.environ, check=True, capture_output=True)
    with model(answered) as (url, asked):
        first = host.run("I moved to Porto last week.", url, *words)
        assert first["result"] == "Noted: Porto it is."
        assert "mnemic keeps this conversation as session" in said(asked)
    with host.memory() as memory:
        assert [hit.text for hit in memory.recall("Who moved to Porto?").hits][:1] == ["I moved to Porto last week."]
        assert memory.doctor()["ok"] and "hook" not in " ".join(memory.doctor()["notes"])
    with model(answered) as (url, asked):
        second = host.run("Where did I say that I moved to?", url, *words)
        assert "memory-recall" in said(asked) and "moved to Porto" in said(asked)
        assert second["result"] == "I see you live in Porto."
    with host.memory() as memory:
        texts = [row["text"] for row in map(memory.show, ["/sessions/" + first["session_id"] + "/1"])]
        assert texts == ["user: I moved to Porto last week.\n\nassistant: Noted: Porto it is."]
        kept = [row["path"] for row in memory.tree("/sessions", depth=2) if row["kind"] == "exchange"]
        assert len(kept) == 2
        assert not any("memory-recall" in memory.show(path, touch=False)["text"] for path in kept)


def test_what_a_compaction_took_from_the_model_is_recalled_in_the_same_session(tmp_path: Path) -> None:
    host = Host(tmp_path)
    subprocess.run([tmp_path / "bin" / "mnemic", "install", "claude-code"], env=host.environ, check=True, capture_output=True)
    with model(answered) as (url, asked):
        session = host.run("I moved to Porto last week.", url)["session_id"]
        host.run("/compact", url, "--resume", session)
        before = len(asked)
        assert host.run("Where did I say that I moved to?", url, "--resume", session)["session_id"] == session
    (prompt,) = {text for row in asked[before:] for text in _texts(row) if "memory-recall" in text and "Porto" in text}
    assert "I moved to Porto last week." in prompt
    with host.memory() as memory:
        assert memory.bookmark(f"session:{session}")["compacted"] > 0
        kept = [row["path"] for row in memory.tree("/sessions", depth=2) if row["kind"] == "exchange"]
        assert [memory.show(path, touch=False)["text"].partition("\n")[0] for path in kept] == [
            "user: I moved to Porto last week.", "user: Where did I say that I moved to?",
        ]  # fmt: skip


def _texts(row: dict[str, Any]) -> list[str]:
    """The texts of a request's messages."""
    parts = [message["content"] for message in row.get("messages", ())]
    return [one if isinstance(one, str) else str(one.get("text", "")) for part in parts for one in
            ([part] if isinstance(part, str) else part)]  # fmt: skip


def test_the_model_can_call_our_tools(tmp_path: Path) -> None:
    def script(path: str, body: dict[str, Any]) -> bytes | None:
        if not path.startswith("/v1/messages") or "count_tokens" in path:
            return None
        names = [tool["name"] for tool in body.get("tools", ())]
        told = json.dumps(body["messages"])
        if "tool_result" in told and "stored" in told:
            return messages_stream({"text": "done"}, body["model"])
        if "mcp__plugin_mnemic_mnemic__remember" in names or "tool_reference" in told:
            call = {"tool": "mcp__plugin_mnemic_mnemic__remember", "input": {"text": "The build needs Node 22."}}
            return messages_stream(call, body["model"])
        search = {"tool": "ToolSearch", "input": {"query": "save a note to long-term memory", "max_results": 5}}
        return messages_stream(search, body["model"])

    host = Host(tmp_path)
    with model(script) as (url, _):
        allowed = ["--allowedTools", "mcp__plugin_mnemic_mnemic__remember", "ToolSearch"]
        done = host.run("Save a note.", url, "--plugin-dir", str(PLUGIN), *allowed)
        assert done["result"] == "done"
    with host.memory() as memory:
        assert memory.show("/notes/the-build-needs-node-22", touch=False)["origin"] == "agent"


def test_the_plugin_is_valid(tmp_path: Path) -> None:
    host = Host(tmp_path)
    asked = [CLAUDE, "plugin", "validate", str(PLUGIN)]
    done = subprocess.run(asked, env=host.environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Validation passed" in done.stdout, done.stdout
