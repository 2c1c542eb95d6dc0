"""Text to a tree of addressable nodes.

Flat chunks find similar text but cannot be named, and a hit cannot show where it belongs. A tree can do both:
every heading, item and paragraph gets a path that stays the same as long as its surroundings do. The parse is
deterministic, takes linear time on any input, and loses nothing: each visible character lies in some node.

How a text is read:

- Markdown through markdown-it (block structure only, HTML off): headings, lists with their nested items,
  fences, tables, quotes. A table, a quote, a code block is one paragraph. A thematic break belongs to what
  stands before it.
- Text without any Markdown block syntax skips markdown-it; both ways agree on such text.
- Markdown beyond `MARKDOWN_CHARS` or `MARKDOWN_LINES` is read by one plain scan instead, which knows `#`
  headings, fences and paragraphs between blank lines, but no items.
- Lines such as `1. Aim`, `1.2 Scope`, `一、背景`, `（一）范围`, `第一章 总则` are sections where they stand
  alone, are short and have content of their own; side by side they are items. They nest in the order 第一章,
  第一节, 一、, （一）, 1., 1.1, 1.1.1, (1), all of them within the Markdown heading above.
- YAML frontmatter at the very top is no node; it lies within the root (see `body`).

How a path is made: sections are named by the `slug` of their title; items `item-1…` and paragraphs `p1…`
count within their parent. The pieces of a long paragraph share its number: `p3`, `p3.2`, `p3.3`. What an item
holds beyond its own range, and beside nested items, becomes its `p1…`. A repeated title gets `~2`, `~3`; one
that reads like a counted name (`P3`) starts at `~1`. A single level-1 heading at the top names the root
instead of adding a level, so a second level-1 heading moves every path.

Bounds: no node lies deeper than `DEPTH`; past `NODES` nodes the remaining text becomes plain pieces `rest`,
`rest.2`… under the root.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Literal

from mnemic.errors import BadInput

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

Kind = Literal["document", "section", "paragraph", "item", "message"]

PIECE = 900
"""Characters that a paragraph or an item is indexed by, at most (seed 000 §3)."""
OPENING = 1_200
"""Characters that a section or the root is indexed by, at most (seed 000 §3)."""
DEPTH = 32
"""Levels below the root; deeper items become text of their ancestor."""
NODES = 20_000
"""Nodes from structure; the text after them is cut into plain pieces."""
MARKDOWN_CHARS = 1_000_000
MARKDOWN_LINES = 15_000

_LABEL = 80
_SLUG = 60
_SLUG_READ = 240
_HEADING = 200
_HEAD = OPENING // 4  # a heading with its rule always lies within what `_clip` keeps
_SHORT = 60
_FRONTMATTER = 65_536
_CLUSTER = 32


@dataclass(frozen=True, slots=True)
class Node:
    """One addressable part of a text.

    path    unique in the tree, relative to the document: "" for the root, "art/displays/p2"
    title   heading text (≤ 200), or a label from the first words (≤ 80); may be "" for the root
    start, end    whole extent, in code points of the source; it holds the extents of all descendants
    reach   source[start:reach] is what the node is indexed by: ≤ 900 characters for a paragraph or item; for
            a section ≤ 1,200, its heading and what follows before its first sub-section; the same for the
            root, which counts from `body` but starts at 0. Equal to start for a root without text of its own
    parent  index of the parent in the tuple, always a smaller one; -1 for the root

    `parse` makes every kind but "message", which is for those who put conversations together.
    """

    path: str
    kind: Kind
    title: str
    start: int
    end: int
    reach: int
    parent: int


def parse(text: str, *, title: str = "") -> tuple[Node, ...]:
    """The tree of a text, root first, in document order.

    `title` names the root unless the text itself opens with its only level-1 heading. Any string will do:
    NULs, lone surrogates, megabytes in one line.
    """
    source = _even(text)
    begin = body(text)
    tree = _Tree(source, begin, title)
    tree.fill(list(islice(_numbered(source, _blocks(source, begin)), NODES + 1)))
    return tree.nodes()


def split(text: str, limit: int = PIECE) -> list[tuple[int, int]]:
    """Spans of consecutive pieces of at most `limit` characters, without the blanks between them.

    Cuts after a line or a sentence if one ends in the last three quarters of the piece, else between words in
    its second half, else inside a word, though not before a combining mark unless 32 or more of them stand in
    a row. BadInput for a limit below 1.
    """
    if limit < 1:
        raise BadInput(f"a piece of at most {limit!r} characters holds nothing: give a limit of 1 or more")
    return list(_pieces(text, 0, len(text), limit))


def slug(title: str) -> str:
    """A path segment for a title: lower case; letters with their marks and digits of any script; "-" for the
    rest; at most 60 characters."""
    if title.isascii():
        name = _GAPS.sub("-", title[:_SLUG_READ].lower())
    else:  # NFKC can make 18 characters of one, hence the cap
        folded = unicodedata.normalize("NFKC", title[:_SLUG_READ]).casefold()
        name = _GAPS.sub("-", _marked("-" + unicodedata.normalize("NFKC", folded)))
    name = name.lstrip("-")
    if len(name) > _SLUG:
        cut = _SLUG if name[_SLUG] == "-" else name.rfind("-", _SLUG // 2, _SLUG)
        name = name[: cut if cut > 0 else _SLUG]
    return name.rstrip("-") or "untitled"


def _marked(text: str) -> str:
    """The text with spaces for all but letters, digits and the marks upon them."""
    kept: list[str] = []
    for char in text:
        mark = kept and kept[-1] != " " and unicodedata.category(char)[0] == "M"
        kept.append(char if char.isalnum() or mark else " ")
    return "".join(kept)


def body(text: str) -> int:
    """Where the content begins: after a YAML frontmatter block of at most 64 KB, else 0."""
    if not text.startswith(("---", "\ufeff---")):
        return 0
    opened = _OPENED.match(text)
    closed = _CLOSED.search(text, opened.end() - 1, _FRONTMATTER) if opened else None
    if closed and (closed[0].endswith("\n") or closed.end() == len(text)):
        return closed.end()
    return 0


# --- source ---

_INK = re.compile(r"\S")
_COUNTED = re.compile(r"(?:p|item-)[0-9]+")
_GAPS = re.compile(r"[\x00-/:-@\[-`{-\x7f]+")
_OPENED = re.compile(
    r"\ufeff?---[ \t]*\r?\n(?=(?:[ \t]*\r?\n)*(?:#|[\w\"'][^\n:]{0,100}:[ \t\r\n]|---[ \t\r]*$))", re.M
)
_CLOSED = re.compile(r"\n(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
_ODD_BLANK = re.compile(r"^[^\S\n]*[^\S \t\n][^\S\n]*$", re.M)


def _even(text: str) -> str:
    """The text with LF line ends and no byte order mark; every offset stays what it was."""
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    return text


def _trim(source: str, start: int, end: int) -> tuple[int, int]:
    ink = _INK.search(source, start, end)
    if ink is None:
        return end, end
    return ink.start(), ink.start() + len(source[ink.start() : end].rstrip())


# --- cutting ---

# Greedy, so that each finds its last place in the window, whose size bounds the backtracking. The window
# shows one character more than may be kept: only a blank is taken there, and it falls away with the trimming.
_LINE = re.compile(r"(?s:.*)\n")
_SENTENCE = re.compile(r"(?s:.*)(?:[.!?]['\")\]’”*_]*(?=\s)|[。！？；…][’”」』）】]*+(?=(?s:.))|\n)")
_WORD = re.compile(r"(?s:.*)(?:\s|[，、：](?=(?s:.)))")


def _pieces(
    source: str, start: int, end: int, limit: int = PIECE, rows: bool = False
) -> Iterator[tuple[int, int]]:
    """Pieces of source[start:end]; with `rows`, cut at line ends wherever the lines are short enough."""
    start, end = _trim(source, start, end)
    while end - start > limit:
        cut = _cut(source, start, end, limit, rows)
        yield start, start + len(source[start:cut].rstrip())
        ink = _INK.search(source, cut, end)
        start = ink.start() if ink else end
    if start < end:
        yield start, end


def _cut(source: str, start: int, end: int, limit: int, rows: bool) -> int:
    """Where the first piece of a longer text ends. What remains is never a mere scrap."""
    most = start + min(limit, end - start - limit // 4)
    least = start + limit // 4
    found = _LINE.match(source, least, most + 1) if rows else None
    found = (
        found or _SENTENCE.match(source, least, most + 1) or _WORD.match(source, start + limit // 2, most + 1)
    )
    return found.end() if found else _uncut(source, start, most)


def _uncut(source: str, start: int, cut: int) -> int:
    """`cut`, or a place shortly before it that does not tear a character from its marks."""
    for place in range(cut, max(start, cut - _CLUSTER), -1):
        if not _joined(source[place - 1], source[place]):
            return place
    return cut


def _joined(before: str, after: str) -> bool:
    if after.isascii():
        return False
    return (
        before == "\u200d"
        or after == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\u1160" <= after <= "\u11ff"  # vowels and finals of decomposed Hangul
        or unicodedata.category(after)[0] == "M"
    )


def _clip(source: str, start: int, end: int, limit: int) -> int:
    """Where the indexed part of source[start:end] ends."""
    cut = end if end - start <= limit else _cut(source, start, end, limit, False)
    return start + len(source[start:cut].rstrip())


# --- labels ---

_MARKUP = re.compile(r"[\\\[\]<*_`~=>#|]|^[ \t]*(?:[-+]|[0-9]{1,9}[.)])[ \t]|^---", re.M)
_LEAD = re.compile(r"\A[ \t]*(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+)+")
_MARGIN = re.compile(r"^[ \t]*(?:>[ \t]?)+|^[ \t]*\||\|[ \t]*$|^[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*$", re.M)
_CODE = re.compile(r"(?<!`)`++([^`\n]+)`++")
_FENCED = re.compile(r"[ \t]*(?:`{3,}|~{3,})[^\n]*\n(?=\s*\S)")
_DELIMITERS = re.compile(r"(?=[^\n]*\|)(?=[^\n]*-)[ \t|:-]+$", re.M)
_INLINE = (
    (re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"\[!([\w-]+)\][-+]?"), r"\1:"),
    (re.compile(r"!\[\[[^\[\]]*\]\]"), ""),
    (re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\n]*\)"), r"\1"),
    (re.compile(r"==([^=\n]+)=="), r"\1"),
    (re.compile(r"\*\*|__|~~|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
    (re.compile(r"(?<!\s)\s*\{#[\w-]+\}\s*$"), ""),
)


def _label(source: str, start: int, end: int, rows: bool = False) -> str:
    """The first words of source[start:end] without their markup, at most 80 characters."""
    chunk = source[start : min(end, start + 4 * _LABEL)]
    if rows and not chunk.startswith("|") and not _DELIMITERS.match(chunk, chunk.find("\n") + 1):
        fence = _FENCED.match(chunk)
        words = chunk[fence.end() :].rstrip(" \n`~") if fence else chunk
    elif _MARKUP.search(chunk):
        words = chunk.split("\n", 1)[0] if rows else chunk
        words = _bare(_LEAD.sub("", _MARGIN.sub("", words)))
    else:
        words = chunk
    return _shortened(" ".join(words.split()) or " ".join(chunk.split()), _LABEL)


def _bare(text: str) -> str:
    """The text without inline markup; code spans are kept as they are."""
    parts = _CODE.split(text)
    for i in range(0, len(parts), 2):
        for pattern, kept in _INLINE:
            parts[i] = pattern.sub(kept, parts[i])
    return "".join(parts)


def _shortened(words: str, limit: int) -> str:
    if len(words) <= limit:
        return words
    space = words.rfind(" ", 3 * limit // 4, limit)
    return words[: space if space > 0 else limit - 1] + "…"


# --- blocks ---


@dataclass(slots=True)
class _Block:
    """A block of the text, before it becomes nodes."""

    form: Literal["text", "rows", "heading", "item", "rule"]
    start: int
    end: int
    level: int = 0  # of a heading: 1 to 6 in Markdown, 6 + style where numbered
    title: str = ""
    parts: list[_Block] = field(default_factory=list)  # nested items
    style: int = 0  # of an enumerated line, see _STYLES


_SYNTAX = re.compile(r"^(?:[ \t]*(?:[-+*#>|~`=_:]|[0-9]{1,9}[.)])| {4}| {0,3}\t)", re.M)
_BLANK = re.compile(r"\n\s*\n")
_LANDMARK = re.compile(
    r"^ {0,3}(?:(?P<marks>#{1,6})(?:[ \t].*)?|(?P<fence>`{3,}(?=[^`\n]*$)|~{3,}).*)$", re.M
)
_FENCE_END = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*$", re.M)
_ATX = re.compile(r"[ \t]*#{1,6}(?:[ \t]+|$)|[ \t]+#+[ \t]*$")


def _blocks(source: str, begin: int) -> Iterable[_Block]:
    if not _SYNTAX.search(source, begin):
        return _plain(source, begin, len(source))
    if len(source) - begin > MARKDOWN_CHARS or source.count("\n", begin) > MARKDOWN_LINES:
        return _rough(source, begin)
    return _markdown(source, begin)


def _plain(source: str, start: int, end: int) -> Iterator[_Block]:
    """Paragraphs between blank lines."""
    for gap in _BLANK.finditer(source, start, end):
        a, b = _trim(source, start, gap.start())
        if a < b:
            yield _Block("text", a, b)
        start = gap.end()
    a, b = _trim(source, start, end)
    if a < b:
        yield _Block("text", a, b)


def _rough(source: str, begin: int) -> Iterator[_Block]:
    """Headings, fences and paragraphs by one scan over the lines."""
    for mark in _LANDMARK.finditer(source, begin):
        if mark.start() < begin:
            continue
        yield from _plain(source, begin, mark.start())
        if fence := mark["fence"]:
            begin = _fence_end(source, mark.end(), fence)
            yield _Block("rows", *_trim(source, mark.start(), begin))
        else:
            begin = mark.end()
            yield _heading(source, *_trim(source, mark.start(), begin), len(mark["marks"]))
    yield from _plain(source, begin, len(source))


def _fence_end(source: str, at: int, fence: str) -> int:
    for mark in _FENCE_END.finditer(source, at):
        if mark[1].startswith(fence):
            return mark.end()
    return len(source)


def _heading(source: str, start: int, end: int, level: int) -> _Block:
    """A heading, or text if it is too long to be one or underlined over several lines."""
    lines = source[start : min(end, start + 2 * _HEADING)].split("\n")
    line = lines[0].strip()
    if len(line) > _HEADING or end - start > _HEAD or len(lines) > 2:
        return _Block("text", start, end)
    if len(lines) == 1:
        line = _ATX.sub("", line)
    words = " ".join(_bare(line).split())
    return _Block("heading", start, end, level, words or " ".join(line.split()))


# --- markdown ---


def _markdown(source: str, begin: int) -> list[_Block]:
    text = source[begin:]
    text = _ODD_BLANK.sub(lambda blank: " " * len(blank[0]), text)
    tokens: list[Token] = []
    reader = _reader()
    reader.block.parse(text, reader, {}, tokens)
    return _filled(source, begin, _gathered(source, _line_starts(source, begin), tokens))


def _line_starts(source: str, begin: int) -> list[int]:
    return [begin, *(m.end() for m in re.compile("\n").finditer(source, begin)), len(source)]


def _gathered(source: str, lines: list[int], tokens: Iterable[Token]) -> list[_Block]:
    """The top-level blocks of a token stream, items with their nested items."""
    blocks: list[_Block] = []
    items: list[_Block] = []  # the open ones, outermost first
    opened = 0
    for token in tokens:
        if token.type == "list_item_close":
            items.pop()
        elif token.type == "ordered_list_close" and not items:
            _stand_alone(source, blocks[opened:])
        elif token.map is None or token.type == "inline":
            continue
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            opened = opened if items else len(blocks)
        else:
            start, end = _trim(source, lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)])
            if token.type == "list_item_open":
                item = _Block("item", start, end)
                (items[-1].parts if items else blocks).append(item)
                items.append(item)
            elif not items and start < end:
                _append(source, blocks, token, start, end)
    return blocks


def _append(source: str, blocks: list[_Block], token: Token, start: int, end: int) -> None:
    if token.type == "heading_open":
        blocks.append(_heading(source, start, end, int(token.tag[1])))
    elif token.type == "hr":
        _glue(blocks, start, end)
    else:
        blocks.append(_Block("text" if token.type in ("paragraph_open", "quote") else "rows", start, end))


def _glue(blocks: list[_Block], start: int, end: int) -> None:
    """A thematic break goes with the block before it; at the top it is left to the root."""
    last = blocks[-1] if blocks else None
    if last is None:
        blocks.append(_Block("rule", start, end))
        return
    if last.form in ("heading", "rule") and end - last.start > _HEAD:
        blocks.append(_Block("text", start, end))
        return
    last.end = end
    while last.parts:
        last = last.parts[-1]
        last.end = end


def _filled(source: str, begin: int, blocks: list[_Block]) -> list[_Block]:
    """The blocks, with a text block for whatever a reader leaves out between them."""
    whole: list[_Block] = []
    for block in blocks:
        whole += _plain(source, begin, block.start)
        whole.append(block)
        begin = max(begin, block.end)
    return whole


@cache
def _reader() -> MarkdownIt:
    """CommonMark blocks and tables; quotes and tables are runs of lines, so that nothing nests but lists."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import list_block

    def lists(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        # Without this the reader would drop everything after a list that nests too deep.
        return (silent or state.level < 2 * DEPTH) and list_block(state, start, end, silent)

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 4 * DEPTH})
    reader.disable("reference")
    rules = reader.block.ruler
    rules.at("list", lists, {"alt": ["paragraph", "blockquote"]})
    rules.at("blockquote", _quote, {"alt": ["paragraph", "blockquote", "list"]})
    rules.before("fence", "rows", _table, {"alt": ["paragraph"]})
    return reader


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start) or not state.src.startswith(">", state.bMarks[start] + state.tShift[start]):
        return False
    return silent or _run(state, "quote", start, start + 1, end)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if start + 1 >= end or state.is_code_block(start) or state.sCount[start + 1] < state.blkIndent:
        return False
    if state.src.find("|", state.bMarks[start], state.eMarks[start]) < 0:
        return False
    if not _DELIMITERS.match(state.src, state.bMarks[start + 1] + state.tShift[start + 1]):
        return False
    return silent or _run(state, "table", start, start + 2, end)


