"""Where the running service of a home is: what `mnemic serve` writes down, and how a hook talks to it.

A hook has 150 ms, so this module needs little of the standard library, and next to nothing of mnemic. Whether the service
lives is told by the lock that it holds on the note: a note that a killed process left names nobody, and no token goes to
whoever listens there now.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

FILE = "serve.json"
TOKEN = "serve.token"
MOST_BYTES = 4 * 1024 * 1024
"""Of an answer that is read."""


class Note(NamedTuple):
    """What a home knows of its service."""

    host: str
    port: int
    token: str
    namespace: str
    """The one that is served."""
    unnamed: str
    """The one that is meant where none is named."""


class Unanswered(Exception):
    """No service runs for this home and namespace, or it did not answer usably."""


@contextmanager
def noted(home: Path, note: Note) -> Iterator[bool]:
    """While it serves, a home knows its service; of several the first. Gives whether it is this one."""
    file = home / FILE
    stream = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(stream, 0o600)
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        os.ftruncate(stream, 0)
        os.pwrite(stream, json.dumps(note._asdict()).encode(), 0)
        try:
            yield True
        finally:
            os.ftruncate(stream, 0)
    finally:
        os.close(stream)


def running(home: Path) -> Note:
    """The note of the service that runs. Raises Unanswered where none does."""
    try:
        stream = os.open(home / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        raise Unanswered("no service was noted") from None
    try:
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        row = _read(stream)
    else:
        raise Unanswered("the service ended")
    finally:
        os.close(stream)
    try:
        return Note(**row)
    except TypeError:
        raise Unanswered("the service is starting or ending") from None


def _read(stream: int) -> Any:
    try:
        return json.loads(os.pread(stream, 65_536, 0) or b"null")
    except ValueError:
        return None


def post(note: Note, path: str, body: bytes, seconds: float) -> dict[str, Any]:
    """The answer to a body of JSON. Raises Unanswered.

    By hand over a socket: what of HTTP is needed is little, and `http.client` alone takes longer to load than the answer.
    """
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost:{note.port}\r\nAuthorization: Bearer {note.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection((note.host, note.port), seconds) as line:
            line.sendall(head.encode("latin-1") + body)
            said = b""
            while (more := line.recv(65_536)) and len(said) <= MOST_BYTES:
                said += more
    except (OSError, UnicodeEncodeError) as error:
        raise Unanswered(str(error)) from None
    top, _, text = said.partition(b"\r\n\r\n")
    if not top.startswith(b"HTTP/1.1 200 ") or b"transfer-encoding" in top.lower():
        raise Unanswered(top[:60].decode("latin-1"))
    try:
        answer = json.loads(text)
    except ValueError:
        raise Unanswered("the answer broke off") from None
    if not isinstance(answer, dict):
        raise Unanswered("the answer is no object")
    return answer
