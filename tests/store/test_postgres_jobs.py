"""Jobs of a home in PostgreSQL: noted with what they are about or not at all, in order, and done at least once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.clock import CountingIds, FixedClock
from mnemic.embed import Kind, Vectors
from mnemic.embed.hashing import HashingEmbedder
from mnemic.errors import ModelError, NewerSchema
from tests.homes import NOON
from tests.servers import Server, serving

psycopg = pytest.importorskip("psycopg")
procrastinate = pytest.importorskip("procrastinate")

from mnemic.store.postgres.jobs import KINDS, NOTED, ONCE, Jobs, Round  # noqa: E402
from mnemic.store.postgres.worker import Worked, Worker, let_go  # noqa: E402

STORE = "[store]\nworker = true\n"
OFF = "[decay]\ntimer = false\n[rotate]\ntimer = false\n"
PATIENCE = 60
"""Seconds after which something that should have happened did not."""


class Model(HashingEmbedder):
    """A model that may be away."""

    away = False

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if self.away:
            raise ModelError("the model is away")
        return super().embed(texts, kind)


class Place:
    """A home with a queue of jobs, and a look at its tables from outside."""

    def __init__(self, url: str, folder: Path, toml: str = STORE + OFF) -> None:
        self.url, self.folder = url, folder
        self.model, self.clock = Model(), FixedClock(NOON)
        (folder / "home").mkdir(exist_ok=True)
        (folder / "home" / "mnemic.toml").write_text(toml)
        self.memory = self.open()
        self.told: list[Worked] = []
        self.db = psycopg.connect(url, autocommit=True, options="-c search_path=mnemic_jobs,mnemic")

    def open(self) -> Memory:
        environ = {"MNEMIC_FILES": str(self.folder / "home"), "MNEMIC_CONFIG": str(self.folder / "config")}
        return Memory.open(self.url, environ=environ, embedder=self.model, clock=self.clock, ids=CountingIds())

    @property
    def store(self) -> Any:
        return self.memory._store

    @property
    def jobs(self) -> Jobs:
        return Jobs(self.store.base)

    def defer(self, kind: str, namespace: str) -> bool:
        """Note a job; false if the same waits already."""
        query = f"{NOTED} FROM (SELECT %s::text AS kind, %s::text AS name) AS one{ONCE}"
        return bool(self.db.execute(query, (kind, namespace)).rowcount == 1)

    def work(self) -> list[tuple[str, str, str]]:
        """What a worker did that ends when nothing is due: kind, namespace, outcome."""
        self.told.clear()
        self.memory.worker(once=True, told=self.told.append).run()
        return [(one.kind, one.namespace, one.outcome) for one in self.told]

    def states(self, namespace: str | None = None) -> tuple[int, int, int]:
        """How many jobs are waiting, doing, failed."""
        found = self.store.jobs(namespace)
        return found["waiting"], found["doing"], found["failed"]

    def close(self) -> None:
        self.db.close()
        self.memory.close()


@pytest.fixture
def toml() -> str:
    """What a home's mnemic.toml says: no timers, so that nothing is done but what a test asks for."""
    return STORE + OFF


@pytest.fixture
def place(server: Server, tmp_path: Path, toml: str) -> Iterator[Place]:
    """With the queue installed, and nothing in it."""
    made = Place(server.fresh("jobs"), tmp_path, toml)
    made.jobs.install()
    made.db.execute("TRUNCATE procrastinate_jobs, procrastinate_workers, procrastinate_periodic_defers CASCADE")
    yield made
    made.close()


@pytest.fixture
def bare(server: Server, tmp_path: Path) -> Iterator[Place]:
    """Without a queue, in a database that is dropped at the end."""
    made = Place(server.fresh("changed"), tmp_path)
    yield made
    made.close()
    server.drop("changed")


def test_a_home_that_no_worker_looked_after_has_no_queue(bare: Place) -> None:
    bare.memory.remember("The kiln fires at noon.")
    assert bare.memory.jobs() is None and "jobs" not in bare.memory.status()
    assert "embedding is left to a worker, and none has been here yet: start `mnemic worker`" in bare.memory.doctor()["notes"]
    assert bare.db.execute("SELECT to_regnamespace('mnemic_jobs')").fetchone() == (None,)
    assert bare.work() == [("index", "default", "done")], "what waited before the first worker came"
    assert bare.memory.jobs() == {"waiting": 0, "doing": 0, "failed": 0}
    bare.jobs.install()
    bare.memory.remember("The kiln cools at dusk.")
    assert bare.memory.status()["jobs"] == {"waiting": 1, "doing": 0, "failed": 0}


