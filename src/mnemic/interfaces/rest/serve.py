"""The process that serves: its token, its address, and what it does besides answering."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.background import Background
from mnemic.errors import BadInput, MissingExtra, MnemicError
from mnemic.interfaces import service, serving
from mnemic.settings import load

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from mnemic.memory import Memory

LEAST_CHARS = 16
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
Wait = Callable[[threading.Event, float], bool]


def serve(
    memory: Memory, *, host: str = "127.0.0.1", port: int = 0, token_file: Path | None = None, hosts: Iterable[str] = (),
    origins: Iterable[str] = (), ready: Callable[[str, Path], None] = lambda url, file: None,
    line: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve until interrupted; `ready` is told the address and the token's file. Port 0 takes one that is free.

    `line` takes a line of JSON for each request that was answered.

    Raises MissingExtra without the libraries, BadInput for an address or a token that cannot be.
    """
    try:
        from mnemic.interfaces.rest.app import application
    except ImportError as error:
        raise MissingExtra(f"serving needs {error.name}, which is not installed: pip install 'mnemic[serve]'") from None
    file = token_file or memory.settings.home / service.TOKEN
    token = token_of(file)
    own = f"[{host}]" if ":" in host else host
    with serving.bound(host, port) as listening:
        number = listening.getsockname()[1]
        mcp = over_mcp(memory, (*LOOPBACK, own, *hosts), origins)
        app = application(memory, token, hosts=(*hosts, host), origins=origins, mcp=mcp, line=line)
        memory.telemetry.waiting(memory.waiting)
        home = memory.settings.home
        unnamed = load({}, home=home).namespace
        note = service.noted(home, service.Note(host, number, token, memory.namespace, unnamed))
        with serving.server(app) as server, memory.tending(), memory.watch(), Mirroring(memory), note:
            ready(f"http://{own}:{number}", file)
            server.run(sockets=[listening])


def token_of(file: Path) -> str:
    """The token that a file holds; where there is none, a new one of 256 bits. Raises BadInput for a file others can read."""
    with suppress(FileExistsError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        stream = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(stream, "w", encoding="ascii") as fresh:
            fresh.write(secrets.token_urlsafe(32) + "\n")
    try:
        mode = file.stat().st_mode
        token = file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the token file {str(file)!r} cannot be read ({error}): delete it, and a new one is made") from None
    if mode & 0o077:
        raise BadInput(f"others may read the token file {str(file)!r}: chmod 600 it, or delete it for a new token")
    if len(token) < LEAST_CHARS or not token.isprintable() or " " in token:
        raise BadInput(
            f"the token in {str(file)!r} is no good: give one line of {LEAST_CHARS} characters or more, or delete the file"
        )
    return token


def over_mcp(memory: Memory, hosts: Iterable[str], origins: Iterable[str]) -> Starlette | None:
    """MCP over HTTP at /mcp, where its SDK is installed. By itself it asks for no token: the door does."""
    try:
        from mnemic.interfaces.mcp.server import app
        from mnemic.interfaces.rest.door import MCP
    except ImportError:
        return None
    names = [name for host in hosts for name in (host, f"{host}:*")]
    return app(lambda: memory, path=MCP, hosts=names, origins=list(origins))


class Mirroring(Background):
    """Writes what was captured into the day's note, once nothing new has come for a while."""

    name = "mnemic-mirror"

    def __init__(self, memory: Memory, wait: Wait = threading.Event.wait) -> None:
        super().__init__()
        self._memory, self._wait = memory, wait
        self._seen = self._told = self._head()

    def run(self) -> None:
        """Look again and again, until it is left."""
        while not self._wait(self._stopped, self._memory.settings.capture.idle_seconds):
            with suppress(MnemicError, OSError):  # the next look will tell; doctor names what is wrong
                self.look()

    def look(self) -> bool:
        """Mirror if something came since the last time and nothing since the last look; whether it did."""
        head = self._head()
        if head != self._seen:
            self._seen = head
            return False
        if head == self._told:
            return False
        self._memory.daily.pages()
        self._seen = self._told = self._head()
        return True

    def _head(self) -> int:
        rows = self._memory.ledger(limit=1)
        return int(rows[0]["seq"]) if rows else 0
