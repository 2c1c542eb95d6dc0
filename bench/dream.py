"""What the dream makes of conversations, and what it costs: `python -m bench.dream`.

    python -m bench.dream [--topicseg FOLDER [--fit]] [--longmemeval FILE] [--locomo FILE] [--turns N] [--rounds N] [--json]

With `--topicseg`: Pk (Beeferman et al. 1999) and WindowDiff (Pevzner and Hearst 2002) of the chunker on dialogues with known
topics, beside TextTiling (Hearst 1997, blocks and depth scores over the same words), windows of the mean true length, and no
cut at all; for the half that the chunker's weights were fitted on and for the half that was held out. `--fit` fits them anew.
With `--longmemeval`: the same for its sessions, five at a time as one conversation; nothing was fitted on them. With
`--locomo`: one home with all conversations of the file, the rules judge; how many articles, how much of what is asked about
they hold, whether a cited turn says the sentence, what one session more changes, and whether a second dream changes nothing.
`--turns` repeats the conversations under new names up to so many turns and measures time and memory.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean, pstdev
from time import perf_counter
from typing import Any

import numpy as np

from bench.locomo import CATEGORIES, evidence, turns
from mnemic import Memory
from mnemic.clock import DAY_MS, to_ms
from mnemic.models.document import Turn
from mnemic.settings import load
from mnemic.synthesis import article
from mnemic.synthesis.judges import CLIP
from mnemic.synthesis.segment import segments, signs
from mnemic.text.tokens import query_terms, terms

RECENT = 28
"""Days of a month that is dreamt of at once: none of it is old enough for another shelf."""
SETS = ("dialseg_711", "tiage", "meeting_committee")
Cut = Callable[[Sequence[str]], list[int]]
DATES = frozenset(terms(
    "january february march april may june july august september october november december week weekend on in of the said"
))  # fmt: skip


def main() -> None:
    options = _options().parse_args()
    report: dict[str, Any] = {}
    if options.topicseg:
        halves = splits(options.topicseg)
        if options.fit:
            known = [dev for dev, _ in halves.values()]
            report["fit"] = {"weights": fit(known), "told": {told: graded(known, told) for told in (0.05, 0.1, 0.15, 0.2, 0.3)}}
        report["chunker"] = {name: {"fitted": compared(dev), "held_out": compared(rest)} for name, (dev, rest) in halves.items()}
    if options.longmemeval:
        report["sessions"] = compared(joined(json.loads(options.longmemeval.read_text("utf-8"))))
    if options.locomo and options.turns:
        rows = json.loads(options.locomo.read_text("utf-8"))
        report["scale"] = {"old": scale(rows, options.turns), "recent": scale(rows, options.turns, RECENT)}
    if options.locomo and options.rounds:
        rows = json.loads(options.locomo.read_text("utf-8"))
        report["wiki"] = wiki(rows, options.rounds)
        report["growth"] = growth(rows)
    print(json.dumps(report, indent=None if options.json else 2, ensure_ascii=False))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topicseg", type=Path, help="folder with dialseg_711.json, tiage.json, meeting_committee.json")
    parser.add_argument("--fit", action="store_true", help="also fit the chunker's weights on the development halves")
    parser.add_argument("--longmemeval", type=Path, help="haystacks in the shape of longmemeval_s.json")
    parser.add_argument("--locomo", type=Path, help="a file in the shape of locomo10.json")
    parser.add_argument("--turns", type=int, default=0, help="also dream so many turns at once")
    parser.add_argument("--rounds", type=int, default=20, help="dreams over nothing new")
    parser.add_argument("--json", action="store_true")
    return parser


# the chunker


def graded(sets: Sequence[Sequence[Talk]], told: float) -> float:
    """Mean of Pk and WindowDiff over the sets, with words of this weight."""
    rows = [measured(talks, partial(segments, told=told)) for talks in sets]
    return round(mean(row[name] for row in rows for name in ("pk", "windowdiff")), 4)


Talk = tuple[list[str], list[int]]
"""What was said, and how many turns each true segment has."""


def splits(folder: Path) -> dict[str, tuple[list[Talk], list[Talk]]]:
    """Each set's development half and what is held out: TIAGE as its authors split it, else every second document."""
    found: dict[str, tuple[list[Talk], list[Talk]]] = {}
    for name in SETS:
        rows = [row for row in json.loads((folder / f"{name}.json").read_text("utf-8"))
                if sum(row["segments"]) == len(row["utterances"]) > _half(row["segments"])]  # fmt: skip
        authors = name == "tiage"
        dev = [row for place, row in enumerate(rows) if (row["set"] == "train" if authors else place % 2 == 0)]
        rest = [row for place, row in enumerate(rows) if (row["set"] != "train" if authors else place % 2)]
        found[name] = _talks(dev), _talks(rest)
    return found


