"""What the completion of a deep machine teaches and leaves alone, by enumeration; the ways to complete agree where they must."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lessons import bytes_of, coin_rows, small_stack

import boltzflow as bf
import oracles
from boltzflow.learning.completions import (
    blank,
    complete,
    complete_by_gibbs,
    complete_by_mean_field,
    complete_stack,
    draw_upwards,
    mean_field,
    sweep_inside,
)
from boltzflow.learning.rules import VPF
from boltzflow.learning.rules.flow import mean_flow_gradient
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack, as_stack
from boltzflow.machine.wiring import States
from boltzflow.sampling.sweeps import sweeps
from boltzflow.sampling.uniforms import Purpose, Stream, stream
from chance import assert_same_distribution, count_states, exact_draws
from deep_oracles import (
    between_hidden,
    completed,
    completed_stack,
    coupling_gradient,
    given_below,
    independent,
    layer_drawn,
    layer_of_units,
    variational_free_energy,
)
from machines import MACHINES

N = 100_000
DRAWS = Stream(jax.random.key(5), jnp.arange(N))
DEEP = pytest.mark.parametrize("machine", ["deep_2_2_2", "deep_2_2_2_lateral"], indirect=True)
PLAIN = pytest.mark.parametrize("machine", ["deep_2_2_2"], indirect=True)
LATERAL = pytest.mark.parametrize("machine", ["deep_2_2_2_lateral"], indirect=True)


def data_law(machine: Machine) -> np.ndarray:
    """p̃⁰ of no machine."""
    return oracles.random_law(2**machine.layout.n_visible, seed=1)


def exactly_completed(machine: Machine, visible: np.ndarray) -> np.ndarray:
    return (visible[:, None] * oracles.given_visible(machine, oracles.law(machine))).ravel()


# What couplings between hidden units are taught.


def learned(machine: Machine, law: np.ndarray) -> np.ndarray:
    """The expected update of each coupling, by the rule's own gradient."""
    gradient, _ = jax.jit(mean_flow_gradient)(machine, oracles.every_state(machine), jnp.asarray(law))
    return oracles.as_matrix(machine.layout, gradient.couplings)


@DEEP
def test_under_the_exact_e_step_couplings_between_hidden_units_learn_nothing(machine):
    found = learned(machine, exactly_completed(machine, data_law(machine)))
    inside = between_hidden(machine.layout)
    oracles.close(found[inside], 0.0)
    assert np.abs(found[~inside]).max() > 0.01


FED_FORWARD = {
    "deep_2_2_2": [[-0.06378086, -0.05637009], [0.03078538, 0.02824291]],
    "deep_2_2_2_lateral": [[-0.03622233, -0.03140937], [0.00703016, 0.00495986]],
}
"""⟨y_j α_i δ_i + y_i α_j δ_j⟩ for unit i of the first and j of the second hidden layer, enumerated."""


@pytest.mark.parametrize(("machine", "expected"), FED_FORWARD.items(), indirect=["machine"])
def test_fed_forward_couplings_between_hidden_layers_learn_this_much(machine, expected):
    law, inside = completed(machine, data_law(machine)), between_hidden(machine.layout)
    found = learned(machine, law)
    oracles.close(found[inside], coupling_gradient(machine, law)[inside])
    np.testing.assert_allclose(found[2:4, 4:6], expected, rtol=0, atol=0.5e-8)


# Sweeps leave the law they draw from alone.


def drawn_from(machine: Machine, law: np.ndarray) -> States:
    return oracles.layers(machine.layout, exact_draws(law, N))


def assert_follow(states: States, law: np.ndarray) -> None:
    assert_same_distribution(count_states(oracles.whole(states)), law)


@DEEP
def test_gibbs_completions_leave_the_law_of_hidden_units_given_the_data_alone(machine):
    """Feeding forward does not."""
    law, moved = exactly_completed(machine, data_law(machine)), exactly_completed(machine, data_law(machine))
    for layer in machine.layout.hidden_layers:
        moved = layer_drawn(machine, moved, layer, np.ones(machine.layout.n_units, bool))
    oracles.close(moved, law)
    assert_follow(jax.jit(complete_by_gibbs)(machine, drawn_from(machine, law), DRAWS, 1.0, 2), law)
    with pytest.raises(AssertionError):
        assert_follow(jax.jit(complete)(machine, drawn_from(machine, law)[0], DRAWS), law)


