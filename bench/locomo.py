"""How often recall brings back the turns that answer a question: `python -m bench.locomo`.

    python -m bench.locomo --data FILE [--scoring structure|seed] [--limit-conversations N] [--json]

The data is LoCoMo (Maharana et al. 2024, arXiv:2402.17753), in the shape of its `locomo10.json`. Every
conversation is captured session by session, through the public API, into a namespace of its own in a temporary
home, and every question of the categories 1 to 4 is asked there. Nothing is generated and nothing judged by a
model: a question counts by the turns that its author named as evidence. The embedder is that of the environment
(MNEMIC_EMBEDDER, MNEMIC_MODEL_DIR). Plain full-text search (SQLite FTS5, BM25, any word) and, where the embedder
knows meaning, plain cosine are measured on the same turns, as what structure has to beat.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mnemic import Memory
from mnemic.embed import Embedder, open_embedder
from mnemic.embed.base import Kind, Vectors
from mnemic.models.answer import Budget, Scope
from mnemic.models.document import Turn
from mnemic.settings import EmbedSettings, load
from mnemic.text.when import parse_moment

DEPTH = 15
"""Hits that are asked for; MRR looks no further."""
ASKED = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""Categories by the numbers in the data; 5 has no answer in it."""
MINUTE = 60_000
WORD = re.compile(r"\w+")
STOP = frozenset(
    WORD.findall(
        "a about an and any are as at be been but by can could did do does for from had has have he her his how i if in "
        "is it its me my of on or our s she so some t than that the their them then there they this to was we were what "
        "when where which who whom whose why will with would you your"
    )
)


