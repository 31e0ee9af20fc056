"""The training loop: the same seed gives the same bytes, however it is watched, cut or interrupted."""

from collections.abc import Callable
from itertools import chain, repeat

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from lessons import all_close, bytes_of, coin_rows

import boltzflow as bf
from boltzflow.errors import InputError
from boltzflow.flow import probability_flow
from boltzflow.learning.loop import Run, epochs
from boltzflow.learning.rules import CD, make_rule
from boltzflow.learning.settings import make_settings
from boltzflow.learning.task import make_task
from boltzflow.machine.machine import Machine
from machines import MACHINES

SMALL = {"epochs": 4, "batch_size": 5, "learning_rate": 0.05, "seed": 3}
TRAINED = {
    "vpf": ("vpf", "rbm_3_2", {}),
    "vpf per batch": ("vpf", "rbm_3_2", {"e_step": "batch"}),
    "cd": ("cd-2", "rbm_3_2", {}),
    "pcd": ("pcd", "rbm_3_2", {"n_chains": 4}),
    "mpf": ("mpf", "visible_graph", {}),
}


@pytest.fixture(params=TRAINED)
def trained(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """A short run of a rule, with whatever else is asked for."""
    rule, name, options = TRAINED[request.param]
    machine = MACHINES[name]()
    rows = coin_rows(23, machine.layout.n_visible)

    def run(**more: object) -> Run:
        return bf.train(machine, rows, rule=rule, rule_options=options, **{**SMALL, **more})

    return run


def mpf_run(rows: np.ndarray | None = None, **more: object) -> Run:
    rows = coin_rows(23, 6) if rows is None else rows
    return bf.train(MACHINES["visible_graph"](), rows, rule="mpf", **{**SMALL, **more})


def values_of(run: Run) -> list[float]:
    return [record.value for record in run.history]


def test_the_same_seed_gives_the_same_bytes_whoever_watches(trained):
    seen = []
    alone = trained()
    watched = trained(callbacks=[lambda record, state: seen.append(record)], monitor=lambda model: 0.0)
    assert bytes_of(alone.state) == bytes_of(watched.state)
    assert values_of(alone) == values_of(watched)
    assert [record.epoch for record in seen] == [1, 2, 3, 4]


def test_another_seed_gives_another_machine(trained):
    assert bytes_of(trained().model) != bytes_of(trained(seed=4).model)


@pytest.mark.parametrize("case", TRAINED)
def test_going_on_half_way_gives_the_bytes_of_one_whole_run(case):
    rule, name, options = TRAINED[case]
    machine, states = MACHINES[name](), []
    rows = coin_rows(23, machine.layout.n_visible)
    task = make_task(machine, rows, make_rule(rule, **options), make_settings(SMALL))
    whole = bf.train(machine, rows, rule=task.rule, callbacks=[lambda record, state: states.append(state)], **SMALL)
    later = list(epochs(task, states[1]))
    assert [record.epoch for record, _ in later] == [3, 4]
    assert bytes_of(later[-1][1]) == bytes_of(whole.state)


def test_chunks_change_nothing_but_rounding():
    """Completions are drawn from the machine as it was when the epoch began, whichever chunk an example is in."""
    machine, rows = MACHINES["rbm_3_2"](), coin_rows(23, 3)
    fast = {**SMALL, "learning_rate": 1.0}
    whole, cut = (bf.train(machine, rows, rule="vpf", chunk_rows=n_rows, **fast) for n_rows in (None, 10))
    all_close((cut.model, values_of(cut)), (whole.model, values_of(whole)))


def test_each_epoch_draws_completions_of_its_own():
    """Of a machine that stands still."""
    machine, drawn = MACHINES["rbm_3_2"](), []
    keep = [lambda record, state: drawn.append(bytes_of(state.rule_state)[0])]
    still = {**SMALL, "learning_rate": 1e-300, "optimiser": "sgd", "decay": 0, "shuffle": False}
    bf.train(machine, coin_rows(23, 3), rule="vpf", callbacks=keep, **still)
    assert len(set(drawn)) == 4


def test_training_leaves_the_machine_and_the_data_of_the_user_alone():
    machine, rows = MACHINES["visible_6"](), coin_rows(23, 6)
    bf.train(machine, rows, rule="mpf", **SMALL)
    assert bytes_of(machine) == bytes_of(MACHINES["visible_6"]())
    np.testing.assert_array_equal(rows, coin_rows(23, 6))


def test_the_value_of_an_epoch_is_the_mean_of_its_steps_objectives():
    """With a rate of next to nothing, so that the machine stays where it is."""
    machine, rows = MACHINES["visible_graph"](), coin_rows(23, 6)
    flows = np.asarray(probability_flow(machine, (jnp.asarray(rows),)))
    expected = np.mean([flows[first : first + 5].mean() for first in range(0, 23, 5)])
    run = mpf_run(rows, shuffle=False, learning_rate=1e-30, optimiser="sgd")
    np.testing.assert_allclose(values_of(run), expected, rtol=1e-10)


def test_a_run_tells_what_was_done():
    run = mpf_run()
    assert [(record.epoch, record.epochs, record.monitor) for record in run.history] == [
        (k, 4, None) for k in (1, 2, 3, 4)
    ]
    assert run.notes == ("binary data, used as they are", "all epochs were run")
    assert (run.rule.name, run.settings.epochs, int(run.state.epoch)) == ("mpf", 4, 4)
    assert repr(run).startswith("Run(mpf, 4 epochs, probability flow ")


@pytest.mark.parametrize("trained", ["vpf", "mpf"], indirect=True)
def test_learning_lowers_the_objective(trained):
    values = values_of(trained())
    assert values[-1] < values[0]


def models_of(monitor: list[float], **more: object) -> tuple[Run, list[Machine]]:
    """A run whose monitor says what it is told to and then stands still, and its model after each epoch."""
    models, said = [], chain(monitor, repeat(9.0))
    keep = [lambda record, state: models.append(state.model)]
    return mpf_run(epochs=8, monitor=lambda model: next(said), callbacks=keep, **more), models


STOPPED = "stopped after epoch {}: the monitor had not fallen for {} epochs"
PATIENCE = {
    "falls to the end": ([8, 7, 6, 5, 4, 3, 2, 1], 1, 8, 8),
    "stands still": ([3, 2, 2, 2, 1], 2, 2, 4),
    "waits long enough": ([3, 2, 2, 1, 1, 1, 0], 2, 4, 6),
    "is not a number for once": ([3, np.nan, 2, 1, 1, 1], 2, 4, 6),
}


@pytest.mark.parametrize(("monitor", "patience", "best", "last"), PATIENCE.values(), ids=PATIENCE)
def test_patience_keeps_the_model_at_which_the_monitor_was_lowest(monitor, patience, best, last):
    run, models = models_of(monitor, patience=patience)
    assert len(run.history) == last
    assert bytes_of(run.model) == bytes_of(models[best - 1])
    assert bytes_of(run.state.model) == bytes_of(models[-1])
    assert run.notes[-1] == ("all epochs were run" if last == 8 else STOPPED.format(last, patience))


def test_without_patience_the_last_model_is_kept_whatever_the_monitor_says():
    run, models = models_of([1, 2, 3])
    assert bytes_of(run.model) == bytes_of(models[-1])
    assert [record.monitor for record in run.history] == [1, 2, 3, 9, 9, 9, 9, 9]


def test_a_callback_that_returns_true_ends_the_run():
    run = mpf_run(callbacks=[lambda record, state: record.epoch == 2, lambda record, state: None])
    assert len(run.history) == 2
    assert run.notes[-1] == "stopped by a callback after epoch 2"


def finite(run: Run) -> bool:
    return bool(np.isfinite(ravel_pytree(run.model)[0]).all() and np.isfinite(values_of(run)).all())


def test_one_row_can_be_learned_from_and_is_said_to_be_little():
    run = mpf_run(coin_rows(1, 6))
    assert finite(run)
    assert "expected many rows, got one" in run.notes[1]


def test_columns_that_never_change_are_said_to_be_so_and_stay_finite():
    rows = coin_rows(23, 6)
    rows[:, [2, 4]] = [0, 1]
    run = mpf_run(rows)
    assert finite(run)
    assert "2 of 6 columns never change (the first is column 2, always 0)" in run.notes[1]


def test_grey_values_are_binarised_as_asked_and_the_run_says_how():
    grey = np.random.default_rng(0).uniform(size=(23, 6))
    cut, drawn = (mpf_run(grey, binarise=binarise) for binarise in (0.3, "draw"))
    assert bytes_of(cut.model) == bytes_of(mpf_run(grey > 0.3).model)
    assert "a bit is lit where its value is above 0.3" in cut.notes[0]
    assert "each epoch draws fresh bits with these probabilities" in drawn.notes[0]


REFUSED = {
    "patience without a monitor": ({"patience": 2}, "patience stops a run by its monitor; give monitor="),
    "no patience at all": ({"patience": 0}, "patience must be a whole number, 1 or more; got 0"),
    "options for a rule": ({"rule": CD(), "rule_options": {"steps": 2}}, "go with the name of a rule"),
    "L-BFGS for sampled gradients": ({"rule": "cd", "optimiser": "lbfgs"}, "one convex objective"),
    "a rule by number": ({"rule": 5}, "got 5"),
    "a rule not yet made": ({"rule": CD}, "got <class"),
}


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_run_that_means_nothing_is_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        bf.train(MACHINES["visible_graph"](), coin_rows(23, 6), **{"rule": "mpf", **SMALL, **options})


def test_the_leaves_of_a_trained_machine_have_its_type(trained):
    assert {leaf.dtype for leaf in jax.tree.leaves(trained().model)} == {jnp.dtype(jnp.float64)}
