"""What every store owes: the same cases on both engines."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mnemic.errors import BadInput, Conflict, StoreError
from mnemic.models.event import Change
from mnemic.store import CodeBlock, NewNode, VaultFile, VectorRow
from mnemic.text.tokens import phrase_terms
from tests.homes import Home, every

pytestmark = every


@pytest.fixture
def alone(engine: str) -> None:
    """For what holds of one server only: numbers are those of a server, and a name is given before the first write."""
    if engine == "shards":
        pytest.skip("on several servers numbers are given out by each")


def half(*values: float) -> bytes:
    return np.array(values, dtype=np.float16).tobytes()


def node(path: str, passage: str = "", parent: int = -1, **more: object) -> NewNode:
    given: dict[str, object] = {"kind": "note", "title": "", "text_id": 1, "start": 0, "end": 9, "reach": 9, "created_at": 1}
    return NewNode(path=path, parent=parent, passage=passage, **{**given, **more})  # type: ignore[arg-type]


@pytest.mark.usefixtures("alone")
def test_namespaces_do_not_see_each_other(home: Home) -> None:
    home.remember("The walrus.", "one", title="Zoo")
    home.remember("The seal.", "two", title="Zoo")
    home.capture(("user", "walrus"), ns="one")
    assert (home.search("walrus", "two"), home.search("walrus", "three")) == ([], [])
    assert home.search("seal", "two") == ["/notes/zoo"]
    assert [document.title for document in home.store.documents("two")] == ["Zoo"]
    assert (home.store.node("two", "/sessions/s/1"), home.store.node("three", "/notes/zoo")) == (None, None)
    assert home.store.nodes("two", 1) == []
    assert home.store.found("two", [1, 2, 3]) == home.store.found("two", [2])
    assert (home.store.texts("two", [1]), home.store.messages("two")) == ({}, [])
    assert home.store.document_frequencies("two", ["walrus", "seal"]) == {"walrus": 0, "seal": 1}
    assert home.store.namespaces() == ["one", "two"]
    assert home.sane("one") and home.sane("two")


@pytest.mark.usefixtures("alone")
def test_a_namespace_that_was_rolled_back_leaves_no_number_behind(home: Home) -> None:
    with pytest.raises(RuntimeError), home.store.write("first"):
        assert home.store.space("first") > 0
        raise RuntimeError
    home.remember("walrus", "second", title="T")
    assert home.store.namespaces() == ["second"]
    assert home.search("walrus", "first") == []


def test_a_failing_transaction_leaves_nothing(home: Home) -> None:
    row = {"path": "/x", "forgotten_at": 1, "reason": ""}
    with pytest.raises(Conflict, match="visibility '/x' has changed"), home.store.write("default") as tx:
        tx.apply([Change("visibility", ("/x",), None, row), Change("visibility", ("/x",), None, row)])
    assert home.store.forgotten("default") == {}


def test_a_phrase_is_found_only_where_its_words_stand_together(home: Home) -> None:
    home.remember("green tea leaf", title="A")
    home.remember("tea with green leaf", title="B")
    home.remember("猫 likes 记忆", title="C")
    assert home.store.phrase("default", phrase_terms("green tea"), 9) == [1]
    assert home.store.phrase("default", phrase_terms("猫 likes"), 9) == [3]
    assert home.store.phrase("default", phrase_terms("likes 记"), 9) == [3]


def test_rows_are_selected_counted_and_ordered_by_columns(home: Home) -> None:
    rows = [{"id": f"s{n}", "title": "t", "context": "", "origin": "user", "started_at": n % 3, "recorded_at": n}
            for n in range(6)]  # fmt: skip
    with home.store.write("default") as tx:
        tx.apply([Change("sessions", (str(row["id"]),), None, row) for row in rows])
    newest = home.store.select("default", "sessions", {"title": "t"}, limit=3, newest=True, by=("started_at",))
    assert [row["id"] for row in newest] == ["s5", "s2", "s4"]
    assert home.store.count("default", "sessions", {"started_at": 1}) == 2
    with pytest.raises(KeyError, match="no column 'x'"):
        home.store.count("default", "sessions", {"x": 1})
    with pytest.raises(KeyError, match="no column 'x'"):
        home.store.select("default", "sessions", {}, by=("x",))


def test_an_empty_tree_leaves_no_term_behind(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal.", title="Zoo")
    home.undo(1)
    assert home.store.document_frequencies("default", ["walrus", "seal"]) == {"walrus": 0, "seal": 0}
    assert home.store.postings("default", ["walrus"])["walrus"].tolist() == []
    assert home.store.lexicon("default")[:2] == (0, 0)


def test_full_text_is_the_same_after_a_rebuild(home: Home) -> None:
    home.remember("The walrus.\n\nThe seal, 记忆.", title="Zoo", source="file:///z", kind="file")
    home.remember("---\na: 1\n---\n# Head\n\nThe walrus again.\n\n## Sub\n\nseal", title="Zoo two", context="c")
    home.remember("One walrus and a seal.", title="Zoo", source="file:///z", kind="file")
    home.remember("It eats.\n\nA seal.\n\nsecret", title="Walrus")
    home.capture(("user", "walrus?"))
    home.capture(("assistant", "The seal. " * 200), ("user", "walrus!"))
    home.forgetting.erase("default", "/notes/walrus/p3", reason="")
    home.forgetting.erase("default", "/sessions/s/2", reason="")
    home.undo(2)
    words = ("walrus", "seal", "zoo", "eat", "记忆", "记", "secret", "again")

    def known() -> object:
        store = home.store
        return (
            [home.search(word) for word in words], store.lexicon("default")[:2], store.document_frequencies("default", words),
            [sorted(store.postings("default", [word])[word].tolist()) for word in words],
            sorted((one.id, one.terms) for one in store.found("default", range(99))),
        )  # fmt: skip

    before = known()
    assert home.sane()
    assert home.store.rebuild_fulltext() == home.store.lexicon("default")[0]
    assert known() == before
    assert home.sane()


def test_the_nodes_below_several_paths_are_those_below_each(home: Home) -> None:
    for title in ("a", "ab", "a0", "b"):
        home.remember(f"One of {title}.\n\nTwo of {title}.", title=title)

    def below(*paths: str) -> list[int]:
        return home.store.nodes_below("default", paths, 99).tolist()

    each = {path: home.store.nodes_within("default", below=path, limit=99) for path in ("/notes/a", "/notes/b", "/notes/a/p2")}
    assert [len(found) for found in each.values()] == [3, 3, 1]
    assert below("/notes/a") == sorted(each["/notes/a"])
    assert below("/notes/b", "/notes/a/p2", "/notes/a", "/nowhere") == sorted(each["/notes/a"] + each["/notes/b"])
    assert below() == []
    assert len(home.store.nodes_below("default", ["/notes"], 3)) == 3
    assert home.store.nodes_below("other", ["/notes"], 99).tolist() == []


def test_a_term_of_one_character_finds_what_begins_with_it(home: Home) -> None:
    home.remember("记忆 and 记录", title="A")
    home.remember("忘记", title="B")
    assert home.search("记") == ["/notes/a", "/notes/b"]
    assert home.store.document_frequencies("default", ["记", "忆", "记忆", "x"]) == {"记": 3, "忆": 1, "记忆": 1, "x": 0}
    assert home.store.phrase("default", ["记忆"], 9) == [1]


def test_a_row_that_is_not_as_it_was_said_to_be_is_a_conflict(home: Home) -> None:
    row = {"document": 1, "last_accessed": 5, "access_count": 1, "tier": None}
    more = {**row, "access_count": 2}
    with home.store.write("default") as tx:
        tx.apply([Change("usage", (1,), None, row), Change("usage", (1,), row, more)])
    for change in (Change("usage", (1,), None, row), Change("usage", (1,), row, None), Change("usage", (2,), row, row)):
        with pytest.raises(Conflict, match="has changed since: read it again"), home.store.write("default") as tx:
            tx.apply([change])
    assert home.store.row("default", "usage", (1,)) == more
    with home.store.write("default") as tx:
        tx.apply([Change("usage", (1,), more, None)])
    assert home.store.row("default", "usage", (1,)) is None


def test_a_row_in_anothers_place_has_no_room(home: Home) -> None:
    home.remember("tea", title="A")
    row = dict(home.store.row("default", "documents", ("/notes/a",)))
    with pytest.raises(Conflict, match="documents '/notes/b' has no room"), home.store.write("default") as tx:
        tx.apply([Change("documents", ("/notes/b",), None, {**row, "path": "/notes/b"})])


def test_nulls_come_first_and_last_from_the_end(home: Home) -> None:
    with home.store.write("default") as tx:
        for number, tier in enumerate(("b", None, "a", None)):
            row = {"document": number, "last_accessed": number, "access_count": 0, "tier": tier}
            tx.apply([Change("usage", (number,), None, row)])
    found = home.store.select("default", "usage", {}, by=("tier",))
    assert [row["document"] for row in found] == [1, 3, 2, 0]
    assert [row["document"] for row in home.store.select("default", "usage", {}, by=("tier",), newest=True)] == [0, 2, 3, 1]
    assert home.store.count("default", "usage", {"tier": None}) == 2


@pytest.mark.usefixtures("alone")
def test_identifiers_are_handed_out_once(home: Home) -> None:
    own = '["messages","default","s"]'
    with home.store.write("default") as tx:
        assert (tx.allocate("facts"), tx.allocate("facts", 3), tx.allocate("facts")) == (1, 2, 5)
        assert (tx.allocate(own, 2), tx.allocate(own)) == (1, 3)
        tx.reserve("facts", 9)
        tx.reserve(own, 2)
        tx.reserve("dreams", 7)
        assert (tx.allocate("facts"), tx.allocate(own), tx.allocate("dreams")) == (10, 4, 8)
    with home.store.write("other") as tx:
        assert (tx.allocate("facts"), tx.allocate('["messages","other","s"]')) == (11, 1)
    assert home.store.sequences("default") == {own: 4, "dreams": 8, "facts": 11}


def test_vectors_come_back_to_the_bit_in_the_order_they_came(home: Home) -> None:
    embedder = home.store.embedder("fake/x@3", 3, b"canary")
    other = home.store.embedder("fake/y@2", 2)
    assert (home.store.embedder("fake/x@3", 3).canary, home.store.embedders()) == (b"canary", [embedder, other])
    with home.store.write("default") as tx:
        tx.add_text(1, 1, "walrus seal")
        ids = tx.replace_nodes(1, [node("/a", "walrus"), node("/a/p1", "seal", 0)])
        tx.put_vectors(embedder.id, [VectorRow(ids[1], b"12345678", half(1, -0.5, 6e-8)), VectorRow(99, b"x", half(1, 1, 1))])
        tx.put_vectors(embedder.id, [VectorRow(ids[0], b"87654321", half(0.1, 65504, -0.0))])
        tx.put_vectors(other.id, [VectorRow(ids[0], b"y", half(1, 2))])
    found = home.store.vectors_since("default", embedder.id, 0, 9)
    assert [(number, vector) for _, number, vector in found] == [
        (ids[1], half(1, -0.5, 6e-8)),
        (ids[0], half(0.1, 65504, -0.0)),
    ]
    assert home.store.vectors("default", embedder.id, [*ids, 99]) == {
        ids[0]: half(0.1, 65504, -0.0),
        ids[1]: half(1, -0.5, 6e-8),
    }
    assert home.store.digests("default", embedder.id, ids) == {ids[0]: b"87654321", ids[1]: b"12345678"}
    first, last = found[0][0], found[1][0]
    assert (home.store.vectors_last("default", embedder.id), home.store.vectors_after("default", embedder.id, first, 9)) == (
        last,
        1,
    )
    assert home.store.vectors_before("default", embedder.id, ids[1], 9) == [(ids[0], half(0.1, 65504, -0.0))]
    assert (home.store.vector_count("default", embedder.id), home.store.vectors("other", embedder.id, ids)) == (2, {})
    with home.store.write("default") as tx:
        tx.put_codes(
            embedder.id, [CodeBlock(first, last, np.array(ids[::-1], "<i8").tobytes(), np.array([[1, 2]], "<u8").tobytes())]
        )
        tx.put_coder(embedder.id, 2, b"mean")
    assert (home.store.codes_last("default", embedder.id), home.store.coder("default", embedder.id)) == (last, (2, b"mean"))
    with home.store.write("default") as tx:
        tx.replace_nodes(1, [node("/a", "walrus")])
    block = home.store.codes("default", embedder.id)[0]
    assert np.frombuffer(block.nodes, "<i8").tolist() == [0, ids[0]], "a code tells something of the text it was made from"
    assert np.frombuffer(block.codes, "<u8").tolist() == [0, 2]
    assert list(home.store.vectors("default", embedder.id, ids)) == [ids[0]]
    with home.store.write("default") as tx:
        tx.drop_codes(embedder.id)
    assert (home.store.codes("default", embedder.id), home.store.coder("default", embedder.id)) == ([], None)


def test_a_node_that_stays_as_it_was_keeps_its_number_and_its_edges(home: Home) -> None:
    with home.store.write("default") as tx:
        tx.add_text(1, 1, "walrus seal otter")
        before = tx.replace_nodes(1, [node("/a", "walrus"), node("/a/p1", "seal", 0), node("/a/p2", "otter", 0)])
        tx.put_edges(
            [(before[0], before[1], "similar", 0.5), (before[2], before[0], "similar", 0.25), (before[0], 99, "similar", 1)]
        )
        after = tx.replace_nodes(1, [node("/a", "walrus"), node("/a/p1", "seals and more", 0), node("/a/p2", "otter", 0)])
    assert (after[0], after[2]) == (before[0], before[2]) and after[1] not in before
    assert home.store.edges("default", [*before, *after], "similar") == [(before[2], before[0], 0.25)]
    assert home.store.lexicon("default") == (3, 5, 1)
    assert [item.id for item in home.store.nodes("default", 1)] == sorted(after)


def test_a_document_moves_with_all_its_rows(home: Home) -> None:
    home.remember("The walrus sleeps.\n\nA seal.", title="Zoo")
    home.remember("The walrus eats.", title="Two")
    embedder = home.store.embedder("fake/x@2", 2)
    ids = [item.id for item in home.store.nodes("default", 1)]
    with home.store.write("default") as tx:
        tx.put_vectors(embedder.id, [VectorRow(number, b"d", half(1, number)) for number in ids])
        tx.note_stray(1, "cold")
    row = dict(home.store.row("default", "documents", ("/notes/zoo",)))
    with home.store.write("default") as tx:
        tx.move(1, "hot", "cold", with_vectors=True)
        tx.apply([Change("documents", ("/notes/zoo",), row, {**row, "shelf": "cold"})])
    store = home.store
    assert (store.nodes("default", 1), store.document_texts("default", 1)) == ([], {})
    assert ([item.id for item in store.nodes("default", 1, "cold")], len(store.document_texts("default", 1, "cold"))) == (
        ids,
        1,
    )
    assert (store.lexicon("default", "hot")[0], store.lexicon("default", "cold")[0]) == (1, 3)
    assert store.document_frequencies("default", ["walrus"], "cold") == {"walrus": 2}
    assert store.document_frequencies("default", ["walrus"]) == {"walrus": 1}
    assert sorted(store.postings("default", ["seal"], "cold")["seal"].tolist()) == [ids[0], ids[2]]
    assert store.postings("default", ["seal"])["seal"].tolist() == []
    assert [number for _, number, _ in store.vectors_since("default", embedder.id, 0, 9, "cold")] == ids
    assert store.vectors("default", embedder.id, ids) == {}
    assert {item.shelf for item in store.found("default", ids, "cold")} == {"cold"}
    assert store.node("default", "/notes/zoo").id == ids[0]
    with home.store.write("default") as tx:
        tx.move(1, "cold", "hot", with_vectors=False)
        tx.apply([Change("documents", ("/notes/zoo",), {**row, "shelf": "cold"}, row)])
    home.store.sweep()
    assert (sorted(store.postings("default", ["seal"])["seal"].tolist()), store.vector_count("default", embedder.id)) == (
        [ids[0], ids[2]],
        0,
    )
    assert (store.lexicon("default", "hot")[0], store.lexicon("default", "cold")[0]) == (4, 0)
    assert store.check() == []


def test_the_queue_hands_out_what_is_due(home: Home) -> None:
    with home.store.write("one") as tx:
        tx.enqueue(5, 100)
        tx.enqueue(6, 200)
    with home.store.write("two") as tx:
        tx.enqueue(7, 50)
        tx.settle(7, "no model", 300)
    assert [(ns, row.document, row.state, row.attempts, row.error) for ns, row in home.store.queue(None)] == [
        ("one", 5, "pending", 0, ""), ("one", 6, "pending", 0, ""), ("two", 7, "failed", 1, "no model"),
    ]  # fmt: skip
    assert [row.document for _, row in home.store.queue("one", due=150)] == [5]
    with home.store.write("one") as tx:
        tx.settle(5, None, 0)
        tx.settle(7, None, 0)
    assert (home.store.waiting("one"), home.store.waiting("two"), home.store.queue("three")) == (1, 1, [])


def test_of_many_one_has_the_lease(home: Home) -> None:
    assert home.store.take_lease("tend", "a", 100, 200)
    assert not home.store.take_lease("tend", "b", 199, 300)
    assert home.store.take_lease("tend", "b", 200, 300)
    assert home.store.take_lease("dream", "a", 100, 200)


def test_what_is_known_of_the_vault_comes_back(home: Home) -> None:
    row = VaultFile("a.md", "a", "kept", 1 << 60, 2, 3, 1 << 62, "d", "", "user", "card", "person", "says", "open", 0, "")
    links = [("b", "B", "", "x"), ("a", "A", "h", "")]
    with home.store.write("default") as tx:
        tx.put_vault_file(row)
        tx.put_vault_links("a.md", links)
        tx.put_vault_rename("a.md", "c.md")
    store = home.store
    assert (store.vault_files("default"), store.vault_file("default", "a.md"), store.vault_files("x")) == ([row], row, [])
    assert store.vault_links("default", path="a.md") == [("a.md", "B", "", "x"), ("a.md", "A", "h", "")]
    assert store.vault_links("default", key="a") == [("a.md", "A", "h", "")]
    assert (store.vault_named("default", "a"), store.vault_uncommitted("default")) == (["a.md"], [("a.md", "kept")])
    assert store.vault_renames("default") == [("a.md", "c.md")]
    with home.store.write("default") as tx:
        tx.drop_vault_file("a.md")
        tx.put_vault_rename("a.md", None)
    assert (store.vault_files("default"), store.vault_links("default"), store.vault_renames("default")) == ([], [], [])


def test_a_read_sees_one_state_while_others_write(home: Home) -> None:
    home.remember("walrus", title="A")
    with home.store.reading():
        assert len(home.store.documents("default")) == 1
        other = threading.Thread(target=home.remember, args=("seal",))
        other.start()
        other.join()
        assert len(home.store.documents("default")) == 1
    assert len(home.store.documents("default")) == 2


def test_a_question_is_answered_by_one_state_and_positions_only_grow(home: Home, engine: str) -> None:
    home.remember("walrus", title="A")
    first = home.store.position("default")

    def question() -> list[int]:
        before = len(home.store.documents("default"))
        other = threading.Thread(target=home.remember, args=("seal",))
        other.start()
        other.join()
        return [before, len(home.store.documents("default"))]

    assert home.store.read("default", question) == [1, 1]
    second = home.store.position("default")
    if engine == "sqlite":
        assert (first, second, home.store.catch_up("default", 0)) == (None, None, False)
        assert (home.store.lags(), home.store.reads()) == ([], {})
        return
    assert 0 < first < second
    assert [home.store.catch_up("default", at) for at in (first, second, second + 1)] == [True, True, False]
    assert (home.store.position("new"), home.store.catch_up("new", 0), home.store.catch_up("new", 1)) == (0, True, False)
    assert home.store.lags() == []


def test_a_write_sees_what_it_wrote_and_others_do_not_yet(home: Home) -> None:
    row = {"path": "/x", "forgotten_at": 1, "reason": ""}
    seen: list[dict[str, int]] = []
    with home.store.write("default") as tx:
        tx.apply([Change("visibility", ("/x",), None, row)])
        assert home.store.forgotten("default") == {"/x": 1}
        assert home.store.forgotten("other") == {}
        assert tx.row("visibility", ("/x",)) == row
        other = threading.Thread(target=lambda: seen.append(home.store.forgotten("default")))
        other.start()
        other.join()
    assert seen == [{}]


@pytest.mark.usefixtures("alone")
def test_writers_of_one_namespace_follow_each_other(home: Home) -> None:
    def write(name: str) -> None:
        for number in range(6):
            home.remember(f"{name} {number}", ns=f"ns{number % 2}")

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ns in ("ns0", "ns1"):
        assert [event.seq for event in home.store.events(ns)] == list(range(1, 13))
        assert home.sane(ns)
    documents = [item.id for ns in ("ns0", "ns1") for item in home.store.documents(ns)]
    assert len(set(documents)) == 24


def test_text_that_no_server_can_hold_is_stored_as_far_as_it_can_be(home: Home) -> None:
    receipt = home.remember("a\0b walrus \ud800", title="T\0", source="file:///\0")
    assert (receipt.status, home.store.text("default", 1)) == ("stored", "a\ufffdb walrus \ufffd")
    assert home.search("walrus") == ["/notes/t"]
    assert (home.store.document("default", "/\0"), home.store.node("default", "\0")) == (None, None)
    assert home.store.select("default", "sessions", {"title": "\0"}) == []


def test_an_unknown_shelf_is_refused(home: Home) -> None:
    for ask in (home.store.nodes, home.store.document_texts):
        with pytest.raises(BadInput, match="no such shelf 'lukewarm'"):
            ask("default", 1, "lukewarm")


def test_a_long_name_is_kept_or_refused_by_name(home: Home) -> None:
    name = "".join(chr(0x4E00 + (n * 7919) % 20000) for n in range(4_000))
    row = {"path": name, "forgotten_at": 1, "reason": ""}
    try:
        with home.store.write("default") as tx:
            tx.apply([Change("visibility", (name,), None, row)])
    except BadInput as error:
        assert "too long" in str(error)
    else:
        assert home.store.forgotten("default") == {name: 1}


def test_a_closed_store_opens_again_as_it_was(home: Home) -> None:
    home.remember("walrus", title="A")
    ids = home.store.store_id, home.store.erasure_key, home.store.tokenizer
    home.reopen()
    assert (home.store.store_id, home.store.erasure_key, home.store.tokenizer) == ids
    assert home.search("walrus") == ["/notes/a"]
    assert home.sane()


def test_a_write_within_a_read_is_refused(home: Home) -> None:
    home.remember("walrus")
    with home.store.reading():
        home.store.documents("default")
        with pytest.raises(StoreError), home.store.write("default"):
            raise AssertionError


def test_vectors_that_come_after_a_move_come_after_what_was_moved_whatever_embedders_there_are(home: Home) -> None:
    home.remember("walrus one", title="One")
    home.remember("walrus two", title="Two")
    moved, other = (document.id for document in home.store.documents("default"))
    nodes = {number: [node.id for node in home.store.nodes("default", number)] for number in (moved, other)}
    embedders = [home.store.embedder(name, 2).id for name in ("a", "b")]
    with home.store.write("default") as tx:
        for embedder in embedders:
            tx.put_vectors(embedder, [VectorRow(node, b"", half(1, 0)) for node in nodes[moved]])
        tx.note_stray(moved, "warm")
    for source, target in (("hot", "warm"), ("warm", "hot")):
        with home.store.write("default") as tx:
            tx.move(moved, source, target, with_vectors=True)
    for embedder in reversed(embedders):
        last = home.store.vectors_last("default", embedder)
        with home.store.write("default") as tx:
            tx.put_vectors(embedder, [VectorRow(node, b"", half(0, 1)) for node in nodes[other]])
        assert [node for _, node, _ in home.store.vectors_since("default", embedder, last, 9)] == nodes[other]
