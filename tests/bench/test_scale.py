from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

from bench import scale
from bench.scale import measure, names, page, sentences


def test_names_grow_more_slowly_than_the_text_and_never_stop() -> None:
    drawn = list(islice(names(random.Random(1)), 4_000))
    first, second = len(set(drawn[:2_000])), len(set(drawn))
    assert first < second < 2 * first


def test_a_run_tells_what_every_size_costs(tmp_path: Path) -> None:
    report = measure(sentences(), tmp_path, nodes=60, questions=8)
    assert report["nodes"] == 60
    assert set(report["stages_ms"]) >= {"find", "widen", "score", "select"}
    assert report["recall_ms"]["p95"] >= report["recall_ms"]["p50"] > 0
    assert report["baseline_ms"]["p50"] > 0
    assert report["startup_s"]["first_answer"] >= report["startup_s"]["open"] > 0
    assert report["disk_bytes"] > 100_000
    assert "| recall" in page([report]).replace("**", "")


def test_the_page_that_is_kept_is_that_of_the_results_that_are_kept() -> None:
    import json

    if scale.RESULTS.exists():
        assert scale.PAGE.read_text("utf-8") == page(json.loads(scale.RESULTS.read_text("utf-8")))
