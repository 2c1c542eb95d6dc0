"""The graph of server-memory over documents: what goes in comes out, and nothing is lost between two writers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.clock import CountingIds, FixedClock
from mnemic.errors import BadInput, NotFound
from tests.homes import NOON

ADA = {"name": "Ada Lovelace", "entityType": "person", "observations": ["Likes trains", "Two\nlines"]}
ACME = {"name": "Acme", "entityType": "company (old)", "observations": []}
WORKS = {"from": "Ada Lovelace", "to": "Acme", "relationType": "works at"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config")}
    with Memory.open(tmp_path / "home", environ=environ, clock=FixedClock(NOON), ids=CountingIds()) as made:
        yield made


def test_entities_and_relations_are_read_back_as_they_were_written(memory: Memory) -> None:
    assert memory.graph.create_entities([ADA, ACME]) == [ADA, ACME]
    assert memory.graph.create_relations([WORKS]) == [WORKS]
    assert memory.graph.read() == {"entities": [ADA, ACME], "relations": [WORKS]}
    assert memory.verify().ok


def test_what_is_there_already_is_left_as_it_is(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    memory.graph.create_relations([WORKS])
    assert memory.graph.create_entities([{**ADA, "observations": ["new"]}]) == []
    assert memory.graph.create_relations([WORKS, WORKS]) == []
    assert memory.graph.read() == {"entities": [ADA], "relations": [WORKS]}


def test_observations_are_added_once_and_only_to_entities_that_are_there(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    added = memory.graph.add_observations([{"entityName": "Ada Lovelace", "contents": ["Likes trains", "Moved", "Moved"]}])
    assert added == [{"entityName": "Ada Lovelace", "addedObservations": ["Moved"]}]
    before = memory.graph.read()
    with pytest.raises(NotFound, match="Entity with name Nobody not found"):
        memory.graph.add_observations([
            {"entityName": "Ada Lovelace", "contents": ["lost"]}, {"entityName": "Nobody", "contents": ["x"]},
        ])  # fmt: skip
    assert memory.graph.read() == before


def test_a_deleted_entity_takes_its_relations_along_and_comes_back_without_its_old_observations(memory: Memory) -> None:
    memory.graph.create_entities([ADA, ACME])
    memory.graph.create_relations([WORKS])
    memory.graph.delete_entities(["Ada Lovelace", "Nobody"])
    assert memory.graph.read() == {"entities": [ACME], "relations": []}
    assert memory.recall("Who likes trains?").hits == ()
    memory.graph.create_entities([{**ADA, "observations": ["Two\nlines"]}])
    assert memory.graph.open(["Ada Lovelace"])["entities"] == [{**ADA, "observations": ["Two\nlines"]}]


def test_a_deleted_entity_can_come_back_as_something_else(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    memory.graph.delete_entities(["Ada Lovelace"])
    memory.graph.create_entities([{**ADA, "entityType": "ship"}])
    assert memory.graph.read()["entities"] == [{**ADA, "entityType": "ship"}]


def test_deleted_observations_and_relations_are_gone_and_can_be_written_again(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    memory.graph.create_relations([WORKS])
    memory.graph.delete_observations([{"entityName": "Ada Lovelace", "observations": ["Likes trains", "never said"]}])
    memory.graph.delete_relations([WORKS, {**WORKS, "to": "Nobody"}])
    assert memory.graph.read() == {"entities": [{**ADA, "observations": ["Two\nlines"]}], "relations": []}
    memory.graph.add_observations([{"entityName": "Ada Lovelace", "contents": ["Likes trains"]}])
    memory.graph.create_relations([WORKS])
    (ada,) = memory.graph.read()["entities"]
    assert set(ada["observations"]) == {"Likes trains", "Two\nlines"}
    assert memory.graph.read()["relations"] == [WORKS]


def test_search_looks_at_name_type_and_observations_whatever_their_case(memory: Memory) -> None:
    memory.graph.create_entities([ADA, ACME])
    memory.graph.create_relations([WORKS])
    for query, names in (("LOVE", ["Ada Lovelace"]), ("company", ["Acme"]), ("TRAINS", ["Ada Lovelace"]), ("zzz", [])):
        found = memory.graph.search(query)
        assert [one["name"] for one in found["entities"]] == names
        assert found["relations"] == ([WORKS] if names else [])


def test_a_relation_is_shown_with_an_entity_that_is_there(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    memory.graph.create_relations([WORKS])
    assert memory.graph.open(["Ada Lovelace", "Acme"]) == {"entities": [ADA], "relations": [WORKS]}
    assert memory.graph.open(["Acme"]) == {"entities": [], "relations": []}


def test_recall_finds_an_observation_with_the_name_of_its_entity(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    hit = memory.recall("Who likes trains?").hits[0]
    assert (hit.title, hit.text) == ("Ada Lovelace", "Likes trains")


def test_what_a_person_forgot_does_not_come_back_by_being_created(memory: Memory) -> None:
    memory.graph.create_entities([ADA])
    memory.forget("/graph/entities/ada-lovelace", reason="asked to")
    memory.graph.create_entities([ADA])
    assert memory.graph.read()["entities"] == []


def test_two_names_with_one_slug_are_two_entities(memory: Memory) -> None:
    twins = [{**ADA, "name": name, "observations": [f"{name} sings"]} for name in ("Ada!", "Ada?", "ada")]
    memory.graph.create_entities(twins)
    assert memory.graph.read()["entities"] == twins


def test_two_writers_at_once_lose_nothing(tmp_path: Path, memory: Memory) -> None:
    from concurrent.futures import ThreadPoolExecutor

    memory.graph.create_entities([ADA])
    environ = {"MNEMIC_CONFIG": str(tmp_path / "config")}
    with Memory.open(tmp_path / "home", environ=environ) as other:
        def write(number: int) -> None:
            graph = (memory, other)[number % 2].graph
            graph.add_observations([{"entityName": "Ada Lovelace", "contents": [f"fact {number}"]}])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(20)))
    (ada,) = memory.graph.read()["entities"]
    assert set(ada["observations"]) == {*ADA["observations"], *(f"fact {number}" for number in range(20))}


def test_a_file_is_taken_in_once_and_its_bad_lines_are_named(memory: Memory) -> None:
    lines = [
        '{"type":"entity","name":"Ada Lovelace","entityType":"person","observations":["Likes trains","Two\\nlines"]}',
        "", "{torn", '{"type":"entity","name":"","entityType":"person","observations":[]}', '{"type":"entity","name":"X"}',
        '{"type":"relation","from":"Ada Lovelace","to":"Acme","relationType":"works at"}', "[]",
        '{"type":"relation","from":"Ada Lovelace","to":"Acme","relationType":""}',
    ]  # fmt: skip
    done = memory.graph.take(lines)
    assert (done["entities"], done["observations"], done["relations"]) == (1, 2, 1)
    assert [item["line"] for item in done["skipped"]] == [3, 4, 5, 7, 8]
    assert memory.graph.read() == {"entities": [ADA], "relations": [WORKS]}
    again = memory.graph.take(lines)
    assert (again["entities"], again["observations"], again["relations"]) == (0, 0, 0)
    assert memory.show("/graph/entities/ada-lovelace", touch=False)["origin"] == "import"


def test_a_name_that_no_line_can_hold_is_refused_before_anything_is_stored(memory: Memory) -> None:
    with pytest.raises(BadInput, match="cannot be used"):
        memory.graph.create_entities([ADA, {**ADA, "name": "x" * 201}])
    assert memory.graph.read()["entities"] == []
