from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.vault.traced import killed_at


def _may_trace() -> bool:
    try:
        return killed_at(1, lambda: lambda: os.mkdir("/nowhere/at/all"))
    except PermissionError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ptrace(2) as Linux has it")
def test_a_write_that_is_killed_at_any_system_call_is_old_or_new_and_the_next_sync_heals_it() -> None:
    if not _may_trace():
        pytest.skip("no process may be traced here")
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "tests.vault.killed", "37"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths})
    report = json.loads(done.stdout)
    assert report["wrong"] == {}
    assert set(report["kills"]) == {"new", "revise", "rename", "retire", "sync", "first"} and min(report["kills"].values()) > 2
    assert 0 < report["new"]["new"] < report["kills"]["new"] and 0 < report["new"]["rename"] < report["kills"]["rename"]
