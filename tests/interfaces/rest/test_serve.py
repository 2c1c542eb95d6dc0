"""`mnemic serve` as a process: its address, its token, and who speaks to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mnemic import Memory
from mnemic.errors import BadInput
from mnemic.interfaces.hooks.client import NOTE
from mnemic.interfaces.rest.serve import Mirroring, token_of
from mnemic.interfaces.service import TOKEN
from mnemic.interfaces.serving import bound
from tests.interfaces.mcp.clients import home


def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path),
            "MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_HOOK_SECONDS": "50"}  # fmt: skip


@contextmanager
def running(
    tmp_path: Path, *words: str, before: tuple[str, ...] = (), end: signal.Signals = signal.SIGINT, errors: Any = None
) -> Iterator[tuple[subprocess.Popen[str], str, dict[str, str]]]:
    """A service of the home, its address, and the headers that open it."""
    command = [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), *before, "serve", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environ(tmp_path))
    assert process.stdout is not None
    try:
        url, file = process.stdout.readline().split()[2], process.stdout.readline().split()[-1]
        headers = {"authorization": f"Bearer {Path(file).read_text().strip()}", "content-type": "application/json"}
        yield process, url, headers
    finally:
        process.send_signal(end)
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.stdout.close()


@contextmanager
def serving(tmp_path: Path, *words: str, **more: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a service of the home, and the headers that open it."""
    with running(tmp_path, *words, **more) as (_, url, headers):
        yield url, headers


def hook(tmp_path: Path, event: str, given: dict[str, Any], *before: str) -> Any:
    command = [sys.executable, "-X", "importtime", "-m", "mnemic", "--home", str(tmp_path / "home"), *before, "hook", event]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, env=environ(tmp_path), timeout=60)
    assert done.returncode == 0
    return json.loads(done.stdout), "numpy" in done.stderr


def test_what_is_remembered_over_http_is_recalled_by_a_hook_that_loads_nothing(tmp_path: Path) -> None:
    asked = {"session_id": "s", "prompt": "Where does Ada like to sit? The window seat?"}
    with serving(tmp_path) as (url, headers):
        assert url.startswith("http://127.0.0.1:")
        made = httpx.post(f"{url}/api/v1/remember", headers=headers, json={"text": "Ada prefers the window seat."})
        assert made.json()["status"] == "stored"
        answer, heavy = hook(tmp_path, "prompt", asked)
        assert "window seat" in answer["hookSpecificOutput"]["additionalContext"]
        assert not heavy
        other, heavy = hook(tmp_path, "prompt", asked, "--namespace", "other")
        assert (other, heavy) == ({}, True)
    answer, heavy = hook(tmp_path, "prompt", asked)
    assert "window seat" in answer["hookSpecificOutput"]["additionalContext"]
    assert heavy


def test_a_hook_that_names_no_namespace_is_not_answered_from_another(tmp_path: Path) -> None:
    with serving(tmp_path, before=("--namespace", "work")) as (url, headers):
        httpx.post(f"{url}/api/v1/remember", headers=headers, json={"text": "The canary sings in the window seat."})
        assert hook(tmp_path, "prompt", {"session_id": "s", "prompt": "canary"}) == ({}, True)
        answer, _ = hook(tmp_path, "prompt", {"session_id": "s", "prompt": "canary"}, "--namespace", "work")
        assert "canary" in json.dumps(answer)


def test_mcp_answers_behind_the_token(tmp_path: Path) -> None:
    with serving(tmp_path) as (url, headers):
        hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        assert httpx.post(f"{url}/mcp", json=hello).status_code == 401

        async def names() -> set[str]:
            kept = {"authorization": headers["authorization"]}
            async with (
                create_mcp_http_client(headers=kept) as line,
                Client(streamable_http_client(f"{url}/mcp", http_client=line)) as client,
            ):
                return {tool.name for tool in (await client.list_tools()).tools}

        assert {"remember", "recall", "profile"} <= anyio.run(names)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_what_was_only_observed_is_written_when_the_service_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    with serving(tmp_path, end=end) as (url, headers):
        turn = {"role": "user", "content": "The canary sings."}
        assert httpx.post(f"{url}/api/v1/observe", headers=headers, json={"session": "s", "turn": turn}).status_code == 200
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as memory:
        assert memory.status()["messages"] == 1


