"""Arrays that grow, and one that tells where things stand.

A question looks for hundreds of things at once. In a dictionary each look waits for memory by itself; an array gives all
of them together, twenty times as fast.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Places32 = NDArray[np.int32]
DENSE, SPREAD = 1 << 17, 16
"""Below this number, and below so many times their count, every number has a seat of its own, of four bytes."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 by the golden ratio."""
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
    """The places of things that go by numbers above 0.

    An array with a seat for every number is quickest. But numbers are those of a whole home, and where many namespaces share
    it, one's own lie far apart: then only they have seats, in a table that is found by a number's hash.
    """

    def __init__(self) -> None:
        self._count = 0
        self._after: Places32 = np.zeros(1024, dtype=np.int32)
        """By number, or by its seat in the table, one more than its place; 0 where it has none."""
        self._numbers: Places | None = None
        """By seat in the table, the number that has it; 0 where it is free. None while every number has a seat."""

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return self._after.nbytes + (0 if self._numbers is None else self._numbers.nbytes)

    def put(self, numbers: Places, first: int) -> None:
        """Numbers take the places from `first` on, in their order; one that had a place moves to the new one."""
        places = np.arange(first + 1, first + 1 + len(numbers), dtype=np.int32)
        self._count += len(numbers)
        if self._numbers is None and int(numbers.max(initial=0)) >= max(DENSE, SPREAD * self._count):
            had = np.flatnonzero(self._after)
            numbers, places = np.concatenate([had, numbers]), np.concatenate([self._after[had], places])
            self._table(self._count)
        if self._numbers is None:
            self._after = grown(self._after, int(numbers.max(initial=0)) + 1)
            self._after[numbers] = places
            return
        if 2 * self._count > len(self._numbers):
            had = np.flatnonzero(self._numbers)
            numbers, places = np.concatenate([self._numbers[had], numbers]), np.concatenate([self._after[had], places])
            self._table(self._count)
        self._sit(numbers, places)

    def of(self, numbers: Places) -> Places:
        """Their places; -1 where a number has none."""
        if self._numbers is not None:
            return self._after[self._seats(numbers)].astype(np.int64) - 1
        places = self._after.take(numbers, mode="clip").astype(np.int64) - 1
        return np.where(numbers < len(self._after), places, -1)

    def _table(self, count: int) -> None:
        """An empty table with at least four seats for each of so many numbers."""
        size = 1 << max(6, (4 * count).bit_length())
        self._numbers, self._after = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int32)

    def _sit(self, numbers: Places, places: Places32) -> None:
        """Seat numbers in the table."""
        assert self._numbers is not None
        while len(numbers):
            seats = self._seats(numbers)
            self._numbers[seats], self._after[seats] = numbers, places
            # Of those that found the same seat free the last one has it.
            left = self._numbers[seats] != numbers
            numbers, places = numbers[left], places[left]

    def _seats(self, numbers: Places) -> Places:
        """The seat of each number, or the free one that it would take: the next from where its hash says."""
        assert self._numbers is not None
        last = len(self._numbers) - 1
        # Fibonacci hashing (Knuth, The Art of Computer Programming 6.4): neighbours are spread over the table.
        seats = ((numbers.astype(np.uint64) * GOLDEN) >> np.uint64(64 - last.bit_length())).astype(np.int64)
        there = self._numbers[seats]
        look = np.flatnonzero((there != numbers) & (there != 0))
        while len(look):
            seats[look] = (seats[look] + 1) & last
            there = self._numbers[seats[look]]
            look = look[(there != numbers[look]) & (there != 0)]
        return seats
