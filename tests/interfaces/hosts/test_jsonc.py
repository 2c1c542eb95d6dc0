"""A file of somebody else's changes where it must, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.interfaces.hosts.jsonc import parsed, rewritten

MINE = """{
\t// which model
\t"model": "opus",  /* the large one */
\t"size": 1.50,
\t"list": [1,2,  3], // as I like it
\t"hooks": {
\t\t"Stop": [
\t\t\t{"hooks": [{"type": "command", "command": "say // done"}]} // mine
\t\t],
\t},
}
"""


def test_what_is_put_in_stands_behind_what_was_there_and_every_comment_stays() -> None:
    data = parsed(MINE)
    data["hooks"]["Stop"].append({"a": [1]})
    data["hooks"]["Start"] = []
    data["new"] = {"b": True}
    assert rewritten(MINE, data) == MINE.replace("]} // mine", """]}, // mine
\t\t\t{
\t\t\t\t"a": [
\t\t\t\t\t1
\t\t\t\t]
\t\t\t}""").replace("\t\t],\n\t},", """\t\t],
\t\t"Start": [],
\t},
\t"new": {
\t\t"b": true
\t},""")  # fmt: skip
    assert rewritten(rewritten(MINE, data), parsed(MINE)) == MINE


@pytest.mark.parametrize(
    ("before", "data", "after"),
    [
        ("", {"a": 1}, '{\n  "a": 1\n}\n'),
        ("{}", {"a": 1}, '{\n  "a": 1\n}'),
        ('{"b":1}', {"b": 1, "a": [2]}, '{"b":1, "a": [2]}'),
        ('{"b":1,"a":2}\n', {"b": 1}, '{"b":1}\n'),
        ('{"b":1,"a":2}\n', {"a": 2}, '{"a":2}\n'),
        ('{"b":1,"a":2}\n', {"b": 1, "c": 3}, '{"b":1, "c": 3}\n'),
        ('{\n    "b": {}\n}', {"b": {"a": 1}}, '{\n    "b": {\n        "a": 1\n    }\n}'),
        ('{\n  "b": 1 // one\n}', {"b": 1, "a": 2}, '{\n  "b": 1, // one\n  "a": 2\n}'),
        ('{\n  "b": 1, // one\n  "c": 3 // three\n}', {"b": 1, "a": 2}, '{\n  "b": 1, // one\n  "a": 2 // three\n}'),
        ('{ // none yet\n}', {"a": 1}, '{ // none yet\n\n  "a": 1\n}'),
        ('{"b": [1, 2, 3]}', {"b": [1, 3]}, '{"b": [1, 3]}'),
        ('{"b": [1, {"c": 2}]}', {"b": [1, {"c": 3}]}, '{"b": [1, {"c": 3}]}'),
        ('{"b": [1]}', {"b": []}, '{"b": []}'),
        ('{"a": 1, "a": 2, "b": 3}', {"a": 2, "b": 4}, '{"a": 1, "a": 2, "b": 4}'),
        ('\ufeff{"b": 1}', {"b": 2}, '\ufeff{"b": 2}'),
    ],
)
def test_an_edit_is_as_small_as_it_can_be(before: str, data: Any, after: str) -> None:
    assert rewritten(before, data) == after


@pytest.mark.parametrize(
    "text", ["{", "{a: 1}", '{"a" 1}', '{"a": 1 "b": 2}', "[1 2]", '{"a": 1} x', '{"a": }', '{"a": 1/}', "// none", '"a', "[,]"]
)
def test_what_is_no_json_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        parsed(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/*", max_size=2), inner, max_size=4), max_leaves=10,
)  # fmt: skip


@settings(max_examples=300)
@given(VALUES, VALUES, st.sampled_from([None, 1, "\t"]))
def test_any_data_becomes_any_other_and_strict_json_stays_strict(before: Any, after: Any, indent: int | str | None) -> None:
    assert json.loads(rewritten(json.dumps(before, indent=indent), after)) == after


@settings(max_examples=200)
@given(st.dictionaries(st.text("abc", max_size=2), VALUES, max_size=5), st.data())
def test_comments_between_members_survive_whatever_goes_and_comes(data: dict[str, Any], more: st.DataObject) -> None:
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}, // note {place}" for place, (key, value) in enumerate(data.items())]
    text = "\n".join(["{", *lines, "}"])
    kept = {key: value for key, value in data.items() if more.draw(st.booleans())}
    made = rewritten(text, {**kept, "new": 1})
    assert parsed(made) == {**kept, "new": 1}
    assert [place for place in range(len(data)) if kept and f"// note {place}" not in made] == []
