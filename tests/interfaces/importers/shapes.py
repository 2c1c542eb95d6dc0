"""Small exports in the shapes that the real tools write, of our own making."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARCH = 1_773_144_000.0
"""2026-03-10 12:00 UTC in seconds."""


def node(key: str, parent: str | None, role: str = "", text: str = "", at: float | None = None, **more: Any) -> dict[str, Any]:
    """A node of ChatGPT's mapping."""
    message = None
    if role:
        message = {
            "id": key, "author": {"role": role, "name": None, "metadata": {}}, "create_time": at, "update_time": None,
            "content": {"content_type": "text", "parts": [text]}, "status": "finished_successfully", "end_turn": None,
            "weight": 1.0, "metadata": {"model_slug": "gpt-5"}, "recipient": "all", "channel": None, **more,
        }  # fmt: skip
    return {"id": key, "message": message, "parent": parent, "children": []}


def chatgpt(key: str, *nodes: dict[str, Any], current: str | None = None, title: str = "Trains") -> dict[str, Any]:
    """A ChatGPT conversation."""
    return {
        "id": key, "conversation_id": key, "title": title, "create_time": MARCH, "update_time": MARCH + 60,
        "mapping": {item["id"]: item for item in nodes}, "current_node": current or nodes[-1]["id"], "moderation_results": [],
        "plugin_ids": None, "gizmo_id": None, "is_archived": False, "default_model_slug": "gpt-5",
    }  # fmt: skip


def trains(key: str = "c-1") -> dict[str, Any]:
    """A conversation whose second question was edited, and whose first answer was asked anew."""
    return chatgpt(
        key,
        node("root", None),
        node("sys", "root", "system", "You are helpful."),
        node("u1", "sys", "user", "Which seat is best on the night train? 🚆", MARCH),
        node("a1", "u1", "assistant", "The lower berth.", MARCH + 1),
        node("a1b", "u1", "assistant", "The window seat, on the left.", MARCH + 2),
        node("u2", "a1b", "user", "And for the ferry?", MARCH + 3),
        node("a2", "u2", "assistant", "The upper deck.", MARCH + 4),
        node("u2b", "a1b", "user", "And on the tram?", MARCH + 5),
        node("call", "u2b", "assistant", "search('tram')", MARCH + 6, recipient="web.run"),
        node("tool", "call", "tool", "a long page about trams", MARCH + 7),
        node("a3", "tool", "assistant", "Stand at the back. 👍🏽", MARCH + 8),
        current="a3",
    )


def claude(key: str = "k-1") -> dict[str, Any]:
    """A conversation of Claude's export."""
    return {
        "uuid": key, "name": "Garden", "summary": "", "created_at": "2026-03-10T12:00:00.123456Z",
        "updated_at": "2026-03-10T12:05:00Z", "account": {"uuid": "acc"},
        "chat_messages": [
            {"uuid": "m1", "text": "When do I sow leeks? 🌱", "sender": "human", "created_at": "2026-03-10T12:00:01Z",
             "updated_at": "2026-03-10T12:00:01Z",
             "content": [{"type": "text", "text": "When do I sow leeks? 🌱", "citations": []}],
             "attachments": [{"file_name": "plan.txt", "file_size": 12, "file_type": "txt", "extracted_content": "Bed 3: leeks"}],
             "files": [{"file_name": "bed.png"}]},
            {"uuid": "m2", "text": "", "sender": "assistant", "created_at": "2026-03-10T12:00:09Z",
             "content": [{"type": "thinking", "thinking": "hmm"}, {"type": "tool_use", "name": "search", "input": {}},
                         {"type": "text", "text": "In late March, under glass."}], "attachments": [], "files": []},
        ],
    }  # fmt: skip


def claude_line(kind: str, content: Any, key: str, second: int = 0, **more: Any) -> dict[str, Any]:
    """A line of a Claude Code transcript."""
    return {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/ada/kiln", "sessionId": "s-9",
        "version": "2.1.332", "gitBranch": "main", "type": kind, "message": {"role": kind, "content": content},
        "uuid": key, "timestamp": f"2026-03-10T12:00:{second:02}.000Z", **more,
    }  # fmt: skip


CLAUDE_CODE: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-9"},
    claude_line("user", "Why does the kiln test fail? 🔥", "1", 1),
    {**claude_line("user", "ignored", "2", 2), "type": "attachment", "attachment": {"type": "hook_additional_context"}},
    claude_line("assistant", [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "Let me look."},
                              {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}], "3", 3),
    claude_line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "E assert 1 == 2"}], "4", 4, toolUseResult={}),
    claude_line("assistant", [{"type": "text", "text": "The thermometer is off by one."}], "5", 5),
    claude_line("user", "what the side chain asks", "6", 6, isSidechain=True),
    claude_line("user", "Fix it, please.", "7", 7),
    claude_line("assistant", [{"type": "text", "text": "Done: it counts from zero now."}], "8", 8),
]  # fmt: skip


def codex_line(kind: str, payload: dict[str, Any], second: int = 0) -> dict[str, Any]:
    """A line of a Codex rollout."""
    return {"timestamp": f"2026-03-10T12:00:{second:02}.000Z", "type": kind, "payload": payload}


