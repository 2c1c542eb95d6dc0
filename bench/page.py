"""The page of all retrieval figures, docs/benchmarks.md: `python -m bench.page`.

    MNEMIC_MODEL_DIR=DIR python -m bench.page [--locomo F] [--longmemeval F [--haystacks F]] [--beam F] [--cmrc F] [--only SET]

Measures the sets whose paths are given, with the model in MNEMIC_MODEL_DIR and with hashing, keeps the figures in
bench/results/retrieval.json and writes the page from there. Without a path it only writes the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.ablation import ablate
from bench.abstention import divided, refusals
from bench.retrieval import METRICS, Collection, Kept, filled, measure, opened
from bench.sets import arguments, chosen
from mnemic.recall.score import SCORINGS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "retrieval.json"
PAGE = ROOT / "docs" / "benchmarks.md"
SHORT = {"onnx": "e5", "hashing": "hashing"}
"""How the page calls the two embedders that it compares."""
TITLES = {
    "locomo": "LoCoMo",
    "longmemeval": "LongMemEval",
    "longmemeval+haystacks": "LongMemEval in haystacks",
    "beam": "BEAM",
    "cmrc": "CMRC 2018",
}
ELSEWHERE = {"locomo": "beam", "beam": "longmemeval"}
"""Whose questions are asked as those of another set; LoCoMo's where nothing is said."""
Results = dict[str, dict[str, Any]]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", choices=TITLES, help="measure only this set; another lends its questions")
    options = parser.parse_args()
    sets = chosen(options)
    for name, collections in sets.items():
        if options.only not in (None, name):
            continue
        foreign = sets.get(ELSEWHERE.get(name, "locomo"), ())
        keep(name, {"size": size(collections)} | {
            short: measured(collections, foreign, _embedder(kind, options.vectors)) for kind, short in SHORT.items()
        })  # fmt: skip
    results = kept()
    page = render(results)
    PAGE.write_text(page, "utf-8")
    print(json.dumps(results, indent=1) if options.json else page)


def kept() -> Results:
    """The figures of all sets measured so far."""
    results: Results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    return results


def keep(name: str, figures: dict[str, Any]) -> None:
    """Put a set's figures in the place of its old ones; those of the others stay as they are now."""
    results = kept() | {name: figures}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({each: results[each] for each in TITLES if each in results}, indent=1) + "\n", "utf-8")


def size(collections: Sequence[Collection]) -> dict[str, int]:
    return {
        "collections": len(collections),
        "items": sum(len(each.items) for each in collections),
        "questions": sum(len(each.questions) for each in collections),
    }


def measured(collections: Sequence[Collection], foreign: Sequence[Collection], embedder: Kept) -> dict[str, Any]:
    """Every figure of a set with one embedder; the ablation where the embedder knows meaning."""
    with filled(collections, embedder) as homes:
        found: dict[str, Any] = {scoring: measure(homes, embedder, scoring) for scoring in SCORINGS}
        if not embedder.counting:
            found["ablation"] = ablate(homes)
        if len(collections) > 1:
            found["abstention"] = refusals(homes, foreign)
    if len(collections) == 1:
        with filled(divided(collections), embedder) as homes:
            found["abstention"] = refusals(homes, foreign)
    embedder.keep()
    return found


def _embedder(kind: str, file: Path | None) -> Kept:
    return opened({**os.environ, "MNEMIC_EMBEDDER": kind}, file if kind == "onnx" else None)


# the page


def render(results: Results) -> str:
    titles = {name: title for name, title in TITLES.items() if name in results}
    parts = [HEAD.format(sizes="\n".join(_sizes(results, titles))), _summary(results, titles)]
    parts += [_set(title, results[name]) for name, title in titles.items()]
    parts += [ABLATION, _ablation(results, titles), ABSTENTION, _abstention(results, titles), COMMANDS]
    return "\n\n".join(parts) + "\n"


def _sizes(results: Results, titles: Mapping[str, str]) -> Iterable[str]:
    for name, title in titles.items():
        size = results[name]["size"]
        yield f"- **{title}**: {size['questions']:,} questions, {size['items']:,} items. {ABOUT[name]}"


