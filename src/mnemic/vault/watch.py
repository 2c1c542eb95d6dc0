"""Taking in what people save while mnemic serves: a sync after each burst of changes in the folder.

Watching only tells *when* to look; what became of a file, each sync finds out by itself. So an event too many costs a
look, one too few waits for the next look at the clock, and nothing is ever concluded from an event alone. Where the
system tells no changes, or the library for it (extra `watch`) is not there, the looks at the clock do.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from mnemic.background import Background
from mnemic.errors import MnemicError
from mnemic.vault.vault import Vault

QUIET = 0.3
"""Seconds without a change after which a burst of saves counts as over."""
BURSTS = 10
"""How many times QUIET a burst may last before it is looked at anyway."""
IDLE, POLL = 30.0, 5.0
"""Seconds between two looks without any event: where the system tells changes, and where it does not."""
AGAIN = 2.0
"""Seconds until what was half saved, or went wrong, is looked at again."""
_KINDS = ("created", "deleted", "modified", "moved", "closed")
_DID = ("new", "edited", "moved", "deleted")
_TOLD = ("waiting", "held", "conflicts", "skipped")

Told = Callable[[dict[str, Any]], None]


class Observation(Protocol):
    """A folder whose changes are told."""

    def alive(self) -> bool: ...

    def close(self) -> None: ...


Observe = Callable[[Path, Callable[[], None]], Observation]
"""Begin to tell a folder's changes by calls. Raises OSError or ImportError where that cannot be done."""


class Watch(Background):
    """Syncs a vault until it is stopped: `run` it, or use it as a context manager around what serves."""

    name = "mnemic-watch"

    def __init__(
        self, vault: Vault, told: Told = lambda report: None, *, observe: Observe | None = None,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:  # fmt: skip
        """`told` gets each report that says something new, and `{"error": …}` for a sync that failed."""
        super().__init__()
        self._vault, self._told, self._observe, self._wait = vault, told, observe or observed, wait
        self._changed = threading.Event()
        self._observation: Observation | None = None
        self._folder: tuple[int, int] | None = None
        self._refused: tuple[int, int] | None = None
        self._last: object = None

    def stop(self) -> None:
        """End `run` after the sync that is going on, if one is. From another thread; not from a signal's handler."""
        super().stop()
        self._changed.set()

    def run(self) -> None:
        """Look now, and then whenever something changed, until `stop`."""
        try:
            while not self._stopped.is_set():
                self._keep_observing()
                unfinished = self._look()
                seconds = AGAIN if unfinished else IDLE if self._observation else POLL
                self._wait(self._changed, seconds)
                self._settle()
        finally:
            if self._observation is not None:
                self._observation.close()

    def _settle(self) -> None:
        """Wait for the end of a burst of changes, so that one save that is five events is looked at once."""
        for _ in range(BURSTS):
            if self._stopped.is_set() or not self._changed.is_set():
                return
            self._changed.clear()
            self._wait(self._stopped, QUIET)

    def _keep_observing(self) -> None:
        """Observe the folder that is there now: it may be another one, or have come back."""
        found = _identity(self._vault.root)
        if self._observation is not None:
            if found == self._folder and self._observation.alive():
                return
            self._observation.close()
            self._observation = None
        if found is not None and found != self._refused:
            try:
                self._observation, self._folder = self._observe(self._vault.root, self._changed.set), found
            except (OSError, ImportError):
                self._refused = found  # looks at the clock instead

    def _look(self) -> bool:
        """Sync, and tell what is new in the report; whether it has to be done again soon."""
        try:
            report = self._vault.sync()
        except (MnemicError, OSError) as error:
            self._tell({"error": str(error)}, ("error", str(error)), False)
            return True
        state = [getattr(report, name) for name in _TOLD]
        self._tell(report.json(), state, any(getattr(report, name) for name in _DID))
        return bool(report.waiting)

    def _tell(self, shown: dict[str, Any], state: object, did: bool) -> None:
        before, self._last = self._last, state
        if did or (state != before and not (before is None and state == [[], [], [], {}])):
            self._told(shown)


def observed(root: Path, changed: Callable[[], None]) -> Observation:
    """Let the system tell the changes below a folder; symlinks are not followed, and hidden files are none of ours."""
    import logging

    from watchdog.events import FileSystemEvent, FileSystemEventHandler  # type: ignore[import-not-found,unused-ignore]
    from watchdog.observers import Observer  # type: ignore[import-not-found,unused-ignore]

    # What it tells of its own affairs, of folders watched twice and of its end, is none of a user's on stderr.
    warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
    log = logging.getLogger("watchdog")
    if not log.handlers:
        log.addHandler(logging.NullHandler())

    class Handler(FileSystemEventHandler):  # type: ignore[misc,unused-ignore]
        def on_any_event(self, event: FileSystemEvent) -> None:
            if concerns(root, event.event_type, event.is_directory, (str(event.src_path), str(event.dest_path))):
                changed()

    observer = Observer()
    observer.daemon = True
    observer.schedule(Handler(), str(root), recursive=True)
    observer.start()
    return _Observed(observer)


class _Observed:
    def __init__(self, observer: Any) -> None:
        self._observer = observer

    def alive(self) -> bool:
        return bool(self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters))

    def close(self) -> None:
        self._observer.stop()
        self._observer.join()


def concerns(root: Path, kind: str, is_folder: bool, paths: tuple[str, str]) -> bool:
    """Whether an event may mean that a note changed: not reading, and nothing below a hidden name, such as `.git`."""
    if kind not in _KINDS or (kind == "modified" and is_folder):
        return False
    below = [os.path.relpath(path, root).split(os.sep) for path in paths if path]
    return any(parts == ["."] or not any(part.startswith(".") for part in parts) for parts in below)


def _identity(root: Path) -> tuple[int, int] | None:
    """Which folder stands under this name; None if none does."""
    try:
        found = os.stat(root)
    except OSError:
        return None
    return found.st_dev, found.st_ino
