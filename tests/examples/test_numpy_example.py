"""The example that a student reads agrees with the package, number for number."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
from boltzflow.learning.rules import make_rule
from boltzflow.sampling.uniforms import Purpose, stream

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import vpf_in_numpy as example

N_VISIBLE, N_HIDDEN, N_ROWS = 9, 5, 120
DECAY, RATE = 0.01, 0.05


@pytest.fixture
def rows():
    return example.bars_and_stripes(3, N_ROWS, np.random.default_rng(1))


def test_one_epoch_of_the_example_is_one_epoch_of_the_package(rows):
    machine = bf.rbm(N_VISIBLE, N_HIDDEN, seed=2, dtype=jnp.float64)
    run = bf.train(
        machine, rows, rule="vpf", epochs=1, optimiser="sgd", learning_rate=RATE, schedule="constant", decay=DECAY,
        bias_start="keep", shuffle=False,
    )  # fmt: skip
    epoch_key = jax.random.fold_in(jax.random.key(0), 1)
    draws = stream(epoch_key, Purpose.COMPLETE, jnp.arange(N_ROWS)).fold(0).fold(1)
    uniforms = np.asarray(draws.uniforms(jnp.arange(N_HIDDEN)), dtype=float)
    w, (b, c) = np.asarray(machine.couplings[0]).T, map(np.asarray, machine.biases)
    flow, w, b, c = example.epoch(w, b, c, rows, uniforms, RATE, DECAY)
    np.testing.assert_allclose(flow, run.history[0].value, rtol=1e-12)
    np.testing.assert_allclose(w.T, run.model.couplings[0], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(b, run.model.biases[0], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(c, run.model.biases[1], rtol=1e-10, atol=1e-14)


def test_the_gradient_of_the_example_is_the_rule_s_own(rows):
    rule = make_rule("vpf")
    assert rule.local
    rng = np.random.default_rng(3)
    w, b, c = rng.normal(0, 1, (N_VISIBLE, N_HIDDEN)), rng.normal(size=N_VISIBLE), rng.normal(size=N_HIDDEN)
    h = rng.integers(0, 2, (N_ROWS, N_HIDDEN)).astype(float)
    flow, dw, _, _ = example.flow_and_gradient(w, b, c, rows, h)
    step = 1e-6 * rng.normal(size=w.shape)
    ahead = example.flow_and_gradient(w + step, b, c, rows, h)[0]
    behind = example.flow_and_gradient(w - step, b, c, rows, h)[0]
    np.testing.assert_allclose((ahead - behind) / 2, np.sum(dw * step), rtol=1e-6)
    assert flow > 0
