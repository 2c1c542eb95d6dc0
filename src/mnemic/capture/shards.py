"""The servers of a home in PostgreSQL: which there are, and which namespace is on which.

    memory.shards.add("two", "postgresql://ada@db2.example/memory")
    memory.shards.move("team-a", "two")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.environment import shown_url
from mnemic.errors import Damaged, StoreError
from mnemic.ledger import Ledger
from mnemic.store import Store, servers_of

if TYPE_CHECKING:
    from mnemic.store.postgres.connection import Database


class Shards:
    """Looks after the servers of a home. Every call raises BadInput where the home is a folder."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store, self._ledger = store, ledger

    def list(self) -> list[dict[str, Any]]:
        """The servers, the first of them first: `{"name", "url", "namespaces", "reachable"}`; how many are on each."""
        servers = servers_of(self._store)
        held = Counter(place for _, place in servers.places())
        return [
            {"name": base.shard, "url": shown_url(base.url), "namespaces": held[base.shard], "reachable": _answers(base)}
            for base in servers.all()
        ]

    def where(self) -> dict[str, str]:
        """Every namespace with the name of its server."""
        return dict(servers_of(self._store).places())

    def add(self, name: str, url: str, replicas: Sequence[str] = ()) -> dict[str, Any]:
        """Take a server into the home; from now on new namespaces go where the fewest are.

        The database is to be empty, or this shard already: then its URLs are changed. `replicas` follow it. A password in a
        URL is refused. Raises BadInput, StoreError.
        """
        servers_of(self._store).add(name, url, replicas)
        return {"name": name, "url": shown_url(url), "replicas": len(replicas)}

    def remove(self, name: str) -> dict[str, Any]:
        """Let go of a server. Raises Conflict while a namespace is on it."""
        servers_of(self._store).remove(name)
        return {"name": name, "removed": True}

    def move(
        self, namespace: str, shard: str, progress: Callable[[str, int, int], None] = lambda what, done, whole: None
    ) -> dict[str, Any]:
        """Move a namespace to a server while others read and write it; it may be repeated.

        `{"namespace", "from", "to", "rows", "paused_ms", "seconds"}`: how long writers had to wait. What arrived is held
        against its ledger before the rows it was copied from are taken away. Raises NotFound, BadInput, Conflict where it is
        being moved already, Damaged.
        """
        from mnemic.store.postgres.moving import Moving

        def check() -> None:
            verdict = self._ledger.verify(namespace)
            if not verdict.ok:
                raise Damaged(f"what arrived of {namespace!r} is not what its ledger says ({verdict.problem}): "
                              "the rows that it was copied from are still there; run `mnemic doctor`")  # fmt: skip

        return Moving(servers_of(self._store), namespace, shard, progress).run(check)


def _answers(base: Database) -> bool:
    try:
        return bool(base.row(0, "SELECT 1"))
    except StoreError:
        return False
