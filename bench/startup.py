"""What a cold start costs: `python -m bench.startup`.

    python -m bench.startup [--nodes 10000] [--runs 15] [--json]

Runs each command in a process of its own and takes the median, then sets it against `python -c pass` on the same
machine in the same minute: a ratio travels from one machine to another, seconds do not. Recall uses the hashing
embedder, on a home of one note and on one of so many message nodes (0 leaves it out), made of the sentences of this
project's own documents.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.scale import fill, sentences
from mnemic import Memory

ROOT = Path(__file__).parent.parent
GOALS = {"mnemic --version": 0.15, "recall, 1 note": 0.5}
"""Seconds, on the machine the project is measured on."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000, help="message nodes of the larger home")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.nodes, options.runs)
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(folder: Path, nodes: int, runs: int) -> dict[str, Any]:
    """Median seconds of every command, by the clock and of the processor, and the ratio to an empty Python by the clock."""
    python = [sys.executable]
    commands = {
        "python -c pass": [*python, "-c", "pass"],
        "import mnemic": [*python, "-c", "import mnemic"],
        "from mnemic import Memory": [*python, "-c", "from mnemic import Memory"],
        "mnemic --version": [*python, "-m", "mnemic", "--version"],
    }
    environ = {"MNEMIC_CONFIG": str(folder / "config")}
    for name, size in (("1 note", 0), (f"{nodes:,} nodes", nodes)):
        if size or name == "1 note":
            home = folder / str(size)
            with Memory.open(home, environ=environ) as memory:
                memory.remember("Ada prefers the window seat.")
                if size:
                    fill(memory, sentences(), size, random.Random(1))
            asked = [*python, "-m", "mnemic", "--home", str(home), "recall", "Where does Ada sit: window seat?", "--json"]
            commands[f"recall, {name}"] = asked
    taken = timed(commands, {**os.environ, **environ}, runs)
    floor = taken["python -c pass"][0]
    return {
        name: {"seconds": round(wall, 3), "cpu": round(cpu, 3), "ratio": round(wall / floor, 1), "goal": GOALS.get(name)}
        for name, (wall, cpu) in taken.items()
    }


def timed(commands: dict[str, list[str]], environ: dict[str, str], runs: int) -> dict[str, tuple[float, float]]:
    """Median seconds of each by the clock and of the processor, which a busy machine does not stretch as much.

    All are run once in every round, so that a busy minute falls on all alike.
    """
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, words in commands.items():
            started, spent = time.perf_counter(), _spent()
            subprocess.run(words, env=environ, check=True, capture_output=True)
            if number:  # the first round fills the caches of the disk
                wall[name].append(time.perf_counter() - started)
                cpu[name].append(_spent() - spent)
    return {name: (statistics.median(wall[name]), statistics.median(cpu[name])) for name in commands}


def _spent() -> float:
    """Processor seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def render(report: dict[str, Any]) -> str:
    """A Markdown table."""
    lines = ["| command | seconds | of the processor | × `python -c pass` | goal |", "|---|---|---|---|---|"]
    for name, row in report.items():
        goal = f"≤ {row['goal']} s" if row["goal"] else ""
        lines.append(f"| {name} | {row['seconds']:.3f} | {row['cpu']:.3f} | {row['ratio']:.1f} | {goal} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
