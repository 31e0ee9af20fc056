"""The choices of a run: rates, optimisers and decay do what they are called, and nonsense is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from lessons import all_close, coin_rows

import boltzflow as bf
from boltzflow.errors import InputError
from boltzflow.learning.loop import Run
from boltzflow.learning.settings import Settings, learning_rates, make_optimiser, make_settings
from boltzflow.learning.step import begin_descent, descend
from boltzflow.machine.machine import Machine
from machines import MACHINES

ROWS = coin_rows(23, 6)


def trained(machine: Machine, rows: np.ndarray = ROWS, **settings: object) -> Run:
    return bf.train(machine, rows, rule="mpf", **{"epochs": 2, "batch_size": 10, **settings})


RATES = {
    "linear": lambda share: 1 - share,
    "constant": lambda share: 1.0,
    "cosine": lambda share: (1 + np.cos(np.pi * share)) / 2,
}


@pytest.mark.parametrize("schedule", RATES)
def test_the_rate_at_each_step_is_that_of_its_schedule(schedule):
    rates = learning_rates(Settings(learning_rate=0.3, schedule=schedule), 8)
    found = [float(jnp.asarray(rates(step))) for step in range(9)]
    np.testing.assert_allclose(found, [0.3 * RATES[schedule](step / 8) for step in range(9)], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_rate_at_the_end_of_each_epoch_is_told(schedule):
    run = trained(MACHINES["visible_graph"](), epochs=4, learning_rate=0.3, schedule=schedule)
    expected = [0.3 * RATES[schedule](epoch / 4) for epoch in range(1, 5)]
    np.testing.assert_allclose([record.learning_rate for record in run.history], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("optimiser", ["lbfgs", optax.sgd(0.1)])
def test_no_rate_is_told_where_it_is_not_the_settings_own(optimiser):
    run = trained(MACHINES["visible_graph"](), optimiser=optimiser)
    assert [record.learning_rate for record in run.history] == [None, None]


SAME = {"sgd": optax.sgd(0.1), "momentum": optax.sgd(0.1, momentum=0.9), "adam": optax.adam(0.1)}


@pytest.mark.parametrize("name", SAME)
def test_a_transformation_of_optax_does_what_the_optimiser_of_its_name_does(name):
    machine = MACHINES["visible_graph"]()
    named = trained(machine, optimiser=name, learning_rate=0.1, schedule="constant")
    all_close(trained(machine, optimiser=SAME[name]).model, named.model)


def decayed(machine: Machine) -> Machine:
    """A step of gradient descent where the rule has no gradient."""
    stepper = make_optimiser(Settings(optimiser=optax.sgd(0.1), decay=0.5), 1)
    return descend(stepper, jax.tree.map(jnp.zeros_like, machine), begin_descent(stepper, machine), machine)[0]


def test_decay_pulls_all_couplings_and_no_bias(machine):
    all_close(decayed(machine).biases, machine.biases)
    all_close(decayed(machine).couplings, tuple(0.95 * weights for weights in machine.couplings))


def test_decay_adds_its_multiple_of_each_coupling_to_the_gradient():
    machine = MACHINES["visible_graph"]()
    settings = {"optimiser": "sgd", "learning_rate": 0.1, "schedule": "constant", "epochs": 1, "batch_size": 23}
    free, pulled = (trained(machine, **settings, decay=decay).model for decay in (0, 0.3))
    all_close(pulled.biases, free.biases)
    all_close(pulled.couplings[0], free.couplings[0] - 0.1 * 0.3 * machine.couplings[0])


REFUSED = {
    "a setting misspelt": ({"learning_rat": 0.1}, r"unknown setting 'learning_rat': did you mean 'learning_rate'\?"),
    "another spelling": ({"optimizer": "adam"}, r"unknown setting 'optimizer': did you mean 'optimiser'\?"),
    "an optimiser misspelt": ({"optimiser": "adan"}, r"unknown optimiser 'adan': did you mean 'adam'\?"),
    "a schedule misspelt": ({"schedule": "cosin"}, r"unknown schedule 'cosin': did you mean 'cosine'\?"),
    "a start misspelt": ({"bias_start": "logodds"}, r"unknown bias_start 'logodds': did you mean 'log-odds'\?"),
    "an optimiser by number": ({"optimiser": 3}, r"optimiser is one of adam, .* or an optax transformation; got 3"),
    "a transformation not yet made": ({"optimiser": optax.adam}, r"or an optax transformation; got <function adam"),
    "bits drawn for L-BFGS": ({"optimiser": "lbfgs", "binarise": "draw"}, r"same bits .* use optimiser='adam'"),
    "a way to binarise": ({"binarise": "threshold"}, r"binarise is a threshold, .* or 'draw' or None; got 'threshold'"),
    "a threshold": ({"binarise": 1.5}, r"binarise is a threshold, at least 0 and below 1, .*; got 1.5"),
    "a seed below zero": ({"seed": -1}, r"seed must be a whole number from 0 to 2..32 − 1; got -1"),
    "negative decay": ({"decay": -0.1}, r"decay must be a number at least 0; got -0.1"),
}


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_setting_that_means_nothing_is_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        make_settings(options)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", np.nan])
@pytest.mark.parametrize("name", ["epochs", "batch_size", "chunk_rows"])
def test_what_is_counted_is_a_whole_number_and_at_least_one(name, value):
    with pytest.raises(InputError, match=f"{name} must be a whole number, 1 or more; got {value!r}"):
        make_settings({name: value})


@pytest.mark.parametrize("value", [0, -0.1, np.inf, np.nan, "0.1", None, True])
@pytest.mark.parametrize("name", ["learning_rate", "tolerance"])
def test_rates_and_tolerances_are_finite_and_above_zero(name, value):
    with pytest.raises(InputError, match=f"{name} must be a number above 0; got {value!r}"):
        make_settings({name: value})
