from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.crash import Tally, check, opened, text_of


def test_nothing_acknowledged_is_lost_or_half_there_after_a_kill() -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "bench.crash", "--rounds", "12", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": paths})
    report = json.loads(done.stdout)
    assert {name: report[name] for name in ("lost", "not_found", "half", "errors")} == {
        "lost": [], "not_found": [], "half": [], "errors": [],
    }  # fmt: skip
    assert (report["ok"], report["rounds"], report["killed"], done.returncode) == (True, 12, 24, 0)
    assert report["acknowledged"] > 0


def test_a_lost_and_a_half_text_are_told(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember(text_of("w1x1x1a"), title="whole")
        memory.remember(text_of("w1x1x2a")[:-5], title="half")
        gone = memory.remember(text_of("w1x1x3a"), title="gone")
        assert gone.seq is not None
        memory.undo(gone.seq)
    tally = Tally()
    check(tmp_path, {"w1x1x1a", "w1x1x2a", "w1x1x3a"}, {"w1x1x1a"}, tally)
    assert (tally.lost, len(tally.half), tally.not_found, tally.errors) == (["w1x1x3a"], 1, [], [])
    assert not tally.clean
