"""L-BFGS finds the minimum of a convex rule from its own updates, and says whether it has."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from lessons import KEY, all_close, as_examples, coin_rows, some_examples

import boltzflow as bf
import oracles
from boltzflow.flow import probability_flow
from boltzflow.learning.contract import Examples
from boltzflow.learning.loop import Run
from boltzflow.learning.optimum import decayed_objective, learn_whole, squared_couplings, steepest
from boltzflow.learning.rules import make_rule
from boltzflow.learning.rules.pseudolikelihood import negative_log_pseudolikelihood
from boltzflow.learning.settings import Settings, make_optimiser
from boltzflow.learning.step import TrainState, begin_descent
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.machine import Machine
from machines import MACHINES

LOSSES = {"mpf": probability_flow, "pseudolikelihood": negative_log_pseudolikelihood}
BOTH = pytest.mark.parametrize("rule", LOSSES)
KINDS = [("mpf", "visible_6"), ("pseudolikelihood", "visible_graph")]


def plain_objective(rule: str, decay: float, machine: Machine, data: Examples) -> jax.Array:
    """Σ_rows weight · loss + ½ decay Σ w²."""
    mean = data.weights @ LOSSES[rule](machine, (data.visible.astype(machine.dtype),))
    return mean + 0.5 * decay * sum(jnp.sum(w**2) for w in machine.couplings)


def solved(rule: str, machine: Machine, rows: np.ndarray, **more: object) -> Run:
    settings = {"epochs": 500, "decay": 0.05, "tolerance": 1e-7, "bias_start": "keep", **more}
    return bf.train(machine, rows, rule=rule, optimiser="lbfgs", **settings)


def state_of(machine: Machine, decay: float) -> TrainState:
    optimiser = make_optimiser(Settings(optimiser="lbfgs", decay=decay), 1)
    return TrainState(machine, begin_descent(optimiser, machine), (), jnp.zeros((), jnp.int32), KEY)


@pytest.mark.parametrize(("rule", "machine"), KINDS, indirect=["machine"])
def test_the_optimum_is_where_newtons_method_finds_it(rule, machine):
    rows = coin_rows(40, 6)
    run = solved(rule, machine, rows)
    expected = oracles.minimise(lambda model: plain_objective(rule, 0.05, model, as_examples(rows)), machine)
    np.testing.assert_allclose(ravel_pytree(run.model)[0], ravel_pytree(expected)[0], atol=1e-5)


@BOTH
def test_at_the_optimum_no_component_of_the_gradient_is_above_the_tolerance(rule):
    machine, rows = MACHINES["visible_graph"](), coin_rows(40, 6)
    run = solved(rule, machine, rows)
    gradient = jax.jit(jax.grad(plain_objective, 2), static_argnums=0)(rule, 0.05, run.model, as_examples(rows))
    slope = np.abs(ravel_pytree(gradient)[0]).max()
    assert slope <= 1e-7
    np.testing.assert_allclose(steepest(run.state), slope, atol=1e-12)
    assert run.notes[-1].startswith(f"the optimum was reached after {len(run.history)} iterations")
    assert len(run.history) < 500


def test_the_values_of_a_run_fall_and_are_the_rules_objective_without_decay():
    machine, rows = MACHINES["visible_graph"](), coin_rows(40, 6)
    run = solved("mpf", machine, rows)
    values = [record.value for record in run.history]
    oracles.close(values[0], np.mean(np.asarray(probability_flow(machine, (jnp.asarray(rows),)))))
    assert values[-1] < values[0]


def test_a_run_that_stops_early_says_so():
    run = solved("mpf", MACHINES["visible_graph"](), coin_rows(40, 6), epochs=2)
    assert run.notes[-1].startswith("not yet at the optimum: after all 2 iterations the gradient is ")
    assert run.notes[-1].endswith("tolerance is 1e-07; raise epochs, or tolerance where the gradient no longer falls")


def test_a_run_that_starts_at_the_optimum_stays_there():
    rows = coin_rows(40, 6)
    first = solved("mpf", MACHINES["visible_graph"](), rows)
    again = solved("mpf", first.model, rows)
    assert len(again.history) == 1
    np.testing.assert_allclose(ravel_pytree(again.model)[0], ravel_pytree(first.model)[0], atol=1e-6)


def test_a_machine_at_rest_on_balanced_data_has_no_gradient_and_stays():
    machine = zero_machine(MACHINES["two_coupled"]().layout, dtype=jnp.float64)
    run = solved("mpf", machine, np.array([*product([0, 1], repeat=2)]))
    np.testing.assert_array_equal(ravel_pytree(run.model)[0], 0.0)


def weighted_optimum(rule: str, start: Machine, law: np.ndarray) -> Machine:
    """Where L-BFGS comes to from every state weighted by its probability, without decay."""
    state, optimiser = state_of(start, 0.0), make_optimiser(Settings(optimiser="lbfgs", decay=0.0), 1)
    data = as_examples(oracles.bits(start.layout.n_units), law)
    for _ in range(200):
        state, _ = learn_whole(make_rule(rule), optimiser, 0.0, state, data, KEY)
        if steepest(state) < 1e-10:
            return state.model
    raise AssertionError(f"the gradient is still {steepest(state):.1e}")


@pytest.mark.parametrize(("rule", "machine"), KINDS, indirect=["machine"])
def test_a_machine_is_recovered_from_its_exact_law(rule, machine):
    found = weighted_optimum(rule, zero_machine(machine.layout, dtype=machine.dtype), oracles.law(machine))
    np.testing.assert_allclose(oracles.couplings(found), oracles.couplings(machine), atol=1e-7)
    np.testing.assert_allclose(oracles.biases(found), oracles.biases(machine), atol=1e-7)


def test_a_machine_is_recovered_from_rows_as_frequent_as_its_law_says():
    """Parameters that are multiples of log 2 make every probability a whole number of rows."""
    layout = MACHINES["visible_graph"]().layout
    random = np.random.default_rng(1)
    couplings, biases = (np.log(2) * random.integers(-1, 2, n) for n in (layout.n_couplings, layout.n_units))
    machine = Machine(layout, (jnp.asarray(couplings),), (jnp.asarray(biases),))
    energies = oracles.energies(machine)
    counts = np.rint(np.exp(energies.max() - energies)).astype(int)
    rows = np.repeat(oracles.bits(6), counts, axis=0)
    run = solved("mpf", zero_machine(layout, dtype=jnp.float64), rows, decay=0.0, tolerance=1e-9)
    np.testing.assert_allclose(ravel_pytree(run.model)[0], ravel_pytree(machine)[0], atol=1e-6)


@pytest.mark.parametrize(("rule", "machine"), KINDS, indirect=["machine"])
def test_the_decayed_objective_has_the_value_and_the_derivative_of_the_plain_formula(rule, machine):
    data = some_examples(machine)
    objective = decayed_objective(make_rule(rule), 0.3, state_of(machine, 0.3), data, KEY)
    found = jax.jit(jax.value_and_grad(lambda model: -2.5 * objective(model)))(machine)
    expected = jax.jit(jax.value_and_grad(lambda model: -2.5 * plain_objective(rule, 0.3, model, data)))(machine)
    all_close(found, expected)


def test_squared_couplings_are_summed_over_all_wirings(machine):
    oracles.close(squared_couplings(machine), (oracles.couplings(machine) ** 2).sum() / 2)