def _summary(results: Results, titles: Mapping[str, str]) -> str:
    """R@5/R@10 of every ranking; bold where structure is at least the best baseline of its embedder."""
    rows = [["", *titles.values()]]
    for label, embedder, *path in RANKINGS:
        cells = []
        for name in titles:
            found = results[name][embedder]
            for step in path:
                found = found[step]
            best = path == ["structure", "turn"] and not below(results[name][embedder])
            cells.append(f"**{_pair(found)}**" if best else _pair(found))
        rows.append([label, *cells])
    told = [*_warnings(results, titles), *_outdone(results, titles)]
    return "\n".join(["## All rankings, R@5/R@10", "", *_table(rows), "", *told]).rstrip()


def below(found: Mapping[str, Any]) -> list[str]:
    """The metrics of R@5 and R@10 in which structure lies below a baseline that was measured with it."""
    own, others = found["structure"]["turn"], found["structure"]["baseline"].values()
    return [name for name in ("recall@5", "recall@10") if own[name] < max(each[name] for each in others)]


def _warnings(results: Results, titles: Mapping[str, str]) -> list[str]:
    lines = []
    for name, title in titles.items():
        for embedder in SHORT.values():
            for metric in below(results[name][embedder]):
                report = results[name][embedder]["structure"]
                other = max(report["baseline"], key=lambda each: report["baseline"][each][metric])
                lines.append(
                    f"- **Below its best baseline**: {title}, {embedder}, {metric.replace('recall', 'R')}: "
                    f"{_figure(report['turn'][metric])} against {_figure(report['baseline'][other][metric])} of {other}."
                )
    return lines or ["With its embedder, structure lies below no baseline on any of these sets."]


def _outdone(results: Results, titles: Mapping[str, str]) -> list[str]:
    """Where the first design's formula finds more."""
    lines = []
    for name, title in titles.items():
        for embedder in SHORT.values():
            own, seed = (results[name][embedder][scoring]["turn"] for scoring in ("structure", "seed"))
            lines += [
                f"- **Below the seed's formula**: {title}, {embedder}, {metric.replace('recall', 'R')}: "
                f"{_figure(own[metric])} against {_figure(seed[metric])}."
                for metric in ("recall@5", "recall@10")
                if own[metric] < seed[metric]
            ]
    return lines


def _set(title: str, found: Mapping[str, Any]) -> str:
    rows = [["", *(name.replace("recall", "R") for name in METRICS)]]
    for label, embedder, *path in RANKINGS:
        metrics = found[embedder]
        for step in path:
            metrics = metrics[step]
        rows.append([label, *(_figure(metrics[name]) for name in METRICS)])
    lines = [f"## {title}", "", *_table(rows)]
    categories = found["e5"]["structure"]["by_category"]
    if categories:
        names = [["by category, R@5/R@10", "questions", "e5", "hashing"]]
        for name, row in categories.items():
            other = found["hashing"]["structure"]["by_category"][name]
            names.append([name.replace("_", " "), str(row["questions"]), _pair(row), _pair(other)])
        lines += ["", *_table(names)]
    return "\n".join(lines)


def _ablation(results: Results, titles: Mapping[str, str]) -> str:
    rows = [["e5", *titles.values()]]
    for row in next(iter(results.values()))["e5"]["ablation"] if results else ():
        rows.append([row, *(_pair(results[name]["e5"]["ablation"][row]) for name in titles)])
    return "\n".join(_table(rows))


def _abstention(results: Results, titles: Mapping[str, str]) -> str:
    kinds = ("answerable", "next", "elsewhere", "unanswerable")
    rows = [["", *(f"{title}, {embedder}" for title in titles.values() for embedder in SHORT.values())]]
    for kind in kinds:
        shares = [results[name][embedder]["abstention"][kind] for name in titles for embedder in SHORT.values()]
        rows.append([KINDS[kind], *("–" if share is None else f"{100 * share:.1f} %" for share in shares)])
    return "\n".join(_table([list(row) for row in zip(*rows, strict=True)]))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def _pair(metrics: Mapping[str, float]) -> str:
    return f"{_figure(metrics['recall@5'])}/{_figure(metrics['recall@10'])}"


