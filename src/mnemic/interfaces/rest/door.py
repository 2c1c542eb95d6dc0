"""The door of the service: who may come in, what is good for what, and what every answer says to a browser.

It is the same for every path: the Host must be this server (DNS rebinding), a page of another origin is refused (CSRF), and
but for what holds no memory a request needs a token. The token comes in a header alone: a cookie would be sent by pages of
other ports of this machine too, and an address ends up in logs. Here too is counted how fast a namespace asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.responses import Response

from mnemic.errors import BadInput, RateLimited
from mnemic.interfaces.rest.problems import TYPE, of_error, problem, written
from mnemic.interfaces.tokens import ACCESS, OWNER, Access, Grant, Tokens
from mnemic.settings import checked_namespace

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mnemic.interfaces.guard import Guard
    from mnemic.interfaces.rest.observed import Observed
    from mnemic.interfaces.rest.rates import Rates
    from mnemic.interfaces.rest.spaces import Spaces
    from mnemic.memory import Memory

NAMESPACE = "mnemic-namespace"
"""The header that names a namespace; percent-encoded where it is not ASCII."""
MEM0 = "/mem0"
"""Where a client of mem0 finds its paths; it sends its token in its own way."""
MCP = "/mcp"
METRICS = "/metrics"
READS = frozenset({"GET", "HEAD"})
BODIES = frozenset({"POST", "PUT", "PATCH"})
JSON = b"application/json", "give the body as JSON, with 'Content-Type: application/json'; {} where there is nothing to say"
FILE = b"application/octet-stream", "send the file itself, with 'Content-Type: application/octet-stream'"
"""What a body must be, and what to say to another."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
                               " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin", "cross-origin-opener-policy": "same-origin", "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}  # fmt: skip
Headers = Iterable[tuple[bytes, bytes]]


class Door:
    """Lets in who may come in, and gives every answer the headers that keep a browser from harm."""

    def __init__(
        self, app: ASGIApp, spaces: Spaces, tokens: Tokens, guard: Guard, observed: Observed, rates: Rates, *,
        open: Iterable[str], uploads: str, hooks: str,
    ) -> None:  # fmt: skip
        """`open` are paths that anybody may read; below `uploads` a body is a file; below `hooks` this machine's hooks ask."""
        self._app, self._spaces, self._tokens, self._guard, self._observed = app, spaces, tokens, guard, observed
        self._rates, self._open, self._uploads, self._hooks = rates, frozenset(open), uploads, hooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                have = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), text.encode()) for name, text in HEADERS.items() if name.encode() not in have]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        with self._observed.asked(scope, sealed) as told:
            if refused := self._refusal(scope):
                await refused(scope, receive, told)
            else:
                await self._app(scope, receive, told)

    def _refusal(self, scope: Scope) -> Response | None:
        headers: Headers = scope["headers"]
        if found := self._guard.refusal(headers):
            return said(problem(*found))
        if scope["method"] not in READS or scope["path"] not in self._open:
            grant = self._tokens.grant(_token(headers, scope["path"]))
            if grant is None:
                why = "this needs a token as 'Authorization: Bearer …': `mnemic serve` says in which file yours is"
                return said(problem(401, why), {"www-authenticate": "Bearer"})
            if refused := self._placed(scope, grant):
                return refused
        if scope["method"] in BODIES:
            kind, why = FILE if scope["path"].startswith(self._uploads) else JSON
            if _type(headers) != kind:
                return said(problem(415, why))
        return None

    def _placed(self, scope: Scope, grant: Grant) -> Response | None:
        """Note in the scope who asks and of what namespace, or refuse it."""
        try:
            namespace = self._namespace(scope["headers"], grant)
        except BadInput as error:
            return said(problem(400, str(error)))
        if not grant.sees(namespace):
            return said(problem(403, f"the token {grant.name!r} is not good for the namespace {namespace[:60]!r}"))
        late = None if self._uncounted(scope["path"], grant) else self._rates.take(namespace)
        scope[ACCESS] = Access(grant, partial(self._memory, namespace, late))
        if late is None or _tells_itself(scope):
            return None
        return said(of_error(late), {"retry-after": str(late.seconds)})

    def _uncounted(self, path: str, grant: Grant) -> bool:
        """Whether a request is never too much: a hook that is refused does its work itself, which costs this machine more."""
        return path == METRICS or (grant.name == OWNER and path.startswith(self._hooks))

    def _memory(self, namespace: str, late: RateLimited | None) -> Memory:
        if late is not None:
            raise late
        return self._spaces.of(namespace)

    def _namespace(self, headers: Headers, grant: Grant) -> str:
        given = [text for name, text in headers if name == NAMESPACE.encode()]
        if len(given) > 1:
            raise BadInput(f"several {NAMESPACE} headers: give one")
        if given:
            return checked_namespace(unquote(given[0].decode("latin-1")))
        own = self._spaces.own.namespace
        if not grant.sees(own) and grant.namespaces is not None:
            if len(grant.namespaces) > 1:
                raise BadInput(f"say which namespace is meant, in the header {NAMESPACE}: this token is good for several")
            return next(iter(grant.namespaces))
        return own


def _token(headers: Headers, path: str) -> str:
    """What a request gives as its token; empty if nothing, or more than one."""
    found = [(name, text) for name, text in headers if name == b"authorization" or (_mem0(path) and name == b"x-api-key")]
    if len(found) != 1:
        return ""
    name, text = found[0]
    if name == b"x-api-key":
        return text.decode("latin-1").strip()
    scheme, _, token = text.partition(b" ")
    known = (b"bearer", b"token") if _mem0(path) else (b"bearer",)
    return token.decode("latin-1").strip() if scheme.lower() in known else ""


def _mem0(path: str) -> bool:
    return path.startswith(f"{MEM0}/")


def _tells_itself(scope: Scope) -> bool:
    """Whether MCP answers, which tells a model that its call came too soon: for all but what begins a session."""
    return scope["path"] == MCP and any(name in (b"mcp-session-id", b"mcp-method") for name, _ in scope["headers"])


def _type(headers: Headers) -> bytes:
    types = [text for name, text in headers if name == b"content-type"]
    return types[0].split(b";")[0].strip().lower() if len(types) == 1 else b""


def said(row: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    """A problem as an answer."""
    return Response(written(row), int(str(row["status"])), headers, TYPE)
