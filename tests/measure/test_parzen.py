"""Parzen windows equal brute force, term by term; tables are multiples of 1/8, so that single precision loses nothing of them."""

import re

import numpy as np
import pytest
import scipy.stats

from boltzflow.errors import InputError
from boltzflow.measure import parzen
from boltzflow.measure.parzen import parzen_log_density, parzen_score
from deep_oracles import brute_parzen, types_unchecked

SINGLE = 4 * np.finfo(np.float32).eps
"""Logarithms and exponentials of exact sums, rounded a few times."""


def table(n_rows: int, n_columns: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 9, (n_rows, n_columns)) / 8


def close(found: np.ndarray, expected: np.ndarray, centres: np.ndarray, sigma: float) -> None:
    """Equal up to the rounding of the exponents, the largest of which is that of two opposite corners."""
    largest = centres.shape[1] / (2 * sigma**2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=SINGLE * largest)


@pytest.mark.parametrize("sigma", [0.2, 0.5, 2.0])
@pytest.mark.parametrize(("n_centres", "n_points"), [(1, 1), (7, 1), (1, 9), (40, 30)])
def test_log_densities_are_those_of_the_mixture_written_out(n_centres, n_points, sigma):
    centres, points = table(n_centres), table(n_points, seed=1)
    close(parzen_log_density(centres, points, sigma), brute_parzen(centres, points, sigma), centres, sigma)


@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_with_one_centre_the_density_is_the_gaussian_around_it(sigma):
    centre, points = table(1), table(20, seed=1)
    expected = scipy.stats.multivariate_normal(centre[0], sigma**2 * np.eye(6)).logpdf(points)
    close(parzen_log_density(centre, points, sigma), expected, centre, sigma)


def test_points_in_parts_have_the_densities_they_have_together(monkeypatch):
    centres, points = table(7), table(23, seed=1)
    whole = parzen_log_density(centres, points, 0.2)
    monkeypatch.setattr(parzen, "_ROWS", 10)
    close(parzen_log_density(centres, points, 0.2), whole, centres, 0.2)


def test_points_far_from_all_centres_have_a_small_density_and_not_none():
    centres, points = np.zeros((3, 784)), np.ones((1, 784))
    expected = -784 / (2 * 0.05**2) - 784 * np.log(np.sqrt(2 * np.pi) * 0.05)
    close(parzen_log_density(centres, points, 0.05), np.array([expected]), centres, 0.05)


def test_each_centre_twice_changes_nothing():
    centres, points = table(7), table(9, seed=1)
    once, twice = (parzen_log_density(each, points, 0.2) for each in (centres, np.tile(centres, (2, 1))))
    close(twice, once, centres, 0.2)


def test_the_score_is_the_mean_with_its_standard_error():
    centres, points = table(7), table(30, seed=1)
    score, each = parzen_score(centres, points), parzen_log_density(centres, points, 0.2)
    assert (score.sigma, score.n_centres) == (0.2, 7)
    np.testing.assert_allclose(score.mean, each.mean(), rtol=1e-12)
    np.testing.assert_allclose(score.error, scipy.stats.sem(each), rtol=1e-12)


def test_one_point_has_no_standard_error():
    assert not np.isfinite(parzen_score(table(7), table(1)).error)


def with_gap(values: np.ndarray, gap: float = np.nan) -> np.ndarray:
    values = values.copy()
    values[1, 2] = gap
    return values


REFUSED = {
    "other widths": (table(5), table(4, 5), 0.2, "got shapes (5, 6) and (4, 5)"),
    "a row": (table(5), table(4)[0], 0.2, "got shapes (5, 6) and (6,)"),
    "no centres": (table(5)[:0], table(4), 0.2, "got shapes (0, 6) and (4, 6)"),
    "no points": (table(5), table(4)[:0], 0.2, "got shapes (5, 6) and (0, 6)"),
    "no width": (table(5), table(4), 0.0, "sigma must be a number above 0; got 0.0"),
    "a negative width": (table(5), table(4), -1.0, "sigma must be a number above 0; got -1.0"),
    "an endless width": (table(5), table(4), np.inf, "sigma must be a number above 0; got inf"),
    "a gap in the centres": (with_gap(table(5)), table(4), 0.2, "row 1, column 2"),
    "an endless centre": (with_gap(table(5), np.inf), table(4), 0.2, "row 1, column 2"),
    "words": (table(5), table(4).astype(str), 0.2, "numbers"),
    "a gap in the points": (table(5), with_gap(table(4)), 0.2, "row 1, column 2"),
}


@pytest.mark.parametrize(("centres", "points", "sigma", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_density_is_refused_in_one_sentence(centres, points, sigma, sentence):
    with types_unchecked(), pytest.raises(InputError, match=re.escape(sentence)) as refusal:
        parzen_score(centres, points, sigma)
    assert "\n" not in str(refusal.value)
