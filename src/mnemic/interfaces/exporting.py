"""Where what is measured goes: to the collector that the OTEL_* variables name, by OpenTelemetry's own SDK.

Nothing leaves this machine unless one of them names an endpoint or the exporter `otlp`. The SDK reads all the others itself:
headers, timeouts, certificates, sampling, intervals, attributes of the resource.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Thread

SIGNALS = ("TRACES", "METRICS")
PROTOCOL = "http/protobuf"
LAST_SECONDS = 2.0
"""For what is left to be told when the service ends: a collector that is away would hold it up for ten."""


def wanted(environ: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The signals that are to be exported, and what of the variables cannot be followed."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return [], []
    found, problems = list[str](), list[str]()
    for signal in SIGNALS:
        named = environ.get(f"OTEL_{signal}_EXPORTER", "").strip()
        endpoint = any(environ.get(f"OTEL_EXPORTER_OTLP_{part}ENDPOINT") for part in ("", f"{signal}_"))
        protocol = environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or PROTOCOL
        if named not in ("", "none", "otlp"):
            problems.append(f"OTEL_{signal}_EXPORTER {named[:40]!r} is not known here: use otlp or none")
        elif named == "otlp" or (endpoint and not named):
            if protocol == PROTOCOL:
                found.append(signal)
            else:
                problems.append(f"the protocol {protocol[:40]!r} of OTLP is not known here: use {PROTOCOL}, mostly at port 4318")
    return found, problems


@contextmanager
def exporting(environ: Mapping[str, str]) -> Iterator[list[str]]:
    """Export for as long; gives what stands against it. Where somebody else set OpenTelemetry up, that stays as it is."""
    signals, problems = wanted(environ)
    if signals and (find_spec("opentelemetry") is None or _lacks()):
        signals, problems = [], [*problems, "OTEL_* variables ask for telemetry, which needs: pip install 'mnemic[otel]'"]
    if not signals:
        yield problems
        return
    from opentelemetry import metrics, trace
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({} if _is_named(environ) else {"service.name": "mnemic"})
    tracers = meters = None
    if "TRACES" in signals and not isinstance(trace.get_tracer_provider(), TracerProvider):
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
    if "METRICS" in signals and not isinstance(metrics.get_meter_provider(), MeterProvider):
        meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource, shutdown_on_exit=False)
        metrics.set_meter_provider(meters)
    try:
        yield problems
    finally:
        ends = [Thread(target=one.shutdown, daemon=True) for one in (tracers, meters) if one is not None]
        for end in ends:
            end.start()
        until = time.monotonic() + LAST_SECONDS
        for end in ends:
            end.join(max(0.0, until - time.monotonic()))


def _lacks() -> bool:
    """Whether the SDK or its exporter is missing."""
    try:
        return any(find_spec(name) is None for name in ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http"))
    except ModuleNotFoundError:
        return True


def _is_named(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("OTEL_SERVICE_NAME")) or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
