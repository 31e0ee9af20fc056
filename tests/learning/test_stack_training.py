"""Deep models in the training loop: a stack is its pairs trained each on its own, and keeps all that a machine is promised."""

import re
from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import PyTree
from lessons import all_close, bytes_of, coin_rows, small_stack

import boltzflow as bf
import oracles
from boltzflow.errors import DivergenceError, InputError
from boltzflow.flow import flow_gradient, probability_flow
from boltzflow.learning.completions import Order, complete_stack
from boltzflow.learning.contract import Examples
from boltzflow.learning.divergence import steepest_unit
from boltzflow.learning.loop import Run, epochs
from boltzflow.learning.rules import VPF, make_rule
from boltzflow.learning.settings import make_optimiser, make_settings
from boltzflow.learning.start import QUIET, log_odds, set_biases
from boltzflow.learning.step import TrainState, begin_descent, descend
from boltzflow.learning.task import Task, chunks, make_task
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack, as_stack, parts
from boltzflow.machine.wiring import States
from boltzflow.sampling.uniforms import Purpose, Stream, stream
from chance import count_states
from deep_oracles import types_unchecked
from machines import MACHINES

SETTINGS = {"epochs": 12, "batch_size": 10, "learning_rate": 0.2, "decay": 0.0, "seed": 3}


def noisy_pairs() -> np.ndarray:
    """Two pixels that are nearly always equal."""
    draw = np.random.default_rng(0)
    rows = np.repeat(draw.integers(0, 2, (200, 1)), 2, axis=1)
    return np.where(draw.random(rows.shape) < 0.05, 1 - rows, rows).astype(float)


ROWS = noisy_pairs()
BUILT = {
    "stack": lambda: bf.stack(2, 2, 2, dtype=jnp.float64),
    "coupled stack": lambda: bf.stack(2, 2, 2, lateral=True, dtype=jnp.float64),
    "coupled joint": lambda: bf.deep(2, 2, 2, lateral=True, dtype=jnp.float64),
    "coupled layer": lambda: bf.deep(2, 3, lateral=True, dtype=jnp.float64),
}
DEEP = {
    "coupled stack": ("coupled stack", "vpf", {}),
    "coupled stack, authors' order": ("coupled stack", "vpf", {"order": "authors"}),
    "stack per batch": ("stack", "vpf", {"e_step": "batch", "completions": 2}),
    "joint, fed forward": ("coupled joint", "vpf", {"temperature": 0.5}),
    "joint by gibbs, carried": ("coupled joint", "vpf", {"method": "gibbs", "carry": True}),
    "joint by mean field": ("coupled joint", "vpf", {"method": "mean-field", "sweeps": 5}),
    "joint by pcd": ("coupled joint", "pcd", {"n_chains": 50}),
    "one coupled layer by cd": ("coupled layer", "cd-5", {}),
}
EACH = pytest.mark.parametrize("name", DEEP)


def run_of(name: str, **settings: object) -> Run:
    built, rule, options = DEEP[name]
    return bf.train(BUILT[built](), ROWS, rule=rule, rule_options=options, **{**SETTINGS, **settings})


@cache
def finished(name: str) -> tuple[Run, list[TrainState]]:
    """A whole run, and its state after each epoch."""
    states = []
    return run_of(name, callbacks=[lambda record, state: states.append(state)]), states


def task_of(name: str) -> Task:
    built, rule, options = DEEP[name]
    return make_task(BUILT[built](), ROWS, make_rule(rule, **options), make_settings(SETTINGS))


def values_of(run: Run) -> list[float]:
    return [record.value for record in run.history]


# A stack is its pairs, each a machine of its own.


@partial(jax.jit, static_argnums=3)
def complete_pairs(of: Stack, visible: jax.Array, draws: Stream, order: Order) -> tuple[States, ...]:
    return complete_stack(of, visible, draws, order=order)


@partial(jax.jit, static_argnums=0)
def adam_step(
    adam: optax.GradientTransformationExtraArgs, pair: Machine, state: PyTree, states: States, weights: jax.Array
) -> tuple[tuple[Machine, PyTree], jax.Array]:
    """One pair a step further by an Adam of its own, and the flow it descends."""
    flow = jnp.dot(weights, probability_flow(pair, states))
    return descend(adam, flow_gradient(pair, states, weights), state, pair), flow


def trained_apart(name: str) -> tuple[list[Machine], list[float]]:
    """Each pair on its own on the same completions and batches, and the mean sum of their flows in each epoch."""
    task = task_of(name)
    pairs, values = list(set_biases(BUILT[DEEP[name][0]](), task.data.values, "auto").pairs), []
    adams = [begin_descent(task.optimiser, pair) for pair in pairs]
    for epoch in range(1, task.epochs + 1):
        key, flows = jax.random.fold_in(jax.random.key(SETTINGS["seed"]), epoch), []
        rows = next(chunks(task, key))
        draws = stream(key, Purpose.COMPLETE, rows.ids).fold(0)
        completed = complete_pairs(Stack(tuple(pairs)), rows.visible.astype(float), draws, task.rule.order)
        for batch in np.arange(len(rows.ids)).reshape(-1, task.batch_size):
            for k, states in enumerate(completed):
                own = tuple(layer[batch] for layer in states)
                (pairs[k], adams[k]), flow = adam_step(task.optimiser, pairs[k], adams[k], own, rows.weights[batch])
                flows.append(float(flow))
        values.append(np.mean(flows) * len(pairs))
    return pairs, values


