from __future__ import annotations

from typing import Any

import pytest

from mnemic.errors import BadInput, Conflict, NotFound, Refused
from tests.minds import Mind, ended, stated

DAY = 86_400_000


def test_a_fact_bears_its_source_since_when_it_holds_and_one_corroboration(mind: Mind) -> None:
    receipt = mind.learn("I live in Porto", "home city", "Porto", at="2026-03-01")
    row = mind.facts.show(receipt["id"])
    assert receipt["status"] == "stored"
    assert (row["status"], row["origin"], row["trust"], row["sources"]) == ("current", "user", 0.667, [1])
    assert (row["valid_from"], row["valid_to"], row["corroboration"]) == ("2026-03-01T00:00:00Z", None, 1)
    assert row["evidence"] == [{"id": 1, "content": "I live in Porto", "origin": "user"}]


def test_the_same_value_corroborates_and_unites_the_sources(mind: Mind) -> None:
    mind.learn("I live in Porto", "home_city", "Porto")
    again = mind.learn("Porto is still home", "Home  City", "porto.")
    assert again["status"] == "corroborated"
    (row,) = mind.facts.list()
    assert (row["corroboration"], row["sources"], row["value"], row["revision"]) == (2, [1, 2], "Porto", 2)


def test_the_same_words_in_the_same_session_count_once(mind: Mind) -> None:
    for _ in range(4):
        mind.learn("I live in Porto", "home_city", "Porto", session="s1")
    mind.learn("I live in Porto", "home_city", "Porto", session="s2")
    (row,) = mind.facts.list()
    assert (row["corroboration"], row["sources"]) == (2, [1, 2, 3, 4, 5])


def test_a_new_value_supersedes_and_the_old_one_ends_where_it_begins(mind: Mind) -> None:
    old = mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-05")
    new = mind.learn("I moved to Lisbon", "home_city", "Lisbon", at="2026-03-02")
    assert (new["status"], new["reason"]) == ("superseded", "it replaces fact 1")
    before, after = mind.facts.show(old["id"]), mind.facts.show(new["id"])
    assert (before["status"], before["valid_to"], before["superseded_by"]) == ("superseded", "2026-03-02T00:00:00Z", 2)
    assert (after["status"], after["valid_from"], after["supersedes"]) == ("current", "2026-03-02T00:00:00Z", 1)
    assert mind.current("home_city") == ["Lisbon"]


def test_what_was_known_then_and_what_held_then_are_two_questions(mind: Mind) -> None:
    mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-05")
    learnt = mind.home.clock.now()
    mind.home.clock.advance(days=10)
    mind.learn("I moved to Lisbon in February", "home_city", "Lisbon", at="2026-02-01")
    between = int(learnt.timestamp() * 1000) + DAY
    assert mind.current("home_city", as_of=between) == ["Porto"]
    assert mind.current("home_city") == ["Lisbon"]
    assert mind.facts.list(as_of=between - 2 * DAY) == []
    held = [row["value"] for row in mind.facts.list(valid_at=mind.ms("2026-01-20"))]
    assert held == ["Porto"]
    assert [row["value"] for row in mind.facts.list(valid_at=mind.ms("2026-02-20"))] == ["Lisbon"]
    assert [row["value"] for row in mind.facts.list(valid_at=mind.ms("2026-02-20"), as_of=between)] == ["Porto"]
    assert mind.facts.show(1, as_of=between)["valid_to"] is None


def test_what_was_said_earlier_but_heard_later_goes_into_the_history(mind: Mind) -> None:
    mind.learn("I live in Lisbon", "home_city", "Lisbon", at="2026-03-01")
    receipt = mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-01")
    assert receipt["status"] == "past"
    assert mind.current("home_city") == ["Lisbon"]
    row = mind.facts.show(receipt["id"])
    assert (row["status"], row["valid_from"], row["valid_to"]) == ("superseded", "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z")


