"""Arrays that grow, and one that tells where things stand.

A question looks for hundreds of things at once. In a dictionary each look waits for memory by itself; an array gives all
of them together, twenty times as fast.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


def grown(values: NDArray[T], count: int, axis: int = 0) -> NDArray[T]:
    """The array with room for `count` along an axis; twice what it had, so that one more costs no copy of all."""
    have = values.shape[axis]
    if count <= have:
        return values
    shape = [*values.shape]
    shape[axis] = max(count, 2 * have)
    room: NDArray[Any] = np.zeros(shape, values.dtype)
    room[(slice(None),) * axis + (slice(have),)] = values
    return room


def runs(starts: Places, sizes: Places) -> Places:
    """The places of runs, each of so many from its start on, one run after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)


class Seats:
    """The places of things that go by numbers above 0, close together."""

    def __init__(self) -> None:
        self._after = np.zeros(1024, dtype=np.int32)
        """By number, one more than its place; 0 where it has none."""

    def put(self, numbers: Places, first: int) -> None:
        """Numbers take the places from `first` on, in their order; one that had a place moves to the new one."""
        self._after = grown(self._after, int(numbers.max(initial=0)) + 1)
        self._after[numbers] = np.arange(first + 1, first + 1 + len(numbers))

    def of(self, numbers: Places) -> Places:
        """Their places; -1 where a number has none."""
        places = self._after.take(numbers, mode="clip").astype(np.int64) - 1
        return np.where(numbers < len(self._after), places, -1)
