"""Brute force in plain NumPy, written from the paper's formulas and nothing of the package but its stored arrays.

A state is a row of bits over all units, counted in binary with the first visible unit as the highest digit.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree

from boltzflow.machine.builders import edges_between
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Dense, Edges, Lateral, States


def close(found: object, expected: object) -> None:
    """Equal up to rounding in doubles: the one tolerance of every exact test."""
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def as_matrix(layout: Layout, arrays: Sequence[jax.Array | np.ndarray]) -> np.ndarray:
    """One number per coupling as a symmetric matrix over all units."""
    upper = one_way(layout, arrays)
    return upper + upper.T


def one_way(layout: Layout, arrays: Sequence[jax.Array | np.ndarray]) -> np.ndarray:
    """One number per coupling at (a, b), where a is the unit of the lower layer, or the smaller one inside a layer."""
    matrix = np.zeros((layout.n_units, layout.n_units))
    for wiring, array in zip(layout.wirings, arrays, strict=True):
        values = np.asarray(array)
        for i, j, at in _pairs(wiring):
            matrix[layout.offsets[min(wiring.layers)] + i, layout.offsets[max(wiring.layers)] + j] = values[at]
    return matrix


def _pairs(wiring: Dense | Lateral | Edges) -> list[tuple[int, int, tuple[int, ...]]]:
    """Unit of the lower layer, unit of the upper layer, and where their coupling is stored."""
    if isinstance(wiring, Dense):
        return [(i, j, (j, i)) for i in range(wiring.widths[0]) for j in range(wiring.widths[1])]
    if isinstance(wiring, Lateral):
        return [(i, j, (i, j)) for i in range(wiring.width) for j in range(i + 1, wiring.width)]
    return [(int(i), int(j), (k,)) for k, (i, j) in enumerate(zip(wiring.rows, wiring.columns, strict=True))]


def is_wired(layout: Layout) -> np.ndarray:
    """Which units are coupled to which."""
    return as_matrix(layout, [np.ones(wiring.weight_shape) for wiring in layout.wirings]) != 0


def couplings(machine: Machine) -> np.ndarray:
    """w, symmetric over all units."""
    return as_matrix(machine.layout, machine.couplings)


def biases(machine: Machine) -> np.ndarray:
    """b, all units counted through."""
    return np.concatenate([np.asarray(bias) for bias in machine.biases])


def bits(n_units: int) -> np.ndarray:
    """Every state, one a row."""
    return np.array(list(product((0.0, 1.0), repeat=n_units)))


def energies(machine: Machine) -> np.ndarray:
    """−Σ_{i<j} w_ij y_i y_j − Σ_i b_i y_i for every state, pair by pair."""
    w, b = couplings(machine), biases(machine)
    n = len(b)
    states = bits(n)
    found = np.zeros(len(states))
    for i in range(n):
        found -= b[i] * states[:, i]
        for j in range(i + 1, n):
            found -= w[i, j] * states[:, i] * states[:, j]
    return found


def log_partition(machine: Machine, inverse_temperature: float = 1.0) -> float:
    """log Σ exp(−β E)."""
    return float(np.log(np.sum(np.exp(-inverse_temperature * energies(machine)))))


def every_state(machine: Machine) -> States:
    """Every state, one a row, as the package wants them."""
    return layers(machine.layout, bits(machine.layout.n_units))


def law(machine: Machine, inverse_temperature: float = 1.0) -> np.ndarray:
    """p(y) = exp(−β E) / Z."""
    return np.exp(-inverse_temperature * energies(machine) - log_partition(machine, inverse_temperature))


def fields(machine: Machine) -> np.ndarray:
    """z_i = Σ_j w_ij y_j + b_i for every state."""
    return bits(machine.layout.n_units) @ couplings(machine) + biases(machine)


def flipped(n_units: int, unit: int) -> np.ndarray:
    """For every state the number of the one in which a unit is flipped."""
    return np.arange(2**n_units) ^ (1 << (n_units - 1 - unit))


def distances(n_units: int) -> np.ndarray:
    """In how many bits two states differ."""
    states = bits(n_units)
    return np.sum(states[:, None, :] != states[None, :, :], axis=2)


def generator(machine: Machine, connected: np.ndarray) -> np.ndarray:
    """Γ_xy = g_xy exp(½ E(y) − ½ E(x)) off the diagonal, and minus the rest of the column on it."""
    energy = energies(machine)
    rates = connected * np.exp(0.5 * energy[None, :] - 0.5 * energy[:, None])
    np.fill_diagonal(rates, 0.0)
    return rates - np.diag(rates.sum(axis=0))


def one_flip_generator(machine: Machine) -> np.ndarray:
    """Γ where g connects states that differ in one bit."""
    return generator(machine, distances(machine.layout.n_units) == 1)


def evolved(rates: np.ndarray, start: np.ndarray, time: float) -> np.ndarray:
    """p^t = exp(Γ t) p⁰."""
    return scipy.linalg.expm(rates * time) @ start


def stationary(rates: np.ndarray) -> np.ndarray:
    """The law that a generator leaves alone."""
    null = scipy.linalg.null_space(rates)
    assert null.shape[1] == 1
    return null[:, 0] / null.sum()


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """D_KL(p ‖ q), terms of p = 0 left out."""
    some = p > 0
    return float(np.sum(p[some] * np.log(p[some] / q[some])))


def initial_slope(rates: np.ndarray, start: np.ndarray, n_times: int = 7) -> float:
    """lim D_KL(p⁰ ‖ p^ε)/ε for ε → 0: the powers of ε cancelled one after the other between halved times (Romberg)."""
    some = start > 0
    fastest = max(1.0, np.abs(rates).max(), np.max(np.abs(rates @ start)[some] / start[some]))
    times = [0.1 / fastest / 2**k for k in range(n_times)]
    slopes = [kl_of_change(start, change(rates, start, time)) / time for time in times]
    for power in range(1, n_times):
        slopes = [(2**power * fine - coarse) / (2**power - 1) for coarse, fine in pairwise(slopes)]
    return slopes[0]


def change(rates: np.ndarray, start: np.ndarray, time: float) -> np.ndarray:
    """p^t − p⁰ = (exp(Γ t) − 1) p⁰ without the rounding of the difference, from exp of ((Γ t, Γ t p⁰), (0, 0))."""
    n_states = len(start)
    bordered = np.zeros((n_states + 1, n_states + 1))
    bordered[:-1, :-1], bordered[:-1, -1] = rates * time, rates @ start * time
    return scipy.linalg.expm(bordered)[:-1, -1]


def kl_of_change(p: np.ndarray, added: np.ndarray) -> float:
    """D_KL(p ‖ p + added), terms of p = 0 left out."""
    some = p > 0
    return float(-np.sum(p[some] * np.log1p(added[some] / p[some])))


def given_visible(machine: Machine, joint: np.ndarray) -> np.ndarray:
    """q(h | x), one row for each x."""
    table = joint.reshape(2**machine.layout.n_visible, -1)
    return table / table.sum(axis=1, keepdims=True)


def feed_forward(machine: Machine) -> np.ndarray:
    """q(h | x) of Algorithm 1 where no hidden layer has couplings inside: each layer hears the one below alone."""
    layout = machine.layout
    w, b = couplings(machine), biases(machine)
    states = bits(layout.n_units)
    q = np.ones(len(states))
    for layer in layout.hidden_layers:
        below, own = _columns(layout, layer - 1), _columns(layout, layer)
        p = sigmoid(states[:, below] @ w[below, own] + b[own])
        q = q * np.prod(np.where(states[:, own] == 1, p, 1 - p), axis=1)
    return q.reshape(2**layout.n_visible, -1)


def _columns(layout: Layout, layer: int) -> slice:
    return slice(layout.offsets[layer], layout.offsets[layer] + layout.widths[layer])


def sigmoid(z: np.ndarray) -> np.ndarray:
    """1/(1 + e^{−z})."""
    return 1 / (1 + np.exp(-z))


def layers(layout: Layout, rows: np.ndarray) -> States:
    """Rows over all units as the package's states."""
    return tuple(jnp.asarray(part) for part in np.split(rows, layout.offsets[1:], axis=1))


