"""What every noun of the store stands on: the server, and the numbers its namespaces go by.

The shelves are a column here: a document moves by an update, in the transaction that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mnemic.errors import BadInput
from mnemic.models.document import SHELVES
from mnemic.models.event import Row
from mnemic.store.base import Lag
from mnemic.store.postgres import truth
from mnemic.store.postgres.connection import Database, Params, Rows
from mnemic.store.postgres.servers import Servers
from mnemic.store.schema import TRUTH

T = TypeVar("T")
PAGE = 2_000
"""Rows of a whole table that are read at a time."""


def checked_shelf(name: str) -> str:
    """The name of a shelf. Raises BadInput for another."""
    if name not in SHELVES:
        raise BadInput(f"no such shelf {name!r}: hot, warm or cold")
    return name


def capped(limit: int) -> int | None:
    """A limit as the server takes it; below 0: none."""
    return None if limit < 0 else limit


class Shelves:
    """Reads of a namespace's rows."""

    def __init__(self, servers: Servers) -> None:
        self.servers, self.base = servers, servers.home
        self._spaces: dict[str, int] = {}

    def space(self, namespace: str) -> int:
        """The number of a namespace; 0, which no row bears, if nothing was ever written in it."""
        known = self._spaces.get(namespace)
        if known is None:
            known = self.servers.number(namespace)
            # One that an open write made may yet be taken back.
            if known and not self.base.writing:
                self._spaces[namespace] = known
        return known

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads that see one state, whatever is written meanwhile."""
        with self.servers.view():
            yield

    def read(self, ns: str, question: Callable[[], T]) -> T:
        """What several reads about a namespace tell that see one state, a replica's if one is near enough."""
        self.space(ns)  # of the primary: that there is such a namespace may not have come to a replica yet
        return self.servers.answered(question)

    def position(self, ns: str) -> int | None:
        """How many writes of a namespace this process has seen; all that it reads from now on has seen them."""
        space = self.space(ns)
        return 0 if not space else self.servers.positions.known(space) or self._shown(space)

    def catch_up(self, ns: str, position: int) -> bool:
        """Let all that this process reads from now on have seen so many writes; whether there were so many."""
        space = self.space(ns)
        known = (self.servers.positions.known(space) or 0) if space else 0
        return position <= known or (space > 0 and position <= self._shown(space))

    def _shown(self, space: int) -> int:
        """How many writes of a namespace the primary has seen."""
        self._rows(space, "SELECT 1")  # it is told as the read begins
        return self.servers.positions.known(space) or 0

    def lags(self) -> list[Lag]:
        """How far each replica is behind."""
        return [lag for lags in self.servers.each(Database.lags) for lag in lags]

    def reads(self) -> Mapping[str, int]:
        """How many reads of this process went where."""
        return self.servers.reads()

    def namespaces(self) -> list[str]:
        """Every namespace that something was written in."""
        return [name for (name,) in self._rows(0, "SELECT name FROM namespaces ORDER BY name")]

    def _rows(self, space: int, query: str, params: Params = ()) -> Rows:
        return self.servers.asked(space, lambda base: base.rows(space, query, params))

    def _row(self, space: int, query: str, params: Params = ()) -> tuple[Any, ...] | None:
        return self.servers.asked(space, lambda base: base.row(space, query, params))

    def _kept(self, space: int, query: str, params: Params = ()) -> Rows:
        """As `_rows`, asked once as long as nothing is written in the namespace; for answers that are small."""
        return self.servers.asked(space, lambda base: base.rows(space, query, params, keep=True))

    def _ask(self, space: int) -> truth.Ask:
        return lambda query, params: self._rows(space, query, params)

    def row(self, ns: str, table: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
        """A row of truth."""
        space = self.space(ns)
        return truth.get(self._ask(space), space, table, key)

    def rows(self, ns: str, table: str) -> Iterator[Row]:
        """Every row of a truth table in a namespace, in key order."""
        with self.servers.view():
            space, after = self.space(ns), None
            while found := truth.page(self._ask(space), space, table, after, PAGE):
                yield from found
                after = tuple(found[-1][column] for column in TRUTH[table].key)

    def select(
        self, ns: str, table: str, where: Mapping[str, Any], *, limit: int = -1, newest: bool = False,
        by: Sequence[str] = (),
    ) -> list[Row]:  # fmt: skip
        """Rows of truth whose columns equal what is given, by some columns and then the key; `newest`: from the end."""
        space = self.space(ns)
        return truth.select(self._ask(space), space, table, where, limit, newest, by)

    def count(self, ns: str, table: str, where: Mapping[str, Any]) -> int:
        """How many rows of truth have columns that equal what is given."""
        space = self.space(ns)
        return truth.count(self._ask(space), space, table, where)
