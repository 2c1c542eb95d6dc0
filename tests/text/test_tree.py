"""The tree is addressable, stable, bounded, and loses nothing."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mnemic.errors import BadInput
from mnemic.text import tree
from mnemic.text.tree import Node, body, parse, slug, split


def paths(text: str) -> list[str]:
    return [node.path for node in parse(text)]


def outline(text: str) -> list[tuple[str, str, str]]:
    return [(node.path, node.kind, text[node.start : node.reach]) for node in parse(text)]


def assert_sound(text: str, nodes: tuple[Node, ...]) -> None:
    """What holds for every tree of every text."""
    assert (nodes[0].path, nodes[0].kind, nodes[0].parent) == ("", "document", -1)
    assert (nodes[0].start, nodes[0].end) == (0, len(text))
    assert len({node.path for node in nodes}) == len(nodes)
    last: dict[int, int] = defaultdict(int)
    content = len(text) - len(text[body(text) :].lstrip("\ufeff \t\r\n\f\v\x1c\x1d\x1e\x1f\x85\u3000\u2028"))
    for i, node in enumerate(nodes[1:], 1):
        above = nodes[node.parent]
        assert 0 <= node.parent < i and node.path.startswith(above.path) and node.path.count("/") < tree.DEPTH
        assert max(above.start, last[node.parent]) <= node.start < node.end <= above.end
        assert node.start < node.reach <= node.end
        assert node.reach - node.start <= (1_200 if node.kind == "section" else 900)
        assert len(node.title) <= (200 if node.kind == "section" else 80)
        assert not (text[node.start].isspace() or text[node.reach - 1].isspace())
        last[node.parent] = node.end
    assert nodes[0].reach <= content + 1_200


def assert_whole(text: str, nodes: tuple[Node, ...]) -> None:
    """Every visible character is in the range of some node; frontmatter and byte order mark aside."""
    at = max(body(text), text.startswith("\ufeff"))
    kept: list[str] = []
    wanted = "".join(text[at:].split())
    for start, reach in sorted((node.start, node.reach) for node in nodes):
        kept.append(text[max(start, at) : reach])
        at = max(at, reach)
    assert "".join("".join(kept).split()) == wanted


# --- structure ---


def test_headings_paragraphs_and_items_are_nodes_with_paths() -> None:
    text = (
        "Lead.\n\n## Art\n\nOn art.\n\n### Biological display\n\nOne.\n\nTwo\nlines.\n\n- a\n- b\n\n## End\n"
    )
    assert outline(text) == [
        ("", "document", "Lead."),
        ("p1", "paragraph", "Lead."),
        ("art", "section", "## Art\n\nOn art."),
        ("art/p1", "paragraph", "On art."),
        ("art/biological-display", "section", "### Biological display\n\nOne.\n\nTwo\nlines.\n\n- a\n- b"),
        ("art/biological-display/p1", "paragraph", "One."),
        ("art/biological-display/p2", "paragraph", "Two\nlines."),
        ("art/biological-display/item-1", "item", "- a"),
        ("art/biological-display/item-2", "item", "- b"),
        ("end", "section", "## End"),
    ]


def test_a_section_spans_its_sub_sections_but_is_indexed_by_its_own_text() -> None:
    text = "# A\n\nown\n\n## B\n\nsub\n\n# C\n\nend"
    section = parse(text)[1]
    assert text[section.start : section.end] == "# A\n\nown\n\n## B\n\nsub"
    assert text[section.start : section.reach] == "# A\n\nown"


def test_a_note_without_headings_is_a_root_with_paragraphs() -> None:
    assert outline("First.\n\nSecond.") == [
        ("", "document", "First.\n\nSecond."),
        ("p1", "paragraph", "First."),
        ("p2", "paragraph", "Second."),
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n", "\u3000\n"])
def test_a_blank_text_is_a_bare_root(text: str) -> None:
    assert parse(text, title="T") == (Node("", "document", "T", 0, len(text), 0, -1),)


def test_a_single_leading_h1_names_the_root() -> None:
    text = "# The *Doc*\n\nHi.\n\n## A\n"
    root = parse(text, title="given")[0]
    assert root.title == "The Doc"
    assert text[root.start : root.reach] == "# The *Doc*\n\nHi."
    assert paths(text) == ["", "p1", "a"]
    assert paths("# Alone\n") == [""]


def test_an_h1_that_is_not_alone_or_not_first_is_a_section() -> None:
    assert paths("# A\n\n# B\n") == ["", "a", "b"]
    assert paths("x\n\n# A\n") == ["", "p1", "a"]
    assert parse("# A\n\n# B\n", title="T")[0].title == "T"


def test_setext_underlines_make_headings_of_one_line_only() -> None:
    assert paths("Top\n===\n\nSub\n---\n\ntext\n\nTop2\n===\n") == [
        "",
        "top",
        "top/sub",
        "top/sub/p1",
        "top2",
    ]
    assert paths("one\ntwo\n---\n") == ["", "p1"]


def test_a_gap_in_heading_depth_just_nests() -> None:
    assert paths("# A\n### C\n## B\n# D\n") == ["", "a", "a/c", "a/b", "d"]


def test_repeated_sibling_titles_get_a_number() -> None:
    assert paths("## X\n## X\n### X\n## X\n") == ["", "x", "x~2", "x~2/x", "x~3"]


def test_a_title_that_reads_like_a_counted_name_stays_apart() -> None:
    assert paths("one\n\ntwo\n\n## P2\n## item-1\n") == ["", "p1", "p2", "p2~1", "item-1~1"]


def test_a_heading_too_long_for_a_title_is_a_paragraph() -> None:
    assert [node.kind for node in parse("## " + "word " * 50)] == ["document", "paragraph"]


def test_nested_items_are_children() -> None:
    text = "- a\n  - b\n    more b\n  - c\n\n    ```\n    # code\n    ```\n- d\n"
    assert outline(text)[1:] == [
        ("item-1", "item", "- a"),
        ("item-1/item-1", "item", "- b\n    more b"),
        ("item-1/item-2", "item", "- c\n\n    ```\n    # code\n    ```"),
        ("item-2", "item", "- d"),
    ]


def test_text_after_nested_items_is_a_paragraph_of_the_item() -> None:
    assert outline("- a\n  - b\n\n  between\n  - c\n\n  tail\n")[1:] == [
        ("item-1", "item", "- a"),
        ("item-1/item-1", "item", "- b"),
        ("item-1/p1", "paragraph", "between"),
        ("item-1/item-2", "item", "- c"),
        ("item-1/p2", "paragraph", "tail"),
    ]


def test_a_long_item_keeps_its_first_piece_and_hands_the_rest_to_paragraphs() -> None:
    text = "- " + "A sentence of thirty letters. " * 70 + "\n- short\n"
    assert paths(text) == ["", "item-1", "item-1/p1", "item-1/p1.2", "item-2"]


def test_items_and_paragraphs_count_through_their_section() -> None:
    assert paths("## S\n\na\n\n- x\n\nb\n\n- y\n") == ["", "s", "s/p1", "s/item-1", "s/p2", "s/item-2"]


def test_a_fence_is_one_block_and_its_headings_do_not_count() -> None:
    text = "~~~\n# no\n\n- no\n~~~\n\n```py\n## no"
    assert outline(text)[1:] == [
        ("p1", "paragraph", "~~~\n# no\n\n- no\n~~~"),
        ("p2", "paragraph", "```py\n## no"),
    ]


def test_a_long_fence_is_cut_at_line_ends() -> None:
    text = "```\n" + "print('a. b. c.')\n" * 200 + "```\n\nafter"
    nodes = parse(text)
    assert [node.path for node in nodes[1:]] == ["p1", "p1.2", "p1.3", "p1.4", "p1.5", "p2"]
    assert all(text[node.end - 1] in ")`" for node in nodes[1:-1])


def test_quotes_and_tables_are_paragraphs() -> None:
    text = "> # q\n> - r\nlazy\n\nx\n| a | b |\n|---|---|\n| 1 | 2 |\nafter\n\n---\n"
    assert [piece for _, _, piece in outline(text)[1:]] == [
        "> # q\n> - r\nlazy",
        "x",
        "| a | b |\n|---|---|\n| 1 | 2 |\nafter\n\n---",
    ]


def test_a_quote_ends_with_the_item_it_stands_in() -> None:
    assert outline("- > a\n  > b\n> c\n")[1:] == [
        ("item-1", "item", "- > a\n  > b"),
        ("p1", "paragraph", "> c"),
    ]


def test_a_thematic_break_belongs_to_what_stands_before_it() -> None:
    assert outline("***\n\n## A\n\n---\n\ntext\n\n- x\n  - y\n\n---\n\n## B\n")[1:] == [
        ("a", "section", "## A\n\n---\n\ntext\n\n- x\n  - y\n\n---"),
        ("a/p1", "paragraph", "text"),
        ("a/item-1", "item", "- x"),
        ("a/item-1/item-1", "item", "- y\n\n---"),
        ("b", "section", "## B"),
    ]


def test_link_definitions_and_html_are_kept_as_text() -> None:
    assert outline("[a]: http://x\n\n<div>\n\n# H\n\n</div>\n")[1:] == [
        ("p1", "paragraph", "[a]: http://x"),
        ("p2", "paragraph", "<div>"),
        ("h", "section", "# H\n\n</div>"),
        ("h/p1", "paragraph", "</div>"),
    ]


def test_frontmatter_is_no_node_but_lies_in_the_root() -> None:
    text = "---\ntitle: T\n# note\n- x\n---\n# H\n\nbody\n"
    nodes = parse(text)
    assert body(text) == text.index("# H")
    assert [(node.path, node.title) for node in nodes] == [("", "H"), ("p1", "body")]
    assert (nodes[0].start, nodes[0].end) == (0, len(text))


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust words\n---\n",
        "---\na: b\n",
        "text\n---\na: b\n---\n",
        "---\na: " + "b" * 70_000 + "\n---\n",
    ],
)
def test_what_only_looks_like_frontmatter_is_content(text: str) -> None:
    assert body(text) == 0
    assert_whole(text, parse(text))


def test_line_ends_and_a_byte_order_mark_do_not_change_the_tree() -> None:
    text = "# A\n\ntext\n\n- x\n- y\n\nEnd\n===\n"
    assert paths("\ufeff" + text) == paths(text) == ["", "a", "a/p1", "a/item-1", "a/item-2", "end"]
    assert paths(text.replace("\n", "\r\n")) == paths(text.replace("\n", "\r")) == paths(text)
    windows = text.replace("\n", "\r\n")
    assert [windows[node.start : node.end] for node in parse(windows)][2] == "text"


# --- numbered sections ---


def test_numbered_lines_that_stand_alone_are_sections() -> None:
    text = "1. Aim\n\nWhy.\n\n1.1 Scope\n\nWhat.\n\n1.2 Limits\n\nNot.\n\n2. Method\n\nHow."
    assert paths(text) == [
        "",
        "1-aim",
        "1-aim/p1",
        "1-aim/1-1-scope",
        "1-aim/1-1-scope/p1",
        "1-aim/1-2-limits",
        "1-aim/1-2-limits/p1",
        "2-method",
        "2-method/p1",
    ]


def test_chinese_numbering_nests_by_custom_even_without_blank_lines() -> None:
    text = (
        "第一章 总则\n一、背景\n项目开始了。\n（一）范围\n全部。\n二、目标\n完成系统。\n第二章 附则\n没有。"
    )
    assert paths(text) == [
        "",
        "第一章-总则",
        "第一章-总则/一-背景",
        "第一章-总则/一-背景/p1",
        "第一章-总则/一-背景/一-范围",
        "第一章-总则/一-背景/一-范围/p1",
        "第一章-总则/二-目标",
        "第一章-总则/二-目标/p1",
        "第二章-附则",
        "第二章-附则/p1",
    ]


@pytest.mark.parametrize(
    "text",
    ["1. a\n2. b\n3. c\n", "1. a\n\n2. b\n\n3. c\n", "1、苹果\n2、梨\n3、桃", "一、苹果\n\n二、梨\n\n三、桃"],
)
def test_numbered_lines_side_by_side_are_items(text: str) -> None:
    assert paths(text) == ["", "item-1", "item-2", "item-3"]
    assert paths(text.rstrip() + "\n\nAnd on.") == ["", "item-1", "item-2", "item-3", "p1"]


@pytest.mark.parametrize(
    "text",
    [
        "It came to\n1.5 times the size.\n\nx",
        "1.5 times the size\n\nx",
        "一、这是一个完整的句子，不是标题。\n\nx",
        "See 1.2 above\n\nx",
        "8.0 版本之前是这样的：\n\nx",
        "2024、2025年\n\nx",
    ],
)
def test_other_lines_with_numbers_stay_paragraphs(text: str) -> None:
    assert paths(text) == ["", "p1", "p2"]


def test_a_number_without_content_after_it_is_no_section() -> None:
    assert paths("x\n\n1. Last\n") == ["", "p1", "item-1"]
    assert paths("1. Last\n\n# H\n\nx\n\n# I\n") == ["", "item-1", "h", "h/p1", "i"]


def test_a_markdown_heading_ends_numbered_sections() -> None:
    assert paths("## A\n\n1. One\n\nx\n\n## B\n") == ["", "a", "a/1-one", "a/1-one/p1", "b"]


# --- labels ---


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("- [x] Buy **milk** and [bread](http://x/y)", "Buy milk and bread"),
        ("> [!tip] Use `a == b` for [[Note|it]]\n> now", "tip: Use a == b for it now"),
        ("```python\nx = [1]  # <b>\n```", "x = [1] # <b>"),
        ("| *a* | b |\n|---|---|\n| 1 | 2 |", "a | b"),
        ("*a* | b\n--- | ---\n1 | 2", "a | b"),
        ("snake_case stays, 2 * 3 too", "snake_case stays, 2 * 3 too"),
        ("![](x.png)\n", "![](x.png)"),
        ("plain " * 40, "plain " * 12 + "plain…"),
        ("字" * 100, "字" * 79 + "…"),
    ],
)
def test_a_label_is_the_first_words_without_markup(text: str, label: str) -> None:
    assert parse(text)[1].title == label


def test_a_section_title_loses_its_markup_but_not_its_code() -> None:
    assert parse("x\n\n## The `<b>` **tag** {#tag} ##\n")[2].title == "The <b> tag"


# --- slugs ---


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Biological Display", "biological-display"),
        ("  C++ / mem_dream: v2.0!  ", "c-mem-dream-v2-0"),
        ("STRASSE Straße", "strasse-strasse"),
        ("ＡＢＣ①", "abc1"),
        ("第一章 总则", "第一章-总则"),
        ("हिन्दी में", "हिन्दी-में"),
        ("Café ÉCOLE", "café-école"),
        ("⭐️ Stars", "stars"),
        ("\u0301\u0301a", "a"),
        ("\ud800\x00?", "untitled"),
        ("", "untitled"),
        ("word " * 40, "-".join(["word"] * 12)),
        ("x" * 100, "x" * 60),
    ],
)
def test_slugs(title: str, expected: str) -> None:
    assert slug(title) == expected


@given(st.text())
@example("\ufdfa" * 500)
@example("\u0301" * 500)
def test_a_slug_is_a_clean_segment(title: str) -> None:
    name = slug(title)
    assert 1 <= len(name) <= 60
    assert not set(name) & set("/~. \n") and name == name.strip("-") and "--" not in name
    assert slug(title.upper().lower()) == slug(title.lower()) or not title.isascii()


# --- split ---


def test_a_short_text_is_one_piece_without_its_blanks() -> None:
    assert split("  a b \n") == [(2, 5)]
    assert split(" \n") == []


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One is here. Two is there. Three.", ["One is here.", "Two is there.", "Three."]),
        ("他来了。“真的吗？”她问；我们走。好", ["他来了。“真的吗？”她问；", "我们走。好"]),
        ("一二三四五六七八九，十一十二。”十四十五", ["一二三四五六七八九，", "十一十二。”十四十五"]),
        ("first line\nsecond line\nthird", ["first line", "second line", "third"]),
        ("seven words without any stop in them", ["seven words", "without any", "stop in them"]),
        ("version 3.14 is out and v2.71 too", ["version 3.14 is", "out and v2.71", "too"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmno", "pqrstuvwxyz"]),
    ],
)
def test_pieces_end_at_sentences_then_words_then_anywhere(text: str, pieces: list[str]) -> None:
    assert [text[a:b] for a, b in split(text, 15)] == pieces


def test_a_piece_never_starts_with_a_mark_of_the_piece_before() -> None:
    text = "e\u0301" * 50 + "👩\u200d👧\U0001f44d\U0001f3fd" * 20
    firsts = [text[a] for a, _ in split(text, 9)]
    assert not any(unicodedata.combining(c) or c in "\u200d\U0001f3fd" for c in firsts)
    assert len(split("e" + "\u0301" * 100, 40)) == 3


def test_the_last_piece_is_no_scrap() -> None:
    assert [b - a for a, b in split("x" * 905)] == [680, 225]
    assert [b - a for a, b in split("word " * 181)] == [679, 224]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(BadInput, match="0"):
        split("a", 0)


@given(st.text(alphabet="ab .\n。，\u0301", max_size=300) | st.text(max_size=300), st.integers(1, 40))
def test_pieces_are_bounded_ordered_and_whole(text: str, limit: int) -> None:
    spans = split(text, limit)
    assert all(0 < b - a <= limit for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in zip(spans, spans[1:], strict=False))
    kept = "".join(text[a:b] for a, b in spans)
    assert "".join(kept.split()) == "".join(text.split())
    assert len(spans) <= 3 * len(text) // limit + 1 or limit < 4


# --- properties ---

FRAGMENTS = st.sampled_from(
    [
        "# A",
        "## A",
        "###### x",
        "#",
        "- ",
        "  - a",
        "    - b",
        "* ",
        "1. ",
        "1) a",
        "2. b",
        "> ",
        "```",
        "~~~",
        "---",
        "===",
        "***",
    ]
    + [
        "|a|b|",
        "|-|-|",
        "\n",
        "\n\n",
        "\n",
        "\t",
        "    ",
        "text",
        "A sentence. ",
        "一、甲",
        "（一）乙",
        "1、丙",
        "第一章",
        "1.1 D",
        "①",
    ]
    + [
        "\r\n",
        "\r",
        "\u3000",
        "\x0c",
        "\0",
        "\ud800",
        "\ufeff",
        "a: b",
        "[x]: y",
        "<div>",
        "`",
        "word " * 60,
        "长句子。" * 60,
    ]
)
LINES = st.builds(str.__add__, st.sampled_from(["", "", "  ", "    ", "      "]), FRAGMENTS)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=6), max_size=40).map("".join) | st.lists(
    LINES, max_size=25
).map("\n".join)


@settings(max_examples=400)
@given(TEXTS)
@example("- - a\n  - b\n-\n\n-\n  x")
@example("---\na: b\n---")
@example("***\n" * 200)
@example("# a\n\n" + "---\n\n" * 500)
@example("x\n" + "=" * 5_000)
def test_every_tree_is_sound_and_nothing_visible_is_lost(text: str) -> None:
    nodes = parse(text)
    assert_sound(text, nodes)
    assert_whole(text, nodes)
    assert parse(text) == nodes


@settings(max_examples=150)
@given(TEXTS, st.integers(3, 30))
def test_the_bounds_on_nodes_lines_and_size_lose_nothing(text: str, bound: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "NODES", bound)
        assert_sound(text, parse(text))
        assert_whole(text, parse(text))
        patch.setattr(tree, "MARKDOWN_LINES", 0)
        assert_sound(text, parse(text))
        assert_whole(text, parse(text))


@given(st.lists(st.text(alphabet="ab. \n\t\x0c\u3000。", max_size=40), max_size=6).map("\n\n".join))
@example("a\n\u3000\nb\n\x0c\nc")
def test_plain_text_reads_the_same_with_and_without_markdown(text: str) -> None:
    mixed = parse(text + "\n\n> quoted, so that the Markdown reader sees it all")
    assert mixed[1:-1] == parse(text)[1:]


BODIES = st.lists(
    st.sampled_from(["text", "- a\n- b", "1. x\n2. y", "> q", "word " * 300, "```\n# c\n```"]), max_size=4
)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("ABCD"), BODIES), min_size=2, max_size=5), BODIES, st.data())
def test_editing_one_section_moves_no_path_of_another(
    sections: list[tuple[str, list[str]]], edited: list[str], data: st.DataObject
) -> None:
    def write(parts: list[tuple[str, list[str]]]) -> str:
        return "\n\n".join(f"## {title}\n\n" + "\n\n".join(blocks) for title, blocks in parts)

    k = data.draw(st.integers(0, len(sections) - 1))
    changed = [*sections[:k], (sections[k][0], edited), *sections[k + 1 :]]
    own = [node.path for node in parse(write(sections)) if node.kind == "section"][k]
    before = {p for p in paths(write(sections)) if p.split("/")[0] != own}
    after = {p for p in paths(write(changed)) if p.split("/")[0] != own}
    assert before == after


# --- hostile input ---

HOSTILE: dict[str, Callable[[], str]] = {
    "one line of 5 MB": lambda: "a" * 5_000_000,
    "words without end": lambda: "word " * 1_000_000,
    "a million newlines": lambda: "\n" * 1_000_000,
    "a million paragraphs": lambda: "a\n\n" * 1_000_000,
    "brackets": lambda: "[" * 20_000,
    "nested quotes": lambda: ">" * 20_000 + "\n" + "> " * 20_000,
    "rows of nested quotes": lambda: (">" * 300 + " a\n") * 1_000,
    "lists 600 deep": lambda: "".join("  " * i + "- x\n" for i in range(600)) + "\n# H\n\nend\n",
    "lists on one line": lambda: "- " * 20_000,
    "quotes in lists": lambda: ("- > " * 300 + "x\n") * 200,
    "backtick runs": lambda: "".join("`" * i + "\n" for i in range(1, 251)),
    "combining marks": lambda: "a" + "\u0301" * 3_000_000,
    "combining marks in Markdown": lambda: "# a\n\n" + "\u0301" * 900_000,
    "NULs": lambda: "\0" * 1_000_000,
    "lone surrogates": lambda: "\ud800\udc00" * 500_000,
    "expanding letters": lambda: "# " + "\ufdfa" * 150 + "\n\n" + "\ufdfa" * 1_000_000,
    "pipes": lambda: "|" * 20_000 + "\n" + "|-" * 10_000 + "|\n" + "|" * 20_000,
    "table starts": lambda: "a|b\n-|-\n" * 7_000,
    "headings of one title": lambda: "# x\n" * 100_000,
    "headings of one title through Markdown": lambda: "# x\n" * 14_000,
    "bullets": lambda: "- x\n" * 100_000,
    "bullets through Markdown": lambda: "- x\n" * 14_000,
    "numbered lines": lambda: "一、a\n" * 400_000,
    "fences": lambda: "".join("`" * i + "\n" for i in range(3, 1_000)),
    "frontmatter without end": lambda: "---\na: b\n" + "x: y\n" * 200_000,
    "comments without end": lambda: "<!--" * 200_000,
    "blanks": lambda: ("\n" + " " * 1_000) * 900 + "- x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_whole_in_bounded_time(name: str) -> None:
    text = HOSTILE[name]()
    nodes = parse(text)
    assert_sound(text, nodes)
    assert len(nodes) <= tree.NODES + len(text) // 200 + 2
    assert_whole(text, nodes)


def test_a_list_too_deep_flattens_and_what_follows_keeps_its_place() -> None:
    text = HOSTILE["lists 600 deep"]()
    nodes = parse(text)
    assert max(node.path.count("/") + 1 for node in nodes) <= tree.DEPTH
    assert [node.path for node in nodes[-2:]] == ["h", "h/p1"]
    assert_whole(text, nodes)


def test_an_open_item_ends_where_the_bound_on_nodes_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "NODES", 3)
    text = "- a\n  - b\n  - c\n  - d\n\nend"
    assert [(node.path, text[node.start : node.end]) for node in parse(text)[1:]] == [
        ("item-1", "- a\n  - b"),
        ("item-1/item-1", "- b"),
        ("rest", "- c\n  - d\n\nend"),
    ]


def test_a_reader_that_leaves_blocks_out_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "## H\n\n" + "word " * 300 + "\n\n[b]: http://y\n\ntext\n\n[c]: http://z\n"
    monkeypatch.setattr(tree, "_reader", lambda: MarkdownIt("commonmark"))
    assert_whole(text, parse(text))


def test_past_the_bound_on_nodes_the_rest_becomes_pieces() -> None:
    nodes = parse("a\n\n" * 30_000)
    assert [node.path for node in nodes[tree.NODES - 1 : tree.NODES + 2]] == ["p19999", "rest", "rest.2"]


def test_text_beyond_the_markdown_bound_keeps_headings_and_fences() -> None:
    text = "# A\n\n````\n# no\n```\n# no\n````\n\n" + "- line\n" * tree.MARKDOWN_LINES + "\n# B\n\nend"
    sections = [node.path for node in parse(text) if node.kind == "section"]
    assert sections == ["a", "b"]
    assert parse(text)[2].title == "# no ``` # no"
