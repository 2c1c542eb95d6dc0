"""An embedding model in a local folder, run in this process by onnxruntime.

A folder as the usual hub has it: `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, `config.json`.
Nothing is downloaded unless the user asked for it. Each text is run alone and without padding: the scales of
a dynamically quantised (int8) model are taken over the whole batch, so a text's vector would otherwise depend
on its batch mates (docs/calibration.md has the measurement), and one text written twice would not be its own
duplicate.

What the files leave open, a `mnemic.json` in the folder may say; every key is optional:

    {"name": "my-e5", "dim": 384, "pooling": "mean", "max_tokens": 512,
     "query": "query: ", "passage": "passage: "}

Without it the prefixes come from the `prompts` of `config_sentence_transformers.json`, then from the model's
name (`prefix_of`); the pooling from `1_Pooling/config.json`, then the mean over the tokens.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from mnemic.embed.base import Kind, Prefix, Vectors, checked, clean, prefix_of, unit
from mnemic.errors import BadInput, MissingExtra, ModelError

WEIGHTS = ("model.onnx", "onnx/model.onnx")
MAX_TOKENS = 512
SENTENCE = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""The ready sentence vector if the model has one, else its token vectors."""
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")
HUB_FILES = ["model.onnx*", "onnx/model.onnx*", "*.json", "1_Pooling/config.json"]


@dataclass(frozen=True, slots=True)
class Files:
    """What every model folder has."""

    weights: Path
    tokenizer: Path
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Model:
    """What the files of an embedder's folder say, read without loading the weights."""

    name: str
    files: Files
    dim: int
    pooling: Literal["mean", "cls"]
    prefix: Prefix

    @property
    def identity(self) -> str:
        return f"onnx/{self.name}@{self.dim}+{self.prefix.name}"


class OnnxEmbedder:
    """Vectors from a local model folder. The weights are loaded by the first `embed`, not before.

    `threads` is the number of processor threads for one text; 0 lets onnxruntime take them all. Safe to call
    from several threads.
    """

    def __init__(self, folder: str | Path, *, threads: int = 0, name: str | None = None) -> None:
        needed()
        self.model = read_model(Path(folder), name)
        self.identity = self.model.identity
        self.dim = self.model.dim
        self._threads = threads
        self._lock = Lock()
        self._session: Session | None = None

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.identity!r})"

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        with self._lock:
            if self._session is None:
                self._session = Session(self.model.files, self._threads, SENTENCE)
        prefix = self.model.prefix
        if not texts:
            return np.empty((0, self.dim), np.float32)
        raw = np.stack([self._vector(self._session, clean(prefix.put(text, kind))) for text in texts])
        return checked(unit(raw, self.dim), len(texts), self.dim)

    def _vector(self, session: Session, text: str) -> Vectors:
        answer = session.run(text)
        if not answer.size:
            return np.asarray(np.eye(1, self.dim)[0], np.float32)
        if answer.ndim == 1:
            return answer
        # No padding, so the attention mask is all ones and its mean is the plain one.
        pooled: Vectors = answer[0] if self.model.pooling == "cls" else answer.mean(axis=0)
        return pooled


