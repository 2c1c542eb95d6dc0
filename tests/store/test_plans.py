"""No statement of a write or a recall may read a whole namespace: it would cost nothing in a test and all at a million."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnemic.clock import FixedClock
from mnemic.memory import Memory
from mnemic.models.answer import Scope
from mnemic.models.document import Turn
from tests.homes import NOON

WALKS = re.compile(
    r"\bSCAN (?!CONSTANT|place|run|fulltext|temp.vocabulary|\(subquery|\d)|\(ns=\?\)"
    r"|\bl USING PRIMARY KEY \(ns=\? AND seq>\?\)"
)
BY_NATURE = (
    "FROM visibility",  # the few paths that were forgotten
    "count(*) FROM queue",  # what waits to be embedded
    "FROM namespaces",
    "FROM queue q",
    "FROM embedders",
    "FROM meta",
    "FROM codes WHERE ns=? AND embedder=? AND first>?",
    "DISTINCT embedder FROM codes",
    "ORDER BY seq DESC LIMIT 1",  # the head of the ledger
    "extracted_at IS NULL",  # what waits to be extracted
    "FROM extractions WHERE ns=? ORDER BY id DESC LIMIT",  # the last extraction
    "ORDER BY stamp DESC LIMIT",  # the vectors that came last
)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "c")}, clock=FixedClock(NOON))


def plans(memory: Memory) -> list[str]:
    """The statements since tracing began whose plan walks a namespace, with the plan."""
    db = memory._store.hot.connection()
    found = []
    for sql in sorted(traced):
        if any(mark in sql for mark in BY_NATURE) or not re.match(r"\s*(SELECT|WITH|DELETE|UPDATE)", sql):
            continue
        marks = [None] * sql.count("?")
        for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", marks).fetchall():
            # json_each holds what is asked for, not what is stored.
            if WALKS.search(str(row[3])) and "json_each" not in str(row[3]):
                found.append(f"{row[3]}: {sql}")
    return sorted(found)


traced: set[str] = set()


def trace(memory: Memory) -> None:
    traced.clear()

    def note(_: object, sql: str, __: object) -> bool:
        traced.add(sql)
        return True

    memory._store.hot.connection().exec_trace = note


def test_a_write_walks_no_namespace(memory: Memory) -> None:
    memory.remember("The kiln fires at noon.")
    trace(memory)
    memory.remember("# Kiln\n\nIt fires at noon.\n\n- and at night", title="kiln", source="file:///kiln.md")
    memory.remember("# Kiln\n\nIt fires at dusk.", title="kiln", source="file:///kiln.md")
    memory.capture([Turn("user", "When does it fire?"), Turn("assistant", "At dusk. " * 300)], session="s")
    memory._store.hot.connection().exec_trace = None
    assert len(traced) > 20
    assert plans(memory) == []


def test_a_recall_walks_no_namespace(memory: Memory) -> None:
    memory.capture([Turn("user", "When does the kiln fire?"), Turn("assistant", "At dusk. " * 300)], session="s")
    memory.remember("# Kiln\n\nIt fires at noon.")
    trace(memory)
    for question in ("When does the kiln fire?", '"the kiln" 窑', "what did I say last week"):
        memory.recall(question, why_not=["/nowhere"])
        memory.recall(question, scope=Scope(within="/sessions"))
    memory.show(memory.recall("kiln").hits[0].path)
    memory._store.hot.connection().exec_trace = None
    assert len(traced) > 15
    assert plans(memory) == []


def test_diary_extraction_and_profile_walk_no_namespace(memory: Memory) -> None:
    def learn(value: str, **more: str) -> None:
        source = memory.diary.add(f"I live in {value}")["id"]
        fact = {"category": "identity", "key": "city", "value": value, "source_diary_ids": [source], **more}
        concern = {"title": f"Move to {value}", "source_diary_ids": [source]}
        memory.extract({"proposals": [fact], "concerns": [concern]})

    learn("Porto")
    trace(memory)
    learn("Porto")
    learn("Lisbon")
    learn("Lisbon", action="withdraw")
    memory.facts.add("identity", "name", "Ada")
    memory.facts.show(1)
    memory.facts.list(key="city")
    memory.concerns.show(1)
    memory.concerns.delete(1)
    memory.profile()
    memory._store.hot.connection().exec_trace = None
    assert len(traced) > 20
    assert plans(memory) == []