def _run(state: StateBlock, kind: str, start: int, line: int, end: int) -> bool:
    """One token for the lines that follow without a blank or another block."""
    outer, state.parentType = state.parentType, "paragraph"
    ends = state.md.block.ruler.getRules("paragraph")
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        same = state.src[state.bMarks[line] + state.tShift[line]] in (">" if kind == "quote" else "|")
        if not same and any(rule(state, line, end, True) for rule in ends):
            break
        line += 1
    state.parentType = outer
    state.line = line
    state.push(kind, "", 0).map = [start, line]
    return True


# --- numbered sections ---

_HAN = "〇零一二三四五六七八九十百千"
_NUM = "0-9０-９"
_STYLES = re.compile(
    rf"""^[ \t\u3000]*(?:
      (?P<s1>第[{_HAN}{_NUM}]{{1,7}}[章篇部卷编])
    | (?P<s2>第[{_HAN}{_NUM}]{{1,7}}[节節回])
    | (?P<s3>[{_HAN}]{{1,4}}[、.．])
    | (?P<s4>[（(][{_HAN}]{{1,4}}[）)])
    | (?P<s5>[{_NUM}]{{1,3}}[、．])
    | (?P<s6>[{_NUM}]{{1,3}}(?:[.．][{_NUM}]{{1,3}}){{1,4}}[.．、]?(?:[ \t\u3000]+|(?=[\u3400-\u9fff])))
    | (?P<s11>[（(][{_NUM}]{{1,3}}[）)])
    | (?P<s12>[①-⑳])
    )[ \t\u3000]*""",
    re.M | re.X,
)
_ORDERED = 5  # the style of `1.` as Markdown reads it
_DECIMAL = 6  # 6 for 1.2, 7 for 1.2.3, …
_BRACED = 11
_CIRCLED = 12
_ORDERED_MARK = re.compile(r"[0-9]{1,9}[.)][ \t]*")
_DOTS = re.compile(rf"[.．](?=[{_NUM}])")
_STOPS = ".。;；,，、"


