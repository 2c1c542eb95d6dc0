"""The proxy as an application, and as a process that serves it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mnemic.errors import MissingExtra
from mnemic.interfaces import service, serving
from mnemic.interfaces.guard import Guard

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp

    from mnemic.context.windows import Windows
    from mnemic.interfaces.proxy.relay import Relay
    from mnemic.memory import Memory


def application(relay: Relay, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> ASGIApp:
    """The guarded application: `/mnemic/status`, and everything else to the upstream."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Mount, Route

    async def status(_: Request) -> Response:
        return JSONResponse(relay.status())

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        yield
        await relay.close()

    own = [Route("/status", status)]
    app = Starlette(routes=[Mount("/mnemic", routes=own), Mount("/", app=relay)], lifespan=alive)
    return Guard(app, hosts=hosts, origins=origins)


def serve(
    memory: Memory, windows: Callable[[], Windows], upstream: str, *, host: str = "127.0.0.1", port: int = 0,
    hosts: Iterable[str] = (), origins: Iterable[str] = (), patience: float = 0.0,
    ready: Callable[[str], None] = lambda url: None,
) -> None:  # fmt: skip
    """Serve until interrupted; `ready` is told the address. Port 0 takes one that is free.

    `patience` is how many seconds more than usual a request waits for memory, e.g. for a model that summarises.

    Raises MissingExtra without the libraries, BadInput for an upstream or an address that cannot be.
    """
    try:
        from mnemic.interfaces.proxy.relay import SECONDS, Relay, checked_upstream
    except ImportError as error:
        raise MissingExtra(f"the proxy needs {error.name}, which is not installed: pip install 'mnemic[serve]'") from None
    checked_upstream(upstream)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would write addresses, and a key may stand in one
    relay = Relay(memory, windows(), upstream, seconds=SECONDS + patience)
    line = serving.bound(host, port)
    own = f"[{host}]" if ":" in host else host
    app = application(relay, hosts=(*hosts, host), origins=origins)
    number = line.getsockname()[1]
    note = service.Note(host, number, "", memory.namespace, memory.namespace)
    noted = service.noted(memory.settings.home, note, service.PROXY)  # so that the workbench can show what it does
    with line, serving.server(app) as server, memory.tending(), noted:
        ready(f"http://{own}:{number}")
        server.run(sockets=[line])
