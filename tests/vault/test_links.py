from __future__ import annotations

import time

import pytest

from mnemic.vault.links import Graph, key_of, links, resolve, rewritten


def found(text: str) -> list[tuple[str, str, str]]:
    return [(link.target, link.heading, link.alias) for link in links(text)]


def test_targets_headings_blocks_and_aliases_are_told_apart() -> None:
    text = "[[Ada]] [[cards/Ada#Early life|she]] ![[Ada#^b1]] [[Ada\\|in a table]] [[#here]] [[]]"
    assert found(text) == [
        ("Ada", "", ""), ("cards/Ada", "Early life", "she"), ("Ada", "^b1", ""), ("Ada", "", "in a table")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "target", "heading", "alias"),
    [("[her](Ada.md)", "./Ada.md", "", "her"), ("![x](../a/Ada.md#Early%20life)", "../a/Ada.md", "Early life", "x"),
     ("[`c` x](<My note.md#a b>)", "./My note.md", "a b", "`c` x"), ("[x](My%20n%C3%B6te.md 'title')", "./My nöte.md", "", "x"),
     ("[x](/cards/Ada.MD)", "/cards/Ada.MD", "", "x"), ("[x](a_(b).md)", "./a_(b).md", "", "x"),
     ("[ref]: ./Ada.md", "./Ada.md", "", "ref"), ("[](Ada.md)", "./Ada.md", "", "")],
)  # fmt: skip
def test_a_markdown_link_is_decoded_and_begins_at_its_note(text: str, target: str, heading: str, alias: str) -> None:
    assert found(text) == [(target, heading, alias)]


@pytest.mark.parametrize(
    "text",
    ["[x](https://e.org/a.md)", "[x](//e.org/a.md)", "[x](mailto:a@b.md)", "[x](a.png)", "[x](#here)", "[x\\](a.md)",
     "`[x](a.md)`", "(a.md)", "](a.md)", "[^1]: a.md", "then [x]: a.md", "[x] (a.md)", "[x](a b.md)"],
)  # fmt: skip
def test_what_leads_elsewhere_or_is_no_markdown_link_is_none(text: str) -> None:
    assert found(text) == []


def test_a_path_leads_from_its_note_or_from_the_root_and_is_else_looked_for() -> None:
    notes = ["Ada.md", "a/Ada.md", "a/b/ada.md"]
    targets = ("./Ada.md", "../Ada.md", "/Ada.md", "./b/Ada.md", "../../Ada.md")
    assert [resolve(target, "a/x.md", notes) for target in targets] == [
        "a/Ada.md", "Ada.md", "Ada.md", "a/b/ada.md", None
    ]  # fmt: skip
    assert resolve("./b/ada.md", "c/x.md", notes) == "a/b/ada.md" and resolve("./Ada.md", "c/x.md", ["a/Ada.md"]) == "a/Ada.md"
    assert resolve("/Ada.md", "x.md", ["ADA.md", "Ada.md"]) == "Ada.md" == resolve("Ada", "x.md", ["ADA.md", "Ada.md"])


def test_what_stands_in_code_is_no_link() -> None:
    text = "`[[A]]` ``x ` [[B]]`` [[C]] ` [[D]]\n```md\n[[E]]\n````\n~~~\n[[F]]\n```\n~~~\n[[G]]\n"
    assert [name for name, _, _ in found(text)] == ["C", "D", "G"]


def test_a_rewriting_touches_targets_alone() -> None:
    text = "a [[Old]] b [[ Old #H|Old]] `[[Old]]` [[Other]]\r\n"
    assert rewritten(text, lambda link: "New" if link.target.strip() == "Old" else None) == (
        "a [[New]] b [[New#H|Old]] `[[Old]]` [[Other]]\r\n"
    )


@pytest.mark.parametrize(
    "text",
    ["[[" * 500_000, "`" * 1_000_000, "` `` " * 200_000, "[[a|" * 300_000, "word " * 1_000_000, "](" * 500_000, "[x](" * 250_000,
     "](x.md)" * 150_000, "]: " * 300_000, "[x](<" * 200_000],
)  # fmt: skip
def test_a_hostile_line_takes_no_more_than_linear_time(text: str) -> None:
    start = time.process_time()
    assert found(text) == []
    assert time.process_time() - start < 5


def test_a_name_is_the_same_in_any_case_and_composition() -> None:
    assert key_of("cards/Zoe\u0308.md") == key_of("ZOË") == "zoë"


def test_a_name_that_several_bear_means_the_nearest() -> None:
    both = ["a/Ada.md", "b/c/Ada.md"]
    assert resolve("Ada", "b/c/x.md", both) == "b/c/Ada.md"
    assert resolve("Ada", "x.md", both) == "a/Ada.md"
    assert resolve("c/ada", "x.md", both) == "b/c/Ada.md"
    assert resolve("d/Ada", "x.md", both) is None


def test_a_graph_knows_both_directions_and_what_leads_nowhere() -> None:
    graph = Graph(["A.md", "B.md"], [("A.md", "B"), ("A.md", "b"), ("B.md", "A"), ("B.md", "gone")])
    assert graph.forward == {"A.md": ["B.md"], "B.md": ["A.md"]}
    assert graph.back == {"B.md": ["A.md"], "A.md": ["B.md"]}
    assert graph.broken == [("B.md", "gone")]
