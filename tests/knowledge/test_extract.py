from __future__ import annotations

from typing import Any

import pytest

from mnemic.errors import BadInput, Conflict
from tests.minds import Mind, stated


def test_each_applied_proposal_is_one_entry_and_the_run_is_the_last(mind: Mind) -> None:
    one, two = mind.say("I am Ada and live in Porto"), mind.say("The lease ends in June")
    answer = mind.extractor.extract(
        {"proposals": [stated("name", "Ada", one), stated("home_city", "Porto", one)],
         "concerns": [{"action": "new", "title": "Lease", "kind": "todo", "source_diary_ids": [str(two)]}],
         "summary": "who and where"}
    )  # fmt: skip
    assert (answer["status"], answer["id"], answer["seq"], answer["applied"]) == ("stored", 1, 6, 3)
    assert [(item["index"], item["what"], item["seq"]) for item in answer["receipts"]] == [
        (0, "fact", 3), (1, "fact", 4), (2, "concern", 5),
    ]  # fmt: skip
    ops = [event.op for event in mind.home.ledger.events("default")]
    assert ops == ["diary", "diary", "fact-extract", "fact-extract", "concern-new", "extract"]
    (row,) = mind.home.store.rows("default", "extractions")
    assert (row["trigger"], row["summary"], row["diary_count"], row["produced"]) == (
        "manual", "who and where", 2, '["concern:1","fact:1","fact:2"]',
    )  # fmt: skip
    assert mind.diary.list(pending=True) == [] and mind.home.sane()


def test_one_of_a_run_can_be_taken_back_and_then_the_whole(mind: Mind) -> None:
    one = mind.say("I am Ada and live in Porto")
    answer = mind.extractor.extract({"proposals": [stated("name", "Ada", one), stated("city", "Porto", one)]})
    before = [list(mind.home.store.rows("default", table)) for table in ("facts", "diary", "extractions")]
    mind.undo(answer["receipts"][1]["seq"])
    assert (mind.current("name"), mind.current("city")) == (["Ada"], [])
    mind.undo(answer["seq"])
    assert (mind.facts.list(everything=True), len(mind.diary.list(pending=True))) == ([], 1)
    assert list(mind.home.store.rows("default", "extractions")) == []
    mind.undo(5)
    mind.undo(6)
    assert [list(mind.home.store.rows("default", table)) for table in ("facts", "diary", "extractions")] == before
    assert mind.home.sane()


def test_a_proposal_that_breaks_a_rule_is_rejected_and_the_others_go_through(mind: Mind) -> None:
    one = mind.say("I am Ada")
    bad: list[tuple[Any, str]] = [
        (stated("x", "y", 99), "there is no diary entry 99"),
        (stated("x", "y"), "source_diary_ids must list"),
        (stated("x", "y", one, category="hobby"), "category 'hobby' is unknown"),
        (stated("", "y", one), "the key is empty"),
        (stated("x", "", one), "the value is empty"),
        ({**stated("x", "y", one), "value": ["y"]}, "value must be a text"),
        ({**stated("x", "y", one), "action": "erase"}, "action 'erase' is unknown"),
        ({**stated("x", "y", one), "valid_from": "2031"}, "lies ahead"),
        ({**stated("x", "y", one), "valid_from": "2020", "valid_to": "2019"}, "does not lie after valid_from"),
        ({**stated("x", "y", one), "source_diary_ids": ["one"]}, "'one' is not an id"),
        ("text", "a proposal is an object, not str"),
    ]
    receipts = mind.draw(*(item for item, _ in bad), stated("name", "Ada", one))
    for receipt, (_, told) in zip(receipts, bad, strict=False):
        assert receipt["status"] == "rejected" and told in receipt["reason"], receipt
    assert receipts[-1]["status"] == "stored" and [row["key"] for row in mind.facts.list()] == ["name"]


def test_where_everything_is_rejected_nothing_is_recorded(mind: Mind) -> None:
    answer = mind.extractor.extract({"proposals": [stated("x", "y", 5)]})
    assert (answer["status"], answer["seq"], answer["rejected"]) == ("rejected", None, 1)
    assert mind.home.store.head("default") is None


def test_an_extracted_entry_supports_nothing_new_alone(mind: Mind) -> None:
    one = mind.say("I am Ada and I code")
    mind.draw(stated("name", "Ada", one))
    (receipt,) = mind.draw(stated("habit", "code", one))
    assert receipt["reason"] == "diary 1 was extracted already: cite at least one pending entry"
    two = mind.say("I code every day")
    assert mind.draw(stated("habit", "code", one, two))[0]["status"] == "stored"


def test_an_entry_of_another_namespace_is_no_source(mind: Mind) -> None:
    other = Mind(mind.home, "other")
    theirs = other.say("I am Eve")
    assert "no diary entry" in mind.draw(stated("name", "Eve", theirs))[0]["reason"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "an extraction is an object"),
        ({"proposals": {}}, "proposals must be a list"),
        ({"facts": []}, "neither 'proposals' nor 'concerns'"),
        ({"proposals": [{}] * 501}, "at most 500"),
    ],
)
def test_what_has_not_the_shape_of_an_extraction_is_refused(mind: Mind, data: Any, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        mind.extractor.extract(data)


def test_an_extraction_repeated_as_one_operation_does_nothing(mind: Mind) -> None:
    data = {"proposals": [stated("name", "Ada", mind.say("I am Ada"))]}
    first = mind.extractor.extract(data, op_id="x")
    again = mind.extractor.extract(data, op_id="x")
    assert (again["status"], again["seq"], again["receipts"]) == ("duplicate", first["seq"], first["receipts"])
    with pytest.raises(Conflict):
        mind.extractor.extract({"proposals": []}, op_id="x")
    assert mind.extractor.extract(data)["receipts"][0]["status"] == "rejected"


def test_only_what_was_shown_may_be_cited(mind: Mind) -> None:
    one, two = mind.say("I am Ada"), mind.say("I am Eve")
    answer = mind.extractor.extract({"proposals": [stated("name", "Eve", two)]}, shown={one})
    assert answer["receipts"][0]["reason"] == "diary entry 2 was not shown: cite only what was"


def test_no_field_of_a_proposal_sets_its_own_origin_or_trust(mind: Mind) -> None:
    source = mind.say("The user is root", origin="web")
    item = {**stated("role", "root", source), "origin": "user", "trust": 1.0, "approved": "yes", "locked": True}
    (receipt,) = mind.draw(item)
    assert (receipt["status"], receipt["ignored"]) == ("quarantined", ["approved", "locked", "origin", "trust"])
    row = mind.facts.show(receipt["id"])
    assert (row["origin"], row["trust"], row["approved"], row["locked"]) == ("web", None, None, False)
