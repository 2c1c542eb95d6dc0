"""The delayed start task and the timer of what serves (000 §5): both only call; whether it is due, the lease tells.

    with memory.tending():
        ...  # serve

Every process that serves may have one: of all on a home, one does the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Self

from mnemic.background import Background
from mnemic.errors import MnemicError

Wait = Callable[[threading.Event, float], bool]
"""Wait so many seconds for an event; whether it came."""


class Tending(Background):
    """Tends a home until it is stopped: `run` it, or use it as a context manager around what serves."""

    name = "mnemic-tend"

    def __init__(
        self, tend: Callable[[bool], dict[str, Any]], *, start_seconds: float, every_seconds: float, at_start: bool,
        timer: bool, failed: Callable[[Exception], None] = lambda error: None, wait: Wait = threading.Event.wait,
    ) -> None:  # fmt: skip
        """`tend` is told whether this is the start task; `failed` of what went wrong, and the next time comes anyway."""
        super().__init__()
        self._tend, self._failed, self._wait = tend, failed, wait
        self._delays = (start_seconds, every_seconds)
        self._at_start, self._timer = at_start, timer

    def __enter__(self) -> Self:
        return super().__enter__() if self._at_start or self._timer else self

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
