from __future__ import annotations

import json
from typing import Any

import pytest

from bench.capacity import PAGE, Cost, Profile, cost, needed, page, parts, rate, size
from bench.shared import RESULTS

ONE = Cost(message=10_000, question_client=6, question_server=4, exchange_client=8, exchange_server=12, bare=80e6, namespace=1e6)


def cells(lines: list[str], begins: str) -> list[str]:
    found = [line for line in lines if line.startswith(f"| {begins}")]
    assert len(found) == 1, begins
    return [cell.strip() for cell in found[0].strip("|").split("|")][1:]


def test_what_namespaces_need_is_reckoned_from_what_one_costs() -> None:
    lines = needed(ONE, Profile(messages=1_000, questions=86_400, exchanges=43_200, peak=2, busy=0.5, warm=0.1))
    assert cells(lines, "disk") == ["10 GB", "10 TB", "1,000 TB"]
    assert cells(lines, "· more each day") == ["864 GB", "864 TB", "86,400 TB"]
    assert cells(lines, "questions a second")[0] == "2,000" and cells(lines, "exchanges a second")[0] == "1,000"
    assert cells(lines, "cores that serve")[0] == "40", "(2,000 × 6 ms + 1,000 × 8 ms) ÷ 0.5"
    assert cells(lines, "cores of PostgreSQL")[0] == "40"
    assert cells(lines, "memory that serves")[0] == "3.3 GB", "40 × 80 MB + 100 × 1 MB"
    assert cells(lines, "memory of PostgreSQL")[0] == "1.0 GB"
    assert cells(lines, "servers of 16 cores")[0] == "3" and cells(lines, "· namespaces on each")[0] == "334"
    assert cells(lines, "connections")[0] == "400"


def test_numbers_are_shown_with_the_digits_they_are_worth() -> None:
    assert [size(1.5e6), size(2e9), size(350e9), size(4.2e15)] == ["1.5 MB", "2.0 GB", "350 GB", "4,200 TB"]
    assert [rate(0.7), rate(12.3), rate(4_000)] == ["0.70", "12", "4,000"]


def test_a_page_without_room_for_a_table_is_refused() -> None:
    assert page("a\n<!-- x -->\nold\n<!-- /x -->\nb", {"x": ["new"]}) == "a\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb"
    with pytest.raises(SystemExit, match="has no room for 'y'"):
        page("a", {"y": []})


def test_the_page_says_what_the_kept_figures_say() -> None:
    report: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    assert page(text, parts(report, Profile())) == text, "python -m bench.capacity --page"
    assert cost(report).message > 0
