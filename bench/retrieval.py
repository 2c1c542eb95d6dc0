"""What the retrieval benches have in common: collections, measures, baselines and the command line.

A collection is what one memory holds (the turns of a conversation, or passages) with the questions asked of it.
It goes in through the public API, session by session, into a namespace of its own in a temporary home, and every
question is asked there. Nothing is generated and nothing judged by a model: a question counts by the items that the
data names as its evidence. What a memory has to beat is measured on the same items in the same run: full-text search
(SQLite FTS5, BM25, any word), and where the embedder knows meaning, plain cosine and the fusion of both by ranks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mnemic import Memory
from mnemic.clock import from_ms
from mnemic.embed import Embedder, open_embedder
from mnemic.embed.base import Kind, Vectors
from mnemic.models.answer import Budget, Scope
from mnemic.models.document import Turn
from mnemic.recall.score import SCORINGS
from mnemic.settings import load

DEPTH = 15
"""Hits that are asked for; MRR looks no further."""
METRICS = ("recall@5", "recall@10", "any@5", "any@10", "mrr", "ndcg@10")
MINUTE = 60_000
RRF_K = 60
"""Cormack, Clarke and Büttcher 2009, Reciprocal Rank Fusion."""
WORD = re.compile(r"\w+")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
STOP = frozenset(
    WORD.findall(
        "a about an and any are as at be been but by can could did do does for from had has have he her his how i if in "
        "is it its me my of on or our s she so some t than that the their them then there they this to was we were what "
        "when where which who whom whose why will with would you your"
    )
)

T = TypeVar("T")
Ranking = Sequence[str]
Ask = Callable[[str], Ranking]
Metrics = dict[str, float]
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """What can be found: a turn of a session, or a passage, which has none."""

    id: str
    session: str | None
    turn: Turn
    """With `created_at`, by which an item is told from others of its session."""

    @property
    def text(self) -> str:
        return f"{self.turn.name}: {self.turn.content}" if self.turn.name else self.turn.content


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]
    """Ids of the items that answer it; at least one."""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    unanswerable: tuple[str, ...] = ()
    """Questions about the same things that nothing here answers."""


@dataclass(frozen=True, slots=True)
class Home:
    """A memory that holds a collection."""

    collection: Collection
    memory: Memory

    def ask(self, question: str, *, scoring: str = "structure") -> Ranking:
        """The distinct items that recall brings back, best first."""
        at = {(item.session, item.turn.created_at): item.id for item in self.collection.items}
        budget = Budget(nodes=DEPTH, chars=10**6, node_chars=4_000)
        kinds = () if self.collection.items[0].session is None else ("message",)
        hits = self.memory.recall(question, scope=Scope(kinds=kinds), budget=budget, scoring=scoring).hits
        return list(dict.fromkeys(at[hit.session, hit.created_at] for hit in hits))


@dataclass(slots=True)
class Kept:
    """An embedder that embeds no text twice, in this run or, with a file, in the runs that share it."""

    inner: Embedder
    file: Path | None = None
    seen: dict[str, Vectors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file and self.file.exists():
            with np.load(self.file) as kept:
                self.seen = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def counting(self) -> bool:
        """Whether its vectors count words and know no meaning."""
        return self.identity.startswith("hashing/")

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        keys = [blake2b(f"{self.identity} {kind} {text}".encode(), digest_size=16).hexdigest() for text in texts]
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.seen}
        if fresh:
            self.seen |= dict(zip(fresh, self.inner.embed(list(fresh.values()), kind), strict=True))
        return np.stack([self.seen[key] for key in keys])

    def keep(self) -> None:
        """Write the vectors to the file, if there is one."""
        if self.file:
            np.savez(self.file, keys=np.array(list(self.seen)), vectors=np.stack(list(self.seen.values())))


# filling


@contextmanager
def filled(collections: Iterable[Collection], embedder: Embedder) -> Iterator[list[Home]]:
    """Memories that hold the collections, until the block ends."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        yield [stack.enter_context(_filled(collection, Path(folder), embedder)) for collection in collections]


@contextmanager
def _filled(collection: Collection, folder: Path, embedder: Embedder) -> Iterator[Home]:
    config = {"MNEMIC_CONFIG": str(folder / "config")}
    with Memory.open(folder / "home", namespace=collection.name, environ=config, embedder=embedder) as memory:
        for session in dict.fromkeys(item.session for item in collection.items):
            turns = [item.turn for item in collection.items if item.session == session]
            if session is not None:
                memory.capture(turns, session=session, index=False)
                continue
            for turn in turns:
                memory.remember(turn.content, at=from_ms(turn.created_at or 0), index=False)
        memory.index()
        yield Home(collection, memory)


# the measures


def grade(ranking: Ranking, wanted: frozenset[str]) -> Metrics:
    """Binary relevance. `recall@k`: share of the evidence in the first k; `any@k`: whether one of it is there."""
    places = [place for place, item in enumerate(ranking, 1) if item in wanted]
    gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(wanted)) + 1))
    within = {k: sum(place <= k for place in places) for k in (5, 10)}
    return {
        "recall@5": within[5] / len(wanted),
        "recall@10": within[10] / len(wanted),
        "any@5": float(within[5] > 0),
        "any@10": float(within[10] > 0),
        "mrr": 1 / places[0] if places else 0.0,
        "ndcg@10": gain / ideal,
    }


def mean(grades: Sequence[Metrics]) -> Metrics:
    if not grades:
        return {}
    return {name: round(sum(each[name] for each in grades) / len(grades), 4) for name in grades[0]}


