"""Every rule keeps the contract on every machine that it serves, and is local where it says so."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from lessons import (
    A_MACHINE_EACH,
    KEY,
    PAIRS,
    RULES,
    all_close,
    as_examples,
    begun,
    bytes_of,
    coin_rows,
    picked,
    serves,
    small_stack,
    some_examples,
    updated,
)

import oracles
from boltzflow.errors import InputError
from boltzflow.learning.contract import Examples, Rule, RuleState, Step
from boltzflow.learning.rules.contrastive import statistics_gap
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model
from machines import MACHINES

SERVED = pytest.mark.parametrize(("rule", "machine"), PAIRS, indirect=["machine"])
ONE_EACH = pytest.mark.parametrize(("rule", "machine"), A_MACHINE_EACH, indirect=["machine"])
REFUSED = sorted({(name, kind) for name in RULES for kind in MACHINES} - set(PAIRS))


def shapes(tree: object) -> tuple[object, list[tuple[tuple[int, ...], jnp.dtype]]]:
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]


def check_structure(rule: Rule, model: Model) -> None:
    """In single precision while doubles are on: a number of another type would show."""
    init, begin_epoch, update = (partial(call, key=KEY) for call in (rule.init, rule.begin_epoch, rule.update))
    data = some_examples(model)
    first = jax.eval_shape(init, model, data)
    later = jax.eval_shape(begin_epoch, model, first, data)
    step: Step = jax.eval_shape(update, model, later, data)
    assert shapes(first) == shapes(later) == shapes(step.rule_state)
    assert shapes(step.updates) == shapes(model)
    assert (step.info.value.shape, step.info.value.dtype) == ((), jnp.float32)


@SERVED
def test_state_and_updates_keep_structure_shapes_and_types(rule, machine):
    check_structure(RULES[rule], jax.tree.map(lambda leaf: leaf.astype(jnp.float32), machine))


@pytest.mark.parametrize("rule", [name for name in RULES if serves(RULES[name], small_stack())])
def test_state_and_updates_of_a_stack_keep_structure_shapes_and_types(rule):
    check_structure(RULES[rule], small_stack(jnp.float32))


@ONE_EACH
def test_the_same_key_gives_the_same_bits(rule, machine):
    data = some_examples(machine)
    once, twice = (updated(RULES[rule], machine, begun(RULES[rule], machine, data, KEY), data, KEY) for _ in range(2))
    assert bytes_of(once) == bytes_of(twice)


@pytest.mark.parametrize(
    ("rule", "machine"), [pair for pair in A_MACHINE_EACH if not RULES[pair[0]].convex], indirect=["machine"]
)
def test_another_key_gives_other_draws(rule, machine):
    data, other = some_examples(machine), jax.random.key(4)
    state = begun(RULES[rule], machine, data, KEY)
    once, twice = (updated(RULES[rule], machine, state, data, key) for key in (KEY, other))
    assert bytes_of((state, once)) != bytes_of((begun(RULES[rule], machine, data, other), twice))


@ONE_EACH
def test_rows_that_weigh_nothing_change_nothing(rule, machine):
    data = some_examples(machine)
    twice = picked(data, np.array([0, 1, 2, 3, 4, 5, 0, 3]))
    filled = Examples(twice.visible, twice.ids, twice.rows, twice.weights.at[6:].set(0.0), 6)
    state = begun(RULES[rule], machine, data, KEY)
    with_filling, without = (updated(RULES[rule], machine, state, batch, KEY) for batch in (filled, data))
    all_close((with_filling.updates, with_filling.info), (without.updates, without.info))


@ONE_EACH
def test_random_numbers_belong_to_examples_and_not_to_places_in_a_batch(rule, machine):
    data = some_examples(machine)
    state = begun(RULES[rule], machine, data, KEY)
    in_order, shuffled = (
        updated(RULES[rule], machine, state, picked(data, order), KEY)
        for order in (np.arange(6), np.array([4, 1, 5, 0, 3, 2]))
    )
    all_close((in_order.updates, in_order.info), (shuffled.updates, shuffled.info))


@pytest.mark.parametrize(("rule", "machine"), REFUSED, indirect=["machine"])
def test_a_layout_that_a_rule_cannot_serve_is_refused_in_a_sentence_with_both(rule, machine):
    with pytest.raises(InputError) as refusal:
        RULES[rule].check(machine.layout)
    assert f"rule {RULES[rule].name!r}" in str(refusal.value)
    assert str(machine.layout) in str(refusal.value)


def given(machine: Machine, rows: np.ndarray) -> RuleState:
    """Completions from rows over all units, for rules that have them."""
    hidden = oracles.layers(machine.layout, rows)[1:]
    return tuple(jnp.asarray(layer[:, None], bool) for layer in hidden)


def disturbed(machine: Machine, unit: int) -> Machine:
    """Another bias for one unit, and another number for each of its couplings."""
    own = np.zeros(machine.layout.n_units)
    own[unit] = 1.0
    layout = machine.layout
    ends = [jnp.asarray(part) for part in np.split(own, layout.offsets[1:])]
    touched = tuple(
        wiring.tied_statistics(tuple(end[None] for end in ends), tuple(jnp.ones((1, w)) for w in layout.widths))
        for wiring in layout.wirings
    )
    biases = tuple(bias + 0.3 * end for bias, end in zip(machine.biases, ends, strict=True))
    return Machine(layout, tuple(w + 0.3 * t for w, t in zip(machine.couplings, touched, strict=True)), biases)


def moved(layout: object, before: Machine, after: Machine) -> np.ndarray:
    """Which couplings (i, j) and biases (i, i) have another update."""
    couplings = [np.asarray(a) != np.asarray(b) for a, b in zip(before.couplings, after.couplings, strict=True)]
    biases = [np.asarray(a) != np.asarray(b) for a, b in zip(before.biases, after.biases, strict=True)]
    return (oracles.as_matrix(layout, couplings) + np.diag(np.concatenate(biases))) != 0


def flipped_at(rows: np.ndarray, unit: int) -> np.ndarray:
    rows = rows.copy()
    rows[:, unit] = 1 - rows[:, unit]
    return rows


def heard(machine: Machine, unit: int) -> np.ndarray:
    """Couplings and biases of which one end is the unit or coupled to it."""
    wired = oracles.is_wired(machine.layout) | np.eye(machine.layout.n_units, dtype=bool)
    return wired & (wired[unit][:, None] | wired[unit][None, :])


LOCAL = [
    ("vpf", "deep_2_2_2_lateral"),
    ("vpf", "masked_graph"),
    ("mpf", "visible_graph"),
    ("mpf", "visible_6"),
    ("pseudolikelihood", "visible_graph"),
]


@pytest.mark.parametrize(("rule", "machine"), LOCAL, indirect=["machine"])
def test_a_unit_moves_the_updates_at_itself_and_its_neighbours_and_no_other(rule, machine):
    """Its state in all rows, its bias and its couplings are changed; the completions are held."""
    assert RULES[rule].local
    rows = coin_rows(16, machine.layout.n_units, seed=1)

    def update(model: Machine, states: np.ndarray) -> Machine:
        batch = as_examples(states[:, : machine.layout.n_visible])
        return updated(RULES[rule], model, given(model, states), batch, KEY).updates

    for unit in range(machine.layout.n_units):
        after = update(disturbed(machine, unit), flipped_at(rows, unit))
        np.testing.assert_array_equal(moved(machine.layout, update(machine, rows), after), heard(machine, unit))


def test_with_data_and_chains_held_a_unit_moves_no_contrastive_update_far_from_itself(machine):
    assert {RULES[rule].local for rule in ("cd", "pcd")} == {True}
    data, chains, even = coin_rows(15, machine.layout.n_units), coin_rows(7, machine.layout.n_units, 1), jnp.ones

    def update(model: Machine, rows: np.ndarray, other: np.ndarray) -> Machine:
        states = (oracles.layers(model.layout, part) for part in (rows, other))
        return jax.jit(statistics_gap)(model, next(states), even(15) / 15, next(states), even(7) / 7)

    for unit in range(machine.layout.n_units):
        after = update(disturbed(machine, unit), flipped_at(data, unit), flipped_at(chains, unit))
        found = moved(machine.layout, update(machine, data, chains), after)
        assert found[unit, unit]
        assert not (found & ~heard(machine, unit)).any()


@pytest.mark.parametrize(("rule", "machine"), [pair for pair in PAIRS if RULES[pair[0]].convex], indirect=["machine"])
def test_a_convex_rule_descends_a_convex_function(rule, machine):
    """Its updates have a symmetric Jacobian, so they are a gradient, without negative eigenvalues."""
    flat, unflatten = ravel_pytree(machine)
    data = some_examples(machine)

    def update(theta: jax.Array) -> jax.Array:
        return ravel_pytree(RULES[rule].update(unflatten(theta), (), data, key=KEY).updates)[0]

    jacobian = jax.jit(jax.jacobian(update))(flat)
    oracles.close(jacobian, jacobian.T)
    assert np.linalg.eigvalsh(jacobian).min() > -1e-12