def test_an_answer_that_is_under_way_at_the_end_is_finished_and_no_other_is_begun(tmp_path: Path) -> None:
    body = json.dumps({"text": "The canary sings."}).encode()
    with running(tmp_path) as (process, url, headers):
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line, line.makefile("rb") as answer:
            line.sendall(
                f"POST /api/v1/remember HTTP/1.1\r\nhost: localhost\r\nauthorization: {headers['authorization']}\r\n"
                f"content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            )  # fmt: skip
            assert answer.readline() == b"HTTP/1.1 100 Continue\r\n" and answer.readline() == b"\r\n"  # so it is being read
            process.send_signal(signal.SIGTERM)
            while True:  # until the end has come there
                try:
                    socket.create_connection((host, int(port))).close()
                except ConnectionRefusedError:
                    break
            line.sendall(body)
            assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
            assert b'"status":"stored"' in answer.read()
    with Memory.open(tmp_path / "home", environ={"MNEMIC_CONFIG": str(tmp_path / "config")}) as memory:
        assert memory.recall("canary").hits[0].text == "The canary sings."


def test_what_is_logged_as_json_holds_no_content(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with errors.open("wb") as stream, serving(tmp_path, "--log-json", errors=stream) as (url, headers):
        for method, path, given in (
            ("POST", "/api/v1/remember", {"text": "The canary sings.", "title": "canary"}),
            ("POST", "/api/v1/recall", {"query": "canary"}), ("GET", "/api/v1/page?path=/notes/canary", None),
            ("GET", "/api/v1/page?path=/canary", None), ("POST", "/api/v1/facts", {"canary": 1}), ("GET", "/canary", None),
            ("POST", "/mem0/v3/memories/search/", {"query": "canary", "filters": {"canary": {}}}),
            ("POST", "/api/v1/hooks/prompt", {"prompt": "canary", "session_id": "canary"}), ("POST", "/mcp", {"canary": 1}),
            ("CANARY", "/api/v1/status", None),
        ):  # fmt: skip
            httpx.request(method, f"{url}{path}", headers=headers, json=given)
    rows = [json.loads(line) for line in errors.read_text().splitlines()]
    assert len(rows) == 10 and {row["event"] for row in rows} == {"request"}
    assert "canary" not in errors.read_text().lower()


def test_the_token_and_the_note_are_for_their_owner_alone(tmp_path: Path) -> None:
    with serving(tmp_path):
        for name in (TOKEN, NOTE):
            assert stat.S_IMODE((tmp_path / "home" / name).stat().st_mode) == 0o600


def test_a_token_is_made_once_and_read_after(tmp_path: Path) -> None:
    file = tmp_path / "new" / "token"
    first = token_of(file)
    assert (token_of(file), len(first), stat.S_IMODE(file.stat().st_mode)) == (first, 43, 0o600)
    assert token_of(tmp_path / "other") != first


@pytest.mark.parametrize(("text", "mode", "words"), [
    ("0123456789abcdef", 0o644, "chmod 600"), ("short", 0o600, "no good"), ("", 0o600, "no good"),
    ("a b c d e f g h i j", 0o600, "no good"), ("žžžžžžžžžžžžžžžžžž", 0o600, "cannot be read"),
])  # fmt: skip
def test_a_token_file_that_is_no_good_is_refused(tmp_path: Path, text: str, mode: int, words: str) -> None:
    file = tmp_path / "token"
    file.write_text(text, "utf-8")
    file.chmod(mode)
    with pytest.raises(BadInput, match=words):
        token_of(file)


def test_an_address_that_is_taken_is_refused_with_what_to_do() -> None:
    with bound("127.0.0.1", 0) as line, pytest.raises(BadInput, match="choose another --port"):
        bound("127.0.0.1", line.getsockname()[1])


def test_what_was_captured_is_mirrored_into_the_day_once_nothing_new_comes(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        mirror = Mirroring(memory)
        assert not mirror.look()
        memory.remember("Ada prefers the window seat.")
        assert not mirror.look()  # it has only just come
        assert mirror.look()
        assert "window seat" in memory.daily.note()["body"]
        assert not mirror.look()


def test_mirroring_ends_with_what_serves(tmp_path: Path) -> None:
    with Memory.open(tmp_path, environ={"MNEMIC_CONFIG": str(tmp_path)}) as memory:
        waits: list[float] = []
        with Mirroring(memory, wait=lambda stopped, seconds: waits.append(seconds) or stopped.wait()):
            pass
        assert waits == [memory.settings.capture.idle_seconds]


def test_the_end_of_an_answer_does_not_wait_for_the_client_to_acknowledge_its_beginning() -> None:
    with bound("127.0.0.1", 0) as line, socket.create_connection(line.getsockname()):
        taken, _ = line.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
