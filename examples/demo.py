"""A tour of mnemic in one run: `python -m examples.demo`, or `make demo`.

It fills a temporary home with this project's own papers and history and with a made-up conversation about a
kitchen, then asks, browses, redacts, forgets, takes back and proves. Home and configuration are temporary
folders: your own memory is neither read nor written. Your embedder settings (`MNEMIC_EMBEDDER`, …) do hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from mnemic import Memory
from mnemic.clock import to_ms
from mnemic.interfaces.cli import render
from mnemic.models.answer import Budget, Scope
from mnemic.models.document import Turn

ROOT = Path(__file__).resolve().parent.parent
CONVERSATION = Path(__file__).with_name("conversation.jsonl")
PAPERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md")
COMMITS = 100
# What the demo decides itself; every other MNEMIC_ setting of yours (the embedder, its model) holds here too.
OWN = {"MNEMIC_HOME", "MNEMIC_CONFIG", "MNEMIC_NAMESPACE", "MNEMIC_NOW"}
QUESTIONS = (
    ("Which carpenter makes the oak fronts, and what does he ask?", None, None),
    ("妈妈喜欢什么瓷砖？", None, None),
    ("What did we decide about the worktop in April 2026?", "2026-04-01", "2026-05-01"),
    ("How does the ledger prove that nothing was changed?", None, None),
    ("Zanzibar submarine licence fee?", None, None),
)


def turns(file: Path = CONVERSATION) -> list[Turn]:
    """The conversation, turn by turn."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [
        Turn(row["role"], row["content"], row["name"], _ms(row["created_at"]), row["session"]) for row in rows
    ]


def papers(root: Path = ROOT) -> list[Path]:
    """The project's own documents that are there."""
    return [file for pattern in PAPERS for file in sorted(root.glob(pattern))]


def commits(root: Path = ROOT) -> list[tuple[str, str, datetime]]:
    """The latest commits as (title, text, when), or none where there is no git or no history."""
    command = ["git", "log", f"-{COMMITS}", "--format=%h%x1f%cI%x1f%an%x1f%s%x1f%b%x1e"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    records = done.stdout.decode("utf-8", "replace").split("\x1e")
    fields = [record.strip("\n").split("\x1f") for record in records if record.strip("\n")]
    return [
        (f"Commit {sha}", f"{subject}\n\nCommitted as {sha} by {author}.\n\n{body}".strip(), datetime.fromisoformat(when))
        for sha, when, author, subject, body in fields
    ]


def heading(text: str) -> None:
    render.console().print()
    render.console().rule(f"[bold magenta]{text}", align="left", style="magenta")


def fill(memory: Memory) -> None:
    """Remember the project and capture the conversation."""
    heading("1. Remember: the project's papers and its history")
    for file in papers():
        text = file.read_text("utf-8")
        title = "" if text.lstrip().startswith("# ") else file.stem
        render.receipt(memory.remember(text, title=title, kind="file", source=file.as_uri()).json())
    history = commits()
    for title, text, when in history:
        memory.remember(text, title=title, at=when)
    render.line((f"{len(history)} commits of the git log, each a note", "bold"))
    heading("2. Capture: a conversation of four sessions")
    report = memory.capture(turns()).json()
    render.capture({**report, "receipts": report["receipts"][:4]})


def ask(memory: Memory) -> None:
    """Five questions, then a question about an answer."""
    heading("3. Recall: five questions, each answer with its signals")
    for query, since, until in QUESTIONS:
        render.line(("\n? ", "bold yellow"), (query, "bold"), (f"  [{since} to {until}]" if since else "", "dim"))
        scope = Scope(since=_day(since), until=_day(until))
        answer = memory.recall(query, scope=scope, budget=Budget(nodes=2, chars=1_200, node_chars=300))
        render.answer(answer.json(), explain=True)
    heading("4. Why not: the session that did not answer")
    absent = _documents(memory, "kitchen-4-build")[0]
    query = QUESTIONS[0][0]
    render.line(("? ", "bold yellow"), (query, "bold"), (f"  why not {absent}?", "dim"))
    render.answer(memory.recall(query, budget=Budget(nodes=1), why_not=[absent]).json(), explain=False)


def browse(memory: Memory) -> None:
    heading("5. Browse: one session as a tree")
    render.tree(memory.tree(_documents(memory, "kitchen-2-people")[0].rpartition("/")[0], depth=3))


def redact(memory: Memory) -> None:
    """A key is cut out before anything is stored. It is put together here: no key stands in this file."""
    heading("6. Redact: a key never reaches the disk")
    key = "".join(("gh", "p_", "a1B2c3D4e5F6" * 3))
    receipt = memory.remember(f"The deploy token of the tile shop is {key}, ask Maren.", title="Tile shop token")
    render.receipt(receipt.json())
    stored = memory.show(receipt.path or "")["text"]
    render.line((stored, ""))
    if key in stored:
        raise SystemExit("the key was stored")


def take_back(memory: Memory) -> None:
    """Forget, ask, undo, ask."""
    heading("7. Forget, and take it back")
    receipt = memory.remember("Maren hides the spare key under the blue watering can.", title="Spare key")
    forgotten = memory.forget(receipt.path or "", reason="the demo changes its mind")
    render.record(forgotten.json())
    _found(memory, receipt.path, "after forget")
    event = memory.ledger(limit=1)[0]["seq"]
    render.record(memory.undo(event, reason="it was useful after all"))
    _found(memory, receipt.path, "after undo")


def prove(memory: Memory) -> bool:
    heading("8. Prove: the ledger")
    render.events(memory.ledger(limit=6))
    verdict = memory.verify()
    render.record(asdict(verdict))
    return verdict.ok


def tour(environ: dict[str, str]) -> bool:
    """The whole tour in temporary folders, with the embedder that `environ` names. True if all is proved."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mnemic-demo-") as folder:
        given = {name: value for name, value in environ.items() if name not in OWN}
        given["MNEMIC_CONFIG"] = str(Path(folder) / "config")
        with Memory.open(Path(folder) / "home", environ=given) as memory:
            fill(memory)
            ask(memory)
            browse(memory)
            redact(memory)
            take_back(memory)
            ok = prove(memory)
            embedder = memory.status()["embedder"]
    seconds = time.perf_counter() - started
    render.line(("\nok" if ok else "\nFAILED", "bold green" if ok else "bold red"),
                (f"  {seconds:.1f} s with {embedder}; the temporary home is gone", "dim"))  # fmt: skip
    return ok


def _found(memory: Memory, path: str | None, when: str) -> None:
    hits = memory.recall("Where is the spare key hidden?", budget=Budget(nodes=6)).hits
    there = any(hit.path == path or hit.path.startswith(f"{path}/") for hit in hits)
    render.line((f"{when}: ", "dim"), ("recall finds it" if there else "recall does not find it", "bold"))


def _documents(memory: Memory, session: str) -> list[str]:
    """The paths of a session's exchanges, in order."""
    return list(_walk(memory, session))


def _walk(memory: Memory, session: str) -> Iterator[str]:
    for row in memory.tree(depth=64):
        if row["kind"] == "exchange" and memory.show(row["path"])["session"] == session:
            yield row["path"]


def _ms(text: str) -> int:
    return to_ms(datetime.fromisoformat(text))


def _day(text: str | None) -> int | None:
    return None if text is None else _ms(text)


if __name__ == "__main__":
    sys.exit(0 if tour(dict(os.environ)) else 1)
