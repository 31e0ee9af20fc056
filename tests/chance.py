"""Tests of what is drawn, each with a stated chance of a false alarm.

A red test that uses these is a bug and nothing else: never run it again until it is green, never widen it.
"""

import numpy as np
import scipy.stats

FALSE_ALARM = 1e-6
"""Fifty such tests, run twenty times a day, raise one false alarm in about three years."""

LEAST_EXPECTED = 25
"""Below this many expected counts in a cell, χ² is no longer the law of Σ (n − Np)²/Np far out in its tail."""


def assert_same_distribution(counts: np.ndarray, probabilities: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """Independent draws, counted by outcome, follow the given probabilities: χ² after pooling of rare outcomes.

    What it detects: with q the law of the draws, the statistic is moved by N Σ (q − p)²/p. For a miss as rare as the
    false alarm, 1e-6, this must be 133 with 16 outcomes (a relative error of 10 % in each probability and 13,300 draws,
    or 5 % and 53,200), 189 with 64. An outcome of probability zero that occurs is refused outright.
    """
    impossible = (probabilities == 0) & (counts > 0)
    assert not impossible.any(), f"outcome {np.flatnonzero(impossible)[0]} occurred, its probability is zero"
    chance = p_value(counts, probabilities)
    assert chance > false_alarm, f"χ² of these counts or a larger one has a chance of {chance:.1e} only"


def p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """The chance that draws from the given law fit it as badly as these or worse."""
    observed, expected = pooled(np.asarray(counts, float), counts.sum() * probabilities)
    if len(observed) < 2:
        raise ValueError(f"{counts.sum():g} draws are too few to tell outcomes apart; draw more.")
    return float(scipy.stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(observed) - 1))


def pooled(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells from the rarest to the commonest, the rarest ones put together until they hold enough."""
    order = np.argsort(expected, kind="stable")
    observed, expected = observed[order], expected[order]
    n_rare = int(np.searchsorted(expected, LEAST_EXPECTED))
    if n_rare and expected[:n_rare].sum() < LEAST_EXPECTED:
        n_rare = min(n_rare + 1, len(expected))
    if not n_rare:
        return observed, expected
    return (
        np.concatenate([[observed[:n_rare].sum()], observed[n_rare:]]),
        np.concatenate([[expected[:n_rare].sum()], expected[n_rare:]]),
    )


def assert_same_mean(values: np.ndarray, expected: np.ndarray | float, false_alarm: float = FALSE_ALARM) -> None:
    """Rows of independent values in [0, 1] have the given mean in each column, by Hoeffding's bound.

    What it detects: a mean that is off by more than twice √(log(2 columns/false_alarm)/2N), 0.038 for one column
    and 20,000 rows, is missed as rarely as a right one is refused.
    """
    columns = values.reshape(len(values), -1)
    bound = np.sqrt(np.log(2 * columns.shape[1] / false_alarm) / (2 * len(columns)))
    off = np.abs(columns.mean(axis=0) - expected)
    assert np.all(off <= bound), f"a mean is off by {off.max():.4f}; chance alone stays below {bound:.4f}"


def exact_draws(law: np.ndarray, n_draws: int, seed: int = 0) -> np.ndarray:
    """Independent states as rows of bits, drawn from a law over all states; the first unit is the highest digit."""
    n_units = len(law).bit_length() - 1
    numbers = np.random.default_rng(seed).choice(len(law), size=n_draws, p=law)
    return (numbers[:, None] >> np.arange(n_units)[::-1] & 1).astype(float)


def count_states(rows: np.ndarray) -> np.ndarray:
    """How often each state occurs among rows of bits; the first unit is the highest digit."""
    n_units = rows.shape[1]
    numbers = np.asarray(rows).astype(int) @ (1 << np.arange(n_units)[::-1])
    return np.bincount(numbers, minlength=2**n_units)


def count_cells(*uniforms: np.ndarray, n_bins: int = 8) -> np.ndarray:
    """Arrays of numbers in (0, 1), entry by entry one point, counted in equal cells of the cube."""
    number = np.zeros(uniforms[0].size, int)
    for u in uniforms:
        number = number * n_bins + (np.asarray(u).ravel() * n_bins).astype(int)
    return np.bincount(number, minlength=n_bins ** len(uniforms))


def even(n_outcomes: int) -> np.ndarray:
    """The same probability for each outcome."""
    return np.full(n_outcomes, 1 / n_outcomes)
