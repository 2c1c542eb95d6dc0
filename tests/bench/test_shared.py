from __future__ import annotations

import argparse
from pathlib import Path

from bench.shared import measure, render
from tests.servers import Server


def test_both_homes_are_filled_asked_and_written_to(server: Server, tmp_path: Path) -> None:
    options = argparse.Namespace(namespaces=2, nodes=8, clients=2, seconds=0.3)
    report = measure(options, tmp_path, server.fresh())
    for row in (report, report["sqlite"]):
        assert (row["namespaces"], row["nodes"], row["errors"]) == (2, 8, 0)
        assert row["recall"]["p95_ms"] >= row["recall"]["p50_ms"] > 0 and row["capture_per_s"] > 0
    assert render(report).count("| 0 |") == 2
