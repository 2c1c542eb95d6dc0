from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.errors import StoreError
from mnemic.memory import Memory
from mnemic.vault.watch import AGAIN, BURSTS, IDLE, POLL, QUIET, Observation, Watch, concerns, observed
from tests.vault.homes import note, opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path, git="off") as memory:
        yield memory


class Script:
    """Stands for the system and the clock: each wait does the next act instead, and the last one stops the watch."""

    def __init__(self, memory: Memory, *acts: Callable[[], object]) -> None:
        self.acts = list(acts)
        self.waits: list[float] = []
        self.told: list[dict[str, Any]] = []
        self.folders: list[Path] = []
        self.changed: Callable[[], None] = lambda: None
        self.living = True
        self.watch = Watch(memory.vault, self.told.append, observe=self.observe, wait=self.wait)

    def observe(self, root: Path, changed: Callable[[], None]) -> Observation:
        self.folders.append(root)
        self.changed, self.living = changed, True
        return self

    def alive(self) -> bool:
        return self.living

    def close(self) -> None:
        self.changed = lambda: None

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        if self.acts:
            self.acts.pop(0)()
        else:
            self.watch.stop()
        return event.is_set()

    def run(self) -> Script:
        self.watch.run()
        return self


def test_what_is_saved_while_watching_is_taken_in_and_told(memory: Memory) -> None:
    note(memory, "a/Old.md", "old")

    def save() -> None:
        note(memory, "a/New.md", "the heron")
        script.changed()

    script = Script(memory, save, lambda: None)
    script.run()
    assert [report["new"] for report in script.told] == [["a/Old.md"], ["a/New.md"]]
    assert memory.show("/vault/a/new")["text"] == "the heron"
    assert script.waits[:2] == [IDLE, QUIET]


def test_a_burst_of_changes_is_one_sync_and_an_endless_one_is_looked_at_anyway(memory: Memory) -> None:
    syncs = []
    real = memory.vault.sync
    memory.vault.sync = lambda **how: syncs.append(1) or real(**how)  # type: ignore[method-assign,func-returns-value]
    memory.vault.root.mkdir()

    def more() -> None:
        script.changed()

    script = Script(memory, more, more, more, lambda: None)
    script.run()
    assert len(syncs) == 2 and script.waits == [IDLE, QUIET, QUIET, QUIET, IDLE]
    syncs.clear()
    script = Script(memory, *[more] * (BURSTS + 1))
    script.run()
    assert len(syncs) == 2


def test_nothing_is_told_while_nothing_happens_and_a_state_is_told_once(memory: Memory) -> None:
    memory.vault.root.mkdir()
    assert Script(memory, lambda: None, lambda: None).run().told == []
    os.mkfifo(memory.vault.root / "pipe.md")
    told = Script(memory, lambda: None, lambda: None).run().told
    assert [report["skipped"] for report in told] == [{"pipe.md": "it is no regular file"}]


def test_a_folder_that_vanishes_forgets_nothing_and_is_watched_again_when_it_is_back(memory: Memory) -> None:
    note(memory, "a/Note.md", "the heron")
    aside = memory.vault.root.with_name("aside")

    def vanish() -> None:
        os.rename(memory.vault.root, aside)
        script.living = False

    script = Script(memory, vanish, lambda: None, lambda: os.rename(aside, memory.vault.root), lambda: None)
    script.run()
    assert len(script.folders) == 2 and POLL in script.waits
    assert [report["new"] for report in script.told if report["new"]] == [["a/Note.md"]]
    assert not any(report["deleted"] for report in script.told) and "." in script.told[1]["skipped"]
    assert [hit.path for hit in memory.recall("heron").hits] == ["/vault/a/note"]


def test_another_folder_in_the_place_of_the_watched_one_is_watched_instead(memory: Memory) -> None:
    note(memory, "a/Note.md", "the heron")

    def swap() -> None:
        os.rename(memory.vault.root, memory.vault.root.with_name("aside"))
        shutil.copytree(memory.vault.root.with_name("aside"), memory.vault.root)

    assert len(Script(memory, swap, lambda: None).run().folders) == 2


