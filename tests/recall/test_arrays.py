from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.recall.arrays import Seats, grown, runs


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_an_array_that_has_the_room_is_not_copied_and_one_that_grows_keeps_what_is_in_it() -> None:
    values = np.arange(6).reshape(2, 3)
    assert grown(values, 3, axis=1) is values
    wider, longer = grown(values, 4, axis=1), grown(values, 9)
    assert (wider.shape, longer.shape) == ((2, 6), (9, 3))
    assert (wider[:, :3].tolist(), longer[:2].tolist()) == (values.tolist(), values.tolist())


def test_runs_name_their_places_one_run_after_the_other() -> None:
    assert runs(numbers(7, 0, 3), numbers(2, 0, 3)).tolist() == [7, 8, 3, 4, 5]
    assert runs(numbers(), numbers()).tolist() == []


def test_what_has_no_seat_stands_nowhere() -> None:
    seats = Seats()
    assert seats.of(numbers(1, 10**12)).tolist() == [-1, -1]
    seats.put(numbers(), 0)
    assert seats.of(numbers()).tolist() == []


CLOSE = st.integers(1, 5_000)
NUMBERS = st.one_of(CLOSE, st.integers(1, 10**12), st.integers(1, 40).map(lambda number: number << 40))


@given(st.lists(st.lists(NUMBERS, max_size=60), max_size=6), st.lists(NUMBERS, max_size=9))
def test_seats_are_those_that_a_dictionary_would_name(taken: list[list[int]], asked: list[int]) -> None:
    seats, known, count = Seats(), dict[int, int](), 0
    for some in taken:
        seats.put(numbers(*some), count)
        known |= {number: count + place for place, number in enumerate(some)}
        count += len(some)
    asked += [number for some in taken for number in some]
    assert seats.of(numbers(*asked)).tolist() == [known.get(number, -1) for number in asked]


def test_numbers_that_lie_far_apart_take_no_more_room_than_they_are_many() -> None:
    for apart in (1, 1_000, 10**9):
        seats, each = Seats(), np.arange(1, 20_001, dtype=np.int64) * apart
        for at in range(0, len(each), 500):
            seats.put(each[at : at + 500], at)
        assert seats.size < 100 * len(each)
        assert seats.of(each).tolist() == list(range(len(each)))
        assert set(seats.of(each + 1).tolist()) == ({-1} if apart > 1 else {-1, *range(1, len(each))})
