"""The schema on the server, as a numbered list of additive steps; the same truth as in store/schema.py.

Each step runs in one transaction together with the version it reaches, under a lock that makes a second process wait. A
step may add; it never drops or rewrites what is held. Every key begins with the namespace, the tables that grow with the
texts are parted by its hash, and every row of a namespace is guarded: whoever reads or writes without having said which
namespace is meant sees nothing, whatever the statement asks for.

Text compares by its bytes (`COLLATE "C"`), as in SQLite: both engines list in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from mnemic.errors import NewerSchema, StoreError
from mnemic.store.postgres.connection import ROLE, SCHEMA
from mnemic.store.schema import SEQUENCES

LOCK = 0x6D6E656D
"""The advisory lock of migrations."""
PARTITIONS = 8
"""Into how many parts the large tables go in a new database."""
OLDEST = 160_000
OLDEST_VECTOR = (0, 8)
PATH = 600
"""Characters of a path that an index holds: the server's indexes take no longer rows."""

HOME = """
-- Small facts about the home: store id, tokenizer version, erasure key, schema.
CREATE TABLE meta(key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE namespaces(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE);
CREATE TABLE embedders(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, identity text COLLATE "C" NOT NULL UNIQUE, dim bigint NOT NULL,
  canary bytea);
-- One row a timer: of many processes on one home, the holder of the lease runs it.
CREATE TABLE leases(name text COLLATE "C" PRIMARY KEY, holder text NOT NULL, until bigint NOT NULL);

-- Identifiers of the home, `count` of them in a row; they are never handed out again, so what fails leaves a gap.
CREATE FUNCTION allocate(kind text, count bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  place regclass := format('%I.%I', '{schema}', 'ids_' || kind)::regclass;
  first bigint;
BEGIN
  PERFORM pg_advisory_lock({lock}, place::oid::int);
  first := nextval(place);
  IF count > 1 THEN PERFORM setval(place, first + count - 1); END IF;
  PERFORM pg_advisory_unlock({lock}, place::oid::int);
  RETURN first;
END $$;

-- Identifiers up to a number are taken, e.g. by what was copied from another home.
CREATE FUNCTION reserve(kind text, up_to bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  place regclass := format('%I.%I', '{schema}', 'ids_' || kind)::regclass;
  last bigint;
BEGIN
  PERFORM pg_advisory_lock({lock}, place::oid::int);
  last := nextval(place);
  PERFORM setval(place, greatest(last - 1, up_to, 1), greatest(last - 1, up_to) > 0);
  PERFORM pg_advisory_unlock({lock}, place::oid::int);
END $$;
"""

GROWING = {
    # Every text once. Rows are added and erased, never edited.
    "texts": "id bigint NOT NULL, document bigint NOT NULL, shelf text NOT NULL, body text NOT NULL, PRIMARY KEY(ns, id)",
    "documents": """path text COLLATE "C" NOT NULL, id bigint NOT NULL, kind text COLLATE "C" NOT NULL, title text NOT NULL,
      context text COLLATE "C" NOT NULL, origin text NOT NULL, importance double precision NOT NULL, session text COLLATE "C",
      text_id bigint, digest text COLLATE "C" NOT NULL, source text COLLATE "C", created_at bigint NOT NULL,
      recorded_at bigint NOT NULL, shelf text NOT NULL, PRIMARY KEY(ns, path), UNIQUE(ns, id)""",
    "messages": """session text COLLATE "C" NOT NULL, seq bigint NOT NULL, document bigint NOT NULL, role text NOT NULL,
      name text NOT NULL, text_id bigint NOT NULL, digest text NOT NULL, created_at bigint NOT NULL,
      PRIMARY KEY(ns, session, seq)""",
    # The ledger: leaves for ever, payloads erasable.
    "ledger": """seq bigint NOT NULL, at bigint NOT NULL, actor text NOT NULL, origin text NOT NULL, op text NOT NULL,
      object text COLLATE "C" NOT NULL, payload_hash text NOT NULL, previous text NOT NULL, hash text NOT NULL,
      PRIMARY KEY(ns, seq)""",
    "payloads": "seq bigint NOT NULL, salt text NOT NULL, body text NOT NULL, PRIMARY KEY(ns, seq)",
    # Operations already done, so that repeating one is harmless.
    "operations": """id text COLLATE "C" NOT NULL, request text NOT NULL, receipt text NOT NULL, document bigint,
      PRIMARY KEY(ns, id)""",
    # Derived from here on.
    "nodes": """id bigint NOT NULL, shelf text NOT NULL, document bigint NOT NULL, parent bigint,
      path text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, title text NOT NULL, text_id bigint, start bigint NOT NULL,
      "end" bigint NOT NULL, reach bigint NOT NULL, message bigint, speaker text NOT NULL, created_at bigint NOT NULL,
      size bigint NOT NULL, terms bytea NOT NULL, talk bigint, role text NOT NULL, PRIMARY KEY(ns, id)""",
    # The terms of a node, made by our own tokenizer, each led by its namespace and shelf.
    "fulltext": "node bigint NOT NULL, words tsvector NOT NULL, PRIMARY KEY(ns, node)",
    # In how many nodes each term occurs: counting them in the index would read all of a common word's.
    "vocabulary": """shelf text NOT NULL, term text COLLATE "C" NOT NULL, nodes bigint NOT NULL,
      PRIMARY KEY(ns, shelf, term)""",
    # stamp: the order in which vectors came, which is not the order of their nodes; readers catch up by it.
    "vectors": """embedder bigint NOT NULL, node bigint NOT NULL, shelf text NOT NULL, stamp bigint NOT NULL,
      digest bytea NOT NULL, vector {halfvec} NOT NULL, PRIMARY KEY(ns, embedder, node)""",
    "edges": """source bigint NOT NULL, target bigint NOT NULL, kind text COLLATE "C" NOT NULL, weight double precision NOT NULL,
      PRIMARY KEY(ns, source, kind, target)""",
}
"""Tables that grow with the texts, parted by namespace: their columns and key after `ns`."""

