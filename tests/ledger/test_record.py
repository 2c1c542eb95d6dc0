from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from mnemic.errors import Conflict, Damaged, NotFound, Refused
from mnemic.ledger import Ledger, NoWitness, leaf_hash
from mnemic.models.event import Event
from tests.homes import Home, both

pytestmark = both


@pytest.fixture
def mixed(home: Home) -> Home:
    home.remember("walrus one", title="One", source="file:///1")
    home.remember("walrus two", title="One", source="file:///1")
    home.capture(("user", "hello"), ("assistant", "hi"), ("user", "bye"))
    home.forgetting.forget("default", "/notes/one", reason="test")
    home.remember("other", "elsewhere", title="Other")
    return home


def problem(home: Home) -> str:
    verdict = home.ledger.verify("default")
    assert not verdict.ok
    return verdict.problem or ""


def test_a_ledger_verifies_after_a_mix_of_writes(mixed: Home) -> None:
    verdict = mixed.ledger.verify("default")
    assert (verdict.ok, verdict.checked, verdict.notes) == (True, 5, ())
    assert mixed.ledger.verify("elsewhere").checked == 1
    assert mixed.ledger.verify("never").ok


def test_a_head_that_nobody_noted_is_told(mixed: Home) -> None:
    ledger = Ledger(mixed.store, NoWitness(), mixed.clock, mixed.ledger.ids)
    assert ledger.verify("default").notes == ("no outside head is kept",)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE documents SET title='x' WHERE path='/notes/one'", "documents '/notes/one' was changed"),
        ("UPDATE messages SET name='x' WHERE seq=2", "messages 's/2' was changed"),
        ("DELETE FROM visibility", "visibility '/notes/one' is gone"),
        ("INSERT INTO visibility VALUES(1, '/x', 1, '')", "visibility '/x' was changed"),
        ("UPDATE texts SET body='x' WHERE body='walrus two'", "the text of documents '/notes/one' was changed"),
        ("UPDATE texts SET body='x' WHERE body='hi'", "the text of messages 's/2' was changed"),
        ("DELETE FROM texts WHERE body='bye'", "the text of messages 's/3' is gone"),
        ("DELETE FROM ledger WHERE ns=1 AND seq=2", "entry 2 is missing"),
        ("UPDATE ledger SET actor='x' WHERE ns=1 AND seq=2", "entry 2 does not match its hash"),
        ("UPDATE ledger SET op='erase' WHERE ns=1 AND seq=2", "entry 2 does not match its hash"),
        ("UPDATE payloads SET body=replace(body,'walrus','seal'), salt='x' WHERE ns=1 AND seq=1",
         "the content of entry 1 does not match"),
        ("UPDATE payloads SET body='{' WHERE ns=1 AND seq=3", "the content of entry 3 does not match"),
        ("DELETE FROM payloads WHERE ns=1 AND seq=3", "the content of entry 3 is gone"),
        ("DELETE FROM ledger WHERE ns=1 AND seq=5", "the ledger ends at 4, but entry 5 was seen"),
        ("DELETE FROM ledger WHERE ns=1", "the ledger ends at 0, but entry 5 was seen"),
        ("UPDATE ledger SET seq=99 WHERE ns=1 AND seq=2; UPDATE ledger SET seq=2 WHERE ns=1 AND seq=3;"
         "UPDATE ledger SET seq=3 WHERE ns=1 AND seq=99", "entry 2 does not follow"),
    ],
)  # fmt: skip
def test_tampering_is_found(mixed: Home, sql: str, told: str) -> None:
    mixed.tamper(sql)
    assert told in problem(mixed)


def _move(home: Home, event: Event) -> None:
    columns = (event.at, event.actor, event.origin, event.op, event.object, event.payload_hash, event.hash)
    names = "at=?, actor=?, origin=?, op=?, object=?, payload_hash=?, hash=?"
    home.tamper(f"UPDATE ledger SET {names} WHERE ns=1 AND seq=1", *columns)


def test_another_namespaces_entry_is_found(mixed: Home) -> None:
    _move(mixed, mixed.ledger.event("elsewhere", 1))
    assert problem(mixed) == "entry 1 does not match its hash"


def test_an_entry_with_a_hash_made_to_fit_breaks_the_next(mixed: Home) -> None:
    forged = replace(mixed.ledger.event("default", 1), actor="nobody")
    _move(mixed, replace(forged, hash=leaf_hash("default", forged)))
    assert problem(mixed).startswith("entry 2 does not follow")


