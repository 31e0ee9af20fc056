"""Completions follow the feed-forward law of Algorithm 1, and p(h | x) where no two hidden units are coupled."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from boltzflow.learning.completions import (
    as_states,
    blank,
    complete,
    complete_by_gibbs,
    mean_field,
)
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.sampling.sweeps import sweep, sweep_plan
from boltzflow.sampling.uniforms import Stream
from chance import assert_same_distribution, count_states, exact_draws
from kernels import kernel_of, plan_in_single_file, units_of
from machines import MACHINES

N = 100_000
"""With at most 128 states an error of 10 % in each probability is missed less often than one time in a million."""

HIDDEN = [name for name in MACHINES if not MACHINES[name]().layout.fully_visible]
COUPLED_INSIDE = [name for name in HIDDEN if any(map(MACHINES[name]().layout.coupled_inside, (1, 2)))]
FEED_FORWARD = [name for name in HIDDEN if name not in COUPLED_INSIDE]
INDEPENDENT = [name for name in HIDDEN if MACHINES[name]().layout.hidden_independent]
DRAWS = Stream(jax.random.key(5), jnp.arange(N))

_complete = jax.jit(complete, static_argnums=4)


def redrawn(machine: Machine, law: np.ndarray, unit: int, heard: np.ndarray, beta: float) -> np.ndarray:
    """The law after one unit is drawn from σ(β z), with only some units heard."""
    n_units = machine.layout.n_units
    z = oracles.bits(n_units) @ (oracles.couplings(machine)[unit] * heard) + oracles.biases(machine)[unit]
    lit = oracles.bits(n_units)[:, unit] == 1
    return (law + law[oracles.flipped(n_units, unit)]) * oracles.sigmoid(np.where(lit, 1, -1) * beta * z)


def completed_law(machine: Machine, visible_law: np.ndarray, beta: float = 1.0, n_sweeps: int = 2) -> np.ndarray:
    """Algorithm 1 unit by unit: each layer hears the ones below; then sweeps that hear these and the layer itself."""
    layout, law = machine.layout, np.zeros(2**machine.layout.n_units)
    law[:: 2**layout.n_hidden] = visible_law
    layer_of = np.repeat(np.arange(len(layout.widths)), layout.widths)
    for layer in layout.hidden_layers:
        order = [unit for block in sweep_plan(layout, (layer,)) for unit in units_of(layout, block)]
        for sweep_number in range(1 + n_sweeps * layout.coupled_inside(layer)):
            for unit in order:
                law = redrawn(machine, law, unit, layer_of < layer + (sweep_number > 0), beta)
    return law


def uneven(layout: Layout) -> np.ndarray:
    return oracles.random_law(2**layout.n_visible, seed=1)


def hotter(machine: Machine, beta: float) -> Machine:
    return jax.tree.map(lambda leaf: beta * leaf, machine)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("machine", FEED_FORWARD, indirect=True)
def test_without_couplings_inside_hidden_layers_the_law_is_feed_forward(machine, beta):
    visible = uneven(machine.layout)
    expected = visible[:, None] * oracles.feed_forward(hotter(machine, beta))
    oracles.close(completed_law(machine, visible, beta), expected.ravel())


@pytest.mark.parametrize("machine", INDEPENDENT, indirect=True)
def test_without_couplings_between_hidden_units_the_law_is_exact(machine):
    visible = uneven(machine.layout)
    expected = visible[:, None] * oracles.given_visible(machine, oracles.law(machine))
    oracles.close(completed_law(machine, visible), expected.ravel())


@pytest.mark.parametrize("machine", ["lateral_3_3", "masked_graph"], indirect=True)
def test_with_many_sweeps_inside_one_hidden_layer_the_law_becomes_exact(machine):
    visible = uneven(machine.layout)
    expected = visible[:, None] * oracles.given_visible(machine, oracles.law(machine))
    oracles.close(completed_law(machine, visible, n_sweeps=60), expected.ravel())


def completed(machine: Machine, beta: float = 1.0, n_sweeps: int = 2) -> np.ndarray:
    visible = exact_draws(uneven(machine.layout), N)
    return oracles.whole(_complete(machine, jnp.asarray(visible), DRAWS, beta, n_sweeps))


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("machine", HIDDEN, indirect=True)
def test_completions_follow_their_law_at_each_temperature_after_two_sweeps_inside_layers(machine, beta):
    expected = completed_law(machine, uneven(machine.layout), beta)
    assert_same_distribution(count_states(completed(machine, beta)), expected)


def too_cold(machine: Machine) -> np.ndarray:
    return completed(machine, beta=1.15)


def without_hidden_biases(machine: Machine) -> np.ndarray:
    biases = (machine.biases[0], *(jnp.zeros_like(bias) for bias in machine.biases[1:]))
    return completed(Machine(machine.layout, machine.couplings, biases))


def heard_from_above(machine: Machine) -> np.ndarray:
    rows = oracles.layers(machine.layout, completed(machine))
    return oracles.whole(jax.jit(partial(sweep, layers=(1,)))(machine, rows, DRAWS.fold(9)))


def not_swept(machine: Machine) -> np.ndarray:
    return completed(machine, n_sweeps=0)


def one_uniform_for_a_row(machine: Machine) -> np.ndarray:
    rows = exact_draws(uneven(machine.layout), N)
    p = oracles.sigmoid(rows @ np.asarray(machine.couplings[0]).T + np.asarray(machine.biases[1]))
    return np.concatenate([rows, np.asarray(DRAWS.uniforms(jnp.arange(1))) < p], axis=1)


@pytest.mark.parametrize(
    ("bug", "machine"),
    [
        *((bug, name) for bug in (too_cold, without_hidden_biases) for name in HIDDEN if name != "zero_weights"),
        *((heard_from_above, name) for name in ("deep_2_2_2", "deep_2_2_2_lateral")),
        *((not_swept, name) for name in COUPLED_INSIDE),
        (one_uniform_for_a_row, "rbm_3_2"),
    ],
    indirect=["machine"],
)
def test_completions_with_a_planted_bug_are_caught(bug, machine):
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(bug(machine)), completed_law(machine, uneven(machine.layout)))


def test_completions_leave_the_visible_units_alone(machine):
    visible = oracles.every_state(machine)[0]
    states = jax.jit(complete)(machine, visible, Stream(jax.random.key(0), jnp.arange(len(visible))))
    np.testing.assert_array_equal(states[0], visible)
    assert [layer.shape[1] for layer in states] == list(machine.layout.widths)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_bits_become_numbers_of_the_machines_type(dtype):
    machine = jax.tree.map(lambda leaf: leaf.astype(dtype), MACHINES["rbm_3_2"]())
    states = as_states(machine, jnp.array([[True, False, True]]))
    assert (states.dtype, states.tolist()) == (dtype, [[1, 0, 1]])


def after_hidden_sweeps(machine: Machine, visible_law: np.ndarray, n_sweeps: int) -> np.ndarray:
    """The law after sweeps over the hidden units, which start at 0."""
    law = np.zeros(2**machine.layout.n_units)
    law[:: 2**machine.layout.n_hidden] = visible_law
    hidden = kernel_of(machine, [block for block in plan_in_single_file(machine.layout) if block.layer])
    return np.linalg.matrix_power(hidden, n_sweeps) @ law


@pytest.mark.parametrize("machine", ["deep_2_2_2_lateral"], indirect=True)
def test_gibbs_completions_follow_the_enumerated_sweeps_over_hidden_units(machine):
    visible = jnp.asarray(exact_draws(uneven(machine.layout), N))
    states = jax.jit(complete_by_gibbs)(machine, blank(machine, visible), DRAWS, 1.0, 2)
    twice, once = (after_hidden_sweeps(machine, uneven(machine.layout), n_sweeps) for n_sweeps in (2, 1))
    assert_same_distribution(count_states(oracles.whole(states)), twice)
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(oracles.whole(states)), once)


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("machine", HIDDEN, indirect=True)
def test_mean_field_settles_where_each_mean_is_what_the_others_say(machine, beta):
    visible = jnp.asarray(oracles.bits(machine.layout.n_visible))
    means = oracles.whole(jax.jit(mean_field)(machine, visible, beta, 300))
    heard = oracles.sigmoid(beta * (means @ oracles.couplings(machine) + oracles.biases(machine)))
    oracles.close(means[:, machine.layout.n_visible :], heard[:, machine.layout.n_visible :])
    np.testing.assert_array_equal(means[:, : machine.layout.n_visible], visible)


@pytest.mark.parametrize("machine", INDEPENDENT, indirect=True)
def test_mean_field_is_exact_after_one_step_where_no_two_hidden_units_are_coupled(machine):
    visible = jnp.asarray(oracles.bits(machine.layout.n_visible))
    means = oracles.whole(jax.jit(mean_field)(machine, visible))[:, machine.layout.n_visible :]
    oracles.close(means, oracles.given_visible(machine, oracles.law(machine)) @ oracles.bits(machine.layout.n_hidden))