def _stand_alone(source: str, items: list[_Block]) -> None:
    """Marks the only item of an ordered list if it is one line: it may be a heading."""
    if len(items) == 1 and not items[0].parts and "\n" not in source[items[0].start : items[0].end]:
        items[0].style = _ORDERED


@dataclass(slots=True)
class _Line:
    """A block, or a line of one that may turn out to be a heading."""

    block: _Block
    order: int  # of the block it was cut from
    short: bool = False


def _numbered(source: str, blocks: Iterable[_Block]) -> Iterable[_Block]:
    """The blocks, with enumerated lines turned into headings or items."""
    marked = _STYLES.search(source) is not None
    if not marked and not (isinstance(blocks, list) and any(block.style for block in blocks)):
        return blocks
    lines: list[_Line] = []
    for order, block in enumerate(islice(blocks, NODES + 1)):
        if block.style:
            lines.append(_Line(block, order, _titled(source, block, _ordered_end(source, block), block.end)))
        elif marked and block.form == "text":
            lines += _lines(source, block, order, NODES - len(lines))
        else:
            lines.append(_Line(block, order))
    return _settled(source, lines)


def _lines(source: str, block: _Block, order: int, room: int) -> list[_Line]:
    """A text block cut before its enumerated lines, and after those that are as short as a heading."""
    line_start = source.rfind("\n", 0, block.start) + 1
    found = (m for m in _STYLES.finditer(source, line_start, block.end) if _opens(source, block, m))
    marks = list(islice(found, max(room, 0)))
    if not marks:
        return [_Line(block, order)]
    starts = [max(mark.start(), block.start) for mark in marks]
    lines: list[_Line] = []
    for mark, start, stop in zip(marks, starts, [*starts[1:], block.end], strict=True):
        line_end = source.find("\n", mark.end(), stop)
        line_end = stop if line_end < 0 else line_end
        line = _Block("text", *_trim(source, start, line_end), style=_style(mark))
        short = _titled(source, line, mark.end(), line_end)
        lines.append(_Line(line, order, short))
        rest = _trim(source, line_end, stop)
        if short and rest[0] < rest[1]:
            lines.append(_Line(_Block("text", *rest), order))
        else:
            line.end = max(line.end, rest[1] if rest[0] < rest[1] else 0)
    head = _trim(source, block.start, starts[0])
    return [_Line(_Block("text", *head), order), *lines] if head[0] < head[1] else lines


