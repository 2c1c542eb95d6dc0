"""An event of a session, asked of the service that runs for this home; a turn of a conversation waits for it.

On a busy machine what a hook costs is what it loads, so nothing is loaded here but what one request needs: sockets without
`socket`, HTTP by hand, and not even JSON, which passes through as it is. Where no service answers, `run` does the work.

Whether the service lives is told by the lock that it holds on its note: a note that a killed process left names nobody, and
no token goes to whoever listens there now.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import select
import sys
import time

from mnemic.environment import HOOK_FAILURES, home_folder, hook_seconds

NOTE = "serve.note"
"""In a home: where its service is, a line each of host, port, token, the namespace served, the one meant where none is named."""
NOTE_LINES = 5
MOST_BYTES = 4 * 1024 * 1024
"""Of an answer that is read."""
ALIASES = {
    "SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop", "PreCompact": "pre-compact",
    "SessionEnd": "session-end", "sessionStart": "session-start", "beforeSubmitPrompt": "prompt", "sessionEnd": "session-end",
    "preCompact": "pre-compact",
}  # fmt: skip
"""The names that hosts give the events."""
SECONDS = {"session-start": 5.0, "prompt": 4.0, "stop": 5.0, "pre-compact": 5.0, "session-end": 10.0}
"""What the host waits for each at most."""


class Unanswered(Exception):
    """No service runs for this home and namespace, or it did not answer usably."""


def main(words: list[str]) -> None:
    """Answer one event on standard output: `[--home H] [--namespace N] EVENT`. Exits with 0 whatever happens, and with 1 only
    for an event there is not."""
    named: dict[str, str] = {}
    while len(words) > 2 and words[0] in ("--home", "--namespace"):
        named[words[0]] = words[1]
        words = words[2:]
    event = ALIASES.get(words[0], words[0]) if len(words) == 1 else ""
    if event not in SECONDS:
        sys.stderr.write(f"mnemic: hook {' '.join(words)!r} is unknown: use {', '.join(SECONDS)}\n")
        sys.exit(1)
    seconds = hook_seconds(os.environ) or SECONDS[event]
    end = time.monotonic() + seconds
    given = said = None
    try:
        home = home_folder(os.environ, named.get("--home"))
        given = received(0, end)
        said = asked(home, named.get("--namespace") or os.environ.get("MNEMIC_NAMESPACE"), event, given, seconds / 2)
        if not os.path.exists(os.path.join(home, HOOK_FAILURES)):
            leave(said)
    except Exception:  # whatever it is: `run` does the work, or says why nobody can
        pass
    if "site" not in sys.modules:  # it was left out to be quick; the work itself needs the installed libraries
        import site

        site.main()
    from mnemic.interfaces.hooks import run

    leave(run.settled(event, named.get("--home"), named.get("--namespace"), given, said, seconds, end))


def received(stream: int, end: float) -> bytes:
    """All that the host says. Raises TimeoutError where it has not ended at the time `end` of the monotonic clock."""
    found = b""
    while select.select([stream], [], [], max(0.0, end - time.monotonic()))[0]:
        more = os.read(stream, 65_536)
        if not more:
            return found
        found += more
    raise TimeoutError("its input did not end in time")


def leave(said: bytes) -> None:
    """Answer and end at once: a thread whose time is up may hold what an orderly end would wait for."""
    try:
        sys.stdout.buffer.write(said + b"\n")
        sys.stdout.buffer.flush()
    finally:
        os._exit(0)


def asked(home: str, namespace: str | None, event: str, given: bytes, seconds: float) -> bytes:
    """The answer of this home's service, if it serves the namespace. Raises Unanswered."""
    host, port, token, served, unnamed = running(home)
    if (namespace or unnamed) != served:
        raise Unanswered("it serves another namespace")
    return post(host, int(port), token, f"/api/v1/hooks/{event}", given or b"{}", seconds)


def running(home: str, note: str = NOTE) -> list[str]:
    """The note of the service that runs. Raises Unanswered where none does."""
    try:
        stream = os.open(os.path.join(home, note), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        raise Unanswered("no service was noted") from None
    try:
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        lines = os.pread(stream, 65_536, 0).decode().split("\n")
    else:
        raise Unanswered("the service ended")
    finally:
        os.close(stream)
    if len(lines) != NOTE_LINES:
        raise Unanswered("the service is starting or ending")
    return lines


def post(host: str, port: int, token: str, path: str, body: bytes, seconds: float) -> bytes:
    """The answer to a body of JSON: one object. Raises Unanswered."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    end, said = time.monotonic() + seconds, b""
    line = _socket.socket(_socket.AF_INET6 if ":" in host else _socket.AF_INET, _socket.SOCK_STREAM)
    try:
        line.settimeout(seconds)
        line.connect((host, port))
        line.sendall(head.encode("latin-1") + body)
        while (more := line.recv(65_536)) and len(said) <= MOST_BYTES:
            said += more
            line.settimeout(max(0.001, end - time.monotonic()))
    except (OSError, UnicodeEncodeError) as error:
        raise Unanswered(str(error)) from None
    finally:
        line.close()
    top, _, text = said.partition(b"\r\n\r\n")
    first, *fields = top.lower().split(b"\r\n")
    if not first.startswith(b"http/1.1 200 ") or b"content-length: %d" % len(text) not in fields:
        raise Unanswered(top[:60].decode("latin-1"))
    if not (text.startswith(b"{") and text.endswith(b"}")):
        raise Unanswered("the answer is no object")
    return text