def test_what_is_left_to_a_worker_is_found_by_its_words_at_once(place: Place) -> None:
    receipt = place.memory.remember("The kiln fires at noon.")
    assert (receipt.status, receipt.reason) == ("queued", "its vectors are left to `mnemic worker`")
    answer = place.memory.recall("kiln")
    assert [hit.path for hit in answer.hits] == [receipt.path]
    assert answer.degraded == ("1 document not embedded yet: found by words only",)
    assert place.work() == [("index", "default", "done")]
    assert place.memory.recall("kiln").degraded == ()
    assert place.states() == (0, 0, 0)


def test_a_job_is_noted_with_what_it_is_about_or_not_at_all(place: Place) -> None:
    place.memory.remember("walrus")
    place.work()
    with pytest.raises(RuntimeError), place.store.write("default") as tx:
        tx.enqueue(1, 0)
        raise RuntimeError
    assert place.states() == (0, 0, 0)
    with place.store.write("default") as tx:
        tx.enqueue(1, 0)
        assert place.db.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)
    assert place.states() == (1, 0, 0)
    assert place.db.execute("SELECT lock, args::text FROM procrastinate_jobs").fetchone() == (
        "default", '{"namespace": "default"}',
    )  # fmt: skip


def test_one_job_of_a_kind_waits_for_a_namespace(place: Place) -> None:
    for text in ("walrus", "seal", "otter"):
        assert place.memory.remember(text).status == "queued"
    place.memory.within("other").remember("kiln")
    assert (place.states(), place.states("other")) == ((2, 0, 0), (1, 0, 0))
    assert not place.defer("index", "other") and place.defer("tend", "other")
    assert sorted(place.work()) == [("index", "default", "done"), ("index", "other", "done"), ("tend", "other", "done")]


def test_an_ordinary_user_has_a_queue_too(server: Server, tmp_path: Path) -> None:
    server.execute("CREATE ROLE worker LOGIN")
    made = Place(server.fresh("owned", "worker"), tmp_path)
    made.memory.remember("walrus", title="W")
    assert made.work() == [("index", "default", "done")]
    made.memory.remember("seal")
    assert made.states() == (1, 0, 0) and made.work() == [("index", "default", "done")]
    made.close()


def test_a_write_stands_although_its_job_cannot_be_noted(bare: Place) -> None:
    bare.jobs.install()
    bare.db.execute("DROP TABLE procrastinate_jobs CASCADE")
    assert bare.memory.remember("The kiln fires at noon.").status == "queued"
    assert bare.memory.jobs() is None
    assert bare.memory.recall("kiln").hits and bare.memory.verify().ok


def test_what_a_write_adds_while_its_job_is_taken_up_is_not_left_behind(place: Place) -> None:
    place.memory.remember("walrus")
    place.work()
    place.defer("index", "default")
    with place.store.write("default") as tx:
        tx.enqueue(1, 0)  # a job waits already, so none is noted
        assert place.store.waiting("default") == 1  # it has reached the server
        tx.head()  # whoever reads lets all go to the server that was written before
        worker = threading.Thread(target=place.work)
        worker.start()
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname='jobs' AND wait_event_type='Lock'"
        while worker.is_alive() and place.db.execute(query).fetchone() == (0,):
            pass
    worker.join(PATIENCE)
    assert [(one.kind, one.outcome) for one in place.told] == [("index", "done")]
    assert place.store.waiting("default") == 0


def test_the_jobs_of_a_namespace_follow_each_other_and_those_of_others_do_not_wait(place: Place) -> None:
    for kind in KINDS:
        for name in ("a", "b"):
            place.defer(kind, name)
    begun: dict[str, list[str]] = defaultdict(list)
    first, all_of_other = threading.Event(), threading.Event()
    held: list[str] = []

    def work(kind: str, namespace: str) -> None:
        begun[namespace].append(kind)
        if not first.is_set():
            first.set()
            held.append(namespace)
            assert all_of_other.wait(PATIENCE), "the other namespace waits for this one"
            assert begun[namespace] == ["index"]
        elif namespace not in held and kind == "dream":
            all_of_other.set()

    done: list[Worked] = []
    due = Round((), 0, 0, "x")
    workers = [
        Worker([place.jobs], work, lambda: due, at_once=1, once=True, retry_seconds=1, told=done.append) for _ in range(2)
    ]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert begun == {"a": list(KINDS), "b": list(KINDS)}
    assert {one.outcome for one in done} == {"done"} and len(done) == 6


