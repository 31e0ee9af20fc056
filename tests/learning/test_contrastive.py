"""Contrastive divergence: the likelihood's gradient where the laws are exact; its draws follow the enumerated kernels."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from lessons import KEY, all_close, as_examples, begun, coin_rows, some_examples, updated

import oracles
from boltzflow.learning.contract import Examples
from boltzflow.learning.rules import CD, PCD
from boltzflow.learning.rules.contrastive import Chains, clamped_states, energy_gap, statistics_gap
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.enumeration import visible_probabilities
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Lateral
from boltzflow.sampling.uniforms import Stream
from chance import assert_same_distribution, assert_same_mean, count_states, even, exact_draws
from kernels import domino, kernel_of, plan_in_single_file
from machines import MACHINES

N = 100_000
"""A mean over so many rows is known to 0.02 at a false alarm of one in a million; a law of 32 states to 7 % in each."""


HIDDEN_HEAR_EACH_OTHER = [name for name in MACHINES if not MACHINES[name]().layout.hidden_independent]


def uneven(machine: Machine) -> np.ndarray:
    return oracles.random_law(2**machine.layout.n_visible, seed=1)


def exact_gap(machine: Machine, data_law: np.ndarray, model_law: np.ndarray) -> Machine:
    """The update for laws over all states."""
    states = oracles.every_state(machine)
    return jax.jit(statistics_gap)(machine, states, jnp.asarray(data_law), states, jnp.asarray(model_law))


def minus_log_likelihood(machine: Machine, visible_law: np.ndarray) -> jax.Array:
    return -jnp.dot(visible_law, jnp.log(visible_probabilities(machine)))


def completed(machine: Machine, visible_law: np.ndarray) -> np.ndarray:
    """p⁰(x) p(h | x)."""
    return (visible_law[:, None] * oracles.given_visible(machine, oracles.law(machine))).ravel()


def test_between_exact_laws_the_update_is_the_gradient_of_minus_log_likelihood(machine):
    visible = uneven(machine)
    expected = jax.jit(jax.grad(minus_log_likelihood))(machine, visible)
    all_close(exact_gap(machine, completed(machine, visible), oracles.law(machine)), expected)


def test_the_energy_gap_is_the_mean_energy_of_the_data_minus_that_of_the_model(machine):
    data_law, energies = completed(machine, uneven(machine)), oracles.energies(machine)
    updates = exact_gap(machine, data_law, oracles.law(machine))
    oracles.close(energy_gap(machine, updates), (data_law - oracles.law(machine)) @ energies)


def hidden_sweeps(machine: Machine, law: np.ndarray, n_sweeps: int) -> np.ndarray:
    """The law after sweeps over the hidden units alone."""
    hidden = kernel_of(machine, [block for block in plan_in_single_file(machine.layout) if block.layer])
    return np.linalg.matrix_power(hidden, n_sweeps) @ law


def swept(machine: Machine, law: np.ndarray, n_sweeps: int) -> np.ndarray:
    """The law after whole sweeps."""
    return np.linalg.matrix_power(kernel_of(machine, plan_in_single_file(machine.layout)), n_sweeps) @ law


@pytest.mark.parametrize("machine", HIDDEN_HEAR_EACH_OTHER, indirect=True)
def test_after_its_hidden_sweeps_the_data_have_the_exact_law_of_hidden_units(machine):
    visible = uneven(machine)
    anything = (visible[:, None] * even(2**machine.layout.n_hidden)).ravel()
    oracles.close(hidden_sweeps(machine, anything, 200), completed(machine, visible))


@pytest.mark.parametrize("machine", ["deep_2_2_2_lateral", "masked_graph"], indirect=True)
def test_hidden_units_are_drawn_given_the_data_where_they_hear_each_other(machine):
    visible = exact_draws(uneven(machine), N)
    draws = Stream(KEY, jnp.arange(N))
    states = jax.jit(clamped_states)(machine, jnp.asarray(visible), draws, 40)
    np.testing.assert_array_equal(states[0], visible)
    assert_same_distribution(count_states(oracles.whole(states)), completed(machine, uneven(machine)))


@pytest.mark.parametrize("machine", ["deep_2_2_2_lateral"], indirect=True)
def test_hidden_units_that_were_not_swept_given_the_data_would_be_caught(machine):
    visible = jnp.asarray(exact_draws(uneven(machine), N))
    states = jax.jit(clamped_states)(machine, visible, Stream(KEY, jnp.arange(N)), 0)
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(oracles.whole(states)), completed(machine, uneven(machine)))


def flat(updates: Machine) -> np.ndarray:
    return np.asarray(ravel_pytree(updates)[0])


@lru_cache
def updates_row_by_row(name: str, steps: int) -> np.ndarray:
    """The updates of CD for many batches of one row each, all with the last half of the visible units lit."""
    machine, rule = MACHINES[name](), CD(steps=steps, positive_sweeps=40)

    def update(row: Examples) -> jax.Array:
        return ravel_pytree(rule.update(machine, (), row, key=KEY).updates)[0]

    lit = oracles.bits(machine.layout.n_visible)[at_half(machine)]
    rows = as_examples(np.tile(lit, (N, 1)), np.ones(N))
    return np.asarray(jax.jit(jax.vmap(update))(jax.tree.map(lambda leaf: leaf[:, None], rows)))


def at_half(machine: Machine) -> int:
    """The number of the visible state with the last half of its units lit."""
    return 2 ** (machine.layout.n_visible // 2) - 1


def one_state(machine: Machine) -> np.ndarray:
    return np.eye(2**machine.layout.n_visible)[at_half(machine)]


def expected_update(machine: Machine, n_sweeps: int) -> np.ndarray:
    """Enumerated, from data in one visible state."""
    data = completed(machine, one_state(machine))
    return flat(exact_gap(machine, data, swept(machine, data, n_sweeps)))


def assert_updates(found: np.ndarray, expected: np.ndarray) -> None:
    """Each number lies between −1 and 1."""
    assert_same_mean((1 + found) / 2, (1 + expected) / 2)


@pytest.mark.parametrize(("name", "steps"), [("rbm_3_2", 1), ("lateral_3_3", 1), ("visible_6", 2)])
def test_the_mean_update_of_cd_is_that_of_the_enumerated_kernel_and_of_no_other_number_of_sweeps(name, steps):
    machine, found = MACHINES[name](), updates_row_by_row(name, steps)
    assert_updates(found, expected_update(machine, steps))
    with pytest.raises(AssertionError):
        assert_updates(found, expected_update(machine, 3 - steps))


def test_the_mean_update_of_cd_with_many_steps_is_the_gradient_of_minus_log_likelihood():
    machine = MACHINES["rbm_3_2"]()
    gradient = jax.jit(jax.grad(minus_log_likelihood))(machine, one_state(machine))
    assert_updates(updates_row_by_row("rbm_3_2", 40), flat(gradient))


PCD_MACHINES = pytest.mark.parametrize("machine", ["rbm_3_2", "lateral_3_3"], indirect=True)

_update = jax.jit(PCD.update, static_argnums=0)


def persist(machine: Machine, chains: Chains, steps: int = 1) -> Chains:
    row = as_examples(coin_rows(1, machine.layout.n_visible))
    return _update(PCD(steps, n_chains=N), machine, chains, row, key=KEY).rule_state


def begin_at(machine: Machine, rows: np.ndarray) -> Chains:
    return Chains(oracles.layers(machine.layout, rows), jnp.zeros((), jnp.int32))


@PCD_MACHINES
def test_chains_that_follow_the_law_of_the_machine_still_do_after_an_update(machine):
    law = oracles.law(machine)
    chains = persist(machine, begin_at(machine, exact_draws(law, N)))
    assert_same_distribution(count_states(oracles.whole(chains.states)), law)


@PCD_MACHINES
def test_chains_that_were_moved_by_a_machine_a_tenth_hotter_would_be_caught(machine):
    law = oracles.law(machine)
    hotter = jax.tree.map(lambda leaf: 0.9 * leaf, machine)
    chains = persist(hotter, begin_at(machine, exact_draws(law, N)))
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(oracles.whole(chains.states)), law)


@pytest.mark.parametrize("machine", ["rbm_3_2"], indirect=True)
def test_chains_move_as_many_sweeps_as_there_are_steps(machine):
    start = np.zeros((N, machine.layout.n_units))
    chains = persist(machine, begin_at(machine, start), steps=2)
    once, twice = (swept(machine, np.eye(2**machine.layout.n_units)[0], n_sweeps) for n_sweeps in (1, 2))
    assert_same_distribution(count_states(oracles.whole(chains.states)), twice)
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(oracles.whole(chains.states)), once)


def test_each_update_moves_the_chains_with_numbers_of_its_own():
    machine = zero_machine(Layout((2,), ()), dtype=jnp.float64)
    first = persist(machine, begin_at(machine, np.zeros((N, 2))))
    second = persist(machine, first)
    assert_same_distribution(count_states(oracles.whole((*first.states, *second.states))), even(16))
    stuck = persist(machine, Chains(first.states, jnp.zeros((), jnp.int32)))
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(oracles.whole((*first.states, *stuck.states))), even(16))


def test_chains_start_at_the_rows_of_the_data_in_turn():
    machine = MACHINES["deep_2_2_2"]()
    rows = coin_rows(3, 2)
    chains = begun(PCD(n_chains=7), machine, as_examples(rows), KEY)
    np.testing.assert_array_equal(chains.states[0], rows[np.arange(7) % 3])
    assert [layer.shape for layer in chains.states] == [(7, 2)] * 3


@pytest.mark.parametrize("machine", ["rbm_3_2", "visible_6"], indirect=True)
def test_the_update_of_pcd_compares_the_weighted_data_with_its_moved_chains(machine):
    data, rule = some_examples(machine), PCD(n_chains=4)
    step = updated(rule, machine, begun(rule, machine, data, KEY), data, KEY)
    hidden = tuple(jnp.zeros((6, width)) for width in machine.layout.widths[1:])
    states = (data.visible.astype(machine.dtype), *hidden)
    expected = jax.jit(statistics_gap)(machine, states, data.weights, step.rule_state.states, jnp.full(4, 0.25))
    all_close(step.updates, expected)


def domino_above_a_visible_unit() -> Machine:
    """Completed, the last two hidden units are 1; each sweep over the hidden units one more falls to 1."""
    standing = domino(6)
    return Machine(Layout((1, 6), (Lateral(1, 6),)), standing.couplings, (jnp.zeros(1), *standing.biases))


@pytest.mark.parametrize("positive_sweeps", [1, 3])
def test_hidden_units_are_swept_given_the_data_as_often_as_asked_for(positive_sweeps):
    machine, row = domino_above_a_visible_unit(), as_examples(np.ones((1, 1)))
    further = updated(CD(positive_sweeps=positive_sweeps), machine, (), row, KEY).updates.biases[1]
    chains = PCD(steps=2, n_chains=1, positive_sweeps=positive_sweeps)
    persistent = updated(chains, machine, begun(chains, machine, row, KEY), row, KEY).updates.biases[1]
    fallen = np.tri(7, 6, k=-1)[:, ::-1]
    np.testing.assert_array_equal(further, fallen[3 + positive_sweeps] - fallen[2 + positive_sweeps])
    np.testing.assert_array_equal(persistent, fallen[4] - fallen[2 + positive_sweeps])
