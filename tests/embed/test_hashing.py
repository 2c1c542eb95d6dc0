from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mnemic.embed.hashing import HashingEmbedder, fnv1a
from mnemic.errors import BadInput
from mnemic.text.tokens import tokenizer


def test_fnv1a_gives_the_published_values() -> None:
    # Test vectors of http://www.isthe.com/chongo/src/fnv/test_fnv.c
    assert [fnv1a(word) for word in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_one_word_stands_in_its_bucket_with_its_sign() -> None:
    vector = HashingEmbedder(256).embed(["cat"], "passage")[0]
    value = fnv1a("cat")
    expected = np.zeros(256, np.float32)
    expected[value % 256] = -1.0 if value >> 31 else 1.0
    np.testing.assert_array_equal(vector, expected)


def test_repetition_weighs_one_plus_its_logarithm() -> None:
    vector = HashingEmbedder(4096).embed(["cat cat dog"], "passage")[0]
    cat, dog = (abs(float(vector[fnv1a(word) % 4096])) for word in ("cat", "dog"))
    assert cat / dog == pytest.approx(1.6931472)


@pytest.mark.parametrize("text", ["", "  \n", "!?"])
def test_a_text_without_words_is_the_first_unit_vector(text: str) -> None:
    assert HashingEmbedder(4).embed([text], "query").tolist() == [[1.0, 0.0, 0.0, 0.0]]


def test_words_that_cancel_out_are_the_first_unit_vector() -> None:
    words = [f"w{n}" for n in range(50)]
    plus = next(w for w in words if fnv1a(w) % 2 == 1 and not fnv1a(w) >> 31)
    minus = next(w for w in words if fnv1a(w) % 2 == 1 and fnv1a(w) >> 31)
    assert HashingEmbedder(2).embed([f"{plus} {minus}"], "query").tolist() == [[1.0, 0.0]]


def test_texts_that_share_words_are_closer_than_texts_that_share_none() -> None:
    query, near, far = HashingEmbedder().embed(
        ["the running dogs", "a dog that runs", "sunlight over Kyoto"], "passage"
    )
    assert float(query @ near) > 0.3
    assert abs(float(query @ far)) < 0.2


def test_chinese_texts_meet_in_their_pairs() -> None:
    query, near, far = HashingEmbedder().embed(["北京天气", "今天北京的天气", "数据库事务"], "query")
    assert float(query @ near) > 0.3 > abs(float(query @ far))


def test_another_process_gives_the_same_vector() -> None:
    show = "print(H(8).embed(['cats 猫咪'], 'query').tobytes().hex())"
    code = f"from mnemic.embed import HashingEmbedder as H; {show}"
    here = HashingEmbedder(8).embed(["cats 猫咪"], "query").tobytes().hex()
    there = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert there.stdout.strip() == here


def test_more_texts_than_a_block_keep_their_order() -> None:
    texts = [f"word{n}" for n in range(2500)]
    vectors = HashingEmbedder(16).embed(texts, "passage")
    np.testing.assert_array_equal(vectors[2049], HashingEmbedder(16).embed(["word2049"], "passage")[0])


def test_a_single_bucket_is_refused() -> None:
    with pytest.raises(BadInput, match="dim is 1"):
        HashingEmbedder(1)


def test_the_identity_names_the_tokenizer_that_the_vectors_depend_on() -> None:
    assert HashingEmbedder(64).identity == f"hashing/fnv1a.{tokenizer()}@64+none"
