from __future__ import annotations

from pathlib import Path

from bench.experiences import measure


def test_a_small_library_is_filled_asked_and_reported_on(tmp_path: Path) -> None:
    report = measure(tmp_path, 12, 3)
    assert report["experiences"] == 12
    assert 0 < report["recall_ms"]["p50"] <= report["recall_ms"]["p95"]