def codex_said(role: str, text: str, second: int) -> dict[str, Any]:
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return codex_line("response_item", {"type": "message", "role": role, "content": [part]}, second)


CODEX: list[dict[str, Any]] = [
    codex_line("session_meta", {"id": "0199-codex", "cwd": "/home/ada/weir", "cli_version": "0.171.0"}),
    codex_said("developer", "You are Codex.", 1),
    codex_said("user", "# AGENTS.md instructions for /home/ada/weir\n\nBe brief.", 2),
    codex_said("user", "<environment_context>\n  <cwd>/home/ada/weir</cwd>\n</environment_context>", 3),
    codex_said("user", "Which port does the weir listen on?", 4),
    codex_line("response_item", {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}, 5),
    codex_line("response_item", {"type": "function_call_output", "call_id": "c", "output": "8787"}, 6),
    codex_line("event_msg", {"type": "agent_message", "message": "Port 8787. 🌊"}, 7),
    codex_said("assistant", "Port 8787. 🌊", 7),
]


def slack_message(text: str, user: str, ts: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, "client_msg_id": f"id-{ts}", "team": "T1", **more}


SLACK: dict[str, Any] = {
    "users.json": [
        {"id": "U1", "name": "ada", "profile": {"display_name": "Ada", "real_name": "Ada Lovelace"}},
        {"id": "U2", "name": "bob", "profile": {"display_name": "", "real_name": "Bob Stone"}},
    ],
    "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
    "general/2026-03-10.json": [
        slack_message("<@U1> has joined the channel", "U1", "1773140000.000100", subtype="channel_join"),
        slack_message("<@U2> the ferry leaves at &lt;nine&gt; :ship: 🚢", "U1", "1773144000.000200",
                      thread_ts="1773144000.000200", reply_count=2),
        slack_message("see <https://ferry.example|the plan> in <#C1|general>", "U2", "1773144060.000300"),
        slack_message("At nine sharp?", "U2", "1773144120.000400", thread_ts="1773144000.000200"),
    ],
    "general/2026-03-11.json": [
        slack_message("Nine fifteen, it was late again.", "U1", "1773230400.000100", thread_ts="1773144000.000200"),
        {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "tide", "text": "", "ts": "1773230500.000100",
         "attachments": [{"fallback": "High tide at 14:02"}]},
        {"type": "message", "user": "U2", "text": "", "ts": "1773230600.000100", "blocks": [
            {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                {"type": "text", "text": "Then at three, "}, {"type": "user", "user_id": "U1"}]}]}]},
    ],
}  # fmt: skip


def takeout(title: str, answer: str | None, time: str, **more: Any) -> dict[str, Any]:
    """An entry of Google Takeout's MyActivity.json for Gemini."""
    html = {"safeHtmlItem": [{"html": answer}]} if answer else {}
    return {"header": "Gemini Apps", "title": title, "time": time, "products": ["Gemini Apps"],
            "activityControls": ["Gemini Apps Activity"], **html, **more}  # fmt: skip


GEMINI: list[dict[str, Any]] = [
    takeout("Prompted What is a weir? 🌊", "<p>A low dam.</p><ul><li>Water runs <b>over</b> it.</li></ul>",
            "2026-03-10T12:10:00.5Z"),
    takeout("Gave feedback: good response", None, "2026-03-10T12:05:00Z"),
    takeout("Prompted And a lock?", "<p>A lift for boats &amp; rafts.</p>", "2026-03-10T12:00:00Z"),
    takeout("Prompted What is a ford?", "<p>A shallow place.</p>", "2026-03-09T08:00:00Z"),
]  # fmt: skip

SERVER_MEMORY = [
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes the window seat", "speaks French"]},
    {"type": "entity", "name": "Kiln", "entityType": "tool", "observations": ["reaches 1,200 °C 🔥"]},
    {"type": "relation", "from": "Ada", "to": "Kiln", "relationType": "owns"},
]

MEM0 = {"results": [
    {"id": "1f", "memory": "Likes tea at four", "hash": "h", "created_at": "2026-03-10T04:00:00-08:00", "updated_at": None,
     "user_id": "ada", "metadata": {"category": "taste"}},
    {"id": "2f", "memory": "Plays the viola 🎻", "created_at": "2026-03-10T13:00:00Z", "agent_id": "muse"},
]}  # fmt: skip


def write(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, rows: list[Any], broken: str | None = None) -> Path:
    """A file of JSON lines; `broken` is put in as the second."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    if broken is not None:
        lines.insert(1, broken)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_tree(root: Path, files: Mapping[str, Any]) -> Path:
    """A folder of JSON or text files."""
    for name, value in files.items():
        if isinstance(value, str):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(value, encoding="utf-8")
        else:
            write(root / name, value)
    return root


def zipped(path: Path, files: Mapping[str, Any]) -> Path:
    """A zip archive of the same."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value, ensure_ascii=False))
    return path


def stream(text: str | bytes) -> io.BytesIO:
    return io.BytesIO(text.encode() if isinstance(text, str) else text)
