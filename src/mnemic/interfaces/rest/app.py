"""The application: REST, the workbench, MCP and mem0's shape behind one door."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as Path_

from mnemic.errors import BadInput, MnemicError, Refused
from mnemic.interfaces.guard import Guard
from mnemic.interfaces.integrations.mem0_rest import mem0_app
from mnemic.interfaces.mcp import pages
from mnemic.interfaces.mcp.schema import checked
from mnemic.interfaces.rest import observed as observing
from mnemic.interfaces.rest.door import MEM0, METRICS, Door, said
from mnemic.interfaces.rest.looks import Look
from mnemic.interfaces.rest.observed import Line, Observed
from mnemic.interfaces.rest.openapi import IMPORTS, LIMIT, MOST, ROOT, document
from mnemic.interfaces.rest.problems import of_error, problem, written
from mnemic.interfaces.rest.rates import Rates
from mnemic.interfaces.rest.routes import AGENTS, ROUTES, Route
from mnemic.interfaces.rest.shapes import from_text, value
from mnemic.interfaces.rest.spaces import Spaces
from mnemic.interfaces.tokens import ACCESS, Access, Grant, Tokens, lacks
from mnemic.knowledge.origin import human, lowered
from mnemic.text.clean import storable

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from mnemic.memory import Memory

log = logging.getLogger(__name__)
BODY_BYTES = 16 * 1024 * 1024
FILE_BYTES = 2 * 1024 * 1024 * 1024
"""Of a body that is a file to import."""
ALIVE = 5.0
"""Seconds after which long work says that it lives, where it has nothing else to say."""
WORKBENCH = Path(__file__).parent.parent / "workbench"
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
ASSETS = {"/": ("index.html", "text/html")} | {
    f"/{file.name}": (file.name, KINDS[file.suffix]) for file in sorted(WORKBENCH.iterdir()) if file.suffix in KINDS
}
"""The workbench's own files. They hold no memory: what they show they ask for, with the token."""
OPEN = frozenset({"/healthz", "/readyz", "/openapi.json", *ASSETS})
"""What needs no token."""
ETAG_LEAVES = frozenset({"weighted_trust", "trust", "due", "last_accessed", "relevance", "access_count", "tier"})
"""What changes by itself or by reading."""
POSITION = "mnemic-position"
"""The header that says how far a namespace has been written and read; given back, no older state answers."""
IDS = ("number", "path", "name", "key")
"""The arguments that say which thing is meant, where the address does not: an experience's `path` are its steps."""

Handler = Callable[[Request], Awaitable[Response]]


def application(
    memory: Memory, token: str, *, hosts: Iterable[str] = (), origins: Iterable[str] = (), mcp: Starlette | None = None,
    line: Line | None = None, rates: Rates | None = None,
) -> ASGIApp:  # fmt: skip
    """Everything that `mnemic serve` answers. `mcp` answers at /mcp; `hosts` and `origins` may speak to it besides.
    `line` takes a line of JSON for each request that was answered.

    `token` is its owner's; those of the home's `tokens.json` count besides.
    """
    spaces, observed = Spaces(memory), Observed(memory.telemetry, line)

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if mcp is not None:
                await stack.enter_async_context(mcp.router.lifespan_context(mcp))
            yield
            await run_in_threadpool(spaces.close)

    edits = threading.Lock()
    rows = [Path_(ROOT + route.path, _handler(route, edits), methods=[route.method]) for route in ROUTES]
    own = [
        Path_("/healthz", _healthy), Path_("/readyz", _ready(memory)), Path_("/openapi.json", _described()),
        Path_(METRICS, _metrics(memory, observed)), *(Path_(path, _asset(*file)) for path, file in ASSETS.items()),
    ]  # fmt: skip
    mounted = list[BaseRoute]()
    if mcp is not None:
        from mnemic.interfaces.mcp.server import owned

        mounted = [_operation("mcp", route, owned) for route in mcp.routes]
    mem0 = _operation("mem0", Mount(MEM0, mem0_app(memory)))
    app = Starlette(routes=[*own, *_merged(rows), mem0, *mounted], lifespan=alive, exception_handlers={HTTPException: _missed})
    guard = Guard(app, hosts=hosts, origins=origins)
    tokens = Tokens(memory.settings.home, memory.clock, token)
    rates = rates or Rates(memory.settings.limits)
    return Door(app, spaces, tokens, guard, observed, rates, open=OPEN, uploads=ROOT + IMPORTS, hooks=f"{ROOT}/hooks/")


def _operation(name: str, route: BaseRoute, more: Callable[[Any], None] = lambda scope: None) -> BaseRoute:
    """The route, which leaves its name, and `more`, in the scope of what it answers."""
    handle = route.handle

    async def named(scope: Any, receive: Any, send: Any) -> None:
        scope[observing.OPERATION] = name
        more(scope)
        await handle(scope, receive, send)

    route.handle = named  # type: ignore[method-assign]
    return route