def test_a_rolled_back_store_is_found_and_not_written_to(home: Home) -> None:
    if home.url:
        pytest.skip("a server's files are not ours to put back")
    home.remember("one")
    home.store.close()
    shutil.copytree(home.folder / "home", home.folder / "old")
    home.open()
    home.remember("two")
    home.store.close()
    shutil.rmtree(home.folder / "home")
    shutil.copytree(home.folder / "old", home.folder / "home")
    home.open()
    assert "entry 2 was seen before" in problem(home)
    with pytest.raises(Damaged, match="ends at 1, but 2 was seen"):
        home.remember("three")
    assert home.store.counts("default")["documents"] == 1


def test_a_store_whose_last_entry_was_replaced_is_not_written_to(home: Home) -> None:
    home.remember("one")
    home.tamper("UPDATE ledger SET hash='x'")
    with pytest.raises(Damaged):
        home.remember("two")


def test_undo_of_remember_takes_it_out_and_undo_of_that_brings_it_back_exactly(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal.", title="Zoo")
    before = home.store.document("default", "/notes/zoo"), home.search("walrus")
    taken = home.undo(1)
    assert (home.store.document("default", "/notes/zoo"), home.search("walrus")) == (None, [])
    home.undo(taken.seq)
    assert (home.store.document("default", "/notes/zoo"), home.search("walrus")) == before
    assert home.sane()


def test_undo_of_a_revision_brings_the_earlier_text_back(home: Home) -> None:
    home.remember("walrus", title="T", source="file:///t")
    before = home.store.document("default", "/notes/t")
    home.remember("seal", title="T", source="file:///t")
    home.undo(2)
    assert home.store.document("default", "/notes/t") == before
    assert (home.search("walrus"), home.search("seal")) == (["/notes/t"], [])
    assert home.sane()


def test_undo_of_an_extension_leaves_the_exchange_as_it_was(home: Home) -> None:
    home.capture(("user", "where?"))
    before = home.store.document("default", "/sessions/s/1")
    home.capture(("assistant", "there"))
    home.undo(2)
    assert home.store.document("default", "/sessions/s/1") == before
    assert home.search("there") == []
    assert home.sane()


def test_undo_refuses_where_something_later_stands_on_it(home: Home) -> None:
    home.remember("walrus", title="T", source="file:///t")
    home.remember("seal", title="T", source="file:///t")
    with pytest.raises(Conflict, match="entry 1 cannot be undone"):
        home.undo(1)
    assert home.search("seal") == ["/notes/t"]
    assert home.sane()


def test_what_is_not_there_cannot_be_undone(home: Home) -> None:
    home.remember("walrus", title="T")
    with pytest.raises(NotFound):
        home.undo(9)
    home.forgetting.erase("default", "/notes/t", reason="")
    with pytest.raises(Refused, match="its content was erased"):
        home.undo(1)


def test_undo_of_a_sessions_first_exchange_leaves_the_session_to_the_others(home: Home) -> None:
    home.capture(("user", "one"), ("assistant", "yes"), ("user", "two"), ("assistant", "no"))
    taken = home.undo(1)
    row = home.store.row("default", "sessions", ("s",))
    assert row is not None and row["title"] == "one"
    assert [document.path for document in home.store.documents("default")] == ["/sessions/s/2"]
    assert home.sane()
    home.undo(taken.seq)
    assert [document.path for document in home.store.documents("default")] == ["/sessions/s/1", "/sessions/s/2"]
    assert home.sane()
    assert home.capture(("user", "three")).receipts[0].status == "stored"


def test_undo_of_the_only_exchange_takes_its_session_with_it(home: Home) -> None:
    home.capture(("user", "one"), ("assistant", "yes"))
    home.undo(1)
    assert home.store.row("default", "sessions", ("s",)) is None
    assert home.capture(("user", "one"), ("assistant", "yes")).receipts[0].status == "stored"
    assert home.sane()


def test_an_undo_that_was_undone_no_longer_counts(home: Home) -> None:
    home.remember("walrus", title="T")
    first = home.ledger.event("default", 1)
    assert home.ledger.undone_by("default", first) is None
    home.undo(1)
    assert home.ledger.undone_by("default", first) == 2
    home.undo(2)
    assert home.ledger.undone_by("default", first) is None
