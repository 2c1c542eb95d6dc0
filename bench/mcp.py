"""How soon an agent has its tools: `python -m bench.mcp [--runs 15] [--json]`.

Starts `mnemic mcp` and an empty server of the same SDK in turn, each in a process of its own, and takes the median time
from the start of the process to the answer of `tools/list`, and to the first answer of a tool. Claude Code and Codex
connect in the background: a server that needs longer than about a second has no tools in the first turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mnemic import Memory

EMPTY = "from mcp.server.mcpserver import MCPServer; MCPServer('empty').run()"
GOAL = 1.5
"""Times an empty server (issue F)."""
HELLO = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]  # fmt: skip
RECALL = {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
          "params": {"name": "recall", "arguments": {"query": "Where does Ada sit?"}}}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.runs)
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(folder: Path, runs: int) -> dict[str, Any]:
    """Median seconds to `tools/list` of both servers and their ratio, and of ours to the first and second recall."""
    environ = {**os.environ, "MNEMIC_CONFIG": str(folder / "config")}
    with Memory.open(folder / "home", environ=environ) as memory:
        memory.remember("Ada prefers the window seat.")
    ours = [sys.executable, "-m", "mnemic", "--home", str(folder / "home"), "mcp"]
    servers = {"empty": [sys.executable, "-c", EMPTY], "mnemic": ours}
    listed: dict[str, list[float]] = {name: [] for name in servers}
    first, second = list[float](), list[float]()
    for number in range(runs + 1):
        for name, words in servers.items():
            times = timed(words, environ, [] if name == "empty" else [RECALL, {**RECALL, "id": 4}])
            if number:  # the first round fills the caches of the disk
                listed[name].append(times[0])
                if name == "mnemic":
                    first.append(times[1])
                    second.append(times[2])
    empty, mine = (statistics.median(listed[name]) for name in ("empty", "mnemic"))
    return {
        "runs": runs, "empty_seconds": round(empty, 3), "mnemic_seconds": round(mine, 3), "ratio": round(mine / empty, 2),
        "goal": GOAL, "ok": mine / empty <= GOAL, "first_recall_seconds": round(statistics.median(first), 3),
        "next_recall_seconds": round(statistics.median(second), 3),
    }  # fmt: skip


def timed(words: list[str], environ: dict[str, str], calls: list[dict[str, Any]]) -> list[float]:
    """Seconds from the start to the answer of `tools/list`, then what each further call took."""
    began = time.perf_counter()
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ)
    assert process.stdin is not None and process.stdout is not None
    times = []
    try:
        for wanted, messages in ((2, HELLO), *((call["id"], [call]) for call in calls)):
            process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
            process.stdin.flush()
            while json.loads(process.stdout.readline()).get("id") != wanted:
                pass
            times.append(time.perf_counter() - began)
            began = time.perf_counter()
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
    return times


def render(report: dict[str, Any]) -> str:
    """A Markdown table."""
    return "\n".join([
        "| | seconds |", "|---|---|",
        f"| empty server, start to `tools/list` | {report['empty_seconds']:.3f} |",
        f"| `mnemic mcp`, start to `tools/list` | {report['mnemic_seconds']:.3f} |",
        f"| × the empty server (goal ≤ {report['goal']}) | {report['ratio']:.2f} |",
        f"| first `recall`, which opens the home | {report['first_recall_seconds']:.3f} |",
        f"| every further `recall` | {report['next_recall_seconds']:.3f} |",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
