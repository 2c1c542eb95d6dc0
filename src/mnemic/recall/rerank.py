"""A reranker on a leash: a question never waits for it longer than its time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue

from mnemic.embed import Reranker
from mnemic.errors import ModelError

SECONDS = 1.0
"""What a question waits for a reranker."""


class Timed:
    """Marks in time, or ModelError. A reranker that is late goes on in its thread; until it is done no other is started."""

    def __init__(self, reranker: Reranker, seconds: float = SECONDS) -> None:
        self._reranker, self._seconds = reranker, min(seconds, threading.TIMEOUT_MAX)
        self._idle = threading.Lock()

    def marks(self, question: str, texts: Sequence[str]) -> list[float]:
        """A finite number for each text. Raises ModelError, whatever the reranker did."""
        until = time.perf_counter() + self._seconds
        if not self._idle.acquire(timeout=self._seconds):
            raise ModelError(f"the reranker was busy with an earlier question for {self._seconds:g} s")
        answer: SimpleQueue[list[float] | Exception] = SimpleQueue()

        def work() -> None:
            try:
                answer.put([float(mark) for mark in self._reranker.marks(question, texts)])
            except Exception as error:  # it may be anybody's code
                answer.put(error)
            finally:
                self._idle.release()

        threading.Thread(target=work, name="mnemic-rerank", daemon=True).start()
        try:
            marks = answer.get(timeout=max(0.0, until - time.perf_counter()))
        except Empty:
            raise ModelError(f"the reranker did not answer within {self._seconds:g} s") from None
        if isinstance(marks, Exception):
            raise ModelError(f"the reranker failed: {marks}") from marks
        if len(marks) != len(texts) or not all(map(math.isfinite, marks)):
            raise ModelError(f"the reranker gave {len(marks)} marks for {len(texts)} texts, or not all of them numbers")
        return marks