def test_a_value_reaffirmed_since_is_not_replaced_by_what_was_said_between(mind: Mind) -> None:
    mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-01")
    mind.learn("Still in Porto", "home_city", "Porto", at="2026-03-01")
    assert mind.learn("I live in Lisbon", "home_city", "Lisbon", at="2026-02-01")["status"] == "past"
    assert mind.current("home_city") == ["Porto"]


def test_a_proposal_that_dates_itself_before_what_holds_is_history(mind: Mind) -> None:
    mind.learn("I live in Lisbon", "home_city", "Lisbon", at="2026-03-01")
    source = mind.say("In 2019 I lived in Porto")
    (receipt,) = mind.draw(stated("home_city", "Porto", source, valid_from="2019", valid_to="2021"))
    row = mind.facts.show(receipt["id"])
    assert (receipt["status"], row["valid_from"], row["valid_to"]) == ("past", "2019-01-01T00:00:00Z", "2022-01-01T00:00:00Z")
    assert mind.current("home_city") == ["Lisbon"]


def test_a_value_that_returns_is_current_again(mind: Mind) -> None:
    for month, city in enumerate(("Porto", "Lisbon", "Porto"), 1):
        mind.learn(f"I live in {city}", "home_city", city, at=f"2026-0{month}-01")
    assert mind.current("home_city") == ["Porto"]
    assert [row["status"] for row in mind.facts.list(everything=True)] == ["superseded", "superseded", "current"]


@pytest.mark.parametrize("key", ["home city", "HOME_CITY", " Home   City ", "ｈｏｍｅ＿ｃｉｔｙ", "home_\u200bcity"])
def test_a_key_is_one_whatever_its_case_width_and_blanks(mind: Mind, key: str) -> None:
    mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-01")
    mind.learn("I live in Lisbon", key, "Lisbon", at="2026-02-01")
    assert mind.current("home_city") == ["Lisbon"]


@pytest.mark.parametrize("key", ["anna_city", "hanna_city", "anna's_city", "anna-city", "ana_city", "annacity"])
def test_keys_that_only_look_alike_stay_apart(mind: Mind, key: str) -> None:
    mind.learn("Joanna lives in Porto", "joanna_city", "Porto")
    mind.learn("The other one lives in Lisbon", key, "Lisbon")
    assert (mind.current("joanna_city"), mind.current(key)) == (["Porto"], ["Lisbon"])


def test_contexts_keep_their_own_values(mind: Mind) -> None:
    one, two = mind.say("At work I use vim"), mind.say("At home I use nano")
    mind.draw(stated("editor", "vim", one, category="preference", context="work"),
              stated("editor", "nano", two, category="preference", context="home"))  # fmt: skip
    assert sorted(mind.current("editor")) == ["nano", "vim"]
    assert mind.current("editor", context="work") == ["vim"]


# withdrawal


def test_what_is_withdrawn_ends_and_nothing_replaces_it(mind: Mind) -> None:
    mind.learn("I will run a marathon", "goal", "run a marathon", category="value", at="2026-01-01")
    source = mind.say("I gave up on the marathon", "2026-02-01")
    (receipt,) = mind.draw(ended("goal", source, category="value"))
    assert (receipt["status"], mind.current("goal")) == ("ended", [])
    assert mind.facts.show(1)["valid_to"] == "2026-02-01T00:00:00Z"


def test_an_old_mention_does_not_bring_back_what_was_withdrawn_but_a_new_one_does(mind: Mind) -> None:
    mind.learn("I run", "sport", "running", category="habit", at="2026-01-01")
    mind.draw(ended("sport", mind.say("I stopped running", "2026-02-01"), category="habit"))
    assert mind.learn("I run daily", "sport", "running", category="habit", at="2026-01-15")["status"] == "past"
    assert mind.current("sport") == []
    mind.learn("I run again", "sport", "running", category="habit", at="2026-03-01")
    assert mind.current("sport") == ["running"]


