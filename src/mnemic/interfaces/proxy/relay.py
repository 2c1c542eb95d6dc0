"""Passes requests on to a model's server and its answers back, byte for byte, with memory in between.

    client ─▶ messages that fit, with what memory adds ─▶ upstream ─▶ the same bytes to the client
                                                              └▶ a copy is read and remembered, after the answer

Memory must never break a turn: where preparing fails or takes too long, the request goes on as it came, and the status
says why. What the client sends along (keys above all) is passed on and neither kept nor written anywhere. A client that
leaves takes the request to the upstream with it; an upstream that breaks off leaves the client with a broken answer too,
never with one that looks whole.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from mnemic.clock import iso, to_ms
from mnemic.errors import BadInput
from mnemic.interfaces.guard import is_loopback
from mnemic.interfaces.proxy.replies import Api, Reply
from mnemic.interfaces.proxy.turns import Turn, Turns

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from mnemic.context.windows import Request, Windows
    from mnemic.memory import Memory

SECONDS = 10.0
"""What a request waits for memory."""
CONNECT_SECONDS = 10.0
THREADS = 4
"""Requests that are prepared at once."""
WAITING = 1_000
"""Exchanges that may wait to be remembered."""
SESSION, SWITCH = b"x-mnemic-session", b"x-mnemic-memory"
APIS: dict[str, Api] = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
# Of one connection, not of the message (RFC 9110, 7.6.1).
_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
_ANEW = frozenset({b"host", b"expect", SESSION, SWITCH})

Headers = list[tuple[bytes, bytes]]


class Relay:
    """The application behind the guard: one upstream, one memory."""

    def __init__(
        self, memory: Memory, windows: Windows, upstream: str, *, seconds: float = SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:  # fmt: skip
        self.upstream = checked_upstream(upstream)
        self.turns = Turns()
        self._memory, self._windows, self._seconds = memory, windows, seconds
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS), follow_redirects=False, transport=transport,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            # A proxy of the environment is for what lies outside.
            trust_env=not is_loopback(urlsplit(self.upstream).hostname or ""),
        )  # fmt: skip
        self._preparing = ThreadPoolExecutor(THREADS, "mnemic-prepare")
        self._remembering = ThreadPoolExecutor(1, "mnemic-remember")
        self._waiting = 0

    async def close(self) -> None:
        """Remember what waits, and let go of the upstream."""
        await asyncio.to_thread(self._remembering.shutdown)
        self._preparing.shutdown(wait=False, cancel_futures=True)
        await self._client.aclose()
        self._windows.close()

    def status(self) -> dict[str, Any]:
        """What was done for the last turns, and why."""
        return {"upstream": self.upstream, "namespace": self._memory.namespace, "conversations": len(self._windows),
                "waiting": self._waiting, **self.turns.json()}  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. The connection is watched all the while: when the client leaves, all that was begun for it ends."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        inflow = _Inflow(receive)
        work = asyncio.create_task(self._answered(scope, inflow, send))
        watch = asyncio.create_task(inflow.left())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, watch):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _answered(self, scope: Scope, inflow: _Inflow, send: Send) -> None:
        if not scope["raw_path"].startswith(b"/"):
            await _refused(send, 400, "chat", "this server is no proxy for other hosts: ask for a path")
            return
        api = next((api for end, api in APIS.items() if scope["path"].endswith(end)), None)
        headers = _passed(scope["headers"])
        if api is None or scope["method"] != "POST":
            content = inflow.content(scope["headers"])
            asked = httpx.Request(scope["method"], self._url(scope), headers=headers, content=content)
            with suppress(_ClientLeft):
                await self._pass(asked, send, lambda answer: None)
            return
        headers = [pair for pair in headers if pair[0] != b"content-length"]
        turn = self.turns.begin(scope["path"], iso(to_ms(self._memory.clock.now())))
        start = asyncio.get_running_loop().time()
        try:
            await self._turn(api, turn, scope, headers, await inflow.whole(), send)
        except (asyncio.CancelledError, _ClientLeft):
            turn.ended = "client left"
        finally:
            turn.ms["whole"] = _ms(start)
            self.turns.end(turn)

    async def _turn(self, api: Api, turn: Turn, scope: Scope, headers: Headers, body: bytes, send: Send) -> None:
        request, content = await self._prepared(turn, scope, body)
        if request is not None:
            # A copy is read as it passes: that must not have to be unpacked.
            headers = [pair for pair in headers if pair[0] != b"accept-encoding"] + [(b"accept-encoding", b"identity")]
        asked = httpx.Request("POST", self._url(scope), headers=headers, content=content)
        reply: Reply | None = None
        start = asyncio.get_running_loop().time()

        def begun(answer: httpx.Response) -> Callable[[bytes], None] | None:
            nonlocal reply
            turn.status, turn.ms["first_byte"] = answer.status_code, _ms(start)
            if request is None or not answer.is_success:
                return None
            reply = Reply(api, answer.headers.get("content-type", "").startswith("text/event-stream"))
            reply.why = "it came packed" if answer.headers.get("content-encoding", "identity") != "identity" else ""
            return reply.feed

        try:
            turn.ended = await self._pass(asked, send, begun, api, turn)
            turn.status = turn.status or 502
        except (asyncio.CancelledError, _ClientLeft):
            turn.ended = "client left"
        if request is not None:
            self._remember(turn, request, reply)

    # memory

    async def _prepared(self, turn: Turn, scope: Scope, body: bytes) -> tuple[Request | None, bytes]:
        """The request with memory, and the body that goes on; None and the body as it came where there is nothing to add."""
        told = dict(scope["headers"])
        if told.get(SWITCH, b"").strip().lower() == b"off":
            turn.memory = "off"
            return None, body
        session = told.get(SESSION, b"").decode("utf-8", "replace").strip() or None
        loop, start = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        try:
            work = loop.run_in_executor(self._preparing, self._made, body, session)
            work.add_done_callback(_seen)
            request, content, turn.model, turn.streamed = await asyncio.wait_for(asyncio.shield(work), self._seconds)
        except TimeoutError:
            self._unprepared(turn, f"memory took longer than {self._seconds:g} s")
            return None, body
        except Exception as error:  # whatever fails in memory must not fail the turn
            self._unprepared(turn, _told(error))
            return None, body
        finally:
            turn.ms["prepare"] = _ms(start)
        made = request.made
        turn.session, turn.memory = made.session, "prepared" if request.changed else "unchanged"
        turn.tokens = {"before": made.before, "after": made.after, "by_part": dict(made.by_part), "beside": request.beside}
        turn.compacted, turn.injected = [dict(one) for one in made.compacted], [dict(one) for one in made.injected]
        turn.why += dict.fromkeys([*made.degraded, *([made.nothing] if made.nothing else [])])
        return request, content

    def _made(self, body: bytes, session: str | None) -> tuple[Request, bytes, str, bool]:
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            raise BadInput("the request is not JSON") from None
        if not isinstance(given, dict):
            raise BadInput("the request is no JSON object")
        request = self._windows.prepare(given, session=session, seconds=self._seconds)
        content = json.dumps(request.body).encode() if request.changed else body
        return request, content, str(given.get("model") or ""), bool(given.get("stream"))

    def _unprepared(self, turn: Turn, why: str) -> None:
        turn.memory, turn.remembered = "failed", "nothing: memory failed"
        turn.why.append(f"the request went on as it came: {why}")

    def _remember(self, turn: Turn, request: Request, reply: Reply | None) -> None:
        """Hand the exchange to the thread that stores, one after the other in the order of their ends.

        Of an answer that did not come to its end only what the user said is kept; of one that the upstream refused nothing:
        the client will say it again.
        """
        if reply is None:
            turn.remembered = f"nothing: {turn.ended}"
            return
        if self._waiting >= WAITING:
            turn.remembered = f"nothing: {WAITING:,} exchanges wait already"
            return
        with suppress(Exception):
            reply.end()
        said, answer = (reply.said, reply.id) if reply.whole else ([], "")
        turn.remembered = "waiting"
        self._waiting += 1
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._remembering, self._stored, turn, request, said, answer, reply.why)
        work.add_done_callback(self._done)

    def _done(self, work: asyncio.Future[None]) -> None:
        self._waiting -= 1

    def _stored(self, turn: Turn, request: Request, said: list[Any], answer: str, why: str) -> None:
        try:
            report = self._windows.observe(request, said, answer)
            reasons = [receipt.reason for receipt in report.receipts if receipt.reason]
            turn.remembered = "; ".join([f"{report.messages} messages", *reasons, *([f"not the answer: {why}"] if why else [])])
        except Exception as error:
            turn.remembered = f"nothing: {_told(error)}"

    # the wire

    def _url(self, scope: Scope) -> httpx.URL:
        """The upstream's address for a path as the client wrote it; a `/v1` that both name counts once."""
        path = scope["raw_path"].decode("latin-1")
        base = self.upstream
        if base.endswith("/v1") and path.startswith("/v1/"):
            base = base.removesuffix("/v1")
        query = scope["query_string"].decode("latin-1")
        return httpx.URL(f"{base}{path}{'?' if query else ''}{query}")

    async def _pass(
        self, asked: httpx.Request, send: Send, begun: Callable[[httpx.Response], Callable[[bytes], None] | None],
        api: Api = "chat", turn: Turn | None = None,
    ) -> str:  # fmt: skip
        """Ask the upstream and pass its answer on; returns how it ended."""
        try:
            answer = await self._client.send(asked, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            await _refused(send, 502, api, f"{self.upstream} did not answer ({type(error).__name__}): is it running?")
            return "upstream unreachable"
        try:
            read = begun(answer)
            headers = [(name.lower(), value) for name, value in answer.headers.raw]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": _without(headers)})
            async for chunk in answer.aiter_raw():
                if turn:
                    turn.bytes += len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if read:
                    with suppress(Exception):  # an answer of a form that nobody knows is passed on all the same
                        read(chunk)
        except httpx.HTTPError:
            return "upstream broke off"  # an answer that is never ended: the server closes the connection
        finally:
            await answer.aclose()
        await send({"type": "http.response.body", "body": b""})
        return "whole" if answer.is_success else "upstream refused"


class _ClientLeft(Exception):
    """The client closed the connection before its request was whole."""


class _Inflow:
    """What the client sends: its body, once, and then that it is still there."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._whole = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _ClientLeft
            yield message.get("body", b"")
            if not message.get("more_body"):
                self._whole.set()
                return

    async def whole(self) -> bytes:
        """The body."""
        return b"".join([chunk async for chunk in self.chunks()])

    def content(self, headers: Headers) -> AsyncIterator[bytes] | None:
        """The body as it comes, or None where the client sends none."""
        if any(name in (b"content-length", b"transfer-encoding") for name, _ in headers):
            return self.chunks()
        self._whole.set()
        return None

    async def left(self) -> None:
        """Waits until the client leaves."""
        await self._whole.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def checked_upstream(url: str) -> str:
    """The address without a slash at its end. Raises BadInput for what is no address of a server."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)
        fine = fine and not parts.query and not parts.fragment
    except ValueError:
        fine = False
    if "@" in url:
        raise BadInput("upstream has a name or a password in its address: leave them out, the client's own key is passed on")
    if not fine:
        raise BadInput(f"upstream {url!r} is no address of a server: write e.g. https://api.openai.com/v1")
    return url.rstrip("/")


def _passed(headers: Headers) -> Headers:
    """A request's headers as they go on."""
    return [pair for pair in _without(headers) if pair[0] not in _ANEW]


def _without(headers: Headers) -> Headers:
    """Headers without those of one connection."""
    named = {part.strip().lower() for name, value in headers if name == b"connection" for part in value.split(b",")}
    return [pair for pair in headers if pair[0] not in _HOP | named]


async def _refused(send: Send, status: int, api: Api, why: str) -> None:
    """An error of this proxy, in the form that the client's library reads."""
    error: dict[str, Any] = {"error": {"message": why, "type": "mnemic_proxy", "code": None, "param": None}}
    if api == "messages":
        error = {"type": "error", "error": {"type": "api_error", "message": why}}
    body = json.dumps(error).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _told(error: Exception) -> str:
    """Why something failed; what was said stays out of it, and a refusal shows what was said behind a colon."""
    text = str(error)
    return f"{type(error).__name__}: {text.partition(':')[0] if isinstance(error, BadInput) else text}"


def _seen(work: asyncio.Future[Any]) -> None:
    """Of what nobody waits for any more, nobody needs the error."""
    if not work.cancelled():
        work.exception()


def _ms(start: float) -> float:
    return round(1000 * (asyncio.get_running_loop().time() - start), 1)