def _talks(rows: Sequence[dict[str, Any]]) -> list[Talk]:
    return [([text[:CLIP] for text in row["utterances"]], row["segments"]) for row in rows]


def joined(haystacks: Sequence[dict[str, Any]], sessions: int = 5) -> list[Talk]:
    """So many sessions after each other as one conversation, whose topics change where a session ends."""
    found: list[Talk] = []
    for row in haystacks:
        said = [[turn["content"][:CLIP] for turn in one] for one in row["haystack_sessions"] if one]
        parts = [said[at : at + sessions] for at in range(0, len(said), sessions)]
        found += [([text for one in part for text in one], [len(one) for one in part]) for part in parts if len(part) > 1]
    return found


def compared(talks: Sequence[Talk]) -> dict[str, Any]:
    """Pk and WindowDiff by method; lower is better."""
    size = round(mean(length for _, lengths in talks for length in lengths))
    methods: dict[str, Cut] = {
        "mnemic": segments,
        "texttiling": texttiling,
        "windows": partial(windows, size=size),
        "none": lambda said: [len(said)],
    }
    return {"dialogues": len(talks), **{method: measured(talks, cut) for method, cut in methods.items()}}


def fit(sets: Sequence[Sequence[Talk]], rounds: int = 30) -> list[float]:
    """Weights of the signs of a cut: logistic regression by Newton's method, ridge 1, each set worth 3,000 turns."""
    parts = []
    for talks in sets:
        rows = [row for said, _ in talks for row in signs(said, [query_terms(turn) for turn in said])]
        cuts = [float(a != b) for _, lengths in talks for a, b in pairwise(_labels(lengths))]
        parts.append((np.array(rows), np.array(cuts), np.full(len(rows), 3000 / len(rows))))
    x, y, worth = (np.concatenate(column) for column in zip(*parts, strict=True))
    weights = np.zeros(x.shape[1])
    for _ in range(rounds):
        chance = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (worth * (chance - y)) + weights
        bend = (x * (worth * chance * (1 - chance))[:, None]).T @ x + np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return [round(float(weight), 2) for weight in weights]


def measured(talks: Sequence[Talk], cut: Cut) -> dict[str, float]:
    """Mean Pk and WindowDiff of a method."""
    pairs = [(lengths, cut(said)) for said, lengths in talks]
    return {"pk": round(mean(pk(true, found) for true, found in pairs), 3),
            "windowdiff": round(mean(windowdiff(true, found) for true, found in pairs), 3),
            "segments": round(sum(len(found) for _, found in pairs) / sum(len(true) for true, _ in pairs), 2)}  # fmt: skip


def pk(true: Sequence[int], found: Sequence[int]) -> float:
    """How often two turns, half a mean segment apart, are wrongly held to be of one topic or of two."""
    a, b, k = _labels(true), _labels(found), _half(true)
    return mean((a[i] == a[i + k]) != (b[i] == b[i + k]) for i in range(len(a) - k))


def windowdiff(true: Sequence[int], found: Sequence[int]) -> float:
    """How often a window of half a mean segment holds another number of cuts than it should."""
    a, b, k = _labels(true), _labels(found), _half(true)
    return mean(a[i + k] - a[i] != b[i + k] - b[i] for i in range(len(a) - k))


def _labels(lengths: Iterable[int]) -> list[int]:
    return [place for place, length in enumerate(lengths) for _ in range(length)]


def _half(lengths: Sequence[int]) -> int:
    return max(2, round(sum(lengths) / (2 * len(lengths))))


def windows(said: Sequence[str], size: int) -> list[int]:
    """Every `size` turns a cut."""
    whole, rest = divmod(len(said), size)
    return [size] * whole + ([rest] if rest else [])


def texttiling(said: Sequence[str], block: int = 3) -> list[int]:
    """Cuts where the similarity of the turns before and after falls deeper than mean − deviation/2."""
    bags = [query_terms(turn) for turn in said]
    gaps = [_cosine(bags[max(0, at - block) : at], bags[at : at + block]) for at in range(1, len(said))]
    depths = [_depth(gaps, at) for at in range(len(gaps))]
    floor = mean(depths) + pstdev(depths) / 2 if depths else 0.0
    cuts = [at + 1 for at, depth in enumerate(depths)
            if depth > floor and depth == max(depths[max(0, at - 1) : at + 2])]  # fmt: skip
    return [end - start for start, end in pairwise([0, *cuts, len(said)])]


