"""What a dream raises for people to decide, on pages that give cause for it."""

from __future__ import annotations

from dataclasses import dataclass

from mnemic.synthesis.rows import NAMES, Rows
from mnemic.synthesis.signals import Signal, signals


@dataclass(frozen=True, slots=True)
class Touched:
    key: str
    title: str


def page(title: str, body: str, type: str = "topic") -> str:
    return f"# {title}\n\n```info\ntype: {type}\n```\n\n{body}\n\n## References\n\n[^1]: `conv:00000000` - `/sessions/s/1/ada`\n"


def routed(**chunks: str) -> Rows:
    """Subjects with an article each, and the chunks that are about them, one letter each."""
    rows = Rows({name: {} for name in NAMES}, {name: {} for name in NAMES})
    for key, of in chunks.items():
        rows.put("subjects", {"key": key, "title": key.title(), "kind": "topic", "article": f"articles/{key.title()}.md"})
        for chunk in of:
            rows.put("routes", {"chunk": chunk, "subject": key, "turns": 1, "state": "tidy", "section": ""})
    return rows


def raised(text: str, rows: Rows | None = None, others: dict[str, str] | None = None) -> list[Signal]:
    path, touched = "articles/Kiln.md", Touched("kiln", "Kiln")
    return signals({path: text, **(others or {})}, {path: touched}, rows or routed(kiln="ab"))


def test_a_topic_of_which_few_sentences_speak_drifts() -> None:
    stray = "Ada took the early train to the coast again.[^1] "
    (found,) = raised(page("Kiln", f"The kiln is new and stands in the shed.[^1] {stray * 4}"))
    assert (found.kind, found.why) == ("drift", "only 1 of 5 sentences name its subject")
    near = "The kiln was fired to cone six again.[^1] "
    assert raised(page("Kiln", near * 2 + stray * 3)) == []
    assert raised(page("Kiln", f"The kiln is new and stands in the shed.[^1] {stray * 3}")) == []


def test_topics_that_come_up_in_the_same_chunks_may_be_one() -> None:
    text = page("Kiln", "The kiln is new.[^1]")
    others = {"articles/Oven.md": page("Oven", "The oven is new.[^1]")}
    (found,) = raised(text, routed(kiln="abcd", oven="cdab"), others)
    assert (found.kind, found.why) == ("merge", "it comes up where [[Oven]] does: one article?")
    assert raised(text, routed(kiln="abcd", oven="aefg"), others) == []
    assert raised(text, routed(kiln="abc", oven="abc"), others) == []


def test_where_somebody_comes_from_does_not_change_and_a_home_may_once() -> None:
    def told(*lines: str) -> list[Signal]:
        return raised(page("Kiln", "**Kiln** lives in Bergen.[^1]\n\n## History\n\n" + "\n\n".join(lines), "person"))

    moved = "*2 May 2026.* Until then Kiln lived in Oslo.[^1] From then on it is Bergen.[^1]"
    assert told(moved) == []
    (found,) = told(moved, moved.replace("Oslo", "Bergen"))
    assert (found.kind, found.why) == ("contradiction", "what it says of “lived in” changed more than once, or cannot change")
    (found,) = told("*2 May 2026.* Until then Kiln came from Oslo.[^1] From then on it is Bergen.[^1]")
    assert (found.kind, found.path) == ("contradiction", "articles/Kiln.md")


def test_a_section_as_long_as_all_others_may_be_an_article() -> None:
    long, short = "The kiln is hot today. " * 30, "The kiln is cold."
    (found,) = raised(page("Kiln", f"## Firing\n\n{long}[^1]\n\n## Repair\n\n{short}[^1]"))
    assert (found.kind, found.why) == ("split", "section “Firing” is as long as all others together: an article of its own?")
    assert raised(page("Kiln", f"## Firing\n\n{short}[^1]\n\n## Repair\n\n{short}[^1]")) == []
