from __future__ import annotations

from mnemic.synthesis import article
from mnemic.synthesis.article import Source

PAGE = """# Ada

```info
type: person
kind: person
lives_in: York[^1]
```

**Ada** lives in York.[^1]

## Work

*1 May 2026.* Ada builds bridges.[^2]

```
## not a heading
```

## See also

- [[Ben]]

## References

[^1]: `conv:0123abcd` (2026-05-01, Ada) - `/sessions/a/1/ada`
[^2]: `conv:0123abcd` (2026-05-01, Ada) - `/sessions/a/2/ada`

*Categories: People · Engineers*
"""


def test_the_parts_of_an_article_are_found_and_headings_in_code_do_not_count() -> None:
    assert article.title_of(PAGE) == "Ada"
    assert [row.anchor for row in article.sections(PAGE)] == ["__lead__", "work", "see-also", "references"]
    assert article.infobox(PAGE) == {"type": "person", "kind": "person", "lives_in": "York[^1]"}
    assert article.categories(PAGE) == ["People", "Engineers"]
    assert article.markers(PAGE) == [1, 1, 2]
    assert article.notes(PAGE)[2] == Source("/sessions/a/2/ada", "0123abcd", "2026-05-01", "Ada")


def test_a_section_ends_at_the_next_heading_of_its_level_or_a_higher_one() -> None:
    text = "# A\n\nlead\n\n## B\n\none\n\n### C\n\ntwo\n\n## D\n\nthree\n"
    rows = {row.anchor: text[row.start : row.end] for row in article.sections(text)}
    assert rows["b"] == "## B\n\none\n\n### C\n\ntwo\n\n"
    assert rows["c"] == "### C\n\ntwo\n\n"


def test_paragraphs_at_the_end_of_a_section_leave_every_other_byte() -> None:
    at = article.section(PAGE, "work")
    assert at is not None
    after = article.appended(PAGE, at, "*2 May 2026.* Ada rests.[^1]")
    assert after.replace("*2 May 2026.* Ada rests.[^1]\n\n", "") == PAGE


def test_a_new_source_takes_the_next_number_and_a_known_one_keeps_its_own() -> None:
    fresh = Source("/sessions/b/1/ada", "aaaaaaaa", "2026-06-01", "Ada")
    numbers = article.numbered(article.notes(PAGE), [fresh, article.notes(PAGE)[1]])
    assert numbers == {"/sessions/a/1/ada": 1, "/sessions/a/2/ada": 2, "/sessions/b/1/ada": 3}
    after = article.with_sources(PAGE, numbers, [fresh])
    assert after.count("[^3]: `conv:aaaaaaaa` (2026-06-01, Ada) - `/sessions/b/1/ada`\n") == 1


def test_a_new_section_stands_before_the_apparatus() -> None:
    after = article.inserted(PAGE, "Family", "Ada has a son.[^1]")
    assert [row.heading for row in article.sections(after)[1:]] == ["Work", "Family", "See also", "References"]


def test_the_stub_line_comes_and_goes_with_the_words() -> None:
    stub = article.marked(PAGE)
    assert stub.count(article.STUB) == 1
    assert article.marked(stub) == stub
    at = article.section(stub, "work")
    assert at is not None
    grown = article.inserted(article.with_body(stub, at, "word " * 60), "Family", "more")
    assert article.STUB not in article.marked(grown)


def test_see_also_grows_and_names_nothing_twice() -> None:
    after = article.with_see_also(PAGE, ["Ben", "Cy"])
    assert "- [[Ben]]\n- [[Cy]]\n" in after
    assert article.with_see_also(after, ["Ben", "Cy"]) == after


def test_a_redirect_is_known() -> None:
    assert article.redirect("# A\n\n*Redirect to [[Ada]].*\n") == "Ada"
    assert article.redirect(PAGE) is None
