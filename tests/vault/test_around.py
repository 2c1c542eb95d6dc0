from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.memory import Memory
from tests.vault.homes import note, opened

PAGES = {
    "Kiln": "Fired by [[Glaze]] and [[Clay]].",
    "Glaze": "Put on [[clay]], from [[Shop]].",
    "Clay": "Kept beside the [[Kiln]]; soft.",
    "Shop": "Sells [[Clay]].",
}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = opened(tmp_path, git="off")
    for name, text in PAGES.items():
        note(memory, f"articles/{name}.md", f"# {name}\n\n{text}\n")
    memory.vault.sync()
    return memory


def links(memory: Memory, path: str, steps: int) -> set[tuple[str, str]]:
    edges = memory.around(path, steps=steps, limit=50)["edges"]
    return {(edge["from"], edge["to"]) for edge in edges if edge["kind"] == "link"}


def test_links_between_neighbours_are_told_and_those_that_lead_away_from_them_are_not(memory: Memory) -> None:
    near = {
        ("/articles/kiln", "/articles/glaze"),
        ("/articles/kiln", "/articles/clay"),
        ("/articles/clay", "/articles/kiln"),
        ("/articles/glaze", "/articles/clay"),
    }
    assert links(memory, "/articles/kiln", 1) == near
    assert links(memory, "/articles/kiln", 2) == near | {
        ("/articles/glaze", "/articles/shop"),
        ("/articles/shop", "/articles/clay"),
    }


def test_a_path_that_a_neighbour_names_is_cited_by_it(memory: Memory) -> None:
    memory.remember("The kiln is hot: /notes/second and /notes/third.", title="first")
    memory.remember("It cools: /notes/third, /notes/fourth.", title="second")
    memory.remember("It is cold.", title="third")
    memory.remember("Nobody is near.", title="fourth")
    edges = memory.around("/notes/first", steps=1, limit=50)["edges"]
    assert {(edge["from"], edge["to"]) for edge in edges if edge["kind"] == "cites"} == {
        ("/notes/first", "/notes/second"), ("/notes/first", "/notes/third"), ("/notes/second", "/notes/third"),
    }  # fmt: skip
