"""The schema, as a numbered list of additive steps.

Each step runs in one transaction together with the version it reaches, so a crash leaves the old or the new
schema and never something between. A step may add; it never drops or rewrites what a user's home holds.
All three shelves have the same schema; the tables of truth are filled in the hot one only (decisions.md), the ledger in
the hot and the cold one (events.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw

from mnemic.errors import NewerSchema

FIRST = """
-- Small facts about the file itself: store id, tokenizer version, erasure key.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Namespaces by number, so that every key can begin with four bytes instead of a name.
CREATE TABLE namespaces(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- Identifiers are handed out here and never again, so that they stay unique across the shelves.
CREATE TABLE sequences(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- Every text once. Rows are added and erased, never edited.
CREATE TABLE texts(id INTEGER PRIMARY KEY, ns INTEGER NOT NULL, document INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX texts_document ON texts(ns, document);

CREATE TABLE sessions(
  ns INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, context TEXT NOT NULL, origin TEXT NOT NULL,
  started_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, PRIMARY KEY(ns, id)) WITHOUT ROWID;

CREATE TABLE documents(
  ns INTEGER NOT NULL, path TEXT NOT NULL, id INTEGER NOT NULL UNIQUE, kind TEXT NOT NULL, title TEXT NOT NULL,
  context TEXT NOT NULL, origin TEXT NOT NULL, importance REAL NOT NULL, session TEXT, text_id INTEGER,
  digest TEXT NOT NULL, source TEXT, created_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL,
  shelf TEXT NOT NULL, PRIMARY KEY(ns, path));
CREATE INDEX documents_digest ON documents(ns, digest);
CREATE INDEX documents_session ON documents(ns, session, id) WHERE session IS NOT NULL;
CREATE INDEX documents_source ON documents(ns, source) WHERE source IS NOT NULL;

CREATE TABLE messages(
  ns INTEGER NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, document INTEGER NOT NULL, role TEXT NOT NULL,
  name TEXT NOT NULL, text_id INTEGER NOT NULL, digest TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY(ns, session, seq)) WITHOUT ROWID;
CREATE INDEX messages_document ON messages(ns, document);

-- Exceptions to "visible": a path here hides itself and what lies below it.
CREATE TABLE visibility(
  ns INTEGER NOT NULL, path TEXT NOT NULL, forgotten_at INTEGER, reason TEXT NOT NULL,
  PRIMARY KEY(ns, path)) WITHOUT ROWID;

-- The ledger: leaves for ever, payloads erasable.
CREATE TABLE ledger(
  ns INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, origin TEXT NOT NULL,
  op TEXT NOT NULL, object TEXT NOT NULL, payload_hash TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL,
  PRIMARY KEY(ns, seq)) WITHOUT ROWID;
CREATE INDEX ledger_object ON ledger(ns, object, seq);
CREATE TABLE payloads(
  ns INTEGER NOT NULL, seq INTEGER NOT NULL, salt TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(ns, seq));

-- Operations already done, so that repeating one is harmless.
CREATE TABLE operations(
  ns INTEGER NOT NULL, id TEXT NOT NULL, request TEXT NOT NULL, receipt TEXT NOT NULL, document INTEGER,
  PRIMARY KEY(ns, id)) WITHOUT ROWID;

-- Keyed digests of erased texts: they must not come back in through a replayed transcript.
CREATE TABLE erased(ns INTEGER NOT NULL, mac TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(ns, mac)) WITHOUT ROWID;

-- Derived from here on.
CREATE TABLE nodes(
  id INTEGER PRIMARY KEY, ns INTEGER NOT NULL, document INTEGER NOT NULL, parent INTEGER, path TEXT NOT NULL,
  kind TEXT NOT NULL, title TEXT NOT NULL, text_id INTEGER, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  reach INTEGER NOT NULL, message INTEGER, speaker TEXT NOT NULL, created_at INTEGER NOT NULL,
  size INTEGER NOT NULL, terms BLOB NOT NULL);
CREATE UNIQUE INDEX nodes_path ON nodes(ns, path);
CREATE INDEX nodes_document ON nodes(document, message);

-- Terms are made by our own tokenizer, each led by its namespace; FTS5 only splits them at the blanks.
CREATE VIRTUAL TABLE fulltext USING fts5(terms, content='', tokenize="ascii tokenchars '_'");

-- How many indexed nodes and terms a namespace has (BM25's N and average length), and how many nodes went.
CREATE TABLE lexicon(
  ns INTEGER PRIMARY KEY, nodes INTEGER NOT NULL, terms INTEGER NOT NULL, removed INTEGER NOT NULL);

CREATE TABLE queue(
  document INTEGER PRIMARY KEY, ns INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL, error TEXT NOT NULL);

CREATE TABLE embedders(
  id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL, canary BLOB);
-- key = embedder << 48 | node
-- stamp: the order in which vectors came, which is not the order of their nodes; readers catch up by it.
CREATE TABLE vectors(
  key INTEGER PRIMARY KEY, ns INTEGER NOT NULL, stamp INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_stamp ON vectors(ns, stamp);
CREATE TABLE codes(
  ns INTEGER NOT NULL, embedder INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  nodes BLOB NOT NULL, codes BLOB NOT NULL, PRIMARY KEY(ns, embedder, first));
CREATE TABLE coders(
  ns INTEGER NOT NULL, embedder INTEGER NOT NULL, count INTEGER NOT NULL, coder BLOB NOT NULL,
  PRIMARY KEY(ns, embedder)) WITHOUT ROWID;

CREATE TABLE edges(
  source INTEGER NOT NULL, target INTEGER NOT NULL, kind TEXT NOT NULL, weight REAL NOT NULL, ns INTEGER NOT NULL,
  PRIMARY KEY(source, kind, target)) WITHOUT ROWID;
CREATE INDEX edges_target ON edges(target, kind);

-- One row a timer: of many processes on one home, the holder of the lease runs it.
CREATE TABLE leases(name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
"""

SECOND = """
CREATE TABLE diary(
  ns INTEGER NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL, session TEXT, tags TEXT NOT NULL,
  context TEXT NOT NULL, origin TEXT NOT NULL, at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, extracted_at INTEGER,
  extraction INTEGER, PRIMARY KEY(ns, id));
CREATE INDEX diary_pending ON diary(ns, id) WHERE extracted_at IS NULL;
CREATE INDEX diary_extraction ON diary(ns, extraction, id) WHERE extraction IS NOT NULL;

CREATE TABLE extractions(
  ns INTEGER NOT NULL, id INTEGER NOT NULL, trigger TEXT NOT NULL, summary TEXT NOT NULL, produced TEXT NOT NULL,
  diary_count INTEGER NOT NULL, origin TEXT NOT NULL, recorded_at INTEGER NOT NULL, PRIMARY KEY(ns, id)) WITHOUT ROWID;

-- Every change of a fact or a concern is a new revision; the one before it is retired at that moment, never rewritten,
-- so what was known at any time can be read off.
CREATE TABLE facts(
  ns INTEGER NOT NULL, id INTEGER NOT NULL, revision INTEGER NOT NULL, category TEXT NOT NULL, key TEXT NOT NULL,
  slot TEXT NOT NULL, value TEXT NOT NULL, status TEXT NOT NULL, origin TEXT NOT NULL, context TEXT NOT NULL,
  locked INTEGER NOT NULL, corroboration INTEGER NOT NULL, sources TEXT NOT NULL, valid_from INTEGER NOT NULL,
  valid_to INTEGER, affirmed_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, retired_at INTEGER, check_by INTEGER,
  supersedes INTEGER, superseded_by INTEGER, rival INTEGER, approved TEXT, approved_by TEXT, why TEXT NOT NULL,
  PRIMARY KEY(ns, id, revision));
-- Indexes end with the key, or SQLite walks the whole namespace by its primary key to save itself the sorting.
CREATE INDEX facts_slot ON facts(ns, retired_at, slot, id, revision);
-- At most one fact holds in a slot, whatever is undone in whatever order.
CREATE UNIQUE INDEX facts_current ON facts(ns, category, slot, context)
  WHERE retired_at IS NULL AND status IN ('current', 'provisional');
CREATE INDEX facts_top ON facts(ns, retired_at, status, locked, corroboration, affirmed_at, id, revision);

CREATE TABLE concerns(
  ns INTEGER NOT NULL, id INTEGER NOT NULL, revision INTEGER NOT NULL, parent INTEGER, kind TEXT NOT NULL,
  title TEXT NOT NULL, slot TEXT NOT NULL, background TEXT NOT NULL, status TEXT NOT NULL, origin TEXT NOT NULL,
  context TEXT NOT NULL, corroboration INTEGER NOT NULL, sources TEXT NOT NULL, valid_from INTEGER NOT NULL,
  valid_to INTEGER, affirmed_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, retired_at INTEGER, approved TEXT,
  approved_by TEXT, why TEXT NOT NULL, PRIMARY KEY(ns, id, revision));
CREATE INDEX concerns_slot ON concerns(ns, retired_at, slot, id, revision);
CREATE INDEX concerns_parent ON concerns(ns, retired_at, parent, id, revision);
CREATE INDEX concerns_top ON concerns(ns, retired_at, status, parent, affirmed_at, id, revision);
"""

THIRD = """
-- One row a revision; its texts never change in place (models/experience.py).
CREATE TABLE experiences(
  ns INTEGER NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, kind TEXT NOT NULL, family TEXT NOT NULL,
  gist TEXT NOT NULL, situation TEXT NOT NULL, path TEXT NOT NULL, reasoning TEXT NOT NULL, limits TEXT NOT NULL,
  failure_reason TEXT NOT NULL, context TEXT NOT NULL, everywhere INTEGER NOT NULL, origin TEXT NOT NULL,
  author TEXT NOT NULL, status TEXT NOT NULL, why TEXT NOT NULL, alpha INTEGER NOT NULL, beta INTEGER NOT NULL,
  prior_alpha INTEGER NOT NULL, prior_beta INTEGER NOT NULL, recent_alpha REAL NOT NULL, recent_beta REAL NOT NULL,
  recent_at INTEGER NOT NULL, outcomes TEXT NOT NULL, verified INTEGER NOT NULL, rejected INTEGER NOT NULL,
  verified_at INTEGER, pinned INTEGER NOT NULL, tokens_spent INTEGER NOT NULL, tokens_saved INTEGER NOT NULL,
  approved_by TEXT NOT NULL, approved TEXT NOT NULL, sources TEXT NOT NULL, parents TEXT NOT NULL,
  created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, PRIMARY KEY(ns, id, revision));
-- With the key behind it, or the planner walks the whole namespace to have the rows in key order.
CREATE INDEX experiences_family ON experiences(ns, family, status, id, revision);

-- Every outcome that was reported, counted or not.
CREATE TABLE reports(
  ns INTEGER NOT NULL, experience TEXT NOT NULL, number INTEGER NOT NULL, revision INTEGER NOT NULL,
  outcome TEXT NOT NULL, attribution TEXT NOT NULL, counted TEXT NOT NULL, evidence TEXT NOT NULL, note TEXT NOT NULL,
  tokens_used INTEGER NOT NULL, tokens_saved INTEGER NOT NULL, dedupe_key TEXT, actor TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(ns, experience, number)) WITHOUT ROWID;
CREATE UNIQUE INDEX reports_key ON reports(ns, experience, revision, dedupe_key) WHERE dedupe_key IS NOT NULL;

CREATE TABLE consolidations(
  ns INTEGER NOT NULL, number INTEGER NOT NULL, merged TEXT NOT NULL, produced TEXT NOT NULL, note TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY(ns, number)) WITHOUT ROWID;
"""

FOURTH = """
-- When a document was last used; without a row, when it was recorded.
CREATE TABLE usage(
  ns INTEGER NOT NULL, document INTEGER NOT NULL, last_accessed INTEGER NOT NULL, access_count INTEGER NOT NULL,
  tier TEXT, PRIMARY KEY(ns, document)) WITHOUT ROWID;
CREATE INDEX usage_last ON usage(ns, last_accessed);
CREATE INDEX documents_recorded ON documents(ns, recorded_at);

-- Where rows of a document may be that do not belong there: they go unless the catalogue says that it stands there.
-- In the hot shelf only.
CREATE TABLE strays(
  ns INTEGER NOT NULL, document INTEGER NOT NULL, shelf TEXT NOT NULL, PRIMARY KEY(ns, document, shelf)) WITHOUT ROWID;
"""

VAULT = """
-- What is known of the files of the vault; derived: without it the next sync reads every file again.
CREATE TABLE vault_files(
  ns INTEGER NOT NULL, path TEXT NOT NULL, key TEXT NOT NULL, state TEXT NOT NULL, mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, digest TEXT NOT NULL, intent TEXT NOT NULL,
  origin TEXT NOT NULL, kind TEXT NOT NULL, type TEXT NOT NULL, description TEXT NOT NULL, status TEXT NOT NULL,
  committed INTEGER NOT NULL, why TEXT NOT NULL, PRIMARY KEY(ns, path)) WITHOUT ROWID;
CREATE INDEX vault_files_key ON vault_files(ns, key);
CREATE INDEX vault_files_uncommitted ON vault_files(ns) WHERE committed=0;
CREATE TABLE vault_links(
  ns INTEGER NOT NULL, path TEXT NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL,
  heading TEXT NOT NULL, alias TEXT NOT NULL, PRIMARY KEY(ns, path, place)) WITHOUT ROWID;
CREATE INDEX vault_links_key ON vault_links(ns, key);
-- A rename that is going on: after a kill it is finished.
CREATE TABLE vault_renames(ns INTEGER NOT NULL, path TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY(ns, path)) WITHOUT ROWID;
"""

WINDOW = """
-- What stands for the left-out part of a conversation. `begins` and `ends` are digests of the conversation up to there.
CREATE TABLE summaries(
  ns INTEGER NOT NULL, id INTEGER NOT NULL, session TEXT NOT NULL, level TEXT NOT NULL, begins TEXT NOT NULL,
  ends TEXT NOT NULL, messages INTEGER NOT NULL, replaced INTEGER NOT NULL, text TEXT NOT NULL, importance REAL NOT NULL,
  origin TEXT NOT NULL, judge TEXT NOT NULL, sources TEXT NOT NULL, merged_from TEXT NOT NULL, tier TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY(ns, id));
CREATE INDEX summaries_session ON summaries(ns, session, id);
"""

TURNS = """
-- Where a node stands in a conversation, so that its neighbours are found without the catalogue: the number of its
-- session (nodes.talk_number), besides its message, and who spoke. `turns` in meta tells that the rows have them.
ALTER TABLE nodes ADD COLUMN talk INTEGER;
ALTER TABLE nodes ADD COLUMN role TEXT NOT NULL DEFAULT '';
CREATE INDEX nodes_turns ON nodes(ns, talk, message) WHERE talk IS NOT NULL;
"""

SHELVED = """
-- Entries whose content was erased and may still stand on the cold shelf; in the hot shelf only, until they are swept.
CREATE TABLE IF NOT EXISTS emptied(ns INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(ns, seq)) WITHOUT ROWID;
-- An index holds nothing of its own. The beginning of a digest finds the row as well.
DROP INDEX IF EXISTS documents_digest;
CREATE INDEX documents_digest ON documents(ns, substr(digest, 1, 8));
CREATE INDEX IF NOT EXISTS usage_core ON usage(ns) WHERE tier='core';
"""

DREAM = """
-- A stretch of a conversation on one topic, from message `first` to `last`. `digest` is that of its messages' digests.
CREATE TABLE IF NOT EXISTS chunks(
  ns INTEGER NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  digest TEXT NOT NULL, state TEXT NOT NULL, judge TEXT NOT NULL, PRIMARY KEY(ns, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS chunks_session ON chunks(ns, session, first);
-- What articles are or may come to be about.
CREATE TABLE IF NOT EXISTS subjects(
  ns INTEGER NOT NULL, key TEXT NOT NULL, title TEXT NOT NULL, kind TEXT NOT NULL, article TEXT NOT NULL,
  PRIMARY KEY(ns, key)) WITHOUT ROWID;
-- Which chunk is about which subject, and what became of that: captured, written, idle (it had nothing to say).
CREATE TABLE IF NOT EXISTS routes(
  ns INTEGER NOT NULL, chunk TEXT NOT NULL, subject TEXT NOT NULL, turns INTEGER NOT NULL, state TEXT NOT NULL,
  section TEXT NOT NULL, PRIMARY KEY(ns, chunk, subject)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS routes_subject ON routes(ns, subject);
CREATE TABLE IF NOT EXISTS dreams(
  ns INTEGER NOT NULL, id INTEGER NOT NULL, at INTEGER NOT NULL, judge TEXT NOT NULL, report TEXT NOT NULL,
  PRIMARY KEY(ns, id)) WITHOUT ROWID;
"""

Step = Callable[[apsw.Connection], None]


def _first(db: apsw.Connection) -> None:
    db.execute(FIRST)
    # Without it a deleted row's terms stay readable in the segments until some later merge.
    db.execute("INSERT INTO fulltext(fulltext, rank) VALUES('secure-delete', 1)")


def _second(db: apsw.Connection) -> None:
    db.execute(SECOND)


def _third(db: apsw.Connection) -> None:
    db.execute(THIRD)


def _fourth(db: apsw.Connection) -> None:
    db.execute(FOURTH)


def _vault(db: apsw.Connection) -> None:
    db.execute(VAULT)


def _window(db: apsw.Connection) -> None:
    db.execute(WINDOW)


def _turns(db: apsw.Connection) -> None:
    db.execute(TURNS)


def _shelved(db: apsw.Connection) -> None:
    db.execute(SHELVED)


def _dream(db: apsw.Connection) -> None:
    db.execute(DREAM)


STEPS: list[Step] = [_first, _second, _third, _fourth, _vault, _window, _turns, _shelved, _dream]
VERSION = len(STEPS)


def version(db: apsw.Connection) -> int:
    """The schema version of an open file; 0 for a new one."""
    return int(db.pragma("user_version"))


def check(db: apsw.Connection, name: str) -> int:
    """The version, refused by name if it is newer than this code knows."""
    found = version(db)
    if found > VERSION:
        raise NewerSchema(
            f"{name!r} has schema {found}, this mnemic knows {VERSION}: install the newer mnemic to open it"
        )
    return found


def migrate(db: apsw.Connection, name: str, steps: list[Step] | None = None) -> Iterator[int]:
    """Bring a file up to date step by step, yielding each version reached.

    Another process may do the same at the same time: each step takes the write lock first and looks again.
    """
    todo = STEPS if steps is None else steps
    while check(db, name) < len(todo):
        db.execute("BEGIN IMMEDIATE")
        try:
            reached = version(db)
            if reached < len(todo):
                todo[reached](db)
                db.execute(f"PRAGMA user_version = {reached + 1}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        yield version(db)