@LATERAL
@pytest.mark.parametrize("layer", [1, 2])
def test_sweeps_inside_a_layer_leave_its_law_given_the_layer_below_alone(machine, layer):
    law = given_below(machine, layer)
    oracles.close(layer_drawn(machine, law, layer, layer_of_units(machine.layout) <= layer), law)
    inside = jax.jit(sweep_inside, static_argnums=(2, 4, 5))
    assert_follow(inside(machine, drawn_from(machine, law), layer, DRAWS, 1.0, 2), law)


def above_heard(machine: Machine, states: States) -> States:
    return sweeps(machine, states, DRAWS, 2, layers=(1,))


def inside_not_heard(machine: Machine, states: States) -> States:
    return draw_upwards(machine, states, 1, DRAWS)


@LATERAL
@pytest.mark.parametrize("bug", [above_heard, inside_not_heard])
def test_sweeps_inside_a_layer_with_a_planted_bug_are_caught(machine, bug):
    law = given_below(machine, 1)
    with pytest.raises(AssertionError):
        assert_follow(jax.jit(bug)(machine, drawn_from(machine, law)), law)


# Stacks, in both orders.

complete_pairs = jax.jit(complete_stack, static_argnums=(4, 5))
ORDERS = ["algorithm-1", "authors"]


def pairs_completed(of: Stack, order: str) -> tuple[States, ...]:
    visible = jnp.asarray(exact_draws(data_law(of.pairs[0]), N))
    return complete_pairs(of, visible, DRAWS, 1.0, 1, order)


@pytest.mark.parametrize("order", ORDERS)
def test_a_coupled_stack_that_is_completed_in_the_other_order_is_caught(order):
    """The lowest pair does not tell them apart, the one above it does."""
    first, second = pairs_completed(small_stack(), order)
    visible = data_law(small_stack().pairs[0])
    lower, upper = completed_stack(small_stack(), visible, 1, order)
    assert_follow(first, lower)
    assert_follow(second, upper)
    with pytest.raises(AssertionError):
        assert_follow(second, completed_stack(small_stack(), visible, 1, ORDERS[order == ORDERS[0]])[1])


def test_without_couplings_inside_layers_both_orders_draw_the_same_bits():
    of = as_stack(MACHINES["deep_2_2_2"]())
    found, other = (pairs_completed(of, order) for order in ORDERS)
    assert bytes_of(found) == bytes_of(other)
    assert_follow(found[1], completed_stack(of, data_law(of.pairs[0]), 1, "authors")[1])


# Joint machines.


@PLAIN
def test_one_gibbs_sweep_from_hidden_units_at_0_is_algorithm_1_bit_for_bit(machine):
    """A layer above that is all 0 says as much as one that is not heard."""
    visible = drawn_from(machine, oracles.law(machine))[0]
    swept = jax.jit(complete_by_gibbs)(machine, blank(machine, visible), DRAWS, 1.0, 1)
    fed = jax.jit(complete)(machine, visible, DRAWS.fold(0))
    assert bytes_of(swept) == bytes_of(fed)


def passed(machine: Machine, visible: np.ndarray, n_passes: int) -> np.ndarray:
    """Passes over hidden units one by one, from all at 0: each takes the mean that the others ask for."""
    w, b = oracles.couplings(machine), oracles.biases(machine)
    means = np.concatenate([visible, np.zeros((len(visible), len(b) - visible.shape[1]))], axis=1)
    for unit in n_passes * list(range(visible.shape[1], len(b))):
        means[:, unit] = oracles.sigmoid(means @ w[:, unit] + b[unit])
    return means


@pytest.mark.parametrize("machine", ["deep_2_2_2", "deep_2_2_2_lateral", "lateral_3_3", "zero_weights"], indirect=True)
@pytest.mark.parametrize("n_passes", [1, 2, 5])
def test_mean_field_updates_unit_after_unit(machine, n_passes):
    visible = oracles.bits(machine.layout.n_visible)
    found = jax.jit(mean_field)(machine, jnp.asarray(visible), 1.0, n_passes)
    oracles.close(oracles.whole(found), passed(machine, visible, n_passes))


