"""`mnemic proxy` as a process: it tells its address, serves, keeps keys to itself, and ends when it is told to."""

from __future__ import annotations

import builtins
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from mnemic import Memory
from mnemic.errors import BadInput, MissingExtra
from mnemic.interfaces.cli.app import app
from tests.interfaces.proxy.servers import WAIT, Upstream, chat, served


@contextmanager
def running(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    own = {"MNEMIC_HOME": str(folder / "home"), "MNEMIC_CONFIG": str(folder / "config"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "mnemic", "proxy", "--port", "0", *options]
    path = os.pathsep.join(str(Path(__file__).parents[2] / part) for part in ("src", "."))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **own, "PYTHONPATH": path}
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found, process.communicate()
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def test_a_proxy_serves_until_it_is_interrupted_and_writes_no_key_anywhere(tmp_path: Path) -> None:
    upstream = Upstream()
    upstream.answering = lambda seen: chat("Noted.")
    with served(upstream) as url, running(tmp_path, "--upstream", url, "--window", "8000") as (process, proxy):
        body = {"messages": [{"role": "user", "content": "My cat is called Miso."}], "user": "ada"}
        keys = {"authorization": "Bearer swordfish-1"}
        answer = httpx.post(f"{proxy}/v1/chat/completions?key=swordfish-2", json=body, headers=keys, timeout=WAIT)
        assert answer.json()["choices"][0]["message"]["content"] == "Noted."
        assert httpx.get(f"{proxy}/mnemic/status").json()["upstream"] == url
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=WAIT)
    assert process.returncode == 0
    assert "swordfish" not in "".join(told)
    assert "Traceback" not in "".join(told)
    assert not any(b"swordfish" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as memory:
        assert memory.show("/sessions/ada/1")["text"] == "user: My cat is called Miso.\n\nassistant: Noted."


def test_what_cannot_be_served_is_refused_in_words(tmp_path: Path) -> None:
    runner = CliRunner(env={"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config")})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, why in (
            (["--upstream", "openai"], "is no address of a server"),
            (["--upstream", "http://x", "--port", port], f"cannot listen on 127.0.0.1:{port} (Address already in use): choose"),
            (["--upstream", "http://x", "--port", "0", "--window", "9"], "widen the window"),
        ):
            done = runner.invoke(app, ["proxy", *options])
            assert isinstance(done.exception, BadInput)
            assert why in str(done.exception)


def test_without_its_libraries_the_command_to_install_them_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *more: Any) -> Any:
        if name == "uvicorn":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", absent)
    runner = CliRunner(env={"MNEMIC_HOME": str(tmp_path / "home"), "MNEMIC_CONFIG": str(tmp_path / "config")})
    done = runner.invoke(app, ["proxy", "--upstream", "http://x"])
    assert isinstance(done.exception, MissingExtra)
    assert "pip install 'mnemic[serve]'" in str(done.exception)
