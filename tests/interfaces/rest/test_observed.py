"""Metrics, the log, health and readiness: they tell the truth, and nothing of what memory holds."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.interfaces.rest.looks import Look
from mnemic.store.postgres import connection
from mnemic.telemetry import Telemetry
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import PAST, Client
from tests.servers import Server, serving

NOTE = "Ada prefers the window seat."


def test_requests_are_counted_by_operation_and_status(tmp_path: Path) -> None:
    ticks = iter(range(100))
    with home(tmp_path, telemetry=Telemetry(seconds=lambda: next(ticks) / 10)) as memory:
        client = Client(memory)
        client.post("/remember", text=NOTE)
        client.ask("POST", "/api/v1/recall", headers={})
        client.ask("GET", "/api/v1/page?path=/notes/secret")
        text = client.ask("GET", "/metrics").text
    assert 'mnemic_requests_total{method="POST",operation="post_remember",status="200"} 1\n' in text
    assert 'mnemic_requests_total{method="POST",operation="refused",status="401"} 1\n' in text
    assert 'mnemic_requests_total{method="GET",operation="get_page",status="404"} 1\n' in text
    assert 'mnemic_request_seconds_bucket{operation="post_remember",le="0.25"} 1\n' in text
    assert 'mnemic_request_seconds_bucket{operation="post_remember",le="0.025"} 0\n' in text
    assert 'mnemic_writes_total{operation="remember"} 1\n' in text and "mnemic_waiting 0\n" in text
    assert "mnemic_requests_running 1\n" in text and "secret" not in text and "window" not in text


def test_metrics_are_for_whoever_looks_after_the_service(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        client = Client(memory)
        assert client.ask("GET", "/metrics", headers={}).status_code == 401
        assert client.ask("GET", "/metrics", headers=client.granted("read")).status_code == 403
        assert client.ask("GET", "/metrics", headers=client.granted("admin", namespaces=("default",))).status_code == 403
        found = client.ask("GET", "/metrics", headers=client.granted("admin"))
        assert (found.status_code, found.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")


def test_the_jobs_of_a_home_on_a_server_are_counted_by_state(tmp_path: Path, server: Server) -> None:
    pytest.importorskip("procrastinate")
    environ = {"MNEMIC_FILES": str(tmp_path / "files"), "MNEMIC_CONFIG": str(tmp_path / "c")}
    with Memory.open(server.fresh("counted"), environ=environ) as memory:
        client = Client(memory)
        assert "mnemic_jobs" not in client.ask("GET", "/metrics").text
        memory.worker(once=True).run()
        memory.within("secret").remember(NOTE, index=False)
        text = client.ask("GET", "/metrics").text
    assert 'mnemic_jobs{state="waiting"} 1\nmnemic_jobs{state="doing"} 0\nmnemic_jobs{state="failed"} 0\n' in text
    assert "secret" not in text
    server.drop("counted")


def test_recalls_and_their_stages_are_counted_too(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        client = Client(memory)
        client.post("/remember", text=NOTE)
        client.post("/recall", query="Where does Ada sit?")
        text = client.ask("GET", "/metrics").text
    assert 'mnemic_recall_seconds_bucket{le="+Inf"} 1\n' in text and "mnemic_recall_seconds_count 1\n" in text
    assert 'mnemic_recall_stage_seconds_count{stage="candidates"} 1\n' in text and "window" not in text


def test_a_line_of_the_log_tells_of_a_request_and_nothing_of_what_it_says(tmp_path: Path) -> None:
    lines: list[str] = []
    with home(tmp_path) as memory:
        client = Client(memory, line=lines.append)
        client.post("/remember", text=NOTE, title="A secret")
        client.ask("GET", "/api/v1/page?path=/notes/secret&x=secret", headers=client.granted("read"))
        client.ask("SECRET", "/api/v1/secret")
    rows = [json.loads(line) for line in lines]
    assert [(row["operation"], row["status"], row["token"]) for row in rows] == [
        ("post_remember", 200, "owner"), ("get_page", 400, "token 0"), ("refused", 404, "owner"),
    ]  # fmt: skip
    assert rows[0].keys() == {"event", "method", "operation", "status", "ms", "token"}
    assert "secret" not in "".join(lines).lower() and "window" not in "".join(lines)


def test_readiness_tells_of_a_home_that_is_gone_or_cannot_be_written(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        client = Client(memory)
        memory.remember(NOTE)
        assert client.ask("GET", "/readyz", headers={}).json() == {"ok": True}
        file = tmp_path / "home" / "memory.db"
        file.rename(file.with_suffix(".away"))
        found = client.ask("GET", "/readyz", headers={})
        assert (found.status_code, found.json()["detail"]) == (503, "the home cannot be read (StoreError): run `mnemic doctor`")
        assert client.ask("GET", "/healthz", headers={}).json() == {"ok": True}
        file.with_suffix(".away").rename(file)
        assert client.ask("GET", "/readyz", headers={}).json() == {"ok": True}


def test_readiness_tells_of_a_database_that_is_gone_and_that_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_FILES": str(tmp_path / "files")}
    with serving() as own, Memory.open(own.fresh(), environ=environ) as memory:
        client = Client(memory)
        client.post("/remember", text=NOTE)
        own.stop("fast")  # what it acknowledges here is not on the disk yet
        try:
            found = client.ask("GET", "/readyz", headers={})
            assert found.status_code == 503
            assert found.json()["detail"].startswith("the home cannot be read (")
            assert client.ask("POST", "/api/v1/remember", json={"text": "Carl."}).status_code == 503
            assert client.ask("GET", "/healthz", headers={}).status_code == 200
            assert "mnemic_requests_total" in client.ask("GET", "/metrics").text
        finally:
            monkeypatch.undo()
            own.start()
        assert client.post("/remember", text="Carl sits outside.")["status"] == "stored"
        assert client.ask("GET", "/readyz", headers={}).json() == {"ok": True}


def test_a_home_that_is_waited_for_is_asked_once_and_holds_nobody_up() -> None:
    asked, go = list[int](), threading.Event()

    def ask() -> str:
        asked.append(1)
        go.wait()
        return "it answers"

    look = Look(ask, "it does not answer", seconds=0.01)
    assert [look() for _ in range(20)] == ["it does not answer"] * 20
    assert len(asked) == 1
    go.set()
    assert Look(ask, "it does not answer")() == "it answers"


def test_a_home_on_a_server_is_ready_and_counts_its_reads(tmp_path: Path, server: Server) -> None:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_FILES": str(tmp_path / "files")}
    with Memory.open(server.fresh(), environ=environ) as memory:
        client = Client(memory)
        assert client.ask("GET", "/readyz", headers={}).json() == {"ok": True}
        assert 'mnemic_store_reads_total{server="replica"} 0\n' in client.ask("GET", "/metrics").text


def test_an_answer_says_how_far_it_reaches_and_none_before_that_is_given(tmp_path: Path, server: Server) -> None:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_FILES": str(tmp_path / "files")}
    with Memory.open(server.fresh(), environ=environ) as memory:
        client = Client(memory)
        told = client.ask("POST", "/api/v1/remember", json={"text": NOTE}).headers["mnemic-position"]
        asked = {**PAST, "mnemic-position": told}
        answer = client.ask("POST", "/api/v1/recall", json={"query": "window"}, headers=asked)
        assert (answer.json()["hits"][0]["text"], answer.headers["mnemic-position"]) == (NOTE, told)
        wrong = client.ask("POST", "/api/v1/recall", json={"query": "window"}, headers={**asked, "mnemic-position": "9" + told})
        assert wrong.status_code == 400
        assert wrong.json()["detail"] == f"position '9{told}' is none of this namespace: give what an answer about it said"
        other = client.ask("GET", "/api/v1/status", headers={**asked, "mnemic-namespace": "other"})
        assert other.status_code == 400


def test_a_home_of_files_says_no_position(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        assert "mnemic-position" not in Client(memory).ask("POST", "/api/v1/remember", json={"text": NOTE}).headers


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_readiness_tells_of_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    with home(tmp_path) as memory:
        client = Client(memory)
        memory.remember(NOTE)
        (tmp_path / "home").chmod(0o500)
        try:
            assert client.ask("GET", "/readyz", headers={}).status_code == 503
        finally:
            (tmp_path / "home").chmod(0o700)
