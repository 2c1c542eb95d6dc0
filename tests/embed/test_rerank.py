from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mnemic import Memory
from mnemic.embed import open_reranker
from mnemic.errors import ModelError
from mnemic.settings import load

from .tiny import WORDS, write_tokenizer


def tiny_reranker(folder: Path, outputs: int = 1, limit: int = 16) -> Path:
    """A model whose logit for a pair is the sum of its tokens' numbers plus ten times that of its second text."""
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto
    table = np.zeros((len(WORDS), outputs), np.float32)
    table[WORDS.index("cat"), -1], table[WORDS.index("sun"), -1] = 1, 2
    weights = [
        onnx.numpy_helper.from_array(table, "table"),
        onnx.numpy_helper.from_array(np.array(10, np.float32), "ten"),
        onnx.numpy_helper.from_array(np.array([2], np.int64), "last"),
        onnx.numpy_helper.from_array(np.array([1], np.int64), "tokens"),
    ]
    puts = [make.make_tensor_value_info(name, kind.INT64, ["b", "t"]) for name in ("input_ids", "token_type_ids")]
    out = make.make_tensor_value_info("logits", kind.FLOAT, ["b", outputs])
    nodes = [
        make.make_node("Gather", ["table", "input_ids"], ["rows"]),
        make.make_node("Cast", ["token_type_ids"], ["types"], to=kind.FLOAT),
        make.make_node("Mul", ["types", "ten"], ["weighed"]),
        make.make_node("Unsqueeze", ["weighed", "last"], ["wide"]),
        make.make_node("Mul", ["rows", "wide"], ["second"]),
        make.make_node("Add", ["rows", "second"], ["both"]),
        make.make_node("ReduceSum", ["both", "tokens"], ["logits"], keepdims=0),
    ]
    model = make.make_model(make.make_graph(nodes, "tiny", puts, [out], weights), opset_imports=[make.make_opsetid("", 13)])
    model.ir_version = 8
    folder.mkdir(parents=True)
    onnx.save(model, str(folder / "model.onnx"))
    write_tokenizer(folder / "tokenizer.json", specials=False)
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": limit}))
    return folder


def test_a_mark_is_the_models_logit_for_the_pair(tmp_path: Path) -> None:
    # cat 1 in the question; in the text each word also counts ten times: 11 for cat, 22 for sun
    marks = open_reranker(tiny_reranker(tmp_path / "m")).marks("cat", ["cat", "sun", "dog", ""])
    assert list(marks) == [12.0, 23.0, 1.0, 1.0]


def test_of_two_logits_the_mark_is_how_far_the_second_lies_above_the_first(tmp_path: Path) -> None:
    assert list(open_reranker(tiny_reranker(tmp_path / "m", outputs=2)).marks("dog", ["sun", "dog"])) == [22.0, 0.0]


def test_a_model_with_more_than_two_logits_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="3 numbers for a pair where a cross-encoder gives 1 or 2"):
        open_reranker(tiny_reranker(tmp_path / "m", outputs=3)).marks("cat", ["cat"])


def test_a_long_pair_is_cut_at_what_the_model_can_read(tmp_path: Path) -> None:
    reranker = open_reranker(tiny_reranker(tmp_path / "m", limit=4))
    assert list(reranker.marks("cat", ["dog dog dog sun"])) == [1.0]


def test_opening_loads_no_weights_and_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    folder = tiny_reranker(tmp_path / "m")
    (folder / "model.onnx").write_bytes(b"not a model")
    reranker = open_reranker(folder)
    with pytest.raises(ModelError, match="cannot load the model"):
        reranker.marks("cat", ["cat"])
    with pytest.raises(ModelError, match=r"no model\.onnx"):
        open_reranker(tmp_path)
    with pytest.raises(ModelError, match="neither a folder nor a hub name"):
        open_reranker("/no/such/folder")


def test_a_home_takes_the_reranker_from_its_settings(tmp_path: Path) -> None:
    folder = tiny_reranker(tmp_path / "m")
    environ = {"MNEMIC_CONFIG": str(tmp_path / "c")}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mnemic.toml").write_text(f"[recall]\nreranker = {str(folder)!r}\nrerank_seconds = 60\n")
    settings = load(environ, home=tmp_path / "home")
    assert (settings.recall.reranker, settings.recall.rerank_seconds) == (str(folder), 60)
    assert load(environ | {"MNEMIC_RERANKER_DIR": "/r"}, home=tmp_path / "home").recall.reranker == "/r"
    with Memory.open(tmp_path / "home", environ=environ) as memory:
        for text in ("The dog naps.", "The dog naps in the warm sun by the wall."):
            memory.remember(text)
        answer = memory.recall("dog naps")
    assert [hit.text[-4:] for hit in answer.hits] == ["all.", "aps."]
    assert answer.degraded == ()
