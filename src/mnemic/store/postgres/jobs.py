"""Jobs in the same database: what waits to be embedded, tended or dreamt, ordered per namespace. The queue is procrastinate's.

Its tables stand in a schema of their own, so a home that no worker ever looked after has none of them. A trigger on our
table `queue` notes an index job in the transaction that stored the text: both are there, or neither, and the writer is not
asked once more. A job bears the name of a namespace and of its kind, never content. At most one of a kind waits for a
namespace, and of its jobs one is done at a time.

That a job waits already is seen by a write before it commits, and a worker may take that very job up before that: so
whoever does it first waits for the writes that are under way (`store.write` of the namespace), and then looks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from mnemic.errors import MissingExtra, NewerSchema
from mnemic.store.postgres.connection import ROLE, SCHEMA, Database, translated
from mnemic.store.postgres.migrations import LOCK

JOBS = "mnemic_jobs"
"""The schema of the queue. `DROP SCHEMA mnemic_jobs CASCADE` takes all of it away, and the trigger with it."""
QUEUE = "mnemic"
KINDS = ("index", "tend", "dream")
TASK = "mnemic."
"""What the name of a kind's task begins with."""
EDITION = 1
"""Of what is ours in that schema."""
TRIES = 8
"""How often a job is begun before it is failed."""
STALE_SECONDS = 30.0
"""After so long without a sign of life a worker counts as dead, and what it did is begun again."""
AGAIN = "+"
STATES = {"todo": "waiting", "doing": "doing", "failed": "failed"}

OURS = f"""
CREATE INDEX IF NOT EXISTS mnemic_jobs_lock ON {JOBS}.procrastinate_jobs(lock);
CREATE OR REPLACE FUNCTION {JOBS}.mnemic_index() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {JOBS}, pg_temp AS $$
BEGIN
  INSERT INTO procrastinate_jobs(queue_name, task_name, lock, queueing_lock, args)
  SELECT '{QUEUE}', '{TASK}index', name, 'index:' || name, jsonb_build_object('namespace', name)
  FROM {SCHEMA}.namespaces WHERE id = NEW.ns
    AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE queueing_lock = 'index:' || name AND status = 'todo')
  ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING;
  RETURN NULL;
EXCEPTION WHEN OTHERS THEN  -- the text is worth more than the job: a worker looks for what waits when it starts
  RAISE WARNING 'mnemic: no job was noted (%)', SQLERRM;
  RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION {JOBS}.mnemic_index() FROM PUBLIC;
CREATE OR REPLACE TRIGGER mnemic_index AFTER INSERT OR UPDATE ON {SCHEMA}.queue
  FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION {JOBS}.mnemic_index();
"""
NOTED = (
    f"INSERT INTO {JOBS}.procrastinate_jobs(queue_name, task_name, lock, queueing_lock, args)"
    f" SELECT '{QUEUE}', '{TASK}' || kind, name, kind || ':' || name, jsonb_build_object('namespace', name)"
)
"""Begins a statement that notes jobs, for rows of `kind` and `name`."""
HERE = "moved IS NULL"
"""Which namespaces have their rows on this server."""
ONCE = " ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING"


@dataclass(frozen=True, slots=True)
class Round:
    """What is due for every namespace from time to time."""

    kinds: tuple[str, ...]
    now: int
    """In ms, as `until`."""
    until: int
    """When it is due again."""
    holder: str
    """Who takes the lease for it."""


