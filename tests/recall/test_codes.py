from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.embed.calibration import centred
from mnemic.recall.codes import Coder, _closeness, _digits, _distances, drift, estimate, nearest, scan

Floats = NDArray[np.float32]


def unit(rows: NDArray[np.floating]) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


def cone(n: int, dim: int = 128, groups: int = 200) -> Floats:
    """Topics in a narrow cone, as a model gives them: the mean cosine is about 0.8."""
    rng = np.random.default_rng(11)
    topics = rng.normal(size=(groups, dim)) + 0.6 * rng.normal(size=(groups, dim))
    rows = topics[rng.integers(groups, size=n)] + 0.9 * rng.normal(size=(n, dim))
    return unit(rows + 2.8 * np.linspace(-1.7, 1.7, dim))


def kept(vectors: Floats, queries: Floats, coder: Coder, mean: Floats, factor: int) -> float:
    """The share of the exact top 20 (by centred cosine) among the candidates."""
    codes, moved = coder.encode(vectors), centred(vectors, mean)
    shares = [
        np.isin(scan(moved, centred(query, mean), 20), nearest(codes, query, coder, 20 * factor)).mean()
        for query in queries
    ]
    return float(np.mean(shares))


def levels(codes: NDArray[np.uint64], dim: int) -> Floats:
    """The coordinates that columns stand for, each -3, -1, 1 or 3, shape (n, dim)."""
    words = len(codes) // 2
    high, low = (
        np.unpackbits(np.ascontiguousarray(half.T, "<u8").view(np.uint8), axis=1, bitorder="little", count=dim)
        for half in (codes[:words], codes[words:])
    )
    return np.asarray(4.0 * high + 2.0 * low - 3.0, np.float32)


