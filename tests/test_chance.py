"""The tests of chance are tested: as many false alarms as they say, and the power that they say."""

import numpy as np
import pytest
import scipy.stats

from chance import (
    LEAST_EXPECTED,
    assert_same_distribution,
    assert_same_mean,
    count_cells,
    count_states,
    even,
    exact_draws,
    p_value,
    pooled,
)

LAWS = {
    "even": even(16),
    "uneven": np.arange(1, 17) / 136,
    "mostly rare": np.array([0.6, 0.3, 0.09] + [0.01 / 29] * 29),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("level", [0.1, 0.01])
def test_p_values_under_the_right_law_are_small_as_often_as_they_should_be(law, level):
    draws = np.random.default_rng(1).multinomial(5000, law, size=2000)
    alarms = sum(p_value(counts, law) < level for counts in draws)
    assert scipy.stats.binomtest(alarms, len(draws), level).pvalue > 1e-6


def test_an_error_of_ten_percent_in_each_probability_is_caught_every_time():
    wrong = even(16) * (1 + 0.1 * (-1.0) ** np.arange(16))
    for counts in np.random.default_rng(2).multinomial(20_000, wrong, size=50):
        with pytest.raises(AssertionError, match="has a chance of"):
            assert_same_distribution(counts, even(16))


def test_one_impossible_outcome_is_refused():
    counts, law = np.array([5000, 4999, 1]), np.array([0.5, 0.5, 0.0])
    with pytest.raises(AssertionError, match="outcome 2 occurred"):
        assert_same_distribution(counts, law)


def test_outcomes_that_never_come_though_they_should_are_caught():
    with pytest.raises(AssertionError):
        assert_same_distribution(np.array([10_000, 0]), np.array([0.99, 0.01]))


def test_a_test_that_could_not_fail_is_refused():
    with pytest.raises(ValueError, match="draw more"):
        assert_same_distribution(np.array([3, 5]), even(2))


@pytest.mark.parametrize("expected", [[1, 2, 3, 100], [20, 20, 3, 26], [1, 100], [40, 30], [24, 30, 50]])
def test_pooling_keeps_all_counts_and_leaves_no_rare_cell(expected):
    expected = np.array(expected, float)
    observed = expected[::-1].copy()
    few_observed, few_expected = pooled(observed, expected)
    assert few_expected.min() >= LEAST_EXPECTED
    assert (few_observed.sum(), few_expected.sum()) == (observed.sum(), expected.sum())


def test_pooling_puts_no_common_outcomes_together():
    observed, expected = pooled(np.array([1.0, 2.0, 30.0, 40.0, 50.0]), np.array([10.0, 20.0, 31.0, 41.0, 51.0]))
    assert observed.tolist() == [3, 30, 40, 50]
    assert expected.tolist() == [30, 31, 41, 51]


def test_means_are_held_within_their_bound_and_beyond_it_refused():
    values = np.random.default_rng(3).uniform(size=(20_000, 2)) < [0.3, 0.7]
    assert_same_mean(values, np.array([0.3, 0.7]))
    with pytest.raises(AssertionError, match="a mean is off"):
        assert_same_mean(values, np.array([0.3, 0.74]))


def test_states_are_counted_with_the_first_unit_as_the_highest_digit():
    rows = np.array([[0, 0], [1, 0], [1, 0], [1, 1]])
    assert count_states(rows).tolist() == [1, 0, 2, 1]


def test_states_are_drawn_from_their_law():
    assert_same_distribution(count_states(exact_draws(LAWS["uneven"], 20_000)), LAWS["uneven"])
    assert count_states(exact_draws(np.array([0, 0, 1.0, 0]), 7)).tolist() == [0, 0, 7, 0]


def test_points_are_counted_in_equal_cells():
    first, second = np.array([0.1, 0.6, 0.9]), np.array([0.6, 0.1, 0.9])
    assert count_cells(first, second, n_bins=2).tolist() == [0, 1, 1, 1]
