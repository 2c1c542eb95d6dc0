"""What memory measures of itself: for `/metrics`, and for OpenTelemetry where the process has loaded it.

`opentelemetry` is never imported for its own sake: who exports has its API loaded, and for everybody else a recall costs one
look into a dictionary more. Nothing of what was said stands in it: names of operations and stages, counts and times; no text,
no question, no path, no namespace. Exceptions are not recorded either, for their messages may hold such things.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from mnemic.errors import MnemicError

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Histogram, MeterProvider, Observation
    from opentelemetry.trace import TracerProvider

    from mnemic.models.answer import Answer

BOUNDS = (0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0)
"""Upper bounds of a histogram, in seconds."""
SCOPE = "mnemic"
Seconds = Callable[[], float]


class Times:
    """How long things took, by name."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._count, self._within = Counter[str](), Counter[tuple[str, float]]()
        self._sum: defaultdict[str, float] = defaultdict(float)

    def note(self, name: str, seconds: float) -> None:
        """Count one."""
        with self._guard:
            self._count[name] += 1
            self._sum[name] += seconds
            for bound in BOUNDS:
                self._within[name, bound] += seconds <= bound

    def rows(self) -> list[tuple[str, int, float, list[int]]]:
        """By name: how many, their sum in seconds, and how many took at most each of BOUNDS."""
        with self._guard:
            return [
                (name, self._count[name], self._sum[name], [self._within[name, bound] for bound in BOUNDS])
                for name in sorted(self._count)
            ]


class Telemetry:
    """Counts and times of one home in one process. Providers of OpenTelemetry that are not given are the process's own."""

    def __init__(
        self, *, tracers: TracerProvider | None = None, meters: MeterProvider | None = None, seconds: Seconds = time.perf_counter
    ) -> None:
        self.seconds = seconds
        self.recalls, self.stages, self.requests = Times(), Times(), Times()
        """Recalls, all as `recall`; their stages; requests by operation."""
        self._writes = Counter[str]()
        self._providers = tracers, meters
        self._guard = threading.Lock()

    @contextmanager
    def recall(self) -> Iterator[Callable[[Answer], None]]:
        """One recall: gives what is to be told its answer."""
        answers: list[Answer] = []
        with self._span("mnemic.recall") as span:
            began = self.seconds()
            yield answers.append
            seconds = self.seconds() - began
            self.recalls.note("recall", seconds)
            for answer in answers:
                for stage, spent in answer.timings.items():
                    self.stages.note(stage, spent / 1_000)
            if otel := self._otel():
                otel.recalls.record(seconds)
                for answer in answers:
                    for stage, spent in answer.timings.items():
                        otel.stages.record(spent / 1_000, {"mnemic.stage": stage})
                        span.set_attribute(f"mnemic.recall.{stage}_ms", round(spent, 3))
                    span.set_attributes({"mnemic.recall.hits": len(answer.hits), "mnemic.recall.degraded": len(answer.degraded)})

    def wrote(self, operation: str) -> None:
        """Count a commit."""
        with self._guard:
            self._writes[operation] += 1
        if otel := self._otel():
            otel.writes.add(1, {"mnemic.operation": operation})

    def written(self) -> dict[str, int]:
        """How many commits there were, by the operation of their last entry."""
        with self._guard:
            return dict(self._writes)

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Iterator[Callable[[str, int], float]]:
        """One request of a service: gives what is to be told its operation and status, and then says how long it took, in s."""
        otel, began = self._otel(), self.seconds()
        about: dict[str, Any] = {"http.request.method": method}
        with self._span(method, headers) as span:
            if otel:
                otel.running.add(1, about)

            def told(operation: str, status: int) -> float:
                seconds = self.seconds() - began
                self.requests.note(operation, seconds)
                if otel:
                    more = {**about, "mnemic.operation": operation, "http.response.status_code": status}
                    otel.requests.record(seconds, more)
                    span.update_name(f"{method} {operation}")
                    span.set_attributes(more)
                    if status >= 500:
                        span.set_status(otel.failed)
                return seconds

            try:
                yield told
            finally:
                if otel:
                    otel.running.add(-1, about)

    def waiting(self, count: Callable[[], int]) -> None:
        """Let OpenTelemetry ask how many documents wait for their vectors, where it is there."""
        if otel := self._otel():
            otel.watch(count)

    @contextmanager
    def _span(self, name: str, headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        """A span around what is done, of the trace that a request's headers name; None without OpenTelemetry."""
        otel = self._otel()
        if otel is None:
            yield None
            return
        with otel.tracer.start_as_current_span(
            name, context=None if headers is None else otel.extract(headers), record_exception=False,
            set_status_on_exception=False, kind=otel.inside if headers is None else otel.server,
        ) as span:  # fmt: skip
            yield span

    def _otel(self) -> _OpenTelemetry | None:
        if self._providers == (None, None) and "opentelemetry.trace" not in sys.modules:
            return None
        return _opened(*self._providers)


class _OpenTelemetry:
    """The instruments."""

    def __init__(self, tracers: TracerProvider | None, meters: MeterProvider | None) -> None:
        from opentelemetry.metrics import get_meter
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer

        self.extract, self.failed = extract, Status(StatusCode.ERROR)
        self.server, self.inside = SpanKind.SERVER, SpanKind.INTERNAL
        self.tracer = get_tracer(SCOPE, tracer_provider=tracers)
        self.meter = get_meter(SCOPE, meter_provider=meters)
        self.requests = self._timed("http.server.request.duration", "How long answers took.")
        self.running = self.meter.create_up_down_counter(
            "http.server.active_requests", unit="{request}", description="Requests that are being answered."
        )  # fmt: skip
        self.recalls = self._timed("mnemic.recall.duration", "How long recalls took.")
        self.stages = self._timed("mnemic.recall.stage.duration", "How long the stages of recalls took.")
        self.writes = self.meter.create_counter(
            "mnemic.writes", unit="{commit}", description="Commits, by the operation of their last entry."
        )  # fmt: skip

    def _timed(self, name: str, about: str) -> Histogram:
        try:
            return self.meter.create_histogram(name, "s", about, explicit_bucket_boundaries_advisory=BOUNDS)
        except TypeError:  # before 1.30
            return self.meter.create_histogram(name, "s", about)

    def watch(self, count: Callable[[], int]) -> None:
        from opentelemetry.metrics import Observation

        def look(options: CallbackOptions) -> list[Observation]:
            try:
                return [Observation(count())]
            except MnemicError:  # readiness tells of a home that cannot be read
                return []

        self.meter.create_observable_gauge(
            "mnemic.waiting", [look], unit="{document}", description="Documents that wait for their vectors."
        )  # fmt: skip


@cache
def _opened(tracers: TracerProvider | None, meters: MeterProvider | None) -> _OpenTelemetry | None:
    """One set of instruments a provider, however many homes are opened; None for an API that knows no metrics yet."""
    try:
        return _OpenTelemetry(tracers, meters)
    except ImportError:
        return None
