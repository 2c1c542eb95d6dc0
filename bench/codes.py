"""How many of the exact nearest vectors compact codes keep, and what a search costs: `python -m bench.codes`.

    python -m bench.codes --data DIR --model DIR [--cache FILE.npz] [--sizes 40000,100000,1000000] [--json]

Passages and questions are taken from any folder: strings under the keys `content` and `text` of JSON files,
paragraphs of Markdown, also inside tar archives; questions are the strings under `question`. They are
embedded by the given model, 20 to 100 a second, and kept in the cache file if one is named. Sizes beyond the
number of passages are reached by points between near neighbours with a little noise, as no random vectors lie
where a model puts them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.embed import centred, open_embedder
from mnemic.recall.codes import Coder, Codes, drift, nearest, scan

Floats = NDArray[np.float32]
TOP = 20
FACTORS = (5, 10, 20, 40)
PIECE = 600


def main() -> None:
    options = parse()
    passages, sources, questions = vectors(options)
    report: dict[str, Any] = {
        "passages": len(passages),
        "questions": len(questions),
        "sizes": [],
        "stale": [],
    }
    report["mean_cosine"] = round(float(np.sum(passages.mean(axis=0) ** 2)), 3)
    grower = Grower(passages)
    for size in options.sizes:
        report["sizes"].append(at_size(grower.grow(size), passages, questions, options.queries))
    report["stale"] = stale(passages, sources, questions, options.queries)
    print(json.dumps(report, indent=1) if options.json else render(report))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True, help="model folder")
    parser.add_argument("--cache", type=Path, help="npz file to keep the vectors in")
    parser.add_argument("--most", type=int, default=40_000, help="passages to embed")
    parser.add_argument("--queries", type=int, default=100, help="of each kind")
    parser.add_argument(
        "--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[40_000, 100_000]
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


# --- vectors from a folder ---


def vectors(options: argparse.Namespace) -> tuple[Floats, NDArray[np.str_], Floats]:
    if options.cache and options.cache.exists():
        with np.load(options.cache) as kept:
            return kept["passages"], kept["sources"], kept["questions"]
    embedder = open_embedder("onnx", model=options.model)
    texts, asked = gather(options.data)
    draw = random.Random(1)
    draw.shuffle(texts)
    draw.shuffle(asked)
    texts = texts[: options.most]
    passages = embed_loudly(lambda part: embedder.embed(part, "passage"), [text for _, text in texts])
    questions = embedder.embed(asked[: 4 * options.queries], "query")
    sources = np.array([source for source, _ in texts])
    if options.cache:
        np.savez(options.cache, passages=passages, sources=sources, questions=questions)
    return passages, sources, questions


def embed_loudly(embed: Callable[[list[str]], Floats], texts: list[str]) -> Floats:
    parts = []
    for start in range(0, len(texts), 500):
        print(f"embedding {start} of {len(texts)}", end="\r", file=sys.stderr, flush=True)
        parts.append(embed(texts[start : start + 500]))
    return np.concatenate(parts)


def gather(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Distinct passages with the folder they come from, and distinct questions."""
    passages: dict[str, str] = {}
    questions: dict[str, None] = {}
    for name, raw in files(folder):
        source = name.split("/")[0]
        if name.endswith(".md"):
            passages |= {piece: source for piece in pieces(raw)}
            continue
        for value in documents(name, raw):
            for key, text in strings(value):
                if key == "question":
                    questions[text] = None
                else:
                    passages |= {piece: source for piece in pieces(text)}
    return [(source, text) for text, source in passages.items()], list(questions)


def files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".json", ".jsonl", ".md"):
            yield name, path.read_text("utf-8", "replace")
        elif name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                for member in archive:
                    stream = (
                        archive.extractfile(member)
                        if member.name.endswith((".json", ".jsonl", ".md"))
                        else None
                    )
                    if stream:
                        yield f"{name}/{member.name}", stream.read().decode("utf-8", "replace")


