"""The benchmark of the proxy runs, and measures both ways."""

from __future__ import annotations

from pathlib import Path

from bench.proxy import measure


def test_the_benchmark_measures_both_ways_and_what_many_streams_leave(tmp_path: Path) -> None:
    report = measure(tmp_path, nodes=100, requests=3, pause=0, streams=2, seconds=0.2)
    assert report["counts"]["whole"] == 8
    assert report["added_ms"].keys() == {"first", "whole"}
    assert report["streams"]["failed"] == 0
    assert report["streams"]["held_after_second_half"].keys() == {"files", "threads", "tasks", "rss_mb"}
