from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mnemic.embed import open_embedder
from mnemic.embed.base import E5_PREFIX, prefix_of
from mnemic.embed.onnx import OnnxEmbedder, fetch, read_model
from mnemic.errors import BadInput, ModelError

from .tiny import tiny_model

RAW = {"query": "", "passage": ""}


def say(folder: Path, **own: object) -> Path:
    (folder / "mnemic.json").write_text(json.dumps(own))
    return folder


def unit(*numbers: float) -> list[float]:
    return [float(x) for x in np.array(numbers, np.float32) / np.linalg.norm(numbers)]


def test_the_vector_is_the_mean_over_the_tokens(tmp_path: Path) -> None:
    vector = OnnxEmbedder(tiny_model(tmp_path / "m")).embed(["cat dog"], "passage")[0]
    # [CLS] (0,1,0,0) + cat (0,2,1,0) + dog (0,1,2,0)
    assert vector.tolist() == pytest.approx(unit(0, 4, 3, 0))


def test_the_vector_is_the_first_token_if_the_pooling_config_says_so(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert OnnxEmbedder(folder).embed(["cat dog"], "passage").tolist() == [[0.0, 1.0, 0.0, 0.0]]


def test_an_e5_folder_gets_its_prefixes(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tiny_model(tmp_path / "tiny-e5-int8"))
    query, passage = embedder.embed(["cat"], "query")[0], embedder.embed(["cat"], "passage")[0]
    # [CLS] + query or passage + ":" + cat
    assert query.tolist() == pytest.approx(unit(1, 4, 2, 0))
    assert passage.tolist() == pytest.approx(unit(1, 4, 1, 1))
    assert embedder.identity == "onnx/tiny-e5-int8@4+e5"


def test_the_model_file_may_stand_in_the_onnx_folder(tmp_path: Path) -> None:
    assert OnnxEmbedder(tiny_model(tmp_path / "m", below="onnx")).embed(["cat"], "query").shape == (1, 4)


def test_only_the_declared_inputs_are_fed(tmp_path: Path) -> None:
    every = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    for inputs in (every, every[:1]):
        folder = tiny_model(tmp_path / str(len(inputs)), inputs=inputs)
        assert OnnxEmbedder(folder).embed(["cat"], "query")[0].tolist() == pytest.approx(unit(0, 3, 1, 0))


def test_an_input_that_no_text_has_is_an_error(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m", inputs=("input_ids", "pixel_values"))
    with pytest.raises(ModelError, match="pixel_values"):
        OnnxEmbedder(folder).embed(["cat"], "query")


def test_a_long_text_is_cut_at_what_the_model_can_read(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tiny_model(tmp_path / "m"))
    full = embedder.embed(["cat " * 7 + "dog " * 90], "passage")  # 8 tokens with [CLS]
    np.testing.assert_array_equal(full, embedder.embed(["cat " * 7], "passage"))


def test_no_token_at_all_gives_a_fixed_unit_vector(tmp_path: Path) -> None:
    assert OnnxEmbedder(tiny_model(tmp_path / "m", specials=False)).embed([""], "query").tolist() == [
        [1, 0, 0, 0]
    ]


def test_a_wrong_dimension_is_refused(tmp_path: Path) -> None:
    folder = say(tiny_model(tmp_path / "m"), dim=5)
    with pytest.raises(ModelError, match=r"\(1, 4\).*\(n, 5\)"):
        OnnxEmbedder(folder).embed(["cat"], "query")
    with pytest.raises(BadInput, match="leave dim out"):
        open_embedder("onnx", model=folder, dim=4)


def test_opening_does_not_load_the_weights(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / "model.onnx").write_bytes(b"not a model")
    embedder = OnnxEmbedder(folder)
    with pytest.raises(ModelError, match="cannot load the model"):
        embedder.embed(["cat"], "query")


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model\.onnx or onnx/model\.onnx"):
        OnnxEmbedder(tmp_path)
    folder = tiny_model(tmp_path / "m")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        OnnxEmbedder(folder)


def test_a_dense_layer_that_would_be_left_out_is_refused(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / "2_Dense").mkdir()
    with pytest.raises(ModelError, match="dense layer"):
        OnnxEmbedder(folder)


def test_the_folders_own_file_decides_name_prefix_and_pooling(tmp_path: Path) -> None:
    folder = say(
        tiny_model(tmp_path / "e5"), name="mine", query="sun", passage="", pooling="cls", max_tokens=4
    )
    model = read_model(folder)
    assert (model.name, model.pooling, model.files.max_tokens, model.prefix.query) == ("mine", "cls", 4, "sun")
    assert model.identity.startswith("onnx/mine@4+own-")
    assert read_model(say(folder, **RAW)).prefix.name == "none"


def test_sentence_transformers_prompts_are_honoured(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "m")
    (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "query: ", "document": "passage: "}}'
    )
    prefix = read_model(folder).prefix
    assert (prefix.query, prefix.passage) == ("query: ", "passage: ")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("intfloat/multilingual-e5-small", "e5"),
        ("multilingual-e5-small-int8", "e5"),
        ("multilingual-e5-large-instruct", "none"),
        ("nomic-embed-text", "nomic"),
        ("all-MiniLM-L6-v2", "none"),
        ("e50-base", "none"),
    ],
)
def test_the_prefix_follows_from_the_models_name(name: str, prefix: str) -> None:
    assert prefix_of(name).name == prefix


def test_a_hub_model_that_is_not_here_is_not_downloaded_unasked(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(ModelError, match=r"'intfloat/nothing' is not on this machine: allow the download"):
        fetch("intfloat/nothing", download=False, cache=tmp_path)


def test_a_hub_model_in_the_cache_is_found_without_the_network(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    sha = "0123456789abcdef0123456789abcdef01234567"
    repo = tmp_path / "models--some--tiny-e5"
    tiny_model(repo / "snapshots" / sha)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(sha)
    folder = fetch("some/tiny-e5", download=False, cache=tmp_path)
    assert OnnxEmbedder(folder, name="some/tiny-e5").identity == "onnx/some/tiny-e5@4+e5"


def test_a_model_that_is_neither_folder_nor_hub_name_is_refused() -> None:
    with pytest.raises(ModelError, match="neither a folder nor a hub name"):
        open_embedder("onnx", model="/no/such/folder")


def test_e5_prefixes_are_those_of_the_model_card() -> None:
    assert (E5_PREFIX.query, E5_PREFIX.passage) == ("query: ", "passage: ")