@given(st.integers(1, 200), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_closeness_is_the_cosine_with_the_levels(dim: int, n: int, seed: int) -> None:
    points = unit(np.random.default_rng(seed).normal(size=(n + 1, dim)))
    codes = _digits(points[:n])
    stood = levels(codes, dim)
    expected = stood @ points[n] / np.linalg.norm(stood, axis=1)
    assert _closeness(codes, points[n]) == pytest.approx(expected, abs=1e-5)


def test_a_coordinate_becomes_two_digits() -> None:
    # step 0.704: 1 is above it (level 3, digits 1 1), 0 just not below zero (level 1, digits 1 0)
    coder = Coder(np.zeros(2, np.float32))
    assert coder.encode(np.array([[1.0, 0.0]])).tolist() == [[0b11], [0b01]]
    assert coder.encode(np.array([[0.0, -1.0]])).tolist() == [[0b01], [0b00]]


@given(st.integers(1, 200), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_bit_counts_order_as_the_product_of_signs_and_the_rounded_query_does(dim: int, n: int, seed: int) -> None:
    points = unit(np.random.default_rng(seed).normal(size=(n + 1, dim)))
    codes, query = _digits(points[:n]), _digits(points[n:])
    signs, asked = np.sign(levels(codes, dim)), levels(query, dim)[0]
    # A sign times a level is a(2c + d): 3 dim - 2 distance.
    expected = signs @ asked
    assert (3 * dim - 2 * _distances(codes, query).astype(np.int64)).tolist() == expected.astype(int).tolist()


def test_candidates_hold_the_exact_top_20() -> None:
    vectors = cone(6000)
    coder = Coder.fit(vectors)
    queries = unit(vectors[::150] + 0.05 * np.random.default_rng(1).normal(size=(40, 128)))
    assert kept(vectors, queries, coder, coder.mean, factor=2) >= 0.98


def test_without_the_mean_the_codes_lose_many() -> None:
    vectors = cone(6000)
    mean = Coder.fit(vectors).mean
    plain = Coder(np.zeros(128, np.float32))
    without, within = (kept(vectors, vectors[::150], coder, mean, factor=1) for coder in (plain, Coder(mean)))
    assert without < within - 0.1


def test_a_mean_that_is_stale_within_the_bound_still_serves() -> None:
    vectors = cone(6000)
    fresh = Coder.fit(vectors)
    away = unit(np.random.default_rng(2).normal(size=128))
    room = np.sqrt(1 - fresh.mean @ fresh.mean)
    old = Coder(np.asarray(fresh.mean + 0.25 * room * away, np.float32))
    assert drift(old.mean, fresh.mean) == pytest.approx(0.25, abs=1e-4)
    assert kept(vectors, vectors[::150], old, fresh.mean, factor=2) >= 0.98


def test_codes_may_be_appended() -> None:
    vectors = cone(300)
    coder = Coder.fit(vectors)
    parts = np.hstack([coder.encode(vectors[:100]), coder.encode(vectors[100:])])
    np.testing.assert_array_equal(parts, coder.encode(vectors))
    assert parts.shape == (4, 300)


def test_a_view_of_a_larger_buffer_gives_the_same_answer() -> None:
    vectors = cone(500)
    coder = Coder.fit(vectors)
    codes = coder.encode(vectors)
    buffer = np.zeros((4, 900), np.uint64)
    buffer[:, :500] = codes
    np.testing.assert_array_equal(
        nearest(buffer[:, :500], vectors[7], coder, 30), nearest(codes, vectors[7], coder, 30)
    )


def test_more_vectors_than_are_scanned_at_a_time_are_all_seen() -> None:
    vectors = cone(70_000, dim=64)
    coder = Coder.fit(vectors)
    codes = coder.encode(vectors)
    for place in (0, 32_767, 32_768, 69_999):
        assert nearest(codes, vectors[place], coder, 400)[0] == place


def test_a_vector_finds_itself_first() -> None:
    vectors = cone(1000)
    coder = Coder.fit(vectors)
    assert nearest(coder.encode(vectors), vectors[123], coder, 5)[0] == 123


def test_scan_is_exact_and_settles_ties_by_position() -> None:
    vectors = np.array([[0, 1], [1, 0], [0.6, 0.8], [1, 0], [-1, 0]], np.float32)
    query = np.array([1, 0], np.float32)
    assert scan(vectors, query, 3).tolist() == [1, 3, 2]
    assert scan(vectors, query, 1).tolist() == [1]
    assert scan(vectors, query, 99).tolist() == [1, 3, 2, 0, 4]


def test_nothing_wanted_or_nothing_there_gives_nothing() -> None:
    coder = Coder(np.zeros(2, np.float32))
    query = np.array([1, 0], np.float32)
    assert scan(np.empty((0, 2), np.float32), query, 5).tolist() == []
    assert nearest(coder.encode(np.empty((0, 2))), query, coder, 5).tolist() == []
    assert nearest(coder.encode(np.eye(2)), query, coder, 0).tolist() == []


def test_a_query_at_the_mean_still_answers() -> None:
    vectors = cone(100)
    coder = Coder.fit(vectors)
    assert len(nearest(coder.encode(vectors), coder.mean, coder, 10)) == 10


def test_drift_is_measured_against_the_distance_from_the_mean() -> None:
    # unit vectors lie sqrt(1 - 0.36) = 0.8 from a mean of length 0.6
    assert drift(np.array([0.0, 0.0]), np.array([0.6, 0.0])) == pytest.approx(0.75)
    assert drift(np.array([0.6, 0.0]), np.array([0.6, 0.0])) == 0.0


def test_an_estimate_is_the_cosine_but_for_the_rounding() -> None:
    vectors = cone(3000)
    coder = Coder.fit(vectors)
    codes = coder.encode(vectors)
    places = np.random.default_rng(3).permutation(3000)[:900]
    exact = centred(vectors[places], coder.mean) @ centred(vectors[5], coder.mean)
    found = estimate(codes[:, places], vectors[5], coder)
    assert np.abs(found - exact).mean() < 0.04 and abs(float((found - exact).mean())) < 0.005
    assert estimate(codes[:, :0], vectors[5], coder).shape == (0,)
