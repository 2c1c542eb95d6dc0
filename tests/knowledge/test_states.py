from __future__ import annotations

from typing import get_args

import pytest

from mnemic.errors import Refused
from mnemic.knowledge.states import HELD, MOVES, Facts, Step, step
from mnemic.models.experience import ExperienceStatus

PERSON = Facts(person=True, approved=True, name="experience a@1")
AGENT = Facts(name="experience a@1")
VERBS = sorted({verb for moves in MOVES.values() for verb in moves})

# Seed 002 §3.5, with the answers of §3.13: (from, verb) → (to, the ledger's word).
TABLE = {
    ("candidate", "success"): ("live", "promote"),
    ("candidate", "trial-fail"): ("cold", "trial-fail"),
    ("candidate", "shadow-pass"): ("live", "shadow-pass"),
    ("candidate", "shadow-fail"): ("candidate", "shadow-fail"),
    ("candidate", "merge"): ("archived", "consolidate"),
    ("candidate", "promote"): ("live", "human-promote"),
    ("candidate", "demote"): ("cold", "human-demote"),
    ("candidate", "archive"): ("archived", "archive"),
    ("candidate", "pin"): ("candidate", "pin"),
    ("candidate", "unpin"): ("candidate", "unpin"),
    ("candidate", "delete"): ("deleted", "delete"),
    ("live", "success"): ("live", "use"),
    ("live", "challenge"): ("challenged", "challenge"),
    ("live", "merge"): ("archived", "consolidate"),
    ("live", "supersede"): ("superseded", "supersede"),
    ("live", "evict"): ("archived", "archive"),
    ("live", "evolve"): ("superseded", "evolve"),
    ("live", "demote"): ("challenged", "human-demote"),
    ("live", "archive"): ("archived", "archive"),
    ("live", "pin"): ("live", "pin"),
    ("live", "unpin"): ("live", "unpin"),
    ("live", "delete"): ("deleted", "delete"),
    ("challenged", "success"): ("challenged", "use"),
    ("challenged", "revise"): ("challenged", "propose"),
    ("challenged", "merge"): ("archived", "consolidate"),
    ("challenged", "supersede"): ("superseded", "supersede"),
    ("challenged", "archive"): ("archived", "archive"),
    ("challenged", "pin"): ("challenged", "pin"),
    ("challenged", "unpin"): ("challenged", "unpin"),
    ("challenged", "delete"): ("deleted", "delete"),
    ("superseded", "success"): ("superseded", "use"),
    ("superseded", "rollback"): ("live", "rollback"),
    ("superseded", "delete"): ("deleted", "delete"),
    ("archived", "success"): ("live", "restore"),
    ("archived", "archive"): ("archived", "archive"),
    ("archived", "delete"): ("deleted", "delete"),
    ("cold", "success"): ("cold", "use"),
    ("cold", "release"): ("candidate", "release-cold"),
    ("cold", "delete"): ("deleted", "delete"),
}
HUMAN = {"promote", "demote", "archive", "pin", "unpin", "delete", "rollback", "release", "evolve"}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", get_args(ExperienceStatus))
def test_a_person_can_do_exactly_what_the_table_says(status: ExperienceStatus, verb: str) -> None:
    if (status, verb) in TABLE:
        assert step(status, verb, PERSON) == Step(*TABLE[status, verb])  # type: ignore[arg-type]
    else:
        with pytest.raises(Refused, match=f"experience a@1 is {status}"):
            step(status, verb, PERSON)


@pytest.mark.parametrize(("status", "verb"), [pair for pair in TABLE if pair[1] in HUMAN])
def test_an_agent_cannot_do_what_is_a_persons(status: ExperienceStatus, verb: str) -> None:
    with pytest.raises(Refused, match="only a person"):
        step(status, verb, AGENT)


@pytest.mark.parametrize(("status", "verb"), [("candidate", "success"), ("candidate", "shadow-pass"), ("archived", "success")])
@pytest.mark.parametrize("person", [True, False])
def test_what_was_read_somewhere_is_held_on_every_way_into_live(status: ExperienceStatus, verb: str, person: bool) -> None:
    done = step(status, verb, Facts(external=True, person=person, approved=True))
    assert (done.to, done.held) == (status, HELD)


def test_a_person_can_promote_what_was_read_somewhere() -> None:
    assert step("candidate", "promote", Facts(external=True, person=True)).to == "live"


def test_a_draft_that_succeeds_is_adopted() -> None:
    assert step("candidate", "success", Facts(draft=True)) == Step("live", "adopt")


def test_a_refusal_names_the_status_and_what_is_possible() -> None:
    with pytest.raises(Refused) as refused:
        step("live", "release", PERSON)
    assert str(refused.value) == (
        "experience a@1 is live, so 'release' is impossible: possible are report, consolidate, evolve, demote, archive,"
        " pin, unpin, delete"
    )
    with pytest.raises(Refused, match="nothing is possible but to undo"):
        step("deleted", "success", PERSON)


def test_an_agent_is_told_only_what_it_may() -> None:
    with pytest.raises(Refused, match="possible are report, verify, consolidate$"):
        step("candidate", "revise", AGENT)


def test_a_live_one_that_no_person_approved_is_not_changed_in_place() -> None:
    with pytest.raises(Refused, match="no person approved"):
        step("live", "evolve", Facts(person=True))
