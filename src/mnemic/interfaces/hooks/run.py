"""One event of a session, within its time.

The work is done in a thread of its own; when its time is up, or it fails, the host gets an empty answer and the reason
goes where `mnemic doctor` finds it. A write that is cut off is one that a killed process leaves: whole or not there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic import failures
from mnemic.environment import home_folder
from mnemic.errors import BadInput

if TYPE_CHECKING:
    from mnemic.memory import Memory

Given = Mapping[str, Any]
MOST_CHARS = 9_000
"""Of what goes into a prompt: Claude Code puts what is above 10,000 into a file, of which the model sees a corner."""
QUERY_CHARS = 4_000
SESSION_CHARS = 200
HOST_NAMES = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}


def settled(
    event: str, home: str | None, namespace: str | None, given: bytes | None, said: bytes | None, seconds: float, end: float
) -> bytes:
    """The answer to an event that may take some seconds, until the time `end` of the monotonic clock: what the service `said`,
    else by our own work on what was `given`. Where it failed, it is empty, and why is noted."""
    from mnemic.clock import SystemClock

    answer: dict[str, Any] = {}

    def work() -> None:
        if given is None:
            raise TimeoutError("its input did not come to an end")
        answer.update(handle(event, _read(given), home, namespace))

    # Resolved before the thread starts: when its time is up, nothing may have to be asked any more.
    try:
        folder = Path(home_folder(os.environ, home))
    except BadInput as error:  # there is no home to note it in
        sys.stderr.write(f"mnemic: {error}\n")
        return b"{}"
    problem = _within(seconds, end, work) if said is None else None
    if problem is None:
        failures.clear(folder, event)
    else:
        failures.note(folder, event, problem, SystemClock().now().isoformat(timespec="seconds"))
    return said if said is not None else json.dumps({} if problem else answer).encode()


def _read(given: bytes) -> Given:
    try:
        row = json.loads(given or b"{}")
    except ValueError as error:
        raise BadInput(f"what the host said on standard input is no JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadInput(f"what the host said on standard input is no JSON object: {type(row).__name__}")
    return row


def _within(seconds: float, end: float, act: Callable[[], object]) -> str | None:
    """Do it in so many seconds, which are over at `end`; why it was not done, if so."""
    problem: list[str] = [f"it took longer than {seconds:g} seconds"]

    def run() -> None:
        try:
            act()
            problem.clear()
        except BaseException as error:
            problem[:] = [str(error) or type(error).__name__]

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(max(0.0, end - time.monotonic()))
    return problem[0] if problem else None


def handle(event: str, given: Given, home: str | None = None, namespace: str | None = None) -> dict[str, Any]:
    """What a host is answered. Raises what memory raises; opens nothing where there is nothing to do."""
    if event == "prompt" and not _prompt(given):
        return {}
    from mnemic.memory import Memory

    with Memory.open(home, namespace=namespace) as memory:
        return answer(memory, event, given)


def answer(memory: Memory, event: str, given: Given) -> dict[str, Any]:
    """What a host is answered, of an open home."""
    if event == "session-start":
        return _added(event, given, started(memory, given))
    if event == "prompt":
        return _added(event, given, prompted(memory, given)) if _prompt(given) else {}
    captured(memory, given, event)
    return {}


def _prompt(given: Given) -> str:
    """What the user said; empty where that is no text."""
    said = given.get("prompt")
    return said.strip() if isinstance(said, str) else ""


def _added(event: str, given: Given, text: str) -> dict[str, Any]:
    if not text:
        return {}
    if str(given.get("hook_event_name", ""))[:1].islower():  # Cursor's own shape
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": HOST_NAMES[event], "additionalContext": text}}


def started(memory: Memory, given: Given) -> str:
    """What a session begins with: the state, the profile, the latest daily notes, and by which name memory keeps it."""
    session = session_of(given)
    name = f"mnemic keeps this conversation as session {json.dumps(session)}: name it in diary entries." if session else ""
    known = memory.session_start(max_chars=MOST_CHARS - len(name) - 1).frame
    return "\n".join(part for part in (known, name) if part)


def prompted(memory: Memory, given: Given) -> str:
    """What memory holds on a prompt, but for what this session's model still has before it."""
    from mnemic.models.answer import Budget
    from mnemic.text import frame as frames

    settings = memory.settings.recall
    wider = Budget(nodes=2 * settings.nodes, chars=2 * settings.chars, node_chars=settings.node_chars)
    found = memory.recall(_prompt(given)[:QUERY_CHARS], budget=wider)
    session = session_of(given)
    gone = int(memory.bookmark(f"session:{session}").get("compacted", 0)) if session else 0
    hits = [hit for hit in found.hits if hit.session != session or hit.created_at < gone] if session else list(found.hits)
    items = [frames.recalled(hit) for hit in hits[: settings.nodes]]
    return frames.render(items, memory.ids.token(8), max_chars=MOST_CHARS) if items else ""


def captured(memory: Memory, given: Given, event: str) -> None:
    """Take in what was said since the last time."""
    from mnemic.clock import to_ms
    from mnemic.interfaces.hooks.transcript import read

    session, path = session_of(given), given.get("transcript_path")
    if not session or not isinstance(path, str) or not path:
        return
    name, file = f"session:{session}", Path(path).expanduser()
    place = memory.bookmark(name)
    kept = {"file": str(file), "offset": 0, "compacted": 0, **place}
    if kept["file"] != str(file):
        kept |= {"file": str(file), "offset": 0}
    more = True
    while more:  # each step is kept, so that one that is cut off by the time goes on from there
        new = read(file, kept["offset"])
        memory.capture(new.turns, session=session, context=_project(given), index=False)
        kept["offset"], more = new.offset, new.more
        if kept != place:
            memory.set_bookmark(name, kept)
            place = dict(kept)
    if event == "pre-compact":
        memory.set_bookmark(name, {**kept, "compacted": to_ms(memory.clock.now())})
    if event == "session-end":
        memory.index()


def session_of(given: Given) -> str:
    """The name of the session, as the host names it; empty where it does not."""
    return " ".join(str(given.get("session_id") or given.get("conversation_id") or "").split())[:SESSION_CHARS]


def _project(given: Given) -> str:
    return Path(str(given.get("cwd") or "")).name
