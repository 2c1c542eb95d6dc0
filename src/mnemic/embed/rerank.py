"""A cross-encoder: reads a question and a text together and says how well they fit.

It is far better at that than two vectors compared, and far too slow for more than a few candidates. The model is a
local folder as for embedding (`model.onnx` or `onnx/model.onnx`, `tokenizer.json`, `config.json`) whose output is one
number, or two of which the second speaks for a fit. Nothing is downloaded unless the user asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from mnemic.embed.base import clean
from mnemic.embed.onnx import Session, needed, read_files
from mnemic.errors import ModelError


class OnnxReranker:
    """A cross-encoder from a local folder. The weights are loaded by the first question. Safe to call from several threads."""

    def __init__(self, folder: str | Path, *, threads: int = 0) -> None:
        needed()
        self._files = read_files(Path(folder))
        self._threads = threads
        self._lock = Lock()
        self._session: Session | None = None

    def __repr__(self) -> str:
        return f"OnnxReranker({str(self._files.weights.parent)!r})"

    def marks(self, question: str, texts: Sequence[str]) -> list[float]:
        """The model's logit for each pair; of two logits the difference."""
        with self._lock:
            if self._session is None:
                self._session = Session(self._files, self._threads, ("logits",))
        return [self._mark(self._session, clean(question), clean(text)) for text in texts]

    def _mark(self, session: Session, question: str, text: str) -> float:
        logits = session.run(question, text).reshape(-1)
        if len(logits) not in (1, 2):
            raise ModelError(
                f"the model gave {len(logits)} numbers for a pair where a cross-encoder gives 1 or 2: choose another"
            )
        return float(logits[-1] - logits[0]) if len(logits) == 2 else float(logits[0])
