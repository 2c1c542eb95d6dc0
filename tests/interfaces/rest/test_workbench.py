"""The workbench in a real browser: every page, every act of a person, and nothing that a text can make it do.

It needs playwright and Chromium. A machine without them skips these tests, unless MNEMIC_REQUIRE names `browser`.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces.rest import app as rest
from mnemic.interfaces.serving import bound
from mnemic.models.document import Turn
from tests.interfaces.mcp.clients import home
from tests.interfaces.rest.clients import TOKEN
from tests.synthesis.homes import TALK

PAYLOAD = (
    "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>{{7*7}}javascript:window.pwned=1\"'>"
    "<svg onload=window.pwned=1>"
)
PLACES = {
    "#/recall": "Ask as you would ask", "#/recall?q=payload": "hits in", "#/tree": "sessions", "#/diary": "home_city",
    "#/diary?tab=concerns": "A report", "#/diary?tab=diary": "I moved", "#/experiences": "Build before you copy",
    "#/experiences?q=deploying": "Build before you copy", "#/wiki": "Wiki", "#/dreams": "1",
    "#/ledger": "experience:", "#/health": "What every session loads",
    "#/window": "No conversation was cut yet",
}  # fmt: skip
"""Each page, and what it shows of the filled home."""
TEACHING = {
    "#/tree": "The tree is empty", "#/diary": "Nothing is known about the user yet", "#/diary?tab=concerns": "Nothing is open",
    "#/diary?tab=diary": "The diary is empty", "#/experiences": "No lessons yet", "#/ledger": "The ledger is empty",
    "#/wiki": "No articles yet", "#/dreams": "No dream yet",
    "#/recall?q=x": "Nothing was recalled",
}  # fmt: skip


def browser() -> Any:
    """Playwright's Chromium, or Debian's."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    program = shutil.which("chromium")
    if sync_playwright is None or program is None:
        if "browser" in os.environ.get("MNEMIC_REQUIRE", ""):
            pytest.fail("MNEMIC_REQUIRE names browser: pip install playwright, apt-get install chromium")
        pytest.skip("no browser: pip install playwright, apt-get install chromium")
    return sync_playwright, program


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_playwright, program = browser()
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


@pytest.fixture
def url(memory: Memory) -> Iterator[str]:
    import uvicorn

    with bound("127.0.0.1", 0) as line:
        config = uvicorn.Config(rest.application(memory, TOKEN), log_level="critical", ws="none", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [line]})
        thread.start()
        yield f"http://127.0.0.1:{line.getsockname()[1]}"
        server.should_exit = True
        thread.join()


class Desk:
    """A page of the workbench that is signed in, and what it did behind the scenes."""

    def __init__(self, chromium: Any, url: str, **look: Any) -> None:
        self.url, self.asked, self.faults = url, list[str](), list[str]()
        self.page = chromium.new_context(**look).new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.goto(url)
        self.page.fill("dialog input[name=token]", TOKEN)
        self.page.click("dialog button[type=submit]")
        self.page.wait_for_selector("dialog", state="detached")

    def go(self, place: str) -> str:
        """The text of a page once it stands."""
        self.page.evaluate("place => { delete document.body.dataset.ready; location.hash = ''; location.hash = place }", place)
        self.page.wait_for_function("place => document.body.dataset.ready === place", arg=place)
        return str(self.page.inner_text("main"))

    def act(self, button: str, **fields: str) -> None:
        """Press a button, fill its form, and let it be done."""
        inside = "dialog " if self.page.locator("dialog").count() else ""
        self.page.click(f"{inside}button:has-text('{button}')")
        for name, text in fields.items():
            control = self.page.locator(f"dialog [name={name}]")
            if control.evaluate("node => node.tagName") == "SELECT":
                control.select_option(text)
            else:
                control.fill(text)
        self.page.evaluate("() => { delete document.body.dataset.ready }")
        self.page.click("dialog button[type=submit]")
        self.page.wait_for_function("() => document.body.dataset.ready && !document.querySelector('dialog')")

    def clean(self) -> None:
        """Nothing ran, failed, or was asked of another host."""
        assert self.page.evaluate("window.pwned") is None
        assert self.faults == []
        assert [one for one in self.asked if not one.startswith(self.url)] == []