@pytest.mark.parametrize("name", ["coupled stack", "coupled stack, authors' order"])
def test_a_trained_stack_is_its_pairs_trained_each_on_its_own(name):
    """The value of an epoch is the sum of the flows of all pairs."""
    pairs, values = trained_apart(name)
    run, _ = finished(name)
    all_close((run.model.pairs, values_of(run)), (tuple(pairs), values))


def test_what_a_pair_learns_from_is_the_swept_layer_below_or_in_the_authors_order_the_drawn_one():
    """The lowest pair learns the same in both orders, the one above it does not."""
    one, other = (finished(name)[0].model.pairs for name in ("coupled stack", "coupled stack, authors' order"))
    assert bytes_of(one[0]) == bytes_of(other[0])
    assert bytes_of(one[1]) != bytes_of(other[1])


@pytest.mark.parametrize("moved", [0, 1])
def test_given_the_completions_the_update_of_a_pair_depends_on_no_other_pair(moved):
    of, rows = small_stack(), next(chunks(task_of("coupled stack"), jax.random.key(0)))
    kept = tuple(jnp.asarray(coin_rows(200, 2, seed) == 1)[:, None] for seed in (1, 2, 3))
    changed = list(of.pairs)
    changed[moved] = oracles.perturbed(changed[moved], 1.0, seed=0)
    before, after = (update(model, kept, rows) for model in (of, Stack(tuple(changed))))
    assert bytes_of(before.pairs[1 - moved]) == bytes_of(after.pairs[1 - moved])
    assert bytes_of(before.pairs[moved]) != bytes_of(after.pairs[moved])


@jax.jit
def update(model: Model, rule_state: PyTree, rows: Examples) -> Model:
    return VPF().update(model, rule_state, rows, key=jax.random.key(2)).updates


# The same promises as for one machine.


def visible_law(model: Model) -> np.ndarray:
    """Of a stack that of its lowest pair."""
    return oracles.law(parts(model)[0]).reshape(4, -1).sum(axis=1)


@EACH
def test_every_deep_model_learns_that_two_pixels_go_together_whatever_it_is_trained_by(name):
    """Its divergence from the data, enumerated, falls below half of what unconnected pixels have."""
    task, start = task_of(name), BUILT[DEEP[name][0]]()
    data = count_states(ROWS) / len(ROWS)
    independent, learned = (
        oracles.kl(data, visible_law(model))
        for model in (set_biases(start, task.data.values, "auto"), finished(name)[0].model)
    )
    assert learned < 0.5 * independent


@EACH
def test_going_on_half_way_gives_the_bytes_of_one_whole_run(name):
    run, states = finished(name)
    later = list(epochs(task_of(name), states[8]))
    assert [record.epoch for record, _ in later] == [10, 11, 12]
    assert bytes_of(later[-1][1]) == bytes_of(run.state)


@EACH
def test_every_number_of_a_deep_model_that_counts_is_learned(name):
    """All but what lies on and below the diagonal of couplings inside a layer."""
    start, after = BUILT[DEEP[name][0]](), finished(name)[0].model
    for before, part in zip(parts(start), parts(after), strict=True):
        wired = oracles.is_wired(part.layout)
        assert (oracles.couplings(before) != oracles.couplings(part))[wired].all()
        assert (oracles.biases(before) != oracles.biases(part)).all()


def test_chunks_change_nothing_of_a_stack_but_rounding():
    whole, cut = finished("coupled stack, authors' order")[0], run_of("coupled stack, authors' order", chunk_rows=100)
    all_close((cut.model, values_of(cut)), (whole.model, values_of(whole)))


def test_another_seed_gives_another_stack():
    assert bytes_of(finished("coupled stack")[0].model) != bytes_of(run_of("coupled stack", seed=4).model)


# Where training starts, what decays, and how it fails.


def test_visible_biases_of_a_stack_start_at_the_log_odds_and_all_others_quiet():
    of = as_stack(bf.deep(2, 3, 2, dtype=jnp.float64))
    first, second = set_biases(of, ROWS > 0, "auto").pairs
    oracles.close(first.biases[0], log_odds(ROWS))
    for bias in (first.biases[1], *second.biases):
        np.testing.assert_array_equal(bias, QUIET)
    assert bytes_of((first.couplings, second.couplings)) == bytes_of([pair.couplings for pair in of.pairs])


