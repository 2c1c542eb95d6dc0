"""What the service tells of itself: counts and times for Prometheus, and a line of JSON a request. Never what was said.

A request is named by the operation that answered it, so no path, query or text of memory can stand here.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mnemic.interfaces.tokens import ACCESS

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

BOUNDS = (0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0)
"""Upper bounds of the histogram, in seconds."""
OPERATION = "mnemic.operation"
"""Where whoever answers leaves its name in the scope of a request."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
TYPE = "text/plain; version=0.0.4; charset=utf-8"
Line = Callable[[str], None]


class Observed:
    """Counts requests. `line` takes each as one line of JSON."""

    def __init__(self, line: Line | None = None, seconds: Callable[[], float] = time.perf_counter) -> None:
        self._line, self._seconds = line, seconds
        self._guard = threading.Lock()
        self._begun, self._count, self._within = 0, Counter[tuple[str, str, int]](), Counter[tuple[str, float]]()
        self._sum: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def asked(self, scope: Scope, send: Send) -> Iterator[Send]:
        """One request: gives the `send` by which its status becomes known."""
        status, began = 0, self._seconds()

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._guard:
            self._begun += 1
        try:
            yield told
        finally:
            self._note(scope, status, self._seconds() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        name = str(scope.get(OPERATION, "refused" if 400 <= status < 500 else "other"))
        method = scope["method"] if scope["method"] in METHODS else "other"
        with self._guard:
            self._begun -= 1
            self._count[method, name, status] += 1
            self._sum[name] += seconds
            for bound in BOUNDS:
                self._within[name, bound] += seconds <= bound
        if self._line is not None:
            access = scope.get(ACCESS)
            row = {"event": "request", "method": method, "operation": name, "status": status, "ms": round(seconds * 1000, 1),
                   "token": access.grant.name if access else None}  # fmt: skip
            self._line(json.dumps(row))

    def text(self, jobs: Mapping[str, int] | None = None) -> str:
        """All counts, as Prometheus reads them, and how many jobs of the home are in which state."""
        with self._guard:
            counts, sums, within, begun = dict(self._count), dict(self._sum), dict(self._within), self._begun
        rows = ["# HELP mnemic_requests_total Requests that were answered.", "# TYPE mnemic_requests_total counter"]
        rows += [f"mnemic_requests_total{_labels(method=method, operation=name, status=status)} {count}"
                 for (method, name, status), count in sorted(counts.items())]  # fmt: skip
        rows += ["# HELP mnemic_request_seconds How long answers took.", "# TYPE mnemic_request_seconds histogram"]
        for name in sorted(sums):
            whole = sum(count for (_, one, _), count in counts.items() if one == name)
            rows += [
                f"mnemic_request_seconds_bucket{_labels(operation=name, le=bound)} {within[name, bound]}" for bound in BOUNDS
            ]
            rows += [f"mnemic_request_seconds_bucket{_labels(operation=name, le='+Inf')} {whole}",
                     f"mnemic_request_seconds_sum{_labels(operation=name)} {sums[name]:.6f}",
                     f"mnemic_request_seconds_count{_labels(operation=name)} {whole}"]  # fmt: skip
        rows += ["# HELP mnemic_requests_running Requests that are being answered.", "# TYPE mnemic_requests_running gauge",
                 f"mnemic_requests_running {begun}"]  # fmt: skip
        if jobs is not None:
            rows += ["# HELP mnemic_jobs Jobs of the home for `mnemic worker`.", "# TYPE mnemic_jobs gauge"]
            rows += [f"mnemic_jobs{_labels(state=state)} {count}" for state, count in jobs.items()]
        return "\n".join(rows) + "\n"


def _labels(**labels: Any) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
