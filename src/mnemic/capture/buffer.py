"""The buffer between a running conversation and the store.

`observe` only appends to a list: an agent's event loop is never held up by a disk or a model. A worker thread writes:
at a turn boundary (the user speaks again after an answer) at once, after 1.5 s of silence, and above 60 messages
(000 §6). What is buffered and not yet flushed is lost with the process; `close` flushes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from mnemic.clock import Clock
from mnemic.models.document import Turn
from mnemic.models.receipt import CaptureReport

Write = Callable[[str, list[Turn]], CaptureReport]


@dataclass(slots=True)
class _Session:
    turns: list[Turn] = field(default_factory=list)
    last: float = 0.0

    def ready(self) -> int:
        """How many turns belong to exchanges that are over: up to the last user turn after an answer."""
        answered = boundary = 0
        for place, turn in enumerate(self.turns):
            if turn.role == "user" and answered:
                boundary, answered = place, 0
            answered += turn.role != "user"
        return boundary


class ConversationBuffer:
    """Collects turns and hands whole exchanges to `write`, in order, from one thread.

    Use `start()` for the worker thread, or call `flush_due()` yourself from a timer of yours.
    """

    def __init__(
        self, write: Write, clock: Clock, *, idle_seconds: float = 1.5, max_buffered: int = 60,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:  # fmt: skip
        self._write, self._clock, self._idle, self._most = write, clock, idle_seconds, max_buffered
        self._failed = failed
        self._sessions: dict[str, _Session] = {}
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._stop = False
        self._thread: threading.Thread | None = None

    def observe(self, session: str, turn: Turn) -> None:
        """Take a turn; returns at once and does no I/O, but for what comes after `close`: that is written now."""
        with self._guard:
            entry = self._sessions.setdefault(session, _Session())
            entry.turns.append(turn)
            entry.last = self._now()
            urgent = entry.ready() or len(entry.turns) > self._most
        if self._stop:
            self.flush()
        elif urgent:
            self._wake.set()

    def flush_due(self) -> list[CaptureReport]:
        """Write what is due now: exchanges that are over, silent sessions, overfull ones."""
        return self._flush(everything=False)

    def flush(self) -> list[CaptureReport]:
        """Write everything that is buffered."""
        return self._flush(everything=True)

    def _flush(self, *, everything: bool) -> list[CaptureReport]:
        reports: list[CaptureReport] = []
        errors: list[Exception] = []
        with self._writing:
            for session, turns in self._take(everything):
                try:
                    reports.append(self._write(session, turns))
                except Exception as error:
                    # Whatever failed, the turns go back to the front: the next flush tries again, nothing is lost.
                    with self._guard:
                        entry = self._sessions.setdefault(session, _Session())
                        entry.turns[:0] = turns
                        entry.last = self._now()
                    if self._failed:
                        self._failed(error)
                    errors.append(error)
        if errors and not self._failed:
            raise errors[0]
        return reports

    def _take(self, everything: bool) -> list[tuple[str, list[Turn]]]:
        taken: list[tuple[str, list[Turn]]] = []
        with self._guard:
            for session, entry in list(self._sessions.items()):
                silent = self._now() - entry.last >= self._idle
                whole = everything or silent or len(entry.turns) > self._most
                count = len(entry.turns) if whole else entry.ready()
                if count:
                    taken.append((session, entry.turns[:count]))
                    del entry.turns[:count]
                if not entry.turns:
                    del self._sessions[session]
        return taken

    def start(self) -> None:
        """Run the worker thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mnemic-capture", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stop:
            self._wake.wait(self._idle / 2)
            self._wake.clear()
            # Nobody waits here for an error; its turns stay in the buffer, and `close` raises what does not pass.
            with suppress(Exception):
                self._flush(everything=False)

    def close(self) -> list[CaptureReport]:
        """Stop the worker and write what is left."""
        self._stop = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        return self.flush()

    def _now(self) -> float:
        return self._clock.now().timestamp()
