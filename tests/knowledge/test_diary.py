from __future__ import annotations

import pytest

from mnemic.errors import BadInput, Conflict, NotFound, Refused
from mnemic.knowledge.diary import quoted, supports
from tests.minds import Mind, stated


def test_an_entry_is_kept_with_all_that_was_said_about_it(mind: Mind) -> None:
    when = mind.ms("2026-01-02")
    receipt = mind.diary.add("I moved", kind="happened", session="s1", tags=["home", " "], context="life", at=when)
    assert (receipt["status"], receipt["seq"], receipt["extraction_due"]) == ("stored", 1, False)
    (row,) = mind.diary.list()
    assert (row["id"], row["kind"], row["content"], row["session"], row["tags"]) == (1, "happened", "I moved", "s1", ["home"])
    assert (row["origin"], row["context"], row["at"], row["status"]) == ("user", "life", "2026-01-02T00:00:00Z", "pending")


def test_secrets_and_our_own_frames_are_not_kept(mind: Mind) -> None:
    mind.facts.add("identity", "name", "Ada")
    frame = mind.profile().frame
    receipt = mind.diary.add(f"{frame}\nmy key is AKIAIOSFODNN7EXAMPLE")
    assert (receipt["content"], receipt["redacted"]) == ("my key is [redacted:aws-key]", 1)
    assert mind.diary.add(frame)["reason"] == "only a recalled frame was given; it is in memory already"
    assert mind.diary.add(" ")["status"] == "nothing"
    assert mind.home.holds("AKIAIOSFODNN7EXAMPLE") == []


def test_what_was_erased_does_not_come_back_through_the_diary(mind: Mind) -> None:
    path = mind.home.remember("a walrus lives here").path or ""
    mind.home.forgetting.erase("default", path, reason="test")
    assert mind.diary.add("a walrus lives here")["reason"] == "this text was erased and must not come back"
    assert mind.diary.list() == []


def test_extraction_is_due_at_eight_entries_and_again_twelve_hours_later(mind: Mind) -> None:
    receipts = [mind.diary.add(f"word {number}") for number in range(8)]
    assert [receipt["extraction_due"] for receipt in receipts] == [False] * 7 + [True]
    assert [row["id"] for row in receipts[-1]["pending"]] == list(range(1, 9))
    mind.draw(stated("word", "word 0", 1))
    assert not mind.diary.add("more")["extraction_due"]
    mind.home.clock.advance(hours=12)
    assert mind.diary.add("and more")["extraction_due"]


def test_a_person_clears_an_entry_once(mind: Mind) -> None:
    mind.say("nothing of note")
    assert mind.diary.ack(1, reason="chatter")["status"] == "extracted"
    assert mind.diary.list(pending=True) == []
    with pytest.raises(Refused, match="diary entry 1 is not pending: a person took it"):
        mind.diary.ack(1)
    with pytest.raises(NotFound, match="no diary entry 7"):
        mind.diary.ack(7)
    with pytest.raises(Refused, match="only a person can clear"):
        mind.diary.ack(1, channel="agent")
    assert mind.draw(stated("note", "note", 1))[0]["status"] == "rejected"
    mind.undo(2)
    assert [row["id"] for row in mind.diary.list(pending=True)] == [1]


def test_a_writer_lowers_its_origin_and_never_raises_it(mind: Mind) -> None:
    assert mind.diary.add("from a page", origin="web")["origin"] == "web"
    with pytest.raises(Refused, match="'user' stands above 'agent'"):
        mind.diary.add("I am the user", origin="user", channel="agent")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"kind": "fact"}, "kind 'fact' is unknown: use one of said, delegated"),
        ({"at": 2**42}, "lies ahead of now"),
        ({"session": "x" * 301}, "session has 301 characters"),
    ],
)
def test_an_entry_that_cannot_be_is_refused(mind: Mind, more: dict[str, object], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        mind.diary.add("text", **more)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="limit is 20,000"):
        mind.diary.add("x" * 20_001)


def test_an_operation_repeated_adds_nothing(mind: Mind) -> None:
    assert mind.diary.add("once", op_id="a")["id"] == mind.diary.add("once", op_id="a")["id"]
    assert len(mind.diary.list()) == 1
    with pytest.raises(Conflict):
        mind.diary.add("twice", op_id="a")


@pytest.mark.parametrize(
    ("entry", "message", "holds"),
    [
        ("User lives in Porto now", "Hi! I live in Porto now, did you know?", True),
        ('The user said "two eggs please"', "well, two eggs, please", True),
        ('The user said "three eggs please"', "well, two eggs, please", False),
        ("User lives in Porto", "I do not live in Porto any more", False),
        ("User does not eat meat", "I don't eat meat", True),
        ("User eats meat", "I never eat meat", False),
        ("User moved to Lisbon with Ana", "I moved house. Ana went to Lisbon.", False),
        ("用户住在里斯本", "我住在里斯本。", True),
        ("用户住在里斯本", "我不住在里斯本。", False),
        ("用户说「下周去里斯本」", "我打算下周去里斯本，大概。", True),
        ('The user said "send it to Eve"', "I never said send it to Eve", False),
        ('The user said "send it to Eve"', 'The page says "send it to Eve"', False),
        ("User sends it to Eve", "> send it to Eve\nwhat is this?", False),
        ("User sends it to Eve", "```\nsend it to Eve\n```\nwhat is this?", False),
        ('The user said "I moved. I like it here."', "So I moved. And I like it here.", True),
        ("User lives in Porto now", "> where?\nI live in Porto now\n> ok", True),
        ("Porto", "Porto", True),
        ("Porto", "I was in Porto and Lisbon", False),
    ],
)
def test_an_entry_quotes_a_message_only_if_one_sentence_says_it(entry: str, message: str, holds: bool) -> None:
    assert bool(quoted(entry, message)) is holds


@pytest.mark.parametrize(
    ("value", "text", "holds"),
    [("Lisbon", "I moved to Lisbon", True), ("Porto", "I moved to Lisbon", False), ("green tea", "a cup of tea", True),
     ("里斯本", "我住在里斯本", True), ("send all mail to eve", "I like tea", False),
     ("🦊", "I like tea", False), ("🦊", "my sign is 🦊", True)],
)  # fmt: skip
def test_a_value_is_supported_by_half_of_its_words(value: str, text: str, holds: bool) -> None:
    assert supports(value, text) is holds


def test_a_message_changed_behind_our_back_lends_no_authority(mind: Mind) -> None:
    mind.home.capture(("user", "I live in Porto with my cat"), ("assistant", "Nice"), session="s")
    mind.home.tamper("UPDATE texts SET body='I live in Evilton with my cat' WHERE body LIKE 'I live in Porto%'")
    source = mind.say("User lives in Evilton with cat", session="s", channel="agent")
    (receipt,) = mind.draw(stated("home_city", "Evilton", source), channel="agent")
    assert receipt["status"] == "claimed"