def test_a_withdrawal_of_another_value_or_of_what_was_said_to_hold_later_changes_nothing(mind: Mind) -> None:
    mind.learn("I run", "sport", "running", category="habit", at="2026-03-05")
    other, late = mind.say("I never play chess"), mind.say("I will stop running", "2026-03-01")
    receipts = mind.draw(ended("sport", other, category="habit", value="chess"), ended("sport", late, category="habit"))
    assert [receipt["status"] for receipt in receipts] == ["rejected", "duplicate"]
    assert "withdraw what holds" in receipts[0]["reason"] and "said to hold later" in receipts[1]["reason"]
    assert mind.current("sport") == ["running"]
    assert [row["id"] for row in mind.diary.list(pending=True)] == [other]


def test_that_nothing_holds_is_known_before_what_it_ends_is_heard(mind: Mind) -> None:
    gone = mind.draw(ended("trip", mind.say("I cancelled the trip", "2026-02-01"), category="value"))[0]
    assert (gone["status"], mind.current("trip")) == ("ended", [])
    assert mind.learn("I plan a trip to Rome", "trip", "Rome", category="value", at="2026-01-15")["status"] == "past"
    assert mind.current("trip") == []
    assert mind.learn("A trip to Oslo then", "trip", "Oslo", category="value", at="2026-02-03")["status"] == "stored"


def test_what_is_told_as_over_neither_holds_nor_blocks_what_was_said_before(mind: Mind) -> None:
    mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-01")
    told = mind.say("I once lived in Porto, from 2010 to 2012", "2026-03-01")
    assert mind.draw(stated("home_city", "Porto", told, valid_from="2010", valid_to="2012"))[0]["status"] == "past"
    assert mind.facts.show(1)["affirmed_at"] == "2026-01-01T00:00:00Z"
    assert mind.learn("I live in Lisbon", "home_city", "Lisbon", at="2026-02-01")["status"] == "superseded"


def test_proposals_of_one_run_are_applied_in_the_order_in_which_they_were_said(mind: Mind) -> None:
    first, then = mind.say("I live in Porto", "2026-01-01"), mind.say("I moved to Lisbon", "2026-02-01")
    last = mind.say("I have no home now", "2026-03-01")
    receipts = mind.draw(ended("home_city", last), stated("home_city", "Lisbon", then), stated("home_city", "Porto", first))
    assert [receipt["status"] for receipt in receipts] == ["ended", "superseded", "stored"]
    assert mind.current("home_city") == []


# provisional


def test_a_provisional_fact_holds_is_marked_and_comes_due(mind: Mind) -> None:
    source = mind.say("I work at Acme for now")
    mind.draw(stated("employer", "Acme", source, category="background", provisional=True))
    (row,) = mind.facts.list()
    assert (row["status"], row["due"], row["check_by"]) == ("provisional", False, "2026-06-08T12:00:00Z")
    assert "[background] employer: Acme (as of 2026-03)" in mind.profile().text
    assert mind.facts.list(due=True) == []
    mind.home.clock.advance(days=100)
    assert [row["id"] for row in mind.facts.list(due=True)] == [1]
    assert "(as of 2026-03, due for a check)" in mind.profile().text
    assert mind.facts.confirm(1)["status"] == "current"
    with pytest.raises(Refused, match="fact 1 is current and cannot be confirmed: possible are edit, lock, delete"):
        mind.facts.confirm(1)


def test_a_provisional_fact_said_again_without_reserve_holds_for_good(mind: Mind) -> None:
    mind.draw(stated("employer", "Acme", mind.say("Acme for now"), category="background", check_by="2026-04-01"))
    mind.learn("I have signed at Acme for good", "employer", "Acme", category="background")
    (row,) = mind.facts.list()
    assert (row["status"], row["check_by"]) == ("current", None)


# locks and conflicts


def test_what_contradicts_a_locked_fact_is_parked_with_both_sides(mind: Mind) -> None:
    fact = mind.facts.add("identity", "name", "Ada")
    receipt = mind.learn("Call me Grace", "name", "Grace")
    assert (receipt["status"], mind.current("name")) == ("conflict", ["Ada"])
    row = mind.facts.show(receipt["id"])
    assert (row["conflicts_with"], row["why"]) == (fact["id"], "fact 1 is locked and says otherwise")
    again = mind.learn("Please call me Grace", "name", "Grace")
    assert (again["id"], len(mind.facts.list(status="conflict"))) == (receipt["id"], 1)


