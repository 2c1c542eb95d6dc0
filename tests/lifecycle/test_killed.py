from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "how", [["9"], ["--again", "9"], ["--timed", "19"]], ids=["from hot", "from warm", "from outside at any time"]
)
def test_a_rotation_that_is_killed_leaves_everything_in_one_place_and_can_be_repeated(how: list[str]) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "tests.lifecycle.killed", *how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths})
    report = json.loads(done.stdout)
    assert report["wrong"] == {}
    kills = report["kills"]
    assert kills["time"] >= 1 if "--timed" in how else kills["write"] > 10 and kills["sync"] >= 1
