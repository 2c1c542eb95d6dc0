"""The namespaces of a home, each opened when it is first asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.memory import Memory

OPEN = 256
"""Namespaces that are held open besides the service's own."""


class Spaces:
    """One memory a namespace, all over the same files. May be shared between threads."""

    def __init__(self, memory: Memory, most: int = OPEN) -> None:
        self.own = memory
        self._most = most
        self._open: OrderedDict[str, Memory] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, namespace: str) -> Memory:
        """The memory of a namespace. Raises BadInput for a name that cannot be one."""
        if namespace == self.own.namespace:
            return self.own
        with self._guard:
            found = self._open.get(namespace) or self.own.within(namespace)
            self._open[namespace] = found
            self._open.move_to_end(namespace)
            gone = self._open.popitem(last=False)[1] if len(self._open) > self._most else None
        if gone is not None:
            gone.close()
        return found

    def close(self) -> None:
        """Write what they have buffered; the service's own memory is not closed here."""
        with self._guard:
            left = [*self._open.values()]
            self._open.clear()
        for memory in left:
            memory.close()
