"""Errors as problem documents (RFC 9457): what happened, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from mnemic.errors import (
    BadInput,
    Conflict,
    Damaged,
    DiskFull,
    Interrupted,
    MissingExtra,
    MnemicError,
    ModelError,
    NewerSchema,
    NotFound,
    QuotaExceeded,
    RateLimited,
    Refused,
    StoreError,
)

TYPE = "application/problem+json"
STATUS: Mapping[type[MnemicError], int] = {
    BadInput: 400, NotFound: 404, Conflict: 409, Interrupted: 503, Refused: 422, RateLimited: 429, QuotaExceeded: 507,
    DiskFull: 507, NewerSchema: 503, Damaged: 503, StoreError: 503, MissingExtra: 501, ModelError: 502,
}  # fmt: skip
"""The nearest of an error's kinds counts."""
ANSWERS: Mapping[int, str] = {
    400: "The request cannot be used; the detail says what to give instead.",
    401: "The token is missing or wrong.",
    403: "The token is not good for this, or a page of another origin asked.",
    404: "Nothing stands there.",
    405: "The path knows other methods: see Allow.",
    409: "The state is not what the change was based on.",
    412: "If-Match names another state: read it again.",
    413: "The body is too large.",
    415: "The body is no application/json.",
    421: "The Host is not this server.",
    422: "A rule of memory forbids it.",
    429: "Too much was asked in too short a time; nothing was done: see Retry-After.",
    501: "It needs a package that is not installed.",
    502: "A model did not answer usably.",
    503: "The home cannot be read or written.",
    507: "The disk is full, or the namespace holds all that it may; nothing was stored.",
}


def problem(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """The document; `more` are members of this kind of problem."""
    title = ANSWERS.get(status) or HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}


def of_error(error: MnemicError) -> dict[str, Any]:
    """The document of what mnemic raised."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 422)
    return problem(status, str(error), kind=type(error).__name__)


def written(data: Any) -> bytes:
    """Data as JSON in UTF-8; what JSON does not know is written as the nearest that it does."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=_odd).encode("utf-8", "replace")


def _odd(data: Any) -> Any:
    return sorted(data) if isinstance(data, (set, frozenset)) else list(data) if isinstance(data, tuple) else str(data)