def whole(states: States) -> np.ndarray:
    """The package's states as rows over all units."""
    return np.concatenate([np.asarray(layer) for layer in states], axis=1)


def random_law(n_states: int, seed: int, support: np.ndarray | None = None) -> np.ndarray:
    """Probabilities that have nothing to do with any machine, on all states or on some."""
    weights = np.random.default_rng(seed).exponential(size=n_states) + 0.1
    weights = weights if support is None else np.where(support, weights, 0.0)
    return weights / weights.sum()


def even_parity(n_units: int) -> np.ndarray:
    """States with an even number of ones: no two of them are one flip apart."""
    return bits(n_units).sum(axis=1) % 2 == 0


def perturbed(machine: Machine, scale: float, seed: int) -> Machine:
    """The machine with Gaussian noise on all its parameters."""
    draw = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf) + scale * draw.normal(size=leaf.shape)), machine)


def minimise(objective: Callable[[Machine], jax.Array], start: Machine) -> Machine:
    """The minimum of a convex function of a machine, by Newton's method."""
    first, unflatten = ravel_pytree(start)
    return unflatten(jnp.asarray(minimise_vector(lambda flat: objective(unflatten(flat)), np.asarray(first))))


def minimise_vector(objective: Callable[[jax.Array], jax.Array], start: np.ndarray) -> np.ndarray:
    """The minimum of a smooth convex function of a vector, by Newton's method with halved steps."""
    expand = jax.jit(lambda at: (objective(at), jax.grad(objective)(at), jax.hessian(objective)(at)))
    found = np.array(start)
    for _ in range(100):
        value, gradient, hessian = map(np.asarray, expand(found))
        step = np.linalg.lstsq(hessian, gradient)[0]
        while np.abs(step).max() > 1e-9 and expand(found - step)[0] > value:
            step = step / 2
        found = found - step
        if np.abs(step).max() < 1e-13:
            return found
    raise AssertionError("Newton's method has not converged in 100 steps")