Ranking = Sequence[str]
Metrics = dict[str, float]


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: its id in the data and what is captured of it."""

    dia: str
    session: str
    turn: Turn


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    said: tuple[Said, ...]
    questions: tuple[Question, ...]


@dataclass(slots=True)
class Kept:
    """An embedder that remembers its passages, so that the plain cosine does not embed them twice."""

    inner: Embedder
    seen: dict[str, Vectors] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dim(self) -> int:
        return self.inner.dim

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if kind == "query":
            return self.inner.embed(texts, kind)
        fresh = [text for text in dict.fromkeys(texts) if text not in self.seen]
        if fresh:
            self.seen |= dict(zip(fresh, self.inner.embed(fresh, kind), strict=True))
        return np.stack([self.seen[text] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo JSON file")
    parser.add_argument("--scoring", choices=("structure", "seed"), default="structure")
    parser.add_argument("--limit-conversations", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    talks = conversations(json.loads(options.data.read_text("utf-8")))[: options.limit_conversations]
    report = measure(talks, scoring=options.scoring, environ=dict(os.environ))
    print(json.dumps(report, indent=1) if options.json else render(report))


# the data


def conversations(rows: Iterable[dict[str, Any]]) -> list[Conversation]:
    """The conversations of a LoCoMo file, with the questions that have both a category and evidence that count."""
    found = []
    for number, row in enumerate(rows):
        said = turns(row["conversation"])
        known = {each.dia for each in said}
        asked = [
            Question(qa["question"], qa["category"], evidence(qa.get("evidence", ()), known))
            for qa in row["qa"]
            if qa["category"] in ASKED
        ]
        name = str(row.get("sample_id", f"conversation-{number}"))
        found.append(Conversation(name, tuple(said), tuple(each for each in asked if each.evidence)))
    return found


def turns(talk: dict[str, Any]) -> list[Said]:
    """All turns in order. A turn's moment is its session's and a minute more for each turn before it."""
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    found = []
    for number in numbers:
        session = f"session_{number}"
        start = int(parse_moment(talk[f"{session}_date_time"], datetime(2026, 1, 1, tzinfo=UTC)).timestamp() * 1000)
        for place, row in enumerate(talk[session]):
            role = "user" if row["speaker"] == talk["speaker_a"] else "assistant"
            turn = Turn(role, text_of(row), row["speaker"], start + place * MINUTE)
            found.append(Said(row["dia_id"], session, turn))
    return found


def text_of(row: dict[str, Any]) -> str:
    caption = row.get("blip_caption")
    return f"{row['text']} [shares a photo: {caption}]" if caption else str(row["text"])


def evidence(ids: Iterable[str], known: set[str]) -> frozenset[str]:
    """The turns that evidence ids name. Some hold several ("D8:6; D9:17"); what names no turn is dropped."""
    return frozenset(part for each in ids for part in re.split(r"[;,\s]+", each) if part in known)


# the measures


def grade(ranking: Ranking, wanted: frozenset[str]) -> Metrics:
    """Binary relevance. `recall@k`: share of the evidence in the first k; `any@k`: whether one of it is there."""
    places = [place for place, dia in enumerate(ranking, 1) if dia in wanted]
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


def measure(talks: Sequence[Conversation], *, scoring: str, environ: dict[str, str]) -> dict[str, Any]:
    embedder = Kept(_embedder(environ))
    counting = embedder.identity.startswith("hashing/")
    rankers: dict[str, list[Metrics]] = {"turn": [], "bm25": []}
    if not counting:
        rankers["cosine"] = []
    categories: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        for talk in talks:
            asks: dict[str, Callable[[str], Ranking]] = {}
            with _captured(talk, Path(folder), embedder) as memory:
                asks["turn"] = _recall(memory, talk, scoring)
                asks["bm25"] = _bm25(talk)
                if not counting:
                    asks["cosine"] = _cosine(talk, embedder)
                for question in talk.questions:
                    categories.append(question.category)
                    for name, ask in asks.items():
                        rankers[name].append(grade(ask(question.text)[:DEPTH], question.evidence))
    own = rankers.pop("turn")
    by_category = {
        name: {"questions": categories.count(number)}
        | mean([each for each, category in zip(own, categories, strict=True) if category == number])
        for number, name in ASKED.items()
        if number in categories
    }
    return {
        "questions": len(categories),
        "turn": mean(own),
        "by_category": by_category,
        "baseline": {name: mean(grades) for name, grades in rankers.items()},
        "embedder": embedder.identity,
        "scoring": scoring,
    }


def _embedder(environ: dict[str, str]) -> Embedder:
    embed: EmbedSettings = load(environ).embed
    return open_embedder(
        embed.embedder, model=embed.model, dim=embed.dim, url=embed.url, key=embed.key.value or None,
        download=embed.download, threads=embed.threads,
    )  # fmt: skip


# the rankings


def _captured(talk: Conversation, folder: Path, embedder: Embedder) -> Memory:
    memory = Memory.open(
        folder / "home", namespace=talk.name, environ={"MNEMIC_CONFIG": str(folder / "config")}, embedder=embedder
    )
    for session in dict.fromkeys(each.session for each in talk.said):
        memory.capture([each.turn for each in talk.said if each.session == session], session=session)
    return memory


def _recall(memory: Memory, talk: Conversation, scoring: str) -> Callable[[str], Ranking]:
    scope = Scope(kinds=("message",))
    budget = Budget(nodes=DEPTH, chars=10**6, node_chars=4_000)
    at = {(each.session, each.turn.created_at): each.dia for each in talk.said}

    def ask(question: str) -> Ranking:
        hits = memory.recall(question, scope=scope, budget=budget, scoring=scoring).hits
        return list(dict.fromkeys(at[hit.session or "", hit.created_at] for hit in hits))

    return ask


def _bm25(talk: Conversation) -> Callable[[str], Ranking]:
    import apsw

    base = apsw.Connection(":memory:")
    base.execute("CREATE VIRTUAL TABLE said USING fts5(body, tokenize='porter unicode61')")
    base.executemany(
        "INSERT INTO said(rowid, body) VALUES (?, ?)",
        [(place, f"{each.turn.name}: {each.turn.content}") for place, each in enumerate(talk.said, 1)],
    )

    def ask(question: str) -> Ranking:
        words = [word for word in WORD.findall(question.lower()) if word not in STOP]
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        rows = base.execute("SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank, rowid LIMIT ?", (match, DEPTH))
        return [talk.said[row - 1].dia for (row,) in rows]

    return ask


def _cosine(talk: Conversation, embedder: Embedder) -> Callable[[str], Ranking]:
    from mnemic.text.passage import passage

    texts = [
        passage(each.turn.content, 0, len(each.turn.content), speaker=each.turn.name, title="") for each in talk.said
    ]
    vectors = np.concatenate([embedder.embed(texts[at : at + 32], "passage") for at in range(0, len(texts), 32)])

    def ask(question: str) -> Ranking:
        order = np.argsort(-(vectors @ embedder.embed([question], "query")[0]), kind="stable")
        return [talk.said[place].dia for place in order[:DEPTH].tolist()]

    return ask


def render(report: dict[str, Any]) -> str:
    rows = {report["scoring"]: report["turn"], **report["baseline"], **report["by_category"]}
    names = ("recall@5", "recall@10", "any@5", "any@10", "mrr", "ndcg@10")
    lines = [f"{report['questions']} questions, {report['embedder']}", " " * 12 + "".join(f"{n:>11}" for n in names)]
    lines += [f"{name:12}" + "".join(f"{row.get(each, 0):11.3f}" for each in names) for name, row in rows.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
