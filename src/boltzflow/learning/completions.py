"""Completions: hidden states drawn for each example, the E-step of the paper.

Feed-forward, hidden layers are drawn from the bottom up, each from what it hears from below (Algorithm 1 leaves the inputs
from above out); where units of a layer are coupled to each other, one or more sweeps inside the layer follow. Without couplings
between hidden units this is one exact draw from p(h | x). A joint deep machine may also be completed by Gibbs sweeps or by
mean field.
"""

from typing import Literal, TypeAlias

import jax
from jaxtyping import Array, Bool, Float

from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack
from boltzflow.machine.wiring import States
from boltzflow.sampling.meanfield import mean_field
from boltzflow.sampling.sweeps import FREE, Block, Conditions, blank, sweep, sweeps, update_block
from boltzflow.sampling.uniforms import Stream

Order: TypeAlias = Literal["algorithm-1", "authors"]
"""What the next pair of a stack learns from: a layer's swept state, or, as the authors ran it, its state before the sweeps."""


def complete(
    machine: Machine,
    visible: Float[Array, "batch n_visible"],
    stream: Stream,
    inverse_temperature: float = 1.0,
    n_sweeps: int = 1,
) -> States:
    """h_i ~ p(h_i | h_{i−1}) for i = 1 … ℓ, then sweeps inside each layer that has couplings of its own [Alg. 1]."""
    states = blank(machine, visible)
    for layer in machine.layout.hidden_layers:
        states = draw_upwards(machine, states, layer, stream, inverse_temperature)
        states = sweep_inside(machine, states, layer, stream, inverse_temperature, n_sweeps)
    return states


def draw_upwards(
    machine: Machine, states: States, layer: int, stream: Stream, inverse_temperature: float = 1.0
) -> States:
    """h_i ~ p(h_i | h_{i−1}), all units of the layer at once: neither layers above nor the layer itself are heard [Alg. 1]."""
    deaf = frozenset(range(layer, len(machine.layout.widths)))
    return update_block(machine, states, Block(layer), stream, Conditions(inverse_temperature, FREE.clamp, deaf))


def sweep_inside(
    machine: Machine, states: States, layer: int, stream: Stream, inverse_temperature: float, n_sweeps: int
) -> States:
    """Sweeps over the units of one layer given itself and the layer below; nothing where its units are not coupled [Eq. 5]."""
    if not machine.layout.coupled_inside(layer):
        return states
    above = frozenset(range(layer + 1, len(machine.layout.widths)))
    conditions = Conditions(inverse_temperature, FREE.clamp, above)
    first = len(machine.layout.widths) + 1
    return jax.lax.fori_loop(
        0, n_sweeps, lambda k, y: sweep(machine, y, stream.fold(first + k), conditions, (layer,)), states
    )


def complete_stack(
    stack: Stack,
    visible: Float[Array, "batch n_visible"],
    stream: Stream,
    inverse_temperature: float = 1.0,
    n_sweeps: int = 1,
    order: Order = "algorithm-1",
) -> tuple[States, ...]:
    """The states that each pair learns from, upwards: its lower layer as data, its upper layer drawn and swept [Alg. 1].

    In the authors' order a pair's data are the draws of its lower layer before any sweep.
    """
    below, found = visible, []
    for k, pair in enumerate(stack.pairs):
        own = stream.fold(k)
        drawn = draw_upwards(pair, blank(pair, below), 1, own, inverse_temperature)
        swept = sweep_inside(pair, drawn, 1, own, inverse_temperature, n_sweeps)
        found.append(swept)
        below = (drawn if order == "authors" else swept)[1]
    return tuple(found)


def complete_by_gibbs(
    machine: Machine, states: States, stream: Stream, inverse_temperature: float = 1.0, n_sweeps: int = 1
) -> States:
    """Sweeps over all hidden units given the data, each layer hearing both its neighbours, from the states given [ours]."""
    hidden = tuple(machine.layout.hidden_layers)
    return sweeps(machine, states, stream, n_sweeps, Conditions(inverse_temperature), hidden)


def complete_by_mean_field(
    machine: Machine,
    visible: Float[Array, "batch n_visible"],
    stream: Stream,
    inverse_temperature: float = 1.0,
    n_sweeps: int = 1,
) -> States:
    """h_i ~ Bernoulli(μ_i), each hidden unit on its own from its mean-field probability [ours]."""
    _, *means = mean_field(machine, visible, inverse_temperature, n_sweeps)
    return (visible, *(stream.fold(layer).draw(mean) for layer, mean in enumerate(means, start=1)))


def as_states(model: Model, visible: Bool[Array, "batch n_visible"]) -> Float[Array, "batch n_visible"]:
    """Bits as numbers of the model's type."""
    return visible.astype(model.dtype)
