"""Machines in one line: fully visible, restricted, deep, or any graph."""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float

from boltzflow.errors import InputError, check_count, check_seed
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Dense, Edges, Lateral, Wiring


def visible(n_visible: int, *, dtype: DTypeLike = jnp.float32) -> Machine:
    """A fully visible machine: every pair of units is coupled. Starts at zero: its flow is convex, nothing to break."""
    width = check_count("n_visible", n_visible)
    return zero_machine(Layout((width,), (Lateral(0, width),)), dtype=dtype)


def rbm(n_visible: int, n_hidden: int, *, seed: int = 0, dtype: DTypeLike = jnp.float32) -> Machine:
    """A restricted Boltzmann machine: visible units coupled to hidden units, nothing inside a layer."""
    widths = (check_count("n_visible", n_visible), check_count("n_hidden", n_hidden))
    return random_machine(Layout(widths, (Dense(0, 1, widths),)), seed=seed, dtype=dtype)


def deep(
    *widths: int, lateral: bool | Sequence[bool] = False, seed: int = 0, dtype: DTypeLike = jnp.float32
) -> Machine:
    """One joint deep machine: the first width is visible; `lateral` couples the units inside hidden layers.

    `lateral` is one word for all hidden layers, or one for each.
    """
    counts = layer_widths(widths)
    wanted = hidden_flags(lateral, len(counts) - 1)
    between = [Dense(k, k + 1, (counts[k], counts[k + 1])) for k in range(len(counts) - 1)]
    inside = [Lateral(k, counts[k]) for k, coupled in enumerate(wanted, start=1) if coupled]
    return random_machine(Layout(counts, (*between, *inside)), seed=seed, dtype=dtype)


def layer_widths(widths: Sequence[int]) -> tuple[int, ...]:
    """Widths of a visible and at least one hidden layer, checked."""
    if len(widths) < 2:
        raise InputError(f"a deep machine needs a visible and at least one hidden layer; got widths {tuple(widths)}.")
    return tuple(check_count(f"the width of layer {layer}", width) for layer, width in enumerate(widths))


def hidden_flags(lateral: bool | Sequence[bool], n_hidden_layers: int) -> tuple[bool, ...]:
    """For each hidden layer whether its units are coupled to each other."""
    lateral = lateral.tolist() if isinstance(lateral, (np.bool_, np.ndarray)) else lateral
    if not isinstance(lateral, (bool, Sequence)) or isinstance(lateral, str):
        raise InputError(f"lateral is True, False or one of them for each hidden layer; got {lateral!r}.")
    each = (lateral,) * n_hidden_layers if isinstance(lateral, bool) else tuple(lateral)
    if len(each) != n_hidden_layers:
        raise InputError(f"lateral names {len(each)} layers, but there are {n_hidden_layers} hidden ones.")
    if not all(isinstance(one, bool) for one in each):
        raise InputError(f"lateral is True, False or one of them for each hidden layer; got {lateral!r}.")
    return each


def zero_machine(layout: Layout, *, dtype: DTypeLike = jnp.float32) -> Machine:
    """All couplings and biases zero: every state has the same probability."""
    check_dtype(dtype)
    couplings = tuple(jnp.zeros(wiring.weight_shape, dtype) for wiring in layout.wirings)
    return Machine(layout, couplings, tuple(jnp.zeros(width, dtype) for width in layout.widths))


def random_machine(
    layout: Layout, *, scale: float = 1.0, bias_scale: float = 0.0, seed: int = 0, dtype: DTypeLike = jnp.float32
) -> Machine:
    """Couplings N(0, scale²/(n_lower·n_upper)) and biases N(0, bias_scale²): small, to tell hidden units apart."""
    check_dtype(dtype)
    keys = jax.random.split(jax.random.key(check_seed(seed)), len(layout.wirings) + len(layout.widths))
    n_wirings = len(layout.wirings)
    couplings = tuple(
        _draw(wiring, scale, key, dtype) for wiring, key in zip(layout.wirings, keys[:n_wirings], strict=True)
    )
    biases = tuple(
        bias_scale * jax.random.normal(key, (width,), dtype)
        for width, key in zip(layout.widths, keys[n_wirings:], strict=True)
    )
    return Machine(layout, couplings, biases)


def check_dtype(dtype: DTypeLike) -> None:
    """Refuse numbers that a machine cannot be trained in; half precision loses the optimiser's small terms."""
    try:
        name = jnp.dtype(dtype).name
    except TypeError:
        name = repr(dtype)
    if name not in ("float32", "float64", "bfloat16"):
        raise InputError(f"dtype is float32, float64 or bfloat16; got {name}.")


def _draw(wiring: Wiring, scale: float, key: Array, dtype: DTypeLike) -> Float[Array, "..."]:
    weights = (
        scale / math.sqrt(wiring.widths[0] * wiring.widths[1]) * jax.random.normal(key, wiring.weight_shape, dtype)
    )
    return jnp.triu(weights, 1) if isinstance(wiring, Lateral) else weights


def edges_between(lower: int, upper: int, widths: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> Edges:
    """An edge list in its standard order; inside a layer the smaller unit comes first."""
    if lower == upper:
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    order = np.lexsort((columns, rows))
    return Edges(lower, upper, widths, rows[order], columns[order])