SMALL = {
    "counters": 'name text COLLATE "C" NOT NULL, value bigint NOT NULL, PRIMARY KEY(ns, name)',
    "sessions": """id text COLLATE "C" NOT NULL, title text NOT NULL, context text COLLATE "C" NOT NULL, origin text NOT NULL,
      started_at bigint NOT NULL, recorded_at bigint NOT NULL, PRIMARY KEY(ns, id)""",
    # Exceptions to "visible": a path here hides itself and what lies below it.
    "visibility": 'path text COLLATE "C" NOT NULL, forgotten_at bigint, reason text NOT NULL, PRIMARY KEY(ns, path)',
    # When a document was last used; without a row, when it was recorded.
    "usage": """document bigint NOT NULL, last_accessed bigint NOT NULL, access_count bigint NOT NULL, tier text,
      PRIMARY KEY(ns, document)""",
    # Keyed digests of erased texts: they must not come back in through a replayed transcript.
    "erased": 'mac text COLLATE "C" NOT NULL, at bigint NOT NULL, PRIMARY KEY(ns, mac)',
    "diary": """id bigint NOT NULL, kind text COLLATE "C" NOT NULL, content text NOT NULL, session text COLLATE "C",
      tags text NOT NULL, context text COLLATE "C" NOT NULL, origin text NOT NULL, at bigint NOT NULL,
      recorded_at bigint NOT NULL, extracted_at bigint, extraction bigint, PRIMARY KEY(ns, id)""",
    "extractions": """id bigint NOT NULL, trigger text NOT NULL, summary text NOT NULL, produced text NOT NULL,
      diary_count bigint NOT NULL, origin text NOT NULL, recorded_at bigint NOT NULL, PRIMARY KEY(ns, id)""",
    # Every change of a fact or a concern is a new revision; the one before it is retired at that moment, never rewritten.
    "facts": """id bigint NOT NULL, revision bigint NOT NULL, category text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
      slot text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL, origin text NOT NULL,
      context text COLLATE "C" NOT NULL, locked bigint NOT NULL, corroboration bigint NOT NULL, sources text NOT NULL,
      valid_from bigint NOT NULL, valid_to bigint, affirmed_at bigint NOT NULL, recorded_at bigint NOT NULL,
      retired_at bigint, check_by bigint, supersedes bigint, superseded_by bigint, rival bigint, approved text,
      approved_by text, why text NOT NULL, PRIMARY KEY(ns, id, revision)""",
    "concerns": """id bigint NOT NULL, revision bigint NOT NULL, parent bigint, kind text COLLATE "C" NOT NULL,
      title text COLLATE "C" NOT NULL, slot text COLLATE "C" NOT NULL, background text NOT NULL,
      status text COLLATE "C" NOT NULL, origin text NOT NULL, context text COLLATE "C" NOT NULL, corroboration bigint NOT NULL,
      sources text NOT NULL, valid_from bigint NOT NULL, valid_to bigint, affirmed_at bigint NOT NULL,
      recorded_at bigint NOT NULL, retired_at bigint, approved text, approved_by text, why text NOT NULL,
      PRIMARY KEY(ns, id, revision)""",
    # One row a revision; its texts never change in place (models/experience.py).
    "experiences": """id text COLLATE "C" NOT NULL, revision bigint NOT NULL, kind text COLLATE "C" NOT NULL,
      family text COLLATE "C" NOT NULL, gist text NOT NULL, situation text NOT NULL, path text NOT NULL, reasoning text NOT NULL,
      limits text NOT NULL, failure_reason text NOT NULL, context text COLLATE "C" NOT NULL, everywhere bigint NOT NULL,
      origin text NOT NULL, author text NOT NULL, status text COLLATE "C" NOT NULL, why text NOT NULL, alpha bigint NOT NULL,
      beta bigint NOT NULL, prior_alpha bigint NOT NULL, prior_beta bigint NOT NULL, recent_alpha double precision NOT NULL,
      recent_beta double precision NOT NULL, recent_at bigint NOT NULL, outcomes text NOT NULL, verified bigint NOT NULL,
      rejected bigint NOT NULL, verified_at bigint, pinned bigint NOT NULL, tokens_spent bigint NOT NULL,
      tokens_saved bigint NOT NULL, approved_by text NOT NULL, approved text NOT NULL, sources text NOT NULL,
      parents text NOT NULL, created_at bigint NOT NULL, changed_at bigint NOT NULL, PRIMARY KEY(ns, id, revision)""",
    # Every outcome that was reported, counted or not.
    "reports": """experience text COLLATE "C" NOT NULL, number bigint NOT NULL, revision bigint NOT NULL, outcome text NOT NULL,
      attribution text NOT NULL, counted text NOT NULL, evidence text NOT NULL, note text NOT NULL,
      tokens_used bigint NOT NULL, tokens_saved bigint NOT NULL, dedupe_key text COLLATE "C", actor text NOT NULL,
      at bigint NOT NULL, PRIMARY KEY(ns, experience, number)""",
    "consolidations": """number bigint NOT NULL, merged text NOT NULL, produced text NOT NULL, note text NOT NULL,
      at bigint NOT NULL, PRIMARY KEY(ns, number)""",
    # What stands for the left-out part of a conversation.
    "summaries": """id bigint NOT NULL, session text COLLATE "C" NOT NULL, level text NOT NULL, begins text NOT NULL,
      ends text NOT NULL, messages bigint NOT NULL, replaced bigint NOT NULL, text text NOT NULL,
      importance double precision NOT NULL, origin text NOT NULL, judge text NOT NULL, sources text NOT NULL,
      merged_from text NOT NULL, tier text NOT NULL, created_at bigint NOT NULL, PRIMARY KEY(ns, id)""",
    "chunks": """id text COLLATE "C" NOT NULL, session text COLLATE "C" NOT NULL, first bigint NOT NULL, last bigint NOT NULL,
      digest text NOT NULL, state text COLLATE "C" NOT NULL, judge text NOT NULL, PRIMARY KEY(ns, id)""",
    "subjects": """key text COLLATE "C" NOT NULL, title text NOT NULL, kind text NOT NULL, article text NOT NULL,
      PRIMARY KEY(ns, key)""",
    "routes": """chunk text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, turns bigint NOT NULL, state text NOT NULL,
      section text NOT NULL, PRIMARY KEY(ns, chunk, subject)""",
    "dreams": "id bigint NOT NULL, at bigint NOT NULL, judge text NOT NULL, report text NOT NULL, PRIMARY KEY(ns, id)",
    # Derived from here on. How many indexed nodes and terms a shelf has, and how many nodes went.
    "lexicon": """shelf text NOT NULL, nodes bigint NOT NULL, terms bigint NOT NULL, removed bigint NOT NULL,
      PRIMARY KEY(ns, shelf)""",
    "queue": """document bigint NOT NULL, state text NOT NULL, attempts bigint NOT NULL, due_at bigint NOT NULL,
      error text NOT NULL, PRIMARY KEY(ns, document)""",
    "codes": """embedder bigint NOT NULL, shelf text NOT NULL, first bigint NOT NULL, last bigint NOT NULL, nodes bytea NOT NULL,
      codes bytea NOT NULL, PRIMARY KEY(ns, embedder, shelf, first)""",
    "coders": """embedder bigint NOT NULL, shelf text NOT NULL, count bigint NOT NULL, coder bytea NOT NULL,
      PRIMARY KEY(ns, embedder, shelf)""",
    # What is known of the files of the vault.
    "vault_files": """path text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, state text NOT NULL,
      mtime_ns bigint NOT NULL, ctime_ns bigint NOT NULL, size bigint NOT NULL, inode bigint NOT NULL, digest text NOT NULL,
      intent text NOT NULL, origin text NOT NULL, kind text NOT NULL, type text NOT NULL, description text NOT NULL,
      status text NOT NULL, committed bigint NOT NULL, why text NOT NULL, PRIMARY KEY(ns, path)""",
    "vault_links": """path text COLLATE "C" NOT NULL, place bigint NOT NULL, key text COLLATE "C" NOT NULL, target text NOT NULL,
      heading text NOT NULL, alias text NOT NULL, PRIMARY KEY(ns, path, place)""",
    "vault_renames": 'path text COLLATE "C" NOT NULL, target text NOT NULL, PRIMARY KEY(ns, path)',
}
"""The other tables that bear a namespace."""

