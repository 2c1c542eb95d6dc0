"""How a hook finds the service of a home, and when it must not."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mnemic.interfaces.hooks.client import NOTE, Unanswered, running
from mnemic.interfaces.service import Note, noted

SERVED = Note("127.0.0.1", 1, "secret", "default", "default")


def test_a_service_is_found_while_it_runs_and_not_after(tmp_path: Path) -> None:
    with pytest.raises(Unanswered):
        running(str(tmp_path))
    with noted(tmp_path, SERVED) as first:
        assert (first, running(str(tmp_path))) == (True, [str(one) for one in SERVED])
        assert (tmp_path / NOTE).stat().st_mode & 0o777 == 0o600
    with pytest.raises(Unanswered, match="the service ended"):
        running(str(tmp_path))
    assert "secret" not in (tmp_path / NOTE).read_text()


def test_a_hook_that_looks_just_then_keeps_no_service_from_its_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, lock = os.open(tmp_path / NOTE, os.O_RDONLY | os.O_CREAT), fcntl.flock
    lock(hook, fcntl.LOCK_SH)

    def tried(stream: int, how: int) -> None:
        try:
            lock(stream, how)
        except OSError:
            lock(hook, fcntl.LOCK_UN)  # it has seen enough
            raise

    monkeypatch.setattr(fcntl, "flock", tried)
    with noted(tmp_path, SERVED) as first:
        assert first
    os.close(hook)


def test_the_note_of_a_killed_service_names_nobody(tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text("127.0.0.1\n1\nt\nn\nn")
    with pytest.raises(Unanswered, match="the service ended"):
        running(str(tmp_path))


def test_of_two_services_of_a_home_the_first_is_found(tmp_path: Path) -> None:
    with noted(tmp_path, SERVED), noted(tmp_path, SERVED._replace(port=2)) as second:
        assert (second, running(str(tmp_path))[1]) == (False, "1")


def test_a_symlink_in_place_of_the_note_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / NOTE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), noted(tmp_path, SERVED):
        pass
    with pytest.raises(Unanswered):
        running(str(tmp_path))
