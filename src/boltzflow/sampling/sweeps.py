"""Gibbs sweeps: every unit drawn once from its law given the others, block after block.

A block is a set of units that are drawn together because no two of them are coupled: a layer, or one colour of a graph.
Units of a densely coupled layer are drawn one after the other in a fixed order.
"""

from dataclasses import dataclass
from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, layer_fields
from boltzflow.machine.wiring import Edges, Lateral, States, Units
from boltzflow.sampling.ordered import draw_in_blocks
from boltzflow.sampling.uniforms import Stream


@dataclass(frozen=True)
class Block:
    """Units of one layer that are drawn together, or, where they are all coupled, in order."""

    layer: int
    units: tuple[int, ...] | None = None
    """None means the whole layer."""
    in_order: bool = False
    backwards: bool = False
    """Where units are drawn in order: from the last to the first."""

    @property
    def chosen(self) -> Units:
        return None if self.units is None else np.array(self.units)


class Clamp(eqx.Module):
    """Units that are held at given values, for each example its own."""

    held: tuple[Bool[Array, "batch _"], ...]
    values: States

    def apply(self, layer: int, drawn: Float[Array, "batch _"], units: Units = None) -> Float[Array, "batch _"]:
        """The drawn values, except where a unit is held."""
        held, values = self.held[layer], self.values[layer]
        if units is not None:
            held, values = held[:, units], values[:, units]
        return jnp.where(held, values, drawn)


class Conditions(eqx.Module):
    """Under which conditions units are drawn: the temperature, what is held, which layers are not heard."""

    inverse_temperature: float | Float[Array, ""] = 1.0
    clamp: Clamp | None = None
    silent: frozenset[int] = eqx.field(static=True, default=frozenset())


FREE = Conditions()
"""Temperature one, nothing held, every layer heard."""


@lru_cache(maxsize=256)
def sweep_plan(layout: Layout, layers: tuple[int, ...] | None = None) -> tuple[Block, ...]:
    """The blocks of one sweep: hidden layers from the bottom up, then the visible one; or just the layers named."""
    order = (*layout.hidden_layers, 0) if layers is None else layers
    return tuple(block for layer in order for block in _blocks(layout, layer))


def _blocks(layout: Layout, layer: int) -> list[Block]:
    inside = [wiring for wiring in layout.wirings if wiring.layers == {layer}]
    if any(isinstance(wiring, Lateral) for wiring in inside):
        return [Block(layer, in_order=True)]
    edges = [wiring for wiring in inside if isinstance(wiring, Edges)]
    if not edges:
        return [Block(layer)]
    pairs = np.concatenate([np.stack([wiring.rows, wiring.columns], axis=1) for wiring in edges])
    return [Block(layer, tuple(units)) for units in colour_classes(layout.widths[layer], pairs)]


def colour_classes(n_units: int, pairs: Int[np.ndarray, "pairs 2"]) -> list[list[int]]:
    """Units grouped so that no two of a group are coupled: greedily, those with most neighbours first."""
    neighbours: list[list[int]] = [[] for _ in range(n_units)]
    for i, j in pairs.tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    colour = np.full(n_units, -1)
    for unit in sorted(range(n_units), key=lambda k: -len(neighbours[k])):
        taken = set(colour[neighbours[unit]].tolist())
        colour[unit] = next(c for c in range(n_units) if c not in taken)
    return [np.flatnonzero(colour == c).tolist() for c in range(colour.max() + 1)]


def block_probabilities(
    machine: Machine, states: States, block: Block, conditions: Conditions = FREE
) -> Float[Array, "batch _"]:
    """p(y_i = 1 | all other units) = σ(β z_i) for the units of a block [§RBM: p(h|x)]."""
    fields = layer_fields(machine, states, block.layer, block.chosen, conditions.silent)
    return jax.nn.sigmoid(conditions.inverse_temperature * fields)


def update_block(
    machine: Machine, states: States, block: Block, stream: Stream, conditions: Conditions = FREE
) -> States:
    """The states with one block drawn anew; the stream is that of the sweep."""
    stream = stream.fold(block.layer)
    if block.in_order:
        return replace_layer(states, block.layer, _draw_in_order(machine, states, block, stream, conditions))
    units = block.chosen
    probabilities = block_probabilities(machine, states, block, conditions)
    drawn = stream.draw(probabilities, None if units is None else jnp.asarray(units))
    if conditions.clamp is not None:
        drawn = conditions.clamp.apply(block.layer, drawn, units)
    return replace_layer(states, block.layer, drawn if units is None else states[block.layer].at[:, units].set(drawn))


def _draw_in_order(
    machine: Machine, states: States, block: Block, stream: Stream, conditions: Conditions
) -> Float[Array, "batch n"]:
    """Units of a densely coupled layer one by one, each given all the others as they are now [Eq. 5]."""
    layer, clamp = block.layer, conditions.clamp
    external = layer_fields(machine, states, layer, silent=conditions.silent | {layer})
    within = couplings_inside(machine, layer)
    if within is None or layer in conditions.silent:
        within = jnp.zeros((machine.layout.widths[layer],) * 2, machine.dtype)
    hold = None if clamp is None else (clamp.held[layer], clamp.values[layer])
    own = states[layer]
    if block.backwards:
        within, external, own, hold = jax.tree.map(_turned, (within[::-1], external, own, hold))
    drawn = draw_in_blocks(within, external, own, stream, conditions.inverse_temperature, hold)
    return _turned(drawn) if block.backwards else drawn


def _turned(units: Array) -> Array:
    """Columns from the last to the first."""
    return units[:, ::-1]


def couplings_inside(machine: Machine, layer: int) -> Float[Array, "n n"] | None:
    """The symmetric couplings of a densely coupled layer."""
    for k, wiring in machine.layout.wirings_of(layer):
        if isinstance(wiring, Lateral):
            return wiring.symmetric(machine.couplings[k])
    return None


def sweep(
    machine: Machine,
    states: States,
    stream: Stream,
    conditions: Conditions = FREE,
    layers: tuple[int, ...] | None = None,
) -> States:
    """One pass over all units, or over the layers named, each drawn given the rest [Eq. 5]."""
    for block in sweep_plan(machine.layout, layers):
        states = update_block(machine, states, block, stream, conditions)
    return states


def sweeps(
    machine: Machine,
    states: States,
    stream: Stream,
    n_sweeps: int | Int[Array, ""],
    conditions: Conditions = FREE,
    layers: tuple[int, ...] | None = None,
) -> States:
    """Several sweeps, each with random numbers of its own."""
    return jax.lax.fori_loop(0, n_sweeps, lambda k, y: sweep(machine, y, stream.fold(k), conditions, layers), states)


def clamp_states(states: States, conditions: Conditions) -> States:
    """The states with what is held at its held values."""
    clamp = conditions.clamp
    return states if clamp is None else tuple(clamp.apply(layer, values) for layer, values in enumerate(states))


def replace_layer(states: States, layer: int, values: Float[Array, "batch _"]) -> States:
    """The states with one layer exchanged."""
    return (*states[:layer], values, *states[layer + 1 :])


def constant_states(layout: Layout, n_rows: int, value: float, dtype: jnp.dtype) -> States:
    """Every unit at one value."""
    return tuple(jnp.full((n_rows, width), value, dtype) for width in layout.widths)


def blank(machine: Machine, visible: Float[Array, "batch n_visible"]) -> States:
    """The data, and hidden units that are all 0: they say nothing to each other."""
    return (visible, *(jnp.zeros((visible.shape[0], width), visible.dtype) for width in machine.layout.widths[1:]))
