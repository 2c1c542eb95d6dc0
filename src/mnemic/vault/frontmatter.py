"""The YAML block at the head of a note: read strictly, and edited by whole lines.

People's comments, order, quoting, line ends and odd keys are theirs. An edit replaces the lines of the keys that it
changes and nothing else, then reads the result again: if anything but these keys came out different, it is refused.

YAML is a large language, and some of it is a weapon: aliases that unfold to gigabytes, tags that name types, nesting
that breaks a reader's stack. None of that belongs in a note's head, so a block with any of it is not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from mnemic.errors import BadInput

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
BOM = b"\xef\xbb\xbf"
_FENCE = re.compile(rb"---[ \t]*(\r\n|\n|\r)")
_END = re.compile(rb"(?:\A|(?<=\n)|(?<=\r))(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_LINE = re.compile("[^\\r\\n\\x85\\u2028\\u2029]*(?:\\r\\n|[\\r\\n\\x85\\u2028\\u2029])|[^\\r\\n\\x85\\u2028\\u2029]+\\Z")
_PLAIN = re.compile(r"([A-Za-z_][\w-]*):(?: +([^\s\W](?:[\w .,/()'+-]*[\w.)])?))? *\Z")
_WORDS = re.compile(r"([A-Za-z_][\w-]*): +\[ *((?:[^\s\W][\w /-]*)?(?:, *[^\s\W][\w /-]*)*) *\] *\Z")
_TYPED = re.compile(r"(?:[\d.+-].*|true|false|null|nan|inf)\Z", re.IGNORECASE)
"""What YAML may read as something else than a text."""
_DATE = re.compile(r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,14})?")


@dataclass(frozen=True, slots=True)
class Parts:
    """A note's bytes, cut in three: `head + block + rest` is the note."""

    head: bytes
    """BOM and opening fence; empty without a block."""
    block: bytes
    rest: bytes
    """Closing fence and body."""
    newline: bytes

    @property
    def body(self) -> bytes:
        """What follows the closing fence."""
        if not self.head:
            return self.rest.removeprefix(BOM)
        fence = _END.match(self.rest)
        return self.rest[fence.end() :] if fence else self.rest


def split(data: bytes) -> Parts:
    """Cut a note. Raises BadInput for a block that is over the limit."""
    start = len(BOM) if data.startswith(BOM) else 0
    newline = b"\r\n" if b"\r\n" in data[:4096] else b"\n"
    opened = _FENCE.match(data, start)
    if opened is None:
        return Parts(b"", b"", data, newline)
    closed = _END.search(data[opened.end() : opened.end() + MAX_BYTES + 8])
    if closed is None:
        if _END.search(data[opened.end() :]):
            raise BadInput(f"its frontmatter is over {MAX_BYTES // 1024} KB")
        return Parts(b"", b"", data, newline)
    end = opened.end() + closed.start()
    return Parts(data[: opened.end()], data[opened.end() : end], data[end:], opened[1])


def read(data: bytes) -> dict[str, Any]:
    """The keys of a note's block, as JSON values; dates as ISO texts. Raises BadInput for a block that is no good."""
    parts = split(data)
    if not parts.block.strip():
        return {}
    return _simple(parts.block) or _plain(_parsed(parts.block))


def edit(data: bytes, values: Mapping[str, Any]) -> bytes:
    """A note with some keys set, or taken out where the value is None. Everything else keeps its bytes.

    Raises BadInput where the block cannot be read or is not written one key a line.
    """
    parts = split(data)
    before = _plain(_parsed(parts.block))
    changed = {key: value for key, value in values.items() if key not in before or before[key] != _plain(value)}
    changed = {key: value for key, value in changed.items() if value is not None or key in before}
    if not changed:
        return data
    if not parts.head:
        bom, text = (BOM, data[len(BOM) :]) if data.startswith(BOM) else (b"", data)
        fence = b"---" + parts.newline
        return bom + fence + _dumped(changed, parts.newline) + fence + text
    block = _replaced(parts, changed)
    after = _plain(_parsed(block))
    gone = {key for key, value in changed.items() if value is None}
    wanted = {key: _plain(value) for key, value in {**before, **changed}.items() if key not in gone}
    if after != wanted:
        raise BadInput("its frontmatter cannot be edited line by line: write one key a line")
    return parts.head + block + parts.rest


def render(values: Mapping[str, Any], body: str) -> bytes:
    """A new note."""
    return b"---\n" + _dumped(values, b"\n") + b"---\n" + body.encode("utf-8", "replace")


