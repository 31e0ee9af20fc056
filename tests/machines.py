"""The tiny machines on which every exact truth is tested: one list, in float64, each small enough to enumerate."""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np

import boltzflow as bf
from boltzflow.machine.builders import random_machine, zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Dense, Edges, Lateral


def one_unit() -> Machine:
    return random_machine(Layout((1,), ()), bias_scale=1.0, seed=1, dtype=jnp.float64)


def two_coupled() -> Machine:
    return _random(Layout((2,), (Lateral(0, 2),)), seed=2)


def visible_6() -> Machine:
    return _random(Layout((6,), (Lateral(0, 6),)), seed=3)


def rbm_3_2() -> Machine:
    return _random(Layout((3, 2), (Dense(0, 1, (3, 2)),)), seed=4)


def deep_2_2_2() -> Machine:
    return _random(Layout((2, 2, 2), (Dense(0, 1, (2, 2)), Dense(1, 2, (2, 2)))), seed=5)


def deep_2_2_2_lateral() -> Machine:
    wirings = (Dense(0, 1, (2, 2)), Dense(1, 2, (2, 2)), Lateral(1, 2), Lateral(2, 2))
    return _random(Layout((2, 2, 2), wirings), seed=6)


def lateral_3_3() -> Machine:
    """One hidden layer with couplings inside, and a visible layer with couplings inside."""
    return _random(Layout((3, 3), (Dense(0, 1, (3, 3)), Lateral(0, 3), Lateral(1, 3))), seed=7)


def visible_graph() -> Machine:
    """A ring of five with one chord and a unit on its own."""
    rows, columns = np.array([0, 1, 2, 3, 0, 1]), np.array([1, 2, 3, 4, 4, 3])
    return _random(Layout((6,), (Edges(0, 0, (6, 6), rows, columns),)), seed=8)


def masked_graph() -> Machine:
    """Four visible and three hidden units, sparsely coupled between and inside the layers."""
    between = Edges(0, 1, (4, 3), np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1, 1, 2]))
    below = Edges(0, 0, (4, 4), np.array([0, 1]), np.array([1, 2]))
    above = Edges(1, 1, (3, 3), np.array([0]), np.array([2]))
    return _random(Layout((4, 3), (between, below, above)), seed=9)


def zero_weights() -> Machine:
    return zero_machine(bf.rbm(3, 2).layout, dtype=jnp.float64)


def _random(layout: Layout, seed: int) -> Machine:
    """Couplings and biases of order one, whatever the widths."""
    machine = random_machine(layout, bias_scale=0.5, seed=seed, dtype=jnp.float64)
    scaled = tuple(
        0.8 * w * np.sqrt(wiring.widths[0] * wiring.widths[1])
        for w, wiring in zip(machine.couplings, layout.wirings, strict=True)
    )
    return Machine(layout, scaled, machine.biases)


MACHINES: Mapping[str, Callable[[], Machine]] = {
    make.__name__: make
    for make in (
        one_unit,
        two_coupled,
        visible_6,
        rbm_3_2,
        deep_2_2_2,
        deep_2_2_2_lateral,
        lateral_3_3,
        visible_graph,
        masked_graph,
        zero_weights,
    )
}
