"""What every verb of the command line shares: which home it means, how it reads, how it answers."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.errors import BadInput

if TYPE_CHECKING:
    from mnemic.memory import Memory

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stands in the ledger.")]


@dataclass(slots=True)
class Target:
    """The home and namespace that the command line named."""

    home: str | None = None
    namespace: str | None = None


TARGET = Target()


def opened() -> Memory:
    """The memory that the command line means."""
    from mnemic.memory import Memory

    return Memory.open(TARGET.home, namespace=TARGET.namespace)


def emit(value: Any, as_json: bool, show: Callable[[Any], None], *, flush: bool = False) -> None:
    """Answer as one JSON document, or as `show` writes it; `flush`: at once, where more answers follow."""
    if as_json:
        print(json.dumps(value, ensure_ascii=False, indent=None))
    else:
        show(value)
    if flush:
        sys.stdout.flush()


@contextmanager
def ends() -> Iterator[Callable[[Callable[[], bool]], bool]]:
    """Gives a function that waits for SIGINT or SIGTERM; false if its argument says before that nothing is left to end.

    The signals are held back for as long, in threads begun meanwhile too: nothing is interrupted half-way.
    """
    signals = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    def wait(alive: Callable[[], bool]) -> bool:
        while alive():
            if signal.sigtimedwait(signals, 1.0) is not None:
                return True
        return False

    try:
        yield wait
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def moment(memory: Memory, text: str | None) -> datetime | None:
    """The moment that an option names."""
    if text is None:
        return None
    from mnemic.text.when import parse_moment

    return parse_moment(text, memory.clock.now())


def milliseconds(memory: Memory, text: str | None, *, end: bool = False) -> int | None:
    """The moment that an option names, in ms; with `end`, the end of what it names."""
    if text is None:
        return None
    from mnemic.clock import to_ms
    from mnemic.text.when import parse_moment

    return to_ms(parse_moment(text, memory.clock.now(), end=end))


def stdin() -> str:
    """All of the standard input."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


LIKE_A_FILE = re.compile(r"[^\s:]+\.(md|markdown|txt|rst|org|json|jsonl|csv|html|log)", re.IGNORECASE)
"""One word that ends as the name of a text file does: a slip in a path must not be remembered in place of what is in the file."""


def file_of(name: str) -> Path | None:
    """The file that an argument names, or None where it is a text. Raises BadInput for the name of a file that is not there."""
    if len(name) > 1000 or "\n" in name or "\0" in name:
        return None
    file = Path(name).expanduser()
    try:
        found = file.is_file()
    except OSError:
        return None
    if not found and LIKE_A_FILE.fullmatch(name):
        raise BadInput(f"there is no file {name!r}: give one that is there, or - for a text on stdin")
    return file if found else None


def document(name: str) -> Any:
    """The JSON of a file, or of the standard input for `-`. Raises BadInput."""
    text = stdin() if name == "-" else read(Path(name).expanduser())
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name!r} is not JSON ({error}): nothing was stored") from None


def read(file: Path) -> str:
    """A text file. Raises BadInput."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{str(file)!r} is not UTF-8 text: convert it first") from None
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read ({error.strerror}): give another file, or - for stdin") from None
