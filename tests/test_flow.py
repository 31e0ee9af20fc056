"""Probability flow and its local gradients: against brute force, the matrix exponential and automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from boltzflow import flow
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.enumeration import generator
from boltzflow.machine.machine import Machine
from oracles import close, every_state, whole

FULLY_VISIBLE = ["one_unit", "two_coupled", "visible_6", "visible_graph"]
CONNECTIVITIES = pytest.mark.parametrize(
    "connects",
    [lambda d: d == 1, lambda d: d == 2, lambda d: d >= 1],
    ids=["one flip", "pairs of flips", "all flips"],
)

flip_rates, probability_flow = jax.jit(flow.flip_rates), jax.jit(flow.probability_flow)
flow_gradient, untied_gradient = jax.jit(flow.flow_gradient), jax.jit(flow.untied_gradient)


def mean_flow(machine: Machine, law: np.ndarray) -> jax.Array:
    return jnp.dot(law, probability_flow(machine, every_state(machine)))


slope_of_mean_flow = jax.jit(jax.grad(mean_flow))


@jax.jit
@jax.grad
def slope_in_energies(energies: jax.Array, law: np.ndarray, connected: np.ndarray) -> jax.Array:
    """∂/∂Energy(x) of Σ_y p_y Σ_x g_xy exp(½ (Energy(y) − Energy(x))), no state left out."""
    return jnp.sum(jnp.where(connected, jnp.exp(0.5 * (energies - energies[:, None])), 0.0) @ law)


def gradient_at(machine: Machine, law: np.ndarray) -> Machine:
    return flow_gradient(machine, every_state(machine), law)


def law_of_no_machine(machine: Machine, support: np.ndarray | None = None) -> np.ndarray:
    return oracles.random_law(2**machine.layout.n_units, seed=1, support=support)


def some_states(machine: Machine) -> np.ndarray:
    """Half of the states, neighbours among them."""
    n_states = 2**machine.layout.n_units
    return np.random.default_rng(2).permutation(n_states) < n_states / 2


def same(found: Machine, expected: Machine) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        close(one, other)


def zero(found: Machine) -> None:
    for leaf in jax.tree.leaves(found):
        close(leaf, 0.0)


def errors_of(machine: Machine) -> np.ndarray:
    """α_j δ_j for every state."""
    alpha = 0.5 - oracles.bits(machine.layout.n_units)
    return alpha * np.exp(alpha * oracles.fields(machine))


def test_half_flips_are_half_of_what_a_flip_adds(machine):
    states, n_units = whole(every_state(machine)), machine.layout.n_units
    for unit in range(n_units):
        change = states[oracles.flipped(n_units, unit), unit] - states[:, unit]
        close(2 * whole(flow.half_flips(every_state(machine)))[:, unit], change)


def test_flip_rates_are_exponentials_of_half_the_energy_lost(machine):
    n_units, energies = machine.layout.n_units, oracles.energies(machine)
    found = whole(flip_rates(machine, every_state(machine)))
    for unit in range(n_units):
        close(found[:, unit], np.exp(0.5 * (energies - energies[oracles.flipped(n_units, unit)])))


def test_flip_rates_are_entries_of_the_generator(machine):
    rates, n_units = np.asarray(jax.jit(generator)(machine)), machine.layout.n_units
    found = whole(flip_rates(machine, every_state(machine)))
    for unit in range(n_units):
        close(found[:, unit], rates[oracles.flipped(n_units, unit), np.arange(2**n_units)])


def test_flow_is_all_that_leaves_a_state(machine):
    close(probability_flow(machine, every_state(machine)), -np.diag(oracles.one_flip_generator(machine)))


def test_divergence_from_the_data_grows_at_the_rate_of_the_flow(machine):
    """D_KL(p⁰ ‖ p^ε)/ε → K for data no two of which are one flip apart."""
    law = law_of_no_machine(machine, oracles.even_parity(machine.layout.n_units))
    close(oracles.initial_slope(oracles.one_flip_generator(machine), law), mean_flow(machine, law))


@CONNECTIVITIES
def test_divergence_from_any_data_grows_by_what_leaves_the_data(machine, connects):
    """D_KL(p⁰ ‖ p^ε)/ε → Σ_{y ∈ D} p⁰_y Σ_{x ∉ D} Γ_xy: flips from data to data do not count."""
    connected, support = connects(oracles.distances(machine.layout.n_units)), some_states(machine)
    law, energies = law_of_no_machine(machine, support), oracles.energies(machine)
    rates = np.where(connected, np.exp(0.5 * (energies - energies[:, None])), 0.0)
    slope = oracles.initial_slope(oracles.generator(machine, connected), law)
    close(slope, np.sum(rates[~support] @ law))


def test_flow_into_states_without_data_is_zero_for_any_machine_where_all_states_are_data(machine):
    close(oracles.initial_slope(oracles.one_flip_generator(machine), law_of_no_machine(machine)), 0.0)


@CONNECTIVITIES
def test_flow_of_any_connectivity_has_zero_slope_in_every_energy_under_the_machines_own_law(machine, connects):
    """So it has zero gradient in whatever the energies are made of."""
    connected = connects(oracles.distances(machine.layout.n_units))
    close(slope_in_energies(oracles.energies(machine), oracles.law(machine), connected), 0.0)


def test_gradient_is_the_derivative_of_the_flow(machine):
    law = law_of_no_machine(machine)
    same(gradient_at(machine, law), slope_of_mean_flow(machine, law))


def test_gradient_is_that_of_the_paper_pair_by_pair(machine):
    """∂K/∂b_i = α_i δ_i and ∂K/∂w_ij = y_j α_i δ_i + y_i α_j δ_j."""
    law, found = law_of_no_machine(machine), gradient_at(machine, law_of_no_machine(machine))
    states, errors = oracles.bits(machine.layout.n_units), errors_of(machine)
    half = (law[:, None] * states).T @ errors
    close(oracles.couplings(found), np.where(oracles.is_wired(machine.layout), half + half.T, 0.0))
    close(oracles.biases(found), law @ errors)


def test_gradient_is_zero_under_the_machines_own_law(machine):
    zero(gradient_at(machine, oracles.law(machine)))


def test_two_untied_halves_add_up_to_the_tied_gradient(machine):
    law = law_of_no_machine(machine)
    upward, downward = untied_gradient(machine, every_state(machine), law)
    tied = gradient_at(machine, law).couplings
    for one, other, both in zip(upward, downward, tied, strict=True):
        close(one + other, both)


def test_each_untied_half_is_the_derivative_by_a_coupling_of_its_own(machine):
    """With w_ij ≠ w_ji in Σ_j exp(α_j (Σ_i w_ij y_i + b_j)), upward holds ∂/∂w_ij and downward ∂/∂w_ji."""
    law, states = law_of_no_machine(machine), oracles.bits(machine.layout.n_units)
    bias, alpha = oracles.biases(machine), 0.5 - states

    def untied_flow(couplings: jax.Array) -> jax.Array:
        return law @ jnp.sum(jnp.exp(alpha * (states @ couplings + bias)), axis=1)

    expected = np.asarray(jax.jit(jax.grad(untied_flow))(oracles.couplings(machine)))
    stored = oracles.one_way(machine.layout, [np.ones(w.shape) for w in machine.couplings]) == 1
    for half, slope in zip(untied_gradient(machine, every_state(machine), law), (expected, expected.T), strict=True):
        close(oracles.one_way(machine.layout, half), np.where(stored, slope, 0.0))


def test_update_of_a_coupling_changes_with_its_ends_and_the_units_wired_to_them_and_no_other(machine):
    one_row = jax.jit(jax.vmap(lambda *row: flow.flow_gradient(machine, tuple(y[None] for y in row), jnp.ones(1))))
    updates = [np.asarray(array) for array in one_row(*every_state(machine)).couplings]
    wired, n_units = oracles.couplings(machine) != 0, machine.layout.n_units
    pairs = np.argwhere(oracles.one_way(machine.layout, [np.ones(array.shape[1:]) for array in updates]))
    for unit in range(n_units):
        other = oracles.flipped(n_units, unit)
        moved = oracles.one_way(machine.layout, [np.any(array != array[other], axis=0) for array in updates])
        allowed = [unit in pair or wired[unit, pair].any() for pair in pairs]
        np.testing.assert_array_equal(np.argwhere(moved), pairs[np.array(allowed, dtype=bool)])


def test_names_of_units_do_not_matter(machine):
    """Units in another order: the same flow, and the same gradient in the other order."""
    draw, widths = np.random.default_rng(3), machine.layout.widths
    orders = [draw.permutation(width) for width in widths]
    renamed = oracles.relabelled(machine, orders)
    states, law = every_state(machine), law_of_no_machine(machine)
    moved = tuple(np.asarray(y)[:, order] for y, order in zip(states, orders, strict=True))
    close(probability_flow(renamed, moved), probability_flow(machine, states))
    same(flow_gradient(renamed, moved, law), oracles.relabelled(flow_gradient(machine, states, law), orders))


def test_exchanging_zeros_and_ones_changes_no_rate(machine):
    states = every_state(machine)
    mirrored = tuple(1 - np.asarray(y) for y in states)
    close(whole(flip_rates(oracles.exchanged(machine), mirrored)), whole(flip_rates(machine, states)))


def test_gradient_follows_the_exchange_of_zeros_and_ones(machine):
    """With b'_i = −(b_i + Σ_j w_ij): ∂K/∂b_i = −∂K'/∂b'_i and ∂K/∂w_ij = ∂K'/∂w'_ij − ∂K'/∂b'_i − ∂K'/∂b'_j."""
    law, states = law_of_no_machine(machine), every_state(machine)
    found = flow_gradient(machine, states, law)
    mirrored = flow_gradient(oracles.exchanged(machine), tuple(1 - np.asarray(y) for y in states), law)
    bias = oracles.biases(mirrored)
    close(oracles.biases(found), -bias)
    expected = np.where(oracles.is_wired(machine.layout), oracles.couplings(mirrored) - bias - bias[:, None], 0.0)
    close(oracles.couplings(found), expected)


@pytest.mark.parametrize("machine", FULLY_VISIBLE, indirect=True)
def test_least_flow_under_the_exact_law_has_the_parameters_of_the_law(machine):
    law, start = oracles.law(machine), zero_machine(machine.layout, dtype=machine.dtype)
    found = oracles.minimise(lambda at: mean_flow(at, law), start)
    close(oracles.couplings(found), oracles.couplings(machine))
    close(oracles.biases(found), oracles.biases(machine))


def test_small_steps_down_the_gradient_lower_the_flow_by_what_the_gradient_promises(machine):
    law, rate = law_of_no_machine(machine), 1e-2
    for _ in range(5):
        gradient = gradient_at(machine, law)
        promised = sum(np.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient))
        lower = jax.tree.map(lambda at, slope: np.asarray(at) - rate * np.asarray(slope), machine, gradient)
        assert mean_flow(lower, law) <= mean_flow(machine, law) - 0.5 * rate * promised < mean_flow(machine, law)
        machine = lower
