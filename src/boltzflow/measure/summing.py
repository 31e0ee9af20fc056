"""Units summed out in closed form, and with them the partition function of machines that are small in one direction.

Layers that are wired neither to each other nor inside themselves are independent given all the others, so the sum over
their states is a product. What has to be enumerated, or walked through by chains, are the layers that are kept.
"""

from collections.abc import Iterable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, layer_fields
from boltzflow.machine.wiring import States

MOST = 25
"""Kept units that are enumerated for log Z: 2²⁵ states are a minute or so with a thousand units on the other side."""

_ROWS = 2**15
_NUMBERS = 2**23
"""Numbers of one array in a compiled program, at most, unless one row has more."""


@lru_cache(maxsize=256)
def kept_layers(layout: Layout, given: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The fewest units, in whole layers and with those given, without which no two units of the rest are coupled."""
    rest = _widest_apart(layout, tuple(layer for layer in range(len(layout.widths)) if layer not in given))
    return other_layers(layout, rest)


def other_layers(layout: Layout, layers: tuple[int, ...]) -> tuple[int, ...]:
    """All layers but these."""
    return tuple(layer for layer in range(len(layout.widths)) if layer not in layers)


def n_units_of(layout: Layout, layers: tuple[int, ...]) -> int:
    """Units of these layers together."""
    return sum(layout.widths[layer] for layer in layers)


def _widest_apart(layout: Layout, free: tuple[int, ...]) -> tuple[int, ...]:
    """Of the free layers the widest set with no wiring inside it: the first layer and what it leaves free, or the others."""
    if not free:
        return ()
    first, *others = free
    without = _widest_apart(layout, tuple(others))
    if layout.coupled_inside(first):
        return without
    joined = [wiring.layers for wiring in layout.wirings]
    taken = (first, *_widest_apart(layout, tuple(layer for layer in others if {first, layer} not in joined)))
    return max(without, taken, key=lambda layers: n_units_of(layout, layers))


def log_summed_out(machine: Machine, states: States, kept: tuple[int, ...]) -> Float[Array, " batch"]:
    """log f(s) = log Σ_r exp(−Energy(s, r)) = −Energy(s, 0) + Σ_r log(1 + exp z_r(s)), s in the layers kept [ours].

    Of an RBM whose visible layer is kept this is −F(x). States of other layers are not read.
    """
    own = kept_fields(machine, states, kept)
    pairs = (jnp.sum(states[layer] * (own[layer] + machine.biases[layer]), axis=1) for layer in kept)
    heard = summed_fields(machine, states, kept)
    softened = (jnp.sum(jax.nn.softplus(z), axis=1) for z in heard.values())
    return 0.5 * add_up(pairs, states[0]) + add_up(softened, states[0])


def add_up(terms: Iterable[Float[Array, " batch"]], like: Float[Array, "batch _"]) -> Float[Array, " batch"]:
    """The sum of some terms, zeros where there are none."""
    return sum(terms, jnp.zeros(like.shape[0], like.dtype))


def kept_fields(machine: Machine, states: States, kept: tuple[int, ...]) -> dict[int, Float[Array, "batch _"]]:
    """What the layers kept hear of each other, and their biases."""
    silent = frozenset(other_layers(machine.layout, kept))
    return {layer: layer_fields(machine, states, layer, silent=silent) for layer in kept}


def summed_fields(machine: Machine, states: States, kept: tuple[int, ...]) -> dict[int, Float[Array, "batch _"]]:
    """What the layers that are summed out hear of those kept, and their biases."""
    rest = other_layers(machine.layout, kept)
    return {layer: layer_fields(machine, states, layer, silent=frozenset(rest)) for layer in rest}


def exact_log_partition(machine: Machine) -> float:
    """log Z = log Σ_s f(s) over the states s of the fewest layers that must be kept [ours]."""
    layout, kept = machine.layout, kept_layers(machine.layout)
    n_kept = check_enumerable(layout)
    rows = min(2**n_kept, _ROWS, power_of_two(_NUMBERS // layout.n_units))
    parts = [float(_log_sum(machine, kept, rows, jnp.int32(start))) for start in range(0, 2**n_kept, rows)]
    return float(np.logaddexp.reduce(parts))


def check_enumerable(layout: Layout) -> int:
    """How many units are enumerated; refused where they are too many."""
    n_kept = n_units_of(layout, kept_layers(layout))
    if n_kept > MOST:
        raise InputError(
            f"log Z of the layout {layout} is a sum over 2^{n_kept} states of {n_kept} units, after the others are summed "
            f"in closed form; the limit is {MOST} units. Choose method='ais' for an estimate with an interval."
        )
    return n_kept


def power_of_two(most: int) -> int:
    """The largest power of two that is not above, at least 1."""
    return 1 << max(0, most.bit_length() - 1)


@partial(jax.jit, static_argnums=(1, 2))
def _log_sum(machine: Machine, kept: tuple[int, ...], n_rows: int, start: Int[Array, ""]) -> Float[Array, ""]:
    """log Σ f(s) over as many states of the layers kept, counted in binary from `start` [ours]."""
    states = states_of(machine, kept, start + jnp.arange(n_rows, dtype=jnp.int32))
    return jax.scipy.special.logsumexp(log_summed_out(machine, states, kept))


def states_of(machine: Machine, kept: tuple[int, ...], numbers: Int[Array, " rows"]) -> States:
    """The states of the layers kept with these numbers, highest digit first; zeros in all other layers."""
    layout = machine.layout
    shifts = jnp.arange(n_units_of(layout, kept), dtype=jnp.int32)[::-1]
    digits = ((numbers[:, None] >> shifts) & 1).astype(machine.dtype)
    states = [jnp.zeros((len(numbers), width), machine.dtype) for width in layout.widths]
    for layer in kept:
        states[layer], digits = digits[:, : layout.widths[layer]], digits[:, layout.widths[layer] :]
    return tuple(states)