def _opens(source: str, block: _Block, mark: re.Match[str]) -> bool:
    """Whether the number opens its line on purpose: "1.5 times" may stand there by chance, "二、" may not."""
    if mark.start() <= block.start or not _DECIMAL <= _style(mark) < _BRACED:
        return True
    return source[max(block.start, mark.start() - _LABEL) : mark.start()].rstrip()[-1:] in ".!?:。！？：；"


def _style(mark: re.Match[str]) -> int:
    style = int((mark.lastgroup or "s0")[1:])
    return style + len(_DOTS.findall(mark[0])) - 1 if style == _DECIMAL else style


def _ordered_end(source: str, item: _Block) -> int:
    mark = _ORDERED_MARK.match(source, item.start)
    return mark.end() if mark else item.start


def _titled(source: str, line: _Block, at: int, end: int) -> bool:
    """Whether an enumerated line, its words beginning at `at`, reads like a heading."""
    if end - line.start > _SHORT or line.style == _CIRCLED:
        return False
    words = source[at:end].strip()
    if not words:
        return line.style <= 2  # 第一章 can stand without words
    first = words.lstrip("*_`\"'“‘《「【[(（")[:1]
    if _DECIMAL <= line.style < _BRACED and (not first.isalpha() or first.islower() or words[-1] in ":："):
        return False
    return words.rstrip("*_`\"'”’》」】])）")[-1:] not in _STOPS


