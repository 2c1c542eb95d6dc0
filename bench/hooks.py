"""What a hook of a coding agent costs a turn: `python -m bench.hooks [--nodes 10000] [--runs 20] [--serving] [--today] [--json]`.

Every event is run as a host runs it, by the command that `mnemic install` writes, in a process of its own, on a home of so many
message nodes that came in some months ago (`--today`: today, all of which a session's start then sums up): without a service, or
with `--serving` while `mnemic serve` runs. Shown are median and 95th percentile by the
clock, the median of the processor (of the hook's own process), and the ratio to `python -c pass` in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.scale import fill, sentences
from bench.startup import _spent
from mnemic import Memory
from mnemic.interfaces.hosts import START

FILLED = "2026-08-01T12:00:00Z"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000, help="message nodes of the home")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--serving", action="store_true", help="while `mnemic serve` runs on the home")
    parser.add_argument("--today", action="store_true", help="all of the home came in today, as after a large import")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.nodes, options.runs, serving=options.serving, today=options.today)
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(folder: Path, nodes: int, runs: int, *, serving: bool = False, today: bool = False) -> dict[str, Any]:
    """Seconds of every event by its name; with `serving`, while a service runs; with `today`, on the day all of it came in."""
    environ = {**os.environ, "MNEMIC_CONFIG": str(folder / "config")}
    home, transcript = folder / "home", folder / "transcript.jsonl"
    filled = {} if today else {"MNEMIC_NOW": FILLED}
    with Memory.open(home, environ={**environ, **filled}) as memory:
        memory.facts.add("identity", "home_city", "Porto")
        if nodes:
            fill(memory, sentences(), nodes, random.Random(1))
    common = {"session_id": "bench", "transcript_path": str(transcript), "cwd": str(folder)}
    given = {
        "session-start": {**common, "source": "startup"}, "stop": common,
        "prompt": {**common, "prompt": "How is the ledger proved, and what does recall do with it?"},
    }  # fmt: skip
    wall: dict[str, list[float]] = {name: [] for name in ("python -c pass", *given)}
    cpu: dict[str, list[float]] = {name: [] for name in wall}
    service = _served(home, environ) if serving else None
    for number in range(runs + 1):
        _say(transcript, number)
        for name in wall:
            words = ["-c", "pass"] if name not in given else ["-I", "-S", str(START), "--home", str(home), name]
            began, spent = time.perf_counter(), _spent()
            subprocess.run([sys.executable, *words], input=json.dumps(given.get(name, {})).encode(), env=environ, check=True,
                           capture_output=True)  # fmt: skip
            if number:  # the first round fills the caches of the disk
                wall[name].append(time.perf_counter() - began)
                cpu[name].append(_spent() - spent)
    if service is not None:
        service.terminate()
        service.wait()
    floor = statistics.median(wall["python -c pass"])
    return {
        name: {"seconds": round(statistics.median(times), 3), "p95": round(sorted(times)[int(0.95 * (len(times) - 1))], 3),
               "cpu": round(statistics.median(cpu[name]), 3), "ratio": round(statistics.median(times) / floor, 1)}
        for name, times in wall.items()
    }  # fmt: skip


def _served(home: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    """A service of the home that answers."""
    words = [sys.executable, "-m", "mnemic", "--home", str(home), "serve", "--port", "0"]
    service = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE)
    assert service.stdout is not None
    service.stdout.readline()
    service.stdout.readline()
    return service


def _say(transcript: Path, number: int) -> None:
    with transcript.open("a", encoding="utf-8") as stream:
        for role in ("user", "assistant"):
            message = {"role": role, "content": f"Exchange {number}: what the {role} said of the otter."}
            stream.write(json.dumps({"type": role, "message": message, "timestamp": "2026-11-30T10:00:00Z"}) + "\n")


def render(report: dict[str, Any]) -> str:
    """A Markdown table."""
    lines = ["| event | median s | p95 s | of the processor | × `python -c pass` |", "|---|---|---|---|---|"]
    for name, row in report.items():
        lines.append(f"| {name} | {row['seconds']:.3f} | {row['p95']:.3f} | {row['cpu']:.3f} | {row['ratio']:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
