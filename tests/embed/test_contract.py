"""What holds for every embedder, run on each. The real model only where MNEMIC_MODEL_DIR names one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.embed import Embedder, canary, open_embedder, same_model
from mnemic.errors import BadInput, MissingExtra

from .tiny import serving, tiny_model

MODEL_DIR = os.environ.get("MNEMIC_MODEL_DIR")
TEXTS = ["cat dog", "the sun", "", "猫 cat", "cat " * 700, "\ud800 half", "\0 \u202e", "cat dog"]


@pytest.fixture(params=["hashing", "tiny onnx", "real onnx", "http"])
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Embedder]:
    if request.param == "hashing":
        yield open_embedder("hashing", dim=64)
    elif request.param == "tiny onnx":
        yield open_embedder("onnx", model=tiny_model(tmp_path / "tiny-e5"), threads=1)
    elif request.param == "real onnx":
        if not MODEL_DIR:
            pytest.skip("MNEMIC_MODEL_DIR names no model folder")
        yield open_embedder("onnx", model=MODEL_DIR, threads=1)
    else:
        with serving() as server:
            yield open_embedder("http", url=server.url, model="stub", dim=4)


def test_vectors_are_float32_of_unit_length_one_row_a_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS, "passage")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dim)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([], "query").shape == (0, embedder.dim)


def test_a_text_has_one_vector_whatever_stands_beside_it(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS, "passage")
    alone = np.concatenate([embedder.embed([text], "passage") for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[0], together[-1])


def test_the_identity_names_provider_model_dimension_and_prefix(embedder: Embedder) -> None:
    provider, rest = embedder.identity.split("/", 1)
    assert provider in ("hashing", "onnx", "http")
    assert f"@{embedder.dim}+" in rest


def test_the_canary_of_one_model_is_recognised(embedder: Embedder) -> None:
    assert same_model(canary(embedder), canary(embedder))


def test_a_key_is_in_no_representation() -> None:
    embedder = open_embedder("http", url="http://localhost:1/v1", model="m", dim=4, key="sk-secret")
    assert "sk-secret" not in repr(embedder)


def test_an_unknown_embedder_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"'magic'.*hashing"):
        open_embedder("magic")


def test_the_http_embedder_says_which_settings_it_lacks() -> None:
    with pytest.raises(BadInput, match="needs url, dim"):
        open_embedder("http", model="m")


def test_the_onnx_embedder_needs_a_model() -> None:
    with pytest.raises(BadInput, match="needs a model"):
        open_embedder("onnx")


def test_a_missing_library_is_named_with_its_pip_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("onnxruntime", "httpx"):
        monkeypatch.setitem(sys.modules, library, None)  # what Python sees when it is not installed
    with pytest.raises(MissingExtra, match=r"onnxruntime.*pip install 'mnemic\[onnx\]'"):
        open_embedder("onnx", model=tmp_path)
    http = open_embedder("http", url="http://localhost:1/v1", model="m", dim=4)
    with pytest.raises(MissingExtra, match=r"httpx.*pip install 'mnemic\[http\]'"):
        http.embed(["a"], "query")