def test_a_note_that_was_emptied_is_looked_at_again_soon_and_only_then_counts_as_deleted(memory: Memory) -> None:
    file = note(memory, "a/Note.md", "the heron")
    note(memory, "a/Other.md", "other")

    def empty() -> None:
        file.write_text("")
        script.changed()

    script = Script(memory, empty, lambda: None, lambda: None)
    script.run()
    assert AGAIN in script.waits and script.told[1]["waiting"] == ["a/Note.md"] and script.told[2]["deleted"] == ["a/Note.md"]


def test_a_sync_that_fails_is_told_once_and_tried_again(memory: Memory) -> None:
    note(memory, "a/Note.md", "the heron")
    real, failures = memory.vault.sync, [StoreError("the disk is away")] * 2

    def sync(**how: bool) -> Any:
        if failures:
            raise failures.pop()
        return real(**how)

    memory.vault.sync = sync  # type: ignore[method-assign]
    script = Script(memory, lambda: None, lambda: None).run()
    assert script.told[0] == {"error": "the disk is away"} and script.told[1]["new"] == ["a/Note.md"] and len(script.told) == 2
    assert script.waits[:2] == [AGAIN, AGAIN]


def test_without_events_the_folder_is_looked_at_by_the_clock(memory: Memory) -> None:
    def none(root: Path, changed: Callable[[], None]) -> Observation:
        raise OSError(28, "no more watches")

    note(memory, "a/Note.md", "the heron")
    script = Script(memory, lambda: note(memory, "a/New.md", "new") and None)
    script.watch._observe = none
    script.run()
    assert script.waits == [POLL, POLL] and script.told[1]["new"] == ["a/New.md"]


@pytest.mark.parametrize(
    ("kind", "folder", "path", "expected"),
    [("modified", False, "a/Note.md", True), ("moved", True, "a", True), ("deleted", True, "", True),
     ("opened", False, "a.md", False), ("closed_no_write", False, "a.md", False), ("modified", True, "a", False),
     ("created", False, ".git/index", False), ("created", False, "a/.obsidian/x.json", False),
     ("created", False, "a/.x.mnemic-part", False)],
)  # fmt: skip
def test_only_what_may_have_changed_a_note_wakes_the_watch(kind: str, folder: bool, path: str, expected: bool) -> None:
    assert concerns(Path("/v"), kind, folder, (f"/v/{path}".rstrip("/"), "")) == expected


def test_a_file_that_an_editor_moves_into_place_wakes_the_watch() -> None:
    assert concerns(Path("/v"), "moved", False, ("/v/.swap", "/v/a.md"))


def test_the_system_tells_a_change_and_follows_no_link_out_of_the_folder(tmp_path: Path) -> None:
    pytest.importorskip("watchdog")
    root, outside, changed = tmp_path / "v", tmp_path / "outside", threading.Event()
    for folder in (root / "a", outside):
        folder.mkdir(parents=True)
    os.symlink(outside, root / "link")
    observation = observed(root, changed.set)
    try:
        (outside / "x.md").write_text("x")
        assert not changed.wait(0.2)
        (root / "a" / "y.md").write_text("y")
        assert changed.wait(10) and observation.alive()
    finally:
        observation.close()
    assert not observation.alive()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_tells_what_it_took_in_and_ends_cleanly_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "home" / "vault").mkdir(parents=True)
    (tmp_path / "home" / "vault" / "One.md").write_text("one")
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), "vault", "sync", "--watch", "--json"]
    environ = {**os.environ, "PYTHONPATH": paths, "MNEMIC_CONFIG": str(tmp_path / "config")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["new"] == ["One.md"]
        process.send_signal(number)
        assert (process.wait(60), process.stdout.read(), process.stderr.read()) == (0, "", "")
