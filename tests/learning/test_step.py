"""A compiled chunk is nothing but steps one after the other, and a step nothing but update and optimiser."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from lessons import KEY, all_close, begun, picked, some_examples, updated

from boltzflow.learning.contract import Rule
from boltzflow.learning.rules import MPF, PCD, VPF
from boltzflow.learning.step import TrainState, begin_descent, descend, learn_chunk, split_batches
from boltzflow.machine.machine import Machine
from machines import MACHINES


def plain_loop(rule: Rule, machine: Machine, rate: float) -> tuple[Machine, object, list[float]]:
    """Gradient descent over batches of two rows, by hand."""
    data = some_examples(machine)
    state, values = begun(rule, machine, data, KEY), []
    for first in (0, 2, 4):
        updates, state, info = updated(rule, machine, state, picked(data, np.arange(first, first + 2)), KEY)
        machine = jax.tree.map(lambda weight, update: weight - rate * update, machine, updates)
        values.append(float(info.value))
    return machine, state, values


@pytest.mark.parametrize(
    ("rule", "machine"),
    [(VPF(), "rbm_3_2"), (PCD(n_chains=3), "rbm_3_2"), (MPF(), "visible_graph")],
    indirect=["machine"],
)
def test_a_compiled_chunk_is_a_plain_loop_over_its_batches(rule, machine):
    data, optimiser = some_examples(machine), optax.with_extra_args_support(optax.sgd(0.1))
    before = TrainState(
        machine, begin_descent(optimiser, machine), begun(rule, machine, data, KEY), jnp.zeros((), jnp.int32), KEY
    )
    after, values = learn_chunk(rule, optimiser, 2, before, data, KEY)
    all_close((after.model, after.rule_state, list(values)), plain_loop(rule, machine, 0.1))


def test_batches_are_cut_in_the_order_of_the_rows():
    data = some_examples(MACHINES["rbm_3_2"]())
    batches = split_batches(data, 2)
    assert batches.ids.tolist() == [[0, 1], [2, 3], [4, 5]]
    np.testing.assert_array_equal(batches.visible.reshape(6, 3), data.visible)


def test_a_step_keeps_the_type_of_the_machine_while_doubles_are_on():
    machine = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), MACHINES["rbm_3_2"]())
    optimiser = optax.with_extra_args_support(optax.adam(lambda step: 0.1 / (1 + step)))
    first = begin_descent(optimiser, machine)
    moved, later = jax.jit(lambda: descend(optimiser, machine, first, machine))()
    assert {leaf.dtype for leaf in jax.tree.leaves(moved)} == {jnp.dtype(jnp.float32)}
    assert [leaf.dtype for leaf in jax.tree.leaves(later)] == [leaf.dtype for leaf in jax.tree.leaves(first)]


def test_the_first_state_of_an_optimiser_has_the_types_of_all_later_ones():
    machine = MACHINES["visible_6"]()
    optimiser = optax.lbfgs()
    leaves = jax.tree.leaves(begin_descent(optimiser, machine))
    assert all(isinstance(leaf, jax.Array) and not leaf.weak_type for leaf in leaves)
