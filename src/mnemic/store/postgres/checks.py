"""What is wrong with a home on a server: what can be told from outside of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.errors import StoreError
from mnemic.store.postgres.connection import SCHEMA, Database
from mnemic.store.postgres.migrations import UNGUARDED

if TYPE_CHECKING:
    from mnemic.store.postgres.store import PostgresStore

REINDEX = "run `mnemic reindex`"


def examine(store: PostgresStore) -> list[str]:
    """The problems of a home, each with what to do next; empty if there are none."""
    found: list[str] = []
    query = (
        "SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid=i.indexrelid"
        " WHERE c.relnamespace=%s::regnamespace AND NOT (i.indisvalid AND i.indisready) ORDER BY 1"
    )
    servers, away = list[Database](), set[str]()
    for base in store.servers.all():
        try:
            base.rows(0, "SELECT 1")
            servers.append(base)
        except StoreError as error:
            if base is store.servers.home:
                raise
            away.add(base.shard)
            found.append(f"the shard {base.shard!r} does not answer, and so none of its namespaces: {error}")
    found += [f"the index {name} is not whole: let its owner run REINDEX INDEX {name}"
              for base in servers for (name,) in base.rows(0, query, (SCHEMA,))]  # fmt: skip
    query = (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace=%s::regnamespace AND c.relkind IN ('r', 'p')"
        " AND c.relname<>ALL(%s) AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1"
    )
    found += [f"the rows of {name} are not guarded: let its owner run ALTER TABLE {name} FORCE ROW LEVEL SECURITY"
              for base in servers for (name,) in base.rows(0, query, (SCHEMA, list(UNGUARDED)))]  # fmt: skip
    with store.reading():
        for name in (name for name, place in store.servers.places() if place not in away):
            found += _words(store, name)
    return found


def _words(store: PostgresStore, ns: str) -> list[str]:
    """Whether the full text of a namespace and its counts say the same as its nodes."""
    space = store.space(ns)
    query = (
        "SELECT (SELECT count(*) FROM fulltext WHERE ns=%s), (SELECT coalesce(sum(length(words)), 0) FROM fulltext WHERE ns=%s),"
        " (SELECT coalesce(sum(nodes), 0) FROM vocabulary WHERE ns=%s), (SELECT count(*) FROM nodes WHERE ns=%s AND size>0),"
        " (SELECT coalesce(sum(size), 0) FROM nodes WHERE ns=%s)"
    )
    row = store._row(space, query, (space,) * 5)
    assert row is not None
    rows, lexemes, counted, nodes, size = map(int, row)
    indexed, terms, _ = store.lexicon(ns)
    if (rows, lexemes, indexed, terms) != (nodes, counted, nodes, size):
        return [f"the full text of namespace {ns!r} is not whole: {REINDEX}"]
    return []
