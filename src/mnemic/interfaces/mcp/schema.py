"""The arguments of a tool: how they are described to a client, and how a call is checked against that.

Of JSON Schema only what the tools need, so that a wrong call is answered in a sentence that says what to give instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.errors import BadInput
from mnemic.text.clean import encodable

Schema = dict[str, Any]
KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
}  # fmt: skip


def text(about: str, *, most: int | None = None, choices: tuple[str, ...] = ()) -> Schema:
    """A string; `most` is in characters."""
    return {"type": "string", "description": about, **({"maxLength": most} if most else {}),
            **({"enum": list(choices)} if choices else {})}  # fmt: skip


def number(about: str, *, least: int | None = None, most: int | None = None) -> Schema:
    """A whole number."""
    return {"type": "integer", "description": about, **_bounds(least, most)}


def share(about: str) -> Schema:
    """A number from 0 to 1."""
    return {"type": "number", "description": about, **_bounds(0, 1)}


def flag(about: str) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": about}


def texts(about: str) -> Schema:
    """A list of strings."""
    return {"type": "array", "items": {"type": "string"}, "description": about}


def numbers(about: str) -> Schema:
    """A list of whole numbers."""
    return {"type": "array", "items": {"type": "integer"}, "description": about}


def listing(about: str, item: Schema) -> Schema:
    """A list of objects."""
    return {"type": "array", "items": item, "description": about}


def record(about: str = "", *, required: tuple[str, ...] = (), extra: bool = False, **fields: Schema) -> Schema:
    """An object; with `extra`, also with fields that are not named."""
    made: Schema = {"type": "object", "properties": fields}
    if about:
        made["description"] = about
    if required:
        made["required"] = list(required)
    if not extra:
        made["additionalProperties"] = False
    return made


def checked(schema: Schema, arguments: Mapping[str, Any] | None, tool: str) -> dict[str, Any]:
    """The arguments without those that are null, one text where a list of them is meant as such a list.

    Raises BadInput that names the argument and what it may be.
    """
    given = {name: _encodable(value) for name, value in (arguments or {}).items() if value is not None}
    for name, field in schema["properties"].items():
        if isinstance(given.get(name), str) and field["type"] == "array" and field["items"]["type"] == "string":
            given[name] = [given[name]]
    _check(schema, given, tool)
    return given


def _encodable(value: Any) -> Any:
    """The value with every text in it as one that can be stored."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return {key: _encodable(item) for key, item in value.items()} if isinstance(value, dict) else value


def _bounds(least: int | None, most: int | None) -> Schema:
    return {**({} if least is None else {"minimum": least}), **({} if most is None else {"maximum": most})}


def _check(schema: Schema, value: Any, where: str) -> None:
    kind: str = schema["type"]
    fits: bool = isinstance(value, KINDS[kind])
    if not fits or (isinstance(value, bool) and kind != "boolean"):
        raise BadInput(f"{where}: {_short(value)} is not {_called(kind)}: {schema.get('description') or 'give one'}")
    if "enum" in schema and value not in schema["enum"]:
        raise BadInput(f"{where}: {_short(value)} is unknown: use {', '.join(schema['enum'])}")
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        raise BadInput(f"{where}: {len(value):,} characters are too many: at most {schema['maxLength']:,}")
    if kind in ("integer", "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        bounds = [f"at {word} {schema[name]}" for word, name in (("least", "minimum"), ("most", "maximum")) if name in schema]
        raise BadInput(f"{where}: {value!r} is out of range: {', '.join(bounds)}")
    if kind == "array":
        for place, item in enumerate(value):
            _check(schema["items"], item, f"{where}[{place}]")
    if kind == "object":
        _check_fields(schema, value, where)


def _check_fields(schema: Schema, value: Mapping[str, Any], where: str) -> None:
    fields = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            one = fields[name]
            told = f"use {', '.join(one['enum'])}" if "enum" in one else one.get("description") or "give it"
            raise BadInput(f"{where}: {name!r} is missing: {told}")
    for name, item in value.items():
        if name in fields:
            _check(fields[name], item, f"{where}.{name}")
        elif schema.get("additionalProperties", True) is False:
            raise BadInput(f"{where}: {name!r} is unknown: use {', '.join(fields) or 'no arguments'}")


def _called(kind: str) -> str:
    return {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
            "array": "a list", "object": "an object"}[kind]  # fmt: skip


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"
