"""The filters of mem0: fields with bare values or operators, joined by AND, OR and NOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mnemic.errors import BadInput

ENTITIES = ("user_id", "agent_id", "run_id", "app_id")


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """What cannot be compared does not fit."""

    def fit(value: Any, wanted: Any) -> bool:
        try:
            return bool(compare(value, wanted))
        except TypeError:
            return False

    return fit


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, wanted: bool(value == wanted),
    "ne": lambda value, wanted: bool(value != wanted),
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "gt": _ordered(lambda value, wanted: value > wanted),
    "gte": _ordered(lambda value, wanted: value >= wanted),
    "lt": _ordered(lambda value, wanted: value < wanted),
    "lte": _ordered(lambda value, wanted: value <= wanted),
    "contains": _ordered(lambda value, wanted: wanted in value),
    "icontains": lambda value, wanted: str(wanted).casefold() in str(value).casefold(),
}


def fits(fields: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether fields are what a filter wants. Raises BadInput for a filter of another shape."""
    return all(_fits(fields, name, value) for name, value in wanted.items())


def _fits(fields: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name in ("AND", "OR", "NOT"):
        parts = [wanted] if isinstance(wanted, Mapping) else wanted
        if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
            raise BadInput(f"{name} takes a list of filters")
        found = [fits(fields, part) for part in parts]
        return all(found) if name == "AND" else any(found) if name == "OR" else not any(found)
    value = fields.get(name)
    if wanted == "*":
        return value is not None
    if isinstance(wanted, Mapping):
        if unknown := sorted(wanted.keys() - OPERATORS.keys()):
            raise BadInput(f"the operator {unknown[0]!r} is unknown: use {', '.join(OPERATORS)}")
        if named := [name for name in ("in", "nin") if not isinstance(wanted.get(name, []), list)]:
            raise BadInput(f"{named[0]} takes a list of values")
        return all(OPERATORS[operator](value, limit) for operator, limit in wanted.items())
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def names_entity(wanted: Any) -> bool:
    """Whether a filter says anywhere whose memories are meant."""
    if isinstance(wanted, list):
        return any(map(names_entity, wanted))
    return isinstance(wanted, Mapping) and any(
        name in ENTITIES or (name in ("AND", "OR") and names_entity(part)) for name, part in wanted.items()
    )
