"""What all generated pages share: how a table, a default and the shape of a value are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Row = Sequence[str]
Schema = Mapping[str, Any]


def made_from(source: str) -> str:
    """The line that keeps a reader from editing the page."""
    return f"<!-- Made from {source} by `make reference`; not to be edited by hand. -->\n"


def table(head: Row, rows: Iterable[Row]) -> str:
    """A table; cells are one line each."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    """As code."""
    return f"`{text}`"


def prose(text: str) -> str:
    """Plain text as Markdown: what stands in angle brackets is no tag."""
    return text.replace("<", "&lt;")


def without_sources(text: str) -> str:
    """The text without its references to the designs (`000 §4`), which readers of the site do not have."""
    return re.sub(r" \((?:design )?\d{3} §[^)]*\)", "", text)


def shape(schema: Schema) -> str:
    """The kind of a value, in words."""
    if "enum" in schema:
        return " or ".join(code(one) for one in schema["enum"] if one is not None)
    kinds = schema.get("type", "any value")
    names = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    words = [_many(schema) if name == "array" else "text" if name == "string" else str(name) for name in names]
    return " or ".join(words) + _bounds(schema)


def _many(schema: Schema) -> str:
    items = schema.get("items", {})
    kind = items.get("type", "value")
    return f"list of {'texts' if kind == 'string' else f'{kind}s' if isinstance(kind, str) else 'values'}"


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    least, most = (None if isinstance(one, int) and abs(one) > 2**50 else one for one in (least, most))
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", from {least}"
    if most is not None:
        return f", up to {most}"
    return f", up to {schema['maxLength']:,} characters" if "maxLength" in schema else ""


def members(schema: Schema, before: str = "") -> Iterator[tuple[str, Schema, bool]]:
    """Name, schema and whether it is required, of an object's members and theirs: `scope`, `scope.since`."""
    needed = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield before + name, one, name in needed
        inner = one.get("items", one) if one.get("type") == "array" else one
        yield from members(inner, f"{before}{name}." if inner is one else f"{before}{name}[].")


def arguments(rows: Iterable[tuple[str, Schema, bool]]) -> str:
    """The table of arguments; empty where there are none."""
    lines = [
        [f"**{code(name)}**" if required else code(name), shape(schema), prose(schema.get("description", ""))]
        for name, schema, required in rows
    ]
    return "\n" + table(["argument", "kind", "meaning"], lines) if lines else ""
