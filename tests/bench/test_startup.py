from __future__ import annotations

import os
import sys

from bench.startup import render, timed


def test_every_command_is_timed_in_a_process_of_its_own() -> None:
    taken = timed({"pass": [sys.executable, "-c", "pass"], "true": ["true"]}, dict(os.environ), 2)
    assert set(taken) == {"pass", "true"}
    assert all(0 < seconds < 30 and 0 <= cpu < 30 for seconds, cpu in taken.values())


def test_a_report_shows_the_ratio_and_the_goal() -> None:
    rows = {
        "python -c pass": {"seconds": 0.011, "cpu": 0.01, "ratio": 1.0, "goal": None},
        "mnemic --version": {"seconds": 0.022, "cpu": 0.02, "ratio": 2.0, "goal": 0.15},
    }
    assert render(rows).splitlines()[2:] == [
        "| python -c pass | 0.011 | 0.010 | 1.0 |  |",
        "| mnemic --version | 0.022 | 0.020 | 2.0 | ≤ 0.15 s |",
    ]
