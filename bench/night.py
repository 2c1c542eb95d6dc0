"""The page of what a night makes and costs, docs/night.md, and the articles that docs/ shows: `python -m bench.night`.

    python -m bench.night [--locomo FILE] [--turns N] [--rounds N] [--json]

With `--locomo` measures anew, each part in a process of its own, and keeps the figures in bench/results/night.json; without it
only writes the page from there, and docs/articles from examples/talk.jsonl.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.dream import RECENT, growth, home, scale, wiki
from mnemic.clock import to_ms
from mnemic.models.document import Turn
from mnemic.text.when import parse_moment

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "night.json"
PAGE = ROOT / "docs" / "night.md"
TALK = ROOT / "examples" / "talk.jsonl"
SHOWN = ("Ines", "Sourdough")
"""The articles of the example that docs/articles shows."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, help="a file in the shape of locomo10.json")
    parser.add_argument("--turns", type=int, default=10_000, help="turns of a whole night at once")
    parser.add_argument("--rounds", type=int, default=20, help="dreams over nothing new")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.locomo:
        results = measured(json.loads(options.locomo.read_text("utf-8")), options.turns, options.rounds)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    results = json.loads(RESULTS.read_text("utf-8"))
    PAGE.write_text(render(results), "utf-8")
    for title, text in shown().items():
        (ROOT / "docs" / "articles" / f"{title}.md").write_text(text, "utf-8")
    print(json.dumps(results) if options.json else render(results))


def measured(rows: list[dict[str, Any]], turns: int, rounds: int) -> dict[str, Any]:
    """All figures. A part in a process of its own: the greatest memory is that of a process."""
    jobs = {"wiki": (wiki, (rows, rounds)), "growth": (growth, (rows,)), "recent": (scale, (rows, turns, RECENT)),
            "old": (scale, (rows, turns))}  # fmt: skip
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return {name: pool.apply(job, given) for name, (job, given) in jobs.items()}


def shown() -> dict[str, str]:
    """The articles of the example as they come out, by title."""
    rows = [json.loads(line) for line in TALK.read_text("utf-8").splitlines()]
    with home() as memory:
        now = memory.clock.now()
        for name in dict.fromkeys(row["session"] for row in rows):
            memory.capture(
                [Turn(row["role"], row["content"], row["name"], to_ms(parse_moment(row["created_at"], now)))
                 for row in rows if row["session"] == name], session=name, index=False,
            )  # fmt: skip
        memory.dream()
        return {title: (memory.vault.root / "articles" / f"{title}.md").read_text("utf-8") for title in SHOWN}


def render(results: Mapping[str, Any]) -> str:
    """docs/night.md."""
    made, grown, nights = results["wiki"], results["growth"], (results["recent"], results["old"])
    names = list(dict.fromkeys(name for night in nights for name in night["stages"]))
    parts = [
        HEAD.format(turns=nights[0]["turns"]),
        _table(["", f"said in the last {RECENT} days", "said years ago"], [
            ["seconds", *(_number(night["seconds"]) for night in nights)],
            ["seconds per 1,000 turns", *(_number(night["seconds_per_1000_turns"]) for night in nights)],
            ["memory at most, MB", *(_number(night["peak_mb"]) for night in nights)],
            ["articles", *(_number(night["articles"]["created"]) for night in nights)],
            *([name, *(_number(round(night["stages"].get(name, 0.0), 1)) for night in nights)] for name in names),
        ]),
        ARTICLES.format(turns=made["turns"]),
        _table(["", ""], [
            ["articles; per 100 turns; median words",
             f"{made['articles']}; {made['articles_per_100_turns']}; {made['median_words']}"],
            ["cited sentences; paragraphs without a citation", f"{made['sentences']:,}; {made['uncited_paragraphs']}"],
            ["sentences with at least 8 of 10 words in the turns they cite; with all of them (names and dates apart)",
             f"{made['citation_precision']:.3f}; {made['every_word_contained']:.3f}"],
            ["footnotes that open", f"{made['resolvable']:.3f}"],
            [f"turns cited; of the {made['gold_evidence']} that answer a question",
             f"{made['turns_cited']:.3f}; {made['gold_evidence_covered']:.3f}"],
            ["dreams over nothing new that changed nothing", f"{made['fixed_point_rounds']} of {made['rounds']}"],
            ["model calls per 1,000 turns", _number(made["calls_per_1000_turns"])],
        ]),
        GROWTH.format(**grown),
    ]  # fmt: skip
    return "\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _number(value: float) -> str:
    return f"{value:,}"


HEAD = """# What a night makes and costs

Written by `python -m bench.night --locomo FILE`, on two cores that others kept busy. The rules judge, no model; the hashing
embedder.

**A whole night** over {turns:,} turns at once, nothing of which was indexed or dreamt of before: LoCoMo's conversations again
and again under new names, without git. Said in the last weeks, all of it is embedded and every vector compared with every
other; said years ago, nearly all is moved to the cold shelf. The goal is 300 seconds and 1,024 MB.
"""
ARTICLES = """**The articles** of five LoCoMo conversations ({turns:,} turns) in one home, one dream. In-sample: the rules for
statements, subjects and articles were made by reading these very conversations, so support and coverage say how well they do
on what they were made for. The gate's promises (every footnote opens, no byte outside a patch, nothing lost) are checked on
every write and hold on any data.
"""
GROWTH = """**One conversation, session by session** ({sessions} dreams): an update changes {bytes_per_update:,} bytes and
leaves {sections_untouched:.3f} of an article's {sections_per_updated_article} sections untouched.
"""


if __name__ == "__main__":
    main()
