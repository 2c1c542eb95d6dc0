"""The records of a JSON file, whatever is wrong between them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.interfaces.importers import records as module
from mnemic.interfaces.importers.items import Skipped
from mnemic.interfaces.importers.records import Record, records


class Slow(io.BytesIO):
    """A stream that gives a few bytes at a time, whatever is asked for."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size, 7) if size and size > 0 else size)


def values(data: bytes | str, slow: bool = False) -> list[Any]:
    """What is read; what is broken as its reason."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    found = records((Slow if slow else io.BytesIO)(raw), "f")
    return [item.value if isinstance(item, Record) else item.why for item in found]


NO_JSON = "it is no JSON (Expecting value)"


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ("", []),
        (" \n ", []),
        ("[]", []),
        ('{"a": 1}', [{"a": 1}]),
        ('{\n  "a": {\n    "b": 1\n  }\n}\n', [{"a": {"b": 1}}]),
        ('[{"a": "🚆"}, {"b": [1, 2]}]', [{"a": "🚆"}, {"b": [1, 2]}]),
        ('{"a": 1}\n\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ('\ufeff[{"a": 1}]', [{"a": 1}]),
        (b'[{"a": "\xff"}]', [{"a": "\ufffd"}]),
        ('[{"a": 12345678901234567890123}, {"b": -Infinity}]', [{"a": 12345678901234567890123}, {"b": float("-inf")}]),
        ('[{"a": tru}, {"b": "]}{["}, {"c": 3}]', [NO_JSON, {"b": "]}{["}, {"c": 3}]),
        ("[nope, 2]", [NO_JSON, 2]),
        ('{"a": tru}\n{"b": 2}\n', [NO_JSON, {"b": 2}]),
        ('rubbish\n{"b": 2}\n', [NO_JSON, {"b": 2}]),
        ('{"a": "cut\n{"b": 2}\n', ["it is no JSON (Invalid control character at)", {"b": 2}]),
        ('[{"a": 1}, {"b": 2', [{"a": 1}, "it is no JSON (Expecting ',' delimiter)"]),
        ('[{"a": 1}, {"b": "2', [{"a": 1}, "it is no JSON (Unterminated string starting at)"]),
        ('[{"a": {"x": 1}, {"b": 2}]', ["it is no JSON (Expecting property name enclosed in double quotes)", {"b": 2}]),
    ],
)  # fmt: skip
def test_what_can_be_read_is_read_and_the_rest_named(data: str | bytes, wanted: list[Any], slow: bool) -> None:
    assert values(data, slow) == wanted


def test_a_record_is_nested_too_deeply_and_the_next_is_read() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert values(f"[{deep}, 2]") == ["it is no JSON (it is nested too deeply)", 2]


def test_a_record_over_the_limit_ends_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CHARS", 100)
    monkeypatch.setattr(module, "CHUNK", 16)
    found = list(records(io.BytesIO(b'["a", "' + b"x" * 500 + b'", "b"]'), "f"))
    assert found[0] == Record("f, record 1", "a")
    assert found[1:] == [Skipped("f, record 2", "it is longer than 100 characters: what stands behind it was not read")]


WORDS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=5,
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.dictionaries(WORDS, JSON, max_size=3), max_size=4), st.booleans(), st.booleans())
def test_an_array_and_lines_give_their_values_back(rows: list[dict[str, Any]], array: bool, ascii_: bool) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii_) for row in rows]
    text = f"[{', '.join(lines)}]" if array else "\n".join(lines)
    assert values(text.encode("utf-8", "replace") if not ascii_ else text, slow=True) == [
        json.loads(line.encode("utf-8", "replace") if not ascii_ else line) for line in lines
    ]


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_come_to_an_end(data: bytes) -> None:
    for start in (b"", b"[", b"[{", b'{"a":1}\n'):
        values(start + data)
