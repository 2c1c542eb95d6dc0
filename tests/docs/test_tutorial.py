"""The tutorial, run as it stands: its commands in one shell and one new home, and what it shows compared with what they print.

The programs of the page on Python are run too.

`…` in what is shown stands for anything within a line, and alone on a line for any lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.docs.reading import DOCS, ROOT, Block, blocks, text_of

TUTORIAL = list(blocks(text_of(DOCS / "tutorial.md")))
MARK = "=== next ==="


def steps() -> Iterator[tuple[str, str]]:
    """Each command that is run, with what is shown below it."""
    for block in TUTORIAL:
        if block.language == "console" and not block.skipped:
            for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                yield command, shown.rstrip("\n")


def files() -> Mapping[str, str]:
    """What the reader is asked to save, by name."""
    return {block.title: block.text for block in TUTORIAL if re.fullmatch(r"[\w-]+\.\w+", block.title)}


def pattern(shown: str) -> str:
    """What may be printed where this is shown."""
    parts = []
    for line in shown.splitlines():
        parts.append(r"(?:.*\n)*?" if line == "…" else r"[^\n]*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n")
    return "".join(parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reader sits: the checkout's examples, and the files that were saved."""
    made = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", made / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files().items():
        (made / name).write_text(text, "utf-8")
    program = made / "bin" / "mnemic"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mnemic "$@"\n')
    program.chmod(0o755)
    return made


def environ(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MNEMIC_")}
    return {**kept, "HOME": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"),
            "MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_NOW": "2026-11-30T12:00:00Z", "COLUMNS": "200",
            "LC_ALL": "C.UTF-8"}  # fmt: skip


@pytest.fixture(scope="module")
def printed(folder: Path) -> list[str]:
    """What each command printed; the run ends at the first one that fails."""
    body = "".join(f"{command} || exit 1\necho '{MARK}'\n" for command, _ in steps())
    done = subprocess.run(["bash"], input=body, capture_output=True, text=True, cwd=folder, env=environ(folder), timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert done.stderr == ""
    return done.stdout.split(f"{MARK}\n")[:-1]


def test_every_command_runs_and_prints_what_is_shown(printed: list[str]) -> None:
    assert len(printed) == len(list(steps())) >= 20
    wrong = [
        f"$ {command}\nshown:\n{shown}\nprinted:\n{out}" for (command, shown), out in zip(steps(), printed, strict=True)
        if shown and not re.fullmatch(pattern(shown), out)
    ]  # fmt: skip
    assert not wrong, "\n\n".join(wrong)


def test_the_tutorial_leaves_nothing_behind_but_what_it_says(folder: Path, printed: list[str]) -> None:
    assert not (folder / "mnemic-tutorial").exists()
    assert (folder / "everything" / "ledger.jsonl").is_file()


def test_the_python_of_the_tutorial_prints_what_is_shown(folder: Path) -> None:
    code = next(block.text for block in TUTORIAL if block.language == "python")
    shown = next(block.text for block in TUTORIAL if block.title == "it prints")
    given = {**environ(folder), "MNEMIC_HOME": str(folder / "python")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=given, timeout=300)
    assert (done.stdout, done.stderr) == (shown, "")


@pytest.mark.parametrize("block", [block for block in blocks(text_of(DOCS / "python.md")) if block.language == "python"])
def test_the_python_of_the_page_on_python_runs(block: Block, folder: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block.text], capture_output=True, text=True, cwd=tmp_path, env=environ(folder), timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.findall(r"print\(.*?\) +# (stored .*)", block.text)
    assert [line for line in shown if line not in done.stdout.splitlines()] == []


def test_what_is_not_run_says_why() -> None:
    run = [block.text for block in TUTORIAL if block.language == "console" and not block.skipped]
    assert [text for text in run if "pip install" in text] == []
    assert sum(block.skipped for block in TUTORIAL) == 3


def test_something_else_than_what_is_shown_would_be_seen() -> None:
    assert re.fullmatch(pattern("stored  …  1 node\n…\nend"), "stored  /a  1 node  \nx\ny\nend\n")
    assert not re.fullmatch(pattern("stored  …  1 node"), "stored  /a  2 nodes\n")
    assert not re.fullmatch(pattern("one\ntwo"), "one\n")


def test_a_block_that_is_not_run_is_told_from_one_that_is() -> None:
    text = "<!-- not run: why -->\n```console\n$ a\n```\n\n```console\n$ b\n```\n"
    assert list(blocks(text)) == [Block("console", "", "$ a\n", True), Block("console", "", "$ b\n", False)]