TABLES = (*SMALL, *GROWING)
"""All that bear one."""
UNGUARDED = ("meta", "namespaces", "embedders", "leases", "shards")
"""Tables of the home: the only ones whose rows belong to no namespace, and are not guarded."""

INDEXES = (
    "CREATE INDEX texts_document ON texts(ns, document)",
    "CREATE INDEX documents_digest ON documents(ns, digest)",
    "CREATE INDEX documents_session ON documents(ns, session, id) WHERE session IS NOT NULL",
    f"CREATE INDEX documents_source ON documents(ns, (right(source, {PATH}))) WHERE source IS NOT NULL",
    "CREATE INDEX documents_recorded ON documents(ns, recorded_at)",
    "CREATE INDEX messages_document ON messages(ns, document)",
    "CREATE INDEX ledger_object ON ledger(ns, object, seq)",
    "CREATE INDEX operations_document ON operations(ns, document)",
    f"CREATE INDEX nodes_path ON nodes(ns, (left(path, {PATH})))",
    "CREATE INDEX nodes_document ON nodes(ns, document, message)",
    "CREATE INDEX nodes_turns ON nodes(ns, talk, message) WHERE talk IS NOT NULL",
    # Without a list of what is still to be indexed: every search would have to walk it.
    "CREATE INDEX fulltext_words ON fulltext USING gin(words) WITH (fastupdate = off)",
    "CREATE INDEX vectors_stamp ON vectors(ns, shelf, stamp)",
    "CREATE INDEX edges_target ON edges(ns, target)",
    "CREATE INDEX usage_last ON usage(ns, last_accessed)",
    "CREATE INDEX usage_core ON usage(ns) WHERE tier='core'",
    "CREATE INDEX diary_pending ON diary(ns, id) WHERE extracted_at IS NULL",
    "CREATE INDEX diary_extraction ON diary(ns, extraction, id) WHERE extraction IS NOT NULL",
    "CREATE INDEX facts_slot ON facts(ns, slot, id, revision) WHERE retired_at IS NULL",
    # At most one fact holds in a slot, whatever is undone in whatever order.
    "CREATE UNIQUE INDEX facts_current ON facts(ns, category, slot, context)"
    " WHERE retired_at IS NULL AND status IN ('current', 'provisional')",
    "CREATE INDEX facts_top ON facts(ns, status, locked, corroboration, affirmed_at, id, revision) WHERE retired_at IS NULL",
    "CREATE INDEX concerns_slot ON concerns(ns, slot, id, revision) WHERE retired_at IS NULL",
    "CREATE INDEX concerns_parent ON concerns(ns, parent, id, revision) WHERE retired_at IS NULL",
    "CREATE INDEX concerns_top ON concerns(ns, status, parent, affirmed_at, id, revision) WHERE retired_at IS NULL",
    "CREATE INDEX experiences_family ON experiences(ns, family, status, id, revision)",
    "CREATE UNIQUE INDEX reports_key ON reports(ns, experience, revision, dedupe_key) WHERE dedupe_key IS NOT NULL",
    "CREATE INDEX summaries_session ON summaries(ns, session, id)",
    "CREATE INDEX chunks_session ON chunks(ns, session, first)",
    "CREATE INDEX routes_subject ON routes(ns, subject)",
    "CREATE INDEX vault_files_key ON vault_files(ns, key)",
    "CREATE INDEX vault_files_uncommitted ON vault_files(ns) WHERE committed=0",
    "CREATE INDEX vault_links_key ON vault_links(ns, key)",
)