class Jobs:
    """The queue of one database."""

    def __init__(self, base: Database) -> None:
        self.base = base

    def install(self) -> None:
        """Make the queue, or bring it up to date; nothing where it is so. Raises NewerSchema, MissingExtra, StoreError."""
        wanted = {"procrastinate": _steps()[-1], "mnemic": EDITION}
        with translated(self.base.name), self.base.connect() as db:
            if _installed(db) != wanted:
                with db.transaction():
                    db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                    self._bring(db, _installed(db), wanted)
            if self.base.role:
                _grant(db)

    def _bring(self, db: psycopg.Connection[Any], found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        there = str(found.get("procrastinate", ""))
        if there > wanted["procrastinate"] or found.get("mnemic", 0) > EDITION:
            raise NewerSchema(
                f"the jobs of {self.base.name!r} were made by a newer mnemic or procrastinate ({there}): install that one here"
            )
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {JOBS}")
        db.execute(f"SET LOCAL search_path = {JOBS}")
        if not found:
            db.execute(_schema())
        for name in (step for step in _steps() if found and step > there):
            db.execute(_step(name))
        db.execute(OURS)
        db.execute(f"COMMENT ON SCHEMA {JOBS} IS '{json.dumps(dict(wanted))}'")

    def tick(self, due: Round, *, starting: bool = False, stale_seconds: float = STALE_SECONDS) -> None:
        """What some worker has to do now and then: take up what dead ones left, and note what is due.

        `starting` also notes an index job for every namespace in which something waits for its vectors.
        """
        with translated(self.base.name), self.base.connect() as db, db.transaction():
            db.execute(f"SET LOCAL search_path = {JOBS}")
            _revive(db, stale_seconds)
            begun = bool(due.kinds) and _begin(db, due)
            if starting or begun:
                _waiting(db)


def counts(base: Database, namespace: str | None = None) -> dict[str, int] | None:
    """How many jobs wait, are being done, and failed for good, of all namespaces or of one; None where there is no queue."""
    there = (
        "SELECT 1 FROM pg_class c JOIN pg_namespace s ON s.oid=c.relnamespace WHERE s.nspname=%s AND c.relname=%s"
        " AND has_schema_privilege(s.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
    )
    if base.row(0, there, (JOBS, "procrastinate_jobs")) is None:
        return None
    query = f"SELECT status::text, count(*) FROM {JOBS}.procrastinate_jobs WHERE task_name=ANY(%s)"
    params: list[Any] = [[TASK + kind for kind in KINDS]]
    if namespace is not None:
        query, params = f"{query} AND lock=%s", [*params, namespace]
    found: dict[str, int] = dict(base.rows(0, f"{query} GROUP BY 1", params))
    return {name: int(found.get(state, 0)) for state, name in STATES.items()}


def lock_of(kind: str, namespace: str, *, again: bool = False) -> str:
    """By which a waiting job is told from others: a new one and one that is tried again stand beside each other."""
    return f"{kind}{AGAIN if again else ''}:{namespace}"


def _revive(db: psycopg.Connection[Any], stale_seconds: float) -> None:
    """Let the jobs of dead workers wait again, but those that were begun too often or of which the same waits already."""
    query = (
        "SELECT id, attempts FROM procrastinate_jobs j WHERE status='doing' AND (worker_id IS NULL OR EXISTS (SELECT 1"
        " FROM procrastinate_workers w WHERE w.id=j.worker_id AND w.last_heartbeat < now() - make_interval(secs => %s)))"
        " FOR UPDATE SKIP LOCKED"
    )
    for number, attempts in db.execute(query, (stale_seconds,)).fetchall():
        if attempts + 1 >= TRIES:
            db.execute("SELECT procrastinate_finish_job_v1(%s, 'failed', false)", (number,))
            continue
        try:
            with db.transaction():
                db.execute("SELECT procrastinate_retry_job_v2(%s, now(), NULL, NULL, NULL)", (number,))
        except psycopg.errors.UniqueViolation:
            db.execute("SELECT procrastinate_finish_job_v1(%s, 'succeeded', true)", (number,))


def _begin(db: psycopg.Connection[Any], due: Round) -> bool:
    """Note what is due for every namespace, unless some other did or will; whether it was."""
    taken = (
        f"INSERT INTO {SCHEMA}.leases AS l VALUES('tend',%s,%s) ON CONFLICT (name)"
        " DO UPDATE SET holder=excluded.holder, until=excluded.until WHERE l.until<=%s RETURNING 1"
    )
    if db.execute(taken, (due.holder, due.until, due.now)).fetchone() is None:
        return False
    every = f"FROM {SCHEMA}.namespaces, unnest(%s::text[]) WITH ORDINALITY AS kinds(kind, place) WHERE {HERE}"
    db.execute(f"{NOTED} {every} ORDER BY name, place{ONCE}", (list(due.kinds),))
    return True


def _waiting(db: psycopg.Connection[Any]) -> None:
    """Note an index job for every namespace in which something waits and none was put off."""
    db.execute("SELECT set_config('mnemic.task', 'queue', true)")
    waiting = f"(SELECT 'index' AS kind, name FROM {SCHEMA}.namespaces n WHERE id IN (SELECT ns FROM {SCHEMA}.queue)"
    put_off = f"SELECT 1 FROM procrastinate_jobs WHERE status='todo' AND queueing_lock = 'index{AGAIN}:' || n.name"
    db.execute(f"{NOTED} FROM {waiting} AND NOT EXISTS ({put_off})) AS one ORDER BY name{ONCE}")


def _installed(db: psycopg.Connection[Any]) -> dict[str, Any]:
    """What the schema says of itself; empty where it is not there."""
    row = db.execute("SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname=%s", (JOBS,)).fetchone()
    try:
        found = json.loads(row[0]) if row and row[0] else {}
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


def _grant(db: psycopg.Connection[Any]) -> None:
    """Let the role of the guarded rows count jobs."""
    query = "SELECT has_table_privilege(%s, %s, 'SELECT')"
    granted = db.execute(query, (ROLE, f"{JOBS}.procrastinate_jobs")).fetchone()
    if granted is None or not granted[0]:
        db.execute(f"GRANT USAGE ON SCHEMA {JOBS} TO {ROLE}; GRANT SELECT ON {JOBS}.procrastinate_jobs TO {ROLE}")


def _schema() -> bytes:
    from procrastinate.schema import SchemaManager

    return SchemaManager.get_schema().encode()


def _steps() -> Sequence[str]:
    """The names of procrastinate's own migrations, in order."""
    from importlib import resources

    try:
        names = [file.name for file in resources.files("procrastinate.sql").joinpath("migrations").iterdir()]
    except ImportError as error:
        raise missing(error) from None
    return sorted(name for name in names if name.endswith(".sql"))


def _step(name: str) -> bytes:
    from importlib import resources

    return resources.files("procrastinate.sql").joinpath("migrations", name).read_bytes()


def missing(error: ImportError) -> MissingExtra:
    """What is said where the library of the queue is not installed."""
    return MissingExtra(f"jobs need {error.name}, which is not installed: pip install 'mnemic[postgres]'")