def test_the_job_of_a_worker_that_was_killed_is_done_by_the_next(place: Place) -> None:
    place.memory.remember("The kiln fires at noon.", title="Kiln")
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.store.embedding", place.url, str(place.folder)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "asked\n"
    child.kill()
    child.communicate(timeout=PATIENCE)
    assert place.states() == (0, 1, 0)
    assert place.work() == [], "nobody can tell yet that it is dead"
    place.memory.remember("The kiln cools at dusk.")
    place.db.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '31 s'")
    assert place.work() == [("index", "default", "done")]
    assert (place.states(), place.store.waiting("default")) == ((0, 0, 0), 0)
    assert place.memory.recall("kiln").degraded == () and place.memory.verify().ok


def test_a_job_whose_end_could_not_be_noted_is_done_again(place: Place) -> None:
    for name in ("a", "b"):
        place.defer("index", name)
    place.db.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")
    place.db.execute("UPDATE procrastinate_jobs SET status='doing', worker_id=(SELECT max(id) FROM procrastinate_workers)")
    rows = place.db.execute("SELECT id, worker_id FROM procrastinate_jobs ORDER BY id").fetchall()
    (first, worker), (second, _) = rows
    connector = procrastinate.PsycopgConnector(
        conninfo=place.url, min_size=1, kwargs={"options": "-c search_path=mnemic_jobs"}
    )  # fmt: skip
    ended = set[int]()

    async def look_twice() -> None:
        async with procrastinate.App(connector=connector).open_async() as app:
            await let_go(app, worker, {second}, ended)
            assert ended == {first} and await asyncio.to_thread(place.work) == []
            await let_go(app, worker, {second}, ended)

    asyncio.run(look_twice())
    assert place.work() == [("index", "a", "done")] and place.states() == (0, 1, 0)


def test_who_is_stopped_ends_what_is_under_way_first(place: Place) -> None:
    for name in ("a", "b"):
        place.defer("index", name)
    begun, free = threading.Event(), threading.Event()

    def work(kind: str, namespace: str) -> None:
        begun.set()
        assert free.wait(PATIENCE)

    due = Round((), 0, 0, "x")
    worker = Worker([place.jobs], work, lambda: due, at_once=1, once=False, retry_seconds=1, told=place.told.append)
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert begun.wait(PATIENCE)
    worker.stop()
    assert place.states() == (1, 1, 0)
    free.set()
    thread.join(PATIENCE)
    assert [(one.namespace, one.outcome) for one in place.told] == [("a", "done")] and place.states() == (1, 0, 0)


def test_a_job_that_kills_its_workers_fails_in_the_end(place: Place) -> None:
    place.defer("index", "a")
    place.db.execute("UPDATE procrastinate_jobs SET status='doing', attempts=7")
    assert place.work() == []
    assert place.states("a") == (0, 0, 1)


def test_a_job_may_be_done_twice(place: Place) -> None:
    place.memory.remember("The kiln fires at noon.")
    place.work()
    before = (place.memory.ledger(limit=1)[0]["hash"], place.store.counts("default"))
    for kind in ("index", "tend", "index", "tend"):
        place.defer(kind, "default")
        assert place.work() == [(kind, "default", "done")]
    assert (place.memory.ledger(limit=1)[0]["hash"], place.store.counts("default")) == before


