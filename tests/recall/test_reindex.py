"""Reindexing makes everything derived anew, so whatever answers differently afterwards was derived wrongly before."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.models.answer import Budget, Scope
from mnemic.models.document import Turn
from mnemic.recall import codebook
from tests.recall.meaning import Meaning, opened

WORDS = ("cat", "feline", "harbour", "pier", "salary", "cash", "ocean", "rope", "橘猫", "打雷", "公园")
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
NOTE = st.one_of(
    SENTENCE,
    st.lists(SENTENCE, min_size=2, max_size=4).map(lambda parts: "\n\n".join(f"## {part}\n\n{part}." for part in parts)),
)
STEP = st.one_of(
    st.tuples(st.just("remember"), NOTE),
    st.tuples(st.just("revise"), NOTE),
    st.tuples(st.just("say"), st.lists(SENTENCE, min_size=1, max_size=4).map("\n".join)),
    st.tuples(st.just("forget"), st.sampled_from(["/notes/log", "/sessions/s/1"])),
)
QUERIES = ("cat", "harbour pier", "我的猫", "猫", '"cat harbour"', "salary of the ocean", "打雷 rope")
ALL = Budget(nodes=30, chars=100_000)


def act(memory: Memory, step: tuple[str, str]) -> None:
    kind, text = step
    if kind == "remember":
        memory.remember(text)
    elif kind == "revise":
        memory.remember(text, title="log", source="file:///log.md")
    elif kind == "say":
        memory.capture([Turn("assistant" if n % 2 else "user", line) for n, line in enumerate(text.split("\n"))], session="s")
    elif memory.tree() and any(row["path"] == text for row in memory.tree(depth=4)):
        memory.forget(text)


def answers(memory: Memory) -> list[object]:
    scopes = (None, Scope(within="/notes"), Scope(kinds=("message",)))
    return [
        (query, scoring, [(hit.path, hit.text, round(hit.score, 6)) for hit in found.hits], found.omitted, found.reason)
        for query in QUERIES
        for scoring in ("structure", "seed")
        for scope in scopes
        for found in [memory.recall(query, scope=scope, scoring=scoring, budget=ALL)]
    ]


@pytest.mark.parametrize("meaning", [False, True], ids=["words", "meaning"])
@settings(max_examples=6)
@given(steps=st.lists(STEP, min_size=1, max_size=8))
def test_reindexing_changes_no_answer(meaning: bool, steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), embedder=Meaning() if meaning else None) as memory:
        for step in steps:
            act(memory, step)
        before = answers(memory)
        memory.reindex()
        assert answers(memory) == before


def test_reindexing_changes_no_answer_where_codes_are_in_use_nor_does_opening_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codebook, "EXACT_BELOW", 60)
    monkeypatch.setattr(codebook, "BLOCK", 32)
    monkeypatch.setattr(codebook, "SAMPLE", 16)
    with opened(tmp_path, embedder=Meaning()) as memory:
        lines = [f"{WORDS[n % 11]} {WORDS[n % 7]} number{n}" for n in range(120)]
        memory.capture([Turn("assistant" if n % 2 else "user", line) for n, line in enumerate(lines)], session="s")
        memory.remember("## Cat\n\nThe feline by the ocean.\n\n## 橘猫\n\n橘猫怕打雷。", title="log", source="file:///log.md")
        memory.remember("## Cat\n\nThe feline by the harbour.\n\n## 橘猫\n\n橘猫怕打雷。", title="log", source="file:///log.md")
        row = memory._store.embedder(memory._embedder.identity, memory._embedder.dim)
        assert len(memory._store.codes("default", row.id)) >= 3
        before = answers(memory)
        memory.reindex()
        assert answers(memory) == before
    with opened(tmp_path, embedder=Meaning()) as memory:
        assert answers(memory) == before
