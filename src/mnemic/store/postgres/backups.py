"""Backup and restore of a home on a server, over the connection that is there anyway.

All rows are read as of one moment and written table by table in the server's own text format, namespace by namespace, for
its rows are guarded. What comes back replaces what stands there in one transaction: killed, nothing has happened.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import sql

from mnemic.errors import BadInput, Conflict, Damaged
from mnemic.store.archive import More, archived
from mnemic.store.postgres import migrations
from mnemic.store.postgres.connection import CHANGES, SCHEMA, Database, listed, translated
from mnemic.store.postgres.servers import Servers

FORMAT = "mnemic-postgres"
MANIFEST = "mnemic-postgres.json"
SHARED = ("meta", "namespaces", "embedders")
"""Tables of the home that travel; leases do not."""
IDENTITIES = ("namespaces", "embedders")
CHUNK = 1 << 20


def write(servers: Servers, target: Path, more: Callable[[zipfile.ZipFile], None] | None = None) -> None:
    """Copy all rows into one zip file, and what `more` adds; an earlier file of that name is replaced at the end.

    Of a home with several servers each is copied as of one moment of its own, and what comes back stands on one.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with archived(target, target.with_name(f".{target.name}.part")) as archive:
        with translated(servers.home.name), ExitStack() as stack:
            _pack([_viewed(base, stack) for base in servers.all()], archive)
        if more is not None:
            more(archive)


def _viewed(base: Database, stack: ExitStack) -> psycopg.Connection[Any]:
    base.ready()
    db = stack.enter_context(base.connect())
    db.execute(base.view(0))
    db.execute("SELECT 1 FROM namespaces LIMIT 1")  # the moment is that of the first statement
    return db


def _pack(servers: Sequence[psycopg.Connection[Any]], archive: zipfile.ZipFile) -> None:
    first = servers[0]
    spaces, left = dict[int, psycopg.Connection[Any]](), set[int]()
    for db in servers:
        for number, here in db.execute("SELECT id, moved IS NULL FROM namespaces ORDER BY id").fetchall():
            if here:
                spaces.setdefault(number, db)
            elif db is not first:
                left.add(number)
    if left - set(spaces):  # it left one server after that was looked at, and reached another before
        raise Conflict("a namespace moved to another server while the backup began: start it again")
    columns = {name: migrations.columns(first, name) for name in (*SHARED, *migrations.TABLES)}
    rows: dict[str, int] = {}
    for name in (*SHARED, *migrations.TABLES):
        with archive.open(f"{name}.copy", "w", force_zip64=True) as out:
            if name in SHARED:
                rows[name] = _copy_out(first, name, columns[name], out)
            else:
                rows[name] = 0
                for number, db in sorted(spaces.items(), key=lambda pair: pair[0]):
                    db.execute("SELECT set_config('mnemic.ns', %s, true)", (str(number),))
                    rows[name] += _copy_out(db, name, columns[name], out)
    last: dict[str, int] = {}
    for db in servers:
        for name, value in db.execute(migrations.LAST, (SCHEMA,)).fetchall():
            last[name] = max(value, last.get(name, 0))
    manifest = {"format": FORMAT, "schema": migrations.version(first), "rows": rows, "columns": columns, "sequences": last}
    archive.writestr(MANIFEST, json.dumps(manifest, indent=1))


def _copy_out(db: psycopg.Connection[Any], name: str, columns: Sequence[str], out: IO[bytes]) -> int:
    statement = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(listed(columns), sql.Identifier(name))
    cursor = db.cursor()
    with cursor.copy(statement) as copy:
        for data in copy:
            out.write(data)
    return cursor.rowcount


def read_manifest(source: Path) -> dict[str, Any]:
    """What a backup says of itself. Raises BadInput if it is none of a home on a server."""
    try:
        with zipfile.ZipFile(source) as archive:
            found: dict[str, Any] = json.loads(archive.read(MANIFEST))
    except FileNotFoundError:
        raise BadInput(f"there is no file {str(source)!r}: name a backup that `mnemic backup` wrote") from None
    except KeyError:
        raise BadInput(f"{str(source)!r} is not a backup of a home on a server: it has no {MANIFEST}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise Damaged(f"{str(source)!r} cannot be unpacked ({error}): use another backup") from None
    if found.get("format") != FORMAT or int(found["schema"]) > migrations.VERSION:
        raise BadInput(f"{str(source)!r} has schema {found.get('schema')!r}, this mnemic knows {migrations.VERSION}")
    return found


def restore(base: Database, source: Path, more: More | None = None) -> None:
    """Put a backup's rows in place of all that stands there; `more` takes out the rest of the archive.

    Raises BadInput, Damaged where the archive is not whole, and then nothing has changed.
    """
    manifest = read_manifest(source)
    with zipfile.ZipFile(source) as archive:
        ours = {f"{name}.copy" for name in manifest["rows"]} | {MANIFEST}
        if more is not None:
            more(archive, [item for item in archive.infolist() if item.filename not in ours])
        with translated(base.name), base.connect() as db, db.transaction():
            db.execute(f"SET LOCAL search_path = {SCHEMA}, public")
            _replace(db, archive, manifest, source)


def _replace(db: psycopg.Connection[Any], archive: zipfile.ZipFile, manifest: dict[str, Any], source: Path) -> None:
    tables = [*SHARED, *migrations.TABLES]
    db.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(listed(tables)))
    for name in migrations.TABLES:  # their owner may fill them in one go only while they are not guarded from him
        db.execute(sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(sql.Identifier(name)))
    changes, version = _counted(db)
    db.execute(sql.SQL("TRUNCATE {}").format(listed([*tables, "leases"])))
    for name in (name for name in tables if name in manifest["rows"]):
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(name), listed(manifest["columns"][name]))
        cursor = db.cursor()
        with cursor.copy(statement) as copy:
            for data in _chunks(archive, f"{name}.copy", source):
                copy.write(data)
        if cursor.rowcount != manifest["rows"][name]:
            raise Damaged(f"{str(source)!r} holds {cursor.rowcount} rows of {name} instead of {manifest['rows'][name]}")
    for name in migrations.TABLES:
        db.execute(sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(sql.Identifier(name)))
    for name, value in manifest["sequences"].items():
        db.execute("SELECT setval(%s::regclass, %s)", (name, value))
    # What other processes know as of a version must not pass for what was restored.
    db.execute("UPDATE namespaces SET version=version+%s, moved=NULL", (version + 1,))
    count = "INSERT INTO meta VALUES(%s,%s) ON CONFLICT (key) DO UPDATE SET value=excluded.value"
    db.execute(count, (CHANGES, str(changes + 1)))
    for name in IDENTITIES:
        query = "SELECT setval(pg_get_serial_sequence(%s, 'id'), greatest((SELECT max(id) FROM {}), 1))"
        db.execute(sql.SQL(query).format(sql.Identifier(name)), (name,))


def _counted(db: psycopg.Connection[Any]) -> tuple[int, int]:
    """How often the home's own facts changed, and the highest version of a namespace."""
    query = "SELECT (SELECT value FROM meta WHERE key=%s), (SELECT max(version) FROM namespaces)"
    changes, version = db.execute(query, (CHANGES,)).fetchone() or (None, None)
    return int(changes or 0), int(version or 0)


def _chunks(archive: zipfile.ZipFile, name: str, source: Path) -> Iterator[bytes]:
    try:
        with archive.open(name) as packed:
            while data := packed.read(CHUNK):
                yield data
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise Damaged(f"{name} in {str(source)!r} is not whole ({error}): use another backup") from None
