"""Learning by probability flow: updates are the gradient of the flow of completed states, and completions are kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lessons import (
    KEY,
    PAIRS,
    RULES,
    all_close,
    as_examples,
    begun,
    bytes_of,
    coin_rows,
    picked,
    some_examples,
    updated,
)

import oracles
from boltzflow.errors import InputError
from boltzflow.flow import probability_flow
from boltzflow.learning.completions import complete
from boltzflow.learning.contract import Examples, RuleState
from boltzflow.learning.rules import VPF
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Dense
from boltzflow.sampling.uniforms import Purpose, stream
from chance import assert_same_distribution, count_states, even
from machines import MACHINES

N = 50_000

OF_FLOW = [*(pair for pair in PAIRS if pair[0] in ("vpf", "mpf")), ("vpf two completions", "rbm_3_2")]


def mean_flow(machine: Machine, data: Examples, hidden: RuleState) -> jax.Array:
    """Σ_rows weight · K, averaged over the completions, one after the other."""
    visible = data.visible.astype(machine.dtype)
    if not hidden:
        return data.weights @ probability_flow(machine, (visible,))
    each = [tuple(layer[:, k].astype(machine.dtype) for layer in hidden) for k in range(hidden[0].shape[1])]
    flows = [data.weights @ probability_flow(machine, (visible, *layers)) for layers in each]
    return jnp.mean(jnp.stack(flows))


@pytest.mark.parametrize(("rule", "machine"), OF_FLOW, indirect=["machine"])
def test_updates_are_the_gradient_of_the_mean_flow_given_the_completions(rule, machine):
    data, n_completions = some_examples(machine), 2 if rule == "vpf two completions" else 1
    coins = coin_rows(6 * n_completions, machine.layout.n_units, seed=1)
    hidden = tuple(layer.reshape(6, n_completions, -1) == 1 for layer in oracles.layers(machine.layout, coins)[1:])
    value, gradient = jax.jit(jax.value_and_grad(mean_flow))(machine, data, hidden)
    step = updated(RULES[rule], machine, hidden, data, KEY)
    all_close((step.info.value, step.updates), (value, gradient))


def test_completions_of_the_epochs_begin_are_kept_until_it_ends():
    machine = MACHINES["rbm_3_2"]()
    data = some_examples(machine)
    kept = begun(VPF(), machine, data, KEY)
    later = updated(VPF(), oracles.perturbed(machine, 3.0, seed=0), kept, data, jax.random.key(9))
    assert bytes_of(later.rule_state) == bytes_of(kept)


def test_completions_per_batch_are_those_of_the_machine_as_it_is():
    machine = MACHINES["rbm_3_2"]()
    data, moved = some_examples(machine), oracles.perturbed(machine, 3.0, seed=0)
    stale, fresh = (begun(VPF(), model, data, KEY) for model in (machine, moved))
    step = updated(VPF(e_step="batch"), moved, (), data, KEY)
    expected, wrong = (jax.jit(mean_flow)(moved, data, hidden) for hidden in (fresh, stale))
    all_close(step.info.value, expected)
    assert abs(step.info.value - wrong) > 1e-3


def test_completions_are_drawn_at_the_temperature_and_after_the_sweeps_that_were_asked_for():
    machine, data = MACHINES["lateral_3_3"](), as_examples(coin_rows(200, 3))
    draws = stream(KEY, Purpose.COMPLETE, data.ids).fold(0)
    expected = complete(machine, data.visible.astype(float), draws, 1 / 0.25, 3)
    (found,) = begun(VPF(temperature=0.25, sweeps=3), machine, data, KEY)
    np.testing.assert_array_equal(found[:, 0], expected[1])


def test_an_example_has_the_same_completions_in_whichever_rows_it_is_completed():
    machine = MACHINES["rbm_3_2"]()
    data, order = some_examples(machine), np.array([5, 2, 0])
    few, all_of_them = (begun(VPF(), machine, rows, KEY) for rows in (picked(data, order), data))
    assert bytes_of(few) == bytes_of(tuple(layer[order] for layer in all_of_them))


def test_completions_of_one_example_are_independent_of_each_other():
    machine = zero_machine(Layout((1, 2), (Dense(0, 1, (1, 2)),)), dtype=jnp.float64)
    drawn = begun(VPF(completions=3), machine, as_examples(np.zeros((N, 1))), KEY)[0]
    assert_same_distribution(count_states(np.asarray(drawn).reshape(N, 6)), even(64))


def test_carrying_on_needs_gibbs_sweeps_once_an_epoch():
    for options in ({"method": "feed-forward"}, {"method": "gibbs", "e_step": "batch"}):
        with pytest.raises(InputError, match=r"carry=True .* needs method='gibbs', e_step='epoch'"):
            VPF(carry=True, **options)
