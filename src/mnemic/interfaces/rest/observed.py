"""What the service tells of itself: counts and times for Prometheus, and a line of JSON a request. Never what was said.

A request is named by the operation that answered it, so no path, query or text of memory can stand here.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mnemic.interfaces.tokens import ACCESS
from mnemic.telemetry import BOUNDS, Telemetry, Times

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

OPERATION = "mnemic.operation"
"""Where whoever answers leaves its name in the scope of a request."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
TRACE = (b"traceparent", b"tracestate")
TYPE = "text/plain; version=0.0.4; charset=utf-8"
Line = Callable[[str], None]


class Observed:
    """Counts requests, beside what memory measures. `line` takes each as one line of JSON."""

    def __init__(self, telemetry: Telemetry, line: Line | None = None) -> None:
        self._telemetry, self._line = telemetry, line
        self._guard = threading.Lock()
        self._begun, self._count = 0, Counter[tuple[str, str, int]]()

    @contextmanager
    def asked(self, scope: Scope, send: Send) -> Iterator[Send]:
        """One request: gives the `send` by which its status becomes known."""
        status = 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in METHODS else "other"
        headers = {name.decode(): text.decode("latin-1") for name, text in scope["headers"] if name in TRACE}
        with self._telemetry.request(method, headers) as done:
            with self._guard:
                self._begun += 1
            try:
                yield told
            finally:
                name = str(scope.get(OPERATION, "refused" if 400 <= status < 500 else "other"))
                seconds = done(name, status)
                with self._guard:
                    self._begun -= 1
                    self._count[method, name, status] += 1
                if self._line is not None:
                    self._line(_row(scope, method, name, status, seconds))

    def text(self, waiting: int | None, jobs: Mapping[str, int] | None = None) -> str:
        """All counts, as Prometheus reads them; `waiting`: documents that wait for their vectors, and `jobs` of the home by
        state, where they are known."""
        with self._guard:
            counts, begun = dict(self._count), self._begun
        told = self._telemetry
        rows = ["# HELP mnemic_requests_total Requests that were answered.", "# TYPE mnemic_requests_total counter"]
        rows += [f"mnemic_requests_total{_labels(method=method, operation=name, status=status)} {count}"
                 for (method, name, status), count in sorted(counts.items())]  # fmt: skip
        rows += _histogram("mnemic_request_seconds", "How long answers took.", "operation", told.requests)
        rows += ["# HELP mnemic_requests_running Requests that are being answered.", "# TYPE mnemic_requests_running gauge",
                 f"mnemic_requests_running {begun}"]  # fmt: skip
        if jobs is not None:
            rows += ["# HELP mnemic_jobs Jobs of the home for `mnemic worker`.", "# TYPE mnemic_jobs gauge"]
            rows += [f"mnemic_jobs{_labels(state=state)} {count}" for state, count in jobs.items()]
        rows += _histogram("mnemic_recall_seconds", "How long recalls took.", "", told.recalls)
        rows += _histogram("mnemic_recall_stage_seconds", "How long their stages took.", "stage", told.stages)
        rows += ["# HELP mnemic_writes_total Commits, by their last entry's verb.", "# TYPE mnemic_writes_total counter"]
        rows += [f"mnemic_writes_total{_labels(operation=name)} {count}" for name, count in sorted(told.written().items())]
        if waiting is not None:
            rows += ["# HELP mnemic_waiting Documents that wait for their vectors.", "# TYPE mnemic_waiting gauge",
                     f"mnemic_waiting {waiting}"]  # fmt: skip
        return "\n".join(rows) + "\n"


def _row(scope: Scope, method: str, name: str, status: int, seconds: float) -> str:
    access = scope.get(ACCESS)
    return json.dumps({"event": "request", "method": method, "operation": name, "status": status,
                       "ms": round(seconds * 1000, 1), "token": access.grant.name if access else None})  # fmt: skip


def _histogram(name: str, about: str, label: str, times: Times) -> list[str]:
    rows = [f"# HELP {name} {about}", f"# TYPE {name} histogram"]
    for key, count, seconds, within in times.rows():
        own = {label: key} if label else {}
        buckets = zip((*BOUNDS, "+Inf"), (*within, count), strict=True)
        rows += [f"{name}_bucket{_labels(**own, le=bound)} {most}" for bound, most in buckets]
        rows += [f"{name}_sum{_labels(**own)} {seconds:.6f}", f"{name}_count{_labels(**own)} {count}"]
    return rows


def reads(counts: Mapping[str, int]) -> str:
    """How many reads of the store went to which server, in the same form."""
    rows = ["# HELP mnemic_store_reads_total Reads of the store by server; fallback: the primary, where no replica could answer.",
            "# TYPE mnemic_store_reads_total counter",
            *(f"mnemic_store_reads_total{_labels(server=server)} {count}" for server, count in counts.items())]  # fmt: skip
    return "\n".join(rows) + "\n" if counts else ""


def _labels(**labels: Any) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}" if labels else ""
