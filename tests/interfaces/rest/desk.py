"""The workbench in a real browser, and a home that shows something on every page of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces import service
from mnemic.interfaces.rest import app as rest
from mnemic.interfaces.serving import bound
from mnemic.models.document import Turn
from tests.interfaces.rest.clients import TOKEN

PAYLOAD = (
    "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>{{7*7}}javascript:window.pwned=1\"'>"
    "<svg onload=window.pwned=1><a href=//evil.example/x>[[x](javascript:window.pwned=1)]"
)
GO = """place => {
    delete document.body.dataset.ready;
    if (location.hash === place) dispatchEvent(new HashChangeEvent("hashchange")); else location.hash = place;
}"""
PLACES = {
    "#/recall": "Ask as you would ask", "#/recall?q=payload": "hits in", "#/tree": "sessions", "#/diary": "home_city",
    "#/diary?tab=concerns": "A report", "#/diary?tab=diary": "I moved", "#/experiences": "Build before you copy",
    "#/experiences?tab=families": "deploy", "#/experiences?q=deploying": "Build before you copy", "#/wiki": "Kiln",
    "#/wiki?article=Kiln": "is fired", "#/wiki?article=Kiln&view=talk": "split", "#/wiki?article=Kiln&view=history": "remember",
    "#/wiki?q=fired": "Kiln", "#/dreams": "rules", "#/ledger": "experience:", "#/ledger?about=experience:": "experience:",
    "#/health": "What every session loads", "#/window": "No proxy is running", "#/window?tab=summaries": "mid",
    "#/ops": "What was done by hand",
}  # fmt: skip
"""Each page, and what it shows of the filled home."""


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


@contextmanager
def served(memory: Memory) -> Iterator[str]:
    """The address of a workbench over a memory."""
    import uvicorn

    with bound("127.0.0.1", 0) as line:
        config = uvicorn.Config(rest.application(memory, TOKEN), log_level="critical", ws="none", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [line]})
        thread.start()
        yield f"http://127.0.0.1:{line.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@contextmanager
def proxied(memory: Memory, status: Mapping[str, Any], namespace: str | None = None) -> Iterator[None]:
    """While a proxy of this home says this of itself."""
    said = json.dumps(status).encode()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/mnemic/status" else 404)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        name = namespace or memory.namespace
        note = service.Note("127.0.0.1", server.server_port, "", name, name)
        try:
            with service.noted(memory.settings.home, note, service.PROXY):
                yield
        finally:
            server.shutdown()
            thread.join()


class Desk:
    """A page of the workbench that is signed in, and what it did behind the scenes."""

    def __init__(self, chromium: Any, url: str, **look: Any) -> None:
        self.url, self.asked, self.faults = url, list[str](), list[str]()
        self.page = chromium.new_context(**look).new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if self._is_fault(said) else None)
        self.page.goto(url)
        self.page.fill("dialog input[name=token]", TOKEN)
        self.page.click("dialog button[type=submit]")
        self.page.wait_for_selector("dialog", state="detached")

    @staticmethod
    def _is_fault(said: Any) -> bool:
        """Whether the console tells of a fault; that REST refused something is shown in the page."""
        return bool(said.type == "error" and not re.search(r"status of 4\d\d", said.text))

    def go(self, place: str) -> str:
        """The text of a page once it stands."""
        self.page.evaluate(GO, place)
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


def lesson(text: str, **more: Any) -> dict[str, Any]:
    """An experience with a text in every field."""
    return {"kind": "positive", "family": f"deploy {text}", "gist": f"Build before you copy {text}",
            "situation": [f"deploying {text}"], "path": [text], "reasoning": text, "limits": [text],
            "evidence": {"note": text}, **more}  # fmt: skip


def filled(memory: Memory, text: str) -> None:
    """A home that holds a text in every field that takes one."""
    memory.capture([Turn("user", f"payload {text}", text), Turn("assistant", text)], session=f"s {text}", context=text)
    memory.remember(f"# payload {text}\n\n{text}", title=text, context=text, reason=text)
    memory.diary.add(f"I moved. {text}", session=text, tags=[text], reason=text)
    memory.facts.add("identity", "home_city", text, reason=text)
    memory.extract({"concerns": [{"action": "new", "title": f"A report {text}", "background": text, "source_diary_ids": [1]}],
                    "summary": text})  # fmt: skip
    memory.experiences.add(lesson(text), reason=text)
    memory.cards.new("Ada", "contact", description=text, body=text)
    memory.state.write(text)
    memory.dream()
    pages = {"articles/Kiln.md": f"# Kiln\n\n```info\ntype: topic\nalso: {text}\n```\n\nIt is fired.[^1] {text}\n\n"
                                 f"## Use {text}\n\n- {text}\n\n## References\n\n"
                                 "[^1]: `conv:0` (2026-01-01, Ada) - `/sessions/s/1`\n",
             "talk/Kiln.md": f"# Talk: Kiln\n\n- **split**: {text}\n"}  # fmt: skip
    for path, page in pages.items():
        file = memory.vault.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(page, "utf-8")
    memory.vault.sync()
    long = [Turn("user" if place % 2 == 0 else "assistant", f"{text} We decided on plan {place}. " * 6) for place in range(40)]
    messages = [{"role": turn.role, "content": turn.content} for turn in long]
    with memory.window(f"talk {text}", window=2_000, retrieve=False) as window:
        window.prepare([*messages, {"role": "user", "content": "And now?"}])
