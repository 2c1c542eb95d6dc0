"""A proxy and a scripted upstream on real sockets, each in a thread of its own."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

from mnemic import Memory
from mnemic.interfaces.proxy.relay import Relay
from mnemic.interfaces.proxy.serve import application

WAIT = 60
"""Seconds after which a test that waits for another thread has failed."""


@dataclass
class Answer:
    """What the upstream answers: its chunks as they are, each behind a gate if one is given; the head behind -1."""

    chunks: Sequence[bytes]
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "application/json"),)
    gates: dict[int, threading.Event] = field(default_factory=dict)
    broken: bool = False
    """Whether it closes the connection instead of coming to the end."""


def said(body: Any, status: int = 200, **headers: str) -> Answer:
    """An answer in one piece."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Answer([json.dumps(body).encode()], status, [("content-type", "application/json"), *named])


def streamed(*chunks: bytes, **more: Any) -> Answer:
    return Answer(chunks, headers=[("content-type", "text/event-stream; charset=utf-8")], **more)


def chat(text: str) -> Answer:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return said({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def deltas(*texts: str) -> list[bytes]:
    """The events of a streamed chat."""
    rows: list[dict[str, Any]] = [{"delta": {"content": text}} for text in texts]
    rows.append({"delta": {}, "finish_reason": "stop"})
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [f"data: {json.dumps({**base, 'choices': [{'index': 0, **row}]}, ensure_ascii=False)}\n\n" for row in rows]
    return [event.encode() for event in [*events, "data: [DONE]\n\n"]]


@dataclass
class Seen:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


class Upstream:
    """Answers with what it was given, in order, or with what `answering` makes of a request."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.answering: Callable[[Seen], Answer] | None = None
        self.seen: list[Seen] = []
        self.left = threading.Event()
        self.url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        target = scope["raw_path"].decode() + (f"?{scope['query_string'].decode()}" if scope["query_string"] else "")
        seen = Seen(scope["method"], target, [(k.decode(), v.decode()) for k, v in scope["headers"]], body)
        self.seen.append(seen)
        answer = self.answering(seen) if self.answering else self.answers.pop(0)
        work = asyncio.ensure_future(_given(answer, send))
        gone = asyncio.ensure_future(_left(receive))
        done, _ = await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work not in done:
            self.left.set()
        for task in (work, gone):
            task.cancel()


async def _given(answer: Answer, send: Any) -> None:
    headers = [(key.encode(), value.encode()) for key, value in answer.headers]
    if head := answer.gates.get(-1):
        await asyncio.to_thread(head.wait, WAIT)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    for place, chunk in enumerate(answer.chunks):
        if gate := answer.gates.get(place):
            await asyncio.to_thread(gate.wait, WAIT)
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await asyncio.sleep(0)
    if not answer.broken:
        await send({"type": "http.response.body", "body": b""})


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop in a thread for all servers of these tests: to start one takes no time."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def done(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(WAIT)


@asynccontextmanager
async def _serving(app: Any, lifespan: Any) -> AsyncIterator[str]:
    bound = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, date_header=False,
                            lifespan=lifespan, ws="none", timeout_graceful_shutdown=1)  # fmt: skip
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup([bound])
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    for listening in server.servers:
        listening.close()
    for connection in list(server.server_state.connections):
        connection.shutdown()
    await server.lifespan.shutdown()


@contextmanager
def served(app: Any, lifespan: str = "off") -> Iterator[str]:
    """An application on a port that the system picks."""
    serving = _serving(app, lifespan)
    url = done(serving.__aenter__())
    try:
        yield url
    finally:
        done(serving.__aexit__(None, None, None))


@dataclass
class Proxy:
    url: str
    relay: Relay
    memory: Memory
    upstream: Upstream

    def status(self) -> dict[str, Any]:
        """After all that is over was remembered."""
        httpx.get(f"{self.url}/mnemic/status")
        self.relay._remembering.submit(int).result(WAIT)
        found: dict[str, Any] = httpx.get(f"{self.url}/mnemic/status").json()
        return found

    def turn(self) -> dict[str, Any]:
        found: dict[str, Any] = self.status()["turns"][0]
        return found

    def post(self, path: str = "/v1/chat/completions", **body: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=body, timeout=WAIT)

    def said(self) -> list[str]:
        """All that was ever stored of conversations."""
        store = self.memory._store
        rows = store.messages(self.memory.namespace)
        texts = store.texts(self.memory.namespace, [row.text_id for row in rows])
        return [f"{row.role}: {texts[row.text_id]}" for row in rows]


@contextmanager
def proxied(memory: Memory, *, url: str | None = None, seconds: float = WAIT, hosts: Sequence[str] = (),
            origins: Sequence[str] = (), **options: Any) -> Iterator[Proxy]:  # fmt: skip
    """A proxy before a scripted upstream."""
    upstream = Upstream()
    with served(upstream) as behind:
        upstream.url = behind
        relay = Relay(memory, memory.windows(seconds=WAIT, **options), url or behind, seconds=seconds)
        with served(application(relay, hosts=hosts, origins=origins), "on") as before:
            yield Proxy(before, relay, memory, upstream)