def _merged(rows: list[Path_]) -> list[Path_]:
    """One route a path, so that a wrong method is answered with all that the path knows."""
    by_path: dict[str, dict[str, Any]] = {}
    for row in rows:
        by_path.setdefault(row.path, {}).update({method: row.endpoint for method in row.methods or () if method != "HEAD"})
    # What is spelled out goes before what has a name in braces.
    return [Path_(path, _by_method(found), methods=[*found]) for path, found in sorted(by_path.items(), key=_order)]


def _order(item: tuple[str, Any]) -> tuple[bool, str]:
    return "{" in item[0], item[0]


def _by_method(found: Mapping[str, Handler]) -> Handler:
    async def answer(request: Request) -> Response:
        return await found["GET" if request.method == "HEAD" else request.method](request)

    return answer


def _handler(route: Route, edits: threading.Lock) -> Handler:
    async def answer(request: Request) -> Response:
        access: Access = request.scope[ACCESS]
        request.scope[observing.OPERATION] = route.name
        try:
            _allowed(access.grant, route.needs, wide=route.wide)
            memory = await run_in_threadpool(access.memory)
            given, place = await _given(memory, route, request)
            if lacking := access.grant.lacks(["erase"] if any(given.get(name) for name in route.erases) else []):
                raise _Stopped(said(problem(403, lacks(access.grant, lacking))))
            given = _voiced(route, access.grant, given)
            watched = route.long and "text/event-stream" in request.headers.get("accept", "")
            if route.upload:
                return await _uploaded(route, memory, given, request, watched)
            if watched:
                return _streamed(route, memory, given)
            done, reached = await run_in_threadpool(_reached, memory, route, given, place, request, edits)
        except MnemicError as error:
            return said(of_error(error))
        except _Stopped as stopped:
            return stopped.answer
        except HTTPException:
            raise
        except Exception as error:  # a fault of ours: its text may hold what somebody remembers
            log.error("%s failed: %s", route.name, type(error).__name__)
            return said(_fault(error))
        shown = _shown(route, done if route.own else _seen(route, access.grant, done), request)
        if reached is not None:
            shown.headers[POSITION] = reached
        return shown

    return answer


def _reached(
    memory: Memory, route: Route, given: dict[str, Any], place: tuple[int, int], request: Request, edits: threading.Lock
) -> tuple[Any, str | None]:
    """What was asked for, from a state none before the one that the request names; and the position that it shows."""
    if (position := request.headers.get(POSITION)) is not None:
        memory.catch_up(position)
    done = _done(memory, route, given, place, request, edits)
    with suppress(MnemicError):  # it is done, and can be told without
        return done, memory.position()
    return done, None


def _allowed(grant: Grant, needs: Iterable[str], *, wide: bool) -> None:
    """Stop a request that its token is not good for, before anything of it is read; `wide`: it is about the whole home."""
    if lacking := grant.lacks(needs):
        raise _Stopped(said(problem(403, lacks(grant, lacking))))
    if wide and grant.namespaces is not None:
        why = f"the token {grant.name!r} is bound to namespaces, and this is about the whole home"
        raise _Stopped(said(problem(403, why)))


