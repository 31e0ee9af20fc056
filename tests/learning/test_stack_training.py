"""Deep models in the training loop: a stack is its pairs trained each on its own, and keeps all that a machine is promised."""

import re
from functools import partial

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
from boltzflow.learning.completions import complete_stack
from boltzflow.learning.divergence import steepest_unit
from boltzflow.learning.loop import Run, epochs
from boltzflow.learning.rules import VPF, make_rule
from boltzflow.learning.settings import make_settings
from boltzflow.learning.start import QUIET, log_odds, set_biases
from boltzflow.learning.step import begin_descent, descend
from boltzflow.learning.task import chunks, make_task
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack, as_stack
from boltzflow.machine.wiring import States
from boltzflow.sampling.uniforms import Purpose, stream
from chance import count_states, exact_draws
from machines import MACHINES

SMALL = {"epochs": 4, "batch_size": 5, "learning_rate": 0.05, "seed": 3}
ROWS = coin_rows(23, 2)


def plain_stack() -> Stack:
    return as_stack(MACHINES["deep_2_2_2"]())


def joint(seed: int = 0) -> Machine:
    return bf.deep(2, 2, 2, lateral=True, seed=seed, dtype=jnp.float64)


def visible_law(machine: Machine) -> np.ndarray:
    return oracles.law(machine).reshape(4, -1).sum(axis=1)


def run_of(model: Model, options: dict[str, object] | None = None, rule: str = "vpf", **settings: object) -> Run:
    return bf.train(model, ROWS, rule=rule, rule_options=options, **{**SMALL, **settings})


def values_of(run: Run) -> list[float]:
    return [record.value for record in run.history]


# A stack is its pairs, each a machine of its own.

complete_pairs = jax.jit(complete_stack, static_argnums=(4, 5))


@partial(jax.jit, static_argnums=0)
def adam_step(
    adam: optax.GradientTransformationExtraArgs, pair: Machine, state: PyTree, states: States, weights: jax.Array
) -> tuple[tuple[Machine, PyTree], jax.Array]:
    """One pair a step further by an Adam of its own, and the flow it descends."""
    flow = jnp.dot(weights, probability_flow(pair, states))
    return descend(adam, flow_gradient(pair, states, weights), state, pair), flow


def trained_apart(of: Stack, options: dict[str, object]) -> tuple[list[Machine], list[float]]:
    """Each pair on its own on the same completions and batches, and the mean sum of their flows in each epoch."""
    task = make_task(of, ROWS, VPF(**options), make_settings(SMALL))
    pairs, values = list(set_biases(of, task.data.values, "auto").pairs), []
    adams = [begin_descent(task.optimiser, pair) for pair in pairs]
    for epoch in range(1, SMALL["epochs"] + 1):
        key, flows = jax.random.fold_in(jax.random.key(SMALL["seed"]), epoch), []
        rows = next(chunks(task, key))
        draws = stream(key, Purpose.COMPLETE, rows.ids).fold(0)
        sweeps, order = options["sweeps"], options["order"]
        visible = rows.visible.astype(float)
        completed = complete_pairs(Stack(tuple(pairs)), visible, draws, 1.0, sweeps, order)
        for batch in np.arange(len(rows.ids)).reshape(-1, 5):
            for k, states in enumerate(completed):
                own = tuple(layer[batch] for layer in states)
                (pairs[k], adams[k]), flow = adam_step(task.optimiser, pairs[k], adams[k], own, rows.weights[batch])
                flows.append(float(flow))
        values.append(np.mean(flows) * len(pairs))
    return pairs, values


@pytest.mark.parametrize("options", [{"order": "algorithm-1", "sweeps": 1}, {"order": "authors", "sweeps": 2}])
def test_a_trained_stack_is_its_pairs_trained_each_on_its_own(options):
    """The value of an epoch is the sum of the flows of all pairs."""
    pairs, values = trained_apart(small_stack(), options)
    run = run_of(small_stack(), options)
    all_close((run.model.pairs, values_of(run)), (tuple(pairs), values))


def test_training_pair_by_pair_would_show_if_the_swept_states_were_exchanged_for_the_drawn_ones():
    """The lowest pair learns the same in both orders, the one above it does not."""
    one, other = (run_of(small_stack(), {"order": order}).model.pairs for order in ("algorithm-1", "authors"))
    assert bytes_of(one[0]) == bytes_of(other[0])
    assert bytes_of(one[1]) != bytes_of(other[1])


