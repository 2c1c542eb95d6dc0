"""How a hook finds the service of a home, and when it must not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.interfaces.service import FILE, Note, Unanswered, noted, post, running

NOTE = Note("127.0.0.1", 1, "secret", "default", "default")


def test_a_service_is_found_while_it_runs_and_not_after(tmp_path: Path) -> None:
    with pytest.raises(Unanswered):
        running(tmp_path)
    with noted(tmp_path, NOTE) as first:
        assert (first, running(tmp_path)) == (True, NOTE)
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    with pytest.raises(Unanswered, match="the service ended"):
        running(tmp_path)
    assert "secret" not in (tmp_path / FILE).read_text()


def test_the_note_of_a_killed_service_names_nobody(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"host": "127.0.0.1", "port": 1, "token": "t", "namespace": "n", "unnamed": "n"}')
    with pytest.raises(Unanswered, match="the service ended"):
        running(tmp_path)


def test_of_two_services_of_a_home_the_first_is_found(tmp_path: Path) -> None:
    with noted(tmp_path, NOTE), noted(tmp_path, NOTE._replace(port=2)) as second:
        assert (second, running(tmp_path).port) == (False, 1)


def test_a_symlink_in_place_of_the_note_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), noted(tmp_path, NOTE):
        pass
    with pytest.raises(Unanswered):
        running(tmp_path)


def answering(said: bytes) -> tuple[Note, Callable[[], None]]:
    """A server that says these bytes to one request."""
    line = socket.create_server(("127.0.0.1", 0))

    def once() -> None:
        peer, _ = line.accept()
        with peer:
            peer.recv(65_536)
            peer.sendall(said)

    thread = threading.Thread(target=once, daemon=True)
    thread.start()
    return NOTE._replace(port=line.getsockname()[1]), lambda: (thread.join(), line.close())[1]


def test_an_answer_is_read_to_its_end() -> None:
    note, end = answering(b'HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{"a": 1}')
    assert post(note, "/", b"{}", 5) == {"a": 1}
    end()


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 401 Unauthorized\r\n\r\n{}", b"HTTP/1.1 200 OK\r\n\r\n{", b"HTTP/1.1 200 OK\r\n\r\n[]",
             b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
)  # fmt: skip
def test_an_answer_of_no_use_is_none(said: bytes) -> None:
    note, end = answering(said)
    with pytest.raises(Unanswered):
        post(note, "/", b"{}", 5)
    end()


def test_nobody_who_listens_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
    with pytest.raises(Unanswered):
        post(NOTE._replace(port=port), "/", b"{}", 5)
