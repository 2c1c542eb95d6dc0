"""`mnemic worker`: what it says, when it ends, and where there is nothing for it to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mnemic import Memory
from mnemic.errors import BadInput
from mnemic.interfaces.cli.app import app
from tests.servers import Server

pytest.importorskip("procrastinate")

TOML = "[store]\nworker = true\n[decay]\ntimer = false\n[rotate]\ntimer = false\n"
SECRET = "The kiln fires at noon."


@pytest.fixture
def environ(server: Server, tmp_path: Path) -> Iterator[dict[str, str]]:
    files = tmp_path / "files"
    files.mkdir()
    (files / "mnemic.toml").write_text(TOML)
    yield {"MNEMIC_HOME": server.fresh("worked"), "MNEMIC_FILES": str(files), "MNEMIC_CONFIG": str(tmp_path / "config")}
    server.drop("worked")


def test_it_tells_what_it_did_and_nothing_of_what_was_said(environ: dict[str, str]) -> None:
    runner = CliRunner(env=environ)
    for name in ("one", "two"):
        assert runner.invoke(app, ["--namespace", name, "remember", SECRET, "--json"]).exit_code == 0
    done = runner.invoke(app, ["worker", "--once", "--jobs", "1", "--json"])
    assert done.exit_code == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row.pop("ms") > 0 for row in rows] == [True, True]
    assert rows == [
        {"namespace": name, "kind": "index", "outcome": "done", "error": None} for name in ("one", "two")
    ]  # fmt: skip
    assert runner.invoke(app, ["worker", "--once"]).stdout == ""
    runner.invoke(app, ["remember", "The kiln cools at dusk."])
    words = runner.invoke(app, ["worker", "--once"]).stdout.split()
    assert (words[0], words[2:]) == ("index", ["ms", "default"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_until_a_signal_ends_it(environ: dict[str, str], number: signal.Signals) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-m", "mnemic", "worker", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert child.stdout is not None and child.stderr is not None
    assert child.stderr.readline().startswith("mnemic works for postgresql://postgres@/worked")
    with Memory.open(environ=environ) as memory:
        memory.remember(SECRET)
        assert json.loads(child.stdout.readline())["kind"] == "index"
        child.send_signal(number)
        assert child.communicate(timeout=60) == ("", "") and child.returncode == 0
        assert memory.jobs() == {"waiting": 0, "doing": 0, "failed": 0}


def test_a_folder_needs_none(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text(TOML)
    environ = {"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config")}
    runner = CliRunner(env=environ)
    stored = runner.invoke(app, ["remember", SECRET, "--json"])
    assert json.loads(stored.stdout)["status"] == "stored", "of no effect here: nobody would come and embed it"
    refused = runner.invoke(app, ["worker", "--once"])
    assert refused.exit_code == 1 and isinstance(refused.exception, BadInput)
    assert "a home in a folder needs no worker" in str(refused.exception) and "`mnemic tend`" in str(refused.exception)
