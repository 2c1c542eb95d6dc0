"""Every format, from a file in the real shape to what memory then says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.capture.intake import session_slug
from mnemic.errors import BadInput
from mnemic.interfaces.importers import FORMATS, Row, take
from mnemic.models.document import Turn
from tests.interfaces.importers import shapes

BROKEN = '{"broken": '
VAULT = {
    "Leek.md": "---\ntags: [bed/three]\ncreated: 2026-03-01\n---\nSow [[Bed plan#March|in March]] 🌱. ![[leek.png]]\n",
    "beds/Bed plan.md": "# Beds\n\n> [!note] Three beds\n> The third is for leeks.\n",
    ".obsidian/app.json": "{}",
    "leek.png": "not text",
}
CLAUDE_EXPORT = {
    "users.json": [{"uuid": "acc"}],
    "memories.json": [{"conversations_memory": "Grows leeks.", "project_memories": {"p1": "The kiln is new."},
                       "account_uuid": "acc"}],
    "projects.json": [{"uuid": "p1", "name": "Kiln", "description": "", "prompt_template": "Be brief.",
                       "created_at": "2026-03-01T00:00:00Z",
                       "docs": [{"uuid": "d1", "filename": "cones.md", "content": "# Cones\n\nCone 6 is 1,222 °C."}]}],
    "conversations.json": [shapes.claude(), {"uuid": "bad"}],
}  # fmt: skip
OPENAI = [
    {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Is it raining? ☔"},
                  {"role": "assistant", "content": [{"type": "text", "text": "Not yet."}]}]},
    {"messages": [{"role": "user", "content": "Is it raining? ☔"}, {"role": "assistant", "content": "Yes, since noon."}]},
]  # fmt: skip
SHAREGPT = [
    {"id": "q_0", "conversations": [{"from": "system", "value": "x"}, {"from": "human", "value": "Name a cheese 🧀"},
                                    {"from": "gpt", "value": "Comté."}]},
    {"conversations": [{"from": "human", "value": "Name a bread"}, {"from": "gpt", "value": "Rye."}]},
    {"id": "bad"},
]  # fmt: skip

Make = Callable[[Path], Path]
CASES: dict[str, tuple[Make, dict[str, int], str]] = {
    "chatgpt": (
        lambda root: shapes.zipped(root / "chatgpt.zip", {
            "conversations-000.json": [shapes.trains("c-1"), {"id": "bad"}], "conversations-001.json": [shapes.trains("c-2")],
            "chat.html": "<html>", "user.json": {}}),
        {"conversations": 6, "stored": 8, "messages": 16, "broken": 1, "left_out": 4}, "the window seat on the left",
    ),
    "claude": (
        lambda root: shapes.zipped(root / "claude.zip", CLAUDE_EXPORT),
        {"conversations": 1, "pages": 4, "stored": 5, "messages": 6, "broken": 1, "left_out": 0}, "leeks under glass",
    ),
    "claude-code": (
        lambda root: shapes.write_lines(root / "kiln" / "s-9.jsonl", shapes.CLAUDE_CODE, BROKEN),
        {"conversations": 1, "stored": 2, "messages": 5, "broken": 1, "left_out": 2}, "thermometer is off by one",
    ),
    "codex": (
        lambda root: shapes.write_lines(root / "rollout-x.jsonl", shapes.CODEX, BROKEN),
        {"conversations": 1, "stored": 1, "messages": 2, "broken": 1, "left_out": 5}, "port of the weir",
    ),
    "gemini": (
        lambda root: shapes.write(root / "My Activity.json", [*shapes.GEMINI, 7]),
        {"conversations": 2, "stored": 3, "messages": 6, "broken": 1, "left_out": 0}, "lift for boats & rafts",
    ),
    "openai-jsonl": (
        lambda root: shapes.write_lines(root / "chats.jsonl", OPENAI, BROKEN),
        {"conversations": 2, "stored": 2, "messages": 4, "broken": 1, "left_out": 1}, "raining since noon",
    ),
    "sharegpt": (
        lambda root: shapes.write(root / "sharegpt.json", SHAREGPT),
        {"conversations": 2, "stored": 2, "messages": 4, "broken": 1, "left_out": 1}, "cheese Comté",
    ),
    "slack": (
        lambda root: shapes.zipped(root / "slack.zip", {**shapes.SLACK, "general/2026-03-12.json": [7]}),
        {"conversations": 4, "stored": 5, "messages": 6, "broken": 1, "left_out": 1}, "ferry leaves at nine fifteen, late again",
    ),
    "obsidian": (
        lambda root: shapes.write_tree(root / "Garden", VAULT),
        {"pages": 2, "stored": 2, "messages": 2, "broken": 0, "left_out": 0}, "third bed is for leeks",
    ),
    "markdown": (
        lambda root: shapes.write_tree(root / "rules", {"CLAUDE.md": "# Rules\n\nNo push on a Friday.", "a.txt": "Tea"}),
        {"pages": 2, "stored": 2, "messages": 2, "broken": 0, "left_out": 0}, "push on a Friday",
    ),
    "mem0": (
        lambda root: shapes.write(root / "mem0.json", {"results": [*shapes.MEM0["results"], {"id": "bad"}]}),
        {"pages": 2, "stored": 2, "messages": 2, "broken": 1, "left_out": 0}, "plays the viola",
    ),
    "server-memory": (
        lambda root: shapes.write_lines(root / "memory.jsonl", shapes.SERVER_MEMORY, BROKEN),
        {"pages": 1, "stored": 6, "messages": 6, "broken": 1, "left_out": 0}, "Kiln reaches 1,200",
    ),
}  # fmt: skip


def texts(memory: Memory, session: str) -> list[str]:
    """What is kept of a session, exchange by exchange."""
    rows = memory.tree("/sessions/" + session_slug(session), depth=1)
    return [memory.show(row["path"], touch=False)["text"] for row in rows if row["kind"] == "exchange"]


def test_every_format_has_a_case() -> None:
    assert CASES.keys() == FORMATS.keys()


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_in_the_real_shape_comes_in_whole_and_what_is_broken_is_named(format: str, memory: Memory, tmp_path: Path) -> None:
    make, wanted, question = CASES[format]
    totals = take(memory, format, make(tmp_path))
    assert {name: getattr(totals, name) for name in wanted} == wanted
    assert sum(one.broken for one in totals.skipped) == totals.broken
    found = memory.recall(question)
    assert found.hits and {hit.origin for hit in found.hits} == {"import"}
    assert memory.verify().ok


@pytest.mark.parametrize("format", FORMATS)
def test_a_second_import_adds_nothing_and_a_dry_run_writes_nothing(format: str, memory: Memory, tmp_path: Path) -> None:
    make, wanted, _ = CASES[format]
    file = make(tmp_path)
    dry: list[Row] = []
    assert take(memory, format, file, dry_run=True, told=dry.append).messages == wanted["messages"]
    assert memory.status()["head"] is None
    assert not any(row.known or row.stored for row in dry)
    take(memory, format, file)
    head = memory.status()["head"]
    again = take(memory, format, file)
    assert (again.stored, again.duplicate, memory.status()["head"]) == (0, wanted["stored"], head)


@pytest.mark.parametrize("format", ["openai-jsonl", "sharegpt", "markdown", "slack", "claude-code"])
def test_a_second_import_on_another_day_adds_nothing(format: str, tmp_path: Path) -> None:
    file = CASES[format][0](tmp_path)
    stored = []
    for now in ("2026-11-30T12:00:00Z", "2026-12-24T12:00:00Z"):
        environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_NOW": now}
        with Memory.open(tmp_path / "home", environ=environ) as memory:
            stored.append(take(memory, format, file).stored)
    assert stored == [CASES[format][1]["stored"], 0]


def test_the_current_branch_is_the_conversation_and_each_other_stands_beside_it(memory: Memory, tmp_path: Path) -> None:
    rows: list[Row] = []
    take(memory, "chatgpt", shapes.write(tmp_path / "conversations.json", [shapes.trains()]), told=rows.append)
    assert [(row.name, row.title) for row in rows] == [
        ("chatgpt-c-1", "Trains"), ("chatgpt-c-1-branch-a1", "Trains"), ("chatgpt-c-1-branch-u2", "Trains"),
    ]  # fmt: skip
    question = "user: Which seat is best on the night train? 🚆\n\nassistant: "
    assert texts(memory, "chatgpt-c-1") == [
        question + "The window seat, on the left.", "user: And on the tram?\n\nassistant: Stand at the back. 👍🏽",
    ]  # fmt: skip
    assert texts(memory, "chatgpt-c-1-branch-a1") == [question + "The lower berth."]
    assert texts(memory, "chatgpt-c-1-branch-u2") == ["user: And for the ferry?\n\nassistant: The upper deck."]


def test_shards_of_claude_are_one_export_and_an_edited_question_is_a_branch(memory: Memory, tmp_path: Path) -> None:
    def said(key: str, parent: str, sender: str, words: str) -> dict[str, Any]:
        return {"uuid": key, "parent_message_uuid": parent, "sender": sender, "text": words, "content": [], "attachments": [],
                "files": []}  # fmt: skip

    root = "00000000-0000-4000-8000-000000000000"
    asked = {**shapes.claude("k-2"), "current_leaf_message_uuid": "b2", "chat_messages": [
        said("a1", root, "human", "Which bird is that? 🐦"), said("a2", "a1", "assistant", "A wren."),
        said("b1", root, "human", "Which small brown bird is that?"), said("b2", "b1", "assistant", "A dunnock."),
    ]}  # fmt: skip
    shards = {"conversations-000.json": [shapes.claude()], "conversations-001.json": [asked], "users.json": []}
    totals = take(memory, "claude", shapes.zipped(tmp_path / "claude.zip", shards))
    assert (totals.conversations, totals.stored, totals.broken) == (3, 3, 0)
    assert texts(memory, "claude-k-2") == ["user: Which small brown bird is that?\n\nassistant: A dunnock."]
    assert texts(memory, "claude-k-2-branch-a1") == ["user: Which bird is that? 🐦\n\nassistant: A wren."]


def test_a_conversation_that_has_grown_adds_only_what_is_new(memory: Memory, tmp_path: Path) -> None:
    chat = shapes.claude()
    take(memory, "claude", shapes.write(tmp_path / "conversations.json", [chat]))
    chat["chat_messages"] += [
        {"uuid": "m3", "sender": "human", "text": "And beans?", "created_at": "2026-03-10T13:00:00Z"},
        {"uuid": "m4", "sender": "assistant", "text": "In May.", "created_at": "2026-03-10T13:00:05Z"},
    ]
    grown = take(memory, "claude", shapes.write(tmp_path / "conversations.json", [chat]))
    assert (grown.stored, grown.duplicate) == (1, 1)
    assert texts(memory, "claude-k-1")[1] == "user: And beans?\n\nassistant: In May."


def test_attachments_of_claude_are_read_and_files_named(memory: Memory, tmp_path: Path) -> None:
    take(memory, "claude", shapes.write(tmp_path / "c.json", [shapes.claude()]))
    assert texts(memory, "claude-k-1") == [
        "user: When do I sow leeks? 🌱\n\n[attachment plan.txt]\nBed 3: leeks\n\n[file bed.png]"
        "\n\nassistant: In late March, under glass."
    ]


def test_what_a_hook_captured_is_recognised(memory: Memory, tmp_path: Path) -> None:
    memory.capture([Turn("user", "Fix it, please.", created_at=1_773_144_007_000),
                    Turn("assistant", "Done: it counts from zero now.", created_at=1_773_144_008_000)],
                   session="s-9")  # fmt: skip
    totals = take(memory, "claude-code", shapes.write_lines(tmp_path / "s-9.jsonl", shapes.CLAUDE_CODE))
    assert (totals.stored, totals.duplicate) == (1, 1)


def test_lines_that_a_resumed_session_repeats_come_in_once(memory: Memory, tmp_path: Path) -> None:
    shapes.write_lines(tmp_path / "p" / "a.jsonl", shapes.CLAUDE_CODE)
    more = [shapes.claude_line("user", "Thank you 🙏", "9", 9)]
    shapes.write_lines(tmp_path / "p" / "b.jsonl", [{**row, "sessionId": "s-10"} for row in [*shapes.CLAUDE_CODE, *more]])
    take(memory, "claude-code", tmp_path / "p")
    assert texts(memory, "s-10") == ["user: Thank you 🙏"]


def test_a_thread_of_slack_goes_on_over_the_days_and_people_have_names(memory: Memory, tmp_path: Path) -> None:
    take(memory, "slack", shapes.write_tree(tmp_path / "slack", shapes.SLACK))
    assert texts(memory, "slack-general-thread-1773144000.000200") == [
        "Ada: @Bob Stone the ferry leaves at <nine> :ship: 🚢\n\nBob Stone: At nine sharp?",
        "Ada: Nine fifteen, it was late again.",
    ]  # fmt: skip
    assert texts(memory, "slack-general-2026-03-10") == ["Bob Stone: see the plan (https://ferry.example) in #general"]
    assert texts(memory, "slack-general-2026-03-11") == ["tide: High tide at 14:02", "Bob Stone: Then at three, @Ada"]


def test_a_day_of_gemini_is_told_in_its_order(memory: Memory, tmp_path: Path) -> None:
    take(memory, "gemini", shapes.write(tmp_path / "MyActivity.json", shapes.GEMINI))
    assert texts(memory, "gemini-2026-03-10") == [
        "user: And a lock?\n\nassistant: A lift for boats & rafts.",
        "user: What is a weir? 🌊\n\nassistant: A low dam.\n\n- Water runs over it.",
    ]


def test_sessions_of_the_gemini_command_line_and_prompts_of_ai_studio_are_read(memory: Memory, tmp_path: Path) -> None:
    cli = {"sessionId": "g-1", "startTime": "2026-03-10T12:00:00Z", "messages": [
        {"id": "1", "timestamp": "2026-03-10T12:00:00Z", "type": "user", "content": [{"text": "Where is the moor?"}]},
        {"id": "2", "timestamp": "2026-03-10T12:00:02Z", "type": "gemini", "content": "North of here.", "model": "g"},
        {"id": "3", "type": "info", "content": "updated"}]}  # fmt: skip
    studio = {"runSettings": {}, "chunkedPrompt": {"chunks": [
        {"role": "user", "text": "Name a moth"}, {"role": "model", "text": "(thinking)", "isThought": True},
        {"role": "model", "text": "Atlas 🦋"}]}}  # fmt: skip
    folder = shapes.write_tree(tmp_path / "g", {"session-1.json": cli, "Moths.json": studio})
    rows: list[Row] = []
    totals = take(memory, "gemini", folder, told=rows.append)
    assert (totals.conversations, totals.messages, totals.left_out, totals.broken) == (2, 4, 2, 0)
    assert texts(memory, "gemini-g-1") == ["user: Where is the moor?\n\nassistant: North of here."]
    assert texts(memory, rows[0].name) == ["user: Name a moth\n\nassistant: Atlas 🦋"]


def test_missing_times_follow_the_message_before_or_the_conversation(memory: Memory, tmp_path: Path) -> None:
    node = shapes.node
    chat = shapes.chatgpt("c-9", node("r", None), node("u", "r", "user", "Early?"),
                          node("a", "u", "assistant", "Yes.", shapes.MARCH), node("v", "a", "user", "Late?", None),
                          node("b", "v", "assistant", "No.", None))  # fmt: skip
    bare = shapes.chatgpt("c-8", node("u", None, "user", "Ever?"), node("a", "u", "assistant", "Once."))
    rows: list[Row] = []
    take(memory, "chatgpt", shapes.write(tmp_path / "conversations.json", [chat, bare]), told=rows.append)
    assert {(row.since, row.until) for row in rows} == {(1_773_144_000_000, 1_773_144_000_000)}


def test_a_message_over_the_limit_comes_in_as_several(tmp_path: Path) -> None:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config")}
    home = tmp_path / "home"
    home.mkdir()
    (home / "mnemic.toml").write_text("[capture]\nmax_chars = 40\n")
    chat = {"messages": [{"role": "user", "content": "leek " * 20}, {"role": "assistant", "content": "Many leeks."}]}
    with Memory.open(home, environ=environ) as memory:
        totals = take(memory, "openai-jsonl", shapes.write_lines(tmp_path / "a.jsonl", [chat]))
        assert (totals.messages, totals.stored, totals.broken) == (4, 1, 0)


def test_a_changed_note_is_revised_and_an_erased_one_stays_away(memory: Memory, tmp_path: Path) -> None:
    folder = shapes.write_tree(tmp_path / "notes", {"a.md": "# Tea\n\nAt four.", "b.md": "# Secret\n\nBehind the clock."})
    take(memory, "markdown", folder)
    path = memory.path_of("markdown:notes/b.md")
    assert path is not None
    memory.forget(path, erase=True)
    (folder / "a.md").write_text("# Tea\n\nAt five.")
    again = take(memory, "markdown", folder)
    assert (again.stored, again.rejected) == (1, 1)
    assert memory.show(memory.path_of("markdown:notes/a.md") or "")["text"] == "# Tea\n\nAt five."


def test_secrets_in_an_import_are_replaced_and_counted(memory: Memory, tmp_path: Path) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
    chat = {"messages": [{"role": "user", "content": f"My key is {key}"}, {"role": "assistant", "content": "Noted."}]}
    assert take(memory, "openai-jsonl", shapes.write_lines(tmp_path / "a.jsonl", [chat])).redacted == 1


KILLED = """
import os, sys
from pathlib import Path
from mnemic import Memory
from mnemic.interfaces.importers import take
from mnemic.ledger import Ledger
home, config, file, seam, count = sys.argv[1:]
left = int(count)
def passed(*given, **more):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), 9)
def before(act):
    return lambda *given, **more: (passed(), act(*given, **more))[1]
