"""docs/reference/rest.md, from the OpenAPI document that the server answers with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.interfaces.rest.openapi import ROOT, document
from reference.text import Schema, arguments, code, made_from, members, prose, table

HEAD = """# REST

Every operation of `/openapi.json` (OpenAPI 3.1), below `/api/v1`. Who may call, times, pages, edits and errors:
[serving](../serve.md#rest). Required arguments are **bold**; *scope* is what a token of `mnemic token add` needs. Any may also
answer with a problem document ({codes}); what these mean: [errors](errors.md#rest).

{common}

"""
Operation = tuple[str, str, Mapping[str, Any]]


def page() -> str:
    """The whole page."""
    made = document()
    operations = [(method.upper(), path, one) for path, each in made["paths"].items() for method, one in each.items()]
    groups: dict[str, list[Operation]] = {}
    for one in operations:
        groups.setdefault(one[2]["tags"][0], []).append(one)
    verbs = [one for group in groups.values() if len(group) == 1 for one in group]
    codes = sorted({code for _, _, one in operations for code in one["responses"] if code >= "400"})
    shared = made["components"].get("parameters", {}).values()
    common = "\n".join(f"- {code(one['name'])}, a {one['in']} of every operation: {prose(one['description'])}" for one in shared)
    parts = [made_from("/openapi.json"), HEAD.format(codes=", ".join(codes), common=common), _section("Verbs", verbs)]
    parts += [_section(tag.capitalize(), group) for tag, group in sorted(groups.items()) if len(group) > 1]
    return "".join(parts)


def _section(title: str, group: list[Operation]) -> str:
    rows = [[_linked(method, path, one), prose(one["summary"]), _scope(one)] for method, path, one in group]
    entries = "".join(_entry(method, path, one) for method, path, one in group)
    return f"## {title}\n\n{table(['operation', 'what for', 'scope'], rows)}\n{entries}"


def _scope(one: Mapping[str, Any]) -> str:
    return ", ".join(scope for each in one.get("security", ()) for scopes in each.values() for scope in scopes)


def _linked(method: str, path: str, one: Mapping[str, Any]) -> str:
    name = code(f"{method} {_short(path)}")
    return f"[{name}](#{one['operationId']})" if _entry(method, path, one) else name


def _short(path: str) -> str:
    return path.removeprefix(ROOT)


def _entry(method: str, path: str, one: Mapping[str, Any]) -> str:
    """The arguments of an operation; nothing where it takes none but those of every operation."""
    rows: list[tuple[str, Schema, bool]] = []
    for each in one.get("parameters", ()):
        if "$ref" not in each:
            rows.append((each["name"], {**each["schema"], **_described(each)}, each.get("required", False)))
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    rows += list(members(body))
    if not rows:
        return ""
    return f"### {code(f'{method} {_short(path)}')} {{ #{one['operationId']} }}\n{arguments(rows)}\n"


def _described(parameter: Mapping[str, Any]) -> dict[str, str]:
    where = {"path": "In the path.", "header": "A header."}.get(parameter["in"], "")
    return {"description": " ".join(part for part in (where, parameter.get("description", "")) if part)}
