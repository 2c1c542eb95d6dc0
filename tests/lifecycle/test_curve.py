from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.clock import DAY_MS
from mnemic.lifecycle.curve import days_between, oldest_days, relevance, tier_of, touched
from mnemic.settings import Curve

SEED = Curve()


@pytest.mark.parametrize(
    ("days", "left", "tier"),
    [
        (0, 1.00, "active"), (7, 0.90, "active"), (8, 0.88, "warm"), (21, 0.69, "warm"), (22, 0.67, "cold"),
        (33, 0.51, "cold"), (60, 0.10, "cold"), (61, 0.10, "archive"), (10_000, 0.10, "archive"),
    ],
)  # fmt: skip
def test_relevance_and_tier_after_so_many_days(days: int, left: float, tier: str) -> None:
    assert (round(relevance(days, SEED), 2), tier_of(days, SEED)) == (left, tier)


@pytest.mark.parametrize(
    ("days", "back", "tier", "left"),
    [(400, 40, "cold", 0.40), (61, 40, "cold", 0.40), (60, 14, "warm", 0.79), (40, 14, "warm", 0.79), (22, 14, "warm", 0.79),
     (21, 3, "active", 0.95), (14, 3, "active", 0.95), (8, 3, "active", 0.95), (7, 0, "active", 1.0), (0, 0, "active", 1.0)],
)  # fmt: skip
def test_a_touch_goes_one_tier_up_into_the_middle_of_it(days: int, back: int, tier: str, left: float) -> None:
    assert touched(days, SEED) == back
    assert (tier_of(back, SEED), round(relevance(back, SEED), 2)) == (tier, left)


def test_days_are_whole_days_and_never_negative() -> None:
    assert [days_between(0, now) for now in (-5, 0, DAY_MS - 1, DAY_MS, 8 * DAY_MS - 1)] == [0, 0, 0, 1, 7]


@given(
    st.integers(1, 50), st.integers(1, 50), st.integers(1, 50), st.floats(0, 1), st.floats(0, 1), st.integers(0, 500)
)
def test_no_touch_ever_takes_a_memory_down_or_two_tiers_up(
    active: int, warm: int, cold: int, rate: float, floor: float, days: int
) -> None:
    curve = Curve(rate=rate, floor=floor, active=active, warm=active + warm, cold=active + warm + cold)
    order = ["archive", "cold", "warm", "active"]
    before, after = order.index(tier_of(days, curve)), order.index(tier_of(touched(days, curve), curve))
    assert after == min(before + 1, 3)
    assert relevance(touched(days, curve), curve) >= relevance(days, curve)
    assert floor <= relevance(days, curve) <= 1


def test_which_tiers_reach_how_far_back() -> None:
    found = [oldest_days(frozenset(tiers), SEED) for tiers in (["core"], ["core", "active"], ["active", "warm"], ["archive"])]
    assert found == [-1, 7, 21, None]
