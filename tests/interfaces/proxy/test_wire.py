"""What passes through the proxy passes unchanged: bytes, headers, errors, and ends of every kind."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import Any

import httpx
import pytest

from mnemic import Memory
from mnemic.errors import BadInput
from mnemic.interfaces.proxy.relay import checked_upstream
from tests.interfaces.proxy.servers import WAIT, Answer, Proxy, chat, deltas, done, proxied, said, streamed

ASK = [{"role": "user", "content": "What is the weather like?"}]


def raw(answer: httpx.Response) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    hop = (b"transfer-encoding", b"connection")
    headers = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in hop]
    return answer.status_code, headers, answer.content


def test_a_stream_arrives_byte_for_byte_however_it_is_cut(proxy: Proxy) -> None:
    whole = b"".join(deltas("Grüße ", "中文", " 👋")).replace(b"\n\n", b"\r\n\r\n", 2) + b": a comment\n\nevent: x\ndata:{}\n\n"
    cuts = [whole[place : place + 7] for place in range(0, len(whole), 7)]
    proxy.upstream.answers = [streamed(*cuts)]
    answer = proxy.post(messages=ASK, stream=True)
    assert answer.content == whole
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "assistant: Grüße 中文 👋" in (proxy.turn(), proxy.said())[1]


def test_a_chunk_reaches_the_client_before_the_next_one_is_there(proxy: Proxy) -> None:
    gate = threading.Event()
    first, *rest = deltas("one", "two")
    proxy.upstream.answers = [streamed(first, *rest, gates={1: gate})]
    with httpx.stream("POST", f"{proxy.url}/v1/chat/completions", json={"messages": ASK, "stream": True}, timeout=WAIT) as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == first
        gate.set()
        assert b"".join(chunks) == b"".join(rest)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (400, {}),
        (401, {"www_authenticate": "Bearer"}),
        (404, {}),
        (429, {"retry_after": "17", "x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6m0s"}),
        (500, {"x_request_id": "req_1"}),
        (529, {"x_should_retry": "true"}),
    ],
)
def test_an_error_of_the_upstream_arrives_with_its_headers_and_body(proxy: Proxy, status: int, headers: dict[str, str]) -> None:
    refusal = said({"error": {"message": "no", "type": "t", "code": "c"}}, status, **headers)
    proxy.upstream.answers = [refusal, refusal]
    direct = httpx.post(f"{proxy.upstream.url}/v1/chat/completions", json={"messages": ASK})
    assert raw(proxy.post(messages=ASK)) == raw(direct)
    turn = proxy.turn()
    assert (turn["status"], turn["ended"], turn["remembered"]) == (status, "upstream refused", "nothing: upstream refused")
    assert proxy.said() == []


def test_a_client_that_leaves_takes_the_request_to_the_upstream_with_it_and_its_words_are_kept(proxy: Proxy) -> None:
    never = threading.Event()
    proxy.upstream.answers = [streamed(*deltas("one", "two"), gates={1: never})]
    with httpx.stream("POST", f"{proxy.url}/v1/chat/completions", json={"messages": ASK, "stream": True}, timeout=WAIT) as answer:
        next(answer.iter_raw())
    assert proxy.upstream.left.wait(WAIT)
    never.set()
    turn = proxy.turn()
    assert turn["ended"] == "client left"
    assert turn["remembered"] == "1 messages; not the answer: the answer did not come to its end"
    assert proxy.said() == ["user: What is the weather like?"]
    assert proxy.status()["running"] == 0


def test_a_client_that_leaves_before_the_answer_begins_takes_the_request_with_it_too(proxy: Proxy) -> None:
    asked, never = threading.Event(), threading.Event()

    def late(_: Any) -> Answer:
        asked.set()
        return streamed(*deltas("one"), gates={-1: never})

    proxy.upstream.answering = late
    with socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2]))) as line:
        body = json.dumps({"messages": ASK}).encode()
        line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert asked.wait(WAIT)
    assert proxy.upstream.left.wait(WAIT)
    never.set()
    assert (proxy.turn()["ended"], proxy.turn()["remembered"]) == ("client left", "nothing: client left")


def test_an_upstream_that_breaks_off_leaves_the_client_with_a_broken_answer(proxy: Proxy) -> None:
    proxy.upstream.answers = [streamed(*deltas("one", "two")[:2], broken=True)]
    with pytest.raises(httpx.RemoteProtocolError):
        proxy.post(messages=ASK, stream=True)
    turn = proxy.turn()
    assert (turn["status"], turn["ended"]) == (200, "upstream broke off")
    assert proxy.said() == ["user: What is the weather like?"]


def test_an_upstream_that_is_not_there_is_told_in_the_form_of_each_api(memory: Memory) -> None:
    with proxied(memory, url="http://127.0.0.1:9") as proxy:
        chatted, asked = proxy.post(messages=ASK), proxy.post("/v1/messages", messages=ASK, max_tokens=1)
        assert (chatted.status_code, asked.status_code) == (502, 502)
        assert "did not answer (ConnectError): is it running?" in chatted.json()["error"]["message"]
        assert asked.json()["error"]["type"] == "api_error"
        assert proxy.turn()["ended"] == "upstream unreachable"


def test_what_is_no_request_to_a_model_passes_with_its_method_query_headers_and_body(proxy: Proxy) -> None:
    twice = Answer([b"\x00\x01"], 201, [("content-type", "application/x"), ("set-cookie", "a=1"), ("set-cookie", "b=2")])
    proxy.upstream.answers = [said({"data": []}), twice, Answer([], 304, [("etag", '"x"')])]
    assert httpx.get(f"{proxy.url}/v1/models").json() == {"data": []}
    url, headers = f"{proxy.url}/v1/files/a%2Fb?q=1&q=%20", [("x-a", "1"), ("x-a", "2")]
    with httpx.Client() as client:
        answer = client.send(httpx.Request("PUT", url, headers=headers, content=b"\xff\x00" * 9))
    assert (answer.status_code, answer.content, answer.headers.get_list("set-cookie")) == (201, b"\x00\x01", ["a=1", "b=2"])
    seen = proxy.upstream.seen[1]
    assert (seen.method, seen.target, seen.body) == ("PUT", "/v1/files/a%2Fb?q=1&q=%20", b"\xff\x00" * 9)
    assert (seen.header("x-a"), seen.header("content-length")) == (["1", "2"], ["18"])
    assert seen.header("host") == [proxy.upstream.url.removeprefix("http://")]
    assert httpx.get(f"{proxy.url}/v1/x").status_code == 304
    assert proxy.status()["requests"] == 0


def test_what_the_client_says_about_its_connection_and_about_memory_stays_here(proxy: Proxy) -> None:
    proxy.upstream.answers = [chat("Fine.")]
    headers = {"x-mnemic-session": "s", "x-mnemic-memory": "on", "connection": "close, x-hop", "x-hop": "1", "x-own": "2"}
    httpx.post(f"{proxy.url}/v1/chat/completions", json={"messages": ASK}, headers=headers)
    names = {name for name, _ in proxy.upstream.seen[0].headers}
    assert "x-own" in names
    assert not names & {"x-mnemic-session", "x-mnemic-memory", "x-hop"}


def test_a_body_that_memory_adds_nothing_to_goes_on_byte_for_byte(proxy: Proxy) -> None:
    body = b'{ "messages" : [{"role":"user","content":"caf\\u00e9 1e3"}],  "seed": 1.0, "x": 1e2 }'
    proxy.upstream.answers = [chat("Fine.")]
    httpx.post(f"{proxy.url}/v1/chat/completions", content=body)
    assert proxy.upstream.seen[0].body == body


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("", "/v1/chat/completions", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/", "/chat/completions", "/v1/chat/completions"),
        ("/api/paas/v4", "/chat/completions", "/api/paas/v4/chat/completions"),
    ],
)
def test_the_base_url_may_name_the_version_on_either_side(memory: Memory, base: str, path: str, target: str) -> None:
    with proxied(memory) as running:
        running.relay.upstream = checked_upstream(running.upstream.url + base)
        running.upstream.answers = [chat("Fine.")]
        running.post(path, messages=ASK)
        assert running.upstream.seen[0].target == target


@pytest.mark.parametrize("url", ["", "api.openai.com", "ftp://x", "http://", "http://x:0", "https://x?y", "http://x:99999", "http://[::1"])
def test_an_upstream_that_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="no address of a server"):
        checked_upstream(url)


@pytest.mark.parametrize("url", ["http://ada:geheim@x/v1", "https://geheim@x", "http://ada:geheim@x:99999"])
def test_a_password_in_the_upstream_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadInput, match="leave them out") as caught:
        checked_upstream(url)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("target", ["http://evil.test/x", "%2F@evil.test/x", "*"])
def test_a_request_for_another_host_is_not_passed_on(proxy: Proxy, target: str) -> None:
    port = int(proxy.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        assert line.recv(99).startswith(b"HTTP/1.1 4")
    assert proxy.upstream.seen == []


def test_keys_are_passed_on_and_stand_nowhere_in_the_home_or_the_status(proxy: Proxy) -> None:
    keys = {"authorization": "Bearer swordfish-1", "x-api-key": "swordfish-2"}
    proxy.upstream.answers = [chat("Fine."), said({"error": {"message": "no"}}, 401)]
    for _ in range(2):
        httpx.post(f"{proxy.url}/v1/chat/completions?key=swordfish-3", json={"messages": ASK}, headers=keys)
    assert proxy.upstream.seen[0].header("authorization") == ["Bearer swordfish-1"]
    assert "swordfish" not in json.dumps(proxy.status())
    written = [file.read_bytes() for file in proxy.memory.settings.home.parent.rglob("*") if file.is_file()]
    assert len(written) > 3
    assert not any(b"swordfish" in content for content in written)


def test_many_streams_at_once_arrive_whole_and_leave_nothing_behind(proxy: Proxy) -> None:
    whole = b"".join(deltas(*"abcdefgh"))
    proxy.upstream.answering = lambda seen: streamed(*deltas(*"abcdefgh"))

    async def one(client: httpx.AsyncClient, number: int) -> bytes:
        body = {"messages": [{"role": "user", "content": f"Stream {number}?"}], "stream": True}
        async with client.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as answer:
            if number % 5 == 0:
                return await anext(answer.aiter_raw())
            return b"".join([chunk async for chunk in answer.aiter_raw()])

    async def many() -> list[bytes]:
        async with httpx.AsyncClient(timeout=WAIT) as client:
            return await asyncio.gather(*(one(client, number) for number in range(25)))

    proxy.status()
    before = done(tasks())
    for _ in range(2):
        arrived = done(many())
        assert [answer for number, answer in enumerate(arrived) if number % 5] == [whole] * 20
    status = proxy.status()
    while status["running"]:  # what was left is being cancelled
        status = proxy.status()
    assert sum(count for name, count in status["counts"].items() if not name.startswith("memory")) == 50
    assert status["conversations"] == 25
    assert done(tasks()) == before
    pool = proxy.relay._client._transport._pool  # type: ignore[attr-defined]
    assert [one for one in pool.connections if not one.is_idle()] == []


async def tasks() -> int:
    """Tasks of the servers' loop, when those that are over are gone."""
    for _ in range(200):
        await asyncio.sleep(0)
    return len(asyncio.all_tasks())
