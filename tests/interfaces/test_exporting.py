"""Where telemetry goes: to the collector that the OTEL_* variables name, and nowhere else."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from mnemic.interfaces.exporting import exporting, wanted

URL = "http://localhost:4318"
BOTH = ["TRACES", "METRICS"]


@pytest.mark.parametrize(("environ", "signals"), [
    ({}, []),
    ({"OTEL_SERVICE_NAME": "x"}, []),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL}, BOTH),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_SDK_DISABLED": "true"}, []),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_TRACES_EXPORTER": "none"}, ["METRICS"]),
    ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}, ["TRACES"]),
    ({"OTEL_METRICS_EXPORTER": "otlp"}, ["METRICS"]),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, BOTH),
])  # fmt: skip
def test_what_is_exported_follows_the_standard_variables(environ: Mapping[str, str], signals: list[str]) -> None:
    assert wanted(environ) == (signals, [])


def test_what_cannot_be_followed_is_told() -> None:
    found = wanted({"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert found == ([], [
        "OTEL_TRACES_EXPORTER 'console' is not known here: use otlp or none",
        "the protocol 'grpc' of OTLP is not known here: use http/protobuf, mostly at port 4318",
    ])  # fmt: skip


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.interfaces.exporting.find_spec", lambda name: None)
    with exporting({"OTEL_EXPORTER_OTLP_ENDPOINT": URL}) as problems:
        assert problems == ["OTEL_* variables ask for telemetry, which needs: pip install 'mnemic[otel]'"]
    with exporting({}) as problems:
        assert problems == []


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The address of a collector, and what it got, by path."""
    got: dict[str, bytes] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            got[self.path] = got.get(self.path, b"") + body
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


def served(tmp_path: Path, **more: str) -> str:
    """What a service says on stderr that was asked something and then ended."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path),
               "MNEMIC_CONFIG": str(tmp_path / "config"), **more}  # fmt: skip
    command = [sys.executable, "-m", "mnemic", "--home", str(tmp_path / "home"), "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        try:
            url, file = process.stdout.readline().split()[2], process.stdout.readline().split()[-1]
            headers = {"authorization": f"Bearer {Path(file).read_text().strip()}"}
            httpx.post(f"{url}/api/v1/remember", headers=headers, json={"text": "The canary sings."})
            assert httpx.post(f"{url}/api/v1/recall", headers=headers, json={"query": "canary"}).status_code == 200
            asked = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "mnemic://memory/canary"}}
            version = {"mcp-protocol-version": "2025-11-25", "accept": "application/json, text/event-stream"}
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
            begun = httpx.post(f"{url}/mcp", headers=headers | version, json=hello)
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            httpx.post(f"{url}/mcp", headers=headers | version | session,
                       json={"jsonrpc": "2.0", "method": "notifications/initialized"})  # fmt: skip
            assert "canary" in httpx.post(f"{url}/mcp", headers=headers | version | session, json=asked).text
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            return process.stderr.read()
        finally:
            process.kill()


def test_a_service_tells_its_collector_until_its_end_and_no_content(tmp_path: Path) -> None:
    with collector() as (url, got):
        said = served(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_EXPORTER_OTLP_HEADERS="x-key=1")
    assert said == "" and {*got} == {"/v1/traces", "/v1/metrics"}
    assert all(word in got["/v1/traces"] for word in (b"post_recall", b"mnemic.recall", b"service.name", b"mnemic.recall.hits"))
    assert all(word in got["/v1/metrics"] for word in (b"mnemic.writes", b"mnemic.waiting", b"http.server.request.duration"))
    assert b"canary" not in b"".join(got.values())


def test_a_collector_that_is_away_holds_up_neither_the_service_nor_its_end(tmp_path: Path) -> None:
    served(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_SERVICE_NAME="mine")