def documents(name: str, raw: str) -> Iterator[Any]:
    for part in raw.splitlines() if name.endswith(".jsonl") else [raw]:
        try:
            yield json.loads(part)
        except ValueError:
            continue


def strings(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("content", "text", "context", "question") and isinstance(inner, str):
                yield key, inner
            else:
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def pieces(text: str) -> Iterator[str]:
    """Paragraphs, joined while short and cut while longer than 600 characters."""
    held = ""
    for paragraph in text.split("\n\n"):
        held = f"{held}\n{paragraph.strip()}".strip()
        while len(held) > PIECE:
            cut = max(held.rfind(mark, PIECE // 3, PIECE) for mark in ("\n", ". ", "。", " "))
            cut = cut + 1 if cut > 0 else PIECE
            yield held[:cut].strip()
            held = held[cut:].strip()
        if len(held) > PIECE * 0.6:
            yield held
            held = ""
    if len(held) > 10:
        yield held


class Grower:
    """More vectors like the given ones: points between a vector and one of its ten nearest, slightly off the
    line.
    """

    def __init__(self, base: Floats) -> None:
        self.base = base
        self.near: NDArray[np.intp] | None = None

    def grow(self, size: int) -> Floats:
        if size <= len(self.base):
            return self.base[:size]
        near = self.near = self.near if self.near is not None else neighbours(self.base)
        draw = np.random.default_rng(4)
        out = np.empty((size, self.base.shape[1]), np.float32)
        out[: len(self.base)] = self.base
        for start in range(len(self.base), size, 50_000):
            part = out[start : start + 50_000]
            one = draw.integers(len(self.base), size=len(part))
            other = near[one, draw.integers(near.shape[1], size=len(part))]
            share = draw.uniform(0.25, 0.75, (len(part), 1)).astype(np.float32)
            gap = np.linalg.norm(self.base[one] - self.base[other], axis=1, keepdims=True)
            noise = draw.normal(size=part.shape).astype(np.float32) * (0.25 / np.sqrt(part.shape[1])) * gap
            mixed = share * self.base[one] + (1 - share) * self.base[other] + noise
            part[:] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        return out


def neighbours(base: Floats, k: int = 10) -> NDArray[np.intp]:
    moved = centred(base, base.mean(axis=0))
    out = np.empty((len(base), k), np.intp)
    for start in range(0, len(base), 2000):
        cosines = moved[start : start + 2000] @ moved.T
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -2
        out[start : start + 2000] = np.argpartition(-cosines, k, axis=1)[:, :k]
    return out


# --- measures ---


def at_size(stored: Floats, passages: Floats, questions: Floats, count: int) -> dict[str, Any]:
    coder = Coder.fit(stored[:: max(1, len(stored) // 50_000)])
    moved, codes = spread_out(stored, coder)
    asked = kinds(passages, questions, count)
    zero = Coder(np.zeros_like(coder.mean))
    plain = np.hstack([zero.encode(stored[at : at + 50_000]) for at in range(0, len(stored), 50_000)])
    words = len(codes) // 2
    ways: dict[str, Callable[[Floats, int], NDArray[np.intp]]] = {
        "signs": lambda query, k: by_signs(plain[:words], query, zero, k),
        "signs after the mean": lambda query, k: by_signs(codes[:words], query, coder, k),
        "two bits after the mean": lambda query, k: nearest(codes, query, coder, k),
    }
    recall = {
        way: {kind: kept(moved, queries, coder, candidates) for kind, queries in asked.items()}
        for way, candidates in ways.items()
    }
    query = asked["passages"][0]
    return {
        "size": len(stored),
        "recall": recall,
        "raw_cosine": {kind: kept_raw(stored, codes, queries, coder) for kind, queries in asked.items()},
        "ms": {
            "float scan": best_ms(lambda: scan(stored, query, TOP)),
            **{way: best_ms(lambda c=candidates: c(query, 20 * TOP)) for way, candidates in ways.items()},  # type: ignore[misc]
        },
        "bytes": {"float32": stored.shape[1] * 4, "two bits": codes.itemsize * len(codes)},
    }


def spread_out(stored: Floats, coder: Coder) -> tuple[Floats, Codes]:
    moved = np.empty_like(stored)
    codes = []
    for start in range(0, len(stored), 50_000):
        moved[start : start + 50_000] = centred(stored[start : start + 50_000], coder.mean)
        codes.append(coder.encode(stored[start : start + 50_000]))
    return moved, np.hstack(codes)


def kinds(passages: Floats, questions: Floats, count: int) -> dict[str, Floats]:
    """Stored passages asked again (as for similar edges), and questions (as in recall): far harder."""
    return {"passages": passages[:: max(1, len(passages) // count)][:count], "questions": questions[:count]}


def by_signs(codes: Codes, query: Floats, coder: Coder, k: int) -> NDArray[np.intp]:
    point = coder.encode(query[None])[: len(codes), 0]
    total = np.zeros(codes.shape[1], np.int32)
    for row, word in zip(codes, point, strict=True):
        total += np.bitwise_count(row ^ word)
    return np.argpartition(total, min(k, len(total) - 1))[:k]


def kept(
    moved: Floats, queries: Floats, coder: Coder, candidates: Callable[[Floats, int], NDArray[np.intp]]
) -> dict[str, float]:
    exact = [scan(moved, centred(query, coder.mean), TOP) for query in queries]
    return {
        str(factor): round(
            float(
                np.mean(
                    [
                        np.isin(e, candidates(q, factor * TOP)).mean()
                        for e, q in zip(exact, queries, strict=True)
                    ]
                )
            ),
            4,
        )
        for factor in FACTORS
    }


def kept_raw(stored: Floats, codes: Codes, queries: Floats, coder: Coder) -> float:
    """The share kept when the exact order is that of plain cosines, at 20 candidates a result."""
    shares = [
        np.isin(scan(stored, query, TOP), nearest(codes, query, coder, 20 * TOP)).mean() for query in queries
    ]
    return round(float(np.mean(shares)), 4)


def stale(passages: Floats, sources: NDArray[np.str_], questions: Floats, count: int) -> list[dict[str, Any]]:
    """What is kept when the mean was fitted on 5,000 of one source, or on few, and never renewed."""
    fresh = Coder.fit(passages)
    moved = centred(passages, fresh.mean)
    samples = {"200 of all": passages[:200], "1000 of all": passages[:1000], "5000 of all": passages[:5000]}
    samples |= {
        f"5000 of {source}": passages[sources == source][:5000] for source in sorted(set(sources.tolist()))
    }
    out = []
    for name, sample in samples.items():
        old = Coder.fit(sample)
        codes = old.encode(passages)
        share = {
            kind: kept(moved, queries, fresh, lambda query, k, c=codes, o=old: nearest(c, query, o, k))["20"]  # type: ignore[misc]
            for kind, queries in kinds(passages, questions, count).items()
        }
        out.append({"fitted_on": name, "drift": round(drift(old.mean, fresh.mean), 3), "recall": share})
    return out


def best_ms(run: Callable[[], object], times: int = 5) -> float:
    run()
    took = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return round(min(took) * 1000, 1)


def render(report: dict[str, Any]) -> str:
    lines = [
        f"{report['passages']} passages, mean cosine {report['mean_cosine']}; kept of the exact top {TOP}"
    ]
    for size in report["sizes"]:
        lines.append(f"\n{size['size']} vectors, ms: {size['ms']}, bytes each: {size['bytes']}")
        lines.append(f"{'':26}{'':12}" + "".join(f"{factor:>8}x" for factor in FACTORS))
        for way, by_kind in size["recall"].items():
            for kind, shares in by_kind.items():
                lines.append(f"{way:26}{kind:12}" + "".join(f"{share:9.4f}" for share in shares.values()))
        lines.append(f"two bits, against plain cosines, 20x: {size['raw_cosine']}")
    lines.append("\nmean fitted once, two bits, 20x")
    lines += [f"{row['fitted_on']:24} drift {row['drift']:.3f}  {row['recall']}" for row in report["stale"]]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
