"""Mean field: the hidden units as if independent, each at the mean that the means of the others ask for. Nothing is drawn."""

import jax
from jaxtyping import Array, Float

from boltzflow.machine.machine import Machine, layer_fields
from boltzflow.machine.wiring import States
from boltzflow.sampling.sweeps import (
    Block,
    Conditions,
    blank,
    block_probabilities,
    couplings_inside,
    replace_layer,
    sweep_plan,
)


def mean_field(
    machine: Machine, visible: Float[Array, "batch n_visible"], inverse_temperature: float = 1.0, n_sweeps: int = 1
) -> States:
    """μ_i ← σ(β z_i(μ)), each coupled unit after the other, so that the variational free energy falls and it settles [ours]."""
    plan = sweep_plan(machine.layout, tuple(machine.layout.hidden_layers))

    def update(_: Array, means: States) -> States:
        for block in plan:
            means = update_means(machine, means, block, inverse_temperature)
        return means

    return jax.lax.fori_loop(0, n_sweeps, update, blank(machine, visible))


def update_means(machine: Machine, means: States, block: Block, inverse_temperature: float = 1.0) -> States:
    """One block of a mean-field pass: all at once where no two are coupled, else unit by unit [ours]."""
    if block.in_order:
        return _in_order(machine, means, block.layer, inverse_temperature)
    new = block_probabilities(machine, means, block, Conditions(inverse_temperature))
    units = block.chosen
    return replace_layer(means, block.layer, new if units is None else means[block.layer].at[:, units].set(new))


def _in_order(machine: Machine, means: States, layer: int, inverse_temperature: float) -> States:
    external = layer_fields(machine, means, layer, silent=frozenset({layer}))
    within = couplings_inside(machine, layer)
    assert within is not None

    def update(unit: Array, row: Float[Array, "batch n"]) -> Float[Array, "batch n"]:
        field = external[:, unit] + row @ within[:, unit]
        return row.at[:, unit].set(jax.nn.sigmoid(inverse_temperature * field))

    return replace_layer(means, layer, jax.lax.fori_loop(0, machine.layout.widths[layer], update, means[layer]))