def _voiced(route: Route, grant: Grant, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with nothing in them that counts for more than the token's word."""
    if human(grant.voice):
        return given
    if route.personal:
        raise Refused(f"only a person can do this, and the token {grant.name!r} speaks as {grant.voice}: use another token")
    if route.target in AGENTS:
        grant.vouch()
    return {**given, **{name: lowered(grant.voice, given.get(name)) for name in route.voices}}


def _seen(route: Route, grant: Grant, done: Any) -> Any:
    """An answer without what tells a token of more than its namespaces."""
    if isinstance(done, dict):
        return grant.walled(done)
    return [name for name in done if grant.sees(name)] if route.target == "namespaces" else done


class _Stopped(Exception):
    """The answer is known before anything is done."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


def _done(
    memory: Memory, route: Route, given: dict[str, Any], place: tuple[int, int], request: Request, edits: threading.Lock
) -> Any:
    if route.page:
        return _page(memory, route, given, place, request)
    method = route.method_of(memory)
    if not route.guards:
        return plain(method(**given))
    with edits:  # between looking and doing nobody else may come
        if (expected := request.headers.get("if-match")) and expected.strip() != "*":
            meant = {name: given[name] for name in route.in_path or IDS if name in given}
            now = etag(plain(route.guard_of(memory)(**meant)))
            if now not in [one.strip() for one in expected.split(",")]:
                why = "it has changed since you read it: read it again, and decide anew"
                raise _Stopped(said(problem(412, why), {"etag": now}))
        return plain(method(**given))


def _page(memory: Memory, route: Route, given: dict[str, Any], place: tuple[int, int], request: Request) -> dict[str, Any]:
    begin, limit = place
    asked = {name: text for name, text in request.query_params.multi_items() if name not in ("cursor", "limit")}
    method = route.method_of(memory)
    if route.page == "ledger":
        rows = method(limit=limit + 1, **given, **({"before": begin} if begin else {}))
        more, rows = len(rows) > limit, rows[:limit]
        after = rows[-1]["seq"] if rows else 0
    else:
        takes = "limit" in inspect.signature(route.definition).parameters
        rows = list(method(**given, **({"limit": begin + limit + 1} if takes else {})))
        rows = rows[::-1] if route.page == "latest" else rows
        more, after = len(rows) > begin + limit, begin + limit
        rows = rows[begin:after]
    return {"items": [plain(row) for row in rows], "next": pages.after(route.name, asked, after) if more else None}


async def _given(memory: Memory, route: Route, request: Request) -> tuple[dict[str, Any], tuple[int, int]]:
    """The arguments of the call, checked, and where its page begins and how long it is."""
    raw: dict[str, Any] = {}
    known, query = route.arguments, request.query_params
    place = (0, LIMIT)
    if route.queried:
        if route.page:
            asked = {name: text for name, text in query.multi_items() if name not in ("cursor", "limit")}
            begin = pages.start(route.name, {**asked, **({"cursor": query["cursor"]} if "cursor" in query else {})})
            place = (begin, _limit(query.get("limit")))
        for name in dict.fromkeys(name for name, _ in query.multi_items()):
            if name in known:
                raw[name] = from_text(known[name].hint, query.getlist(name))
            elif not (route.page and name in ("limit", "cursor")):
                named = [*known, *(("limit", "cursor") if route.page else ())]
                raise BadInput(f"{name[:60]!r} is unknown: use {', '.join(named) or 'no arguments'}")
    else:
        body = await _body(request)
        raw = {route.whole: body} if route.whole else body
    for name in route.in_path:
        raw[name] = from_text(known[name].hint, [request.path_params[name]])
    return _checked(memory, route, storable(raw)), place


def _checked(memory: Memory, route: Route, raw: dict[str, Any]) -> dict[str, Any]:
    known = route.arguments
    rest, inner = any(one.rest for one in known.values()), route.inner
    made: dict[str, Any] = dict(route.fixed)
    for name, item in raw.items():
        if name in inner:
            made[name] = checked({"type": "object", "properties": {name: inner[name]}}, {name: item or []}, route.target)[name]
        elif name in known and not known[name].rest:
            made[name] = value(known[name].hint, item, name, memory.clock.now)
        elif rest and name not in route.definition.__code__.co_varnames:
            made[name] = item
        else:
            raise BadInput(f"{name[:60]!r} is unknown: use {', '.join(known) or 'no arguments'}")
    for name, one in known.items():
        if one.required and name not in made:
            raise BadInput(f"{name!r} is missing: give it")
    return made


def _limit(text: str | None) -> int:
    if text is None:
        return LIMIT
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII) or not 1 <= int(text) <= MOST:
        raise BadInput(f"limit {text[:20]!r} cannot be used: give 1 to {MOST}")
    return int(text)


async def _body(request: Request) -> dict[str, Any]:
    data = bytearray()
    async for chunk in _chunks(request, BODY_BYTES):
        data += chunk
    try:
        body = json.loads(bytes(data) or b"{}", parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput("the body is not JSON: give an object") from None
    if not isinstance(body, dict):
        raise BadInput("the body is no JSON object: give one")
    return body


def _no_number(text: str) -> Any:
    raise ValueError(text)


def plain(done: Any) -> Any:
    """An answer of memory as plain data."""
    if hasattr(done, "json"):
        return done.json()
    if is_dataclass(done) and not isinstance(done, type):
        return asdict(done)
    return [plain(item) for item in done] if isinstance(done, (list, tuple)) else done


def etag(done: Any) -> str:
    """The mark of a state, without what reading changes."""
    text = json.dumps(_steady(done), sort_keys=True, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _steady(done: Any) -> Any:
    if isinstance(done, dict):
        return {name: _steady(item) for name, item in done.items() if name not in ETAG_LEAVES}
    return [_steady(item) for item in done] if isinstance(done, list) else done


def _shown(route: Route, done: Any, request: Request) -> Response:
    if isinstance(done, Path):
        kind = "application/zip" if done.suffix == ".zip" else "application/jsonl"
        return FileResponse(done, media_type=kind, filename=done.name)
    if isinstance(done, dict) and done.get("status") == "rejected":
        return said(problem(422, str(done.get("reason") or "it was rejected: see the receipt"), receipt=done))
    mark = etag(done) if route.steady else None
    if mark and mark in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers={"etag": mark})
    headers = {"etag": mark} if mark else {}
    return Response(written(done), media_type="application/json", headers=headers)


async def _uploaded(route: Route, memory: Memory, given: dict[str, Any], request: Request, watched: bool) -> Response:
    """The call with the body as a file, which is gone when it is done."""
    held = await run_in_threadpool(partial(TemporaryDirectory, dir=memory.settings.home, prefix=".upload-"))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(run_in_threadpool, held.cleanup)
        file = Path(held.name) / "upload"
        with open(file, "xb") as stream:
            async for chunk in _chunks(request, FILE_BYTES):
                await run_in_threadpool(stream.write, chunk)
        if not watched:
            return _shown(route, plain(await run_in_threadpool(partial(route.method_of(memory), **given, file=file))), request)
        answer = _streamed(route, memory, {**given, "file": file}, held.cleanup)
        stack.pop_all()  # the work goes on when this is left, and cleans up behind itself
        return answer


async def _chunks(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body as it comes, up to so many bytes."""
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise _Stopped(said(problem(413, f"more than {most:,} bytes: send it in parts")))
        yield chunk


def _streamed(route: Route, memory: Memory, given: dict[str, Any], after: Callable[[], None] = lambda: None) -> Response:
    """The same call, which tells meanwhile how far it is; `after` it. A client that leaves does not stop it."""
    loop, told = asyncio.get_running_loop(), asyncio.Queue[tuple[str, Any]]()

    def tell(event: str, data: Any) -> None:
        loop.call_soon_threadsafe(told.put_nowait, (event, data))

    def told_of(done: Any, whole: Any = None) -> None:
        tell("progress", {"done": done, **({"whole": whole} if whole is not None else {})})

    def work() -> None:
        try:
            tell("result", plain(route.method_of(memory)(**given, **({"progress": told_of} if route.progresses else {}))))
        except MnemicError as error:
            tell("problem", of_error(error))
        except Exception as error:
            log.error("%s failed: %s", route.name, type(error).__name__)
            tell("problem", _fault(error))
        finally:
            after()

    async def events() -> AsyncIterator[bytes]:
        event = "progress"
        while event == "progress":
            try:
                event, data = await asyncio.wait_for(told.get(), ALIVE)
            except TimeoutError:
                yield b": at work\n\n"
                continue
            yield f"event: {event}\ndata: ".encode() + written(data) + b"\n\n"
        await task

    task = loop.run_in_executor(None, work)
    return StreamingResponse(events(), media_type="text/event-stream")


def _fault(error: Exception) -> dict[str, Any]:
    return problem(500, f"mnemic failed inside ({type(error).__name__}): run `mnemic doctor`; nothing was half-written")


async def _missed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {404: "there is no such path: see /openapi.json", 405: "this path knows other methods: see Allow"}
    return said(problem(error.status_code, known.get(error.status_code, str(error.detail))), error.headers)


async def _healthy(_: Request) -> Response:
    return Response(written({"ok": True}), media_type="application/json")


def _ready(memory: Memory) -> Handler:
    def look() -> str | None:
        home = memory.settings.home
        try:
            memory.ledger(limit=1)
        except MnemicError as error:
            return f"the home cannot be read ({type(error).__name__})"
        needed = [home] if memory.settings.store.url.value else [home, home / "memory.db"]
        return None if all(os.access(place, os.W_OK) for place in needed) else "the home cannot be written"

    looked = Look[str | None](look, "the home does not answer")

    async def answer(_: Request) -> Response:
        why = await run_in_threadpool(looked)
        if why is not None:
            return said(problem(503, f"{why}: run `mnemic doctor`"))
        return Response(written({"ok": True}), media_type="application/json")

    return answer


def _metrics(memory: Memory, observed: Observed) -> Handler:
    waiting, jobs = Look[int | None](memory.waiting, None), Look[dict[str, int] | None](memory.jobs, None)

    async def answer(request: Request) -> Response:
        access: Access = request.scope[ACCESS]
        try:
            _allowed(access.grant, ["admin"], wide=True)
        except _Stopped as stopped:
            return stopped.answer
        told = observed.text(await run_in_threadpool(waiting), await run_in_threadpool(jobs))
        return Response(told + observing.reads(memory.reads()), media_type=observing.TYPE)

    return answer


def _described() -> Handler:
    body: list[bytes] = []

    async def answer(_: Request) -> Response:
        if not body:
            body.append(written(document()))
        return Response(body[0], media_type="application/json")

    return answer


def _asset(name: str, kind: str) -> Handler:
    async def answer(_: Request) -> Response:
        return FileResponse(WORKBENCH / name, media_type=kind, headers={"cache-control": "no-cache"})

    return answer
