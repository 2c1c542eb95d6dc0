"""The store under LangGraph: a compiled graph uses it, and LangGraph's own store in memory is the oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langgraph.graph", reason="pip install 'mnemic[langgraph]'")
from langgraph.graph import START, StateGraph  # noqa: E402
from langgraph.store.base import (  # noqa: E402
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore  # noqa: E402

from mnemic import Memory  # noqa: E402
from mnemic.interfaces.integrations.langgraph import MemoryStore  # noqa: E402
from tests.interfaces.integrations.homes import home  # noqa: E402


@pytest.fixture
def store(memory: Memory) -> MemoryStore:
    return MemoryStore(memory)


class State(TypedDict):
    said: str
    known: list[str]


def test_a_graph_remembers_from_one_run_to_the_next(tmp_path: Path) -> None:
    def node(state: State, *, store: BaseStore) -> dict[str, Any]:
        known = [item.value["text"] for item in store.search(("users", "ada"), query=state["said"])]
        store.put(("users", "ada"), str(len(state["said"])), {"text": state["said"]})
        return {"known": known}

    def run(said: str) -> list[str]:
        with home(tmp_path) as memory:
            graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(store=MemoryStore(memory))
            return list(graph.invoke({"said": said, "known": []})["known"])

    assert run("I prefer the window seat.") == []
    assert run("Which seat do I prefer?") == ["I prefer the window seat."]


def test_an_item_comes_back_as_it_was_put(store: MemoryStore) -> None:
    value = {"text": "tea", "n": 1.5, "none": None, "deep": {"list": [1, "zwei", {"x": True}]}, "empty": ""}
    store.put(("users", "Ada Lovelace"), "likes/1", value)
    item = store.get(("users", "Ada Lovelace"), "likes/1")
    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "likes/1", ("users", "Ada Lovelace"))
    assert store.get(("users",), "likes/1") is None


def test_a_new_value_keeps_the_day_the_item_was_made(store: MemoryStore) -> None:
    store.put(("a",), "k", {"v": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"v": 2})
    second = store.get(("a",), "k")
    assert first is not None and second is not None
    assert second.value == {"v": 2}
    assert second.created_at == first.created_at < second.updated_at


def test_a_query_ranks_what_fits_and_leaves_out_what_does_not(store: MemoryStore) -> None:
    store.put(("u",), "1", {"text": "Ada sits by the window on every train."})
    store.put(("u",), "2", {"text": "Bob keeps three bees."})
    store.put(("other",), "3", {"text": "The window is broken."})
    found = store.search(("u",), query="Who sits by the window?")
    assert [item.key for item in found] == ["1"]
    assert found[0].score is not None
    assert store.search(("u",), query="quantum chromodynamics") == []
    assert {item.key for item in store.search((), query="window")} == {"1", "3"}


def test_recall_finds_only_what_index_names(memory: Memory) -> None:
    store = MemoryStore(memory, fields=["text"])
    store.put(("u",), "1", {"text": "zebra", "note": "walrus"})
    store.put(("u",), "2", {"text": "ostrich"}, index=False)
    store.put(("u",), "3", {"parts": [{"t": "gnu"}, {"t": "emu"}]}, index=["parts[*].t"])
    found = {word: [item.key for item in store.search(("u",), query=word)] for word in ("zebra", "walrus", "ostrich", "emu")}
    assert found == {"zebra": ["1"], "walrus": [], "ostrich": [], "emu": ["3"]}
    assert [item.key for item in store.search(("u",))] == ["1", "2", "3"]
    assert memory.recall("zebra").hits[0].origin == "agent"


def test_an_item_that_is_taken_out_hides_nothing_that_lies_in_its_name(store: MemoryStore) -> None:
    store.put(("a",), "b", {"v": 1})
    store.put(("a", "b"), "c", {"v": 2})
    store.put(("A",), "b", {"v": 3})
    store.delete(("a",), "b")
    assert store.get(("a",), "b") is None
    assert [item.value for item in store.search(())] == [{"v": 2}, {"v": 3}]
    store.put(("a",), "b", {"v": 1})
    assert store.get(("a",), "b") is not None


def test_what_was_taken_out_is_recalled_no_more_and_can_be_undone(memory: Memory, store: MemoryStore) -> None:
    store.put(("u",), "1", {"text": "Ada likes tea."})
    store.delete(("u",), "1")
    assert memory.recall("tea").hits == ()
    memory.undo(memory.ledger(limit=1)[0]["seq"])
    assert store.search(("u",), query="tea")[0].value == {"text": "Ada likes tea."}
    assert memory.verify().ok


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), ("langgraph",)])
def test_a_namespace_that_langgraph_forbids_is_refused(store: MemoryStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"v": 1})


def test_a_dot_cannot_be_smuggled_in_by_a_batch(store: MemoryStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"v": 1})])


def test_a_time_to_live_is_refused_rather_than_ignored(store: MemoryStore) -> None:
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"v": 1}, ttl=5)


LABELS = st.sampled_from(["a", "b", "A b"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "b", "K"])
VALUES = st.one_of(st.none(), st.fixed_dictionaries({
    "n": st.integers(0, 3),
    "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2),
    "deep": st.fixed_dictionaries({"m": st.booleans()}),
}))  # fmt: skip
FILTERS = st.sampled_from([None, {"n": 1}, {"n": {"$gt": 1, "$lte": 3}}, {"n": {"$ne": 2}}, {"tags": ["x"]},
                           {"deep": {"m": True}}, {"n": {"$gte": 1}, "deep": {"m": {"$eq": False}}}, {"absent": 1}])  # fmt: skip
CONDITIONS = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]),
                       st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(tuple))  # fmt: skip
OPS = st.one_of(
    st.builds(PutOp, SPACES, KEYS, VALUES),
    st.builds(GetOp, SPACES, KEYS),
    st.builds(SearchOp, st.lists(LABELS, max_size=2).map(tuple), FILTERS, limit=st.just(100)),
    st.builds(ListNamespacesOp, st.lists(CONDITIONS, max_size=2).map(tuple), st.sampled_from([None, 1, 2]), st.integers(1, 3),
              st.integers(0, 1)),
)  # fmt: skip


class Oracle(InMemoryStore):
    """LangGraph's store, but for namespaces that nothing is in: there they stay."""

    def _handle_list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        for namespace in [one for one, items in self._data.items() if not items]:
            del self._data[namespace]
        return super()._handle_list_namespaces(op)


@settings(max_examples=10)
@given(batches=st.lists(st.lists(OPS, min_size=1, max_size=5), min_size=2, max_size=6))
def test_it_answers_as_langgraphs_own_store_does(room: Iterator[Memory], batches: list[list[Any]]) -> None:
    ours, theirs = MemoryStore(next(room)), Oracle()
    for batch in batches:
        want = theirs.batch(batch)
        got = asyncio.run(ours.abatch(batch)) if len(batch) == 1 else ours.batch(batch)
        assert [_shown(one) for one in got] == [_shown(one) for one in want]


def _shown(result: Any) -> Any:
    """Without moments; items of a search in an order that both have."""
    if isinstance(result, list):
        shown = [_shown(one) for one in result]
        return sorted(shown, key=repr) if result and not isinstance(result[0], tuple) else shown
    return result if result is None or isinstance(result, tuple) else (result.namespace, result.key, result.value)