def _figure(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


RANKINGS = (
    ("structure, e5", "e5", "structure", "turn"),
    ("structure, hashing", "hashing", "structure", "turn"),
    ("seed, e5", "e5", "seed", "turn"),
    ("seed, hashing", "hashing", "seed", "turn"),
    ("RRF of BM25 and cosine, k 60", "e5", "structure", "baseline", "rrf60"),
    ("e5 cosine", "e5", "structure", "baseline", "cosine"),
    ("FTS5 BM25", "hashing", "structure", "baseline", "bm25"),
)
KINDS = {
    "answerable": "its own questions",
    "next": "of the next conversation or half",
    "elsewhere": "of another set",
    "unanswerable": "its own without answer",
}
ABOUT = {
    "locomo": "Five of its ten long chats of two people (conv-26, 41, 43, 47, 49); categories 1 to 4. Weights were tuned "
    "on the first three and looked at on all five.",
    "longmemeval": "The evidence turns of 250 of its questions, pooled without filler; 14 of the questions have no "
    "answer. One half was used in tuning.",
    "longmemeval+haystacks": "The same with the sessions of three real haystacks as filler, in which two more questions "
    "have marked turns.",
    "beam": "Ten chats of about 128,000 tokens; the questions that name the turns they come from. Every other chat was "
    "used in tuning.",
    "cmrc": "Chinese passages, each a note, and the passage that a question was written for. Half of 800 of the "
    "questions were used in tuning.",
}
HEAD = """# How well recall finds what it should

Written by `python -m bench.page` from bench/results/retrieval.json; not to be edited by hand. What the formula is and why:
[recall.md](recall.md).

Every set is captured through the public API, session by session, and asked through `Memory.recall`. R@k: share of a
question's evidence among the first k distinct turns (or passages); any@k: whether one of it is there; MRR looks at 15.
No model writes or judges anything. `structure` is the default scoring, `seed` the first design's; `e5` is
multilingual-e5-small (int8), `hashing` the embedder that is always there. The baselines rank the same texts in the same
run: SQLite FTS5 BM25 (any word, porter stems, no stop words, Chinese in pairs of characters), one e5 vector for every
item, and both fused by ranks.

{sizes}

The data is not in this repository. All of it was seen while the weights were chosen, so expect a little less
elsewhere; differences under about .02 (.04 on BEAM) are noise."""
ABLATION = """## What each part is worth

R@5/R@10 with e5, by the product's own scoring with one part taken off its sum. The floor was set for the whole sum, so the
parts are taken off with the floor open: compare with `no floor`. `lexical` is BM25 of the turn itself. Of CMRC's
questions every fourth is asked."""
ABSTENTION = """## When nothing is known

Share of questions that get no hit at all: of its own questions it should be none, of the others all. At most 400 of a kind
are asked of a set, drawn evenly; a set of one collection is cut into halves, each asked the questions of the other. The
questions of another set: LongMemEval's for BEAM, BEAM's for LoCoMo, LoCoMo's for the rest. Those without answer are
LoCoMo's category 5, LongMemEval's `_abs` and BEAM's `abstention`: they speak of things that are there, and only
reading the hits can tell. The floor is a filter of noise, not a test of truth."""
COMMANDS = """## Commands

    python -m bench.locomo --data locomo10.json --json
    python -m bench.longmemeval --data evidence.jsonl [--haystacks longmemeval_s.json] --json
    python -m bench.beam --data beam.tar.gz --json
    python -m bench.cmrc --data cmrc2018_dev.json --json
    python -m bench.ablation --locomo F --longmemeval F --beam F --cmrc F
    MNEMIC_MODEL_DIR=DIR python -m bench.page --locomo F --longmemeval F --haystacks F --beam F --cmrc F

The embedder is that of the environment: `MNEMIC_EMBEDDER=onnx MNEMIC_MODEL_DIR=<multilingual-e5-small, int8>`. With
`--scoring seed` the other formula; with `--vectors FILE.npz` embeddings are kept from run to run."""


if __name__ == "__main__":
    main()
