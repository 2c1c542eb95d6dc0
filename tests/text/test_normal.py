"""NFKC as Unicode has it for ordinary text, and bounded for the rest."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.normal import nfkc

# Letters that compose, marks of several classes, jamo, half-width kana with their marks, Han.
_ALPHABET = "aé e\u0301\u0316\u0327\u3099か\uff76\uff9e\u1100\u1161\u11a8각ﬁ①㌀字＜\u0f71\u0f72"


@given(st.text(max_size=100))
def test_short_text_is_plain_nfkc(text: str) -> None:
    if "\ufdfa" not in text and "\ufdfb" not in text:
        assert nfkc(text) == unicodedata.normalize("NFKC", text)


@given(st.text(alphabet=_ALPHABET, max_size=40), st.integers(200, 300))
def test_slices_do_not_show(text: str, offset: int) -> None:
    long = "字" * offset + text + "字" * 300
    assert nfkc(long) == unicodedata.normalize("NFKC", long)


@given(st.text(alphabet=_ALPHABET + "\ufdfa\ufdfb", max_size=60))
def test_it_is_a_fixed_point(text: str) -> None:
    assert nfkc(nfkc(text)) == nfkc(text)


@pytest.mark.parametrize("char", ["\ufdfa", "\u0301\u0316", "\u3316", "\u1f82", "\uff9e", "\u0344"])
def test_the_output_is_at_most_six_times_the_input(char: str) -> None:
    text = char * 100_000
    assert len(nfkc(text)) <= 6 * len(text)


def test_the_phrase_ligatures_stay() -> None:
    assert nfkc("ﬁ\ufdfaﬁ\ufdfb") == "fi\ufdfafi\ufdfb"
