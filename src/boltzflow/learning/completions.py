"""Completions: hidden states drawn for each example, the E-step of the paper.

Hidden layers are drawn from the bottom up, each from what it hears from below (Algorithm 1 leaves the inputs from above out);
where units of a layer are coupled to each other, one or more sweeps inside the layer follow. Without couplings between
hidden units this is one exact draw from p(h | x).
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import States
from boltzflow.sampling.sweeps import FREE, Block, Conditions, sweep, update_block
from boltzflow.sampling.uniforms import Stream


def complete(
    machine: Machine,
    visible: Float[Array, "batch n_visible"],
    stream: Stream,
    inverse_temperature: float = 1.0,
    n_sweeps: int = 1,
) -> States:
    """h_i ~ p(h_i | h_{i−1}) for i = 1 … ℓ, then sweeps inside each layer that has couplings of its own [Alg. 1]."""
    layout = machine.layout
    empty = tuple(jnp.zeros((visible.shape[0], width), visible.dtype) for width in layout.widths[1:])
    states: States = (visible, *empty)
    for layer in layout.hidden_layers:
        above = frozenset(range(layer + 1, len(layout.widths)))
        from_below = Conditions(inverse_temperature, FREE.clamp, above | {layer})
        states = update_block(machine, states, Block(layer), stream, from_below)
        if layout.coupled_inside(layer):
            from_layer = Conditions(inverse_temperature, FREE.clamp, above)
            for k in range(1, n_sweeps + 1):
                states = sweep(machine, states, stream.fold(len(layout.widths) + k), from_layer, (layer,))
    return states


def as_states(machine: Machine, visible: Bool[Array, "batch n_visible"]) -> Float[Array, "batch n_visible"]:
    """Bits as numbers of the machine's type."""
    return visible.astype(machine.dtype)
