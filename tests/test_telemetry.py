"""What memory tells OpenTelemetry: counts, times and spans, and nothing of what it holds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mnemic import Memory
from mnemic.errors import BadInput, StoreError
from mnemic.models.document import Turn
from mnemic.telemetry import Telemetry
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import PAST, Client, mcp

SECRET = "The canary sings in the window seat."
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Watched:
    """A telemetry whose counts and spans can be read."""

    def __init__(self) -> None:
        self.reader, self.exporter = InMemoryMetricReader(), InMemorySpanExporter()
        self.tracers, self.meters = TracerProvider(shutdown_on_exit=False), MeterProvider([self.reader], shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(tracers=self.tracers, meters=self.meters)

    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """By instrument, the attributes and value of each point; of a histogram how many."""
        data = self.reader.get_metrics_data()
        metrics = [one for rows in data.resource_metrics for scope in rows.scope_metrics for one in scope.metrics] if data else []
        return {
            one.name: [(dict(point.attributes or {}), getattr(point, "count", getattr(point, "value", None)))
                       for point in one.data.data_points]
            for one in metrics
        }  # fmt: skip

    def everything(self) -> str:
        """All that would leave the process."""
        data = self.reader.get_metrics_data()
        return "".join(span.to_json() for span in self.spans()) + (data.to_json() if data else "")


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


@pytest.fixture
def memory(tmp_path: Path, watched: Watched) -> Iterator[Memory]:
    with home(tmp_path, telemetry=watched.telemetry) as made:
        yield made


def test_a_recall_is_a_span_with_the_times_of_its_stages(memory: Memory, watched: Watched) -> None:
    memory.remember(SECRET)
    found = memory.recall("Where does the canary sing?")
    (span,) = watched.spans()
    assert span.name == "mnemic.recall" and span.attributes is not None
    assert {name: span.attributes[name] for name in ("mnemic.recall.hits", "mnemic.recall.degraded")} == {
        "mnemic.recall.hits": 1, "mnemic.recall.degraded": 0,
    }  # fmt: skip
    stages = {f"mnemic.recall.{name}_ms": round(spent, 3) for name, spent in found.timings.items()}
    assert len(stages) >= 4 and stages.items() <= span.attributes.items()
    points = watched.points()
    assert points["mnemic.recall.duration"] == [({}, 1)]
    assert {about["mnemic.stage"] for about, _ in points["mnemic.recall.stage.duration"]} == set(found.timings)


def test_commits_are_counted_by_what_they_did(memory: Memory, watched: Watched) -> None:
    memory.remember(SECRET)
    memory.remember(SECRET)
    memory.capture([Turn("user", "Where is the kiln?")])
    memory.within("other").diary.add("I moved.")
    memory.forget("/notes/the-canary-sings-in-the-window-seat")
    counted = {about["mnemic.operation"]: count for about, count in watched.points()["mnemic.writes"]}
    assert counted["remember"] == counted["capture"] == counted["forget"] == 1
    assert counted == watched.telemetry.written()


def test_a_request_is_counted_and_is_a_span_in_the_callers_trace(memory: Memory, watched: Watched) -> None:
    client = Client(memory)
    client.post("/remember", text=SECRET)
    client.ask("POST", "/api/v1/recall", json={"query": "canary"}, headers={**PAST, "traceparent": PARENT})
    client.ask("GET", "/api/v1/page?path=/notes/canary")
    client.ask("GET", "/api/v1/status", headers={})
    client.ask("CANARY", "/api/v1/canary")
    spans = {span.name: span for span in watched.spans()}
    assert {*spans} == {"POST post_remember", "POST post_recall", "GET get_page", "GET refused", "other refused", "mnemic.recall"}
    asked, recalled = spans["POST post_recall"], spans["mnemic.recall"]
    assert asked.attributes == {
        "http.request.method": "POST", "mnemic.operation": "post_recall", "http.response.status_code": 200,
    }  # fmt: skip
    assert asked.kind.name == "SERVER" and asked.parent is not None and f"{asked.parent.span_id:x}" == "b7ad6b7169203331"
    assert asked.context is not None and f"{asked.context.trace_id:032x}" == PARENT.split("-")[1]
    assert recalled.parent is not None and recalled.parent.span_id == asked.context.span_id
    points = watched.points()
    assert ({"http.request.method": "GET", "mnemic.operation": "get_page", "http.response.status_code": 404}, 1) in (
        points["http.server.request.duration"]
    )
    assert sum(count for _, count in points["http.server.request.duration"]) == 5
    assert all(running == 0 for _, running in points["http.server.active_requests"])


def test_a_fault_of_ours_is_an_error_without_its_message(
    memory: Memory, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Memory) -> dict[str, Any]:
        raise ValueError(SECRET)

    monkeypatch.setattr(Memory, "status", broken)
    assert Client(memory).ask("GET", "/api/v1/status").status_code == 500
    (span,) = watched.spans()
    assert (span.status.status_code.name, span.status.description, span.events) == ("ERROR", None, ())
    with pytest.raises(BadInput):
        memory.recall("canary", mode="canary")
    assert "canary" not in watched.everything()


def test_how_many_wait_for_vectors_is_asked_when_it_is_told(memory: Memory, watched: Watched) -> None:
    memory.telemetry.waiting(memory.waiting)
    memory.remember(SECRET, index=False)
    assert watched.points()["mnemic.waiting"] == [({}, 1)]
    memory.index()
    assert watched.points()["mnemic.waiting"] == [({}, 0)]


def test_what_cannot_be_counted_is_left_out(watched: Watched) -> None:
    def gone() -> int:
        raise StoreError("the database is gone")

    watched.telemetry.waiting(gone)
    assert "mnemic.waiting" not in watched.points()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_nothing_of_what_was_said_or_asked_leaves_the_process(memory: Memory, watched: Watched, mode: str) -> None:
    async def act(client: Any) -> None:
        await client.call_tool("remember", {"text": SECRET, "title": "canary"})
        await client.call_tool("recall", {"query": "canary"})
        await client.call_tool("open", {"path": "/notes/canary-2"})
        with pytest.raises(MCPError):
            await client.read_resource("mnemic://memory/canary")
        with pytest.raises(MCPError):
            await client.get_prompt("canary", {})
        with pytest.raises(MCPError):
            await client.call_tool("canary", {})

    mcp(memory, act, mode=mode)
    client = Client(memory)
    client.post("/capture", turns=[{"role": "user", "content": SECRET}], session="canary")
    client.ask("GET", "/api/v1/page?path=/notes/canary", headers={**PAST, "mnemic-namespace": "canary"})
    client.ask("POST", "/mem0/v3/memories/add/", json={"messages": [{"role": "user", "content": SECRET}], "user_id": "canary"})
    told = watched.everything()
    assert "post_capture" in told and "mem0" in told and "canary" not in told and "window" not in told


def test_without_opentelemetry_nothing_is_imported_and_all_is_counted(tmp_path: Path) -> None:
    script = f"""
import sys, json
from mnemic import Memory
with Memory.open({str(tmp_path / "home")!r}, environ={{"MNEMIC_CONFIG": {str(tmp_path)!r}}}) as memory:
    memory.remember("Ada sits at the window.")
    memory.recall("Who sits there?")
    print(json.dumps([memory.telemetry.written(), memory.telemetry.recalls.rows()[0][:2],
                      [name for name in sys.modules if name.startswith("opentelemetry")]]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"remember": 1}, ["recall", 1], []]
