"""OpenAPI 3.1 of the table of routes."""

from __future__ import annotations

from typing import Any

from mnemic import __version__
from mnemic.interfaces.rest.problems import ANSWERS, TYPE
from mnemic.interfaces.rest.routes import ROUTES, Route
from mnemic.interfaces.rest.shapes import Schema, schema

ROOT = "/api/v1"
IMPORTS = "/import/"
"""What stands below takes a file as its body."""
LIMIT = 50
MOST = 1_000
EVERYWHERE = (400, 401, 403, 404, 405, 409, 413, 415, 421, 422, 429, 501, 502, 503, 507)
"""What any operation may answer besides."""
TOKEN = "The text of the token file, or a token of `mnemic token add`; the scopes that it needs stand at each operation."
NAMESPACE = {"$ref": "#/components/parameters/Namespace"}
POSITION = {"mnemic-position": {
    "schema": {"type": "string"},
    "description": "Of a home in a database: how far the namespace has been written and read. In the header of the same name of"
                   " another request about it, it keeps an older state from answering.",
}}  # fmt: skip


def document() -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(ROOT + route.path, {})[route.method.lower()] = _operation(route)
    for path, about in (("/healthz", "Whether the process lives."), ("/readyz", "Whether the home can be read.")):
        paths[path] = {"get": {"operationId": path[1:], "summary": about, "security": [], "tags": ["service"], "responses": {
            "200": _answer("Yes.", {"type": "object"}), **_problems((403, 405, 421, 503)),
        }}}  # fmt: skip
    paths["/metrics"] = {"get": {
        "operationId": "metrics", "summary": "Counts and times of requests, for Prometheus.", "tags": ["service"],
        "security": [{"token": ["admin"]}], "responses": {
            "200": {"description": "Counts.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **_problems((400, 401, 403, 405, 421)),
        }}}  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "mnemic", "version": __version__, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
                 "description": "Persistent memory for AI agents: every method of `Memory`, one operation each."},
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": TOKEN}},
            "parameters": {"Namespace": {
                "name": "mnemic-namespace", "in": "header", "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                "description": "The namespace that is meant, percent-encoded; else the service's, or the token's only one."}},
            "schemas": {
                "Problem": {"type": "object", "required": ["type", "title", "status", "detail"], "properties": {
                    "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
                    "detail": {"type": "string"}, "kind": {"type": "string"}}},
                "Page": {"type": "object", "required": ["items", "next"], "properties": {
                    "items": {"type": "array", "items": {"type": "object"}},
                    "next": {"type": ["string", "null"], "description": "The cursor of the next page."}}},
            },
        },
    }  # fmt: skip


def _operation(route: Route) -> dict[str, Any]:
    given = route.arguments
    held = route.in_path
    made: dict[str, Any] = {"operationId": route.name, "summary": route.about, "tags": [route.path.split("/")[1]],
                            "security": [{"token": [*route.needs]}]}  # fmt: skip
    parameters: list[dict[str, Any]] = [NAMESPACE]
    parameters += [
        {"name": name, "in": "path", "required": True, "schema": _in_path(schema(given[name].hint, name))} for name in held
    ]
    rest = {name: one for name, one in given.items() if name not in held}
    if route.queried:
        parameters += [
            {"name": name, "in": "query", "required": one.required, "schema": _plain(schema(one.hint, name))}
            for name, one in rest.items()
        ]  # fmt: skip
    if route.upload:
        file = {"schema": {"type": "string", "contentEncoding": "binary"}}
        made["requestBody"] = {"required": True, "content": {"application/octet-stream": file}}
    elif not route.queried:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": body(route)}}}
    if route.page:
        parameters += [
            {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": LIMIT}},
            {"name": "cursor", "in": "query", "schema": {"type": "string"}, "description": "`next` of the page before."},
        ]
    if route.guards:
        parameters.append({"name": "If-Match", "in": "header", "schema": {"type": "string"},
                           "description": "The ETag that was read: 412 where the thing has changed since."})  # fmt: skip
    made["parameters"] = parameters
    shape: Schema = {"$ref": "#/components/schemas/Page"} if route.page else {}
    done = {**_answer("Done.", shape), "headers": POSITION}
    if route.file:
        done["content"] = {kind: {"schema": {"type": "string"}} for kind in ("application/zip", "application/jsonl")}
    if route.long:
        done["content"]["text/event-stream"] = {"schema": {"type": "string"}}
        done["description"] = "Done; with Accept: text/event-stream, events `progress` and at the end `result` or `problem`."
    codes = (*EVERYWHERE, *((412,) if route.guards else ()))
    made["responses"] = {"200": done, **({"304": {"description": "It is as If-None-Match says."}} if route.steady else {}),
                         **_problems(codes)}  # fmt: skip
    return made


def body(route: Route) -> Schema:
    """The schema of a body."""
    if route.whole:
        return {"type": "object"}
    given = {name: one for name, one in route.arguments.items() if name not in route.in_path}
    needed = [name for name, one in given.items() if one.required]
    open_ended = any(one.rest for one in given.values())
    shapes = {name: schema(one.hint, name) for name, one in given.items() if not one.rest} | route.inner
    return {"type": "object", "properties": shapes, **({"required": needed} if needed else {}),
            **({} if open_ended else {"additionalProperties": False})}  # fmt: skip


def _plain(made: Schema) -> Schema:
    """A query has texts: no null."""
    kind = made.get("type")
    if isinstance(kind, list):
        left = [one for one in kind if one != "null"]
        return {**made, "type": left[0] if len(left) == 1 else left}
    return made


def _in_path(made: Schema) -> Schema:
    made = _plain(made)
    return {**made, "minLength": 1} if made.get("type") == "string" else made


def _answer(about: str, shape: Schema) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": shape}}}


def _problems(codes: tuple[int, ...]) -> dict[str, Any]:
    shape = {"$ref": "#/components/schemas/Problem"}
    return {str(code): {"description": ANSWERS[code], "content": {TYPE: {"schema": shape}}} for code in sorted(codes)}
