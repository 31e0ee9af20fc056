"""Training starts at the log-odds of the data with quiet hidden units, unless biases are there already."""

import jax.numpy as jnp
import numpy as np
import pytest
from lessons import all_close, bytes_of, coin_rows

from boltzflow.learning.start import QUIET, log_odds, set_biases
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.machine import Machine
from machines import MACHINES

ROWS = coin_rows(10, 3) == 1


def test_log_odds_are_those_of_the_data_with_half_a_row_more_of_each_kind():
    lit = np.array([0, 3, 5, 10])
    rows = np.arange(10)[:, None] < lit
    p = (lit + 0.5) / 11
    np.testing.assert_allclose(log_odds(rows), np.log(p / (1 - p)), rtol=1e-12)


def test_log_odds_of_grey_values_are_those_of_their_means():
    grey = np.array([[0.25, 0.5], [0.75, 0.0]], np.float32)
    np.testing.assert_allclose(log_odds(grey), [0.0, np.log(1.0 / 2.0)], rtol=1e-12)


@pytest.mark.parametrize("bias_start", ["auto", "log-odds"])
@pytest.mark.parametrize("machine", ["rbm_3_2", "lateral_3_3"], indirect=True)
def test_a_machine_without_biases_starts_at_the_log_odds_with_quiet_hidden_units(machine, bias_start):
    unbiased = Machine(machine.layout, machine.couplings, zero_machine(machine.layout, dtype=machine.dtype).biases)
    started = set_biases(unbiased, ROWS, bias_start)
    all_close(started.biases, (log_odds(ROWS), np.full(machine.layout.n_hidden, QUIET)))
    assert bytes_of(started.couplings) == bytes_of(machine.couplings)


@pytest.mark.parametrize("bias_start", ["auto", "keep"])
@pytest.mark.parametrize("layer", [0, 1])
def test_one_bias_that_was_set_keeps_all_of_them(bias_start, layer):
    machine = zero_machine(MACHINES["rbm_3_2"]().layout, dtype=jnp.float64)
    biases = tuple(bias.at[0].set(0.1 * (k == layer)) for k, bias in enumerate(machine.biases))
    machine = Machine(machine.layout, machine.couplings, biases)
    assert set_biases(machine, ROWS, bias_start) is machine


def test_keep_keeps_biases_at_zero_too():
    machine = zero_machine(MACHINES["rbm_3_2"]().layout)
    assert set_biases(machine, ROWS, "keep") is machine


def test_log_odds_asked_for_replace_biases_that_were_set():
    started = set_biases(MACHINES["rbm_3_2"](), ROWS, "log-odds")
    all_close(started.biases[0], log_odds(ROWS))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_started_biases_have_the_machines_type(dtype):
    started = set_biases(zero_machine(MACHINES["rbm_3_2"]().layout, dtype=dtype), ROWS, "auto")
    assert [bias.dtype for bias in started.biases] == [dtype, dtype]
