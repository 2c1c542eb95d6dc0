"""How fast and in how much memory a large export comes in: `python -m bench.transfer [--mb 200] [--messages 4000] [--json]`.

Writes a ChatGPT export of that size, with long conversations as heavy users have them, reads all of it in a dry run, and
then imports the given number of messages into a fresh home, twice. Vectors are not part of it. Memory is the largest that
the process ever held.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from mnemic import Memory
from mnemic.interfaces.importers import take

WORDS = 5000
TURNS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--messages", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.mb, options.messages)
    print(json.dumps(report) if options.json else "\n".join(f"{name:<28}{value:>12,}" for name, value in report.items()))


def measure(folder: Path, megabytes: int, messages: int) -> dict[str, Any]:
    """Messages a second, of the wall clock and of the processor, and the largest memory in MB."""
    large, small = folder / "large.json", folder / "small.json"
    rng = random.Random(1)
    words = [f"word{number}" for number in range(WORDS)]
    write(large, rng, words, size=megabytes << 20)
    write(small, rng, words, conversations=messages // TURNS)
    report: dict[str, Any] = {"file_mb": large.stat().st_size >> 20}
    with Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}) as memory:
        memory.index = lambda progress=None: {"indexed": 0, "error": None}  # type: ignore[method-assign]
        report["memory_mb_before"] = held()
        for name, file, dry_run in (("read", large, True), ("import", small, False), ("again", small, False)):
            began, used = time.perf_counter(), time.process_time()
            totals = take(memory, "chatgpt", file, dry_run=dry_run)
            wall, cpu = time.perf_counter() - began, time.process_time() - used
            report |= {f"{name}_messages": totals.messages, f"{name}_per_second": round(totals.messages / wall),
                       f"{name}_per_cpu_second": round(totals.messages / cpu), f"{name}_memory_mb": held()}  # fmt: skip
    return report


def held() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def write(file: Path, rng: random.Random, words: list[str], *, size: int = 0, conversations: int = 0) -> None:
    """An export of a size in bytes, or of so many conversations."""
    with file.open("w") as out:
        out.write("[")
        number = 0
        while out.tell() < size or number < conversations:
            out.write((", " if number else "") + json.dumps(conversation(number, rng, words)))
            number += 1
        out.write("]")


def conversation(number: int, rng: random.Random, words: list[str]) -> dict[str, Any]:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"
    for turn in range(TURNS):
        key = f"{number}-{turn}"
        role, length = ("assistant", 80) if turn % 2 else ("user", 30)
        message = {"id": key, "author": {"role": role}, "create_time": 1.7e9 + number * 1000 + turn, "recipient": "all",
                   "content": {"content_type": "text", "parts": [" ".join(rng.choices(words, k=length))]}}  # fmt: skip
        mapping[key] = {"id": key, "message": message, "parent": last, "children": []}
        last = key
    return {"id": f"c{number}", "conversation_id": f"c{number}", "title": f"Talk {number}", "create_time": 1.7e9,
            "mapping": mapping, "current_node": last}  # fmt: skip


if __name__ == "__main__":
    main()
