from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.recall import rows
from mnemic.recall.rows import Rows, Seen, joined
from mnemic.store.trees import talk_number, term_hash
from tests.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.store.close()


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def told(found: Rows) -> list[tuple[int, int, str, list[int]]]:
    """Of each node its number, its message's place, who spoke, and its terms."""
    ends = np.cumsum(found.table["size"])
    terms = [part.tolist() for part in np.split(found.terms, ends[:-1])] if len(found) else []
    return list(zip(found.table["node"].tolist(), found.table["seq"].tolist(), found.table["speaker"], terms, strict=True))


def hashes(*words: str) -> list[int]:
    return [term_hash(word) for word in words]


def statements(home: Home) -> list[str]:
    """What is asked of the hot shelf from now on."""
    asked: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        asked.append(sql)
        return True

    home.store.hot.connection().exec_trace = note
    return asked


def messages(home: Home, *texts: str) -> list[int]:
    """The nodes of a conversation's messages."""
    home.capture(*(("user" if place % 2 == 0 else "assistant", text) for place, text in enumerate(texts)))
    talk = talk_number("s")
    assert talk is not None
    return home.store.turns("default", [(talk, 1, len(texts))]).tolist()


def test_nodes_come_as_they_were_asked_for_without_those_that_are_not_there(home: Home) -> None:
    one, two = messages(home, "kiln", "rope tar")
    found = Seen(home.store, "default").rows(numbers(two, 10**9, one, 777, two))
    assert told(found) == [
        (two, 2, "", hashes("rope", "tar")), (one, 1, "", hashes("kiln")), (two, 2, "", hashes("rope", "tar")),
    ]  # fmt: skip
    assert (found.table["by_user"].tolist(), found.table["whole"].tolist()) == ([False, True, False], [True, True, True])


def test_a_node_of_a_note_stands_at_no_message_and_its_conversation_is_the_note(home: Home) -> None:
    home.remember("# Kiln\n\nIt fires.")
    node = home.store.node("default", "/notes/kiln")
    assert node is not None
    found = Seen(home.store, "default").rows(numbers(node.id))
    assert found.table[["talk", "seq"]].tolist() == [(node.document, -1)]


def test_what_was_read_once_and_what_stands_beside_it_is_not_read_again(home: Home) -> None:
    one, two = messages(home, "kiln", "rope")
    seen = Seen(home.store, "default")
    first = told(seen.rows(numbers(one)))
    asked = statements(home)
    assert (told(seen.rows(numbers(one))), told(seen.rows(numbers(two)))) == (first, [(two, 2, "", hashes("rope"))])
    assert asked == []


def test_a_node_that_came_later_is_found_beside_what_is_known(home: Home) -> None:
    (one,) = messages(home, "kiln")
    seen = Seen(home.store, "default")
    seen.rows(numbers(one))
    home.capture(("assistant", "rope"))
    assert told(seen.rows(numbers(one, one + 2)))[0] == (one, 1, "", hashes("kiln"))
    assert [row[3] for row in told(seen.rows(np.arange(1, 9)))][-1] == hashes("rope")


def test_another_namespace_is_not_looked_into(home: Home) -> None:
    (one,) = messages(home, "kiln")
    home.remember("rope", ns="two")
    assert told(Seen(home.store, "two").rows(numbers(one))) == []


@pytest.mark.parametrize("limit", ["ROOM", "TERMS"])
def test_a_full_table_is_begun_anew_and_answers_the_same(home: Home, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    ids = messages(home, *(f"kiln{n} rope" for n in range(40)))
    expected = [told(Seen(home.store, "default").rows(numbers(node))) for node in ids]
    monkeypatch.setattr(rows, limit, 3)
    seen = Seen(home.store, "default")
    assert [told(seen.rows(numbers(node))) for node in ids] == expected
    assert told(seen.rows(np.array(ids))) == [row for part in expected for row in part]


def test_a_table_grows_while_it_is_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array(messages(home, *(f"kiln{n} rope" for n in range(40))))
    monkeypatch.setattr(rows, "FEW", 2)
    assert Seen(home.store, "default").table(ids)["seq"].tolist() == [*range(1, 41)]
    assert told(Seen(home.store, "default").rows(ids)) == [(node, place, "", terms) for node, place, _, terms in told(
        Seen(home.store, "default", reach=1).rows(ids))]  # fmt: skip


def test_of_very_many_each_is_read_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = messages(home, *(f"kiln{n}" for n in range(20)))
    expected = told(Seen(home.store, "default").rows(np.array(ids)))
    monkeypatch.setattr(rows, "MANY", 5)
    assert told(Seen(home.store, "default").rows(np.array(ids))) == expected


def test_rows_are_joined_and_taken_with_their_terms(home: Home) -> None:
    one, two, three = messages(home, "kiln", "rope tar", "oar")
    seen = Seen(home.store, "default")
    both = joined([seen.rows(numbers(one, two)), seen.rows(numbers(three))])
    assert told(both) == told(seen.rows(numbers(one, two, three)))
    assert told(both.take(numbers(2, 1))) == told(seen.rows(numbers(three, two)))
    assert told(joined([])) == []
