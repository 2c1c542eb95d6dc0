"""Every field of every form of the workbench, filled with scripts: found in the pages, not listed here."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from mnemic import Memory
from mnemic.interfaces.rest import app as rest
from tests.interfaces.rest.desk import PAYLOAD, PLACES, Desk, filled, lesson

TITLES = re.compile(r"""(?:human|acts|dialog|act)\((?:"[a-z]+", )?["`]([A-Z][^"`$]*)""")
UNREACHED = {"Dream now"}
"""Forms without a field for a text."""
NODE = "#/tree?path=/notes/{name}"


def waiting(memory: Memory) -> None:
    """Something in every state that has acts of its own."""
    entry = memory.diary.add("I live in Porto, they say, and work at Acme as Grace.", channel="user")["id"]
    heard = memory.diary.add("They say that I play chess and go to Faro.", channel="web")["id"]

    def claim(key: str, value: str, source: int, **more: Any) -> dict[str, Any]:
        return {"category": "background", "key": key, "value": value, "source_diary_ids": [source], **more}

    memory.facts.add("background", "name", "Ada")
    memory.facts.add("background", "lives_in", "Aarhus")
    rivals = [claim("name", "Grace", entry), claim("lives_in", "Porto", entry)]
    stated = [claim("employer", "Acme", entry, provisional=True), *rivals]
    memory.extract({"proposals": stated, "summary": "x"})
    memory.extract({"proposals": [claim("game", "chess", heard)], "summary": "x", "concerns": [
        {"action": "new", "title": "Faro", "background": "go to Faro", "source_diary_ids": [heard]}]}, channel="web")  # fmt: skip
    hard = {"tokens": 9_000, "steps": 12}
    for number, state in enumerate(("candidate", "cold", "challenged", "evolved")):
        made = memory.experiences.refine(lesson(f"{state} {'abcdefgh'[number] * 9} {'stuvwxyz'[number] * 7}", complexity=hard))
        name = str(made.id)
        if state == "cold":
            memory.experiences.demote(name, reason="unproven")
        elif state != "candidate":
            memory.experiences.promote(name, reason="it held")
        if state == "challenged":
            memory.experiences.demote(name, reason="it broke")
        if state == "evolved":
            memory.experiences.evolve(name, reason="clearer", gist="evolved: build twice")
    memory.remember("pinned", title="pinned")
    memory.tier("/notes/pinned", "core")
    memory.remember("plain", title="plain")


class Filler(Desk):
    """Opens forms wherever a button offers one, and fills them."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.filled: dict[str, list[str]] = {}

    def forms_of(self, place: str) -> None:
        """The forms of a page itself, each by its Enter."""
        self.go(place)
        for number in range(self.page.locator("main form").count()):
            self.go(place)
            form = self.page.locator("main form").nth(number)
            fields = form.locator("input:not([type=checkbox]), textarea")
            for at in range(fields.count()):
                fields.nth(at).evaluate("(node, text) => { node.value = text }", PAYLOAD)
            self.filled[f"{place.partition('?')[0]} {number}"] = fields.evaluate_all("all => all.map(one => one.name)")
            if fields.count():
                self.page.evaluate("() => { delete document.body.dataset.ready }")
                form.evaluate("form => form.requestSubmit()")
                self.page.wait_for_function("() => document.body.dataset.ready")

    def acts_of(self, place: str, row: str = "") -> None:
        """Every button of a page, or of the sheet of a row in it, that opens a form: each from the page as it is then."""
        done: set[str] = set()
        while True:
            # A list still shows a row that the form before has just taken out of it, until it is read anew.
            if row or place not in self.page.url or self.page.locator("dialog").count():
                self.go(place)
            if row:
                if not self.page.locator(row).count():
                    return
                self._open(row)
            within = "dialog.wide" if row else "main"
            names = self.page.locator(f"{within} button").all_inner_texts()
            left = [name for name in names if name.endswith("…") and name not in done]
            if not left:
                self.page.keyboard.press("Escape")
                return
            done.add(left[0])
            self.page.locator(f"{within} button", has_text=re.compile(f"^{re.escape(left[0])}$")).first.click()
            self.page.wait_for_selector("dialog form")
            self._fill()

    def _open(self, row: str) -> None:
        """The sheet of a row. A list that is made anew under the pointer, because something changed, takes no click."""
        from playwright.sync_api import TimeoutError as Late

        for patience in (4_000, 4_000, 20_000):
            self.page.locator(row).first.click()
            with suppress(Late):
                self.page.wait_for_selector("dialog.wide", timeout=patience)
                return
        raise AssertionError(f"a click on {row!r} opens nothing")

    def _fill(self) -> None:
        title = self.page.inner_text("dialog form h2")
        fields = self.page.locator("dialog form input:not([type=checkbox]), dialog form textarea")
        self.filled.setdefault(title, []).extend(fields.evaluate_all("all => all.map(one => one.name)"))
        for at in range(fields.count()):
            fields.nth(at).fill(PAYLOAD)
        self.page.click("dialog form button[type=submit]")
        self.page.wait_for_function("() => !document.querySelector('dialog form') || document.querySelector('dialog .problem')")
        self.page.evaluate("() => { document.querySelectorAll('dialog').forEach(one => one.close()) }")


def test_every_field_of_every_form_filled_with_scripts_runs_nothing(chromium: Any, memory: Memory, url: str) -> None:
    filled(memory, PAYLOAD)
    waiting(memory)
    desk = Filler(chromium, url)
    for place in PLACES:
        desk.forms_of(place)
    desk.forms_of("#/tree?path=/notes/plain&view=graph")
    for place in ("#/ops", "#/recall?q=payload", "#/diary", "#/diary?tab=diary", "#/experiences"):
        desk.acts_of(place)
    for name in ("pinned", "plain"):
        desk.acts_of(NODE.format(name=name))
    for status in ("provisional", "conflict", "quarantined", "current"):
        desk.acts_of(f"#/diary?status={status}", "tr.click td:first-child")
    for status in ("quarantined", "ongoing"):
        desk.acts_of(f"#/diary?tab=concerns&status={status}", "tr.click td:first-child")
    for status in ("candidate", "cold", "challenged"):
        desk.acts_of(f"#/experiences?status={status}", "tr.click td:first-child")
    desk.acts_of("#/experiences", "tr:has-text(' revision ')")
    desk.acts_of("#/experiences?status=live", "tr.click td:first-child")
    desk.acts_of("#/ledger", "tr.click td:first-child")
    desk.acts_of("#/dreams")
    for place in ("#/ops", "#/ledger", "#/diary?everything=true", "#/experiences?tab=families"):
        desk.go(place)
    desk.clean()
    sources = [(rest.WORKBENCH / name).read_text("utf-8") for name, _ in rest.ASSETS.values()]
    offered = {title.strip() for source in sources for title in TITLES.findall(source)}
    missed = {title for title in offered - UNREACHED if not any(one.startswith(title) for one in desk.filled)}
    assert missed == {"Sign in"}
    assert len(desk.filled) > 35 and sum(map(len, desk.filled.values())) > 80


def test_a_token_of_scripts_is_only_a_wrong_one(chromium: Any, memory: Memory, url: str) -> None:
    page = chromium.new_context().new_page()
    page.goto(url)
    for text in (PAYLOAD, "é\u2028"):
        page.fill("dialog input[name=token]", text)
        page.click("dialog button[type=submit]")
        page.wait_for_selector("dialog .problem")
        assert "not the token" in page.inner_text("dialog")
    assert page.evaluate("window.pwned") is None


def test_an_address_of_scripts_is_only_an_address(chromium: Any, memory: Memory, url: str) -> None:
    filled(memory, "a text")
    desk = Desk(chromium, url)
    from urllib.parse import quote

    for place in ("recall?q=", "tree?path=", "diary?status=", "wiki?article=", "experiences?q=", "ledger?about=", "ledger?seq=",
                  "dreams?id=", "window?tab=summaries&session=", "nowhere?"):  # fmt: skip
        desk.page.evaluate("place => { delete document.body.dataset.ready; location.hash = place }", f"#/{place}{quote(PAYLOAD)}")
        desk.page.wait_for_function("() => document.body.dataset.ready")
    assert desk.page.evaluate("window.pwned") is None
    assert [one for one in desk.asked if not one.startswith(url)] == []
