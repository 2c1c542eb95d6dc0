"""The workbench in a real browser: every page, every act of a person, and nothing that a text can make it do.

It needs playwright and Chromium. A machine without them skips these tests, unless MNEMIC_REQUIRE names `browser`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces.rest import app as rest
from mnemic.models.document import Turn
from tests.homes import NOON
from tests.interfaces.rest.desk import PAYLOAD, PLACES, Desk, filled, lesson, proxied
from tests.synthesis.homes import TALK

TEACHING = {
    "#/tree": "The tree is empty", "#/diary": "Nothing is known about the user yet", "#/diary?tab=concerns": "Nothing is open",
    "#/diary?tab=diary": "The diary is empty", "#/experiences": "No lessons yet", "#/ledger": "The ledger is empty",
    "#/wiki": "No articles yet", "#/dreams": "No dream yet",
    "#/recall?q=x": "Nothing was recalled", "#/experiences?tab=families": "No families yet", "#/window": "No proxy is running",
    "#/window?tab=summaries": "No conversation was cut yet", "#/ops": "Nothing waits for you",
    "#/health": "Nothing is loaded yet",
}  # fmt: skip


def test_every_page_shows_what_there_is_and_no_text_does_anything(chromium: Any, memory: Memory, url: str) -> None:
    filled(memory, PAYLOAD)
    desk = Desk(chromium, url)
    for place, words in PLACES.items():
        assert words in desk.go(place), place
    kinds = {row["kind"]: row["path"] for row in memory.tree(depth=8) if row["kind"] != "folder"}
    for path in kinds.values():
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
    desk.go("#/ops")
    desk.act("Remember…", text="Ada prefers the window seat.", reason="she asked for it")
    path = "/notes/ada-prefers-the-window-seat"
    desk.go(f"#/tree?path={path}")
    desk.act("Pin…", reason="always wanted")
    assert memory.show(path, touch=False)["tier"] == "core"
    desk.act("Forget…", reason="no longer so")
    assert memory.show(path, touch=False)["forgotten"]
    desk.go("#/ledger")
    desk.act("Undo…", reason="it was so")
    assert not memory.show(path, touch=False)["forgotten"]
    reasons = ["it was so", "no longer so", "always wanted", "she asked for it"]
    assert [row["reason"] for row in memory.ledger(limit=4)] == reasons
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
    assert "sessions/talk/" in "".join(desk.page.inner_text("dialog .crumbs").split())
    desk.page.click("dialog >> text=Open it in the tree")
    desk.page.wait_for_selector("main pre.text")
    assert "tree?path=%2Fsessions%2Ftalk%2F" in desk.page.url
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


def test_a_node_shows_its_neighbours_its_graph_and_what_it_said_before(chromium: Any, memory: Memory, url: str) -> None:
    filled(memory, "a text")
    memory.remember("It says more now.", title="page", source="file:///page", reason="new")
    memory.remember("It says the last word.", title="page", source="file:///page")
    desk = Desk(chromium, url)
    text = desk.go("#/tree?path=/articles/kiln&view=near")
    assert "BELONGS TO" in text.upper() and "Use a text" in text
    text = desk.go("#/tree?path=/articles/kiln&view=graph")
    assert "nodes" in text and desk.page.evaluate("document.querySelector('canvas').width") > 300
    desk.page.select_option("select[name=limit]", "2000")
    desk.page.wait_for_function("() => document.querySelector('select[name=limit]')?.value === '2000'")
    desk.page.click("summary:has-text('as a list')")
    desk.page.locator("ul.columns a").first.click()
    desk.page.wait_for_function("() => !location.hash.includes('path=%2Farticles%2Fkiln&')")
    assert "view=graph" in desk.page.url
    desk.go("#/tree?path=/notes/page&view=history")
    desk.page.click("tr.click td:first-child")
    desk.page.wait_for_selector("dialog .plus")
    shown = desk.page.inner_text("dialog .diff")
    assert "-It says more now." in shown and "+It says the last word." in shown
    desk.clean()


def test_an_article_shows_what_it_was_and_what_is_to_be_decided(chromium: Any, memory: Memory, url: str) -> None:
    filled(memory, "a text")
    page = memory.vault.root / "articles" / "Kiln.md"
    page.write_text(page.read_text("utf-8").replace("It is fired.", "It is fired twice."), "utf-8")
    memory.vault.sync()
    desk = Desk(chromium, url)
    assert "split a text".replace(" ", "") in desk.go("#/wiki?article=Kiln&view=talk").replace(":", "").replace(" ", "")
    desk.go("#/wiki?article=Kiln&view=history")
    desk.page.click("tr.click td:first-child")
    desk.page.wait_for_selector("dialog .plus")
    assert "+It is fired twice.[^1] a text" in desk.page.inner_text("dialog .diff")
    desk.clean()


TURN = {
    "number": 7, "at": "2026-03-10T12:00:00Z", "path": "/v1/chat/completions", "model": "gpt-4o", "streamed": True,
    "session": "ada-laptop", "memory": "prepared", "why": [f"why {PAYLOAD}"], "status": 200, "bytes": 10, "ended": "whole",
    "tokens": {"before": 9_000, "after": 1_200, "beside": 4,
               "by_part": {"system": 100, "pinned": 0, "summary": 300, "retrieved": 200, "recent": 600}},
    "compacted": [{"messages": 12, "tokens": 7_000, "summary_tokens": 300, "judge": "rules", "sources": 12, "merged": []}],
    "injected": [{"path": f"/notes/{PAYLOAD}", "score": 3.25}, {"path": "profile/facts", "score": None}],
    "remembered": "2 messages", "ms": {"prepare": 12.0, "first_byte": 30.0, "whole": 80.5},
}  # fmt: skip
STATUS = {"upstream": "http://127.0.0.1:1/v1", "namespace": "default", "conversations": 1, "waiting": 0, "requests": 7,
          "running": 0, "counts": {"whole": 7},
          "turns": [TURN, {**TURN, "number": 6, "session": PAYLOAD, "model": PAYLOAD}]}  # fmt: skip


def test_the_window_shows_what_the_proxy_did_with_each_turn(chromium: Any, memory: Memory, url: str) -> None:
    desk = Desk(chromium, url)
    with proxied(memory, STATUS):
        text = desk.go("#/window")
        for words in ("ada-laptop", "9,000 → 1,200", "12 messages"):
            assert words in text
        desk.page.click("tr.click td:first-child")
        desk.page.wait_for_selector("dialog.wide")
        shown = desk.page.inner_text("dialog")
        for words in ("summaries", "300 tokens", "7,000 tokens became a summary of 300", "3.25", "2 messages", "80.5 ms"):
            assert words in shown
    with proxied(memory, STATUS, namespace="another"):
        assert "ada-laptop" not in desk.go("#/window")
    desk.clean()


def test_what_waits_for_a_person_is_decided_by_one(chromium: Any, memory: Memory, url: str) -> None:
    entry = memory.diary.add("They say that Ada works at Acme.", channel="web")["id"]
    claim = {"category": "background", "key": "employer", "value": "Acme", "source_diary_ids": [entry]}
    memory.extract({"proposals": [claim], "summary": "a page"}, channel="web")
    taught = memory.experiences.refine(lesson("x", complexity={"tokens": 9_000, "steps": 12}))
    memory.experiences.demote(str(taught.id), reason="unproven")
    desk = Desk(chromium, url)
    text = desk.go("#/ops")
    assert "quarantined" in text and "cold" in text
    desk.page.click("tr:has-text('Acme') td:first-child")
    desk.act("Approve…", reason="she told me so herself")
    assert [row["status"] for row in memory.facts.list()] == ["current"]
    desk.page.click("tr:has-text('Build before') td:first-child")
    desk.act("Release…", reason="another trial")
    desk.page.click("tr:has-text('Build before') td:first-child")
    desk.act("Promote…", reason="it held")
    assert memory.experiences.show(str(taught.id))["status"] == "live"
    desk.go("#/experiences")
    desk.page.click("tr.click td:first-child")
    desk.act("Edit…", gist="Build twice", reason="clearer")
    last = memory.experiences.show(str(taught.id))["revisions"][-1]
    assert (last["gist"], last["status"]) == ("Build twice", "live")
    desk.page.click("tr.click td:first-child")
    desk.act("Report a use…", outcome="success", reason="it went well")
    desk.page.click("tr.click td:first-child")
    desk.page.wait_for_selector("dialog svg.course")
    told = [row["reason"] for row in memory.ledger(limit=20) if row["reason"]]
    assert {"she told me so herself", "another trial", "it held", "clearer"} <= set(told)
    desk.clean()


def test_time_travel_shows_what_was_known_then(chromium: Any, memory: Memory, url: str) -> None:
    memory.facts.add("identity", "home_city", "Porto")
    memory.clock.advance(days=10)  # type: ignore[attr-defined]
    memory.facts.edit(1, "Lisbon")
    desk = Desk(chromium, url)
    assert "Lisbon" in desk.go("#/diary")
    text = desk.go(f"#/diary?as_of={(NOON).date().isoformat()}T13:00:00Z")
    assert "Porto" in text and "Lisbon" not in text
    desk.page.click("tr.click td:first-child")
    desk.page.wait_for_selector("dialog.wide")
    assert "Porto" in desk.page.inner_text("dialog") and not desk.page.locator("dialog button:has-text('Edit…')").count()
    desk.clean()


def test_the_ledger_is_narrowed_where_it_lies_and_comes_in_pages(chromium: Any, memory: Memory, url: str) -> None:
    for place in range(120):
        memory.diary.add(f"said {place}")
    memory.facts.add("identity", "home_city", "Porto", reason="told")
    for place in range(60):
        memory.diary.add(f"said later {place}")
    desk = Desk(chromium, url)
    assert desk.go("#/ledger").count("diary:") == 50
    desk.page.click("text=Show more")
    desk.page.wait_for_function("() => document.querySelectorAll('main tr.click').length === 100")
    text = desk.go("#/ledger?about=fact:1")
    assert "told" in text and "diary:" not in text
    desk.clean()


def test_the_files_hold_no_inline_script_style_or_other_host_and_make_no_markup_of_texts() -> None:
    for name, _ in rest.ASSETS.values():
        text = (rest.WORKBENCH / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        text = text.replace("https://api.openai.com/v1", "")  # of a command that is shown
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "http://", "https://",
                     "style=", "onclick=", "<script>", "@import", "srcdoc"):  # fmt: skip
            assert word not in text, (name, word)
