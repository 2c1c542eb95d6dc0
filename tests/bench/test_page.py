from __future__ import annotations

import json
from typing import Any

from bench.page import PAGE, RESULTS, below, render
from bench.retrieval import METRICS


def report(own: float, **others: float) -> dict[str, Any]:
    return {
        "questions": 1,
        "turn": dict.fromkeys(METRICS, own),
        "by_category": {},
        "baseline": {name: dict.fromkeys(METRICS, value) for name, value in others.items()},
    }


def results(own: float) -> dict[str, Any]:
    abstention = {"answerable": 0.0, "next": 0.5, "elsewhere": 1.0, "unanswerable": None}
    e5 = {"structure": report(own, bm25=0.4, cosine=0.5, rrf60=0.6), "seed": report(0.3), "abstention": abstention}
    hashing = {"structure": report(own, bm25=0.4), "seed": report(0.2), "abstention": abstention}
    e5["ablation"] = {"all": dict.fromkeys(METRICS, own), "no window": dict.fromkeys(METRICS, 0.45)}
    return {"cmrc": {"size": {"collections": 1, "items": 2, "questions": 1}, "e5": e5, "hashing": hashing}}


def test_the_page_that_is_kept_is_that_of_the_results_that_are_kept() -> None:
    assert PAGE.read_text("utf-8") == render(json.loads(RESULTS.read_text("utf-8")))


def test_what_lies_below_its_best_baseline_is_said_aloud() -> None:
    lost = results(0.5)
    assert below(lost["cmrc"]["e5"]) == ["recall@5", "recall@10"]
    assert below(lost["cmrc"]["hashing"]) == []
    page = render(lost)
    assert "**Below its best baseline**: CMRC 2018, e5, R@5: .500 against .600 of rrf60." in page
    assert "| structure, hashing | **.500/.500** |" in page
    assert "| structure, e5 | .500/.500 |" in page
    assert "Below" not in render(results(0.7))


def test_where_the_seeds_formula_finds_more_is_said_aloud() -> None:
    lost = results(0.25)
    page = render(lost)
    assert "**Below the seed's formula**: CMRC 2018, e5, R@10: .250 against .300." in page
    assert "seed's formula**: CMRC 2018, hashing" not in page


def test_an_unmeasured_share_is_a_dash_and_others_are_per_cent() -> None:
    assert "| CMRC 2018, e5 | 0.0 % | 50.0 % | 100.0 % | – |" in render(results(0.7))
