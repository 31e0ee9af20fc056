"""ρ and w² of tables whose couplings can be counted."""

import re

import numpy as np
import pytest

from boltzflow.errors import InputError
from boltzflow.measure.sparsity import squared_weight, weight_sparsity
from deep_oracles import types_unchecked


def one_hot(n_visible: int, n_hidden: int) -> np.ndarray:
    """Each hidden unit hears one visible unit, each another and with another strength."""
    couplings = np.zeros((n_visible, n_hidden))
    couplings[np.arange(n_hidden) % n_visible, np.arange(n_hidden)] = 2.0 ** np.arange(n_hidden)
    return couplings


@pytest.mark.parametrize(("n_visible", "n_hidden"), [(1, 1), (4, 3), (4, 9)])
def test_of_units_that_hear_one_other_each_a_single_coupling_counts(n_visible, n_hidden):
    assert weight_sparsity(one_hot(n_visible, n_hidden)) == pytest.approx(1 / n_visible, rel=1e-12)


@pytest.mark.parametrize("value", [1.0, -0.3, 1e-30, 1e30])
def test_of_equal_couplings_all_count_whatever_their_size(value):
    assert weight_sparsity(np.full((5, 3), value)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("n_equal", range(5))
def test_equal_couplings_among_zeros_count_one_each(n_equal):
    couplings = np.zeros((4, 2))
    couplings[:n_equal, 0] = -0.7
    assert weight_sparsity(couplings) == pytest.approx(n_equal / 8, rel=1e-12)


def test_both_are_their_formulas_written_out():
    w = np.random.default_rng(0).normal(size=(6, 4))
    ratios = [sum(w[i, j] ** 2 for i in range(6)) ** 2 / sum(w[i, j] ** 4 for i in range(6)) for j in range(4)]
    assert weight_sparsity(w) == pytest.approx(sum(ratios) / 24, rel=1e-12)
    assert squared_weight(w) == pytest.approx(sum(w[i, j] ** 2 for i in range(6) for j in range(4)) / 4, rel=1e-12)


def test_the_squared_weight_belongs_to_a_hidden_unit():
    assert squared_weight(np.full((5, 3), 2.0)) == 20
    assert squared_weight(np.full((5, 6), 2.0, np.float32)) == 20


@pytest.mark.parametrize("measure", [weight_sparsity, squared_weight])
@pytest.mark.parametrize(
    ("couplings", "sentence"),
    [
        (np.ones(3), "got shape (3,)"),
        (np.ones((0, 3)), "got shape (0, 3)"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), "row 1, column 1 is not finite"),
    ],
)
def test_what_is_no_table_of_couplings_is_refused(measure, couplings, sentence):
    with types_unchecked(), pytest.raises(InputError, match=re.escape(sentence)):
        measure(couplings)
