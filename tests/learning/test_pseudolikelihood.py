"""Pseudolikelihood: each unit's own conditional, from the enumerated law, and its gradient."""

import jax
import numpy as np
import pytest
from lessons import KEY, all_close, some_examples, updated

import oracles
from boltzflow.learning.rules import Pseudolikelihood
from boltzflow.learning.rules.pseudolikelihood import negative_log_pseudolikelihood
from machines import MACHINES

FULLY_VISIBLE = [name for name in MACHINES if MACHINES[name]().layout.fully_visible]


def test_negative_log_pseudolikelihood_sums_the_conditionals_of_the_law(machine):
    law, n_units = oracles.law(machine), machine.layout.n_units
    expected = -sum(np.log(law / (law + law[oracles.flipped(n_units, unit)])) for unit in range(n_units))
    oracles.close(jax.jit(negative_log_pseudolikelihood)(machine, oracles.every_state(machine)), expected)


@pytest.mark.parametrize("machine", FULLY_VISIBLE, indirect=True)
def test_updates_are_the_gradient_of_the_mean_pseudolikelihood(machine):
    data = some_examples(machine)
    visible = data.visible.astype(machine.dtype)
    expected = jax.value_and_grad(lambda model: data.weights @ negative_log_pseudolikelihood(model, (visible,)))(
        machine
    )
    step = updated(Pseudolikelihood(), machine, (), data, KEY)
    all_close((step.info.value, step.updates), expected)