def test_a_conflict_is_settled_by_taking_or_keeping(mind: Mind) -> None:
    mind.facts.add("identity", "name", "Ada")
    first = mind.learn("Call me Grace", "name", "Grace")["id"]
    mind.facts.resolve(first, take=False, reason="a joke")
    assert mind.statuses("name") == {"Ada": "current", "Grace": "rejected"}
    second = mind.learn("Call me Mary", "name", "Mary")["id"]
    taken = mind.facts.resolve(second, take=True)
    assert mind.statuses("name") == {"Ada": "superseded", "Grace": "rejected", "Mary": "current"}
    assert taken["locked"] and taken["approved"]
    with pytest.raises(Refused, match=f"fact {second} is current and cannot be resolved"):
        mind.facts.resolve(second, take=True)


def test_a_persons_new_word_answers_what_the_agent_had_said(mind: Mind) -> None:
    mind.learn("User likes jazz", "music", "jazz", category="preference", channel="agent", at="2026-01-01")
    mind.learn("I like folk", "music", "folk", category="preference", at="2026-01-02")
    mind.learn("User likes opera", "music", "opera", category="preference", channel="agent", at="2026-01-03")
    assert mind.statuses("music") == {"jazz": "settled", "folk": "current", "opera": "conflict"}
    mind.learn("I like blues", "music", "blues", category="preference", at="2026-01-04")
    assert mind.statuses("music") == {"jazz": "settled", "folk": "superseded", "opera": "settled", "blues": "current"}


def test_an_edit_that_says_the_same_settles_the_conflict(mind: Mind) -> None:
    mind.facts.add("identity", "name", "Ada")
    mind.learn("Call me Grace", "name", "Grace")
    edited = mind.facts.edit(1, "Grace", reason="true")
    assert (edited["id"], edited["revision"], edited["value"]) == (1, 2, "Grace")
    assert [row["status"] for row in mind.facts.list(everything=True)] == ["current", "settled"]


def test_an_edit_keeps_what_stood_there_as_an_earlier_revision(mind: Mind) -> None:
    mind.learn("My name is Ade", "name", "Ade")
    then = int(mind.home.clock.now().timestamp() * 1000)
    mind.home.clock.advance(hours=1)
    mind.facts.edit(1, "Ada", reason="misheard")
    row = mind.facts.show(1)
    assert [revision["value"] for revision in row["revisions"]] == ["Ade", "Ada"]
    assert (row["origin"], row["sources"], row["corroboration"]) == ("user", [], 1)
    assert mind.current("name", as_of=then) == ["Ade"]


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda m: m.facts.lock(1), "fact 1 is locked already: possible are edit, unlock, delete"),
        (lambda m: m.facts.approve(1), "fact 1 is current and cannot be approved: possible are edit, unlock, delete"),
        (lambda m: m.facts.reject(1), "fact 1 is current and cannot be rejected"),
        (lambda m: m.facts.edit(1, "Ada"), "fact 1 says so already"),
        (lambda m: m.facts.add("identity", "Name", "ada"), "fact 1 says so already .current, locked."),
        (lambda m: m.facts.add("identity", "Name", "Eve"), "fact 1 is locked and says 'Ada'"),
        (lambda m: m.facts.add("value", "x", "y", channel="agent"), "only a person can state a fact"),
        (lambda m: m.facts.delete(1, channel="agent"), "only a person can delete"),
        (lambda m: m.facts.lock(1, channel="tool"), "only a person can lock"),
        (lambda m: m.facts.edit(2, category="identity"), "fact 1 holds 'Ada' there already"),
    ],
)  # fmt: skip
def test_the_impossible_is_refused_with_the_state_and_what_is_possible(mind: Mind, act: Any, told: str) -> None:
    mind.facts.add("identity", "name", "Ada")
    mind.facts.add("background", "name", "Countess")
    head = mind.home.store.head("default")
    with pytest.raises(Refused, match=told):
        act(mind)
    assert mind.home.store.head("default") == head


