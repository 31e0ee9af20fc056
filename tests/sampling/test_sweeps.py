"""Sweeps draw every unit once from its law given the others, and so leave the machine's law alone."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import States
from boltzflow.sampling.sweeps import (
    FREE,
    Block,
    Clamp,
    Conditions,
    block_probabilities,
    clamp_states,
    colour_classes,
    constant_states,
    sweep,
    sweep_plan,
    sweeps,
)
from boltzflow.sampling.uniforms import Stream
from chance import assert_same_distribution, count_cells, count_states, even, exact_draws
from kernels import block_kernel, domino, kernel_of, plan_in_single_file, sweep_kernel, units_of
from machines import MACHINES

N = 100_000
"""An inverse temperature that is off by 10 % is missed less than once in a million times on any machine with couplings."""

DRAWS = Stream(jax.random.key(0), jnp.arange(N))
TEMPERED = [0.5, 1.0, 2.0]
COUPLED = [name for name in MACHINES if name not in ("one_unit", "zero_weights")]
OF_EACH_KIND = ["visible_6", "deep_2_2_2_lateral", "lateral_3_3", "masked_graph"]

_sweep = jax.jit(sweep, static_argnums=4)


def swept(machine: Machine, rows: np.ndarray, conditions: Conditions = FREE) -> np.ndarray:
    return oracles.whole(_sweep(machine, oracles.layers(machine.layout, rows), DRAWS, conditions))


def coin_flips(machine: Machine) -> np.ndarray:
    return exact_draws(even(2**machine.layout.n_units), N)


def random_clamp(machine: Machine) -> Clamp:
    """Every unit of every row held with chance ½, at a random bit."""
    held, values = np.random.default_rng(5).integers(0, 2, (2, N, machine.layout.n_units))
    return clamp_at(machine, held == 1, values)


def clamp_at(machine: Machine, held: np.ndarray, values: np.ndarray) -> Clamp:
    return Clamp(oracles.layers(machine.layout, held), oracles.layers(machine.layout, values.astype(float)))


def test_a_plan_holds_every_unit_once(machine):
    planned = [unit for block in sweep_plan(machine.layout) for unit in units_of(machine.layout, block)]
    assert sorted(planned) == list(range(machine.layout.n_units))


def test_a_plan_goes_through_the_hidden_layers_from_the_bottom_up_and_ends_with_the_visible_one(machine):
    layers = [block.layer for block in sweep_plan(machine.layout)]
    assert list(dict.fromkeys(layers)) == [*machine.layout.hidden_layers, 0]


def test_a_plan_for_some_layers_holds_just_these_in_the_order_named():
    layout = MACHINES["deep_2_2_2_lateral"]().layout
    assert sweep_plan(layout, (2, 0)) == (Block(2, in_order=True), Block(0))


def test_no_two_units_that_are_drawn_together_are_coupled(machine):
    wired = oracles.is_wired(machine.layout)
    for units in (units_of(machine.layout, block) for block in plan_in_single_file(machine.layout)):
        assert not wired[np.ix_(units, units)].any()


RANDOM_PAIRS = np.random.default_rng(0).integers(0, 60, (150, 2))
GRAPHS = {
    "no pairs": (4, []),
    "star": (5, [(0, k) for k in range(1, 5)]),
    "odd ring": (5, [(k, (k + 1) % 5) for k in range(5)]),
    "complete": (4, [(i, j) for i in range(4) for j in range(i)]),
    "random": (60, [(i, j) for i, j in RANDOM_PAIRS.tolist() if i != j]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_colour_classes_are_proper_and_at_most_one_more_than_the_highest_degree(name):
    n_units, listed = GRAPHS[name]
    pairs = np.array(listed, int).reshape(-1, 2)
    classes = colour_classes(n_units, pairs)
    colour = {unit: c for c, units in enumerate(classes) for unit in units}
    assert sorted(unit for units in classes for unit in units) == list(range(n_units))
    assert all(colour[i] != colour[j] for i, j in listed)
    assert len(classes) <= np.bincount(pairs.ravel(), minlength=n_units).max() + 1


@pytest.mark.parametrize("beta", TEMPERED)
def test_conditionals_are_ratios_of_energies(machine, beta):
    layout, n_units = machine.layout, machine.layout.n_units
    law, states = oracles.law(machine, beta), oracles.layers(layout, oracles.bits(n_units))
    blocks = [Block(layer) for layer in range(len(layout.widths))]
    p = oracles.whole(tuple(block_probabilities(machine, states, block, Conditions(beta)) for block in blocks))
    for unit in range(n_units):
        on, other = oracles.bits(n_units)[:, unit] == 1, law[oracles.flipped(n_units, unit)]
        odds = np.where(on, law / other, other / law)
        np.testing.assert_allclose(p[:, unit] / (1 - p[:, unit]), odds, rtol=1e-10)


@pytest.mark.parametrize("beta", TEMPERED)
def test_every_block_is_in_detailed_balance(machine, beta):
    law = oracles.law(machine, beta)
    for block in plan_in_single_file(machine.layout):
        kernel = block_kernel(machine, block, beta)
        np.testing.assert_allclose(kernel.sum(axis=0), 1.0, rtol=1e-10)
        np.testing.assert_allclose(kernel * law, (kernel * law).T, rtol=1e-10)


@pytest.mark.parametrize("beta", TEMPERED)
def test_a_sweep_leaves_the_law_of_the_machine_alone(machine, beta):
    law = oracles.law(machine, beta)
    np.testing.assert_allclose(sweep_kernel(machine, beta) @ law, law, rtol=1e-10)


@pytest.mark.parametrize("name", ["two_coupled", "visible_6", "deep_2_2_2_lateral", "lateral_3_3", "masked_graph"])
def test_drawing_coupled_units_of_a_layer_together_would_not_leave_it_alone(name):
    machine = MACHINES[name]()
    law = oracles.law(machine)
    together = kernel_of(machine, [Block(layer) for layer in (*machine.layout.hidden_layers, 0)])
    assert np.abs(together @ law / law - 1).max() > 0.05


@jax.jit
def uniforms_of(states: States) -> States:
    return tuple(DRAWS.fold(layer).uniforms(jnp.arange(y.shape[1])) for layer, y in enumerate(states))


def replayed(machine: Machine, rows: np.ndarray, beta: float, held: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A sweep in plain NumPy with the same uniforms: y_i = 1 where u_i < σ(β z_i), one unit after the other."""
    layout, w, b, y = machine.layout, oracles.couplings(machine), oracles.biases(machine), rows.copy()
    u = oracles.whole(uniforms_of(oracles.layers(layout, rows)))
    for unit in [unit for block in sweep_plan(layout) for unit in units_of(layout, block)]:
        drawn = u[:, unit] < oracles.sigmoid(beta * (y @ w[:, unit] + b[unit]))
        y[:, unit] = np.where(held[:, unit], values[:, unit], drawn)
    return y


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_a_sweep_is_one_draw_after_the_other_from_the_conditionals(machine, beta):
    rows, free = coin_flips(machine), np.zeros((N, machine.layout.n_units), bool)
    found = swept(machine, rows, Conditions(beta))
    np.testing.assert_array_equal(found, replayed(machine, rows, beta, free, rows))


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_a_sweep_with_held_units_is_that_with_these_passed_over(name):
    machine = MACHINES[name]()
    rows, clamp = coin_flips(machine), random_clamp(machine)
    found = swept(machine, rows, Conditions(clamp=clamp))
    np.testing.assert_array_equal(found, replayed(machine, rows, 1.0, *map(oracles.whole, (clamp.held, clamp.values))))


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_held_units_have_their_held_values_after_a_sweep_whatever_they_had_before(name):
    machine = MACHINES[name]()
    clamp = random_clamp(machine)
    held, values = oracles.whole(clamp.held), oracles.whole(clamp.values)
    np.testing.assert_array_equal(swept(machine, coin_flips(machine), Conditions(clamp=clamp))[held], values[held])


