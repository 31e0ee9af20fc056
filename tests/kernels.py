"""The package's own sweep as a matrix over states, from the probabilities of its blocks: what a draw of it must follow."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np

import oracles
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Lateral
from boltzflow.sampling.sweeps import Block, Conditions, block_probabilities, sweep_plan


def units_of(layout: Layout, block: Block) -> list[int]:
    """The units of a block, all units counted through."""
    units = range(layout.widths[block.layer]) if block.units is None else block.units
    return [layout.offsets[block.layer] + unit for unit in units]


def plan_in_single_file(layout: Layout) -> list[Block]:
    """The blocks of a sweep, with units that are drawn in order as blocks of their own."""
    blocks = []
    for block in sweep_plan(layout):
        alone = [Block(block.layer, (unit,)) for unit in range(layout.widths[block.layer])]
        blocks += alone if block.in_order else [block]
    return blocks


def block_kernel(machine: Machine, block: Block, beta: float = 1.0) -> np.ndarray:
    """The chance to get from state y to state x, in row x and column y, when a block is drawn."""
    layout = machine.layout
    states, own = oracles.bits(layout.n_units), units_of(layout, block)
    p = np.asarray(block_probabilities(machine, oracles.layers(layout, states), block, Conditions(beta)))
    rest = np.delete(states, own, axis=1)
    same_rest = (rest[:, None] == rest[None]).all(axis=2)
    return same_rest * np.prod(np.where(states[:, None, own] == 1, p, 1 - p), axis=2)


def kernel_of(machine: Machine, blocks: Iterable[Block], beta: float = 1.0) -> np.ndarray:
    """The same for blocks that are drawn one after the other."""
    kernel = np.eye(2**machine.layout.n_units)
    for block in blocks:
        kernel = block_kernel(machine, block, beta) @ kernel
    return kernel


def sweep_kernel(machine: Machine, beta: float = 1.0) -> np.ndarray:
    """The same for a whole sweep."""
    return kernel_of(machine, plan_in_single_file(machine.layout), beta)


def domino(n_units: int) -> Machine:
    """Sweeps that can be counted: the last unit stays at 1, and each sweep one more falls to 1, from the right."""
    chain = jnp.diag(jnp.full(n_units - 1, 2000.0), 1)
    biases = jnp.full(n_units, -1000.0).at[-1].set(4000.0)
    return Machine(Layout((n_units,), (Lateral(0, n_units),)), (chain,), (biases,))