def filled(memory: Memory, text: str) -> None:
    """A home that holds a text in every field that takes one."""
    memory.capture([Turn("user", f"payload {text}", text), Turn("assistant", text)], session=f"s {text}", context=text)
    memory.remember(f"# payload {text}\n\n{text}", title=text, context=text)
    memory.diary.add(f"I moved. {text}", session=text, tags=[text])
    memory.facts.add("identity", "home_city", text, reason=text)
    memory.extract({"concerns": [{"action": "new", "title": f"A report {text}", "background": text, "source_diary_ids": [1]}],
                    "summary": text})  # fmt: skip
    lesson = {"kind": "positive", "family": f"deploy {text}", "gist": f"Build before you copy {text}",
              "situation": [f"deploying {text}"], "path": [text], "reasoning": text, "limits": [text],
              "evidence": {"note": text}}  # fmt: skip
    memory.experiences.add(lesson, reason=text)
    memory.cards.new("Ada", "contact", description=text, body=text)
    memory.state.write(text)
    memory.dream()


def test_every_page_shows_what_there_is_and_no_text_does_anything(chromium: Any, memory: Memory, url: str) -> None:
    filled(memory, PAYLOAD)
    desk = Desk(chromium, url)
    for place, words in PLACES.items():
        assert words in desk.go(place), place
    for path in [row["path"] for row in memory.tree(depth=8) if row["kind"] != "folder"]:
        assert path.rsplit("/", 1)[-1] in desk.go(f"#/tree?path={path}")
    for place in ("#/diary", "#/diary?tab=concerns", "#/experiences", "#/ledger"):
        desk.go(place)
        desk.page.click("tr.click td:first-child")
        desk.page.wait_for_selector("dialog.wide")
        assert "History" in desk.page.inner_text("dialog") or "What it changed" in desk.page.inner_text("dialog")
        desk.page.keyboard.press("Escape")
    desk.clean()


