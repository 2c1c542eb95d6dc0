"""Replicas that answer for the primary: never behind what was written or shown, and never needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.errors import BadInput
from tests.servers import Server, following

psycopg = pytest.importorskip("psycopg")

from mnemic.store.postgres import replicas  # noqa: E402
from mnemic.store.postgres.replicas import Positions  # noqa: E402

NAME = "copied"


@pytest.fixture(scope="module")
def follower(server: Server) -> Iterator[Server]:
    server.fresh(NAME)
    with following(server) as made:
        yield made
        server.drop(NAME)


Opened = Callable[..., Memory]


@pytest.fixture
def opened(server: Server, follower: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens an empty home anew, as another process would, with the replica at hand."""
    monkeypatch.setattr(replicas, "ASIDE", 0.0)
    monkeypatch.setattr(replicas, "WAIT", 30.0)
    url, made = server.fresh(NAME), list[Memory]()

    def again(*urls: str) -> Memory:
        environ = {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_FILES": str(tmp_path / "files")}
        made.append(Memory.open(url, environ={**environ, "MNEMIC_REPLICAS": " ".join(urls or (follower.url(NAME),))}))
        follower.caught_up(server)
        return made[-1]

    yield again
    for memory in made:
        memory.close()


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()


@pytest.fixture
def pause(server: Server, follower: Server) -> Callable[[], Any]:
    """A block in which the replica stays as it is."""

    @contextmanager
    def paused() -> Iterator[None]:
        follower.caught_up(server)
        with psycopg.connect(follower.url("postgres"), autocommit=True) as db:
            db.execute("SELECT pg_wal_replay_pause()")
            while db.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != ("paused",):
                pass
        try:
            yield
        finally:
            follower.execute("SELECT pg_wal_replay_resume()")
            follower.caught_up(server)

    return paused


def found(memory: Memory, question: str) -> list[str]:
    return [hit.text for hit in memory.recall(question).hits]


def went(memory: Memory, act: Callable[[], object]) -> list[str]:
    """Where the reads of an act went that a replica might have answered."""
    before = memory.reads()
    act()
    after = memory.reads()
    return [name for name in ("replica", "fallback") for _ in range(after[name] - before[name])]


def test_recall_is_answered_by_a_replica_and_nothing_else_is(memory: Memory, server: Server, follower: Server) -> None:
    memory.remember("The kiln fires at noon.")
    follower.caught_up(server)
    assert found(memory, "When does the kiln fire?") == ["The kiln fires at noon."]
    assert went(memory, lambda: found(memory, "When does the kiln fire?")) == ["replica"]
    assert went(memory, lambda: memory.recall("kiln", mode="creative")) == ["replica"]
    assert went(memory, lambda: (memory.tree(), memory.show("/notes/the-kiln-fires-at-noon"), memory.status())) == []


def test_what_was_written_is_read_though_the_replica_is_behind(memory: Memory, pause: Any) -> None:
    beside = memory.within("beside")
    beside.remember("The glaze is blue.")
    memory.remember("The kiln fires at noon.")
    with pause():
        memory.remember("The kiln cools at dusk.")
        assert went(memory, lambda: found(memory, "kiln")) == ["fallback"]
        assert sorted(found(memory, "kiln")) == ["The kiln cools at dusk.", "The kiln fires at noon."]
        assert went(beside, lambda: found(beside, "glaze")) == ["replica"]
        assert found(beside, "glaze") == ["The glaze is blue."]
        new = memory.within("new")
        new.remember("The wheel is new.")
        assert found(new, "wheel") == ["The wheel is new."]
    assert went(memory, lambda: found(memory, "kiln")) == ["replica"]
    assert sorted(found(memory, "kiln")) == ["The kiln cools at dusk.", "The kiln fires at noon."]


def test_what_was_shown_stays_to_be_seen_and_what_was_not_may_come_later(memory: Memory, opened: Opened, pause: Any) -> None:
    memory.remember("The kiln fires at noon.")
    other = opened()
    assert found(other, "kiln") == ["The kiln fires at noon."]
    with pause():
        memory.remember("The kiln cools at dusk.")
        assert went(other, lambda: found(other, "kiln")) == ["replica"], "nobody told it"
        other.tree()
        assert went(other, lambda: found(other, "kiln")) == ["fallback"]
        assert len(found(other, "kiln")) == 2


def test_a_change_of_the_homes_own_facts_is_awaited_too(memory: Memory, pause: Any) -> None:
    memory.remember("The kiln fires at noon.")
    with pause():
        assert went(memory, lambda: found(memory, "kiln")) == ["replica"]
        memory.set_bookmark("reader", {"line": 3})
        assert went(memory, lambda: found(memory, "kiln")) == ["fallback"]


def test_a_write_alone_is_awaited_without_a_read_behind_it(memory: Memory, pause: Any) -> None:
    memory.remember("The kiln fires at noon.")
    store = memory._store
    with pause():
        with store.write("default") as tx:
            tx.enqueue(1, 0)
        assert store.read("default", lambda: store.counts("default")["queue"]) == 1


def test_a_write_that_was_taken_back_is_not_awaited(memory: Memory, pause: Any) -> None:
    memory.remember("The kiln fires at noon.")
    with pause():
        with pytest.raises(BadInput), memory._store.write("default"):
            raise BadInput("no")
        assert went(memory, lambda: found(memory, "kiln")) == ["replica"]


def test_another_process_reads_what_a_position_stands_for(memory: Memory, opened: Opened, pause: Any) -> None:
    memory.remember("The kiln fires at noon.")
    other = opened()
    found(other, "kiln")
    with pause():
        memory.remember("The kiln cools at dusk.")
        position = memory.position()
        assert position is not None
        other.catch_up(position)
        assert went(other, lambda: found(other, "kiln")) == ["fallback"]
        assert len(found(other, "kiln")) == 2
    number, _, mark = position.partition("-")
    for wrong in ("", "7", f"-{mark}", f"{int(number) + 1}-{mark}", f"{number}-{mark[::-1]}", f"²-{mark}", f"{'9' * 40}-{mark}"):
        with pytest.raises(BadInput, match="is none of this namespace"):
            other.catch_up(wrong)
    with pytest.raises(BadInput, match="is none of this namespace"):
        other.within("beside").catch_up(position)
    assert went(other, lambda: found(other, "kiln")) == ["replica"], "a wrong one keeps no replica from answering"


def test_a_replica_that_stops_is_done_without_until_it_is_back(
    memory: Memory, server: Server, follower: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("The kiln fires at noon.")
    follower.caught_up(server)
    assert went(memory, lambda: found(memory, "kiln")) == ["replica"]
    follower.stop()
    monkeypatch.setattr(replicas, "WAIT", 0.02)
    try:
        for _ in range(3):
            assert went(memory, lambda: found(memory, "kiln")) == ["fallback"]
        memory.remember("The kiln cools at dusk.")
        assert len(found(memory, "kiln")) == 2
        assert "the primary answers in its place" in " ".join(memory.doctor()["notes"])
    finally:
        follower.start()
    follower.caught_up(server)
    monkeypatch.setattr(replicas, "WAIT", 30.0)
    assert went(memory, lambda: found(memory, "kiln")) == ["replica"]
    assert len(found(memory, "kiln")) == 2


def test_recall_goes_on_while_the_primary_is_away(memory: Memory, server: Server, follower: Server) -> None:
    memory.remember("The kiln fires at noon.")
    follower.caught_up(server)
    found(memory, "kiln")
    server.stop("fast")
    try:
        assert went(memory, lambda: found(memory, "When does the kiln fire?")) == ["replica"]
        assert found(memory, "When does the kiln fire?") == ["The kiln fires at noon."]
    finally:
        server.start()
    memory.remember("The kiln cools at dusk.")
    assert len(found(memory, "kiln")) == 2


def test_a_replica_that_failed_is_left_aside_for_a_while(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("The kiln fires at noon.")
    monkeypatch.setattr(replicas, "ASIDE", 1_000.0)
    memory._store.base.replicas[0].leave()  # type: ignore[attr-defined]
    assert went(memory, lambda: found(memory, "kiln")) == ["fallback"]


def test_a_question_whose_replica_breaks_off_is_asked_anew(memory: Memory, server: Server, follower: Server) -> None:
    memory.remember("The kiln fires at noon.")
    follower.caught_up(server)
    store: Any = memory._store
    tries = 0

    def question() -> list[tuple[Any, ...]]:
        nonlocal tries
        tries += 1
        space = store.space("default")
        store._rows(space, "SELECT count(*) FROM documents")
        if tries == 1:
            follower.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='copied' AND pid<>pg_backend_pid()"
            )
        return list(store._rows(space, "SELECT count(*), pg_is_in_recovery() FROM documents"))

    assert store.read("default", question) == [(1, False)]
    assert tries == 2
    assert store.read("default", question) == [(1, True)]


def test_a_question_that_the_replica_had_to_cancel_is_asked_anew(memory: Memory, server: Server, follower: Server) -> None:
    memory.remember("The kiln fires at noon.")
    follower.caught_up(server)
    store: Any = memory._store
    places = []

    def question() -> int:
        space = store.space("default")
        places.append(store._rows(space, "SELECT pg_is_in_recovery()"))
        if len(places) == 1:  # what it sees goes, and the replica may not wait
            server.execute("DELETE FROM mnemic.texts", NAME)
            server.execute("VACUUM mnemic.texts", NAME)
            follower.caught_up(server)
        return int(store._rows(space, "SELECT count(*) FROM texts")[0][0])

    assert store.read("default", question) == 0
    assert places == [[(True,)], [(False,)]]


def test_a_question_that_turns_to_a_namespace_where_the_replica_is_behind_is_asked_anew(memory: Memory, pause: Any) -> None:
    beside = memory.within("beside")
    memory.remember("The kiln fires at noon.")
    beside.remember("The glaze is blue.")
    store: Any = memory._store
    with pause():
        beside.remember("The glaze is thin.")
        counted = store.read("default", lambda: [store.counts(name)["documents"] for name in ("default", "beside")])
        assert counted == [1, 2]


def test_a_server_that_does_not_follow_this_home_answers_nothing(opened: Opened, server: Server, follower: Server) -> None:
    other = server.fresh("other")
    memory = opened(server.url(NAME), follower.url("other"))
    assert other != server.url(NAME)
    memory.remember("The kiln fires at noon.")
    assert went(memory, lambda: found(memory, "kiln")) == ["fallback"]
    assert [one["problem"] for one in memory.status()["replicas"]] == ["it does not follow this home's server"] * 2
    server.drop("other")


def test_a_shard_has_replicas_of_its_own_and_a_move_hides_nothing(
    opened: Opened, server: Server, follower: Server, pause: Any
) -> None:
    server.fresh("one")
    memory = opened()
    memory.shards.add("one", server.url("one"), [follower.url("one")])
    here, there = memory.within("here"), memory.within("there")
    there.remember("The glaze is blue.")
    here.remember("The kiln fires at noon.")
    assert memory.shards.where() == {"here": "home", "there": "one"}
    follower.caught_up(server)
    assert set(went(memory, lambda: (found(here, "kiln"), found(there, "glaze")))) == {"replica"}
    with pause():
        there.remember("The glaze is thin.")
        assert "fallback" in went(memory, lambda: found(there, "glaze"))
        assert went(memory, lambda: found(here, "kiln")) == ["replica"]
        memory.shards.move("there", "home")
        assert len(found(there, "glaze")) == 2, "its rows have not come to the replica of where they are"
        memory.shards.move("here", "one")
        assert found(here, "kiln") == ["The kiln fires at noon."]
        memory.shards.move("there", "one")
        assert len(found(there, "glaze")) == 2, "a replica still says that they had left"
    assert set(went(memory, lambda: (found(here, "kiln"), found(there, "glaze")))) == {"replica"}
    assert (len(found(here, "kiln")), len(found(there, "glaze"))) == (1, 2)
    assert [one["server"].rpartition("/")[2] for one in memory.status()["replicas"]] == [NAME, "one"]
    memory.close()
    server.drop("one")


def test_what_was_seen_on_one_server_binds_the_replicas_of_the_next(
    opened: Opened, server: Server, follower: Server, pause: Any
) -> None:
    server.fresh("one")
    mover = opened()
    mover.shards.add("one", server.url("one"), [follower.url("one")])
    memory = opened()
    memory.remember("The kiln fires at noon.")
    assert mover.shards.where() == {"default": "one"}
    with pause():
        mover.shards.move("default", "home")
        memory.remember("The kiln cools at dusk.")
        mover.shards.move("default", "one")
        assert len(found(memory, "kiln")) == 2, "the replica of the first server knows neither of the write nor of the moves"
    mover.shards.move("default", "home")
    with pause():
        mover.shards.move("default", "one")
        assert len(found(memory, "kiln")) == 2, "the replica says that the rows have left, and they are back"
    assert len(found(memory, "kiln")) == 2
    for one in (memory, mover):
        one.close()
    server.drop("one")


def test_status_and_doctor_tell_how_far_replicas_are_behind(memory: Memory, server: Server, follower: Server, pause: Any) -> None:
    memory.remember("The kiln fires at noon.")
    follower.caught_up(server)
    row = memory.status()["replicas"][0]
    assert [row[name] for name in ("server", "problem", "writes", "seconds")] == [f"postgresql://postgres@/{NAME}", "", 0, 0.0]
    assert "replica" not in " ".join(memory.doctor()["notes"])
    with pause():
        with memory._store.write("default") as tx:
            tx.enqueue(1, 0)
        server.execute("SET synchronous_commit=on; CREATE TABLE mnemic.more(x int); DROP TABLE mnemic.more", NAME)
        row = memory.status()["replicas"][0]
        assert row["writes"] == 1 and row["bytes"] > 0 and row["seconds"] > 0
        assert "s behind; writes that it lacks: 1" in " ".join(memory.doctor()["notes"])


def test_positions_that_were_let_go_are_the_primarys_to_tell() -> None:
    positions = Positions(most=2)
    assert positions.reached(1, 0), "nothing was seen of it"
    positions.note(1, 7)
    positions.note(1, 5)
    assert [positions.reached(1, version) for version in (6, 7, 8)] == [False, True, True]
    positions.note(2, 1)
    positions.note(3, 1)
    assert positions.known(1) is None and not positions.reached(1, 100)
    positions.note(1, 8)
    assert positions.reached(1, 8)
