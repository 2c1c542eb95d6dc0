from __future__ import annotations

import numpy as np
import pytest

from mnemic.embed import CENTRED, HashingEmbedder, calibrate, calibration_of, centred
from mnemic.embed.base import BadVectors, checked
from mnemic.errors import BadInput, ModelError


def cone(n: int, dim: int, mean: float) -> np.ndarray:
    """Unit vectors whose pairs have the cosine `mean` on average, as an anisotropic model gives."""
    free = np.random.default_rng(5).normal(size=(n, dim - 1))
    free /= np.linalg.norm(free, axis=1)[:, None]
    return np.hstack([np.full((n, 1), np.sqrt(mean)), np.sqrt(1 - mean) * free]).astype(np.float32)


def test_thresholds_move_with_the_mean_of_unrelated_pairs() -> None:
    found = calibrate(cone(3000, 64, 0.8))
    assert found.mean == pytest.approx(0.8, abs=0.005)
    assert found.spread == pytest.approx(0.2 / np.sqrt(63), abs=0.003)
    assert found.similar == pytest.approx(0.944, abs=0.005)
    assert found.duplicate == pytest.approx(0.976, abs=0.005)


def test_thresholds_stay_where_unrelated_pairs_have_cosine_zero() -> None:
    found = calibrate(cone(1000, 64, 0.0))
    assert found.similar == pytest.approx(0.72, abs=0.005)
    assert found.duplicate == pytest.approx(0.88, abs=0.005)


def test_level_and_cosine_undo_each_other() -> None:
    found = calibrate(cone(200, 64, 0.8))
    assert found.level(found.mean) == 0.0
    assert found.level(1.0) == pytest.approx(1.0)
    assert found.cosine(found.level(0.91)) == pytest.approx(0.91)


def test_a_small_or_uniform_sample_is_refused() -> None:
    with pytest.raises(BadInput, match="too small"):
        calibrate(cone(99, 8, 0.5))
    with pytest.raises(BadInput, match="all alike"):
        calibrate(np.tile(cone(1, 8, 0.5), (100, 1)))


def test_known_embedders_are_found_by_their_identity() -> None:
    e5 = calibration_of("onnx/multilingual-e5-small-int8@384+e5")
    assert e5 is not None
    assert e5.mean > 0.7
    hashing = calibration_of(HashingEmbedder().identity)
    assert hashing is not None
    assert hashing.mean < 0.3
    assert calibration_of("http/nomic-embed-text@768+nomic") is None


def test_centring_puts_unrelated_pairs_at_zero_under_any_embedder() -> None:
    vectors = cone(1000, 64, 0.8)
    moved = centred(vectors, vectors.mean(axis=0))
    assert np.abs(np.linalg.norm(moved, axis=1) - 1).max() < 1e-5
    assert calibrate(moved).mean == pytest.approx(CENTRED.mean, abs=0.005)


def test_a_vector_that_is_the_mean_is_unrelated_to_everything() -> None:
    mean = np.array([0.6, 0.8], np.float32)
    assert centred(mean, mean).tolist() == [0.0, 0.0]


def test_checked_passes_unit_rows_and_refuses_all_else() -> None:
    good = np.array([[0.6, 0.8]], np.float64)
    assert checked(good, 1, 2).dtype == np.float32
    for rows, n, dim in ((good, 2, 2), (good, 1, 3), (good[0], 1, 2)):
        with pytest.raises(ModelError, match="shape"):
            checked(rows, n, dim)
    with pytest.raises(BadVectors, match="length 2") as caught:
        checked(np.array([[1.0, 0.0], [0.0, 2.0]]), 2, 2)
    assert caught.value.rows == (1,)
