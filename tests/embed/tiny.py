"""A real ONNX model of a few kilobytes, and a loopback embedding server whose faults are scripted.

The model looks each token up in a table, so its vectors can be worked out by hand: token i is row i of
`TABLE`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = ("[UNK]", "[CLS]", "query", "passage", ":", "cat", "dog", "sun", "猫")
TABLE = np.array(
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 2, 1, 0], [0, 1, 2, 0],
     [3, 0, 0, 1], [0, 2, 1, 1]],
    np.float32,
)  # fmt: skip


def tiny_model(
    folder: Path,
    *,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    below: str = "",
    specials: bool = True,
) -> Path:
    """Write model.onnx (under `below`), tokenizer.json and config.json into `folder`."""
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    weights = onnx.numpy_helper.from_array(TABLE, "table")
    puts = [make.make_tensor_value_info(name, onnx.TensorProto.INT64, ["b", "t"]) for name in inputs]
    out = make.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, ["b", "t", 4])
    node = make.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = make.make_graph([node], "tiny", puts, [out], [weights])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
    model.ir_version = 8
    place = folder / below
    place.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(place / "model.onnx"))
    write_tokenizer(folder / "tokenizer.json", specials)
    (folder / "config.json").write_text(json.dumps({"hidden_size": 4, "max_position_embeddings": 8}))
    return folder


def write_tokenizer(path: Path, specials: bool) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if specials:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A", special_tokens=[("[CLS]", 1)]
        )
    tokenizer.save(str(path))


def rows_for(texts: list[str], dim: int) -> list[list[float]]:
    """Different, not yet unit vectors for different texts: what an honest server gives."""
    rows = []
    for text in texts:
        seed = int.from_bytes(text.encode("utf-8", "replace")[-6:] or b"\0", "big") + len(text)
        rows.append([float(x) for x in np.random.default_rng(seed).normal(size=dim)])
    return rows


@dataclass
class Server:
    """`answers` are used up one a request, then the honest answer is given; `seen` are the requests that
    came.
    """

    dim: int = 4
    answers: list[Callable[[BaseHTTPRequestHandler, list[str]], None]] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def reply(self, handler: BaseHTTPRequestHandler, texts: list[str]) -> None:
        self.seen.append(
            {"path": handler.path, "texts": texts, **{k.lower(): v for k, v in handler.headers.items()}}
        )
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            answer(handler, texts)
            return
        data = [{"index": i, "embedding": row} for i, row in enumerate(rows_for(texts, self.dim))]
        send(handler, 200, json.dumps({"data": data}))


def send(handler: BaseHTTPRequestHandler, status: int, body: str, **headers: str) -> None:
    raw = body.encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw)


@contextmanager
def serving(dim: int = 4) -> Iterator[Server]:
    server = Server(dim)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802 (the base class's name)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.reply(self, body["input"])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
            return

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