def _settled(source: str, lines: list[_Line]) -> list[_Block]:
    """What each line is, now that its neighbours are known."""
    blocks: list[_Block] = []
    last = -1  # the order of the block before
    for i, line in enumerate(lines):
        block = line.block
        if _heads(lines, i):
            block.form, block.level = "heading", 6 + block.style
            block.title = " ".join(_bare(source[block.start : block.end]).split())
        elif block.form == "text" and _listed(lines, i):
            block.form = "item"
        elif block.form == "text" and line.order == last and blocks[-1].form in ("text", "item"):
            blocks[-1].end = block.end
            continue
        blocks.append(block)
        last = line.order
    return blocks


def _heads(lines: list[_Line], i: int) -> bool:
    """Whether the line is a section: content follows, and its like stand apart from it."""
    style = lines[i].block.style
    if not lines[i].short or i + 1 == len(lines) or (i and lines[i - 1].block.style == style):
        return False
    after = lines[i + 1].block
    return after.form != "heading" and (not after.style or after.style > style)


def _listed(lines: list[_Line], i: int) -> bool:
    """Whether the line is one of several side by side."""
    style = lines[i].block.style
    if not style or _DECIMAL <= style < _BRACED:
        return False
    return any(0 <= j < len(lines) and lines[j].block.style == style for j in (i - 1, i + 1))