def test_clamping_states_moves_held_units_and_no_other(machine):
    rows, clamp = coin_flips(machine), random_clamp(machine)
    clamped = oracles.whole(clamp_states(oracles.layers(machine.layout, rows), Conditions(clamp=clamp)))
    np.testing.assert_array_equal(clamped, np.where(oracles.whole(clamp.held), oracles.whole(clamp.values), rows))


def test_a_silent_layer_counts_as_if_it_had_no_couplings_to_the_block(machine):
    layout, n_layers = machine.layout, len(machine.layout.widths)
    states = oracles.layers(layout, oracles.bits(layout.n_units))
    for layer, silent in np.ndindex(n_layers, n_layers):
        cut = [wiring.layers == {layer, silent} for wiring in layout.wirings]
        couplings = tuple(w * (1 - gone) for w, gone in zip(machine.couplings, cut, strict=True))
        expected = block_probabilities(Machine(layout, couplings, machine.biases), states, Block(layer))
        heard = block_probabilities(machine, states, Block(layer), Conditions(silent=frozenset({silent})))
        np.testing.assert_allclose(heard, expected, rtol=1e-10)


def test_a_sweep_of_some_layers_leaves_the_others_alone():
    machine = MACHINES["deep_2_2_2_lateral"]()
    rows = coin_flips(machine)
    moved = oracles.whole(sweep(machine, oracles.layers(machine.layout, rows), DRAWS, layers=(1,)))
    assert (moved != rows).any(axis=0).tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize("n_sweeps", [0, 1, 3])
