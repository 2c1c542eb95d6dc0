"""Work that goes on beside what a process does, until it is stopped."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self


class Background:
    """`run` in a thread of its own while the block lasts; or call `run` yourself, and `stop` from another thread."""

    name = "mnemic-background"
    """What the thread is called."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.run, name=self.name, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End `run`, after the work that is going on, if any is. Not from a signal's handler."""
        self._stopped.set()

    def alive(self) -> bool:
        """Whether the thread that the block began still runs."""
        return self._thread is not None and self._thread.is_alive()

    def run(self) -> None:
        """Work until `stop`."""
        raise NotImplementedError