def relabelled(machine: Machine, orders: Sequence[np.ndarray]) -> Machine:
    """The same machine with its units in another order: new unit k of a layer is old unit orders[layer][k]."""
    new = [
        _relabel(wiring, np.asarray(array), orders)
        for wiring, array in zip(machine.layout.wirings, machine.couplings, strict=True)
    ]
    layout = Layout(machine.layout.widths, tuple(wiring for wiring, _ in new))
    moved = tuple(jnp.asarray(np.asarray(bias)[order]) for bias, order in zip(machine.biases, orders, strict=True))
    return Machine(layout, tuple(jnp.asarray(array) for _, array in new), moved)


def _relabel(
    wiring: Dense | Lateral | Edges, array: np.ndarray, orders: Sequence[np.ndarray]
) -> tuple[Dense | Lateral | Edges, np.ndarray]:
    if isinstance(wiring, Dense):
        return wiring, array[orders[wiring.upper]][:, orders[wiring.lower]]
    if isinstance(wiring, Lateral):
        full = np.triu(array, 1) + np.triu(array, 1).T
        return wiring, np.triu(full[orders[wiring.layer]][:, orders[wiring.layer]], 1)
    rows, columns = np.argsort(orders[wiring.lower])[wiring.rows], np.argsort(orders[wiring.upper])[wiring.columns]
    moved = edges_between(wiring.lower, wiring.upper, wiring.widths, rows, columns)
    inside = wiring.lower == wiring.upper
    ends = [tuple(sorted(pair)) if inside else pair for pair in zip(rows.tolist(), columns.tolist(), strict=True)]
    weight_of = dict(zip(ends, array, strict=True))
    return moved, np.array([weight_of[i, j] for i, j in zip(moved.rows.tolist(), moved.columns.tolist(), strict=True)])


def exchanged(machine: Machine) -> Machine:
    """The machine that treats 0 as the given one treats 1: w → w, b_i → −(b_i + Σ_j w_ij)."""
    w, b = couplings(machine), biases(machine)
    mirrored = np.split(-(b + w.sum(axis=1)), machine.layout.offsets[1:])
    return Machine(machine.layout, machine.couplings, tuple(jnp.asarray(part) for part in mirrored))


def largest_intermediate(function: Callable[..., object], *arguments: object) -> int:
    """The number of elements of the largest array that a compiled function computes on its way."""
    return max(_sizes(jax.make_jaxpr(function)(*arguments).jaxpr))


def _sizes(jaxpr: jax.extend.core.Jaxpr) -> list[int]:
    found = [0]
    for equation in jaxpr.eqns:
        found += [int(np.prod(variable.aval.shape)) for variable in equation.outvars]
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            found += _sizes(inner) if hasattr(inner, "eqns") else []
    return found
