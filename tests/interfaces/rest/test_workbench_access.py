"""The workbench for everybody: what axe-core finds, and where the focus is."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from tests.interfaces.rest.desk import PLACES, Desk, filled, proxied
from tests.interfaces.rest.test_workbench import STATUS

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def axe() -> str:
    """The source of axe-core, as the package axe-playwright-python brings it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or not found.submodule_search_locations:
        if "axe" in os.environ.get("MNEMIC_REQUIRE", ""):
            pytest.fail("MNEMIC_REQUIRE names axe: pip install axe-playwright-python")
        pytest.skip("no axe-core: pip install axe-playwright-python")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text("utf-8")


def found(desk: Desk) -> list[tuple[str, str]]:
    """What breaks a rule, and where."""
    report = desk.page.evaluate("rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", RULES)
    return [(one["id"], node["html"][:160]) for one in report["violations"] for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(chromium: Any, memory: Memory, url: str, scheme: str) -> None:
    source = axe()
    filled(memory, "a text")
    desk = Desk(chromium, url, color_scheme=scheme)
    desk.page.evaluate(source)
    sheets = ("#/diary", "#/diary?tab=concerns", "#/experiences", "#/ledger", "#/dreams", "#/window",
              "#/wiki?article=Kiln&view=history")  # fmt: skip
    with proxied(memory, STATUS):
        for place in (*PLACES, *(f"#/tree?path=/articles/kiln&view={view}" for view in ("text", "near", "graph", "history"))):
            desk.go(place)
            assert found(desk) == [], place
            if place in sheets:
                desk.page.locator("tr.click td:first-child").first.click()
                desk.page.wait_for_selector("dialog.wide")
                assert found(desk) == [], f"a sheet of {place}"
                desk.page.keyboard.press("Escape")
        desk.page.keyboard.press("n")
        assert found(desk) == [], "a form"


def test_a_form_takes_the_focus_keeps_it_and_gives_it_back(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    desk.go("#/ops")
    desk.page.focus("button:has-text('Remember…')")
    desk.page.keyboard.press("Enter")
    inside = "() => Boolean(document.activeElement.closest('dialog')) || document.activeElement === document.body"
    assert desk.page.evaluate("document.activeElement.name") == "text"
    for _ in range(8):
        desk.page.keyboard.press("Tab")
        assert desk.page.evaluate(inside)
    desk.page.keyboard.press("Escape")
    assert desk.page.evaluate("document.activeElement.textContent") == "Remember…"
    desk.page.keyboard.press("Tab")
    style = "getComputedStyle(document.activeElement).outlineStyle"
    assert desk.page.evaluate(style) == "solid"
    desk.clean()


def test_the_first_key_offers_to_skip_to_the_page(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    desk.go("#/ledger")
    desk.page.evaluate("document.activeElement.blur()")
    desk.page.focus(".skip")
    desk.page.keyboard.press("Enter")
    assert desk.page.evaluate("document.activeElement.id") == "main"
    assert desk.page.url.endswith("#/ledger")
    desk.clean()