LAST = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname=%s AND last_value IS NOT NULL"
"""Asks how far a server has given out identifiers."""
SEEN = "ns = nullif(current_setting('mnemic.ns', true), '')::bigint"
"""Which rows a transaction sees: those of the namespace that it said it is about."""
ALL_QUEUES = f"({SEEN} OR current_setting('mnemic.task', true) = 'queue')"
"""The list of what waits names documents by number only, and whoever works it off looks at that of all namespaces."""

Cursor = psycopg.Connection[Any]
Step = Callable[[Cursor, int], None]


def _first(db: Cursor, partitions: int) -> None:
    db.execute(HOME.replace("{schema}", SCHEMA).replace("{lock}", str(LOCK)))
    for kind in SEQUENCES:
        db.execute(f"CREATE SEQUENCE ids_{kind}")
    halfvec = str(_row(db, "SELECT format_type('halfvec'::regtype, NULL)")[0])
    for name, columns in SMALL.items():
        db.execute(f"CREATE TABLE {name}(ns bigint NOT NULL, {columns})")
    for name, columns in GROWING.items():
        body = columns.replace("{halfvec}", halfvec)
        db.execute(f"CREATE TABLE {name}(ns bigint NOT NULL, {body}) PARTITION BY HASH (ns)")
        for place in range(partitions):
            db.execute(f"CREATE TABLE {name}_{place} PARTITION OF {name}"
                       f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {place})")  # fmt: skip
    for statement in INDEXES:
        db.execute(statement)
    for name in TABLES:
        guard(db, [name, *(f"{name}_{place}" for place in range(partitions) if name in GROWING)])


