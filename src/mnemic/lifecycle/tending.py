"""The delayed start task and the timer of what serves (000 §5): both only call; whether it is due, the lease tells.

    with memory.tending():
        ...  # serve

Every process that serves may have one: of all on a home, one does the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from mnemic.errors import MnemicError

Wait = Callable[[threading.Event, float], bool]
"""Wait so many seconds for an event; whether it came."""


class Tending:
    """Tends a home until it is stopped: `run` it, or use it as a context manager around what serves."""

    def __init__(
        self, tend: Callable[[bool], dict[str, Any]], *, start_seconds: float, every_seconds: float, at_start: bool,
        timer: bool, failed: Callable[[Exception], None] = lambda error: None, wait: Wait = threading.Event.wait,
    ) -> None:  # fmt: skip
        """`tend` is told whether this is the start task; `failed` of what went wrong, and the next time comes anyway."""
        self._tend, self._failed, self._wait = tend, failed, wait
        self._delays = (start_seconds, every_seconds)
        self._at_start, self._timer = at_start, timer
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Tending:
        if self._at_start or self._timer:
            self._thread = threading.Thread(target=self.run, name="mnemic-tend", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End `run`, after the work that is going on, if any is."""
        self._stopped.set()

    def run(self) -> None:
        """The start task after its delay, then the timer, until `stop`; each only if it is switched on."""
        starting = True
        while not self._wait(self._stopped, self._delays[0 if starting else 1]):
            if self._at_start if starting else self._timer:
                try:
                    self._tend(starting)
                except MnemicError as error:
                    self._failed(error)
            starting = False
            if not self._timer:
                return
