from __future__ import annotations

import json

from bench.night import PAGE, RESULTS, ROOT, render, shown


def test_the_page_that_is_kept_is_that_of_the_results_that_are_kept() -> None:
    assert PAGE.read_text("utf-8") == render(json.loads(RESULTS.read_text("utf-8")))


def test_the_articles_that_docs_shows_are_those_that_come_out() -> None:
    for title, text in shown().items():
        assert (ROOT / "docs" / "articles" / f"{title}.md").read_text("utf-8") == text