def guard(db: Cursor, tables: list[str]) -> None:
    """Let the rows of some tables be seen from their own namespace only, by their owner too."""
    for name in tables:
        seen = ALL_QUEUES if name == "queue" else SEEN
        db.execute(
            f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY; ALTER TABLE {name} FORCE ROW LEVEL SECURITY;"
            f" CREATE POLICY own ON {name} USING ({seen}) WITH CHECK ({SEEN})"
        )


def _second(db: Cursor, partitions: int) -> None:
    """Two embedders' vectors beside each other: readers of one do not walk over those of the other."""
    db.execute("DROP INDEX vectors_stamp; CREATE INDEX vectors_stamp ON vectors(ns, shelf, embedder, stamp)")


def _third(db: Cursor, partitions: int) -> None:
    """What a namespace counts, and where it is, with the servers that a home has beside its first.

    version: how many writes there were; mark: drawn at each, so that two of the same number are told apart. moved: on a server
    that its rows have left, or are only coming to, where they are; epoch: how often they had moved when that was so.
    """
    db.execute(
        "ALTER TABLE namespaces ADD COLUMN version bigint NOT NULL DEFAULT 0, ADD COLUMN mark bigint NOT NULL DEFAULT 0,"
        " ADD COLUMN moved text COLLATE \"C\", ADD COLUMN epoch bigint NOT NULL DEFAULT 0;"
        # A row is written at every write: with room beside it no index is touched.
        " ALTER TABLE namespaces SET (fillfactor = 40);"
        " CREATE TABLE shards(name text COLLATE \"C\" PRIMARY KEY, url text NOT NULL, replicas text NOT NULL DEFAULT '')"
    )


STEPS: list[Step] = [_first, _second, _third]
VERSION = len(STEPS)


def columns(db: Cursor, name: str) -> list[str]:
    """The columns of a table, in order."""
    query = "SELECT attname FROM pg_attribute WHERE attrelid=%s::regclass AND attnum>0 AND NOT attisdropped ORDER BY attnum"
    return [column for (column,) in db.execute(query, (f"{SCHEMA}.{name}",)).fetchall()]