def _cosine(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> float:
    a, b = [word for bag in before for word in bag], [word for bag in after for word in bag]
    dot = sum(a.count(word) * b.count(word) for word in set(a))
    norm = (sum(a.count(word) ** 2 for word in set(a)) * sum(b.count(word) ** 2 for word in set(b))) ** 0.5
    return dot / norm if norm else 0.0


def _depth(gaps: Sequence[float], at: int) -> float:
    left, right = at, at
    while left and gaps[left - 1] >= gaps[left]:
        left -= 1
    while right + 1 < len(gaps) and gaps[right + 1] >= gaps[right]:
        right += 1
    return gaps[left] + gaps[right] - 2 * gaps[at]


# the wiki


@contextmanager
def home() -> Iterator[Memory]:
    """A memory of its own, without git: a commit is not what is measured."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        settings = load({"MNEMIC_CONFIG": str(base / "config")}, home=base / "home", overrides={"vault": {"git": "off"}})
        with Memory(settings) as memory:
            yield memory


def sessions(rows: Sequence[dict[str, Any]], times: int = 0) -> list[tuple[str, list[Turn], list[str]]]:
    """Every session of every conversation: its name, its turns, their ids."""
    found = []
    for row in rows:
        by: dict[str, list[Any]] = {}
        for item in turns(row["conversation"]):
            by.setdefault(str(item.session), []).append(item)
        mark = f"-{times}" if times else ""
        found += [(f"{row['sample_id']}{mark}-{name}", [_renamed(item.turn, mark) for item in items],
                   [f"{row['sample_id']}:{item.id}" for item in items]) for name, items in by.items()]  # fmt: skip
    return found


def _renamed(turn: Turn, mark: str) -> Turn:
    return turn if not mark else Turn(turn.role, turn.content, turn.name + mark, turn.created_at)


def wiki(rows: Sequence[dict[str, Any]], rounds: int) -> dict[str, Any]:
    """All conversations, one dream, and then `rounds` over nothing new."""
    with home() as memory:
        ids = fill(memory, sessions(rows))
        begun = perf_counter()
        report = memory.dream()
        seconds = perf_counter() - begun
        pages = articles(memory)
        gold = {f"{row['sample_id']}:{one}" for row in rows for qa in row["qa"] if qa["category"] in CATEGORIES
                for one in evidence(qa.get("evidence", ()), {item.id for item in turns(row["conversation"])})}  # fmt: skip
        cited = {source.path for text in pages.values() for source in article.notes(text).values()}
        paths = turn_paths(memory, ids)
        held = {one for one, path in paths.items() if path in cited}
        again = [memory.dream() for _ in range(rounds)]
        sizes = sorted(article.words(article.prose(text)) for text in pages.values())
        return {
            "turns": len(ids), "articles": len(pages), "articles_per_100_turns": round(100 * len(pages) / len(ids), 2),
            "median_words": sizes[len(sizes) // 2], "citations": sum(len(article.notes(text)) for text in pages.values()),
            **precision(memory, pages), "turns_cited": round(len(held) / len(ids), 3),
            "gold_evidence_covered": round(len(gold & held) / len(gold), 3), "gold_evidence": len(gold),
            "fixed_point_rounds": sum(row["id"] is None for row in again), "rounds": rounds,
            "seconds_per_1000_turns": round(1000 * seconds / len(ids), 2),
            "calls_per_1000_turns": round(1000 * report["spent"]["calls"] / len(ids), 2),
            "resolvable": sum(_opens(memory, path) for path in cited) / len(cited), "rejected": report["articles"]["rejected"],
        }  # fmt: skip


def fill(memory: Memory, parts: Sequence[tuple[str, list[Turn], list[str]]]) -> dict[str, tuple[str, int]]:
    """Capture sessions; id of a turn → its session and place."""
    known: dict[str, tuple[str, int]] = {}
    for name, said, ids in parts:
        memory.capture(said, session=name, index=False)
        known |= {id: (name, place) for place, id in enumerate(ids, 1)}
    return known


def turn_paths(memory: Memory, ids: dict[str, tuple[str, int]]) -> dict[str, str]:
    """Id of a turn → its path in memory."""
    from mnemic.synthesis.reading import Reading

    reading = Reading(memory._store, memory.namespace)
    by = {(turn.session, turn.seq): turn.path for name in reading.sessions for turn in reading.turns(name, 1, 10**6)}
    return {id: by[place] for id, place in ids.items() if place in by}


def articles(memory: Memory) -> dict[str, str]:
    folder = memory.vault.root / "articles"
    return {file.name: file.read_text("utf-8") for file in sorted(folder.glob("*.md"))}


_CITED = re.compile(r"(.+?)((?:\[\^\d+\])+)\s*", re.DOTALL)


def precision(memory: Memory, pages: dict[str, str]) -> dict[str, Any]:
    """Share of cited sentences all of whose words, names and dates apart, stand in the turns they cite."""
    said: dict[str, set[str]] = {}
    full, shares, uncited = 0, list[float](), 0
    for text in pages.values():
        known = article.notes(text)
        for line in article.section_text(text).splitlines():
            if not line.strip() or line == article.STUB:
                continue
            uncited += not re.search(r"\[\^\d+\]\s*$", line)
            for sentence, marks in _CITED.findall(re.sub(r"^\*[^*]+\.\* ", "", line)):
                words = set(query_terms(re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", sentence).replace("*", ""))) - DATES
                words = {word for word in words if not word.isdigit()}
                behind: set[str] = set()
                for number in map(int, re.findall(r"\d+", marks)):
                    source = known[number]
                    if source.path not in said:
                        said[source.path] = set(terms(str(memory.show(source.path, touch=False)["text"])))
                    behind |= said[source.path] | set(terms(source.who))
                share = len(words & behind) / len(words) if words else 1.0
                full += share == 1.0
                shares.append(share)
    return {
        "sentences": len(shares),
        "uncited_paragraphs": uncited,
        "citation_precision": round(mean(share >= 0.8 for share in shares), 3),
        "every_word_contained": round(full / len(shares), 3),
        "words_contained": round(mean(shares), 3),
    }


def _opens(memory: Memory, path: str) -> bool:
    return bool(memory.show(path, touch=False)["text"])


def growth(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One conversation, session by session: what each dream changes of articles that stood before it."""
    grown, changed = list[int](), list[int]()
    kept, made, routed = list[float](), list[int](), list[float]()
    with home() as memory:
        for name, said, _ in sessions(rows[:1]):
            before = articles(memory)
            memory.capture(said, session=name, index=False)
            memory.dream()
            after = articles(memory)
            made.append(len(after) - len(before))
            for page, text in before.items():
                if after[page] == text:
                    continue
                was = {row.anchor: text[row.start : row.end] for row in article.body_sections(text)}
                now = {row.anchor: after[page][row.start : row.end] for row in article.body_sections(after[page])}
                same = sum(now.get(anchor) == body for anchor, body in was.items())
                kept.append(same / len(was) if was else 1.0)
                grown.append(len(after[page].encode()) - len(text.encode()))
                changed.append(bytes_changed(text, after[page]))
                routed.append(len(was))
    return {"sessions": len(made), "created": sum(made), "updates": len(changed), "bytes_per_update": round(mean(changed)),
            "bytes_grown_per_update": round(mean(grown)),
            "sections_untouched": round(mean(kept), 3), "sections_per_updated_article": round(mean(routed), 2)}  # fmt: skip


def bytes_changed(before: str, after: str) -> int:
    """Bytes put in and bytes taken out; a line that grew counts with what was put into it."""
    a, b = before.splitlines(keepends=True), after.splitlines(keepends=True)
    total = 0
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            old, new = "".join(a[a0:a1]), "".join(b[b0:b1])
            same = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
            kept = sum(len(old[at.a : at.a + at.size].encode()) for at in same)
            total += len(old.encode()) + len(new.encode()) - 2 * kept
    return total


def scale(rows: Sequence[dict[str, Any]], least: int, days: int = 0) -> dict[str, Any]:
    """A whole night over so many turns at once: seconds and the process's greatest memory.

    With `days`, all was said in so many days before now, so that nothing is moved and everything embedded and compared; else
    when it was, so that nearly all is moved to the cold shelf.
    """
    with home() as memory:
        count, times = 0, 0
        now = to_ms(memory.clock.now())
        while count < least:
            for name, said, _ in sessions(rows, times):
                if count < least:
                    at = now - days * DAY_MS * (least - count) // least
                    memory.capture([replace(turn, created_at=at) for turn in said] if days else said, session=name, index=False)
                    count += len(said)
            times += 1
        begun = perf_counter()
        report = memory.dream()
        seconds = perf_counter() - begun
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        stages = {row["name"]: row["seconds"] for row in report["stages"]}
        return {"turns": count, "seconds": round(seconds, 1), "seconds_per_1000_turns": round(1000 * seconds / count, 2),
                "peak_mb": peak, "articles": report["articles"],
                "stages": {"sync and indexing": round(seconds - sum(stages.values()), 3), **stages}}  # fmt: skip


if __name__ == "__main__":
    main()
