from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.synthesis import gate
from mnemic.synthesis.article import Source
from tests.synthesis.test_article import PAGE

GOOD = PAGE


def resolves(source: Source) -> bool:
    return source.path.startswith("/sessions/a/") and source.conv == "0123abcd"


def test_a_good_article_passes_alone_and_as_its_own_successor() -> None:
    assert gate.check(None, GOOD, "Ada", resolves) == []
    assert gate.check(GOOD, GOOD, "Ada", resolves) == []


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda text: text.replace("# Ada\n", "# Eve\n", 1), "its title must be 'Ada'"),
        (lambda text: text.replace("# Ada\n", "# Ada\n\n# Ada\n", 1), "its title must be 'Ada'"),
        (lambda text: text.replace("## References", "## Sources"), "References must stand once"),
        (lambda text: text + "\n## Afterword\n\nhello\n", "References must stand once, as the last"),
        (lambda text: text.replace("## References", "## See also\n\n- [[X]]\n\n## References"), "more than one See also"),
        (lambda text: text.replace("## See also", "## Work\n\nx[^1]\n\n## See also"), "'Work' stands twice"),
        (lambda text: text.replace("builds bridges.[^2]", "builds bridges."), "footnote 2 is cited nowhere"),
        (lambda text: text.replace("bridges.[^2]", "bridges.[^2][^7]"), "[^7] has no footnote"),
        (lambda text: text.replace("[^2]", "[^3]"), "not numbered 1, 2, 3"),
        (lambda text: text.replace("/sessions/a/2/ada", "/sessions/a/1/ada"), "two footnotes name the same turn"),
        (lambda text: text.replace("/sessions/a/2/ada", "/sessions/z/2/ada"), "leads nowhere"),
        (lambda text: text.replace("[^1]: `conv:0123abcd", "[^1]: `conv:ffffffff"),
         "leads nowhere, or to another conversation"),
        (lambda text: text.replace(" - `/sessions/a/2/ada`", ""), "a footnote is not of the form"),
        (lambda text: text.replace("Ada builds bridges", "Ada builds\x07bridges"), "control characters"),
        (lambda text: text.replace("## not a heading\n```", "## not a heading"), "References must stand once"),
        (lambda text: text + "x" * gate.LARGEST, "the limit is"),
    ],
)  # fmt: skip
def test_what_breaks_the_grammar_is_refused(spoil: Callable[[str], str], problem: str) -> None:
    assert any(problem in one for one in gate.check(None, spoil(GOOD), "Ada", resolves))


def test_a_text_that_loses_its_words_or_a_citation_is_refused() -> None:
    long = GOOD.replace("Ada builds bridges.", "Ada builds bridges of stone and of steel over wide rivers in the north.")
    assert "shrink" in gate.check(long, GOOD, "Ada", resolves)[0]
    other = GOOD.replace("/sessions/a/2/ada", "/sessions/a/3/ada")
    assert "'/sessions/a/2/ada' would be lost" in gate.check(GOOD, other, "Ada", resolves)[0]
    assert gate.check(GOOD, other, "Ada", resolves, {"/sessions/a/2/ada"}) == []


def test_a_patch_may_change_its_target_and_nothing_else() -> None:
    after = GOOD.replace("Ada builds bridges", "Ada builds bridges and dams")
    assert gate.outside(GOOD, after, {"work"}) == []
    assert gate.outside(GOOD, after, set()) == ["section 'Work' would change, and it was not the target"]
    assert gate.outside(GOOD, GOOD.replace("**Ada** lives", "**Ada** now lives"), {"work"}) != []


def test_a_dream_that_loses_a_page_a_source_or_a_tenth_of_the_words_is_stopped() -> None:
    assert gate.conserved({"a": GOOD}, {"a": GOOD}) == []
    assert gate.conserved({"a": GOOD}, {"a": None})
    assert "would be cited nowhere" in gate.conserved({"a": GOOD}, {"a": GOOD.replace("/a/2/", "/a/3/")})[0]
    assert "would shrink" in gate.conserved({"a": GOOD}, {"a": GOOD.replace("**Ada** lives in York.", "Ada.")})[0]
    moved = GOOD.replace("/a/2/", "/a/3/")
    assert gate.conserved({"a": GOOD}, {"a": moved, "b": GOOD}) == []
