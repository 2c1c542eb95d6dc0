from __future__ import annotations

from pathlib import Path

import pytest

from bench.crash import text_of
from bench.cuts import KINDS, Operation, Tally, act, check, measure, opened, repeat
from bench.shared import SURE
from tests.servers import Server, serving

psycopg = pytest.importorskip("psycopg")


def test_nothing_acknowledged_is_lost_or_twice_or_half_there_after_each_fault(tmp_path: Path) -> None:
    with serving(SURE) as server:
        tally = measure(server, server.fresh("cuts"), tmp_path, len(KINDS), 2, 7)
    assert (tally.lost, tally.twice, tally.half, tally.otherwise, tally.problems) == ([], [], [], [], [])
    assert tally.faults == dict.fromkeys(KINDS, 1) and tally.clean
    assert (tally.rounds, tally.writers) == (6, 3)
    assert tally.operations == tally.repeated >= tally.acknowledged >= 6


def test_what_is_lost_twice_or_half_there_is_told(server: Server, tmp_path: Path) -> None:
    url, folder, tally = server.fresh(), str(tmp_path), Tally()
    words = ["w1x1x0a", "w1x2x0b", "w1x3x0a", "w1x4x0a", "w1x5x0a", "w1x6x0a"]
    operations = {word: Operation("one") for word in words}
    with opened(url, folder) as memory:
        for word in words[:5]:
            operations[word].receipt = act(memory.within("one"), word).json()
        memory.within("two").remember(text_of(words[0]), title=f"{words[0]} again", op_id="other")
    assert check(url, folder, operations, Tally()) == set(words[:5])
    with psycopg.connect(url, autocommit=True, options="-c search_path=mnemic") as db:
        for statement in (
            "UPDATE texts SET body=left(body, 20) WHERE document=1",
            "DELETE FROM messages WHERE document=2 AND seq=1",
            "DELETE FROM nodes WHERE document=3",
            "DELETE FROM payloads WHERE seq=4",
            "DELETE FROM documents WHERE id=5",
        ):
            db.execute(statement)
    check(url, folder, operations, tally)
    assert (tally.lost, tally.twice, tally.clean) == (["w1x5x0a"], ["w1x1x0a"], False)
    told = {one.partition(":")[0] for one in tally.half}
    assert {"document 1 of 'one' is not what was written", "document 6 of 'two' is not what was written"} <= told
    assert {"an exchange without two messages", "a document without nodes", "a document without one entry"} <= told
    assert {"an entry without what it tells of", "a row of texts without its document"} <= told
    assert any("ledger" in problem for problem in tally.problems)


def test_a_repetition_that_is_answered_otherwise_is_told(server: Server, tmp_path: Path) -> None:
    url, folder, tally = server.fresh(), str(tmp_path), Tally()
    with opened(url, folder) as memory:
        first = act(memory.within("one"), "w1x1x0a").json()
    operations = {
        "w1x1x0a": Operation("one", {**first, "seq": 9}), "w1x2x0a": Operation("one", first), "w1x3x0a": Operation("one"),
    }  # fmt: skip
    repeat(url, folder, operations, {"w1x1x0a"}, tally)
    assert [one.partition(":")[0] for one in tally.otherwise] == ["w1x1x0a", "w1x2x0a"]
    assert (tally.repeated, tally.kept) == (3, 0)