@pytest.mark.parametrize("moved", [0, 1])
def test_given_the_completions_the_update_of_a_pair_depends_on_no_other_pair(moved):
    of = small_stack()
    rows = next(chunks(make_task(of, ROWS, VPF(), make_settings(SMALL)), jax.random.key(0)))
    kept = jax.jit(VPF().init)(of, rows, key=jax.random.key(1))
    changed = list(of.pairs)
    changed[moved] = oracles.perturbed(changed[moved], 1.0, seed=0)
    update = jax.jit(VPF().update)
    before, after = (update(model, kept, rows, key=jax.random.key(2)).updates for model in (of, Stack(tuple(changed))))
    assert bytes_of(before.pairs[1 - moved]) == bytes_of(after.pairs[1 - moved])
    assert bytes_of(before.pairs[moved]) != bytes_of(after.pairs[moved])


# The same promises as for one machine.

DEEP = {
    "lateral stack, authors' order": (small_stack, "vpf", {"order": "authors", "sweeps": 2, "completions": 2}),
    "stack per batch": (plain_stack, "vpf", {"e_step": "batch", "temperature": 0.5}),
    "joint, fed forward": (joint, "vpf", {"sweeps": 2}),
    "joint by gibbs, carried": (joint, "vpf", {"method": "gibbs", "carry": True, "completions": 2}),
    "joint by mean field": (joint, "vpf", {"method": "mean-field", "sweeps": 5}),
    "joint by cd": (joint, "cd-2", {"positive_sweeps": 2}),
    "joint by pcd": (joint, "pcd", {"n_chains": 7, "positive_sweeps": 2}),
}


@pytest.mark.parametrize(("make", "rule", "options"), DEEP.values(), ids=DEEP)
def test_a_deep_model_trains_to_the_same_bytes_in_one_run_and_when_gone_on_with_half_way(make, rule, options):
    half = []
    whole = run_of(make(), options, rule, callbacks=[lambda record, state: half.append(state)])
    task = make_task(make(), ROWS, make_rule(rule, **options), make_settings(SMALL))
    later = list(epochs(task, half[1]))
    assert [record.epoch for record, _ in later] == [3, 4]
    assert bytes_of(later[-1][1]) == bytes_of(whole.state)
    assert np.isfinite(values_of(whole)).all()
    start = jax.tree.leaves(make())
    assert all((leaf != first).any() for leaf, first in zip(jax.tree.leaves(whole.model), start, strict=True))


@pytest.mark.parametrize("name", ["lateral stack, authors' order", "joint by gibbs, carried"])
def test_chunks_change_nothing_of_a_deep_model_but_rounding(name):
    make, rule, options = DEEP[name]
    whole, cut = (run_of(make(), options, rule, chunk_rows=n_rows) for n_rows in (None, 10))
    all_close((cut.model, values_of(cut)), (whole.model, values_of(whole)))


def test_another_seed_gives_another_stack():
    assert bytes_of(run_of(plain_stack()).model) != bytes_of(run_of(plain_stack(), seed=4).model)


@pytest.mark.parametrize("make", [small_stack, joint])
def test_learning_lowers_the_flow_of_a_deep_model(make):
    values = values_of(run_of(make(), {"sweeps": 2}, epochs=30))
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize(("rule", "options"), [("pcd", {"n_chains": 50}), ("cd-5", {})])
def test_a_joint_coupled_machine_comes_nearer_to_its_data_by_contrastive_rules(rule, options):
    """In bits of the enumerated likelihood: it ends within a tenth of where it began."""
    truth = oracles.law(MACHINES["deep_2_2_2_lateral"]()).reshape(4, -1).sum(axis=1)
    rows = exact_draws(truth, 400)
    data = count_states(rows) / 400
    run = bf.train(
        joint(seed=9), rows, rule=rule, rule_options=options, epochs=15, batch_size=20, decay=0.0, learning_rate=0.02
    )
    before, after = (oracles.kl(data, visible_law(model)) for model in (joint(seed=9), run.model))
    assert after < 0.1 * before


# Where training starts, what decays, and how it fails.


def test_visible_biases_of_a_stack_start_at_the_log_odds_and_all_others_quiet():
    of = as_stack(bf.deep(2, 3, 2, dtype=jnp.float64))
    first, second = set_biases(of, ROWS == 1, "auto").pairs
    oracles.close(first.biases[0], log_odds(ROWS))
    for bias in (first.biases[1], *second.biases):
        np.testing.assert_array_equal(bias, QUIET)
    assert bytes_of((first.couplings, second.couplings)) == bytes_of([pair.couplings for pair in of.pairs])


