"""Servers that follow the primary and may answer for it, where they are near enough.

How near is told by the namespaces' versions, which a read learns in the message that begins it, as its own snapshot sees
them: so a replica that shows what this process wrote, or was shown before, answers no worse than the primary. Unlike a
place in the server's log, a version is of one namespace, and a failover does not change what it means.

A replica is a help and never a need. One that cannot be reached is left aside for some seconds, and the primary answers.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from mnemic.environment import shown_url
from mnemic.errors import BadInput
from mnemic.store.postgres.pools import Configure, Pool, give_back, lost

ASIDE = 5.0
"""Seconds for which a replica that failed is not asked."""
WAIT = 0.5
"""Seconds that a read waits for a replica's connection."""
SILENT = {"connect_timeout": 3, "tcp_user_timeout": 3_000}
"""After how long a replica that says nothing counts as gone, in s and ms; its URL may say otherwise."""
REMEMBERED = 65_536
"""Namespaces whose versions are remembered."""


class Left(Exception):
    """What was read from a replica cannot be read to the end there: all of it must be read from the primary."""


class Replica:
    """One of them, through a pool of its own."""

    def __init__(self, url: str, limit: int, configure: Configure) -> None:
        self.url, self.name = url, shown_url(url).partition("?")[0]
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message may show the password
            raise BadInput(f"the URL of the replica {self.name} cannot be read: write postgresql://USER@HOST/DATABASE") from None
        self.password = "password" in given
        self.silent: dict[str, Any] = {name: value for name, value in SILENT.items() if name not in given}
        # It gives up before it is asked anew: what waits to be tried again would hold up a try of now.
        self.pool = Pool(url, limit, configure, more=self.silent, max_waiting=limit, reconnect_timeout=ASIDE / 2)
        self._guard = threading.Lock()
        self._until: float | None = None
        """When it may be asked again, after it failed."""

    def begin(self, first: str) -> tuple[psycopg.Connection[Any], psycopg.Cursor[Any]] | None:
        """A connection with a transaction that has begun with `first`; None where it has none to give."""
        if not self._may():
            return None
        until = time.monotonic() + WAIT
        while True:
            try:
                connection = self.pool.open().getconn(max(0.01, until - time.monotonic()))
            except TooManyRequests:  # it is there, and busy
                return None
            except (PoolTimeout, PoolClosed):
                self.leave()
                return None
            try:
                cursor = connection.execute(first, prepare=False)
            except BaseException as error:
                dead = lost(connection)
                self.give_back(connection)
                if not isinstance(error, psycopg.Error):
                    raise
                if not dead or time.monotonic() > until:
                    self.leave()
                    return None
            else:
                self._until = None
                return connection, cursor

    def _may(self) -> bool:
        """Whether it may be asked. After it failed, one caller tries it for all."""
        with self._guard:
            now = time.monotonic()
            if self._until is None:
                return True
            if now < self._until:
                return False
            self._until = now + ASIDE
            return True

    def leave(self) -> None:
        """Ask it nothing for a while."""
        with self._guard:
            self._until = time.monotonic() + ASIDE

    def give_back(self, connection: psycopg.Connection[Any]) -> None:
        give_back(self.pool.open(), connection)

    def connect(self) -> psycopg.Connection[Any]:
        """A connection outside the pool. Raises psycopg.Error."""
        return psycopg.connect(self.url, autocommit=True, **self.silent)


class Positions:
    """How far this process has seen each namespace, and by a server's URL its own facts: behind that no answer may go.

    Of so many only; of the others nobody knows, and the primary has to tell.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._seen: OrderedDict[int | str, int] = OrderedDict()
        self._forgot = False

    def note(self, what: int | str, version: int) -> None:
        """A state was written or shown."""
        with self._guard:
            self._seen[what] = max(version, self._seen.get(what, 0))
            self._seen.move_to_end(what)
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)
                self._forgot = True

    def known(self, space: int) -> int | None:
        """The highest version that was seen of a namespace; None where none is remembered."""
        with self._guard:
            return self._seen.get(space)

    def reached(self, what: int | str, version: int) -> bool:
        """Whether a state is none before what was seen."""
        with self._guard:
            seen = self._seen.get(what)
            return version >= seen if seen is not None else not self._forgot