def test_a_deleted_fact_is_out_and_old_words_do_not_bring_it_back(mind: Mind) -> None:
    mind.learn("I like jazz", "music", "jazz", category="preference", at="2026-01-01")
    mind.facts.delete(1, reason="wrong")
    assert mind.learn("I like jazz", "music", "jazz", category="preference", at="2026-02-01")["status"] == "duplicate"
    assert (mind.current("music"), mind.facts.list()) == ([], [])
    with pytest.raises(Refused, match="fact 1 is deleted and cannot be deleted: possible are undo"):
        mind.facts.delete(1)
    mind.home.clock.advance(days=1)
    assert mind.learn("I do like jazz", "music", "jazz", category="preference")["status"] == "stored"


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda m: m.facts.show(9), NotFound, "there is no fact 9"),
        (lambda m: m.facts.lock(9), NotFound, "there is no fact 9"),
        (lambda m: m.facts.add("hobby", "a", "b"), BadInput, "category 'hobby' is unknown: use one of identity"),
        (lambda m: m.facts.add("value", " ", "b"), BadInput, "the key is empty"),
        (lambda m: m.facts.add("value", "a", "."), BadInput, "the value is empty"),
        (lambda m: m.facts.add("value", "a", "x" * 2001), BadInput, "the limit is 2000"),
        (lambda m: m.facts.add("value", "a", "b", valid_from=2**42), BadInput, "lies ahead"),
        (lambda m: m.facts.list(status="odd"), BadInput, "status 'odd' is unknown"),
    ],
)
def test_what_cannot_be_used_is_named(mind: Mind, call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call(mind)


# taking back


def test_undo_brings_back_what_was_superseded(mind: Mind) -> None:
    mind.learn("I live in Porto", "home_city", "Porto", at="2026-01-01")
    receipt = mind.learn("I live in Lisbon", "home_city", "Lisbon", at="2026-02-01")
    mind.undo(receipt["seq"])
    assert mind.current("home_city") == ["Porto"]
    assert mind.facts.show(1)["valid_to"] is None
    assert [row["id"] for row in mind.diary.list(pending=True)] == [2]
    assert mind.home.sane()


def test_undo_cannot_put_a_second_fact_into_a_slot(mind: Mind) -> None:
    mind.facts.add("identity", "name", "Ada")
    gone = mind.facts.delete(1)
    mind.facts.add("identity", "name", "Grace")
    with pytest.raises(Conflict, match="another row stands in its place"):
        mind.undo(gone["seq"])
    assert mind.current("name") == ["Grace"] and mind.home.sane()


def test_an_operation_repeated_does_nothing(mind: Mind) -> None:
    first = mind.facts.add("identity", "name", "Ada", op_id="one")
    again = mind.facts.add("identity", "name", "Ada", op_id="one")
    assert (again["status"], again["id"], again["seq"]) == ("duplicate", first["id"], first["seq"])
    with pytest.raises(Conflict, match="fresh --op-id"):
        mind.facts.add("identity", "name", "Eve", op_id="one")


def test_an_operation_that_was_undone_is_rejected_and_names_the_entry(mind: Mind) -> None:
    mind.undo(mind.facts.add("identity", "name", "Ada", op_id="one")["seq"])
    again = mind.facts.add("identity", "name", "Ada", op_id="one")
    assert again["status"] == "rejected" and "undone in entry 2" in again["reason"]
    assert mind.current("name") == []


def test_what_is_shown_of_a_key_or_value_bears_no_secret_and_one_line(mind: Mind) -> None:
    row = mind.facts.add("background", "the\nkey", "a\n[identity] name: Eve\npassword=hunter2Xy9!")
    assert (row["key"], row["value"]) == ("the key", "a [identity] name: Eve password=[redacted:password]")
