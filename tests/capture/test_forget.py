from __future__ import annotations

import pytest

from mnemic.errors import NotFound, Refused
from tests.homes import Home, both

pytestmark = both

WORD = "quetzalcoatlus"


def gone(home: Home) -> bool:
    assert home.url or home.store.settle_erasure() is None
    assert home.holds(WORD) == []
    assert home.sane()
    home.store.close()
    assert home.holds(WORD) == []
    home.open()
    return True


def test_forgetting_hides_and_undo_shows_again(home: Home) -> None:
    home.remember("tea", title="Drink")
    done = home.forgetting.forget("default", "/notes/drink", reason="old")
    assert list(home.store.forgotten("default")) == ["/notes/drink"]
    home.undo(done.seq)
    assert home.store.forgotten("default") == {}
    assert home.sane()


def test_nothing_stands_at_an_unknown_path(home: Home) -> None:
    for act in (home.forgetting.forget, home.forgetting.erase):
        with pytest.raises(NotFound):
            act("default", "/notes/none", reason="")
    assert home.store.namespaces() == []


def test_an_erased_note_is_in_no_file_and_does_not_come_back(home: Home) -> None:
    home.remember(f"A {WORD} flew over.", title=f"The {WORD}", op_id="one")
    home.remember("stays", title="Other")
    assert home.holds(WORD)
    path = f"/notes/the-{WORD}"
    home.forgetting.forget("default", path, reason=f"no {WORD}")
    done = home.forgetting.erase("default", path, reason="asked")
    assert (done.documents, home.search(WORD), home.search("stays")) == (1, [], ["/notes/other"])
    assert gone(home)
    assert home.remember(f"A {WORD} flew over.").status == "rejected"
    with pytest.raises(Refused):
        home.undo(done.seq)
    assert home.remember(f"A {WORD} flew over.", allow_erased=True).status == "stored"
    assert home.sane()


def test_erasing_takes_earlier_revisions_too(home: Home) -> None:
    home.remember(f"first {WORD}", title="T", source="file:///t")
    home.remember("second", title="T", source="file:///t")
    home.forgetting.erase("default", "/notes/t", reason="")
    assert gone(home)
    assert home.remember(f"first {WORD}").status == "rejected"


def test_a_part_is_erased_and_the_rest_stays(home: Home) -> None:
    home.remember(f"The walrus.\n\nThe {WORD}.\n\nThe seal.", title="Zoo", op_id="one")
    home.forgetting.erase("default", "/notes/zoo/p2", reason="")
    assert home.search("walrus") == ["/notes/zoo", "/notes/zoo/p1"]
    assert gone(home)
    assert home.remember(f"The walrus.\n\nThe {WORD}.\n\nThe seal.", title="Zoo").status == "rejected"


def test_a_title_that_tells_what_was_erased_is_replaced_with_its_path(home: Home) -> None:
    home.remember(f"The {WORD}.\n\nThe seal.", op_id="one")
    path = f"/notes/the-{WORD}"
    home.forgetting.forget("default", path, reason="")
    home.forgetting.erase("default", path + "/p1", reason="")
    assert list(home.store.forgotten("default")) == [d.path for d in home.store.documents("default")]
    assert home.search("seal") != []
    assert gone(home)


def test_erasing_twice_in_one_document_still_verifies(home: Home) -> None:
    home.remember(f"The walrus.\n\nThe {WORD}.\n\nThe seal.", title="Zoo")
    home.forgetting.erase("default", "/notes/zoo/p2", reason="")
    home.forgetting.erase("default", "/notes/zoo/p1", reason="")
    home.forgetting.erase("default", "/notes/zoo", reason="")
    assert gone(home)


def test_an_erased_message_leaves_the_others_and_is_left_out_of_a_replay(home: Home) -> None:
    turns = [("user", "what flew?"), ("assistant", f"a {WORD}"), ("user", "thanks"), ("assistant", "welcome")]
    home.capture(*turns)
    home.forgetting.erase("default", "/sessions/s/1/assistant", reason="")
    assert gone(home)
    assert [r.status for r in home.capture(*turns).receipts] == ["duplicate", "duplicate"]
    assert home.store.counts("default")["messages"] == 3
    assert [r.status for r in home.capture(("assistant", f"a {WORD}")).receipts] == ["rejected"]
    assert gone(home)


def test_an_erased_exchange_takes_the_title_of_its_session(home: Home) -> None:
    home.capture(("user", WORD), ("assistant", "yes"), ("user", "more"))
    home.forgetting.erase("default", "/sessions/s/1", reason="")
    assert gone(home)
    row = home.store.row("default", "sessions", ("s",))
    assert row is not None and row["title"] == "erased"


def test_two_exchanges_with_one_title_can_be_erased_apart(home: Home) -> None:
    home.capture(("user", "again"), ("assistant", "one"), ("user", "again"), ("assistant", WORD))
    home.forgetting.erase("default", "/sessions/s/2", reason="")
    assert gone(home)


def test_a_whole_folder_is_erased_even_when_it_was_forgotten(home: Home) -> None:
    home.remember(f"{WORD} a", title="A")
    home.remember(f"{WORD} b", title="B")
    home.forgetting.forget("default", "/notes", reason="")
    home.forgetting.erase("default", "/notes/a", reason="")
    assert home.forgetting.erase("default", "/notes", reason="").documents == 1
    assert home.store.forgotten("default") == {}
    assert gone(home)


def test_other_holders_of_the_same_text_are_named(home: Home) -> None:
    home.remember("tea", title="A")
    home.remember("tea", title="B")
    assert home.forgetting.erase("default", "/notes/a", reason="").elsewhere == ("/notes/b",)


def test_the_text_of_an_undone_note_is_erased_by_its_path(home: Home) -> None:
    receipt = home.remember(f"A {WORD} flew over.", title=f"The {WORD}", op_id="one")
    home.remember("stays", title="Other")
    home.undo(1)
    assert home.holds(WORD)
    done = home.forgetting.erase("default", str(receipt.path), reason="asked")
    assert done.documents == 1
    assert gone(home)
    assert home.remember(f"A {WORD} flew over.").status == "rejected"
    assert home.search("stays") == ["/notes/other"]
    with pytest.raises(NotFound):
        home.forgetting.erase("default", str(receipt.path), reason="again")


def test_a_note_and_the_undone_one_that_stood_there_before_are_erased_together(home: Home) -> None:
    home.remember(f"one {WORD}", title="T")
    home.undo(1)
    home.remember(f"two {WORD}", title="T")
    home.remember("stays", title="Other")
    assert home.forgetting.erase("default", "/notes/t", reason="").documents == 2
    assert gone(home)


def test_an_undone_exchange_is_erased_with_the_title_it_gave_its_session(home: Home) -> None:
    home.capture(("user", WORD), ("assistant", "yes"), ("user", "more"), ("assistant", "yes again"))
    home.undo(1)
    assert home.search("more") == ["/sessions/s/2/user"]
    assert home.forgetting.erase("default", "/sessions/s", reason="").documents == 2
    assert gone(home)


def test_a_live_part_is_erased_without_what_was_undone_elsewhere(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal.", title="Zoo")
    home.remember("gone", title="Other")
    home.undo(2)
    assert home.forgetting.erase("default", "/notes/zoo/p2", reason="").documents == 1
    assert home.store.left_texts("default") == [2]
    assert home.sane()
