"""A conversation far larger than its window: `python -m bench.window [--turns 1000] [--times 20] [--json]`.

A synthetic conversation, the same every time: people ask and are answered, and one turn in ten plants a fact (a decision
with its reason, a limit, something to do, something about a person, a file), each with a code word that stands nowhere
else. Similar sentences about other things surround them. After every turn the reply is observed, as a client would.

At the end each fact is asked for, in words that do not hold its code, and counts as answerable if the code stands in the
prepared prompt. Beside it: truncation (the newest messages that fit), and one flat running summary (the same judge and
the same tokens for summaries, folded into one at each compaction, no memory).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mnemic import Memory
from mnemic.context import rules
from mnemic.context.budget import Budget
from mnemic.context.shapes import read

EVERY = 10
"""A fact is planted once in so many turns."""
THINGS = (
    "billing service", "search page", "import job", "login form", "mobile app", "report builder", "mail queue", "price list",
    "photo archive", "support desk", "backup plan", "travel booking", "newsletter", "invoice layout", "test cluster",
    "team calendar", "data export", "audit trail", "landing page", "chat widget", "warehouse scanner", "payroll run",
    "garden project", "school visit", "family dinner", "moving house", "language course", "fitness plan", "tax return",
)  # fmt: skip
ASPECTS = ("owner", "launch", "storage", "colour", "review", "supplier", "budget", "schedule", "logo", "training", "venue")
TEMPLATES = (
    ("We decided that the {aspect} of the {thing} will be {code}, because the older one kept failing.",
     "What did we decide about the {aspect} of the {thing}, and why?"),
    ("Important: the {aspect} of the {thing} must never exceed {code}.",
     "What is the limit for the {aspect} of the {thing}?"),
    ("Remind me later: the {aspect} of the {thing} still needs {code}.",
     "What is still open for the {aspect} of the {thing}?"),
    ("My contact for the {aspect} of the {thing} is called {code}.",
     "Who is my contact for the {aspect} of the {thing}?"),
    ("The notes on the {aspect} of the {thing} are in docs/{code}.md.",
     "In which file are the notes on the {aspect} of the {thing}?"),
)  # fmt: skip
CHAT = (
    "Could you go over the {aspect} of the {thing} once more and tell me how it compares with last week?",
    "I looked at the {thing} this morning and the {aspect} seemed fine to me, although some details were unclear.",
    "Please explain what people usually do about the {aspect} when a {thing} grows that quickly.",
    "Someone asked about the {thing} again, mostly about its {aspect}, and I had no short answer for them.",
)
REPLY = (
    "The {aspect} of the {thing} depends on a few things that are worth looking at one after the other.",
    "In most cases the {thing} works well when the {aspect} is checked early and somebody looks at it regularly.",
    "A common way is to write down what the {aspect} should look like and compare it with the {thing} as it is.",
    "There are several opinions on this, and for the {thing} the simplest of them is often good enough.",
    "Taken together, the {aspect} looks reasonable, and nothing speaks against going on with the {thing} as before.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--times", type=float, default=20.0, help="How many times the window the conversation is.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.turns, options.times)
    print(json.dumps(report, indent=1) if options.json else "\n".join(f"{key:<22}{value}" for key, value in report.items()))


def conversation(turns: int) -> tuple[list[tuple[dict[str, Any], dict[str, Any]]], list[tuple[str, str]]]:
    """The turns, each with its reply, and of every planted fact the question and the code that answers it."""
    draw = random.Random(4)
    places = [(thing, aspect) for thing in THINGS for aspect in ASPECTS]
    draw.shuffle(places)
    said, facts = list[tuple[dict[str, Any], dict[str, Any]]](), list[tuple[str, str]]()
    for turn in range(turns):
        def line(templates: Sequence[str]) -> str:
            return draw.choice(templates).format(thing=draw.choice(THINGS), aspect=draw.choice(ASPECTS))

        words = [line(CHAT) for _ in range(draw.randint(1, 3))]
        if turn % EVERY == EVERY // 2 and places:
            thing, aspect = places.pop()
            fact, question = TEMPLATES[len(facts) % len(TEMPLATES)]
            code = "".join(draw.choices("BCDFGHKLMNPRSTVWZ", k=5)).capitalize() + str(draw.randint(100, 999))
            words.insert(draw.randint(0, len(words)), fact.format(thing=thing, aspect=aspect, code=code))
            facts.append((question.format(thing=thing, aspect=aspect), code))
        reply = " ".join(line(REPLY) for _ in range(draw.randint(3, 8)))
        said.append(({"role": "user", "content": " ".join(words)}, {"role": "assistant", "content": reply}))
    return said, facts


def measure(folder: Path, turns: int, times: float) -> dict[str, Any]:
    said, facts = conversation(turns)
    system = {"role": "system", "content": "You are a careful assistant."}
    total = sum(read(message).tokens for turn in said for message in turn)
    window = int(total / times)
    wall, cpu, sizes, compactions, over = list[float](), list[float](), list[int](), 0, 0
    messages: list[dict[str, Any]] = [system]
    with (
        Memory.open(folder / "home", environ={"MNEMIC_CONFIG": str(folder / "config")}) as memory,
        memory.window("bench", window=window) as context,
    ):
        flat, size = _Flat(context.budget), context.budget
        for user, reply in said:
            messages.append(user)
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            made = context.prepare(messages)
            wall.append(1000 * (time.perf_counter() - wall_start))
            cpu.append(1000 * (time.process_time() - cpu_start))
            sizes.append(made.after)
            over += made.after > size.limit
            compactions += len(made.compacted)
            context.observe(reply)
            messages.append(reply)
            flat.add(user, reply)
        found = {"prepared": 0, "summary": 0, "retrieved": 0, "truncated": 0, "flat": 0}
        for question, code in facts:
            ask = {"role": "user", "content": question}
            made = context.prepare([*messages, ask])
            over += made.after > size.limit
            parts = [str(message["content"]) for message in made.messages]
            found["prepared"] += any(code in part for part in parts)
            found["summary"] += any(code in part for part in parts if "The earlier part of this" in part[:400])
            found["retrieved"] += code in parts[-2]
            found["truncated"] += code in _truncated([*messages, ask], size.limit)
            found["flat"] += code in flat.prompt()
        status, proved = memory.window_status(), memory.verify().ok
    return {
        "turns": turns, "tokens": total, "window": window, "limit": size.limit, "times": round(total / window, 1),
        "facts": len(facts), "answerable": {name: round(count / len(facts), 3) for name, count in found.items()},
        "over_budget": over, "tokens_per_turn": {"mean": round(statistics.mean(sizes)), "max": max(sizes)},
        "compactions": compactions, "prepare_ms": _spread(wall), "prepare_cpu_ms": _spread(cpu),
        "summaries": status["summaries"], "ledger_ok": proved,
    }  # fmt: skip


class _Flat:
    """One running summary: at each compaction it and the oldest messages become the next one, of the same size as the pyramid."""

    def __init__(self, size: Budget) -> None:
        self.size, self.lines, self.recent = size, list[rules.Line](), list[dict[str, Any]]()

    def add(self, *messages: dict[str, Any]) -> None:
        self.recent += messages
        if sum(read(message).tokens for message in self.recent) > self.size.limit - self.size.mid - self.size.long:
            kept = 0
            while kept < len(self.recent) and sum(read(m).tokens for m in self.recent[-kept - 1 :]) <= self.size.short:
                kept += 1
            old, self.recent = self.recent[: len(self.recent) - kept], self.recent[len(self.recent) - kept :]
            fresh = [line for m in old for line in rules.lines_of(m["content"], m["role"], "")]
            self.lines = rules.chosen([*self.lines, *fresh], self.size.mid + self.size.long)

    def prompt(self) -> str:
        return rules.joined(self.lines) + "\n" + "\n".join(message["content"] for message in self.recent)


def _truncated(messages: Sequence[dict[str, Any]], limit: int) -> str:
    kept = list[str]()
    for message in reversed(messages):
        limit -= read(message).tokens
        if limit < 0:
            break
        kept.append(message["content"])
    return "\n".join(kept)


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"p50": round(ordered[len(ordered) // 2], 2), "p95": round(ordered[int(0.95 * len(ordered))], 2),
            "max": round(ordered[-1], 2)}  # fmt: skip


if __name__ == "__main__":
    main()