def inhibited(n_units: int, strength: float) -> Machine:
    """One visible unit, and hidden units that all silence each other: updated all at once they would flicker for ever."""
    machine = bf.deep(1, n_units, lateral=True, dtype=jnp.float64)
    return eqx.tree_at(lambda of: of.couplings[1], machine, jnp.full_like(machine.couplings[1], -strength))


@pytest.mark.parametrize(("n_units", "strength"), [(20, 5.0), (49, 2.0)])
def test_mean_field_settles_among_units_that_silence_each_other(n_units, strength):
    machine, visible = inhibited(n_units, strength), jnp.ones((1, 1))
    means = [np.asarray(jax.jit(mean_field)(machine, visible, 1.0, n)[1]) for n in (500, 501)]
    np.testing.assert_allclose(*means, rtol=0, atol=1e-9)


@LATERAL
def test_couplings_inside_a_layer_of_a_stack_learn_nothing_under_the_exact_e_step(machine):
    """Both their ends are hidden in their only pair; fed forward they learn a little."""
    for pair in as_stack(machine).pairs:
        exact = learned(pair, exactly_completed(pair, data_law(pair)))
        fed = learned(pair, completed(pair, data_law(pair)))
        oracles.close(exact[2, 3], 0.0)
        assert np.abs(exact[:2, 2:]).max() > 0.1
        assert np.abs(fed[2, 3]) > 1e-4


@PLAIN
def test_a_step_of_mean_field_goes_from_the_bottom_up(machine):
    """The first layer hears nothing from above yet, the second one hears the first layer's new means."""
    w, b, x = oracles.couplings(machine), oracles.biases(machine), oracles.bits(2)
    first = oracles.sigmoid(x @ w[:2, 2:4] + b[2:4])
    second = oracles.sigmoid(first @ w[2:4, 4:] + b[4:])
    found = jax.jit(mean_field)(machine, jnp.asarray(x), 1.0, 1)
    oracles.close(oracles.whole(found), np.concatenate([x, first, second], axis=1))


@DEEP
def test_mean_field_descends_the_variational_free_energy_which_stays_above_the_free_energy(machine):
    visible = jnp.asarray(oracles.bits(2))
    run = jax.jit(mean_field)
    found = [variational_free_energy(machine, oracles.whole(run(machine, visible, 1.0, n))) for n in range(1, 9)]
    assert (np.diff(found, axis=0) < 1e-14).all()
    exact = -np.log(np.exp(-oracles.energies(machine)).reshape(4, -1).sum(axis=1))
    assert (found[-1] > exact).all()
    assert (found[0] - found[-1] > 1e-3).any()


@LATERAL
def test_draws_by_mean_field_follow_the_means_of_a_coupled_machine_and_not_its_law(machine):
    visible = data_law(machine)
    drawn = jax.jit(complete_by_mean_field)(machine, jnp.asarray(exact_draws(visible, N)), DRAWS, 1.0, 30)
    means = oracles.whole(jax.jit(mean_field)(machine, jnp.asarray(oracles.bits(2)), 1.0, 30))[:, 2:]
    assert_follow(drawn, np.concatenate([p * independent(mu) for p, mu in zip(visible, means, strict=True)]))
    with pytest.raises(AssertionError):
        assert_follow(drawn, exactly_completed(machine, visible))


STANDSTILL = {"learning_rate": 1e-300, "optimiser": "sgd", "decay": 0.0, "bias_start": "keep", "batch_size": 5}


@PLAIN
def test_carried_completions_belong_to_their_examples_however_these_are_shuffled_and_cut(machine):
    """Three epochs of a machine that stands still, against sweeps of all rows in their own order."""
    rows, rule = coin_rows(23, 2), VPF(method="gibbs", carry=True, completions=2)
    run = bf.train(machine, rows, rule=rule, epochs=3, seed=7, chunk_rows=10, **STANDSTILL)
    for k in range(2):
        states = blank(machine, jnp.asarray(rows))
        for epoch in (1, 2, 3):
            key = jax.random.fold_in(jax.random.key(7), epoch)
            states = one_sweep(machine, states, stream(key, Purpose.COMPLETE, jnp.arange(23)).fold(k))
        found = tuple(layer[:, k] for layer in run.state.rule_state)
        np.testing.assert_array_equal(oracles.whole(found), oracles.whole(states)[:, 2:])


one_sweep = jax.jit(complete_by_gibbs)