@pytest.mark.parametrize("pair", [0, 1])
@pytest.mark.parametrize("layer", [0, 1])
def test_one_bias_that_was_set_anywhere_in_a_stack_keeps_all_of_them(pair, layer):
    of = as_stack(zero_machine(MACHINES["deep_2_2_2"]().layout, dtype=jnp.float64))
    touched = eqx.tree_at(lambda model: model.pairs[pair].biases[layer], of, jnp.array([0.0, 0.1]))
    assert bytes_of(set_biases(touched, ROWS > 0, "auto")) == bytes_of(touched)
    assert bytes_of(set_biases(touched, ROWS > 0, "log-odds")) != bytes_of(touched)


@pytest.mark.parametrize("optimiser", ["sgd", "momentum"])
def test_couplings_of_every_pair_decay_and_biases_do_not(optimiser):
    """A step of descent along a gradient of zero takes rate · decay · w from each coupling."""
    of = bf.stack(2, 2, 2, lateral=[True, False], dtype=jnp.float64)
    settings = make_settings({"decay": 0.5, "learning_rate": 0.125, "optimiser": optimiser})
    descent, nothing = make_optimiser(settings, 100), jax.tree.map(jnp.zeros_like, of)
    after, _ = descend(descent, nothing, begin_descent(descent, of), of)
    for before, pair in zip(of.pairs, after.pairs, strict=True):
        all_close(pair.couplings, jax.tree.map(lambda w: 0.9375 * w, before.couplings))
        assert bytes_of(pair.biases) == bytes_of(before.biases)


def test_a_diverging_stack_names_unit_layer_and_pair():
    """Units that are all but never lit have couplings so strong that their rates overflow."""
    of = bf.stack(2, 2, 2)
    wild = eqx.tree_at(lambda model: model.pairs[1].couplings[0], of, jnp.full((2, 2), 500.0, jnp.float32))
    wild = eqx.tree_at(lambda model: model.pairs[1].biases[1], wild, jnp.array([0.0, -1000.0], jnp.float32))
    sentence = (
        r"by vpf diverged in epoch 1, step 1: the gradient of unit \d of layer [12] \(hidden\), pair 1, reached inf"
    )
    with pytest.raises(DivergenceError, match=sentence):
        bf.train(wild, ROWS, epochs=1, batch_size=200)


def test_the_steepest_unit_of_a_stack_is_named_with_its_pair():
    of = as_stack(zero_machine(MACHINES["deep_2_2_2"]().layout, dtype=jnp.float64))
    updates = eqx.tree_at(lambda model: model.pairs[1].biases[1], of, jnp.array([1.0, -5.0]))
    assert steepest_unit(updates) == ("unit 1 of layer 2 (hidden), pair 1,", 5.0)


REFUSED = {
    "cd": ("cd", {}, "rule 'cd' trains one machine, and the layout is 2-2-2 (stack of 2 pairs)"),
    "pcd": ("pcd", {}, "rule 'pcd' trains one machine, and the layout is 2-2-2 (stack of 2 pairs)"),
    "mpf": ("mpf", {}, "rule 'mpf' is for fully visible machines; the layout is 2-2-2 (stack of 2 pairs)"),
    "pseudolikelihood": (
        "pseudolikelihood",
        {},
        "is for fully visible machines; the layout is 2-2-2 (stack of 2 pairs)",
    ),
    "gibbs": (
        "vpf",
        {"method": "gibbs", "sweeps": 2},
        "method 'gibbs' completes one joint machine; the pairs of a stack",
    ),
    "mean field": ("vpf", {"method": "mean-field"}, "method 'mean-field' completes one joint machine"),
    "no sweep": ("vpf", {"sweeps": 0}, "sweeps must be a whole number, 1 or more; got 0"),
    "no completion": ("vpf", {"completions": 0}, "completions must be a whole number, 1 or more; got 0"),
    "an unknown order": ("vpf", {"order": "author"}, "unknown order 'author': did you mean 'authors'?"),
    "an unknown method": ("vpf", {"method": "gibs"}, "unknown method 'gibs': did you mean 'gibbs'?"),
    "carried, fed forward": ("vpf", {"carry": True}, "carry=True goes on with Gibbs sweeps from epoch to epoch"),
}


@pytest.mark.parametrize(("rule", "options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_a_stack_cannot_be_trained_by_is_refused_in_one_sentence(rule, options, sentence):
    with types_unchecked(), pytest.raises(InputError, match=re.escape(sentence)) as refusal:
        bf.train(bf.stack(2, 2, 2), ROWS, rule=rule, rule_options=options)
    assert "\n" not in str(refusal.value)


def test_a_word_for_carry_is_refused():
    """Every word is true, "false" is too."""
    with types_unchecked(), pytest.raises(InputError, match="carry"):
        VPF(method="gibbs", carry="false")


def test_data_of_another_width_are_refused():
    with pytest.raises(InputError, match="the machine has 2 visible units, but the data have 3 columns"):
        bf.train(bf.stack(2, 2, 2), coin_rows(23, 3))
