"""`mnemic hook` as a host runs it: real processes, which answer in JSON, take in what was said, and never fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces.hooks import run as hooks
from mnemic.interfaces.hooks.run import MOST_CHARS, handle
from mnemic.text.frame import parse
from tests.interfaces.mcp.clients import home

SAID = [("user", "I moved to Porto last week."), ("assistant", "Welcome to Porto!")]
Hook = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    def call(*words: str, given: Any = None, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), *words], timeout=60, cwd=tmp_path,
            input=json.dumps(given or {}) if text is None else text, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path),
                 "MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_NOW": "2026-03-10T12:00:00Z",
                 "MNEMIC_HOOK_SECONDS": "50"},
        )  # fmt: skip

    return call


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


def transcript(tmp_path: Path, said: list[tuple[str, str]] = SAID, name: str = "t.jsonl") -> Path:
    file = tmp_path / name
    at = "2026-03-10T11:00:00Z"
    rows = [{"type": role, "message": {"role": role, "content": text}, "timestamp": at} for role, text in said]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def added(memory: Memory, event: str, **given: Any) -> str:
    """The text that an event puts into the conversation, in this process."""
    parts = {"session-start": hooks.started, "prompt": hooks.prompted}
    return parts[event](memory, {"session_id": "s2", **given})


def take(memory: Memory, event: str, **given: Any) -> None:
    hooks.captured(memory, {"session_id": "s1", "cwd": "/x/garden", **given}, event)


def test_recall_arrives_in_the_shape_of_the_host(tmp_path: Path, hook: Hook) -> None:
    with home(tmp_path) as memory:
        memory.remember("Ada prefers the window seat.")
    asked = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "Where does Ada sit, window?"}
    done = hook("hook", "prompt", given=asked)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert set(answer) == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert parse(answer["hookSpecificOutput"]["additionalContext"])[0].text == "Ada prefers the window seat."


def test_the_events_are_known_by_the_names_of_the_hosts_and_cursor_gets_its_own_shape(tmp_path: Path, hook: Hook) -> None:
    start = hook("hook", "SessionStart", given={"session_id": "s1", "hook_event_name": "SessionStart"})
    assert json.loads(start.stdout)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    cursor = hook("hook", "session-start", given={"conversation_id": "c1", "hook_event_name": "sessionStart"})
    assert "session \"c1\"" in json.loads(cursor.stdout)["additional_context"]


def test_what_was_said_is_taken_in_once_and_found_by_the_next_session(tmp_path: Path, hook: Hook) -> None:
    file = transcript(tmp_path)
    stop = {"session_id": "s1", "transcript_path": str(file), "cwd": "/x/garden"}
    for event in ("stop", "stop", "pre-compact", "session-end"):
        assert hook("hook", event, given=stop).stdout == "{}\n"
    with home(tmp_path) as memory:
        page = memory.show("/sessions/s1/1", touch=False)
        assert page["text"] == "user: I moved to Porto last week.\n\nassistant: Welcome to Porto!"
        assert (page["context"], page["origin"]) == ("garden", "user")
        assert [row["path"] for row in memory.tree("/sessions/s1", depth=1)] == ["/sessions/s1/1"]
        assert memory.status()["pending"] == 0
    answer = hook("hook", "prompt", given={"session_id": "s2", "prompt": "Where did I move to?"})
    assert "Porto" in json.loads(answer.stdout)["hookSpecificOutput"]["additionalContext"]


def test_the_session_goes_on_where_the_cursor_stands(tmp_path: Path, memory: Memory) -> None:
    file = transcript(tmp_path)
    take(memory, "stop", transcript_path=str(file))
    transcript(tmp_path, [*SAID, ("user", "My new street is Rua das Flores."), ("assistant", "Noted.")])
    take(memory, "stop", transcript_path=str(file))
    rows = memory.tree("/sessions/s1", depth=1)
    assert [row["path"] for row in rows] == ["/sessions/s1/1", "/sessions/s1/2"]


def test_a_resumed_session_with_another_file_adds_only_what_is_new(tmp_path: Path, memory: Memory) -> None:
    take(memory, "stop", transcript_path=str(transcript(tmp_path)))
    copied = transcript(tmp_path, [*SAID, ("user", "And my street is Rua das Flores."), ("assistant", "Noted.")], "u.jsonl")
    take(memory, "stop", transcript_path=str(copied))
    assert [row["path"] for row in memory.tree("/sessions/s1", depth=1)] == ["/sessions/s1/1", "/sessions/s1/2"]


def test_what_the_model_still_has_before_it_is_not_recalled_but_what_was_compacted_is(tmp_path: Path, memory: Memory) -> None:
    file = str(transcript(tmp_path))
    take(memory, "stop", transcript_path=file)
    assert added(memory, "prompt", session_id="s1", prompt="Where did I move to, Porto?") == ""
    assert "Porto" in added(memory, "prompt", session_id="s2", prompt="Where did I move to, Porto?")
    take(memory, "pre-compact", transcript_path=file)
    assert "Porto" in added(memory, "prompt", session_id="s1", prompt="Where did I move to, Porto?")


def test_recalled_text_in_a_transcript_is_not_taken_in_again(tmp_path: Path, memory: Memory) -> None:
    memory.remember("Ada prefers the window seat.")
    frame = added(memory, "prompt", prompt="Where does Ada sit, window?")
    assert "window seat" in frame
    said = [("user", f"{frame}\n\nThanks for that."), ("assistant", "Sure.")]
    take(memory, "stop", transcript_path=str(transcript(tmp_path, said)))
    text = memory.show("/sessions/s1/1", touch=False)["text"]
    assert "Thanks for that." in text and "window seat" not in text


def test_what_goes_into_a_prompt_stays_below_the_hosts_cut(memory: Memory) -> None:
    for number in range(40):
        text = f"The otter of stone {number} rose. " + f"<&> otter fur {number} " * 60
        memory.remember(text, title=f"Log {number}", index=False)
        memory.facts.add("background", f"gauge_{number}", f"station {number} " * 20)
    assert 0 < len(added(memory, "prompt", prompt="the otter of stone 7, otter fur")) <= MOST_CHARS
    started = added(memory, "session-start")
    assert "gauge_" in started
    assert len(started) <= MOST_CHARS


def test_a_session_begins_with_what_was_said_today(tmp_path: Path, memory: Memory) -> None:
    take(memory, "stop", transcript_path=str(transcript(tmp_path)))
    assert "I moved to Porto last week." in added(memory, "session-start")


def test_a_session_begins_with_the_profile_and_its_own_name(memory: Memory) -> None:
    memory.facts.add("identity", "home_city", "Porto")
    text = added(memory, "session-start", session_id="s9")
    assert "home_city: Porto" in text
    assert text.endswith('mnemic keeps this conversation as session "s9": name it in diary entries.')


ODD = ["", "not json", "[]", '{"session_id": 3, "transcript_path": 7}', '{"transcript_path": "/nowhere"}']


@pytest.mark.parametrize("text", ODD)
def test_whatever_comes_in_a_hook_answers_and_ends_well(hook: Hook, text: str) -> None:
    for event in ("prompt", "stop"):
        done = hook("hook", event, text=text)
        assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


def test_a_failure_is_silent_and_doctor_tells_it_until_it_works_again(tmp_path: Path, hook: Hook) -> None:
    gone = {"session_id": "s1", "transcript_path": str(tmp_path / "t.jsonl")}
    for _ in range(2):
        done = hook("hook", "stop", given=gone)
        assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")
    (note,) = [one for one in json.loads(hook("doctor", "--json").stdout)["notes"] if "hook" in one]
    assert note.startswith("the hook 'stop' failed 2 times, last at ") and "t.jsonl" in note
    transcript(tmp_path)
    hook("hook", "stop", given=gone)
    assert not [one for one in json.loads(hook("doctor", "--json").stdout)["notes"] if "hook" in one]


@pytest.mark.parametrize(
    ("text", "why"), [('{"prompt": "hel', "is no JSON: Unterminated string"), ("[]", "is no JSON object: list")]
)
def test_what_a_host_said_wrongly_is_told_by_the_doctor(hook: Hook, text: str, why: str) -> None:
    done = hook("hook", "prompt", text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")
    (note,) = [one for one in json.loads(hook("doctor", "--json").stdout)["notes"] if "hook" in one]
    assert note.startswith("the hook 'prompt' failed 1 time, last at ") and why in note


def test_a_home_that_does_not_open_stops_no_turn(tmp_path: Path, hook: Hook) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text("nonsense = 1\n", "utf-8")
    done = hook("hook", "prompt", given={"prompt": "hello"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


def test_a_home_that_is_nobodys_stops_no_turn_and_is_said(hook: Hook) -> None:
    done = hook("--home", "~nobody-of-this-name/x", "hook", "prompt", given={"prompt": "hello"})
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert done.stderr == (
        "mnemic: home '~nobody-of-this-name/x' names nobody who is known here: set MNEMIC_HOME, or HOME\n"
    )


def test_an_event_there_is_not_is_an_error_that_does_not_block(hook: Hook) -> None:
    done = hook("hook", "lunch")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mnemic: hook 'lunch' is unknown: use session-start, prompt, stop, pre-compact, session-end\n"


def test_work_that_takes_too_long_is_given_up() -> None:
    forever = threading.Event()
    assert hooks._within(0.01, time.monotonic(), forever.wait) == "it took longer than 0.01 seconds"
    forever.set()


def test_a_prompt_without_words_opens_no_home(tmp_path: Path) -> None:
    assert handle("prompt", {"prompt": "  "}, str(tmp_path / "home")) == {}
    assert handle("prompt", {"prompt": 5}, str(tmp_path / "home")) == {}
    assert not (tmp_path / "home").exists()


def test_a_hook_does_not_load_the_command_line_framework(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['mnemic', '--namespace', 'x', 'hook', 'prompt']; import os; os._exit = lambda code: None;"
        "from mnemic.interfaces.cli import main; main();"
        "print([name for name in ('typer', 'rich', 'mcp', 'pydantic', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], input="{}", capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)})  # fmt: skip
    assert done.stdout == "{}\n[]\n"