def _replaced(parts: Parts, changed: Mapping[str, Any]) -> bytes:
    lines = [line.encode() for line in _LINE.findall(_text(parts.block))]
    starts = _key_lines(parts.block)
    order = sorted(starts.values())
    spans: dict[str, tuple[int, int]] = {}
    for key, start in starts.items():
        end = next((line for line in order if line > start), len(lines))
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith(b"#")):
            end -= 1  # comments and blank lines before the next key are the next key's
        spans[key] = (start, end)
    for key, (start, end) in sorted(spans.items(), key=lambda item: -item[1][0]):
        if key in changed:
            value = changed[key]
            fresh_line = b"" if value is None else _dumped({key: value}, parts.newline)
            if end == start + 1 and value is not None:
                fresh_line = _commented(fresh_line, lines[start], parts.newline)
            lines[start:end] = [fresh_line]
    block = b"".join(lines)
    fresh = {key: value for key, value in changed.items() if key not in starts and value is not None}
    if fresh and block and not block.endswith((b"\n", b"\r")):
        block += parts.newline
    return block + (_dumped(fresh, parts.newline) if fresh else b"")


def _commented(fresh: bytes, old: bytes, newline: bytes) -> bytes:
    """A new line with the comment that stood behind the old one."""
    comments = _parsed(old).ca.items
    token = next((item[2] for item in comments.values() if len(item) > 2 and item[2] is not None), None)
    comment = token.value.splitlines()[0].encode() if token is not None and token.value.strip() else b""
    if not comment.startswith(b"#"):
        return fresh
    start = old.rindex(comment)
    gap = old[len(old[:start].rstrip(b" \t")) : start]
    return fresh.removesuffix(newline) + gap + comment + newline


def _dumped(values: Mapping[str, Any], newline: bytes) -> bytes:
    from io import StringIO

    yaml = _yaml()
    yaml.default_flow_style = False
    yaml.width = 1_000_000
    yaml.allow_unicode = True
    out = StringIO()
    for key, value in values.items():
        yaml.dump({key: _inline(value)}, out)
    text: str = out.getvalue()
    return text.replace("\n", newline.decode()).encode()


def _inline(value: Any) -> Any:
    """A list as `[a, b]`, on one line; what is not a plain word there is quoted: `[?0]` would be read as a mapping."""
    if not isinstance(value, list | tuple):
        return value
    from ruamel.yaml.comments import CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    items = CommentedSeq(
        DoubleQuotedScalarString(item) if isinstance(item, str) and item.startswith("?") else _inline(item) for item in value
    )
    items.fa.set_flow_style()
    return items


def _yaml() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    return yaml


def _text(block: bytes) -> str:
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("its frontmatter is not UTF-8 text") from None


def _parsed(block: bytes) -> Any:
    """The block as ruamel reads it, after its events have been looked through."""
    from ruamel.yaml.error import YAMLError

    if len(block) > MAX_BYTES:
        raise BadInput(f"its frontmatter is over {MAX_BYTES // 1024} KB")
    text = _text(block)
    try:
        _harmless(_yaml().parse(text))
        found = _yaml().load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BadInput(f"its frontmatter is not YAML that can be used ({problem})") from None
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise BadInput("its frontmatter is no table of keys and values")
    return found


def _harmless(events: Iterable[Any]) -> None:
    from ruamel.yaml import events as kinds

    depth = 0
    for event in events:
        if isinstance(event, kinds.AliasEvent) or getattr(event, "anchor", None):
            raise BadInput("its frontmatter has anchors or aliases, which are not read")
        tag = getattr(event, "tag", None)
        if tag is not None and not isinstance(event, kinds.DocumentStartEvent):
            raise BadInput("its frontmatter has a tag (!), which is not read")
        if isinstance(event, kinds.DocumentStartEvent) and (event.explicit or event.tags or event.version):
            raise BadInput("its frontmatter has a directive or a second document")
        depth += isinstance(event, kinds.CollectionStartEvent) - isinstance(event, kinds.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise BadInput(f"its frontmatter is nested deeper than {MAX_DEPTH}")


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if value == value and abs(value) != float("inf") else str(value)
    return str(value)


def _key_lines(block: bytes) -> dict[str, int]:
    """On which line each key of the block begins."""
    found = _parsed(block)
    if not found:
        return {}
    if found.fa.flow_style():
        raise BadInput("its frontmatter is written in braces: write one key a line")
    lines = {str(key): int(found.lc.key(key)[0]) for key in found}
    if len(set(lines.values())) < len(lines):
        raise BadInput("its frontmatter has two keys on a line: write one key a line")
    return lines


def _simple(block: bytes) -> dict[str, Any] | None:
    """What YAML makes of a block of plain words, forty times as fast; None for anything that is not that simple."""
    found: dict[str, Any] = {}
    for line in _text(block).splitlines():
        if not line or line.startswith("#"):
            continue
        plain, words = _PLAIN.match(line), None
        if plain and plain[2]:
            key, value = plain[1], plain[2]
            found_value: Any = _typed(value) if _TYPED.match(value) else value
            if found_value is None:
                return None
        elif words := _WORDS.match(line):
            key = words[1]
            found_value = [word.strip() for word in words[2].split(",") if word.strip()]
            if any(_TYPED.match(word) for word in found_value):
                return None
        else:
            return None
        if key in found or _TYPED.match(key):
            return None
        found[key] = found_value
    return found


def _typed(value: str) -> Any:
    """A plain date (as its text) or number as YAML reads it; None for all that it may read as something else."""
    if _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            return None
    if _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return None
