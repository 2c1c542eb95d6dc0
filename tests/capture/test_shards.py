"""The servers of a home, as a user sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.errors import BadInput, Damaged
from tests.servers import Server

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"MNEMIC_CONFIG": str(tmp_path / "config"), "MNEMIC_FILES": str(tmp_path / "files"), "HOME": str(tmp_path)}


@pytest.fixture
def memory(server: Server, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(server.fresh("first"), environ=environ) as made:
        made.shards.add("two", server.fresh("second"))
        yield made


def test_a_namespace_answers_the_same_after_its_move_and_is_told_where_it_is(memory: Memory, server: Server) -> None:
    space = memory.within("team")
    for place in range(30):
        space.remember(f"The kiln number {place} fires at noon, says Ada.", title=f"Kiln {place}")
    before = [(hit.path, hit.score) for hit in space.recall("Which kiln fires at noon?").hits]
    assert memory.shards.where() == {"team": "two"}
    done = memory.shards.move("team", "home")
    assert (done["namespace"], done["from"], done["to"]) == ("team", "two", "home") and done["rows"] > 100
    assert [(hit.path, hit.score) for hit in space.recall("Which kiln fires at noon?").hits] == before != []
    assert memory.shards.where() == {"team": "home"}
    told = [(row["name"], row["namespaces"], row["reachable"]) for row in memory.shards.list()]
    assert told == [("home", 1, True), ("two", 0, True)]
    assert memory.shards.move("team", "home")["rows"] == 0
    assert space.verify().ok and space.doctor()["problems"] == []


def test_what_arrived_otherwise_than_its_ledger_says_is_told_and_its_source_kept(memory: Memory, server: Server) -> None:
    space = memory.within("team")
    space.remember("The kiln fires at noon.", title="Kiln")
    with psycopg.connect(server.url("second"), autocommit=True, options="-c search_path=mnemic,public") as db:
        db.execute("UPDATE texts SET body='The kiln fires at dawn.'")
        with pytest.raises(Damaged, match="is not what its ledger says"):
            memory.shards.move("team", "home")
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (1,)


def test_a_worker_looks_after_the_namespaces_of_every_server(server: Server, environ: dict[str, str]) -> None:
    pytest.importorskip("procrastinate")
    with Memory.open(server.fresh("worked"), environ=environ) as memory:
        memory.shards.add("two", server.fresh("worked2"))
        memory.worker(once=True).run()
        for name in ("one", "two"):
            memory.within(name).remember("The kiln fires at noon.", index=False)
        assert sorted(memory.shards.where().values()) == ["home", "two"]
        assert (memory.waiting(), (memory.jobs() or {})["waiting"]) == (2, 2)
        memory.worker(once=True).run()
        assert (memory.waiting(), (memory.jobs() or {})["waiting"]) == (0, 0)
    for name in ("worked", "worked2"):
        server.drop(name)


def test_the_command_line_moves_a_namespace(server: Server, environ: dict[str, str], capfd: pytest.CaptureFixture[str],
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    from mnemic.interfaces.cli import main

    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MNEMIC_HOME", server.fresh("first"))

    def run(*words: str) -> dict[str, object]:
        monkeypatch.setattr("sys.argv", ["mnemic", *words, "--json"])
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, capfd.readouterr().err
        found: dict[str, object] = json.loads(capfd.readouterr().out)
        return found

    other = server.fresh("second")
    assert run("shard", "add", "two", other) == {"name": "two", "url": other, "replicas": 0}
    run("--namespace", "team", "remember", "The kiln fires at noon.")
    assert run("shard", "list", "--where")["where"] == {"team": "two"}
    assert run("shard", "move", "team", "home")["to"] == "home"
    assert run("shard", "remove", "two") == {"name": "two", "removed": True}


def test_a_folder_has_no_shards_and_says_what_to_do(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home") as memory, pytest.raises(BadInput, match="this one is a folder: `mnemic copy`"):
        memory.shards.list()
