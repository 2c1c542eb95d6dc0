"""Transcripts of both hosts: whose words are kept, and that reading goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.interfaces.hooks.transcript import read, turns_of

AT = "2026-11-30T10:00:00.500Z"
MS = 1_796_032_800_500


def claude(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, "timestamp": AT, "uuid": "u", **more}


def codex(role: str, *parts: dict[str, str], **more: Any) -> dict[str, Any]:
    payload = {"type": "message", "role": role, "content": list(parts), **more}
    return {"timestamp": AT, "type": "response_item", "payload": payload}


def words(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in turns_of(row)]


def part(text: str, kind: str = "input_text") -> dict[str, str]:
    return {"type": kind, "text": text}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (claude("user", "I moved."), [("user", "I moved.")]),
        (claude("user", [part("I moved.", "text"), part("To Porto.", "text")]), [("user", "I moved.\n\nTo Porto.")]),
        (claude("assistant", [{"type": "thinking", "thinking": "hm"}, part("Welcome!", "text"),
                              {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]), [("assistant", "Welcome!")]),
        (claude("user", [{"type": "tool_result", "tool_use_id": "x", "content": "secret output"}]), []),
        (claude("user", "a side chain", isSidechain=True), []),
        (claude("user", "a caveat", isMeta=True), []),
        (claude("user", "a summary", isCompactSummary=True), []),
        (claude("assistant", "API Error", isApiErrorMessage=True), []),
        (claude("user", "Hi <system-reminder>be\nbrief</system-reminder>there"), [("user", "Hi there")]),
        (claude("user", "<command-name>/clear</command-name>\n<command-args></command-args>"), []),
        (claude("user", "<local-command-stdout>ok</local-command-stdout>"), []),
        ({"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["<memory-recall"]}}, []),
        ({"type": "system", "content": "x"}, []),
        (codex("user", part("I moved.")), [("user", "I moved.")]),
        (codex("assistant", part("Welcome!", "output_text")), [("assistant", "Welcome!")]),
        (codex("developer", part("rules")), []),
        (codex("user", part("# AGENTS.md instructions for /x\n\nbe brief")), []),
        (codex("user", part("<environment_context>\n<cwd>/x</cwd>\n</environment_context>")), []),
        (codex("user", part("from a hook"), part("I moved."), content_item_kinds=["hooks.context", "user.text"]),
         [("user", "I moved.")]),
        ({"type": "response_item", "payload": {"type": "function_call_output", "output": "secret"}}, []),
        ({"type": "event_msg", "payload": {"type": "user_message", "message": "I moved."}}, []),
    ],
)  # fmt: skip
def test_only_what_the_user_and_the_assistant_said_is_kept(row: dict[str, Any], said: list[tuple[str, str]]) -> None:
    assert words(row) == said


def test_a_turn_bears_the_moment_of_its_line() -> None:
    (turn,) = turns_of(claude("user", "I moved."))
    assert turn.created_at == MS
    (odd,) = turns_of({**claude("user", "I moved."), "timestamp": "soon"})
    assert odd.created_at is None


def test_reading_goes_on_behind_the_last_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    lines = [json.dumps(claude("user", f"turn {number} ö")) + "\n" for number in range(3)]
    file.write_text(lines[0] + lines[1][:20], "utf-8")
    first = read(file)
    assert [turn.content for turn in first.turns] == ["turn 0 ö"]
    file.write_text("".join(lines), "utf-8")
    second = read(file, first.offset)
    assert [turn.content for turn in second.turns] == ["turn 1 ö", "turn 2 ö"]
    assert read(file, second.offset).turns == ()


def test_a_file_that_became_shorter_is_read_from_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(claude("user", "new")) + "\n", "utf-8")
    assert [turn.content for turn in read(file, 10_000).turns] == ["new"]


def test_lines_that_are_no_good_are_counted_and_cost_no_other(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    bad = ["{torn", "[]", "3", '{"type":"user","message":"x"}', '{"type":"user","message":{"content":3}}', "[" * 100_000]
    good = json.dumps(claude("user", "kept"))
    file.write_bytes("\n".join([*bad, good, ""]).encode() + b"\xff\xfe\n")
    found = read(file)
    assert [turn.content for turn in found.turns] == ["kept"]
    assert (found.skipped, found.more) == (5, False)


def test_a_long_transcript_is_read_step_by_step_in_whole_exchanges(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    rows = [claude(role, f"{role} {number}") for number in range(50) for role in ("user", "assistant", "assistant")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found, offset, steps, more = list[str](), 0, 0, True
    while more:
        step = read(file, offset, most=1_000)
        assert step.turns[0].role == "user"
        found += [turn.content for turn in step.turns]
        offset, more, steps = step.offset, step.more, steps + 1
    assert found == [row["message"]["content"] for row in rows]
    assert steps > 5


def test_one_exchange_above_the_step_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    rows = [claude("user", "go")] + [claude("assistant", f"step {number}") for number in range(100)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found, offset, more = list[str](), 0, True
    while more:
        step = read(file, offset, most=1_000)
        assert step.offset > offset
        found += [turn.content for turn in step.turns]
        offset, more = step.offset, step.more
    assert found == [row["message"]["content"] for row in rows]
