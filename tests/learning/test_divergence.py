"""A run that leaves the range of its numbers is stopped, and the message names rule, unit, layer and epoch."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree
from lessons import coin_rows

import boltzflow as bf
from boltzflow.errors import DivergenceError
from boltzflow.learning.divergence import all_finite, steepest_unit
from boltzflow.learning.loop import Run
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.machine import Machine
from machines import MACHINES

SMALL = {"epochs": 3, "batch_size": 5, "learning_rate": 1e6}


def single(name: str) -> Machine:
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), MACHINES[name]())


def run_of(rule: str, name: str, **more: object) -> Run:
    machine = single(name)
    return bf.train(machine, coin_rows(20, machine.layout.n_visible), rule=rule, **{**SMALL, **more})


@pytest.mark.parametrize(
    ("rule", "name", "optimiser"),
    [("vpf", "rbm_3_2", "sgd"), ("mpf", "visible_6", "adam")],
)
def test_a_rate_of_a_million_is_refused_with_unit_layer_and_epoch(rule, name, optimiser):
    sentence = (
        rf"training by {rule} diverged in epoch 1, step 2: the gradient of unit \d of layer \d \((visible|hidden)\) "
    )
    with pytest.raises(DivergenceError, match=sentence + r"reached inf with learning_rate=1e\+06; lower learning_rate"):
        run_of(rule, name, optimiser=optimiser)


@pytest.mark.parametrize(("rule", "name"), [("cd", "rbm_3_2"), ("pseudolikelihood", "visible_6")])
def test_rules_with_bounded_gradients_stay_finite_at_a_rate_of_a_million(rule, name):
    run = run_of(rule, name)
    assert np.isfinite(ravel_pytree(run.model)[0]).all()
    assert np.isfinite([record.value for record in run.history]).all()


def test_they_are_refused_where_their_parameters_overflow():
    with pytest.raises(
        DivergenceError, match=r"by pseudolikelihood diverged in epoch 1, step \d: .* lower learning_rate"
    ):
        run_of("pseudolikelihood", "visible_6", learning_rate=1e38)


def test_a_unit_with_a_name_is_called_by_it_and_a_rate_that_is_not_the_settings_own_is_not_blamed():
    machine = bf.graph([("left", "right")], dtype=jnp.float32)
    with pytest.raises(DivergenceError, match=r"unit \d \('(left|right)'\) of layer 0 .* reached inf; lower"):
        bf.train(machine, coin_rows(20, 2), rule="mpf", optimiser=optax.sgd(1e6), **SMALL)


def biased(bias: float) -> Machine:
    machine = single("visible_graph")
    return Machine(machine.layout, machine.couplings, (machine.biases[0].at[3].set(bias),))


def test_l_bfgs_names_the_unit_whose_rate_overflows_where_it_starts():
    with pytest.raises(DivergenceError, match=r"by mpf diverged in epoch 1, step 1: the gradient of unit 3 of layer 0"):
        bf.train(biased(400.0), np.zeros((4, 6)), rule="mpf", optimiser="lbfgs", epochs=3)


def rates_of_steps(until: int, rate: float) -> optax.GradientTransformation:
    """Nothing happens before a step; from then on its rate is far too high."""
    return optax.sgd(lambda step: jnp.where(step < until, 0.0, rate))


@pytest.mark.parametrize("chunk_rows", [None, 10])
def test_the_step_is_counted_from_the_begin_of_the_epoch_however_the_data_are_cut(chunk_rows):
    """The third step goes too far, so the gradient of the fourth is infinite."""
    with pytest.raises(DivergenceError, match="diverged in epoch 1, step 4:"):
        run_of("mpf", "visible_6", optimiser=rates_of_steps(2, 1e6), chunk_rows=chunk_rows)


def test_the_epoch_is_that_in_which_it_happened():
    with pytest.raises(DivergenceError, match="diverged in epoch 2, step 1:"):
        run_of("mpf", "visible_6", optimiser=rates_of_steps(3, 1e6))


def test_a_coupling_that_overflows_is_named_by_one_of_its_ends():
    """Though the bias of another unit moves further."""
    machine = zero_machine(MACHINES["rbm_3_2"]().layout)
    biases = (jnp.full(3, -20.0, jnp.float32), machine.biases[1])
    machine = Machine(machine.layout, (machine.couplings[0].at[1, 2].set(1.0),), biases)
    options = {"optimiser": "sgd", "learning_rate": 1e3, "decay": 1e38, "epochs": 1}
    with pytest.raises(DivergenceError, match=r"epoch 1, step 1: .* unit (2 of layer 0|1 of layer 1) "):
        bf.train(machine, np.tile([1.0, 0.0, 0.0], (20, 1)), rule="cd", **options)


def with_biases(*biases: list[float]) -> Machine:
    updates = zero_machine(MACHINES["rbm_3_2"]().layout)
    return Machine(updates.layout, updates.couplings, tuple(jnp.array(bias) for bias in biases))


def test_the_steepest_unit_has_the_largest_bias_gradient_and_what_is_not_a_number_counts_as_infinite():
    steep = with_biases([1.0, -5.0, 2.0], [3.0, 0.0])
    assert steepest_unit(steep) == ("unit 1 of layer 0 (visible)", 5.0)
    assert steepest_unit(with_biases([1.0, -5.0, 2.0], [0.0, np.nan])) == ("unit 1 of layer 1 (hidden)", np.inf)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -jnp.inf])
def test_one_number_that_is_not_finite_is_found_among_many(bad):
    many = {"states": jnp.zeros(5), "count": jnp.zeros((), jnp.int32), "weights": jnp.ones((3, 3))}
    assert all_finite(many)
    assert not all_finite({**many, "weights": many["weights"].at[1, 2].set(bad)})
