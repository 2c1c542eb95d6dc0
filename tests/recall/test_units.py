from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.recall.rows import Seen, noted
from mnemic.recall.units import Units, units
from mnemic.store.trees import talk_number
from tests.homes import Home

LONG = "rope " * 300


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.store.close()


def every(home: Home) -> Units:
    """All that a home's conversation `s` and its notes hold."""
    talk = talk_number("s")
    assert talk is not None
    spoken = Seen(home.store, "default").rows(home.store.turns("default", [(talk, 0, 99)]))
    documents = home.store.documents("default", kind="note")
    ids = [node.id for document in documents for node in home.store.nodes("default", document.id)]
    return units({"hot": noted(home.store.found("default", ids))}, {"hot": spoken})


def test_a_message_is_a_unit_and_so_is_each_node_of_a_note_that_has_words(home: Home) -> None:
    home.capture(("user", "the kiln fires"), ("assistant", "at dusk"))
    home.remember("# Tar\n\nIt boils.\n\n## Oars\n\nThey float.", title="Tar")
    found = every(home)
    assert found.spoken.tolist() == [False] * (len(found) - 2) + [True, True]
    assert (found.place[-2:].tolist(), found.by_user[-2:].tolist()) == ([1, 2], [True, False])
    assert (found.group[0], found.group[-1]) == (0, 1)
    assert (found.lengths() > 0).all()


def test_a_message_with_parts_is_scored_by_them_and_not_by_the_whole_besides(home: Home) -> None:
    home.capture(("user", "kiln"), ("assistant", LONG), ("user", "tar"))
    found = every(home)
    assert found.place.tolist() == [1, 2, 3]
    assert len(found.nodes(1)) >= 3
    assert found.frequencies(["kiln", "rope", "tar"]).tolist() == [[1, 0, 0], [0, 300, 0], [0, 0, 1]]
    assert found.lengths().tolist() == [1, 300, 1]


def test_units_are_told_by_any_of_their_nodes(home: Home) -> None:
    home.capture(("user", "kiln"), ("assistant", LONG))
    found = every(home)
    parts = found.nodes(1)
    assert (found.holding([parts[-1]]), found.holding([10**9]), found.holding(found.nodes(0) + parts[:1])) == ([1], [], [0, 1])
    assert found.any(np.isin(found.node, parts[-1:])).tolist() == [0, 1]
    assert found.any(np.isin(found.node, parts[:1])).tolist() == [0, 0]  # the whole, by which it is not scored


def test_nothing_makes_no_units() -> None:
    found = units({}, {})
    assert (len(found), found.lengths().tolist(), found.frequencies(["kiln"]).shape) == (0, [], (0, 1))