def version(db: Cursor) -> int:
    """The schema version of a database; 0 for a new one."""
    if _row(db, "SELECT to_regclass(%s) IS NULL", (f"{SCHEMA}.meta",))[0]:
        return 0
    found = db.execute(f"SELECT value FROM {SCHEMA}.meta WHERE key='schema'").fetchone()
    return int(found[0]) if found else 0


def check(db: Cursor, name: str) -> int:
    """The version, refused by name if it is newer than this code knows."""
    found = version(db)
    if found > VERSION:
        raise NewerSchema(f"{name!r} has schema {found}, this mnemic knows {VERSION}: install the newer mnemic to open it")
    return found


def migrate(db: Cursor, name: str, *, partitions: int = PARTITIONS, steps: list[Step] | None = None) -> int:
    """Bring a database up to date; the version reached.

    Another process may do the same at the same time: each step takes the lock first and looks again.
    """
    todo = STEPS if steps is None else steps
    while (before := check(db, name)) < len(todo):
        if before == 0:
            _check_server(db, name)
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            reached = version(db)
            if reached < len(todo):
                db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                if reached == 0:
                    db.execute("CREATE EXTENSION IF NOT EXISTS vector")
                db.execute(f"SET LOCAL search_path = {SCHEMA}, public")
                todo[reached](db, partitions)
                db.execute(
                    "INSERT INTO meta VALUES('schema', %s) ON CONFLICT (key) DO UPDATE SET value=excluded.value",
                    (str(reached + 1),),
                )
    return version(db)


def _check_server(db: Cursor, name: str) -> None:
    """Refuse a server that is too old or lacks what is needed, before anything is made on it."""
    if db.info.server_version < OLDEST:
        raise StoreError(f"{name} is PostgreSQL {db.info.server_version // 10_000}: 16 or newer is needed")
    found = db.execute("SELECT default_version FROM pg_available_extensions WHERE name='vector'").fetchone()
    if found is None or tuple(map(int, str(found[0]).split(".")[:2])) < OLDEST_VECTOR:
        has = f"has vector {found[0]}" if found else "lacks the extension vector"
        raise StoreError(f"{name} {has}: let its administrator install pgvector 0.8 or newer")
    if _row(db, "SELECT getdatabaseencoding()")[0] != "UTF8":
        raise StoreError(f"{name} is not in UTF-8: create the database with ENCODING 'UTF8'")


def role_for(db: Cursor) -> str | None:
    """The role that transactions take on: one without power over the guards, where whoever connects has that.

    `None` where whoever connects is bound by them already. Raises StoreError where it has the power and cannot give it up.
    """
    above, owner = _row(db, "SELECT rolsuper OR rolbypassrls, rolname FROM pg_roles WHERE rolname=current_user")
    there = db.execute("SELECT 1 FROM pg_roles WHERE rolname=%s", (ROLE,)).fetchone() is not None
    if not above and not there:
        return None
    try:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            there = db.execute("SELECT 1 FROM pg_roles WHERE rolname=%s", (ROLE,)).fetchone() is not None
            if not there:
                db.execute(f"CREATE ROLE {ROLE} NOLOGIN")
            if not _row(db, "SELECT pg_has_role(current_user, %s, 'SET')", (ROLE,))[0]:
                db.execute(f"GRANT {ROLE} TO CURRENT_USER")
            grant(db)
    except psycopg.errors.InsufficientPrivilege:
        if not above:
            return None
        raise StoreError(
            f"{owner!r} stands above row-level security and may not make the role {ROLE}: connect as an ordinary user"
        ) from None
    return ROLE


def grant(db: Cursor) -> None:
    """Let that role use the tables, and nothing else."""
    tables = [f"{SCHEMA}.{name}" for name in (*UNGUARDED, *TABLES)]
    query = "SELECT bool_and(has_table_privilege(%s, t, 'INSERT')) FROM unnest(%s::text[]) AS t"
    if _row(db, query, (ROLE, tables))[0]:
        return
    names = ", ".join(tables)
    db.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE}")
    db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {names} TO {ROLE}")
    db.execute(f"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {ROLE}")


def _row(db: Cursor, query: str, params: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    found: tuple[Any, ...] | None = db.execute(query, params).fetchone()
    assert found is not None
    return found