def after(act):
    def done(*given, **more):
        found = act(*given, **more)
        passed()
        return found
    return done
if seam == "entry":  # inside of a transaction
    Ledger.record = after(Ledger.record)
if seam == "commit":  # a transaction is written, its head outside the store is not
    Ledger.committed = before(Ledger.committed)
with Memory.open(home, environ={"MNEMIC_CONFIG": config}) as memory:
    if seam == "vectors":
        memory.index = before(memory.index)
    take(memory, "chatgpt", Path(file), told=passed if seam == "told" else lambda row: None)
"""


@pytest.mark.parametrize(
    ("seam", "count", "kept"),
    [("told", 1, 45), ("told", 2, 90), ("entry", 1, 0), ("entry", 40, 20), ("entry", 50, 45), ("commit", 1, 20),
     ("commit", 4, 65), ("vectors", 1, 90)],
)  # fmt: skip
def test_an_import_that_was_killed_anywhere_is_whole_after_the_next(tmp_path: Path, seam: str, count: int, kept: int) -> None:
    node, chats = shapes.node, list[Any]()
    for number in range(2):
        nodes, last = list[Any](), None
        for place in range(45):
            said = [node(f"u{place}", last, "user", f"Question {number}.{place}?", shapes.MARCH + place),
                    node(f"a{place}", f"u{place}", "assistant", f"Answer {number}.{place}.", shapes.MARCH + place)]  # fmt: skip
            nodes, last = [*nodes, *said], f"a{place}"
        chats.append(shapes.chatgpt(f"c-{number}", *nodes))
    file = shapes.write(tmp_path / "conversations.json", chats)
    words = [sys.executable, "-c", KILLED, str(tmp_path / "home"), str(tmp_path / "config"), str(file), seam, str(count)]
    dead = subprocess.run(words, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, timeout=60)
    assert dead.returncode == -9, dead.stderr
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as memory:
        assert memory.status()["documents"] == kept
        totals = take(memory, "chatgpt", file)
        assert (totals.stored, totals.duplicate) == (90 - kept, kept)
        assert memory.status()["pending"] == 0
        assert memory.verify().ok
        assert memory.recall("Question 1.7?").hits


def test_progress_ends_at_the_whole(memory: Memory, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    file = shapes.write(tmp_path / "conversations.json", [shapes.trains()])
    take(memory, "chatgpt", file, progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == (file.stat().st_size, file.stat().st_size)


@pytest.mark.parametrize("value", [{}, [], [1, None, "x"], [[]], [{"mapping": 3}], [{"mapping": {"a": 7}}],
                                   [{"mapping": {"a": {"message": {"author": 1, "content": [1]}}}, "id": 1}]])  # fmt: skip
@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"markdown", "obsidian"}))
def test_nonsense_is_reported_and_never_raises(format: str, value: Any, memory: Memory, tmp_path: Path) -> None:
    totals = take(memory, format, shapes.write(tmp_path / "conversations.json", value))
    assert totals.stored == 0


def test_a_file_that_was_named_is_read_whatever_its_ending_and_an_empty_folder_is_told(memory: Memory, tmp_path: Path) -> None:
    assert take(memory, "openai-jsonl", shapes.write_lines(tmp_path / "chats.txt", OPENAI)).stored == 2
    (tmp_path / "empty").mkdir()
    for format in FORMATS:
        totals = take(memory, format, tmp_path / "empty")
        assert (totals.stored, totals.broken, totals.skipped[0].where) == (0, 1, "empty")


def test_an_unknown_format_and_a_missing_file_say_what_to_do(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="format 'chatgtp' is unknown: use mnemic, chatgpt, claude"):
        take(memory, "chatgtp", tmp_path)
    with pytest.raises(BadInput, match="is not there: give a file, a folder or a zip archive"):
        take(memory, "chatgpt", tmp_path / "nothing.json")
