from __future__ import annotations

from typing import Any

import pytest

from mnemic.errors import NotFound, Refused
from tests.minds import Mind


def matter(action: str, title: str, *sources: int, **more: Any) -> dict[str, Any]:
    return {"action": action, "title": title, "source_diary_ids": list(sources), **more}


def raise_(mind: Mind, item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return mind.draw(concerns=(item,), **more)[0]


@pytest.fixture
def flat(mind: Mind) -> Mind:
    """With one concern, number 1."""
    source = mind.say("I must find a flat", "2026-01-01")
    raise_(mind, matter("new", "Find a flat", source, kind="todo", background="The lease ends in June"))
    return mind


def test_a_concern_bears_kind_status_background_and_source(flat: Mind) -> None:
    (row,) = flat.concerns.list()
    assert (row["id"], row["kind"], row["status"], row["title"]) == (1, "todo", "ongoing", "Find a flat")
    assert (row["background"], row["sources"], row["origin"], row["valid_from"]) == (
        "The lease ends in June", [1], "user", "2026-01-01T00:00:00Z",
    )  # fmt: skip


def test_a_mention_hangs_under_the_top_concern_even_if_it_names_a_mention(flat: Mind) -> None:
    first = raise_(flat, matter("mention", "Saw two", flat.say("I saw two flats"), concern_id=1))
    second = raise_(flat, matter("mention", "Saw a third", flat.say("and a third"), concern_id=first["id"]))
    row = flat.concerns.show(1)
    assert [(item["id"], item["parent"], item["kind"]) for item in row["mentions"]] == [
        (first["id"], 1, "todo"), (second["id"], 1, "todo"),
    ]  # fmt: skip
    assert flat.concerns.list()[0]["mentions"] == 2


def test_the_same_concern_again_corroborates(flat: Mind) -> None:
    again = raise_(flat, matter("new", "find a  FLAT.", flat.say("still looking for a flat"), kind="todo"))
    assert (again["status"], again["id"]) == ("corroborated", 1)
    assert (flat.concerns.show(1)["corroboration"], len(flat.concerns.list())) == (2, 1)


def test_a_status_comes_from_the_users_words_or_by_hand(flat: Mind) -> None:
    done = raise_(flat, matter("status", "", flat.say("found one"), concern_id=1, status="concluded"))
    assert (done["status"], flat.concerns.show(1)["status"]) == ("status", "concluded")
    assert flat.concerns.show(1)["valid_to"] == "2026-03-10T12:00:00Z"
    assert flat.profile().concerns == []
    assert flat.concerns.status(1, "paused", reason="not yet")["status"] == "paused"
    with pytest.raises(Refused, match="concern 1 is paused already: possible are status ongoing"):
        flat.concerns.status(1, "paused")


def test_what_was_said_before_cannot_close_it_now(flat: Mind) -> None:
    raise_(flat, matter("mention", "Saw two", flat.say("I saw two", "2026-03-01"), concern_id=1))
    late = raise_(flat, matter("status", "", flat.say("done", "2026-02-01"), concern_id=1, status="concluded"))
    assert late["status"] == "rejected" and "was spoken of later" in late["reason"]


def test_deleting_takes_the_mentions_along_and_undo_brings_all_back(flat: Mind) -> None:
    raise_(flat, matter("mention", "Saw two", flat.say("I saw two"), concern_id=1))
    gone = flat.concerns.delete(1, reason="moved in")
    assert (flat.concerns.list(), [row["status"] for row in flat.concerns.list(everything=True)]) == ([], ["deleted"] * 2)
    with pytest.raises(Refused, match="concern 1 is deleted and cannot be given a status: possible are undo"):
        flat.concerns.status(1, "paused")
    flat.undo(gone["seq"])
    assert [row["status"] for row in flat.concerns.list(everything=True)] == ["ongoing", "ongoing"]
    assert flat.home.sane()


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (matter("mention", "x", 2, concern_id=9), "there is no concern 9"),
        (matter("mention", "x", 2), "mention needs the concern_id"),
        (matter("status", "", 2, concern_id=1, status="done"), "status 'done' is unknown"),
        (matter("new", "", 2), "the title is empty"),
        (matter("new", "x", 9), "there is no diary entry 9"),
        (matter("new", "x", 2, kind="chore"), "kind 'chore' is unknown"),
        (matter("close", "x", 2), "action 'close' is unknown"),
    ],
)
def test_a_concern_without_parent_or_source_is_rejected_and_leaves_the_diary_pending(
    flat: Mind, item: dict[str, Any], told: str
) -> None:
    flat.say("more")
    receipt = raise_(flat, item)
    assert receipt["status"] == "rejected" and told in receipt["reason"]
    assert [row["id"] for row in flat.diary.list(pending=True)] == [2]


def test_a_page_opens_nothing_until_a_person_approves_what_was_shown(flat: Mind) -> None:
    receipt = raise_(flat, matter("new", "Wire money", flat.say("wire money", origin="web")))
    assert receipt["status"] == "quarantined"
    assert "Wire money" not in flat.profile().frame
    shown = flat.concerns.show(receipt["id"])
    raise_(flat, matter("new", "Wire money", flat.say("wire money now", origin="web")))
    with pytest.raises(Refused, match="changed since it was shown"):
        flat.concerns.approve(receipt["id"], seen=shown["seal"])
    row = flat.concerns.approve(receipt["id"], seen=flat.concerns.show(receipt["id"])["seal"])
    assert (row["status"], row["origin"]) == ("ongoing", "web") and row["approved"]


def test_a_low_voice_neither_closes_nor_corroborates_what_a_person_has_open(flat: Mind) -> None:
    for origin in ("agent", "tool", "web", "import"):
        source = flat.say(f"the flat is found says {origin}", origin=origin)
        closed = raise_(flat, matter("status", "", source, concern_id=1, status="concluded"))
        again = raise_(flat, matter("new", "Find a flat", source))
        assert (closed["status"], again["status"]) == ("rejected", "duplicate")
    row = flat.concerns.show(1)
    assert (row["status"], row["corroboration"], row["origin"]) == ("ongoing", 1, "user")


def test_a_persons_own_words_answer_what_waited_and_take_nothing_over(flat: Mind) -> None:
    held = raise_(flat, matter("new", "Buy milk", flat.say("buy milk", origin="web"), background="from evil.example"))
    own = raise_(flat, matter("new", "Buy milk", flat.say("I need to buy milk")))
    assert (own["status"], flat.concerns.show(own["id"])["background"]) == ("stored", "")
    assert flat.concerns.show(held["id"])["status"] == "rejected"


def test_what_was_open_then_is_another_question_than_what_is_open(flat: Mind) -> None:
    then = flat.ms("2026-03-10T12:00")
    flat.home.clock.advance(days=1)
    flat.concerns.status(1, "concluded")
    assert [row["status"] for row in flat.concerns.list(as_of=then)] == ["ongoing"]
    assert [row["title"] for row in flat.profile(as_of=then).concerns] == ["Find a flat"]
    with pytest.raises(NotFound):
        flat.concerns.show(1, as_of=then - 1)
