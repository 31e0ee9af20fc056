"""Gaps are filled with probabilities given what is known, and what is known comes back as it was."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import boltzflow as bf
import oracles
from boltzflow.machine.machine import Machine
from boltzflow.sampling import imputation
from boltzflow.sampling.imputation import imputation_chains
from chance import assert_same_mean
from machines import MACHINES

N = 50_000
NAN = np.nan
CASES = [
    ("visible_6", [1, NAN, NAN, 0, NAN, 1]),
    ("visible_6", [NAN] * 6),
    ("deep_2_2_2_lateral", [0, NAN]),
    ("masked_graph", [1, NAN, 0, NAN]),
]


def chances_given(machine: Machine, row: list[float]) -> np.ndarray:
    """p(x_i = 1 | known) of every visible unit, by enumeration."""
    states, known = oracles.bits(machine.layout.n_units)[:, : len(row)], ~np.isnan(row)
    law = oracles.law(machine) * (states[:, known] == np.array(row)[known]).all(axis=1)
    return law @ states / law.sum()


def deaf(machine: Machine) -> Machine:
    """Without couplings no unit hears what is known."""
    return Machine(machine.layout, tuple(0 * w for w in machine.couplings), machine.biases)


@pytest.fixture
def table() -> np.ndarray:
    """Rows of six random bits with random gaps."""
    rng = np.random.default_rng(3)
    return np.where(rng.random((23, 6)) < 0.4, NAN, rng.integers(0, 2, (23, 6)))


@pytest.mark.parametrize(("name", "row"), CASES)
def test_fills_have_the_mean_of_the_missing_units_given_the_known_ones(name, row):
    machine = MACHINES[name]()
    assert_same_mean(bf.impute(machine, np.tile(row, (N, 1))), chances_given(machine, row))


@pytest.mark.parametrize(("name", "row"), CASES)
def test_fills_by_a_machine_that_hears_nothing_would_be_caught(name, row):
    machine = MACHINES[name]()
    filled = bf.impute(deaf(machine), np.tile(row, (N, 1)))
    with pytest.raises(AssertionError, match="a mean is off"):
        assert_same_mean(filled, chances_given(machine, row))


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_a_single_gap_among_visible_units_gets_its_conditional_exactly(temperature):
    machine = MACHINES["visible_6"]()
    states, expected = oracles.bits(6), oracles.sigmoid(oracles.fields(machine) / temperature)
    for unit in range(6):
        gaps = np.where(np.arange(6) == unit, NAN, states)
        filled = bf.impute(machine, gaps, temperature=temperature)
        np.testing.assert_allclose(filled, np.where(np.isnan(gaps), expected, states), rtol=1e-10)


def test_fills_are_probabilities_and_known_values_come_back_as_given(table):
    grey = table * 0.9 + 0.05
    filled = bf.impute(MACHINES["visible_6"](), grey)
    known = ~np.isnan(grey)
    np.testing.assert_array_equal(filled[known], grey[known])
    assert ((filled[~known] > 0) & (filled[~known] < 1)).all()


def test_a_table_without_gaps_comes_back_as_it_was():
    whole = np.random.default_rng(0).random((4, 6))
    np.testing.assert_array_equal(bf.impute(MACHINES["visible_6"](), whole), whole)


@pytest.mark.parametrize("binarise", [0.2, 0.5, 0.8])
def test_grey_values_are_heard_as_the_bits_they_are_nearer_to_by_the_threshold(binarise):
    machine = MACHINES["visible_6"]()
    grey = np.tile([0.2, 0.5, 0.8, 0.9, NAN, NAN], (23, 1))
    bits = np.where(np.isnan(grey), NAN, grey > binarise)
    fills = [bf.impute(machine, given, binarise=binarise)[:, 4:] for given in (grey, bits)]
    np.testing.assert_array_equal(*fills)


@pytest.mark.parametrize("whole", [np.eye(6, dtype=bool), np.eye(6, dtype=int), scipy.sparse.csr_array(np.eye(6))])
def test_booleans_whole_numbers_and_sparse_tables_are_tables_too(whole):
    np.testing.assert_array_equal(bf.impute(MACHINES["visible_6"](), whole), np.eye(6))


def test_the_seed_decides_every_fill_and_another_seed_gives_others(table):
    one, same, other = (bf.impute(MACHINES["visible_6"](), table, seed=seed) for seed in (3, 3, 4))
    assert one.tobytes() == same.tobytes()
    assert one.tobytes() != other.tobytes()


def test_fills_of_a_row_do_not_depend_on_the_rows_after_it(table):
    machine = MACHINES["visible_6"]()
    oracles.close(bf.impute(machine, table)[:5], bf.impute(machine, table[:5]))


def test_tables_too_large_for_one_program_are_filled_alike_in_parts(table, monkeypatch):
    machine = MACHINES["visible_6"]()
    at_once = bf.impute(machine, table)
    monkeypatch.setattr(imputation, "_MOST_VALUES", 8 * 6)
    oracles.close(bf.impute(machine, table), at_once)


def test_equal_rows_are_filled_from_draws_of_their_own():
    filled = bf.impute(MACHINES["visible_6"](), np.full((23, 6), NAN))
    assert len(np.unique(filled, axis=0)) > 1


def test_several_chains_are_averaged_and_the_first_is_that_of_one_alone(table):
    machine = MACHINES["visible_6"]()
    chains = imputation_chains(machine, table, n_sweeps=20, n_chains=3)
    assert chains.shape == (3, 23, 6)
    assert len(np.unique(chains, axis=0)) == 3
    averaged = np.where(np.isnan(table), chains.mean(axis=0), table)
    np.testing.assert_array_equal(bf.impute(machine, table, n_chains=3), averaged)
    np.testing.assert_array_equal(bf.impute(machine, table), np.where(np.isnan(table), chains[0], table))


def test_known_units_are_at_their_bits_in_every_chain(table):
    known = ~np.isnan(table)
    for chain in imputation_chains(MACHINES["visible_6"](), table, n_sweeps=20, n_chains=2):
        np.testing.assert_array_equal(chain[known], table[known])


def test_a_machine_in_single_precision_fills_gaps_too():
    filled = bf.impute(bf.rbm(6, 2, dtype=jnp.float32), [[1, NAN, 0, 0, NAN, 1]])
    assert ((filled[:, [1, 4]] > 0) & (filled[:, [1, 4]] < 1)).all()


GOOD = [[1, NAN, 0]]
HEARD = "known values are heard as bits: binarise is a threshold, at least 0 and below 1; got "


@pytest.mark.parametrize(
    ("values", "wrong", "sentence"),
    [
        ([[1, 2, NAN]], {}, "values must lie in [0, 1]; got 2 in row 0, column 1. Scale the data first"),
        (
            [[0, 0, 0], [0, NAN, -0.5]],
            {},
            "values must lie in [0, 1]; got -0.5 in row 1, column 2. Scale the data first",
        ),
        ([[0, np.inf, 0]], {}, "values must lie in [0, 1]; got inf in row 0, column 1."),
        ([[1, NAN]], {}, "the machine has 3 visible units, but the data have 2 columns."),
        ([1, NAN, 0], {}, "data are a table, one example a row; got shape (3,): reshape one example with x[None, :]."),
        ([[GOOD]], {}, "data are a table, one example a row; got shape (1, 1, 1, 3): flatten each example to one row."),
        ([], {}, "data are empty: got shape (0,), expected at least one row."),
        (np.zeros((0, 3)), {}, "data are empty: got shape (0, 3), expected at least one row."),
        ([[1, 0, 1], [1]], {}, "data are a table, every row of the same length; numpy says: "),
        ([["1", "0", ""]], {}, "data are numbers in [0, 1] or booleans; got an array of type <U1."),
        ([[1, 0, None]], {}, "data are numbers in [0, 1] or booleans; got an array of type object."),
        (GOOD, {"n_sweeps": 0}, "n_sweeps must be a whole number, 1 or more; got 0."),
        (GOOD, {"n_sweeps": 2.5}, "n_sweeps must be a whole number, 1 or more; got 2.5."),
        (GOOD, {"n_chains": -1}, "n_chains must be a whole number, 1 or more; got -1."),
        (GOOD, {"seed": -3}, "seed must be a whole number from 0 to 2**32 − 1; got -3."),
        (GOOD, {"temperature": 0.0}, "temperature must be a number at least 1e-06; got 0.0."),
        (GOOD, {"temperature": -1}, "temperature must be a number at least 1e-06; got -1."),
        (GOOD, {"temperature": NAN}, "temperature must be a number at least 1e-06; got nan."),
        (GOOD, {"binarise": 1.5}, "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got 1.5."),
        (GOOD, {"binarise": "draw"}, HEARD + "'draw'."),
        (GOOD, {"binarise": None}, HEARD + "None."),
    ],
)
def test_what_cannot_be_filled_is_refused_in_a_sentence(values, wrong, sentence):
    with pytest.raises(bf.InputError, match="^" + re.escape(sentence)):
        bf.impute(MACHINES["rbm_3_2"](), values, **wrong)
