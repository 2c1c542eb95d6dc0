from __future__ import annotations

import pytest

from mnemic.ledger.chain import canonical, changes_of, images_in, leaf_hash, payload_hash, payload_of
from mnemic.ledger.witness import FolderWitness
from mnemic.models.event import Change, Event, Head
from tests.homes import Home

EVENT = Event(1, 5, "user", "user", "remember", "document:1", "aa", "", "", None, None)


def test_canonical_json_is_sorted_dense_and_unescaped() -> None:
    assert canonical({"b": [1, None], "a": "猫 \n"}) == '{"a":"猫 \\n","b":[1,null]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


def test_the_hashes_are_these_for_ever() -> None:
    assert payload_hash("00", "{}") == "b2adfe30fe36e894c43d0851907cbc1ce413181d79ed0499fcfecbe7589bcd7d"
    assert leaf_hash("default", EVENT) == "8edbda08baf6d8e00a8067bb8bc52288bfa820854b2344614146b7c63661454a"


def test_a_leaf_belongs_to_its_namespace() -> None:
    assert leaf_hash("a", EVENT) != leaf_hash("b", EVENT)


def test_changes_come_out_of_a_payload_as_they_went_in() -> None:
    changes = (Change("messages", ("s", 1), None, {"name": "猫", "n": 0.5}), Change("visibility", ("/x",), {}, None))
    assert changes_of(payload_of("why", {"path": "/x"}, changes)) == changes


def test_a_noted_head_only_moves_forward(home: Home) -> None:
    witness = FolderWitness(home.folder / "w")
    assert witness.seen("id", "ns") is None
    witness.note("id", "ns", Head(12, "b"))
    witness.note("id", "ns", Head(3, "a"))
    assert witness.seen("id", "ns") == Head(12, "b")
    witness.note("id", "ns", Head(3, "a"), force=True)
    assert witness.seen("id", "ns") == Head(3, "a")
    assert witness.seen("id", "other") is None


def test_a_witness_that_cannot_write_says_so(home: Home) -> None:
    (home.folder / "file").write_text("")
    witness = FolderWitness(home.folder / "file")
    witness.note("id", "ns", Head(1, "a"))
    assert witness.problem is not None and "cannot be written" in witness.problem


def test_the_images_of_one_row_are_read_out_of_a_payload_whatever_its_texts_say() -> None:
    trap = '["facts",[1,2],null,{"value":"Eve"}]'
    rows = (
        Change("facts", (1, 1), None, {"value": "old"}),
        Change("facts", (1, 1), {"value": "old"}, {"value": trap}),
        Change("facts", (1, 2), None, {"value": "new"}),
        Change("facts", (1, 12), {"value": "x"}, None),
    )
    payload = payload_of(trap, {"why": trap}, rows)
    assert list(images_in(payload, "facts", (1, 2))) == [{"value": "new"}]
    assert list(images_in(payload, "facts", (1, 1))) == [{"value": trap}, {"value": "old"}]
    assert list(images_in(payload, "facts", (1, 12))) == list(images_in(payload, "facts", (2, 1))) == []
