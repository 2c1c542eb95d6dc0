"""Changing a JSON file that somebody else keeps: only what changes is written, the rest stays as it stands, byte for byte.

Comments and trailing commas, which hosts allow in their configuration, are read over. An edit is told as the data that
shall stand there afterwards; members and items that are the same before and after keep their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_GAP = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_REST = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?[ \t]*(?=\r?\n)")
"""What else stands in a line: a comment on what is before it."""
_TEXT = json.JSONDecoder()
_WORD = re.compile(r"-?[A-Za-z0-9+.]+(?:-[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place in the text, as are the parts of an object or a list."""

    value: Any
    start: int
    end: int
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A member or an item: where it begins (a member with its key), and behind the comma that follows, if one does."""

    key: str | int
    start: int
    node: Node
    comma: int | None


def parsed(text: str) -> Any:
    """The data of a file. Raises ValueError, RecursionError."""
    return _tree(text).value


def rewritten(text: str | None, data: Any) -> str:
    """The text with this data in it. Raises ValueError where comments would not survive."""
    if text is None or not text.strip():
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    tree = _tree(text)
    edits = list[tuple[int, int, str]]()
    _change(text, tree, data, edits.append)
    made = text
    for start, end, new in sorted(edits, reverse=True):  # no two overlap
        made = made[:start] + new + made[end:]
    if _reads(made) == data and (_reads(text, json.loads) is None or _reads(made, json.loads) == data):
        return made
    if "//" in text or "/*" in text:
        raise ValueError("it cannot be changed without harm to its comments")
    return json.dumps(data, ensure_ascii=False, indent=_step(text)) + "\n"


def _reads(text: str, read: Callable[[str], Any] = parsed) -> Any:
    """The data of a text, or nothing where it is none."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None


# reading


def _tree(text: str) -> Node:
    root = _node(text, _skip(text, 0))
    if _skip(text, root.end) != len(text):
        raise ValueError(f"something follows the value, at character {root.end}")
    return root


def _skip(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found else at


def _node(text: str, at: int) -> Node:
    first = text[at : at + 1]
    if first == '"':
        value, end = _TEXT.raw_decode(text, at)
        return Node(value, at, end)
    if first in ("{", "["):
        return _parts(text, at, "}" if first == "{" else "]")
    if not (word := _WORD.match(text, at)):
        raise ValueError(f"no value stands at character {at}")
    return Node(json.loads(word[0]), at, word.end())


def _parts(text: str, start: int, close: str) -> Node:
    parts, at = list[Part](), _skip(text, start + 1)
    while text[at : at + 1] != close:
        if parts and parts[-1].comma is None:
            raise ValueError(f"a comma is missing at character {at}")
        begin, key = at, len(parts)
        if close == "}":
            if text[at : at + 1] != '"':
                raise ValueError(f"no key stands at character {at}")
            key, at = _TEXT.raw_decode(text, at)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise ValueError(f"a colon is missing at character {at}")
            at = _skip(text, at + 1)
        node = _node(text, at)
        at = _skip(text, node.end)
        comma = at + 1 if text[at : at + 1] == "," else None
        parts.append(Part(key, begin, node, comma))
        at = at if comma is None else _skip(text, comma)
    value = {part.key: part.node.value for part in parts} if close == "}" else [part.node.value for part in parts]
    return Node(value, start, at + 1, parts)


# writing

Edit = Callable[[tuple[int, int, str]], None]


def _change(text: str, node: Node, data: Any, edit: Edit) -> None:
    """Tell the edits that make a value another one."""
    if _same(node.value, data):
        return
    kept, new = list[Part](), list[tuple[str, Any]]()
    if isinstance(node.value, dict) and isinstance(data, dict):
        last = {part.key: part for part in node.parts}
        kept = [part for part in node.parts if part.key in data]
        for part in kept:
            if part is last[part.key]:
                _change(text, part.node, data[part.key], edit)
        new = [(f"{json.dumps(key, ensure_ascii=False)}: ", value) for key, value in data.items() if key not in last]
    elif isinstance(node.value, list) and isinstance(data, list):
        kept, new = _items(text, node, data, edit)
    else:
        edit((node.start, node.end, _dumped(data, _margin(text, node.start), _step(text) if "\n" in text.strip() else None)))
        return
    if not kept:  # nothing is left to stand beside
        edit(_whole(text, node, new))
        return
    for part in node.parts:
        if part not in kept:
            edit((len(text[: part.start].rstrip(" \t\r\n")), part.comma or part.node.end, ""))
    tail, ends = kept[-1], node.parts[-1].comma is not None
    if new:
        comma = tail.comma or tail.node.end
        behind = _REST.match(text, comma)
        rest = text[comma : behind.end()] if behind else ""
        before, after = "" if tail.comma else ",", "," if ends else ""
        edit((comma, comma + len(rest), f"{before}{rest}{_added(text, node, new)}{after}"))
    elif tail.comma is not None and not ends:
        edit((tail.comma - 1, tail.comma, ""))


def _items(text: str, node: Node, data: list[Any], edit: Edit) -> tuple[list[Part], list[tuple[str, Any]]]:
    """The items that stay, the one in the place of another rewritten; and those that are added behind them."""
    kept, at = list[Part](), 0
    for part in node.parts:
        if at < len(data) and _same(part.node.value, data[at]):
            kept.append(part)
            at += 1
        elif at < len(data) and len(node.parts) == len(data):
            _change(text, part.node, data[at], edit)
            kept.append(part)
            at += 1
    return kept, [("", value) for value in data[at:]]


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def _step(text: str) -> str:
    """What the file indents by."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _margin(text: str, at: int) -> str:
    """What the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _whole(text: str, node: Node, members: Sequence[tuple[str, Any]]) -> tuple[int, int, str]:
    """The edit of an object or list that holds nothing of what it shall hold."""
    first, last = text[node.start], text[node.end - 1]
    margin, step = _margin(text, node.start), _step(text)
    if "\n" not in text.strip() and text.strip() not in ("{}", "[]"):
        return node.start, node.end, first + ", ".join(f"{key}{_dumped(value)}" for key, value in members) + last
    inner = ",".join(f"\n{margin}{step}{key}{_dumped(value, margin + step, step)}" for key, value in members)
    if not node.parts and text[node.start + 1 : node.end - 1].strip():  # a comment alone
        return node.end - 1, node.end - 1, f"{inner}\n{margin}"
    return node.start, node.end, f"{first}{inner}\n{margin}{last}" if members else first + last


def _added(text: str, node: Node, members: Sequence[tuple[str, Any]]) -> str:
    """What stands behind the last part that stays."""
    first = node.parts[0].start
    if "\n" not in text[node.start : first]:
        return ",".join(f" {key}{_dumped(value)}" for key, value in members)
    margin = _margin(text, first)
    return ",".join(f"\n{margin}{key}{_dumped(value, margin, _step(text))}" for key, value in members)


def _dumped(value: Any, margin: str = "", step: str | None = None) -> str:
    """A value in a line, or with a step in several, of which all but the first begin with the margin."""
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{margin}")