def measure(homes: Sequence[Home], embedder: Kept, scoring: str = "structure") -> Report:
    """How often recall, and the baselines, bring back the evidence."""
    own: list[Metrics] = []
    others: dict[str, list[Metrics]] = {}
    for home in homes:
        own += grades(home.collection, partial(home.ask, scoring=scoring))
        for name, ask in baselines(home.collection, embedder).items():
            others.setdefault(name, []).extend(grades(home.collection, ask))
    categories = [question.category for home in homes for question in home.collection.questions]
    by_category = {
        name: {"questions": categories.count(name)}
        | mean([each for each, category in zip(own, categories, strict=True) if category == name])
        for name in sorted(set(categories) - {""})
    }
    return {
        "questions": len(own),
        "turn": mean(own),
        "by_category": by_category,
        "baseline": {name: mean(found) for name, found in others.items()},
        "embedder": embedder.identity,
        "scoring": scoring,
    }


def grades(collection: Collection, ask: Ask, *, most: int | None = None) -> list[Metrics]:
    """The metrics of every question, or of at most so many of them."""
    questions = collection.questions if most is None else drawn(collection.questions, most)
    return [grade(ask(question.text)[:DEPTH], question.evidence) for question in questions]


def drawn(questions: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of the questions, at even steps."""
    return questions[:: max(1, math.ceil(len(questions) / most))]


# the baselines


def baselines(collection: Collection, embedder: Kept) -> dict[str, Ask]:
    """Plain rankings of the same items by name; those that need meaning only where the embedder knows it."""
    lexical = bm25(collection.items)
    if embedder.counting:
        return {"bm25": lexical}
    near = cosine(collection.items, embedder)
    return {"bm25": lexical, "cosine": near, f"rrf{RRF_K}": partial(rrf, (lexical, near))}


def bm25(items: Sequence[Item]) -> Ask:
    """FTS5's BM25 over any word of the question that is no stop word; Chinese in pairs of characters."""
    import apsw

    base = apsw.Connection(":memory:")
    base.execute("CREATE VIRTUAL TABLE item USING fts5(body, tokenize='porter unicode61')")
    base.executemany(
        "INSERT INTO item(rowid, body) VALUES (?, ?)", [(place, paired(item.text)) for place, item in enumerate(items)]
    )

    def ask(question: str) -> Ranking:
        words = dict.fromkeys(word for word in WORD.findall(paired(question.lower())) if word not in STOP)
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = base.execute("SELECT rowid FROM item WHERE item MATCH ? ORDER BY rank, rowid", (match,))
        return [items[row].id for (row,) in rows]

    return ask


def paired(text: str) -> str:
    """The text with every run of CJK characters as its overlapping pairs, since FTS5 takes a run for one word."""
    return CJK.sub(lambda run: f" {' '.join(a + b for a, b in pairwise(run[0])) or run[0]} ", text)


def cosine(items: Sequence[Item], embedder: Embedder) -> Ask:
    """One vector for every item, which the model cuts at its own limit; best cosine first."""
    vectors = np.concatenate(
        [embedder.embed([item.text for item in items[at : at + 32]], "passage") for at in range(0, len(items), 32)]
    )

    def ask(question: str) -> Ranking:
        order = np.argsort(-(vectors @ embedder.embed([question], "query")[0]), kind="stable")
        return [items[place].id for place in order.tolist()]

    return ask


def rrf(asks: Sequence[Ask], question: str) -> Ranking:
    """Rankings fused by the sum of 1 / (60 + rank), ranks from 1."""
    scores: dict[str, float] = {}
    for ask in asks:
        for place, item in enumerate(ask(question), 1):
            scores[item] = scores.get(item, 0.0) + 1 / (RRF_K + place)
    return sorted(scores, key=lambda item: -scores[item])


# the command line


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """What every retrieval bench takes."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the data set, where you have put it")
    parser.add_argument("--scoring", choices=SCORINGS, default="structure")
    parser.add_argument("--limit-conversations", type=int, metavar="N", help="only the first N conversations")
    parser.add_argument("--vectors", type=Path, metavar="FILE.npz", help="keep embeddings here from run to run")
    parser.add_argument("--json", action="store_true")
    return parser


def publish(options: argparse.Namespace, collections: Sequence[Collection]) -> None:
    """Measure with the embedder of the environment (MNEMIC_EMBEDDER, MNEMIC_MODEL_DIR) and print the report."""
    embedder = opened(os.environ, options.vectors)
    with filled(collections[: options.limit_conversations], embedder) as homes:
        report = measure(homes, embedder, options.scoring)
    embedder.keep()
    print(json.dumps(report, indent=1) if options.json else render(report))


def opened(environ: Mapping[str, str], file: Path | None = None) -> Kept:
    embed = load(environ).embed
    inner = open_embedder(
        embed.embedder or "hashing", model=embed.model, dim=embed.dim, url=embed.url, key=embed.key.value or None,
        download=embed.download, threads=embed.threads,
    )  # fmt: skip
    return Kept(inner, file)


def render(report: Report) -> str:
    rows = {report["scoring"]: report["turn"], **report["baseline"], **report["by_category"]}
    width = max(len(name) for name in rows) + 1
    lines = [f"{report['questions']} questions, {report['embedder']}", " " * width + "".join(f"{n:>11}" for n in METRICS)]
    lines += [f"{name:{width}}" + "".join(f"{row.get(each, 0):11.3f}" for each in METRICS) for name, row in rows.items()]
    return "\n".join(lines)
