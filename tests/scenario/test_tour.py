"""Two promises about everything mnemic does: it opens no file of a live home itself, and it needs no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOUR = str(Path(__file__).with_name("tour.py"))


def tour(folder: Path, *words: str) -> dict[str, Any]:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, TOUR, str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return tour(tmp_path_factory.mktemp("tour"))


def test_no_code_of_ours_opens_a_file_that_the_engine_holds(seen: dict[str, Any]) -> None:
    assert seen["opened"] == []


def test_everything_runs_with_the_network_closed(seen: dict[str, Any]) -> None:
    assert seen["called"] == []
    assert len(seen["codes"]) == 18
    assert set(seen["codes"].values()) == {0}


def test_breaking_either_promise_would_be_seen(tmp_path: Path) -> None:
    found = tour(tmp_path, "probe")
    assert found["opened"] == [str(tmp_path / "home" / "memory.db")]
    assert found["called"] == ["socket.getaddrinfo"]
