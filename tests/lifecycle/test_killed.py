from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("again", [[], ["--again"]], ids=["from hot", "from warm"])
def test_a_rotation_that_is_killed_leaves_everything_in_one_place_and_can_be_repeated(again: list[str]) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "tests.lifecycle.killed", *again, "9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths})
    report = json.loads(done.stdout)
    assert report["wrong"] == {}
    assert report["kills"]["write"] > 10 and report["kills"]["sync"] >= 1
