"""The three files of a home, and the numbers its namespaces go by."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np

from mnemic.errors import BadInput
from mnemic.models.event import Row
from mnemic.store.base import Ids, Lag
from mnemic.store.sqlite import truth
from mnemic.store.sqlite.connection import Database

T = TypeVar("T")
NODE_BITS = 48
"""vectors.key = embedder << NODE_BITS | node: a range of keys for each embedder, so that two sets can coexist."""

FILES = {"hot": "memory.db", "warm": "memory-warm.db", "cold": "memory-cold.db"}


def in_list(ids: Iterable[int]) -> str:
    """Integers for an IN clause; written out because SQLite's variables are limited and these cannot carry text."""
    return ",".join(map(str, map(int, ids)))


def bound(ids: Sequence[int] | Ids) -> Any:
    """Integers, at least one, for `carray(?)`: nothing to parse, and they are asked for as they come."""
    return apsw.carray(np.array(ids, dtype=np.int64))


class Shelves:
    """What every noun of the store stands on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shelves = {name: Database(folder / file) for name, file in FILES.items()}
        self.hot = self._shelves["hot"]
        self._spaces: dict[str, int] = {}
        self._guard = threading.Lock()

    def shelf(self, name: str) -> Database:
        """One of the three files."""
        try:
            return self._shelves[name]
        except KeyError:
            raise BadInput(f"no such shelf {name!r}: hot, warm or cold") from None

    def space(self, namespace: str) -> int:
        """The number of a namespace; 0, which no row bears, if nothing was ever written in it."""
        known = self._spaces.get(namespace)
        if known is None:
            found = self.hot.row("SELECT id FROM namespaces WHERE name=?", (namespace,))
            if found is None:
                return 0
            known = int(found[0])
            # One that an open transaction made may yet be rolled back, and its number given to another.
            if not self.hot.connection().in_transaction:
                self._spaces[namespace] = known
        return known

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of the hot shelf that see one state of it, whatever is written meanwhile."""
        with self.hot.snapshot():
            yield

    def read(self, ns: str, question: Callable[[], T]) -> T:
        """What several reads about a namespace tell that see one state of the hot shelf."""
        with self.reading():
            return question()

    def position(self, ns: str) -> int | None:
        """None: every process reads the same files."""
        return None

    def catch_up(self, ns: str, position: int) -> bool:
        """False: nobody was ever told a position."""
        return False

    def lags(self) -> list[Lag]:
        """None: nothing follows files."""
        return []

    def reads(self) -> Mapping[str, int]:
        """Nothing: there is but one place to read from."""
        return {}

    def namespaces(self) -> list[str]:
        """Every namespace that something was written in."""
        return [name for (name,) in self.hot.rows("SELECT name FROM namespaces ORDER BY name")]

    def row(self, ns: str, table: str, key: tuple[str | int, ...]) -> dict[str, Any] | None:
        """A row of truth."""
        with self.hot.snapshot() as db:
            return truth.get(db, self.space(ns), table, key)

    def rows(self, ns: str, table: str) -> Iterator[Row]:
        """Every row of a truth table in a namespace, in key order."""
        with self.hot.snapshot() as db:
            yield from truth.every(db, self.space(ns), table)

    def select(
        self, ns: str, table: str, where: Mapping[str, Any], *, limit: int = -1, newest: bool = False,
        by: Sequence[str] = (),
    ) -> list[Row]:  # fmt: skip
        """Rows of truth whose columns equal what is given, by some columns and then the key; `newest`: from the end."""
        with self.hot.snapshot() as db:
            return truth.select(db, self.space(ns), table, where, limit, newest, by)

    def count(self, ns: str, table: str, where: Mapping[str, Any]) -> int:
        """How many rows of truth have columns that equal what is given."""
        with self.hot.snapshot() as db:
            return truth.count(db, self.space(ns), table, where)