class Session:
    """A loaded tokenizer and model: one text or one pair in, what the model says of it out.

    `outputs` are the names of the output that is wanted, best first.
    """

    def __init__(self, files: Files, threads: int, outputs: Sequence[str]) -> None:
        import onnxruntime  # type: ignore[import-untyped]
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(files.tokenizer))
            self._session: Any = onnxruntime.InferenceSession(
                str(files.weights), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare or private types
            raise ModelError(f"cannot load the model at {str(files.weights.parent)!r}: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(files.max_tokens)
        self._inputs = {put.name: _dtype(put.type) for put in self._session.get_inputs()}
        self._output = _output([(put.name, len(put.shape or ())) for put in self._session.get_outputs()], outputs)
        self._folder = files.weights.parent

    def run(self, text: str, pair: str | None = None) -> Vectors:
        """The output for a text, without the batch's dimension; empty for a text without tokens."""
        encoding = self._tokenizer.encode(text, pair)
        if not encoding.ids:
            return np.empty(0, np.float32)
        known = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
            "position_ids": range(len(encoding.ids)),
        }
        unknown = self._inputs.keys() - known.keys()
        if unknown:
            raise ModelError(
                f"the model wants inputs {sorted(unknown)!r}, which no text model has: choose another"
            )
        feed = {name: np.asarray([known[name]], dtype) for name, dtype in self._inputs.items()}
        try:
            return np.asarray(np.asarray(self._session.run([self._output], feed)[0], np.float32)[0])
        except Exception as error:  # onnxruntime's own types derive from Exception alone
            raise ModelError(f"the model at {str(self._folder)!r} failed on a text: {error}") from error


def needed() -> None:
    """Raise MissingExtra unless the libraries that run a model are installed."""
    for library in ("onnxruntime", "tokenizers"):
        if find_spec(library) is None:
            raise MissingExtra(f"{library} is not installed: pip install 'mnemic[onnx]'")


def read_files(folder: Path) -> Files:
    """The files of a model folder. ModelError for what is missing."""
    weights = next((folder / path for path in WEIGHTS if (folder / path).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if weights is None or not tokenizer.is_file():
        missing = tokenizer.name if weights else " or ".join(WEIGHTS)
        raise ModelError(
            f"the model folder {str(folder)!r} has no {missing}: give a folder with an ONNX export"
        )
    limit = _limit(
        _json(folder / "mnemic.json").get("max_tokens"),
        _json(folder / "config.json").get("max_position_embeddings"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
    )
    return Files(weights, tokenizer, limit)


def read_model(folder: Path, name: str | None = None) -> Model:
    """What the folder's files say. ModelError for what is missing, BadInput for values out of range."""
    files = read_files(folder)
    if (folder / "2_Dense").exists():
        raise ModelError(
            f"the model in {str(folder)!r} has a dense layer after pooling, which is not supported"
        )
    own, config = _json(folder / "mnemic.json"), _json(folder / "config.json")
    name = str(own.get("name") or name or folder.resolve().name)
    dim = own.get("dim", config.get("hidden_size"))
    if not isinstance(dim, int) or dim < 1:
        raise BadInput(
            f'the dimension of {name!r} is {dim!r}: put {{"dim": N}} into {str(folder / "mnemic.json")!r}'
        )
    return Model(
        name=re.sub(r"[^\w./-]", "_", name),
        files=files,
        dim=dim,
        pooling=_pooling(own, _json(folder / "1_Pooling" / "config.json")),
        prefix=_prefix(name, own, _json(folder / "config_sentence_transformers.json")),
    )


def fetch(name: str, *, download: bool, cache: Path | None = None) -> Path:
    """The local folder of a hub model, `owner/name` or `owner/name@revision`; the network only if `download`.

    A model that was downloaded before is found without the network. Raises MissingExtra or ModelError.
    """
    if find_spec("huggingface_hub") is None:
        raise MissingExtra(f"huggingface_hub is not installed, to find {name!r}: pip install 'mnemic[onnx]'")
    from huggingface_hub import snapshot_download

    repo, _, revision = name.partition("@")

    def snapshot(local: bool) -> Path:
        at = revision or None
        path = snapshot_download(
            repo, revision=at, cache_dir=cache, allow_patterns=HUB_FILES, local_files_only=local
        )
        return Path(str(path))

    try:
        found = snapshot(local=True)
        if any((found / path).is_file() for path in WEIGHTS):
            return found
    except Exception as error:  # the hub's "not in the cache" has had several types
        missing: Exception | None = error
    else:
        missing = None
    if not download:
        raise ModelError(
            f"the model {name!r} is not on this machine: allow the download, or give a folder with its files"
        ) from missing
    try:
        return snapshot(local=False)
    except Exception as error:
        raise ModelError(f"cannot download the model {name!r}: {error}") from error


def open_onnx(model: str | Path, *, download: bool = False, threads: int = 0) -> OnnxEmbedder:
    """An embedder for a folder, or for a hub name where no such folder exists."""
    folder = located(model, download=download)
    hub = isinstance(model, str) and not Path(model).expanduser().is_dir()
    return OnnxEmbedder(folder, threads=threads, name=str(model) if hub else None)


def located(model: str | Path, *, download: bool) -> Path:
    """The folder that a setting names: itself, or that of a hub name where no such folder exists."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if isinstance(model, str) and HUB_NAME.fullmatch(model):
        return fetch(model, download=download)
    raise ModelError(
        f"{str(model)!r} is neither a folder nor a hub name such as 'intfloat/multilingual-e5-small'"
    )


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        read = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ModelError(f"cannot read {str(path)!r}: {error}") from error
    if not isinstance(read, dict):
        raise ModelError(f"{str(path)!r} should hold a JSON object")
    return read


def _limit(*said: object) -> int:
    """The least of the stated token limits; two tokens are the frame that every text gets."""
    return min([MAX_TOKENS, *(int(limit) for limit in said if isinstance(limit, int | float) and limit > 2)])


def _pooling(own: dict[str, Any], pooling: dict[str, Any]) -> Literal["mean", "cls"]:
    said = own.get("pooling")
    if said is None:
        said = "cls" if pooling.get("pooling_mode_cls_token") else "mean"
    if said not in ("mean", "cls"):
        raise BadInput(f"the pooling is {said!r}: mnemic knows 'mean' and 'cls'")
    return "cls" if said == "cls" else "mean"


def _prefix(name: str, own: dict[str, Any], sentence: dict[str, Any]) -> Prefix:
    if "query" in own or "passage" in own:
        query, passage = str(own.get("query", "")), str(own.get("passage", ""))
    else:
        prompts = sentence.get("prompts")
        prompts = prompts if isinstance(prompts, dict) else {}
        query = str(prompts.get("query") or "")
        passage = str(prompts.get("passage") or prompts.get("document") or "")
    known = prefix_of(name)
    if not (query or passage) and "query" not in own and "passage" not in own:
        return known
    if (query, passage) == (known.query, known.passage):
        return known
    if not (query or passage):
        return Prefix("none")
    digest = hashlib.sha256(f"{query}\0{passage}".encode()).hexdigest()[:8]
    return Prefix(f"own-{digest}", query, passage)


def _dtype(said: str) -> type[np.integer[Any]]:
    return np.int32 if "int32" in said else np.int64


def _output(outputs: list[tuple[str, int]], wishes: Sequence[str]) -> str:
    """The first output that is wished for, else token vectors, else whatever comes first."""
    names = [name for name, _ in outputs]
    for wish in wishes:
        if wish in names:
            return wish
    return next((name for name, rank in outputs if rank == 3), names[0])