# --- nodes ---


class _Tree:
    """Collects nodes in document order; extents and ranges of sections are settled at the end."""

    def __init__(self, source: str, begin: int, title: str) -> None:
        self.source = source
        self.begin = begin
        self.title = title
        self.paths = [""]
        self.kinds: list[Kind] = ["document"]
        self.titles = [title]
        self.starts = [0]
        self.ends = [len(source)]
        self.reaches = [0]
        self.parents = [-1]
        self.depths = [0]
        self.counts: dict[tuple[int, str], int] = {}
        self.seen = begin  # blocks before this place have their nodes
        self.stop = -1  # where the bound on nodes was met

    def fill(self, blocks: list[_Block]) -> None:
        """Nodes for all blocks, and plain pieces for what lies beyond the bounds."""
        open_sections = [(0, 0)]  # level, node
        for block in self._named(blocks):
            if self._full(block.start):
                break
            if block.form == "heading":
                while open_sections[-1][0] >= block.level:
                    open_sections.pop()
                open_sections.append((block.level, self._section(block, open_sections[-1][1])))
            elif block.form == "item":
                self._item(block, open_sections[-1][1])
            elif block.form != "rule" or block.end > self.begin + _HEAD:
                self._text(block.start, block.end, open_sections[-1][1], block.form == "rows")
            self.seen = block.end
        self._rest(self.seen if self.stop < 0 else self.stop)

    def nodes(self) -> tuple[Node, ...]:
        """The finished tree."""
        firsts: dict[int, int] = {}  # where the first sub-section of a node starts
        for i in range(len(self.paths) - 1, 0, -1):
            above = self.parents[i]
            self.ends[above] = max(self.ends[above], self.ends[i])
            if self.kinds[i] == "section":
                firsts[above] = self.starts[i]
        for i, kind in enumerate(self.kinds):
            if kind == "section":
                end = firsts.get(i, self.ends[i])
                self.reaches[i] = _clip(self.source, self.starts[i], end, OPENING)
        start, end = _trim(self.source, self.begin, firsts.get(0, len(self.source)))
        self.reaches[0] = _clip(self.source, start, end, OPENING) if start < end else 0
        fields = (self.paths, self.kinds, self.titles, self.starts, self.ends, self.reaches, self.parents)
        return tuple(map(Node, *fields))

    def _named(self, blocks: list[_Block]) -> list[_Block]:
        """The blocks without a level-1 heading that opens the text and is the only one: it names the root."""
        tops = [block for block in blocks if block.form == "heading" and block.level == 1]
        leading = next((block for block in blocks if block.form != "rule"), None)
        if len(tops) != 1 or tops[0] is not leading:
            return blocks
        self.titles[0] = tops[0].title
        self.seen = tops[0].end
        return [block for block in blocks if block is not leading]

    def _full(self, at: int) -> bool:
        if self.stop < 0 and len(self.paths) >= NODES:
            self.stop = at
        return self.stop >= 0

    def _rest(self, start: int) -> None:
        """Pieces of what no block covers; nodes that were open end before them."""
        start, end = _trim(self.source, start, len(self.source))
        if start == end:
            return
        before = len(self.source[:start].rstrip())
        self.ends[1:] = [min(end, before) for end in self.ends[1:]]
        name = self._name(0, "rest")
        self._spread(name, _pieces(self.source, start, end), 0, False)

    def _section(self, block: _Block, parent: int) -> int:
        name = self._name(parent, slug(block.title))
        return self._add("section", name, block.title, block.start, block.end, block.end, parent)

    def _item(self, block: _Block, parent: int) -> None:
        parts = block.parts if self.depths[parent] < DEPTH - 2 else []
        end = parts[0].start if parts else block.end
        if end <= block.start:  # "- - a": the first part begins on the line of the item
            end = self.source.find("\n", block.start, block.end)
            end = block.end if end < 0 else end
        at = _clip(self.source, block.start, end, PIECE)
        label = _label(self.source, block.start, at)
        name = f"item-{self._count(parent, ' item')}"
        me = self._add("item", name, label, block.start, block.end, at, parent)
        for part in parts:
            if self._full(at):
                return
            self._text(at, part.start, me)
            self._item(part, me)
            at = max(at, part.end)
        if not self._full(at):
            self._text(at, block.end, me)

    def _text(self, start: int, end: int, parent: int, rows: bool = False) -> None:
        if _INK.search(self.source, start, end):
            name = f"p{self._count(parent, ' p')}"
            self._spread(name, _pieces(self.source, start, end, PIECE, rows), parent, rows)

    def _spread(self, name: str, pieces: Iterable[tuple[int, int]], parent: int, rows: bool) -> None:
        for k, (start, end) in enumerate(pieces, 1):
            label = _label(self.source, start, end, rows)
            self._add("paragraph", name if k == 1 else f"{name}.{k}", label, start, end, end, parent)

    def _add(self, kind: Kind, name: str, title: str, start: int, end: int, reach: int, parent: int) -> int:
        above = self.paths[parent]
        self.paths.append(f"{above}/{name}" if above else name)
        self.kinds.append(kind)
        self.titles.append(title)
        self.starts.append(start)
        self.ends.append(end)
        self.reaches.append(reach)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        return len(self.paths) - 1

    def _name(self, parent: int, name: str) -> str:
        """The name, with ~2, ~3… for a sibling of the same title."""
        number = self._count(parent, name)
        return name if number == 1 and not _COUNTED.fullmatch(name) else f"{name}~{number}"

    def _count(self, parent: int, name: str) -> int:
        number = self.counts[parent, name] = self.counts.get((parent, name), 0) + 1
        return number
