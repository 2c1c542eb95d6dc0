"""Every tool, called by the real client in one process: what it answers, refuses and records."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.interfaces.mcp.pages import MOST_TOKENS, TOKENS
from mnemic.interfaces.mcp.server import answer
from mnemic.interfaces.mcp.server_memory import TOOLS as GRAPH_TOOLS
from mnemic.interfaces.mcp.tools import TOOLS
from mnemic.interfaces.tokens import Access, Grant
from mnemic.models.document import Turn
from mnemic.text.frame import parse, strip
from mnemic.text.tokens import estimate
from tests.interfaces.mcp.clients import call, data, home, said, within
from tests.synthesis.homes import files, honest, opened, say, talk

LESSON = {
    "kind": "positive", "family": "site-deploy", "gist": "Build assets before the upload",
    "situation": "deploying the static site", "path": "1. build 2. upload", "reasoning": "the upload skips missing files",
    "evidence": {"note": "deploy of 30 Nov passed after two failures"},
    "complexity": {"tokens": 9000, "steps": 8, "had_failure": True},
}  # fmt: skip
NAMES = {
    "remember", "recall", "open", "browse", "diary", "diary_entries", "extract", "profile", "recall_experience",
    "record_experience", "report", "revise", "touch", "forget", "cards", "card", "new_card", "wiki", "dream",
    "work_next", "work_submit", "status",
}  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with home(tmp_path) as made:
        yield made


def shown(result: Any) -> list[Any]:
    return parse(data(result)["memory"])


def actor(memory: Memory) -> str:
    return str(memory.ledger(limit=1)[0]["actor"])


def test_the_tools_have_their_names_and_all_four_hints(memory: Memory) -> None:
    listed = within(memory, lambda client: client.list_tools()).tools
    assert {tool.name for tool in listed} == NAMES
    for tool in listed:
        hints = tool.annotations
        assert hints is not None and hints.title
        assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
        assert hints.open_world_hint is False
    assert {tool.name for tool in listed if tool.annotations and tool.annotations.destructive_hint} == {"forget"}


def test_a_tool_that_says_that_it_only_reads_leaves_no_entry_in_the_ledger(memory: Memory) -> None:
    memory.cards.new("Ada", "contact")
    needed = {"query": "Ada", "situation": "deploy", "path": "Ada", "view": "list"}
    before = len(memory.ledger(limit=100))
    for tool in TOOLS:
        if tool.reads:
            arguments = {name: needed[name] for name in tool.schema.get("required", ())}
            assert not call(memory, tool.name, **arguments).is_error, tool.name
    assert len(memory.ledger(limit=100)) == before


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("save a note for later conversations", "remember"),
        ("search long-term memory of past conversations", "recall"),
        ("what did we decide", "recall"),
        ("what the user said about themselves preference", "diary"),
        ("lessons learned what worked before", "recall_experience"),
        ("report the outcome success or fail", "report"),
        ("hide outdated memory, asks to forget", "forget"),
        ("who is the user identity preferences", "profile"),
        ("list folder tree of what is stored", "browse"),
        ("wiki article about a person", "wiki"),
        ("table of contents, section with sources", "wiki"),
        ("encyclopedia of topics from past conversations", "wiki"),
        ("take the next work order of the dream", "work_next"),
        ("hand in the answer to a work order", "work_submit"),
    ],
)
def test_a_search_over_names_and_descriptions_finds_the_tool(words: str, tool: str) -> None:
    assert tool in ranked(words)[:2]


def ranked(words: str) -> list[str]:
    """Tool names by BM25 over name, title and description, as the hosts search them."""
    texts = {tool.name: re.findall(r"\w+", f"{tool.name} {tool.title} {tool.about}".lower()) for tool in TOOLS}
    mean = sum(map(len, texts.values())) / len(texts)

    def score(text: list[str]) -> float:
        total = 0.0
        for word in re.findall(r"\w+", words.lower()):
            holders = sum(word in other for other in texts.values())
            often = text.count(word)
            idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            total += idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(text) / mean))
        return total

    return sorted(texts, key=lambda name: -score(texts[name]))


def test_what_is_remembered_is_the_agents_and_is_recalled_in_a_frame(memory: Memory) -> None:
    receipt = data(call(memory, "remember", text="Ada prefers the window seat."))
    assert (receipt["status"], receipt["path"], receipt["seq"]) == ("stored", "/notes/ada-prefers-the-window-seat", 1)
    assert actor(memory) == "agent"
    found = call(memory, "recall", query="Where does Ada like to sit: window?")
    (item,) = shown(found)
    assert (item.path, item.origin, item.text) == (receipt["path"], "agent", "Ada prefers the window seat.")
    assert strip(said(found))[0].strip() == '{"count":1}'


def test_a_recalled_answer_that_comes_back_is_not_remembered(memory: Memory) -> None:
    call(memory, "remember", text="Ada prefers the window seat.")
    text = said(call(memory, "recall", query="window seat")).rpartition("\n")[0]
    again = data(call(memory, "remember", text=text))
    assert (again["status"], again["reason"]) == ("nothing", "only a recalled frame was given; it is in memory already")


def test_a_tool_cannot_claim_to_be_the_user(memory: Memory) -> None:
    for claim in ("user", "human-file", "agent"):
        for tool in ("remember", "diary"):
            refused = call(memory, tool, text="I am the user.", origin=claim)
            assert refused.is_error
            assert said(refused) == f"{tool}.origin: {claim!r} is unknown: use tool, web, import"
    call(memory, "remember", text="A page says so.", origin="web")
    assert memory.show("/notes/a-page-says-so", touch=False)["origin"] == "web"


def test_what_only_the_agent_said_about_the_user_stays_a_claim(memory: Memory) -> None:
    entry = data(call(memory, "diary", text="The user lives in Lisbon.", kind="said"))
    proposal = {"category": "identity", "key": "home_city", "value": "Lisbon", "source_diary_ids": [entry["id"]]}
    done = data(call(memory, "extract", proposals=[proposal], summary="moved"))
    assert [item["status"] for item in done["receipts"]] == ["claimed"]
    assert data(call(memory, "profile"))["unconfirmed"] == 1


def test_what_the_user_really_said_becomes_a_fact_through_the_agents_diary(memory: Memory) -> None:
    memory.capture([Turn("user", "I live in Lisbon now."), Turn("assistant", "Noted.")], session="s1")
    entry = data(call(memory, "diary", text="I live in Lisbon now.", session="s1"))
    proposal = {"category": "identity", "key": "home_city", "value": "Lisbon", "source_diary_ids": [entry["id"]]}
    done = data(call(memory, "extract", proposals=[proposal]))
    assert [item["status"] for item in done["receipts"]] == ["stored"]
    assert "home_city: Lisbon" in shown(call(memory, "profile"))[0].text


def test_only_a_person_erases_and_the_refusal_says_where(memory: Memory) -> None:
    call(memory, "remember", text="Ada prefers the window seat.")
    refused = call(memory, "forget", path="/notes", reason="asked to", erase=True)
    assert refused.is_error and "only a person can erase for good" in said(refused)
    done = data(call(memory, "forget", path="/notes", reason="asked to"))
    assert (done["status"], done["documents"], done["undo"]) == (
        "forgotten", 1, f"a person takes it back with `mnemic undo {done['seq']}`",
    )  # fmt: skip
    assert actor(memory) == "agent"
    assert data(call(memory, "recall", query="window seat"))["count"] == 0


def test_an_empty_answer_says_why(memory: Memory) -> None:
    empty = data(call(memory, "recall", query="What colour is the moon?"))
    assert empty["count"] == 0 and empty["reason"]


def test_the_pages_of_recall_together_are_the_whole_answer_each_hit_once(memory: Memory) -> None:
    animals = ["otter", "heron", "badger", "lynx", "marten", "stork", "beaver"]
    for animal in animals:
        memory.remember(f"The {animal} was seen by the river on a walk with Grace, {animal} tracks in the mud.")
    paths, cursor = list[str](), None
    for _ in range(10):
        page = call(memory, "recall", query="seen by the river", limit=2, cursor=cursor)
        paths += [item.path for item in shown(page)]
        cursor = data(page).get("next")
        if cursor is None:
            break
    whole = [item.path for item in shown(call(memory, "recall", query="seen by the river", limit=20))]
    assert paths == whole
    assert len(set(paths)) == 7


def test_a_cursor_of_another_question_is_refused(memory: Memory) -> None:
    for number in range(4):
        memory.remember(f"The otter number {number} was seen by the river, at stone {number}.")
    cursor = data(call(memory, "recall", query="otter river", limit=1))["next"]
    other = call(memory, "recall", query="heron", limit=1, cursor=cursor)
    assert said(other) == "this cursor belongs to another question: ask the same again with it, or leave it out"
    torn = call(memory, "recall", query="otter river", limit=1, cursor="x" + cursor)
    assert torn.is_error and "leave it out" in said(torn)


def test_a_long_memory_is_read_page_by_page_to_its_last_character(memory: Memory) -> None:
    text = "\n\n".join(f"Paragraph {number}: the river rose by {number} centimetres. 咖啡 ☕" for number in range(300))
    memory.remember(text, title="River log")
    parts, cursor, pages = list[str](), None, 0
    while pages == 0 or cursor:
        page = call(memory, "open", path="/notes/river-log", max_tokens=1_500, cursor=cursor)
        parts.append(shown(page)[0].text)
        cursor, pages = data(page).get("next"), pages + 1
    assert "".join(parts) == text
    assert pages > 2


def test_no_answer_costs_more_than_its_cap(memory: Memory) -> None:
    words = " ".join(f"word{number} 咖啡馆" for number in range(3_000))
    memory.remember(f"river {words}", title="River")
    memory.cards.new("Ada", "contact", body=f"river {words}")
    for number in range(30):
        memory.remember(f"The otter number {number} was seen by the river, {words[:600]} at stone {number}.", index=False)
        memory.diary.add(f"I saw otter {number}. {words[:600]}")
    memory.index()
    asked: dict[str, dict[str, Any]] = {
        "recall": {"query": "river otter", "limit": 50}, "open": {"path": "/notes/river"}, "browse": {"depth": 8},
        "diary_entries": {"limit": 200}, "card": {"path": "Ada"}, "profile": {}, "cards": {},
    }  # fmt: skip
    for tool, arguments in asked.items():
        for cap in (400, TOKENS, MOST_TOKENS):
            result = call(memory, tool, **arguments, max_tokens=cap)
            assert estimate(said(result), "cjk1") <= cap, (tool, cap)
        if tool not in ("profile", "cards"):
            assert "next" in data(call(memory, tool, **arguments, max_tokens=400)), tool


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("work_next", {}, "work_next: 'of' is missing: use dream, window"),
        ("recall", {}, "recall: 'query' is missing: The question, in words; “quotes” for a phrase."),
        ("recall", {"query": 3}, "recall.query: 3 is not a text: The question, in words; “quotes” for a phrase."),
        ("recall", {"query": "x", "limit": 0}, "recall.limit: 0 is out of range: at least 1, at most 50"),
        ("recall", {"query": "x", "mode": "fast"}, "recall.mode: 'fast' is unknown: use heartbeat, normal, deep, creative"),
        ("status", {"verbose": True}, "status: 'verbose' is unknown: use no arguments"),
        ("open", {"path": "/nowhere"}, "nothing stands at '/nowhere': see `browse`"),
        ("diary", {"text": "x", "tags": [1]}, "diary.tags[0]: 1 is not a text: give one"),
    ],
)
def test_a_call_that_is_no_good_is_an_answer_that_says_what_to_do(
    memory: Memory, tool: str, arguments: dict[str, Any], why: str
) -> None:
    result = call(memory, tool, **arguments)
    assert result.is_error
    assert said(result) == why


def test_null_arguments_count_as_left_out(memory: Memory) -> None:
    assert data(call(memory, "recall", query="anything", limit=None, mode=None, cursor=None))["count"] == 0


def test_a_fault_of_ours_is_told_without_its_text_or_a_traceback(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the secret is swordfish")

    monkeypatch.setattr(memory, "status", broken)
    result = call(memory, "status")
    assert result.is_error
    assert said(result) == "mnemic failed inside (RuntimeError): run `mnemic doctor`; nothing was half-written"


def test_an_experience_is_recorded_recalled_as_a_trial_and_its_use_reported_once(memory: Memory) -> None:
    made = data(call(memory, "record_experience", **LESSON))
    assert (made["status"], made["state"]) == ("stored", "candidate")
    found = call(memory, "recall_experience", situation="deploying the static site, build assets, upload")
    assert [(item.kind, item.path) for item in shown(found)] == [("trial", f"experience/{made['id']}@1")]
    (shown_id,) = data(found)["ids"]
    told = data(call(memory, "report", id=shown_id, outcome="success", dedupe_key="s1"))
    again = data(call(memory, "report", id=shown_id, outcome="success", dedupe_key="s1"))
    assert (told["status"], again["status"]) == ("stored", "duplicate")


def test_a_refused_revision_is_an_error_that_names_the_rule(memory: Memory) -> None:
    made = data(call(memory, "record_experience", **LESSON))
    refused = call(memory, "revise", id=made["id"], reason="it was wrong", gist="Other")
    assert refused.is_error and "candidate" in said(refused)


def test_opening_and_touching_are_uses_of_the_agents(memory: Memory) -> None:
    memory.remember("Ada prefers the window seat.")
    opened = call(memory, "open", path="/notes/ada-prefers-the-window-seat")
    assert shown(opened)[0].text == "Ada prefers the window seat."
    assert actor(memory) == "agent"
    assert data(call(memory, "touch", path="/notes/ada-prefers-the-window-seat"))["tier_after"] == "active"
    assert actor(memory) == "agent"


def test_cards_are_made_listed_and_read(memory: Memory) -> None:
    made = data(call(memory, "new_card", title="Ada Lovelace", type="contact", description="Counts", body="Likes trains."))
    assert made["path"] == "cards/people/Ada Lovelace.md"
    assert [item.title for item in shown(call(memory, "cards", type="contact"))] == ["Ada Lovelace"]
    assert "Likes trains." in shown(call(memory, "card", path="Ada Lovelace"))[0].text


def test_the_wiki_is_read_piece_by_piece_in_a_frame(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream()
        listed = call(memory, "wiki", view="list")
        assert "Ines\tperson\t" in shown(listed)[0].text
        (contents,) = shown(call(memory, "wiki", view="contents", article="ines"))
        assert contents.path == "articles/Ines.md" and "arts\tArts\t" in contents.text
        section = call(memory, "wiki", view="section", article="Ines", anchor="arts")
        assert "painted the harbour" in shown(section)[0].text
        for path in data(section)["sources"].values():
            assert memory.show(path, touch=False)["path"] == path
        assert "Sourdough" in shown(call(memory, "wiki", view="search", words="sourdough starter"))[0].text
        assert "backlinks: " in shown(call(memory, "wiki", view="links", article="Ines"))[0].text
        assert "type: person" in shown(call(memory, "wiki", view="infobox", article="Ines"))[0].text
        assert shown(call(memory, "wiki", view="resolve", article="ines"))[0].text == "'ines' means Ines (by title)"
        assert "Ines\t" in shown(call(memory, "wiki", view="category", words="people"))[0].text
        for view in ("links", "section"):
            assert said(call(memory, "wiki", view=view)) == f"wiki: view {view!r} needs 'article': give it"
        assert said(call(memory, "wiki", view="contents", article="Quux")) == "no article is called 'Quux': see `wiki`"


def test_a_dream_is_foreseen_and_then_made_and_says_what_it_changed(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        page = call(memory, "dream", dry_run=True, max_tokens=900)
        parts, answer = [shown(page)[0].text], data(page)
        while "next" in data(page):
            assert estimate(said(page), "cjk1") <= 900
            page = call(memory, "dream", dry_run=True, max_tokens=900, cursor=data(page)["next"])
            parts.append(shown(page)[0].text)
        assert "created: articles/Ines.md\n" in "".join(parts) and "+# Ines\n" in "".join(parts)
        assert (answer["status"], memory.dreams()) == ("foreseen", [])
        done = call(memory, "dream", stages=["ingest", "chunk"])
        assert (data(done)["status"], data(done)["articles"]["created"]) == ("stored", 0)
        assert set(data(done)["stages"]) == {"chunk"}
        done = call(memory, "dream")
        assert (data(done)["status"], data(done)["id"], data(done)["articles"]["created"]) == ("stored", 2, 14)
        assert "created: articles/Ines.md" in shown(done)[0].text
        assert (data(call(memory, "dream"))["status"], data(call(memory, "dream"))["reason"]) == ("nothing", "nothing new")
        assert call(memory, "dream", cursor=data(page).get("next", "x")).is_error
        assert data(call(memory, "dream", judge="agent"))["status"] == "nothing"


def test_the_pages_of_an_article_s_section_together_are_the_section(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream()
        whole, cursor, parts = memory.wiki.section("Ines", "arts")["text"], None, list[str]()
        while not parts or cursor:
            page = call(memory, "wiki", view="section", article="Ines", anchor="arts", max_tokens=260, cursor=cursor)
            assert estimate(said(page), "cjk1") <= 260
            parts.append(shown(page)[0].text)
            cursor = data(page).get("next")
        assert len(parts) > 1
        assert "".join(parts) == whole


def test_an_agent_answers_the_questions_of_a_dream_over_its_tools(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        for _ in range(10):
            if not memory.dream(judge="agent")["waiting"]:
                break
            while "id" in (order := data(call(memory, "work_next", of="dream"))):
                prompt, cursor = order["memory"], order.get("next")
                while cursor:
                    page = data(call(memory, "work_next", of="dream", id=order["id"], cursor=cursor))
                    prompt, cursor = f"{prompt}\n{page['memory']}", page.get("next")
                done = call(memory, "work_submit", of="dream", id=order["id"], answer=honest(order["stage"], prompt))
                assert data(done)["status"] == "stored"
        assert "articles/Ines.md" in files(memory)
        assert data(call(memory, "work_next", of="dream"))["reason"] == "no question waits"
        again = call(memory, "work_submit", of="dream", id="0", answer={})
        assert said(again) == "no work order '0': see `work_next`"


def test_an_order_that_is_longer_than_an_answer_is_read_on_by_its_id(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "long", *[("user", "Ines", f"Turn {number} is about the harbour. {'wave ' * 60}") for number in range(12)])
        memory.dream(judge="agent")
        order = call(memory, "work_next", of="dream", max_tokens=600)
        assert estimate(said(order), "cjk1") <= 600
        items, cursor = shown(order), data(order)["next"]
        while cursor:
            page = call(memory, "work_next", of="dream", id=data(order)["id"], cursor=cursor, max_tokens=600)
            items, cursor = items + shown(page), data(page).get("next")
        assert [item.path for item in items] == [f"turn/{number}" for number in range(data(order)["items"])]
        assert call(memory, "work_next", of="dream", cursor=data(order)["next"]).is_error


def test_an_agent_summarises_for_the_window_over_its_tools(memory: Memory) -> None:
    filler = "It goes on about the river and its stones. " * 12
    said_so_far: list[dict[str, Any]] = [{"role": "user", "content": "We decided: the store is Postgres."}]
    for number in range(6):
        said_so_far += [{"role": "assistant", "content": f"Answer {number}. {filler}"},
                        {"role": "user", "content": f"Question {number}? {filler}"}]  # fmt: skip
    memory.window("s", window=1500, retrieve=False, judge="agent").prepare(said_so_far)
    order = call(memory, "work_next", of="window", max_tokens=8_000)
    assert data(order)["stage"] == "window" and shown(order)[0].path == "1/user"
    lines = [{"kind": "decision", "place": "1/user", "text": "The store is Postgres."}]
    done = call(memory, "work_submit", of="window", id=data(order)["id"], answer={"lines": lines})
    assert (data(done)["status"], data(done)["lines"]) == ("stored", 1)
    again = call(memory, "work_submit", of="window", id=data(order)["id"], answer={"lines": lines})
    assert "see `work_next`" in said(again)


def test_a_wiki_without_articles_says_so(memory: Memory) -> None:
    assert data(call(memory, "wiki", view="list")) == {"total": 0, "reason": "nothing yet: a dream writes articles"}


def test_what_another_namespace_holds_is_never_shown(memory: Memory) -> None:
    other = memory.within("other")
    other.remember("The canary sings at noon.")
    for tool, arguments in (("recall", {"query": "canary noon"}), ("browse", {}), ("status", {}), ("diary_entries", {})):
        assert "canary" not in said(call(memory, tool, **arguments))
    assert call(memory, "open", path="/notes/the-canary-sings-at-noon").is_error


ODD = ["", " ", "Ada", "/notes/x", "/", "\0", "\ud800", "咖啡", "a" * 3_000, "2026-13-45", "yesterday", "diary/1",
       "../../etc/passwd", '<memory-recall nonce="aaaaaaaa">', "WzEsICJ4Il0=", "“q” OR NEAR(", "👩\u200d👧"]  # fmt: skip


def drawn(dice: random.Random, schema: dict[str, Any]) -> Any:
    """A value as a model might give one, now and then of the wrong kind."""
    if dice.random() < 0.05:
        return dice.choice([None, 3, "x", [], {}, True, 10**30])
    kind = schema["type"]
    if kind == "object":
        asked = schema.get("required", ())
        return {name: drawn(dice, one) for name, one in schema["properties"].items() if name in asked or dice.random() < 0.4}
    if kind == "array":
        return [drawn(dice, schema["items"]) for _ in range(dice.randint(0, 3))]
    choices: dict[str, list[Any]] = {"string": ODD, "integer": [-5, 0, 1, 2, 50, 1_000], "number": [-1, 0, 0.5, float("nan")],
                                     "boolean": [True, False]}  # fmt: skip
    return dice.choice(schema.get("enum") if dice.random() < 0.9 and "enum" in schema else choices[kind])


def test_whatever_a_model_gives_it_gets_an_answer_and_memory_stays_whole(memory: Memory) -> None:
    dice = random.Random(5)
    for _ in range(400):
        tool = dice.choice([*TOOLS, *GRAPH_TOOLS])
        arguments = drawn(dice, tool.schema)
        result = answer(tool, Access(Grant(name="owner"), lambda: memory), arguments if isinstance(arguments, dict) else {})
        told = said(result)
        assert told and "failed inside" not in told and "Traceback" not in told, (tool.name, arguments, told)
        result.model_dump_json(by_alias=True)
    assert memory.verify().ok


def test_calls_at_the_same_time_lose_nothing(memory: Memory) -> None:
    import anyio
    from mcp import Client

    async def together(client: Client) -> None:
        async def one(number: int) -> None:
            receipt = await client.call_tool("remember", {"text": f"The otter of stone {number} slept."})
            assert not receipt.is_error, said(receipt)
            assert not (await client.call_tool("recall", {"query": f"otter stone {number}"})).is_error

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)

    within(memory, together)
    assert memory.status()["documents"] == 20
    assert memory.verify().ok
