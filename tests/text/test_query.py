"""A query is any string: what is narrowed by it, what is searched, and that nothing in it can be wrong."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.query import MAX_CHARS, MAX_PHRASES, read

NOW = datetime(2023, 10, 18, 15, 30, tzinfo=UTC)


def test_words_time_phrase_and_path_come_apart() -> None:
    found = read('what did we say about "blue whales" last week in /notes/sea?', NOW)
    assert found.terms == ("say", "blue", "whale")
    assert found.phrases == (("blue", "whale"),)
    assert found.path == "/notes/sea"
    assert (found.since, found.until) == (
        datetime(2023, 10, 9, tzinfo=UTC),
        datetime(2023, 10, 16, tzinfo=UTC),
    )
    assert found.when == "last week"
    assert found.text == 'what did we say about "blue whales" last week in ?'
    assert found.cut is False


def test_a_query_in_chinese_is_read_the_same_way() -> None:
    found = read("上周「北京烤鸭」的价格", NOW)
    assert found.phrases == (("北京", "京烤", "烤鸭"),)
    assert found.when == "上周"
    assert found.terms == ("北京", "京烤", "烤鸭", "价格")


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ('"red car"', (("red", "car"),)),
        ("“red car” and “big dog”", (("red", "car"), ("big", "dog"))),
        ("『赤い車』", (("赤い", "い車"),)),
        ("«voiture rouge»", (("voitur", "roug"),)),
        ('the ("red car")', (("red", "car"),)),
        ('"to be or not"', (("to", "be", "or", "not"),)),
        ('a 5" x 7" photo', ()),
        ('an open "quote', ()),
        ('""', ()),
        ('"?!"', ()),
        ('"line\nbreak"', ()),
    ],
)
def test_quotes_hold_phrases(query: str, phrases: tuple[tuple[str, ...], ...]) -> None:
    assert read(query, NOW).phrases == phrases


def test_phrases_are_counted() -> None:
    assert len(read('"a b" ' * 50, NOW).phrases) == MAX_PHRASES


@pytest.mark.parametrize(
    ("query", "path", "text"),
    [
        ("/notes/trip budget", "/notes/trip", "budget"),
        ("budget /notes/trip/", "/notes/trip", "budget"),
        ("in /笔记/旅行, budget", "/笔记/旅行", "in , budget"),
        ("/daily/2023-05-07.md", "/daily/2023-05-07.md", ""),
        ("this and/or that", None, "this and/or that"),
        ("sarcasm /s", None, "sarcasm /s"),
        ("// comment", None, "// comment"),
        ('"/notes/trip"', None, '"/notes/trip"'),
        ("http://host/notes", None, "http://host/notes"),
    ],
)
def test_a_token_with_a_leading_slash_is_a_path(query: str, path: str | None, text: str) -> None:
    found = read(query, NOW)
    assert (found.path, found.text) == (path, text)


def test_a_date_in_a_path_is_no_time() -> None:
    assert read("/daily/2023-05-07 budget", NOW).when is None


def test_paths_can_be_words() -> None:
    found = read("why does /usr/bin/python crash", NOW, paths=False)
    assert found.path is None
    assert found.terms == ("usr", "bin", "python", "crash")


def test_a_time_alone_is_searched_as_words() -> None:
    found = read("last week", NOW)
    assert found.when == "last week"
    assert found.terms == ("last", "week")


def test_a_time_within_quotes_is_a_phrase() -> None:
    found = read('the song "yesterday"', NOW)
    assert found.when is None
    assert found.terms == ("song", "yesterday")


def test_a_phrase_keeps_its_neighbours_apart() -> None:
    assert read('in "x y" May', NOW).when is None


def test_a_long_query_is_cut_and_says_so() -> None:
    found = read("apple " * 1000 + "zebra", NOW)
    assert found.cut is True
    assert found.terms == ("appl",)
    assert found.text.endswith("zebra")
    assert read("a" * MAX_CHARS, NOW).cut is False


@pytest.mark.parametrize(
    "query", ["", " ", "\x00", '"', "''", "NEAR(", "a:b", "*", "/", "「", "\ud800", "%_"]
)
def test_odd_queries_are_queries(query: str) -> None:
    found = read(query, NOW)
    assert found.path is None
    assert found.phrases == ()


@given(st.text(max_size=200))
def test_every_string_is_a_query(query: str) -> None:
    found = read(query, NOW)
    assert all(found.terms)
    assert all(phrase for phrase in found.phrases)
    assert found.cut is False
