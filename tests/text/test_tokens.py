"""Stored text and questions must be cut alike, in any script, and no input may make the cutting slow."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import BadInput
from mnemic.text.tokens import MAX_TERM, estimate, is_prefix, phrase_terms, query_terms, terms, tokenizer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Running runs", ["run", "run"]),
        ("the cat sat", ["the", "cat", "sat"]),
        ("don't", ["dont"]),
        ("don’t", ["dont"]),
        ("the dog's bone", ["the", "dog", "bone"]),
        ("the dogs' bone", ["the", "dog", "bone"]),
        ("'quoted'", ["quot"]),
        ("café naïve ÅNGSTRÖM", ["cafe", "naiv", "angstrom"]),
        ("cafe\u0301", ["cafe"]),
        ("Straße Łódź Ærø", ["strass", "lodz", "aero"]),
        ("İstanbul", ["istanbul"]),
        ("ｆｕｌｌ ﬁle", ["full", "file"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("2023-05-07 v2.10 1990s", ["2023", "05", "07", "v2", "10", "1990s"]),
        ("user_names __init__ _emphasis_", ["user_nam", "init", "emphasi"]),
        ("C++ a/b@c", ["c", "a", "b", "c"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("天气预报", ["天气", "气预", "预报", "报"]),
        ("书", ["书"]),
        ("用iPhone手机", ["用", "iphon", "手机", "机"]),
        ("カタカナ", ["カタ", "タカ", "カナ", "ナ"]),
        ("ｶﾞｲﾄﾞ", ["ガイ", "イド", "ド"]),
        ("한국어", ["한국", "국어", "어"]),
        ("𠮷野家", ["𠮷野", "野家", "家"]),
        ("ภาษา", ["ภา", "าษ", "ษา", "า"]),
        ("😀👨‍👩‍👧", []),
        ("\x00a\ud800b", ["a", "b"]),
        ("1\u0301\u0301", ["1"]),
    ],
)
def test_text_becomes_index_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Caroline's mother do?", ["carolin", "mother"]),
        ("cats and Cats and CATS", ["cat"]),
        ("who are you", ["who", "are", "you"]),
        ("May and Will", ["may", "will"]),
        ("我什么时候去的北京", ["我什", "候去", "北京"]),
        ("项目的目的是什么", ["项目", "目的"]),
        ("了解", ["了解"]),
        ("什么", ["什么"]),
        ("的", ["的"]),
        ("书", ["书"]),
        ("天气怎么样", ["天气", "气怎"]),
        ("", []),
        ("?!", []),
    ],
)
def test_a_question_becomes_distinct_terms_without_stop_words(text: str, expected: list[str]) -> None:
    assert query_terms(text) == expected


def test_a_phrase_has_the_neighbours_of_the_index_without_single_characters() -> None:
    assert phrase_terms("the 天气预报 of 书") == ["the", "天气", "气预", "预报", "of", "书"]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("书", True),
        ("あ", True),
        ("한", True),
        ("ก", True),
        ("北京", False),
        ("a", False),
        ("я", False),
        ("", False),
    ],
)
def test_only_a_single_character_of_a_script_without_spaces_is_a_prefix(term: str, expected: bool) -> None:
    assert is_prefix(term) is expected


@pytest.mark.parametrize("character", list("天气预报"))
def test_every_character_of_a_run_begins_a_term(character: str) -> None:
    (asked,) = query_terms(character)
    assert any(term.startswith(asked) for term in terms("看天气预报"))


def test_long_words_are_cut_alike_on_both_sides() -> None:
    assert terms("x" * 200) == ["x" * MAX_TERM]
    assert query_terms("x" * 300) == ["x" * MAX_TERM]


def test_the_rules_and_the_stemmer_have_a_version() -> None:
    assert re.fullmatch(r"mnemic-terms-1\.snowball-\d+\.\d+", tokenizer())


@given(st.text(max_size=300))
def test_terms_are_clean_words(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= MAX_TERM
        assert not any(c.isspace() or "\ud800" <= c <= "\udfff" for c in term)


@given(st.text(alphabet=st.sampled_from("aé's 的天气预ก้ 9_-\u0301ﬁ"), max_size=60))
def test_every_query_term_of_a_text_is_among_its_index_terms(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("\ufdfa" * 200_000, 400_000),
        ("\u0301\u0316" * 150_000, 1),
        ("a" + "\u0301" * 300_000, 1),
        ("a" * 5_000_000, 1),
        ("a'" * 300_000, 1),
        ("a_" * 300_000, 1),
        ("\u0e31" * 300_000, 40_000),
        ("\u3300" * 100_000, 400_000),
    ],
    ids=[
        "ligature",
        "marks",
        "marks on a letter",
        "one word",
        "apostrophes",
        "underscores",
        "thai",
        "squared",
    ],
)
def test_hostile_text_gives_a_bounded_number_of_terms(text: str, most: int) -> None:
    found = terms(text)
    assert len(found) <= most
    assert sum(map(len, found)) <= 12 * len(text)


def test_threads_stem_alike() -> None:
    results: list[list[str]] = []
    text = "running connections national nations " * 50
    threads = [threading.Thread(target=lambda: results.append(terms(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [["run", "connect", "nation", "nation"] * 50] * 4


@pytest.mark.parametrize(
    ("text", "profile", "expected"),
    [
        ("", "bytes4", 0),
        ("abcd", "bytes4", 1),
        ("abcde", "bytes4", 2),
        ("天气", "bytes4", 2),
        ("\ud800", "bytes4", 1),
        ("", "cjk06", 0),
        ("天气预报吗", "cjk06", 3),
        ("天", "cjk06", 1),
        ("天气abcd", "cjk06", 3),
        ("abcde", "cjk06", 2),
        ("", "cjk1", 0),
        ("天气预报", "cjk1", 4),
        ("天气a", "cjk1", 3),
        ("한국ひらカタ", "cjk1", 6),
        ("abcdefgh", "cjk1", 2),
        ("\u3400\u4dbf\u4e00\u9fff\uf900\ufaff\u3040\u30ff\uac00\ud7af", "cjk1", 10),
        ("\u33ff\u303f\u3100\ud7b0", "cjk1", 1),
    ],
)
def test_estimates_follow_their_profile(text: str, profile: str, expected: int) -> None:
    assert estimate(text, profile) == expected


def test_an_unknown_profile_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="'gpt9'"):
        estimate("a", "gpt9")
