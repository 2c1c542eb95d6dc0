"""A process that serves until a signal ends it, whenever that comes."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from mnemic.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

GRACE_SECONDS = 5
"""For answers that are under way when the end comes."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises BadInput."""
    try:
        line = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=256)
    except (OSError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]  # create_server repeats the address
        raise BadInput(f"cannot listen on {host}:{port} ({why}): choose another --port or --host") from None
    # asyncio asks for it only where a socket names its protocol; without, the end of an answer waits 40 ms for the client.
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


@contextmanager
def server(app: ASGIApp) -> Iterator[uvicorn.Server]:
    """A server of an application, whose `run` ends in order at SIGINT or SIGTERM, even at one that came before it began.

    Within the block a signal is a wish and no exception: KeyboardInterrupt strikes anywhere in the main thread, in an import
    too, whose lock is then never given back and for which the threads beside wait for ever. uvicorn takes the signals while
    it runs and sends them to itself again behind it, where what is left to be written must not be cut off either.

    For the main thread. Raises MissingExtra.
    """
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("serving needs uvicorn, which is not installed: pip install 'mnemic[serve]'") from None
    made = uvicorn.Server(
        uvicorn.Config(
            app, log_level="critical", access_log=False, server_header=False, date_header=False, lifespan="on", ws="none",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )  # fmt: skip

    def end() -> None:
        made.should_exit = True

    with ended(end):
        yield made


@contextmanager
def ended(end: Callable[[], None]) -> Iterator[None]:
    """Within the block SIGINT and SIGTERM call `end`, which must not wait for anything. For the main thread."""

    def asked(number: int, frame: FrameType | None) -> None:
        end()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
