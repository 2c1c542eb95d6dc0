from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("psycopg")

import psycopg

from bench.guards import Report, Statements, measure, unguarded
from bench.isolation import NAMES
from tests.servers import Server


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_CONFIG", str(tmp_path / "config"))


def test_without_their_conditions_on_the_namespace_statements_reach_nothing_foreign(server: Server, tmp_path: Path) -> None:
    report = measure(server, tmp_path, 80, 7)
    assert (report.crossings, report.differences, report.faults, report.ok) == ([], [], [], True)
    assert (report.operations, report.namespaces) == (80, len(NAMES)) and report.own >= 5 and report.rows > 300
    assert {"SELECT", "INSERT", "DELETE"} <= set(report.rewritten) and report.rewritten["SELECT"] > 300
    assert set(report.remaining) <= {"n.id=q.ns"}, "every condition is gone"


def test_a_server_that_guards_nothing_shows_and_changes_what_is_foreign(server: Server, tmp_path: Path) -> None:
    report = measure(server, tmp_path, 20, 7, guarded=False)
    assert len(report.crossings) > 5 and len(report.differences) > 5 and not report.ok


def test_however_a_statement_is_sent_it_is_laid_bare_and_afterwards_no_longer(server: Server) -> None:
    statements, query = Statements(), "SELECT a FROM t WHERE ns=%s"
    with psycopg.connect(server.url("postgres")) as db:
        db.execute("CREATE TEMPORARY TABLE t AS SELECT 1 AS ns, 5 AS a")
        with unguarded(statements):
            assert db.execute(query, (2,)).fetchall() == [(5,)]
            with db.pipeline():
                found = db.execute(query, (2,), prepare=True)
            assert found.fetchall() == [(5,)]
            with db.cursor() as cursor:
                cursor.executemany("UPDATE t SET a=%s WHERE ns=%s", [(6, 2), (7, 3)])
        assert db.execute(query, (2,)).fetchall() == [] and db.execute(query, (1,)).fetchall() == [(7,)]
    assert statements.rewritten == {"SELECT": 2, "UPDATE": 1} and not statements.left


def test_a_run_that_laid_no_statement_bare_proves_nothing() -> None:
    assert not Report(operations=5).ok and Report(operations=5, rewritten={"SELECT": 1}).ok


@pytest.mark.parametrize(
    ("query", "sent", "kind"),
    [
        ("SELECT a FROM t x WHERE x.ns=%s AND a=%s", "SELECT a FROM t x WHERE (%s::bigint IS NOT NULL) AND a=%s", "SELECT"),
        ("SELECT 1 FROM a JOIN b ON b.ns=a.ns AND b.id=a.id", "SELECT 1 FROM a JOIN b ON true AND b.id=a.id", "SELECT"),
        ("UPDATE t SET a=%s WHERE ns=%s", "UPDATE t SET a=%s WHERE (%s::bigint IS NOT NULL)", "UPDATE"),
        ("DELETE FROM t WHERE ns=%s", "DELETE FROM t WHERE (%s::bigint IS NOT NULL)", "DELETE"),
        ("INSERT INTO t(ns, a) VALUES(%s,%s) ON CONFLICT (ns, a) DO NOTHING", None, "INSERT"),
        ("SELECT value FROM meta WHERE key=%s", None, "SELECT"),
    ],
)  # fmt: skip
def test_conditions_on_the_namespace_become_always_true(query: str, sent: str | None, kind: str) -> None:
    statements = Statements()
    assert statements.bare(query) == (sent or query)
    assert (statements.rewritten[kind], statements.left[kind]) == ((1, 0) if sent else (0, 1))
    assert not statements.remaining
