"""A server's connections of one process, and how values travel over them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import adapt, pq
from psycopg.adapt import AdaptersMap, Buffer
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool

from mnemic.environment import shown_url

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what matters of its warnings is raised: not for stderr
Configure = Callable[["psycopg.Connection[Any]"], None]


class _Text(StrDumper):
    """Text as the server takes it. What it cannot hold finds nothing; what is stored was made storable before."""

    def dump(self, obj: str) -> Buffer | None:
        if "\0" in obj:
            obj = obj.replace("\0", "\ufffd")
        try:
            return super().dump(obj)
        except UnicodeEncodeError:
            return super().dump(obj.encode("utf-8", "replace").decode())


class Halves(bytes):
    """A vector as the server's `halfvec` in binary: dimension, two bytes of nothing, and halves in network order."""


def halves_dumper(oid: int) -> type[adapt.Dumper]:
    class HalvesDumper(adapt.Dumper):
        format = pq.Format.BINARY

        def dump(self, obj: Any) -> Buffer | None:
            return bytes(obj)

    HalvesDumper.oid = oid
    return HalvesDumper


def adapters() -> AdaptersMap:
    known = AdaptersMap(psycopg.adapters)
    known.register_dumper(str, _Text)
    # Else a number's size would choose its type, and a statement be prepared once for each mixture of types.
    known.register_dumper(int, Int8Dumper)
    known.register_dumper(int, Int8BinaryDumper)
    return known


def lost(connection: psycopg.Connection[Any]) -> bool:
    """Whether a connection is of no more use."""
    return connection.closed or connection.info.transaction_status == pq.TransactionStatus.UNKNOWN


class Pool:
    """The connections of this process to one server; those that came over a fork are left to the parent."""

    def __init__(
        self, url: str, limit: int, configure: Configure, *, more: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        """`more` is said to the server besides, `options` to the pool."""
        self.url, self.limit = url, limit
        self.name = shown_url(url).partition("?")[0]
        self._configure, self._more, self._options = configure, more or {}, options
        self._guard = threading.Lock()
        self._pool: tuple[int, ConnectionPool] | None = None

    def open(self) -> ConnectionPool:
        """The pool, which opens its connections in the background when it is first asked for."""
        mine = self._pool
        if mine is None or mine[0] != os.getpid():
            with self._guard:
                mine = self._pool
                if mine is None or mine[0] != os.getpid():
                    mine = self._pool = (os.getpid(), self._fresh())
        return mine[1]

    def _fresh(self) -> ConnectionPool:
        pool = ConnectionPool(
            self.url, min_size=1, max_size=self.limit, open=False, configure=self._configure, name=self.name,
            kwargs={"autocommit": True, "context": adapters(), **self._more}, **self._options,
        )  # fmt: skip
        pool.open(wait=False)
        return pool

    def close(self) -> None:
        """Close the connections that this process opened."""
        with self._guard:
            mine, self._pool = self._pool, None
        if mine and mine[0] == os.getpid():
            mine[1].close()


def give_back(pool: ConnectionPool, connection: psycopg.Connection[Any]) -> None:
    """Let others have a connection, out of any transaction."""
    if connection.info.transaction_status == pq.TransactionStatus.INERROR:
        connection.close()  # the driver may take a statement for prepared that the server skipped behind the error
    if not connection.closed and connection.info.transaction_status != pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK", prepare=False)
    try:
        pool.putconn(connection)
    except ValueError:  # its own pool was closed meanwhile
        connection.close()
