"""How long a page of the workbench takes to stand: `python -m bench.workbench [--nodes 10000] [--runs 20] [--json]`.

A home of so many nodes with something on every page (conversations, notes, diary, facts, concerns, experiences with reports,
cards, dreamt and written articles) is served by `mnemic serve` in a process of its own. Chromium opens each page anew, as
a person does who follows a bookmark: the clock runs from the request for the document until the page says that it stands
(`whole`: until what it shows later, the audit of the vault, has come as well).
Counted besides are the rows in it and the bytes that were asked for: a list that loaded everything would show in both.

Needs playwright and chromium, as the tests of the workbench do.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench.scale import sentences, spread
from mnemic import Memory
from mnemic.models.document import Turn

START = 1_767_225_600_000
MINUTE, DAY = 60_000, 86_400_000
SHARES = {"turns": 0.2, "paragraphs": 0.15, "diary": 0.05, "facts": 0.03, "concerns": 0.01, "lessons": 0.03, "cards": 0.01,
          "articles": 0.012}  # fmt: skip
"""Of each kind how many, to a node of the home."""
SESSION, PAGE = 40, 100
"""Turns of a conversation, paragraphs of a long note."""
FAMILIES = ("deploy", "review", "migrate", "release", "support", "billing")
LATER = "() => !document.querySelector('[data-later]:not([data-later=\"\"])')"
"""Nothing of the page is still on its way: the audit of a vault is shown when it is done."""
TALK = Path(__file__).resolve().parent.parent / "examples" / "talk.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), options.nodes, options.runs)
    print(json.dumps(report, indent=1) if options.json else render(report))


def measure(folder: Path, nodes: int, runs: int) -> dict[str, Any]:
    """Milliseconds of every page by its name, with its rows and kilobytes."""
    environ = {**os.environ, "MNEMIC_CONFIG": str(folder / "config"), "MNEMIC_EMBEDDER": "hashing"}
    home = folder / "home"
    with Memory.open(home, environ=environ) as memory:
        fill(memory, sentences(), nodes)
        held, places = memory.status(), pages(memory)
    words = [sys.executable, "-m", "mnemic", "--home", str(home), "serve", "--port", "0"]
    service = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert service.stdout is not None
        url = service.stdout.readline().split()[2]
        service.stdout.readline()
        found = walked(url, (home / "serve.token").read_text().strip(), places, runs)
    finally:
        service.terminate()
        service.wait()
    kinds = ("nodes", "documents", "facts", "diary", "experiences", "ledger")
    return {"runs": runs, **{kind: held[kind] for kind in kinds}, "pages": found}


def fill(memory: Memory, said: Sequence[str], nodes: int) -> None:
    """Something on every page, the same for the same number of nodes."""
    draw = random.Random(1)
    much = {name: max(3, int(share * nodes)) for name, share in SHARES.items()}

    def words(count: int = 1) -> str:
        return " ".join(draw.choices(said, k=count))

    rows = [json.loads(line) for line in TALK.read_text("utf-8").splitlines()]
    for name in dict.fromkeys(row["session"] for row in rows):
        turns = [Turn(row["role"], row["content"], row["name"]) for row in rows if row["session"] == name]
        memory.capture(turns, session=name, index=False)
    for at in range(0, much["turns"], SESSION):
        turns = [
            Turn("user", words(2), "Ada", START + (at + place) * MINUTE) if place % 2 == 0
            else Turn("assistant", words(3), "Grace", START + (at + place) * MINUTE)
            for place in range(SESSION)
        ]  # fmt: skip
        memory.capture(turns, session=f"session-{at // SESSION}", index=False)
    memory.dream()
    for at in range(0, much["paragraphs"], PAGE):
        memory.remember("\n\n".join(words(draw.randint(1, 4)) for _ in range(PAGE)), title=f"page {at // PAGE}", index=False)
    for place in range(much["diary"]):
        kind = draw.choice(("said", "promised", "happened", "preference"))
        memory.diary.add(words(), kind=kind, session=f"session-{place % 40}")
    numbers = [row["id"] for row in memory.diary.list(limit=much["diary"])]
    for place in range(much["facts"]):
        memory.facts.add(draw.choice(("identity", "preference", "habit")), f"key_{place}", words()[:120], reason="told")
    for at in range(0, much["concerns"], 10):
        batch = [{"action": "new", "title": f"{words()[:60]} ({at + place})", "background": words(2)[:400],
                  "source_diary_ids": [numbers[(at + place) % len(numbers)]]} for place in range(10)]  # fmt: skip
        memory.extract({"concerns": batch, "summary": "what is open"})
    for place in range(much["lessons"]):
        taught = memory.experiences.add({
            "kind": "positive", "family": FAMILIES[place % len(FAMILIES)] if place < 60 else f"family-{place // 10}",
            "gist": f"{words()[:120]} ({place})", "situation": [words()[:120]], "path": [words()[:80], words()[:80]],
            "reasoning": words()[:200], "evidence": {"note": "seen"},
        }, reason="hard won")  # fmt: skip
        for _ in range(draw.randint(0, 4) if place < 60 and taught.id else 0):
            memory.experiences.report(str(taught.id), draw.choice(("success", "success", "fail")), attribution="experience")
    for place in range(much["cards"]):
        memory.cards.new(f"Card {place}", draw.choice(("contact", "project", "tool")), description=words()[:80], body=words(3))
    sources = [row["path"] for row in memory.tree("/sessions/session-0", depth=3) if row["kind"] == "message"] or ["/sessions"]
    folder = memory.vault.root / "articles"
    folder.mkdir(exist_ok=True)
    for place in range(much["articles"]):
        (folder / f"Subject {place}.md").write_text(_article(place, much["articles"], words, draw.choice(sources)), "utf-8")
    memory.vault.sync()
    memory.index()


def _article(place: int, most: int, words: Any, source: str) -> str:
    """An article as a dream writes one."""
    parts = [f"# Subject {place}\n\n```info\ntype: topic\nkind: thing\n```\n\n{words(2)}[^1]\n"]
    parts += [f"## Part {part}\n\n{words(6)}[^1] See [[Subject {(place + part) % most}]].[^1]\n" for part in range(1, 6)]
    return "\n".join([*parts, f"## References\n\n[^1]: `conv:0` (2026-01-01, Ada) - `{source}`\n", "*Categories: Bench*\n"])


def pages(memory: Memory) -> dict[str, str]:
    """The address of every page, and of what is opened on it."""
    turn = next(row["path"] for row in memory.tree("/sessions/session-0", depth=3) if row["kind"] == "message")
    note = next(row["path"] for row in memory.tree("/notes", depth=1) if row["kind"] == "note")
    tab = "#/diary?tab="
    return {
        "recall": "#/recall", "recall, asked": "#/recall?" + urlencode({"q": "how is the ledger proved"}),
        "tree": "#/tree", "a turn": "#/tree?" + urlencode({"path": turn}),
        "a note of 100 paragraphs": "#/tree?" + urlencode({"path": note}),
        "a turn's neighbours": "#/tree?" + urlencode({"path": turn, "view": "near"}),
        "a graph of 200 nodes": "#/tree?path=/articles/subject-1&view=graph",
        "a note's history": "#/tree?" + urlencode({"path": note, "view": "history"}),
        "facts": "#/diary", "facts as known then": "#/diary?as_of=2026-06-01", "concerns": tab + "concerns",
        "diary": tab + "diary",
        "experiences": "#/experiences", "families": "#/experiences?tab=families",
        "experiences, asked": "#/experiences?" + urlencode({"q": "deploying the site"}),
        "wiki": "#/wiki", "an article": "#/wiki?" + urlencode({"article": "Subject 1"}), "wiki, asked": "#/wiki?q=ledger",
        "dreams": "#/dreams", "ledger": "#/ledger", "ledger, filtered": "#/ledger?op=extract", "vault health": "#/health",
        "an article's history": "#/wiki?" + urlencode({"article": "Subject 1", "view": "history"}),
        "window": "#/window", "summaries": "#/window?tab=summaries", "human ops": "#/ops",
    }  # fmt: skip


def walked(url: str, token: str, places: dict[str, str], runs: int) -> dict[str, Any]:
    """What a browser saw of every page, opened anew each time."""
    from playwright.sync_api import sync_playwright

    found: dict[str, Any] = {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto(url)
        page.evaluate("token => localStorage.setItem('mnemic.token', token)", token)
        sizes: list[int] = []
        page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
        for name, place in places.items():
            times, whole = [], []
            for run in range(runs + 1):
                page.goto("about:blank")
                sizes.clear()
                began = time.perf_counter()
                page.goto(url + place)
                page.wait_for_function("place => document.body.dataset.ready === place", arg=place)
                if run:  # the first one fills the caches of the disk
                    times.append((time.perf_counter() - began) * 1000)
                page.wait_for_function(LATER)
                if run:
                    whole.append((time.perf_counter() - began) * 1000)
            rows = page.evaluate("document.querySelectorAll('main [data-item], main tr, main li').length")
            faults = page.locator("main .problem").all_inner_texts()
            found[name] = {**spread(times), "whole_p95": spread(whole)["p95"], "rows": rows, "kb": round(sum(sizes) / 1024),
                           "faults": faults}  # fmt: skip
        browser.close()
    return found


def render(report: dict[str, Any]) -> str:
    held = ", ".join(f"{report[kind]:,} {kind}" for kind in ("nodes", "documents", "facts", "diary", "experiences", "ledger"))
    names = ("p50", "p95", "whole_p95", "rows", "kb")
    lines = [held, f"{'page, ms':<28}" + "".join(f"{name:>10}" for name in names)]
    lines += [f"{name:<28}" + "".join(f"{row[each]:>10}" for each in names) for name, row in report["pages"].items()]
    worst = max(row["p95"] for row in report["pages"].values())
    middle = statistics.median(row["p50"] for row in report["pages"].values())
    return "\n".join([*lines, f"worst p95 {worst} ms, median of all p50 {middle} ms"])


if __name__ == "__main__":
    main()
