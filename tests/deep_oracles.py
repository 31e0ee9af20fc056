"""Deep machines by brute force in plain NumPy: the paper's two algorithms unit by unit, on the law of all states."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import jaxtyping
import numpy as np

import oracles
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack


def units_of(layout: Layout, layer: int) -> range:
    """The units of a layer, all units counted through."""
    return range(layout.offsets[layer], layout.offsets[layer] + layout.widths[layer])


def numbers(states: np.ndarray) -> np.ndarray:
    """Which state each row of bits is; the first unit is the highest digit."""
    return states.astype(int) @ (1 << np.arange(states.shape[1])[::-1])


def layer_of_units(layout: Layout) -> np.ndarray:
    """The layer of each unit, all units counted through."""
    return np.repeat(np.arange(len(layout.widths)), layout.widths)


def redrawn(machine: Machine, law: np.ndarray, unit: int, heard: np.ndarray) -> np.ndarray:
    """The law after one unit is drawn from σ(z), where it hears some units alone."""
    n_units = machine.layout.n_units
    states, lit = oracles.bits(n_units), oracles.bits(n_units)[:, unit] == 1
    z = states @ (oracles.couplings(machine)[unit] * heard) + oracles.biases(machine)[unit]
    return (law + law[oracles.flipped(n_units, unit)]) * oracles.sigmoid(np.where(lit, z, -z))


def layer_drawn(machine: Machine, law: np.ndarray, layer: int, heard: np.ndarray) -> np.ndarray:
    """The law after all units of a layer are drawn in order, where they hear some units alone."""
    for unit in units_of(machine.layout, layer):
        law = redrawn(machine, law, unit, heard)
    return law


def completed(machine: Machine, visible_law: np.ndarray, n_sweeps: int = 1) -> np.ndarray:
    """Algorithm 1: each layer hears the one below, then as many sweeps inside it as asked for [Eq. 5]."""
    layout, law = machine.layout, np.zeros(2**machine.layout.n_units)
    law[:: 2**layout.n_hidden] = visible_law
    for layer in layout.hidden_layers:
        law = layer_drawn(machine, law, layer, layer_of_units(layout) < layer)
        for _ in range(n_sweeps * layout.coupled_inside(layer)):
            law = layer_drawn(machine, law, layer, layer_of_units(layout) <= layer)
    return law


def completed_stack(of: Stack, visible_law: np.ndarray, n_sweeps: int, order: str) -> list[np.ndarray]:
    """The law of each pair's two layers; the next pair starts from the swept or, as the authors ran it, the drawn states."""
    found, below = [], visible_law
    for pair in of.pairs:
        found.append(completed(pair, below, n_sweeps))
        start = completed(pair, below, 0 if order == "authors" else n_sweeps)
        below = start.reshape(2 ** pair.layout.widths[0], -1).sum(axis=0)
    return found


def descended(of: Stack, top_law: np.ndarray, r: int, n_sweeps: int = 1) -> np.ndarray:
    """Algorithm 2: the law of the lowest pair's two layers before the last line."""
    above = law = top_law
    for pair in reversed(of.pairs):
        law = np.zeros((2 ** pair.layout.widths[0], len(above)))
        law[0] = above
        law = law.ravel()
        for _ in range(r):
            law = round_in_pair(pair, law, n_sweeps)
        above = law.reshape(2 ** pair.layout.widths[0], -1).sum(axis=1)
    return law


def round_in_pair(pair: Machine, law: np.ndarray, n_sweeps: int) -> np.ndarray:
    """One turn of Algorithm 2's inner loop: the lower layer given the upper one, and the other way round."""
    everyone = np.ones(pair.layout.n_units, bool)
    for layer in (0, 1):
        law = layer_drawn(pair, law, layer, layer_of_units(pair.layout) != layer)
        for _ in range(n_sweeps * pair.layout.coupled_inside(layer)):
            law = layer_drawn(pair, law, layer, everyone)
    return law


def independent(probabilities: np.ndarray) -> np.ndarray:
    """The law of units that are lit independently of each other."""
    lit = oracles.bits(len(probabilities)) == 1
    return np.prod(np.where(lit, probabilities, 1 - np.asarray(probabilities)), axis=1)


def propagated(of: Stack, visible: np.ndarray) -> np.ndarray:
    """Mean over rows of σ(W_k σ(W_{k−1} ⋯ x + c_{k−1}) + c_k), the couplings inside layers left out."""
    probabilities = visible
    for pair in of.pairs:
        split = pair.layout.widths[0]
        w, b = oracles.couplings(pair), oracles.biases(pair)
        probabilities = oracles.sigmoid(probabilities @ w[:split, split:] + b[split:])
    return probabilities.mean(axis=0)


def given_below(machine: Machine, layer: int, seed: int = 2) -> np.ndarray:
    """Any law of all other layers, and in this one the law of its units given those below, as if nothing were above."""
    n_units, heard = machine.layout.n_units, layer_of_units(machine.layout) <= layer
    states, own = oracles.bits(n_units), list(units_of(machine.layout, layer))
    w = oracles.couplings(machine) * heard * heard[:, None]
    weights = np.exp(((0.5 * states @ w + oracles.biases(machine)) * states).sum(axis=1))
    elsewhere = states.copy()
    elsewhere[:, own] = 0
    group = numbers(elsewhere)
    others = np.bincount(group, oracles.random_law(2**n_units, seed), minlength=2**n_units)
    return others[group] * weights / np.bincount(group, weights, minlength=2**n_units)[group]


def variational_free_energy(machine: Machine, means: np.ndarray) -> np.ndarray:
    """⟨Energy⟩ + ⟨log q⟩ of hidden units that are lit independently with these means, for each row over all units."""
    w, b, n_visible = oracles.couplings(machine), oracles.biases(machine), machine.layout.n_visible
    energy = -0.5 * ((means @ w) * means).sum(axis=1) - means @ b
    mu = means[:, n_visible:]
    return energy + (mu * np.log(mu) + (1 - mu) * np.log(1 - mu)).sum(axis=1)


def coupling_gradient(machine: Machine, law: np.ndarray) -> np.ndarray:
    """⟨y_j α_i δ_i + y_i α_j δ_j⟩ for every pair of units, wired or not [Eq. 2]."""
    states = oracles.bits(machine.layout.n_units)
    alpha = 0.5 - states
    errors = law[:, None] * alpha * np.exp(alpha * oracles.fields(machine))
    one_way = states.T @ errors
    return one_way + one_way.T


def between_hidden(layout: Layout) -> np.ndarray:
    """Which couplings have both ends in hidden layers."""
    hidden = layer_of_units(layout) > 0
    return oracles.is_wired(layout) & hidden[:, None] & hidden[None, :]


def brute_parzen(centres: np.ndarray, points: np.ndarray, sigma: float) -> np.ndarray:
    """log (1/n) Σ_c Π_i N(x_i; c_i, σ²), term by term."""
    exponents = -((points[:, None] - centres[None]) ** 2).sum(axis=2) / (2 * sigma**2)
    normaliser = centres.shape[1] * np.log(np.sqrt(2 * np.pi) * sigma)
    return np.log(np.exp(exponents).mean(axis=1)) - normaliser


def shared_biases(of: Stack) -> list[np.ndarray]:
    """For each layer between two pairs the mean of its two bias vectors."""
    return [(np.asarray(a.biases[1]) + np.asarray(b.biases[0])) / 2 for a, b in pairwise(of.pairs)]


@contextmanager
def types_unchecked() -> Iterator[None]:
    """Where the package itself is to say what is wrong with a type, before the checks of the tests do."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