@pytest.mark.parametrize("pair", [0, 1])
@pytest.mark.parametrize("layer", [0, 1])
def test_one_bias_that_was_set_anywhere_in_a_stack_keeps_all_of_them(pair, layer):
    of = as_stack(zero_machine(MACHINES["deep_2_2_2"]().layout, dtype=jnp.float64))
    touched = eqx.tree_at(lambda model: model.pairs[pair].biases[layer], of, jnp.array([0.0, 0.1]))
    assert bytes_of(set_biases(touched, ROWS == 1, "auto")) == bytes_of(touched)
    assert bytes_of(set_biases(touched, ROWS == 1, "log-odds")) != bytes_of(touched)


def test_couplings_of_every_pair_decay_and_biases_do_not():
    """One step of plain descent: rate · decay · w is what decay takes away, the gradient is the same."""
    once = {"epochs": 1, "batch_size": 23, "optimiser": "sgd", "schedule": "constant", "learning_rate": 0.1}
    kept, decayed = (run_of(small_stack(), **once, decay=decay).model for decay in (0.0, 0.5))
    for start, without, with_decay in zip(small_stack().pairs, kept.pairs, decayed.pairs, strict=True):
        assert bytes_of(without.biases) == bytes_of(with_decay.biases)
        expected = jax.tree.map(lambda w, first: w - 0.1 * 0.5 * first, without.couplings, start.couplings)
        all_close(with_decay.couplings, expected)


@pytest.mark.parametrize("pair", [0, 1])
def test_a_diverging_stack_names_unit_layer_and_pair(pair):
    pairs = [jax.tree.map(lambda leaf: leaf.astype(jnp.float32), pair) for pair in small_stack().pairs]
    pairs[pair] = eqx.tree_at(lambda machine: machine.biases[1], pairs[pair], jnp.array([0.0, -400.0], jnp.float32))
    pairs[pair] = eqx.tree_at(lambda machine: machine.couplings[0], pairs[pair], jnp.full((2, 2), 500.0, jnp.float32))
    with pytest.raises(DivergenceError, match=rf"diverged in epoch 1, step 1: .* of layer \d \(\w+\) of pair {pair} "):
        run_of(Stack(tuple(pairs)))


def test_the_steepest_unit_of_a_stack_is_named_with_its_pair():
    of = as_stack(zero_machine(MACHINES["deep_2_2_2"]().layout, dtype=jnp.float64))
    updates = eqx.tree_at(lambda model: model.pairs[1].biases[1], of, jnp.array([1.0, -5.0]))
    assert steepest_unit(updates) == ("unit 1 of layer 1 (hidden) of pair 1", 5.0)


REFUSED = {
    "cd": ("cd", {}, "rule 'cd' trains one machine, and the layout is 2-2-2 (stack of 2 pairs)"),
    "pcd": ("pcd", {}, "rule 'pcd' trains one machine, and the layout is 2-2-2 (stack of 2 pairs)"),
    "mpf": ("mpf", {}, "rule 'mpf' is for fully visible machines; the layout is 2-2-2 (stack of 2 pairs)"),
    "pseudolikelihood": (
        "pseudolikelihood",
        {},
        "is for fully visible machines; the layout is 2-2-2 (stack of 2 pairs)",
    ),
    "gibbs": ("vpf", {"method": "gibbs"}, "method 'gibbs' completes one joint machine; the pairs of a stack"),
    "mean field": ("vpf", {"method": "mean-field"}, "method 'mean-field' completes one joint machine"),
    "no sweep": ("vpf", {"sweeps": 0}, "sweeps must be a whole number, 1 or more; got 0"),
    "no completion": ("vpf", {"completions": 0}, "completions must be a whole number, 1 or more; got 0"),
    "an unknown order": ("vpf", {"order": "author"}, "unknown order 'author': did you mean 'authors'?"),
    "an unknown method": ("vpf", {"method": "gibs"}, "unknown method 'gibs': did you mean 'gibbs'?"),
    "carried, fed forward": ("vpf", {"carry": True}, "carry=True goes on with Gibbs sweeps from epoch to epoch"),
}


@pytest.mark.parametrize(("rule", "options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_a_stack_cannot_be_trained_by_is_refused_in_one_sentence(rule, options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as refusal:
        run_of(plain_stack(), options, rule)
    assert "\n" not in str(refusal.value)


def test_a_word_for_carry_is_refused():
    """Every word is true, "false" is too."""
    with pytest.raises(InputError, match="carry"):
        VPF(method="gibbs", carry="false")


def test_data_of_another_width_are_refused():
    with pytest.raises(InputError, match="the machine has 2 visible units, but the data have 3 columns"):
        bf.train(plain_stack(), coin_rows(23, 3))
