"""Texts under keys: what stands is what was put, what was taken out is gone, and nothing is beside the ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.capture.records import Entry
from mnemic.errors import BadInput, Refused
from tests.homes import NOON
from tests.interfaces.integrations.homes import home


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


def _put(memory: Memory, name: str, body: str = "", **more: Any) -> None:
    memory.records.put(Entry(key=("box", name), body=body, **more))


def test_a_record_is_found_by_its_body_and_not_by_its_head(memory: Memory) -> None:
    _put(memory, "one", "Ada likes tea.", head={"colour": "ultramarine", "n": [1, None]}, channel="user")
    record = memory.records.get(("box", "one"))
    assert record is not None
    assert (record.body, record.head, record.path) == ("Ada likes tea.", {"colour": "ultramarine", "n": [1, None]}, "/box/one")
    hit = memory.recall("tea").hits[0]
    assert (hit.text, hit.origin, hit.kind, hit.title) == ("Ada likes tea.", "user", "record", "one")
    assert memory.recall("ultramarine").hits == ()


def test_a_record_is_replaced_under_its_key_and_keeps_its_day(memory: Memory) -> None:
    _put(memory, "one", "tea")
    first = memory.records.get(("box", "one"))
    _put(memory, "one", "coffee")
    second = memory.records.get(("box", "one"))
    assert first is not None and second is not None and first.created_at > NOON
    assert (second.body, second.created_at) == ("coffee", first.created_at)
    assert second.updated_at > first.updated_at
    assert memory.recall("tea").hits == ()
    memory.undo(memory.ledger(limit=1)[0]["seq"])
    assert (found := memory.records.get(("box", "one"))) is not None and found.body == "tea"


def test_what_looks_like_a_head_in_a_body_stays_a_body(memory: Memory) -> None:
    body = '---\nrecord: {"a": 1}\n---\n\n---\nmore: x\n---\n'
    _put(memory, "one", body, head={"text": body})
    record = memory.records.get(("box", "one"))
    assert record is not None and (record.body, record.head) == (body, {"text": body})


def test_secrets_are_taken_out_of_head_and_body(memory: Memory, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    _put(memory, "one", f"it is {key}", head={key: [key], "password": "hunter2Xq9!"})
    record = memory.records.get(("box", "one"))
    assert record is not None
    assert record.body == "it is [redacted:github-token]"
    assert record.head == {"[redacted:github-token]": ["[redacted:github-token]"], "password": "[redacted:password]"}
    assert [file for file in tmp_path.rglob("*") if file.is_file() and key.encode() in file.read_bytes()] == []
    with pytest.raises(BadInput, match="stands in the key"):
        _put(memory, key, "x")


@pytest.mark.parametrize("entry", [Entry(key=()), Entry(key=("box", "")), Entry(key=("box", "x"), head={"a": object()})])
def test_what_cannot_be_stored_is_refused_before_anything_is(memory: Memory, entry: Entry) -> None:
    with pytest.raises(BadInput):
        memory.records.put(Entry(key=("box", "one"), body="tea"), entry)
    assert memory.ledger() == []


def test_what_was_edited_behind_the_ledgers_back_is_not_there(memory: Memory, tmp_path: Path) -> None:
    from mnemic.store.sqlite.connection import connect

    _put(memory, "one", "Ada likes tea.")
    _put(memory, "two", "Bob likes tea.")
    db = connect(tmp_path / "home" / "memory.db")
    db.execute("UPDATE texts SET body = replace(body, 'Ada', 'Eve')")
    db.close()
    assert [record.key[1] for record in memory.records.below(("box",))] == ["two"]
    assert memory.records.get(("box", "one")) is None


def test_an_erased_text_does_not_come_back(memory: Memory) -> None:
    _put(memory, "one", "Ada likes tea.")
    memory.forget("/box/one", erase=True)
    with pytest.raises(Refused, match="was not stored: this text was erased"):
        _put(memory, "one", "Ada likes tea.")


NAMES = st.sampled_from(["a", "A", "a b", "a-b", "é"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
"""What every store can hold: of NUL and lone surrogates something else is kept."""
ACTS = st.lists(
    st.one_of(st.tuples(st.just("put"), NAMES, TEXTS), st.tuples(st.just("remove"), NAMES, st.just(""))),
    min_size=1, max_size=12,
)  # fmt: skip


@settings(max_examples=15)
@given(acts=ACTS)
def test_it_is_a_dictionary_and_the_ledger_proves_it(acts: list[tuple[str, str, str]]) -> None:
    kept: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, home(Path(folder)) as memory:
        for act, name, text in acts:
            if act == "put":
                _put(memory, name, text)
                kept[name] = text
            else:
                assert memory.records.remove(("box", name)) == (kept.pop(name, None) is not None)
        assert {record.key[1]: record.body for record in memory.records.below(("box",))} == kept
        assert memory.verify().ok
