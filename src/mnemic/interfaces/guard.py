"""Who may speak to a server of mnemic: nobody through a browser that was led here.

A page on the web can make a browser send requests to this machine (CSRF), and by changing what its own name resolves to
it can read the answers too (DNS rebinding). Both show in what the browser must say: the Host it believes to speak to, the
Origin of the page, and Sec-Fetch-Site. So the Host must be one of ours, and a page is let in only by name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_loopback(host: str) -> bool:
    """Whether a name or address can only mean this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """Refuses what does not name this server as its Host (421), and pages of other origins (403), on every route."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self.app = app
        self._hosts = {host.lower().strip("[]") for host in (*LOOPBACK, *hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and (refusal := self.refusal(scope["headers"])):
            from starlette.responses import JSONResponse
            from starlette.websockets import WebSocketClose

            status, why = refusal
            answer = JSONResponse({"error": {"message": why, "type": "mnemic_refused", "code": status}}, status)
            await (answer if scope["type"] == "http" else WebSocketClose())(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Status and reason, or None for what may pass."""
        found: dict[str, list[str]] = {}
        for key, value in headers:
            found.setdefault(key.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = found.get("host", [])
        name = _name(hosts[0]) if len(hosts) == 1 else None
        if name not in self._hosts:
            return 421, f"the host {', '.join(hosts)[:100]!r} is not this server: use its address, or start it with --allow-host"
        own = {f"http://{hosts[0].lower()}"}
        for origin in found.get("origin", []):
            if origin.lower() not in own | self._origins:
                return 403, f"pages of {origin[:100]!r} may not use this server: start it with --allow-origin"
        if found.get("sec-fetch-site", ["none"])[0] in ("cross-site", "same-site") and "origin" not in found:
            return 403, "pages of other sites may not use this server"
        return None


def _name(host: str) -> str | None:
    """The name in a Host header; None for what is none."""
    if any(char in host for char in "@/\\?# \t,"):
        return None
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname if parts.port is None or parts.port else None
    except ValueError:
        return None
