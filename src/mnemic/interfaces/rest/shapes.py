"""What an argument of a method looks like in JSON: one reading of its annotation gives the schema and checks the value.

Only what the methods of `Memory` take is known here. Whatever a client sends becomes the argument or a BadInput that says
what to give instead.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mnemic.clock import to_ms
from mnemic.errors import BadInput
from mnemic.text.when import parse_moment

Schema = dict[str, Any]
Now = Callable[[], datetime]
MOST = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8259, 6)."""
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last instant that has a date."""
INSTANTS = frozenset({"at", "since", "until", "as_of", "valid_from", "valid_to", "valid_at", "check_by", "created_at"})
"""Arguments in milliseconds, which a client may also name as text."""
NEVER_GIVEN = frozenset({"human-file"})
"""An origin that only a file of the vault has."""
_TEXTS: Mapping[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_JSON: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a method."""

    name: str
    hint: Any
    required: bool
    rest: bool = False
    """Whether it stands for all names that the method does not spell out."""


def arguments(method: Callable[..., Any], without: Iterable[str] = ()) -> dict[str, Argument]:
    """The arguments that a client may give: not functions, what is only passed on, and what is left out."""
    left, found = {"self", "memory", "progress", "options", *without}, dict[str, Argument]()
    for name, parameter in inspect.signature(method).parameters.items():
        if name in left:
            continue
        # Not get_type_hints: what a method gives back may be known to the type checker alone.
        hint = parameter.annotation
        hint = eval(hint, method.__globals__) if isinstance(hint, str) else hint
        rest = parameter.kind is parameter.VAR_KEYWORD
        found[name] = Argument(name, hint, parameter.default is parameter.empty and not rest, rest)
    return found


def schema(hint: Any, name: str = "") -> Schema:
    """The JSON Schema of an annotation."""
    kinds, optional = _without_none(hint)
    if len(kinds) > 1:
        return {"anyOf": [schema(kind) for kind in kinds]}
    made = _instant() if _is_instant(kinds[0], name) else _schema(kinds[0])
    if optional and isinstance(made.get("type"), str):
        return {**made, "type": [made["type"], "null"]} if "enum" not in made else {"anyOf": [made, {"type": "null"}]}
    return made


def _schema(kind: Any) -> Schema:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _JSON:
        bounds = {"minimum": -MOST, "maximum": MOST} if kind is int else {}
        return {"type": _JSON[kind], **bounds}
    if origin is Literal:
        return {"type": "string", "enum": [choice for choice in inner if choice not in NEVER_GIVEN]}
    if _is_list(origin):
        return {"type": "array", "items": schema(inner[0])}
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
        return {"type": "object", "additionalProperties": False, **({"required": needed} if needed else {}),
                "properties": {one.name: schema(hints[one.name], one.name) for one in fields(kind)}}  # fmt: skip
    if origin in (Mapping, dict) or kind is dict:
        return {"type": "object"}
    return {}


def value(hint: Any, given: Any, where: str, now: Now) -> Any:
    """The argument that a client's value stands for. Raises BadInput."""
    kinds, optional = _without_none(hint)
    if given is None and optional:
        return None
    if len(kinds) > 1:
        for kind in kinds[:-1]:
            try:
                return value(kind, given, where, now)
            except BadInput:
                continue
    kind = kinds[-1]
    return _moment(kind, given, where, now) if _is_instant(kind, where.rpartition(".")[2]) else _value(kind, given, where, now)


def _value(kind: Any, given: Any, where: str, now: Now) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _JSON:
        return _plain(kind, given, where)
    if origin is Literal:
        choices = [choice for choice in inner if choice not in NEVER_GIVEN]
        if given not in choices:
            raise BadInput(f"{where}: {_short(given)} is unknown: use {', '.join(choices)}")
        return given
    if _is_list(origin):
        if not isinstance(given, list):
            raise BadInput(f"{where}: {_short(given)} is not a list: give one")
        items = [value(inner[0], item, f"{where}[{place}]", now) for place, item in enumerate(given)]
        return origin(items) if origin in (tuple, frozenset) else items
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, given, where, now)
    if (origin in (Mapping, dict) or kind is dict) and not isinstance(given, dict):
        raise BadInput(f"{where}: {_short(given)} is not an object: give one")
    return given


def _plain(kind: type, given: Any, where: str) -> Any:
    fits = isinstance(given, (int, float)) if kind is float else isinstance(given, kind)
    if kind is int and isinstance(given, float) and given.is_integer():  # to JSON, 1.0 is a whole number
        given, fits = int(given), True
    if not fits or (kind is not bool and isinstance(given, bool)):
        raise BadInput(f"{where}: {_short(given)} is not {_TEXTS[kind]}: give one")
    if kind is int and abs(given) > MOST:
        raise BadInput(f"{where}: {_short(given)} is out of range: at most {MOST}")
    return given


def _object(kind: type, given: Any, where: str, now: Now) -> Any:
    if not isinstance(given, dict):
        raise BadInput(f"{where}: {_short(given)} is not an object: give one")
    hints = get_type_hints(kind)
    known = fields(kind)
    if unknown := sorted(given.keys() - {one.name for one in known}):
        raise BadInput(f"{where}: {_short(unknown[0])} is unknown: use {', '.join(one.name for one in known)}")
    for one in known:
        if one.name not in given and one.default is MISSING and one.default_factory is MISSING:
            raise BadInput(f"{where}: {one.name!r} is missing: give it")
    return kind(**{name: value(hints[name], item, f"{where}.{name}", now) for name, item in given.items()})


def _moment(kind: Any, given: Any, where: str, now: Now) -> Any:
    if isinstance(given, str):
        moment = parse_moment(given, now())
        return to_ms(moment) if kind is int else moment
    if kind is int:
        number = _plain(int, given, where)
        if not FIRST_MS <= number <= LAST_MS:
            raise BadInput(f"{where}: {number} ms lies outside the years 1 to 9999: give milliseconds since 1970")
        return number
    raise BadInput(f"{where}: {_short(given)} is no time: give one such as 2026-11-30 or 2026-11-30T12:00:00Z")


def from_text(hint: Any, texts: Sequence[str]) -> Any:
    """What the texts of a query or a path mean before they are checked."""
    kinds, _ = _without_none(hint)
    if _is_list(get_origin(kinds[0])):
        return [_from_text(get_args(kinds[0])[0], text) for text in texts]
    return _from_text(kinds[0], texts[-1])


def _from_text(kind: Any, text: str) -> Any:
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    if kind in (int, float):
        try:
            return int(text) if kind is int and len(text) < 20 else float(text)
        except ValueError:
            return text
    return text


def _is_instant(kind: Any, name: str) -> bool:
    return kind is datetime or (kind is int and name in INSTANTS)


def _instant() -> Schema:
    return {"type": ["string", "integer", "null"], "description": "ISO 8601, words such as 'yesterday', or milliseconds."}


def _without_none(hint: Any) -> tuple[list[Any], bool]:
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        return kinds, len(kinds) < len(get_args(hint))
    return [hint], False


def _is_list(origin: Any) -> bool:
    return origin in (list, tuple, frozenset) or (isinstance(origin, type) and issubclass(origin, Iterable) and origin
                                                   not in (Mapping, dict))  # fmt: skip


def _short(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 80 else shown[:79] + "…"