def test_as_many_sweeps_are_done_as_were_asked_for(n_sweeps):
    machine = domino(6)
    standing = (jnp.zeros((1, 6)).at[:, -1].set(1.0),)
    fallen = sweeps(machine, standing, Stream(jax.random.key(0), jnp.arange(1)), n_sweeps)
    assert float(fallen[0].sum()) == 1 + n_sweeps


def test_each_sweep_has_random_numbers_of_its_own():
    machine = zero_machine(Layout((3,), ()), dtype=jnp.float64)
    once, twice = (sweeps(machine, (jnp.zeros((N, 3)),), DRAWS, n_sweeps)[0] for n_sweeps in (1, 2))
    assert_same_distribution(count_cells(once / 2, twice / 2, n_bins=2), even(4))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_a_sweep_keeps_the_type_of_the_machine(dtype):
    machine = zero_machine(MACHINES["masked_graph"]().layout, dtype=dtype)
    states = constant_states(machine.layout, 3, 1.0, machine.dtype)
    moved = jax.eval_shape(sweep, machine, states, Stream(jax.random.key(0), jnp.arange(3)))
    assert [layer.dtype for layer in moved] == [dtype, dtype]


def test_draws_from_the_law_of_the_machine_still_follow_it_after_a_sweep(machine):
    law = oracles.law(machine)
    assert_same_distribution(count_states(swept(machine, exact_draws(law, N))), law)


def test_a_sweep_from_one_state_follows_the_enumerated_kernel(machine):
    n_states = 2**machine.layout.n_units
    for start in (0, n_states - 1):
        rows = np.repeat(oracles.bits(machine.layout.n_units)[[start]], N, axis=0)
        assert_same_distribution(count_states(swept(machine, rows)), sweep_kernel(machine)[:, start])


def too_hot(machine: Machine, rows: np.ndarray) -> np.ndarray:
    return swept(machine, rows, Conditions(inverse_temperature=0.9))


def without_biases(machine: Machine, rows: np.ndarray) -> np.ndarray:
    biases = tuple(jnp.zeros_like(bias) for bias in machine.biases)
    return swept(Machine(machine.layout, machine.couplings, biases), rows)


def all_in_parallel(machine: Machine, rows: np.ndarray) -> np.ndarray:
    p = oracles.sigmoid(rows @ oracles.couplings(machine) + oracles.biases(machine))
    return (oracles.whole(uniforms_of(oracles.layers(machine.layout, rows))) < p).astype(float)


def one_unit_stuck(machine: Machine, rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows[:, 0], swept(machine, rows)[:, 1:]])


BUGS: list[Callable[[Machine, np.ndarray], np.ndarray]] = [too_hot, without_biases, all_in_parallel]


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("name", COUPLED)
def test_a_sweep_with_a_planted_bug_is_caught_on_draws_from_the_law(name, bug):
    machine = MACHINES[name]()
    law = oracles.law(machine)
    counts = count_states(bug(machine, exact_draws(law, N)))
    with pytest.raises(AssertionError):
        assert_same_distribution(counts, law)


@pytest.mark.parametrize("bug", [*BUGS, one_unit_stuck])
@pytest.mark.parametrize("name", COUPLED)
def test_a_sweep_with_a_planted_bug_is_caught_from_one_state(name, bug):
    machine = MACHINES[name]()
    counts = count_states(bug(machine, np.zeros((N, machine.layout.n_units))))
    with pytest.raises(AssertionError):
        assert_same_distribution(counts, sweep_kernel(machine)[:, 0])


def held_setting(machine: Machine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every other unit held at 1: which, at what in each row, and the law of all states given these."""
    n_units = machine.layout.n_units
    held = np.arange(n_units) % 2 == 0
    law = np.where(oracles.bits(n_units)[:, held].all(axis=1), oracles.law(machine), 0.0)
    return np.tile(held, (N, 1)), np.ones((N, n_units)), law / law.sum()


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_free_units_follow_their_law_given_the_held_ones(name):
    machine = MACHINES[name]()
    held, values, law = held_setting(machine)
    conditions = Conditions(clamp=clamp_at(machine, held, values))
    assert_same_distribution(count_states(swept(machine, exact_draws(law, N), conditions)), law)


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_held_units_that_were_heard_at_another_value_would_be_caught(name):
    machine = MACHINES[name]()
    held, values, law = held_setting(machine)
    rows = np.where(held, 0.0, exact_draws(law, N))
    wrong = swept(machine, rows, Conditions(clamp=clamp_at(machine, held, 1 - values)))
    with pytest.raises(AssertionError):
        assert_same_distribution(count_states(np.where(held, values, wrong)), law)
