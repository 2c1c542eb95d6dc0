"""Vectors from text: one promise (`Embedder`), three makers of it, and what is needed to compare their
vectors.

`hashing` is always there, `onnx` runs a model of the user's, `http` asks a server. All settings come from the
caller; nothing here reads the environment, and nothing reaches the network unless the caller named a server
or a download.
"""

from __future__ import annotations

from pathlib import Path

from mnemic.embed.base import BadVectors, Embedder, Kind, Reranker, Vectors, canary, checked, same_model
from mnemic.embed.calibration import CENTRED, Calibration, calibrate, calibration_of, centred
from mnemic.embed.hashing import HashingEmbedder
from mnemic.embed.later import Later
from mnemic.errors import BadInput

__all__ = [
    "CENTRED",
    "BadVectors",
    "Calibration",
    "Embedder",
    "HashingEmbedder",
    "Kind",
    "Later",
    "Reranker",
    "Vectors",
    "calibrate",
    "calibration_of",
    "canary",
    "centred",
    "checked",
    "open_embedder",
    "open_reranker",
    "same_model",
]


def open_embedder(
    name: str,
    *,
    model: str | Path | None = None,
    dim: int | None = None,
    url: str | None = None,
    key: str | None = None,
    download: bool = False,
    threads: int = 0,
) -> Embedder:
    """The embedder `hashing`, `onnx` (needs `model`: a folder or a hub name) or `http` (needs `url`, `model`,
    `dim`).

    Raises BadInput for a missing setting, MissingExtra for a missing library, ModelError for an unusable
    model.
    """
    if name == "hashing":
        return HashingEmbedder(256 if dim is None else dim)
    if name == "onnx":
        return _onnx(model, dim, download, threads)
    if name == "http":
        return _http(url, model, dim, key)
    raise BadInput(f"the embedder is {name!r}: choose 'hashing', 'onnx' or 'http'")


def open_reranker(model: str | Path, *, download: bool = False, threads: int = 0) -> Reranker:
    """The cross-encoder in a folder, or of a hub name where no such folder exists. Raises ModelError, MissingExtra."""
    from mnemic.embed.onnx import located
    from mnemic.embed.rerank import OnnxReranker

    return OnnxReranker(located(model, download=download), threads=threads)


def _onnx(model: str | Path | None, dim: int | None, download: bool, threads: int) -> Embedder:
    from mnemic.embed.onnx import open_onnx

    if model is None:
        raise BadInput(
            "the onnx embedder needs a model: a folder, or a name such as 'intfloat/multilingual-e5-small'"
        )
    embedder = open_onnx(model, download=download, threads=threads)
    if dim is not None and dim != embedder.dim:
        raise BadInput(f"dim is {dim!r}, but the model {str(model)!r} has {embedder.dim}: leave dim out")
    return embedder


def _http(url: str | None, model: str | Path | None, dim: int | None, key: str | None) -> Embedder:
    from mnemic.embed.http import HttpEmbedder

    if not url or not model or dim is None:
        given = {"url": url, "model": model, "dim": dim}
        missing = [setting for setting, value in given.items() if not value]
        raise BadInput(
            f"the http embedder needs {', '.join(missing)}: its server, the model's name there, its dimension"
        )
    return HttpEmbedder(url, str(model), dim, key=key)
