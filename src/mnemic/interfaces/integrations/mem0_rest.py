"""mem0's REST shape as an ASGI application: that of its `MemoryClient`, and that of its self-hosted server.

`mnemic serve` mounts it at `/mem0`, behind its guards; the token that came in says what it may do. By itself it asks for no
token and looks at no origin: serve it so to programs of one's own only.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from mnemic.errors import BadInput, Conflict, MnemicError, NotFound, QuotaExceeded, Refused
from mnemic.interfaces.integrations.mem0 import Mem0
from mnemic.interfaces.integrations.mem0_filter import ENTITIES
from mnemic.interfaces.tokens import ACCESS, OWNER, Access, Grant
from mnemic.text.clean import storable

if TYPE_CHECKING:
    from mnemic.memory import Memory

Given = dict[str, Any]
Answer = Callable[[Mem0, Given], Any]
MAX_BYTES = 10_000_000
"""A request larger than this is refused."""
PAGE = 100
ALL = 2**31
STATUS: tuple[tuple[type[MnemicError], int], ...] = (
    (NotFound, 404), (Conflict, 409), (BadInput, 400), (Refused, 403), (QuotaExceeded, 507),
)  # fmt: skip


def mem0_app(memory: Memory) -> Callable[..., Awaitable[None]]:
    """The application, to be mounted at any path: over one memory, or over that which the door says."""
    everything = Access(Grant(name=OWNER), lambda: memory)

    async def app(
        scope: Mapping[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            raise ValueError(f"this serves http, not {scope['type']}: mount it where no lifespan is asked of it")
        body = await _body(receive)
        status, data = 413, {"detail": f"the request is larger than {MAX_BYTES:,} bytes"}
        if body is not None:
            status, data = await asyncio.to_thread(_answered, scope.get(ACCESS, everything), scope, body)
        payload = json.dumps(data, ensure_ascii=False).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(payload)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": payload})

    return app


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes | None:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BYTES:
            return None
        more = message.get("more_body", False)
    return b"".join(parts)


def _answered(access: Access, scope: Mapping[str, Any], body: bytes) -> tuple[int, Any]:
    path = scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/")
    match, methods = next(((match, methods) for pattern, methods in ROUTES if (match := re.fullmatch(pattern, path))), (None, {}))
    if match is None:
        return 404, {"detail": "Not Found"}
    answer = methods.get(scope["method"])
    if answer is None:
        return 405, {"detail": f"{scope['method']} is not known here"}
    try:
        access.need("read" if answer in READING else "write")
        given = _given(scope, body)
        named = {name: unquote(value) for name, value in match.groupdict().items()}
        return 200, answer(Mem0(access.memory(), access.grant.voice), {**given, **named})
    except MnemicError as error:
        return next((status for kind, status in STATUS if isinstance(error, kind)), 500), {"detail": str(error)}


def _given(scope: Mapping[str, Any], body: bytes) -> Given:
    asked: Given = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    if not body:
        return asked
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("the body is no JSON") from None
    if not isinstance(given, dict):
        raise BadInput("the body must be a JSON object")
    cleaned: Given = storable(given)
    return {**asked, **cleaned}


def _only(given: Given, *names: str) -> Given:
    return {name: given[name] for name in names if given.get(name) is not None}


def _whole(given: Given, name: str, otherwise: int) -> int:
    try:
        return int(given.get(name, otherwise))
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} {given[name]!r} must be a whole number") from None


def _filters(given: Given) -> Given:
    """The filters of a request, with the entities that older clients give beside them."""
    filters = given.get("filters") or {}
    if not isinstance(filters, dict):
        raise BadInput("filters must be a JSON object")
    return {**filters, **_only(given, *ENTITIES)}


def _add(mem0: Mem0, given: Given) -> Any:
    if "messages" not in given:
        raise BadInput("messages are missing")
    return mem0.add(given["messages"], **_only(given, *ENTITIES, "expiration_date"), metadata=_metadata(given))


def _metadata(given: Given) -> Given | None:
    metadata = given.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise BadInput("metadata must be a JSON object")
    return metadata


def _search(mem0: Mem0, given: Given) -> Any:
    query, threshold = given.get("query"), given.get("threshold", 0.1)
    if not isinstance(query, str) or not query.strip():
        raise BadInput("query must be a text that is not empty")
    if not isinstance(threshold, (int, float)):
        raise BadInput(f"threshold {threshold!r} must be a number")
    most = _whole(given, "top_k", _whole(given, "limit", 20))
    expired = bool(given.get("show_expired"))
    return mem0.search(query, filters=_filters(given), threshold=threshold, top_k=most, show_expired=expired)


def _list(mem0: Mem0, given: Given) -> Any:
    """A page of memories, as the hosted service gives them."""
    page, size = max(1, _whole(given, "page", 1)), max(1, _whole(given, "page_size", PAGE))
    rows = mem0.get_all(filters=_filters(given), top_k=ALL, show_expired=bool(given.get("show_expired")))["results"]
    more = f"?page={page + 1}&page_size={size}" if len(rows) > page * size else None
    return {"count": len(rows), "next": more, "previous": f"?page={page - 1}&page_size={size}" if page > 1 else None,
            "results": rows[(page - 1) * size : page * size]}  # fmt: skip


def _all(mem0: Mem0, given: Given) -> Any:
    return mem0.get_all(filters=_filters(given), top_k=_whole(given, "top_k", 20))


def _get(mem0: Mem0, given: Given) -> Any:
    row = mem0.get(given["id"])
    if row is None:
        raise NotFound(f"Memory with id {given['id']} not found")
    return row


def _update(mem0: Mem0, given: Given) -> Any:
    text = given.get("text", given.get("data"))
    if text is not None and not isinstance(text, str):
        raise BadInput("text must be a text")
    day = {"expiration_date": given["expiration_date"]} if "expiration_date" in given else {}
    mem0.update(given["id"], text=text, metadata=_metadata(given), **day)
    return {**_get(mem0, given), "message": "Memory updated successfully!"}


def _reset(mem0: Mem0, given: Given) -> Any:
    mem0.reset()
    return {"message": "All memories reset"}


def _batch(given: Given) -> list[Given]:
    memories = given.get("memories")
    if not isinstance(memories, list) or not all(
        isinstance(one, dict) and isinstance(one.get("memory_id"), str) for one in memories
    ):
        raise BadInput("memories must be a list of objects with a memory_id")
    return [{**one, "id": one["memory_id"]} for one in memories]


def _update_many(mem0: Mem0, given: Given) -> Any:
    changed = [_update(mem0, one) for one in _batch(given)]
    return {"message": f"Successfully updated {len(changed)} memories"}


def _delete_many(mem0: Mem0, given: Given) -> Any:
    gone = [mem0.delete(one["id"]) for one in _batch(given)]
    return {"message": f"Successfully deleted {len(gone)} memories"}


def _delete_all(mem0: Mem0, given: Given) -> Any:
    return mem0.delete_all(**_only(given, *ENTITIES))


def _history(mem0: Mem0, given: Given) -> Any:
    return mem0.history(given["id"])


def _delete(mem0: Mem0, given: Given) -> Any:
    return mem0.delete(given["id"])


def _ping(mem0: Mem0, given: Given) -> Any:
    return {"status": "ok", "org_id": "mnemic", "project_id": "mnemic", "user_email": None}


_ONE: Mapping[str, Answer] = {"GET": _get, "PUT": _update, "DELETE": _delete}
_HISTORY: Mapping[str, Answer] = {"GET": _history}
READING = frozenset({_ping, _search, _list, _all, _get, _history})
"""What needs the scope read; all else needs write."""
ROUTES: tuple[tuple[str, Mapping[str, Answer]], ...] = (
    # the client of the hosted service
    (r"/v1/ping", {"GET": _ping}),
    (r"/v3/memories/add", {"POST": _add}),
    (r"/v3/memories/search", {"POST": _search}),
    (r"/v3/memories", {"POST": _list}),
    (r"/v1/batch", {"PUT": _update_many, "DELETE": _delete_many}),
    (r"/v1/memories", {"DELETE": _delete_all}),
    (r"/v1/memories/(?P<id>[^/]+)", _ONE),
    (r"/v1/memories/(?P<id>[^/]+)/history", _HISTORY),
    # the self-hosted server
    (r"/memories", {"POST": _add, "GET": _all, "DELETE": _delete_all}),
    (r"/memories/(?P<id>[^/]+)", _ONE),
    (r"/memories/(?P<id>[^/]+)/history", _HISTORY),
    (r"/search", {"POST": _search}),
    (r"/reset", {"POST": _reset}),
)
"""Path → method → what answers it."""