def test_what_fails_is_tried_again_ever_later_and_then_failed(place: Place) -> None:
    place.model.away = True
    place.memory.remember("walrus")
    assert place.work() == [("index", "default", "again")] and place.told[0].error == "ModelError"
    waits = "SELECT round(extract(epoch FROM scheduled_at - now()) / 120) FROM procrastinate_jobs WHERE scheduled_at IS NOT NULL"
    assert place.db.execute(waits).fetchall() == [(1,)]
    assert place.work() == [], "it is not due"
    place.memory.remember("seal")
    assert place.work() == [("index", "default", "again")], "a fresh job does not wait for one that failed"
    assert place.states() == (1, 0, 0), "and does not stand beside it"
    place.defer("tend", "default")
    assert place.work() == [("tend", "default", "done")]

    due = "UPDATE procrastinate_jobs SET scheduled_at=now(), attempts=%s"
    place.db.execute(due, (3,))
    place.clock.advance(hours=2)
    assert place.work() == [("index", "default", "again")]
    assert place.db.execute(waits).fetchall() == [(8,)]
    place.db.execute(due, (7,))
    place.clock.advance(hours=2)
    assert place.work() == [("index", "default", "failed")]
    assert place.memory.status()["jobs"] == {"waiting": 0, "doing": 0, "failed": 1}
    assert "1 jobs failed for good: a worker begins anew at its start or next round" in place.memory.doctor()["notes"]

    place.model.away = False
    place.clock.advance(hours=2)
    assert place.work() == [("index", "default", "done")], "the next worker begins anew"
    assert (place.states(), place.store.waiting("default")) == ((0, 0, 0), 0)


def test_every_namespace_is_tended_when_it_is_due_by_whichever_worker_comes_first(place: Place) -> None:
    for name in ("a", "b"):
        place.memory.within(name).remember("walrus")
    place.db.execute("INSERT INTO namespaces(name, moved) VALUES('elsewhere', 'two')")
    place.db.execute("TRUNCATE procrastinate_jobs CASCADE; DELETE FROM queue")
    place.jobs.tick(Round(("tend", "dream"), 1_000, 5_000, "one"))
    place.jobs.tick(Round(("tend", "dream"), 4_999, 9_000, "two"))
    query = "SELECT task_name, lock FROM procrastinate_jobs ORDER BY id"
    every = [(f"mnemic.{kind}", name) for name in ("a", "b") for kind in ("tend", "dream")]
    assert place.db.execute(query).fetchall() == every
    place.db.execute("TRUNCATE procrastinate_jobs CASCADE")
    place.jobs.tick(Round(("tend", "dream"), 5_000, 9_000, "two"))
    assert place.db.execute(query).fetchall() == every


@pytest.mark.parametrize("toml", [STORE + "[dream]\ntimer = true\n"])
def test_a_worker_lets_namespaces_decay_and_dream_as_the_timers_say(place: Place) -> None:
    place.memory.remember("The kiln fires at noon.", title="Kiln")
    assert place.work() == [(kind, "default", "done") for kind in ("index", "tend", "dream")]
    assert place.work() == [] and place.memory.tend()["ran"] is False, "the lease is that of `tend`"
    place.clock.advance(hours=6)
    assert place.work() == [("tend", "default", "done"), ("dream", "default", "done")]
    with place.memory.tending() as tending:
        assert not tending.alive(), "what serves does not tend"


def test_a_worker_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    with serving() as server:
        place = Place(server.fresh(), tmp_path)
        arrived = threading.Semaphore(0)
        worker = place.memory.worker(told=lambda job: arrived.release() if job.outcome == "done" else None)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            place.memory.remember("walrus")
            assert arrived.acquire(timeout=PATIENCE)
            server.stop("fast")
            server.start()
            place.memory.remember("seal")
            assert arrived.acquire(timeout=PATIENCE)
        finally:
            worker.stop()
            thread.join(PATIENCE)
            place.close()
        assert not thread.is_alive()


def test_the_queue_of_an_older_procrastinate_is_brought_up_to_date(bare: Place) -> None:
    folder = resources.files("procrastinate.sql").joinpath("migrations")
    steps = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    old = [name for name in steps if name < "03.04"]
    with bare.db.transaction():
        bare.db.execute("CREATE SCHEMA mnemic_jobs")
        for name in old:
            bare.db.execute(folder.joinpath(name).read_bytes())
        bare.db.execute(f'COMMENT ON SCHEMA mnemic_jobs IS \'{{"procrastinate": "{old[-1]}", "mnemic": 0}}\'')
    bare.memory.remember("walrus")
    assert bare.work() == [("index", "default", "done")]
    newer = "COMMENT ON SCHEMA mnemic_jobs IS '{\"procrastinate\": \"99.00.00_01_far.sql\", \"mnemic\": 1}'"
    bare.db.execute(newer)
    with pytest.raises(NewerSchema, match=r"made by a newer mnemic or procrastinate \(99\.00\.00_01_far\.sql\)"):
        bare.work()
