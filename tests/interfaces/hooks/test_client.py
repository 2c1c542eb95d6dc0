"""What a hook asks the running service, and what it takes for an answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemic.interfaces.hooks.client import Unanswered, asked, post, received
from mnemic.interfaces.hosts import START
from mnemic.interfaces.service import Note, noted

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n"
FAILED = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\n{}"


@contextmanager
def answering(*said: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The port of a server that says these bytes, one after another, to one request; and the request."""
    got = list[bytes]()
    with socket.create_server(("127.0.0.1", 0)) as line:

        def once() -> None:
            peer, _ = line.accept()
            with peer:
                got.append(peer.recv(65_536))
                for part in said:
                    peer.sendall(part)

        thread = threading.Thread(target=once, daemon=True)
        thread.start()
        yield line.getsockname()[1], got
        thread.join()


def hook(home: Path, *words: str, given: bytes = b'{"prompt": "otter"}') -> subprocess.CompletedProcess[bytes]:
    """What a host runs, without a home folder of its own."""
    line = [sys.executable, "-I", "-S", str(START), "--home", str(home), *words]
    environ = {"HOME": str(home), "MNEMIC_CONFIG": str(home / "config"), "MNEMIC_HOOK_SECONDS": "50"}
    return subprocess.run(line, input=given, capture_output=True, env=environ, timeout=60)


def test_an_answer_is_read_to_its_end() -> None:
    with answering(OK, b'{"a": ', b"1}") as (port, got):
        assert post("127.0.0.1", port, "secret", "/x", b"{}", 5) == b'{"a": 1}'
    head, _, body = got[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[:3] == [b"POST /x HTTP/1.1", f"Host: localhost:{port}".encode(), b"Authorization: Bearer secret"]
    assert body == b"{}"


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}", OK + b"{", OK + b"[1, 2,3]", b"SSH-2.0-x\r\n",
             b"HTTP/1.1 200 OK\r\n\r\n{}", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
)  # fmt: skip
def test_an_answer_of_no_use_is_none(said: bytes) -> None:
    with answering(said) as (port, _), pytest.raises(Unanswered):
        post("127.0.0.1", port, "secret", "/", b"{}", 5)


def test_nobody_who_listens_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
    with pytest.raises(Unanswered):
        post("127.0.0.1", port, "secret", "/", b"{}", 5)


def test_a_service_that_says_nothing_is_left_when_the_time_is_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as line, pytest.raises(Unanswered, match="timed out"):
        post("127.0.0.1", line.getsockname()[1], "secret", "/", b"{}", 0.01)


@pytest.mark.parametrize(
    ("served", "unnamed", "named", "meant"),
    [("a", "a", None, True), ("a", "b", None, False), ("a", "b", "a", True), ("a", "a", "b", False)],
)
def test_a_service_is_asked_for_the_namespace_that_it_serves_alone(
    tmp_path: Path, served: str, unnamed: str, named: str | None, meant: bool
) -> None:
    with answering(OK + b'{"a": 1}') as (port, got), noted(tmp_path, Note("127.0.0.1", port, "t", served, unnamed)):
        if meant:
            assert asked(str(tmp_path), named, "stop", b"", 5) == b'{"a": 1}'
            assert got[0].startswith(b"POST /api/v1/hooks/stop ") and got[0].endswith(b"{}")
        else:
            with pytest.raises(Unanswered, match="another namespace"):
                asked(str(tmp_path), named, "stop", b"", 5)
            socket.create_connection(("127.0.0.1", port)).close()


def test_what_the_host_says_is_read_to_its_end_or_given_up() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"half")
    with pytest.raises(TimeoutError):
        received(reading, time.monotonic() + 0.01)
    os.write(writing, b"whole")
    os.close(writing)
    assert received(reading, time.monotonic() + 5) == b"whole"
    os.close(reading)


def test_the_answer_of_the_service_goes_to_the_host_as_it_is_and_no_home_is_opened(tmp_path: Path) -> None:
    with answering(OK + b'{"a": 1}') as (port, got), noted(tmp_path, Note("127.0.0.1", port, "t", "default", "default")):
        done = hook(tmp_path, "UserPromptSubmit")
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"a": 1}\n', b"")
    assert got[0].startswith(b"POST /api/v1/hooks/prompt ") and got[0].endswith(b'{"prompt": "otter"}')
    assert [file.name for file in tmp_path.iterdir()] == ["serve.note"]


def test_where_the_service_fails_the_hook_does_the_work_itself(tmp_path: Path) -> None:
    given = b'{"session_id": "s", "hook_event_name": "SessionStart"}'
    with answering(FAILED) as (port, _), noted(tmp_path, Note("127.0.0.1", port, "t", "default", "default")):
        done = hook(tmp_path, "session-start", given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'session \\"s\\"' in done.stdout
    assert (tmp_path / "memory.db").exists()


def test_an_answer_of_the_service_clears_what_failed_before(tmp_path: Path) -> None:
    file = tmp_path / "hook-failures.json"
    file.write_text('{"prompt": {"at": "2026-03-10", "reason": "no", "count": 1}}', "utf-8")
    with answering(OK + b'{"a": 1}') as (port, _), noted(tmp_path, Note("127.0.0.1", port, "t", "default", "default")):
        assert hook(tmp_path, "prompt").stdout == b'{"a": 1}\n'
    assert not file.exists()


def test_what_a_service_answers_is_passed_on_with_next_to_nothing_loaded(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.argv = [{str(START)!r}, '--home', {str(tmp_path)!r}, 'prompt']; import os; before = set(sys.modules);"
        "os._exit = lambda code: sys.exit(' '.join(sorted(name for name in set(sys.modules) - before if '.' not in name)));"
        f"exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'), {{'__file__': sys.argv[0]}})"
    )
    with answering(OK + b'{"a": 1}') as (port, _), noted(tmp_path, Note("127.0.0.1", port, "t", "default", "default")):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], input=b"{}", capture_output=True, timeout=60)
    assert done.stdout == b'{"a": 1}\n'
    assert done.stderr.split() == [b"__future__", b"_socket", b"fcntl", b"mnemic", b"select"]
