"""What the proxy adds, keeps and tells; and that it never learns from itself, nor stands in the way."""

from __future__ import annotations

import html
import json
import random
import re
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mnemic import Memory
from mnemic.errors import StoreError
from mnemic.models.answer import Answer as Found
from tests.interfaces.proxy.servers import WAIT, Proxy, Seen, chat, deltas, proxied, said, streamed

FILLER = "Nothing of note was said about the weather in this sentence at all. " * 6


def ask(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def cached(text: str) -> list[dict[str, Any]]:
    """The same with a mark for the vendor's cache, as clients put it at the end of a conversation."""
    return [{"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}]


def framed(messages: list[Any]) -> list[str]:
    """The whole frames among messages."""
    texts = [str(one["content"]) for one in messages]
    return [text for text in texts if re.fullmatch(r"<memory-recall (nonce=\S+)>\n.*\n</memory-recall \1>", text, re.DOTALL)]


def test_a_conversation_far_larger_than_the_window_goes_on_and_what_left_it_can_be_opened(memory: Memory) -> None:
    with proxied(memory, window=2000) as proxy:
        proxy.upstream.answering = lambda seen: chat(f"Answer {len(proxy.upstream.seen)}. {FILLER}")
        messages: list[dict[str, Any]] = ask("We decided to use Postgres because the old store lost rows.")
        for turn in range(20):
            answer = proxy.post(messages=messages, user="ada").json()["choices"][0]["message"]
            assert proxy.turn()["tokens"]["after"] <= 1500
            messages += [answer, {"role": "user", "content": f"Question {turn}? {FILLER}"}]
        last = proxy.upstream.seen[-1].json()["messages"]
        assert len(last) < 15 < len(messages)
        assert "We decided to use Postgres because the old store lost rows." in framed(last)[0]
        assert memory.show("/sessions/ada/1/user")["text"].startswith("We decided")
        assert [turn for turn in proxy.status()["turns"] if turn["compacted"]]
        assert memory.verify().ok


def test_what_goes_out_beside_the_messages_counts(memory: Memory) -> None:
    tools = [{"type": "function", "function": {"name": f"t{n}", "description": "word " * 100}} for n in range(5)]
    with proxied(memory, window=2000) as proxy:
        proxy.upstream.answering = lambda seen: chat("Fine.")
        long = [turn for n in range(4) for turn in [*ask(f"{n}? {FILLER}"), {"role": "assistant", "content": FILLER}]]
        proxy.post(messages=[*long, *ask("And now?")])
        assert proxy.turn()["tokens"]["after"] > 800
        proxy.post(messages=[*long, *ask("And now?")], tools=tools)
        tokens = proxy.turn()["tokens"]
        assert tokens["beside"] > 600
        assert tokens["after"] + tokens["beside"] <= 1500
        proxy.post(messages=ask("And now?"), tools=tools * 3)
        turn = proxy.turn()
        assert turn["memory"] == "failed"
        assert "beside the messages (tools, instructions)" in turn["why"][0]


def test_a_session_is_told_by_header_by_user_or_by_how_the_conversation_begins(proxy: Proxy) -> None:
    proxy.upstream.answering = lambda seen: chat("Yes.")
    sessions = []
    for more in ({"user": "ada"}, {"metadata": {"user_id": "bob"}}, {"conversation": {"id": "c-1"}}, {}, {}):
        proxy.post(messages=ask("Hello there."), **more)
        sessions.append(proxy.turn()["session"])
    httpx.post(f"{proxy.url}/v1/chat/completions", json={"messages": ask("x"), "user": "ada"}, headers={"x-mnemic-session": "h"})
    sessions.append(proxy.turn()["session"])
    proxy.post(messages=cached("Hello there."))
    assert sessions[:3] + sessions[5:] == ["ada", "bob", "c-1", "h"]
    assert sessions[3] == sessions[4] == proxy.turn()["session"]
    assert sessions[3].startswith("window-")


def test_the_frame_of_a_turn_stays_where_it_was_in_the_next_one(proxy: Proxy) -> None:
    proxy.memory.remember("The harbour gate code is 4711.", title="gate")
    proxy.upstream.answering = lambda seen: chat("It is 4711.")
    first: list[dict[str, Any]] = ask("What is the harbour gate code?")
    proxy.post(messages=cached("What is the harbour gate code?"))
    proxy.post(messages=[*first, {"role": "assistant", "content": "It is 4711."}, *ask("Thank you, and good night.")])
    one, two = (seen.json()["messages"] for seen in proxy.upstream.seen)
    assert two[0] == one[0]
    assert "4711" in one[0]["content"]


def test_memory_can_be_switched_off_for_a_request(proxy: Proxy) -> None:
    proxy.memory.remember("The harbour gate code is 4711.", title="gate")
    proxy.upstream.answers = [chat("I do not know.")]
    off = {"x-mnemic-memory": "off"}
    httpx.post(f"{proxy.url}/v1/chat/completions", json={"messages": ask("The harbour gate code?")}, headers=off)
    assert proxy.upstream.seen[0].json()["messages"] == ask("The harbour gate code?")
    assert proxy.turn()["memory"] == "off"
    assert proxy.said() == []


# memory may fail


def test_where_memory_fails_the_request_goes_on_as_it_came(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(proxy.relay._windows, "prepare", broken)
    proxy.upstream.answers = [chat("Fine.")]
    assert proxy.post(messages=ask("Hello?")).json()["choices"][0]["message"]["content"] == "Fine."
    assert proxy.upstream.seen[0].json() == {"messages": ask("Hello?")}
    assert proxy.turn()["why"] == ["the request went on as it came: StoreError: the disk is gone"]


def test_where_memory_is_slow_the_request_goes_on_as_it_came(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    with proxied(memory, seconds=0.01) as proxy:
        windows = proxy.relay._windows
        monkeypatch.setattr(windows, "_held", lambda *_: never.wait(WAIT))
        proxy.upstream.answers = [chat("Fine.")]
        assert proxy.post(messages=ask("Hello?")).status_code == 200
        never.set()
        turn = proxy.turn()
        assert (turn["memory"], turn["why"]) == ("failed", ["the request went on as it came: memory took longer than 0.01 s"])


def test_an_exchange_that_cannot_be_stored_is_told(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr(proxy.memory._intake, "capture", full)
    proxy.upstream.answers = [chat("Fine.")]
    proxy.post(messages=ask("Hello?"))
    assert proxy.turn()["remembered"] == "nothing: StoreError: the disk is full"


NONE = [b"{", b"[]", b"{}", b'{"messages": "x"}', b'{"messages": ["secret words"]}', b"\xff", b"[" * 9999]


@pytest.mark.parametrize("body", NONE)
def test_what_is_no_request_with_messages_goes_on_as_it_came(proxy: Proxy, body: bytes) -> None:
    proxy.upstream.answers = [said({"error": {"message": "no"}}, 400)]
    assert httpx.post(f"{proxy.url}/v1/chat/completions", content=body).status_code == 400
    assert proxy.upstream.seen[0].body == body
    assert proxy.turn()["memory"] == "failed"
    assert "secret words" not in json.dumps(proxy.status())


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: {\n\ndata: []\n\ndata: 7\n\n"], [b'data: {"choices": [7]}\n\n'], [b'data: {"choices": 7}\n\n'],
        [b'data: {"choices": [{"delta": {"content": {"x": 1}, "tool_calls": [{"index": "a"}]}}]}\n\n'], [b"\xff\xfe"], [],
    ],
)  # fmt: skip
def test_an_answer_of_no_known_form_is_passed_on_all_the_same(proxy: Proxy, chunks: list[bytes]) -> None:
    proxy.upstream.answers = [streamed(*chunks), streamed(*chunks), streamed(*chunks)]
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses"):
        assert proxy.post(path, messages=ask("Hello?")).content == b"".join(chunks)
    assert proxy.turn()["ended"] == "whole"
    assert set(proxy.said()) == {"user: Hello?"}


# it tells what it does


def test_the_status_tells_of_the_last_turns_and_nothing_of_what_was_said(proxy: Proxy) -> None:
    proxy.memory.remember("The harbour gate code is 4711.", title="gate")
    proxy.upstream.answers = [streamed(*deltas("It is ", "4711."))]
    proxy.post(messages=ask("What is the harbour gate code?"), stream=True, model="m-1")
    status = proxy.status()
    assert status["upstream"] == proxy.upstream.url
    assert (status["requests"], status["running"], status["waiting"], status["conversations"]) == (1, 0, 0, 1)
    assert status["counts"] == {"memory prepared": 1, "whole": 1}
    turn = status["turns"][0]
    assert (turn["number"], turn["path"], turn["model"], turn["streamed"]) == (1, "/v1/chat/completions", "m-1", True)
    assert (turn["status"], turn["ended"], turn["remembered"]) == (200, "whole", "2 messages")
    assert turn["tokens"]["by_part"].keys() == {"system", "pinned", "summary", "retrieved", "recent"}
    assert turn["injected"][0]["path"] == "/notes/gate"
    assert turn["ms"].keys() == {"prepare", "first_byte", "whole"}
    assert turn["bytes"] == sum(map(len, deltas("It is ", "4711.")))
    assert "4711" not in json.dumps(status)
    assert httpx.post(f"{proxy.url}/mnemic/status").status_code == 405


def test_a_search_that_fails_leaves_the_turn_without_memory_and_says_so(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found(embedder="", scoring="", degraded=("no vectors",))
    monkeypatch.setattr(proxy.relay._windows._beside, "search", lambda query, tokens: ([], found))
    proxy.upstream.answers = [chat("Fine.")]
    proxy.post(messages=ask("Hello there?"))
    assert proxy.turn()["why"] == ["no vectors", "nothing fitting was found"]


# pages on the web stay out


HOSTS = [
    ("127.0.0.1", 200), ("127.0.0.1:8377", 200), ("localhost:1", 200), ("LOCALHOST", 200), ("[::1]:8377", 200),
    ("box.test:1", 200), ("evil.test", 421), ("127.0.0.1.evil.test", 421),
    ("localhost.evil.test:8377", 421), ("localhost@evil.test", 421),
    ("evil.test@localhost", 421), ("localhost/x", 421), ("localhost#", 421), ("localhost:0", 421), ("localhost:x", 421),
    ("127.1", 421), ("0.0.0.0", 421), ("2130706433", 421), ("[::ffff:127.0.0.1]", 421), ("", 421), ("localhost, evil.test", 421),
]  # fmt: skip


@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_only_a_host_of_ours_is_answered_on_every_route(host: str, status: int) -> None:
    from mnemic.interfaces.guard import Guard

    refusal = Guard(None, hosts=["box.test"]).refusal([(b"host", host.encode())])  # type: ignore[arg-type]
    assert (refusal[0] if refusal else 200) == status


def test_no_host_and_two_hosts_are_refused() -> None:
    from mnemic.interfaces.guard import Guard

    guard = Guard(None)  # type: ignore[arg-type]
    assert guard.refusal([]) is not None
    assert guard.refusal([(b"host", b"localhost"), (b"host", b"localhost")]) is not None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "https://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "app://notes"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "none"}, 200),
        ({"host": "evil.test"}, 421),
    ],
)
@pytest.mark.parametrize("path", ["/mnemic/status", "/v1/models"])
def test_a_page_of_another_origin_reaches_neither_the_status_nor_the_upstream(
    memory: Memory, headers: dict[str, str], status: int, path: str
) -> None:
    with proxied(memory, origins=["app://notes"]) as proxy:
        proxy.upstream.answers = [said({})]
        assert httpx.get(proxy.url + path, headers=headers).status_code == status
        assert len(proxy.upstream.seen) == (status == 200 and path == "/v1/models")


# it does not learn from itself


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _quoted(text: str) -> str:
    return "> " + text.replace("\n", "\n> ")


WRAPS: list[Callable[[str], str]] = [
    str, html.escape, _json, json.dumps, _quoted, lambda text: text.replace("\n", "\r\n"), lambda text: f"```\n{text}\n```",
    lambda text: _json(_json(text)), lambda text: html.escape(html.escape(text)), lambda text: html.escape(json.dumps(text)),
    lambda text: _json(html.escape(text)), lambda text: json.dumps({"context": [text]}), lambda text: f'"{text}"',
    lambda text: text.replace("\n", "\n    "),
]  # fmt: skip
TOPICS = ("harbour gate", "garden shed", "ferry ticket", "school trip", "coffee roast", "spare key")


def test_two_hundred_turns_with_recall_add_no_memory_that_stems_from_what_was_injected(memory: Memory) -> None:
    for place, topic in enumerate(TOPICS):
        memory.remember(f'About the {topic}: <b>the word</b> is "canary{place}" & it\'s\nsecret.', title=topic)
    dice, injected, rest = random.Random(5), 0, ""
    with proxied(memory) as proxy, httpx.Client(timeout=WAIT) as client:

        def echo(seen: Seen) -> Any:
            """The model repeats what memory said, wrapped; now and then only its first part, and the user sends the rest."""
            nonlocal injected, rest
            frames = framed(seen.json()["messages"])
            injected += bool(frames)
            wrapped = dice.choice(WRAPS)(frames[-1]) if frames else ""
            cut = dice.randint(0, len(wrapped)) if len(proxy.upstream.seen) % 3 == 0 else len(wrapped)
            rest = wrapped[cut:]
            return chat(f"Answer {len(proxy.upstream.seen)}. {wrapped[:cut]}")

        proxy.upstream.answering = echo
        history: list[dict[str, Any]] = []
        for turn in range(200):
            frames = framed(proxy.upstream.seen[-1].json()["messages"]) if turn else []
            echoed = rest or (dice.choice(WRAPS)(frames[-1]) if frames else "")
            cut = dice.randint(0, len(echoed)) if turn % 2 and not rest else 0
            sent = ask(echoed[:cut]) if cut else []
            sent += ask(f"{echoed[cut:]}\nTurn {turn}: what about the {dice.choice(TOPICS)}?")
            history = [*history[-6:], *sent]
            headers = {"x-mnemic-session": f"s{turn // 20}"}
            answer = client.post(f"{proxy.url}/v1/chat/completions", json={"messages": history}, headers=headers)
            history.append(answer.json()["choices"][0]["message"])
            if turn % 20 == 19:
                proxy.status()  # what waits is stored before more comes
        stored = (proxy.status(), proxy.said())[1]
    assert injected > 100
    assert [line for line in stored if "canary" in line or "secret" in line] == []
    own = [line for line in stored if re.search(r"(?:Turn|Answer) \d", line)]
    assert [line for line in own if len(re.findall(r"(?:Turn|Answer) \d", line)) > 1] == []
    assert len(own) == 400
    # What is left besides is what a client put around a frame that it sent in a message of its own.
    assert {re.sub(r"\W|^user|context|quot", "", line) for line in stored if line not in own} <= {""}
    assert memory._store.count(memory.namespace, "documents", {}) == 200 + len(TOPICS)
    assert memory.verify().ok
