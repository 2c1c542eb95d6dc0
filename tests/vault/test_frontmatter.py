from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.errors import BadInput
from mnemic.vault import frontmatter
from mnemic.vault.frontmatter import edit, read, render, split

NOTE = (
    b"\xef\xbb\xbf---\r\n# who she is\r\ntype: contact   # a person\r\ntags:\r\n  - a\r\n  - 'b'\r\n\r\n# the rest\r\n"
    b"odd: {x: [1, 2]}\r\nanswer: no\r\ntime: 12:30:45\r\nborn: 1815-12-10\r\n---\r\nBody\x00\xff\r\n---\r\n"
)


def test_a_head_is_read_as_json_has_it() -> None:
    assert read(NOTE) == {
        "type": "contact", "tags": ["a", "b"], "odd": {"x": [1, 2]}, "answer": "no", "time": "12:30:45", "born": "1815-12-10"
    }  # fmt: skip


def test_an_edit_changes_the_lines_of_its_keys_alone() -> None:
    assert edit(NOTE, {"type": "lead", "tags": ["c"], "new": "x: y"}) == (
        b"\xef\xbb\xbf---\r\n# who she is\r\ntype: lead   # a person\r\ntags: [c]\r\n\r\n# the rest\r\n"
        b"odd: {x: [1, 2]}\r\nanswer: no\r\ntime: 12:30:45\r\nborn: 1815-12-10\r\nnew: 'x: y'\r\n---\r\nBody\x00\xff\r\n---\r\n"
    )


def test_an_edit_to_what_it_is_already_changes_nothing() -> None:
    assert edit(NOTE, {"type": "contact", "tags": ["a", "b"], "missing": None}) is NOTE


def test_a_key_can_be_taken_out() -> None:
    assert edit(b"---\na: 1\nb:\n  - 2\nc: 3\n---\nx", {"b": None}) == b"---\na: 1\nc: 3\n---\nx"


def test_a_note_without_a_head_gets_one() -> None:
    assert edit(b"# Title\r\n", {"status": "done"}) == b"---\r\nstatus: done\r\n---\r\n# Title\r\n"
    assert read(b"---\nnot closed") == {} and split(b"---\nnot closed").body == b"---\nnot closed"


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"a: &x [1]\nb: *x\n", "anchors"),
        (b"a: !!python/object:os.system x\n", "tag"),
        (b"a: !x y\n", "tag"),
        (b"a: " + b"[" * 5000 + b"\n", "deeper than 8"),
        (b"a: [[[[[[[[1]]]]]]]]\n", "deeper than 8"),
        (b"- a\n", "no table"),
        (b"a: 1\na: 2\n", "cannot|can be used"),
        (b"%YAML 1.1\n", "can be used|directive"),
        (b"a: \x01\n", "can be used"),
        (b"a: \xff\n", "UTF-8"),
        (b"a: " + b"x" * 70_000 + b"\n", "64 KB"),
        (b"a: [1\n", "can be used"),
    ],
)
def test_a_head_that_is_a_weapon_or_broken_is_not_read(block: bytes, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read(b"---\n" + block + b"---\nbody")


@pytest.mark.parametrize("block", [b"{a: 1, b: 2}\n", b"? a\n: 1\n? b\n: 2\n"])
def test_a_head_that_cannot_be_edited_by_lines_is_refused_or_comes_out_right(block: bytes) -> None:
    note = b"---\n" + block + b"---\n"
    try:
        assert read(edit(note, {"a": 5})) == {"a": 5, "b": 2}
    except BadInput:
        assert read(note) == {"a": 1, "b": 2}


TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"), max_size=20)
VALUE = st.one_of(TEXT, st.integers(-(10**9), 10**9), st.booleans(), st.lists(TEXT, max_size=3))
KEY = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)


@settings(max_examples=60)
@given(
    st.dictionaries(KEY, VALUE, min_size=1, max_size=5), st.dictionaries(KEY, VALUE, min_size=1, max_size=3),
    st.binary(max_size=50),
)  # fmt: skip
def test_what_is_written_is_read_back_and_an_edit_keeps_the_rest(
    first: dict[str, Any], then: dict[str, Any], body: bytes
) -> None:
    note = render(first, "") + body
    assert read(note) == first
    done = edit(note, then)
    assert read(done) == {**first, **then}
    assert done.endswith(b"---\n" + body)
    kept = [line for line in split(note).block.splitlines() if line.split(b":")[0].decode() not in then]
    assert [line for line in kept if line in split(done).block.splitlines()] == kept


def test_a_question_mark_in_a_list_is_a_word_and_not_a_key() -> None:
    assert read(render({"tags": ["?0", "? b", "c"]}, "")) == {"tags": ["?0", "? b", "c"]}


LINE = st.from_regex(r"[a-z]{1,3}: [a-zA-Z0-9 .,/()'\[\]#:-]{0,12}", fullmatch=True)


TYPED = st.from_regex(r"[a-z]{1,3}: -?[0-9]{1,5}([.:_-][0-9]{0,3}){0,2}", fullmatch=True)


def test_the_head_that_mnemic_writes_is_read_quickly() -> None:
    head = {"type": "note", "created": "2026-03-01", "relevance": 0.895, "access_count": 12}
    assert frontmatter._simple(b"type: note\ncreated: 2026-03-01\nrelevance: 0.895\naccess_count: 12\n") == head


@settings(max_examples=300)
@given(st.lists(LINE | TYPED, min_size=1, max_size=3))
def test_the_quick_reader_says_what_yaml_says_or_nothing(lines: list[str]) -> None:
    block = ("\n".join(lines) + "\n").encode()
    quick = frontmatter._simple(block)
    if quick is not None:
        told = frontmatter._plain(frontmatter._parsed(block))
        assert quick == told and list(map(type, quick.values())) == list(map(type, told.values()))