def test_an_empty_home_teaches_what_to_do(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    for place, words in TEACHING.items():
        assert words in desk.go(place), place
    desk.clean()


def test_a_person_remembers_pins_forgets_and_takes_it_back(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    desk.page.keyboard.press("n")
    desk.page.fill("dialog textarea[name=text]", "Ada prefers the window seat.")
    desk.page.click("dialog button[type=submit]")
    desk.page.wait_for_selector("dialog", state="detached")
    path = "/notes/ada-prefers-the-window-seat"
    desk.go(f"#/tree?path={path}")
    desk.act("Pin…", reason="always wanted")
    assert memory.show(path, touch=False)["tier"] == "core"
    desk.act("Forget…", reason="no longer so")
    assert memory.show(path, touch=False)["forgotten"]
    desk.go("#/ledger")
    desk.act("Undo…", reason="it was so")
    assert not memory.show(path, touch=False)["forgotten"]
    assert [row["reason"] for row in memory.ledger(limit=3)] == ["it was so", "no longer so", "always wanted"]
    desk.go("#/ledger")
    desk.page.click("button:has-text('Verify')")
    desk.page.wait_for_selector("text=memory is what they say")
    desk.clean()


def test_a_person_states_edits_locks_and_deletes_facts(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    desk.go("#/diary")
    desk.act("Fact…", key="home_city", value="Porto", reason="she said so")
    for button, fields in (("Edit…", {"value": "Lisbon"}), ("Unlock…", {}), ("Lock…", {}), ("Delete…", {})):
        desk.go("#/diary")
        desk.page.click("tr.click td:first-child")
        desk.act(button, reason=f"because {button}", **fields)
    assert [row["status"] for row in memory.facts.list(everything=True)][-1] == "deleted"
    reasons = [row["reason"] for row in memory.ledger(limit=5)]
    assert reasons == ["because Delete…", "because Lock…", "because Unlock…", "because Edit…", "she said so"]
    desk.clean()


def test_a_person_adds_pins_demotes_and_archives_experiences(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    desk.go("#/experiences")
    desk.act("Add…", family="deploy", gist="Build first", situation="deploying", path="build\ncopy", reasoning="else it is empty",
             note="seen", reason="hard won")  # fmt: skip
    for button in ("Pin…", "Unpin…", "Demote…", "Archive…", "Delete…"):
        desk.go("#/experiences")
        desk.page.click("tr.click td:first-child")
        desk.act(button, reason=f"because {button}")
    assert memory.experiences.list() == []
    assert [row["reason"] for row in memory.ledger(limit=6)][::-1] == [
        "hard won", "because Pin…", "because Unpin…", "because Demote…", "because Archive…", "because Delete…",
    ]  # fmt: skip
    desk.clean()


def test_an_edit_of_what_somebody_else_has_changed_is_refused(chromium: Any, memory: Memory, url: str) -> None:
    memory.facts.add("identity", "home_city", "Porto")
    desk = Desk(chromium, url)
    desk.go("#/diary")
    desk.page.click("tr.click td:first-child")
    desk.page.click("dialog button:has-text('Edit…')")
    memory.facts.edit(1, "Lisbon")
    desk.page.fill("dialog [name=value]", "Faro")
    desk.page.fill("dialog [name=reason]", "moved")
    desk.page.click("dialog button[type=submit]")
    desk.page.wait_for_selector("dialog .problem")
    assert "read it again" in desk.page.inner_text("dialog")
    assert memory.facts.show(1)["value"] == "Lisbon"


def test_a_person_dreams_reads_the_articles_to_their_sources_and_takes_the_dream_back(
    chromium: Any, memory: Memory, url: str
) -> None:
    turns = [json.loads(line) for line in TALK.read_text("utf-8").splitlines()]
    memory.capture([Turn(row["role"], row["content"], row.get("name") or "") for row in turns], session="talk")
    desk = Desk(chromium, url)
    desk.go("#/dreams")
    desk.act("Dream now…")
    assert "Ines" in desk.go("#/wiki")
    desk.go("#/wiki?article=Ines")
    desk.page.click("sup a")
    desk.page.wait_for_selector("pre.text")
    assert "sessions/talk/" in "".join(desk.page.inner_text(".crumbs").split())
    desk.go("#/dreams")
    desk.page.click("tr.click td:first-child")
    desk.page.wait_for_selector("dialog .plus")
    desk.act("Undo…", reason="not yet")
    assert memory.dreams() == []
    assert "not yet" in [row["reason"] for row in memory.ledger(limit=100)]
    assert "No articles yet" in desk.go("#/wiki")
    desk.clean()


def test_the_keyboard_alone_asks_opens_and_goes_about(chromium: Any, memory: Memory, url: str) -> None:
    memory.remember("Ada prefers the window seat.")
    desk = Desk(chromium, url)
    desk.go("#/recall")
    for key in ("/", *"window seat", "Enter"):
        desk.page.keyboard.press(key if key != " " else "Space")
    desk.page.wait_for_selector("article.card")
    desk.page.evaluate("document.activeElement.blur()")
    for key in ("j", "Enter"):
        desk.page.keyboard.press(key)
    desk.page.wait_for_selector("pre.text")
    assert "/tree?path=" in desk.page.url
    for key, place in (("l", "#/ledger"), ("h", "#/health")):
        desk.page.keyboard.press("g")
        desk.page.keyboard.press(key)
        desk.page.wait_for_function("place => location.hash === place", arg=place)
    desk.page.keyboard.press("?")
    assert "remember something" in desk.page.inner_text("dialog")
    desk.clean()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_scrolls_no_page_sideways(chromium: Any, memory: Memory, url: str, scheme: str) -> None:
    filled(memory, "a text")
    desk = Desk(chromium, url, viewport={"width": 360, "height": 700}, color_scheme=scheme)
    for place in PLACES:
        desk.go(place)
        assert desk.page.evaluate("document.documentElement.scrollWidth") <= 360, place
    dark = desk.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 26)"
    assert dark == (scheme == "dark")
    desk.clean()


def test_a_wrong_token_shows_nothing(chromium: Any, memory: Memory, url: str) -> None:
    memory.remember("Ada prefers the window seat.")
    page = chromium.new_context().new_page()
    page.goto(f"{url}/#/ledger")
    page.fill("dialog input[name=token]", "a wrong one")
    page.click("dialog button[type=submit]")
    page.wait_for_selector("dialog .problem")
    assert "not the token" in page.inner_text("dialog") and "remember" not in page.inner_text("main")


def test_the_files_hold_no_inline_script_style_or_other_host_and_make_no_markup_of_texts() -> None:
    for name in ("index.html", "app.js", "app.css", "icon.svg"):
        text = (rest.WORKBENCH / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "http://", "https://",
                     "style=", "onclick=", "<script>", "@import", "srcdoc"):  # fmt: skip
            assert word not in text, (name, word)
