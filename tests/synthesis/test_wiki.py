from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.errors import BadInput, NotFound
from mnemic.memory import Memory
from mnemic.synthesis import Wiki
from mnemic.synthesis.wiki import CEILING
from tests.synthesis.homes import opened, talk


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with opened(tmp_path_factory.mktemp("wiki")) as found:
        talk(found)
        found.dream()
        yield found


def test_every_article_is_listed(memory: Memory) -> None:
    found = memory.wiki.list()
    assert found["total"] == 14
    assert {"title": "Ines", "type": "person", "sections": 3, "stub": False} in found["articles"]


def test_a_name_is_resolved_by_title_punctuation_word_and_near_miss(memory: Memory) -> None:
    wiki = memory.wiki
    assert (wiki.resolve("ines")["article"], wiki.resolve("ines")["how"]) == ("Ines", "title")
    assert wiki.resolve("Frederiks-havn")["how"] == "squeezed"
    assert wiki.resolve("articles/Pixel.md")["article"] == "Pixel"
    assert wiki.resolve("the Pixel dog")["article"] == "Pixel"
    assert wiki.resolve("Inez") == {"name": "Inez", "article": None, "path": None, "how": None, "near": ["Ines"]}


def test_contents_lead_to_a_section_whose_sources_open(memory: Memory) -> None:
    toc = memory.wiki.toc("Ines")
    assert toc["lead"].startswith("Ines works as a ferry pilot now")
    assert {"arts", "sport"} <= {row["anchor"] for row in toc["sections"]}
    found = memory.wiki.section("Ines", "arts")
    assert "[[Pixel]]" in found["text"]
    assert [memory.show(path, touch=False)["kind"] for path in found["sources"].values()] == ["message"] * len(found["sources"])
    assert found["next"] is None


def test_links_infobox_category_and_search(memory: Memory) -> None:
    wiki = memory.wiki
    assert "Pixel" in wiki.links("Tomas")["links"]
    assert "Tomas" in wiki.links("Pixel")["backlinks"]
    assert wiki.infobox("Ines")["infobox"]["works_as"] == "ferry pilot"
    assert [row["article"] for row in wiki.category("people")["articles"]] == ["Ines", "Tomas"]
    hits = wiki.search("greyhound oven")["hits"]
    assert hits[0]["article"] in ("Pixel", "Tomas")
    assert "greyhound" in wiki.search("greyhound")["hits"][0]["passage"]["text"]


def test_what_is_not_there_is_named_with_what_is(memory: Memory) -> None:
    with pytest.raises(NotFound, match="did you mean Ines"):
        memory.wiki.toc("Inez")
    with pytest.raises(NotFound, match="it has __lead__, arts"):
        memory.wiki.section("Ines", "work")
    with pytest.raises(NotFound, match="People"):
        memory.wiki.category("Planets")
    with pytest.raises(BadInput):
        memory.wiki.section("Ines", "arts", offset=10**6)


def test_a_redirect_and_an_alias_lead_on() -> None:
    wiki = Wiki(
        {
            "articles/Ada Lovelace.md": "# Ada Lovelace\n\n```info\naliases: Countess, AAL\n```\n\nA.\n",
            "articles/Ada.md": "# Ada\n\n*Redirect to [[Ada Lovelace]].*\n",
        }
    )
    assert wiki.resolve("Ada")["article"] == "Ada Lovelace"
    assert wiki.resolve("countess") == {
        "name": "countess",
        "article": "Ada Lovelace",
        "path": "articles/Ada Lovelace.md",
        "how": "alias",
        "near": [],
    }
    assert wiki.list()["total"] == 1


def test_no_answer_is_above_its_size_and_a_long_section_is_read_on() -> None:
    body = "\n\n".join(f"*{day} May 2023.* Ada built bridge number {day} over a wide river.[^1]" for day in range(1, 400))
    sections = "\n\n".join(f"## Section {place} about something that has a long name {'x' * 60}\n\ntext" for place in range(300))
    pages = {
        f"articles/Bridge {place} {'y' * 60}.md": f"# Bridge {place} {'y' * 60}\n\n[[Ada]] built it.\n" for place in range(400)
    }
    wiki = Wiki({"articles/Ada.md": f"# Ada\n\n{'lead ' * 2000}\n\n## Work\n\n{body}\n\n{sections}\n", **pages})
    for answer in (
        wiki.list(),
        wiki.toc("Ada"),
        wiki.links("Ada"),
        wiki.search("bridge"),
        wiki.section("Ada", "work"),
        wiki.resolve("Bridge"),
    ):
        assert len(json.dumps(answer).encode()) <= CEILING
    assert wiki.list()["more"] > 0
    parts, at = [], 0
    while at is not None:
        found = wiki.section("Ada", "work", offset=at)
        assert len(found["text"]) <= 1_900
        parts.append(found["text"])
        at = found["next"]
    assert "".join(parts) == body


def test_an_empty_wiki_answers(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert memory.wiki.list() == {"articles": [], "total": 0, "next": None, "more": 0}
        assert memory.wiki.search("anything")["hits"] == []
        assert memory.wiki.resolve("anything")["article"] is None


def test_reading_a_section_is_a_use_of_its_article_and_looking_around_is_none(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory)
        memory.dream()

        def uses() -> int:
            return sum(row["access_count"] for row in memory._store.rows("default", "usage"))

        wiki = memory.wiki
        for look in (wiki.list, lambda: wiki.toc("Ines"), lambda: wiki.search("ferry"), lambda: wiki.links("Ines"),
                     lambda: wiki.infobox("Ines"), lambda: wiki.category("People"), lambda: wiki.resolve("ines")):  # fmt: skip
            look()
        memory.wiki.section("Ines", "arts", touch=False)
        assert uses() == 0
        memory.wiki.section("Ines", "arts")
        assert uses() == 1
        document = memory._store.document_by_source("default", memory.vault.source("articles/Ines.md"))
        assert document is not None and memory._store.row("default", "usage", (document.id,)) is not None
