"""Small machines, exactly: all states, the partition function, marginals, the generator and kernels of sweeps.

States are counted in binary with the first visible unit as the highest digit, so an array over all states reshaped
to (2, 2, …) has one axis a unit.
"""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float

from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, energy
from boltzflow.machine.wiring import States, Units

MOST_UNITS = 20
"""2²⁰ states are about a million; more is a job for an estimate."""

MOST_UNITS_IN_MATRIX = 12
"""A matrix over pairs of states has 4ⁿ entries."""


def all_states(layout: Layout, dtype: DTypeLike = jnp.float32) -> States:
    """Every state of the machine, one a row."""
    _check_small(layout.n_units, MOST_UNITS, "the states")
    bits = binary_digits(layout.n_units).astype(dtype)
    return split_layers(layout, bits)


def binary_digits(n_digits: int) -> np.ndarray:
    """The numbers 0 … 2ⁿ − 1 in binary, one a row, highest digit first."""
    return (np.arange(2**n_digits)[:, None] >> np.arange(n_digits)[::-1]) & 1


def split_layers(layout: Layout, units: Float[np.ndarray, "batch n_units"]) -> States:
    """Columns of all units, cut into layers."""
    return tuple(jnp.asarray(part) for part in np.split(units, layout.offsets[1:], axis=1))


def log_partition(machine: Machine, inverse_temperature: float = 1.0) -> Float[Array, ""]:
    """log Z = log Σ_y exp(−β Energy(y)), by enumeration [§BM: p(x)]."""
    return jax.scipy.special.logsumexp(-inverse_temperature * _energies(machine))


def probabilities(machine: Machine, inverse_temperature: float = 1.0) -> Float[Array, " states"]:
    """p(y) = exp(−β Energy(y)) / Z for every state, by enumeration [§BM: p(x)]."""
    return jax.nn.softmax(-inverse_temperature * _energies(machine))


def visible_probabilities(machine: Machine, inverse_temperature: float = 1.0) -> Float[Array, " visible_states"]:
    """p(x) = Σ_h p(x, h) for every visible state, by enumeration [§BM: p(x)]."""
    return probabilities(machine, inverse_temperature).reshape(2**machine.layout.n_visible, -1).sum(axis=1)


def marginals(machine: Machine, inverse_temperature: float = 1.0) -> tuple[Float[Array, " _"], ...]:
    """p(y_i = 1) for every unit, layer by layer, by enumeration [ours]."""
    p = probabilities(machine, inverse_temperature)
    return tuple(p @ layer for layer in all_states(machine.layout, p.dtype))


def one_flip(n_units: int) -> Bool[np.ndarray, "states states"]:
    """g_xy = 1 if and only if x and y differ in one bit [§VMPF: g]."""
    _check_small(n_units, MOST_UNITS_IN_MATRIX, "the connectivity")
    return hamming_distances(n_units) == 1


def hamming_distances(n_units: int) -> np.ndarray:
    """In how many bits two states differ."""
    states = np.arange(2**n_units)
    return np.bitwise_count(states[:, None] ^ states)


def generator(
    machine: Machine, connected: Bool[np.ndarray, "states states"] | None = None
) -> Float[Array, "states states"]:
    """Γ_xy = g_xy exp(½ (Energy(y) − Energy(x))) for x ≠ y, columns summing to zero; g is one flip unless given [§MPF: Γ]."""
    n_units = machine.layout.n_units
    _check_small(n_units, MOST_UNITS_IN_MATRIX, "the generator")
    connected = one_flip(n_units) if connected is None else _check_connected(connected, 2**n_units)
    energies = _energies(machine)
    rates = jnp.where(connected, jnp.exp(0.5 * (energies[None, :] - energies[:, None])), 0.0)
    return rates - jnp.diag(rates.sum(axis=0))


def block_kernel(
    machine: Machine, layer: int, units: Units = None, inverse_temperature: float = 1.0
) -> Float[Array, "s s"]:
    """P_xy = p(x_B | y_rest) if x and y agree outside the block B of units, else 0: one exact block update [ours]."""
    layout = machine.layout
    _check_small(layout.n_units, MOST_UNITS_IN_MATRIX, "the kernel")
    _check_block(layout, layer, units)
    chosen = np.arange(layout.widths[layer]) if units is None else np.asarray(units)
    digits = layout.n_units - 1 - (layout.offsets[layer] + chosen)
    rest = np.arange(2**layout.n_units) & ~int(sum(1 << int(digit) for digit in digits))
    agree = rest[:, None] == rest[None, :]
    weights = jnp.where(agree, probabilities(machine, inverse_temperature)[:, None], 0.0)
    return weights / weights.sum(axis=0)


def sweep_kernel(
    machine: Machine, blocks: Iterable[tuple[int, Units]], inverse_temperature: float = 1.0
) -> Float[Array, "s s"]:
    """P = P_last ⋯ P_first: block updates one after the other [ours]."""
    _check_small(machine.layout.n_units, MOST_UNITS_IN_MATRIX, "the kernel")
    kernel = jnp.eye(2**machine.layout.n_units, dtype=machine.dtype)
    for layer, units in blocks:
        kernel = block_kernel(machine, layer, units, inverse_temperature) @ kernel
    return kernel


def _check_connected(connected: np.ndarray, n_states: int) -> np.ndarray:
    if connected.shape != (n_states, n_states):
        raise InputError(
            f"connected has one entry for each pair of states, {(n_states,) * 2}; got shape {connected.shape}."
        )
    if (connected != connected.T).any():
        raise InputError("connected must be symmetric: where a state can be left for another, it can be come back to.")
    return connected


def _check_block(layout: Layout, layer: int, units: Units) -> None:
    if not 0 <= layer < len(layout.widths):
        raise InputError(f"layer is one of 0 to {len(layout.widths) - 1}; got {layer}.")
    width = layout.widths[layer]
    if units is not None and (outside := units[(units < 0) | (units >= width)]).size:
        raise InputError(f"layer {layer} has {width} unit{'s' * (width > 1)}, counted from 0; got {outside[0]}.")


def _energies(machine: Machine) -> Float[Array, " states"]:
    return energy(machine, all_states(machine.layout, machine.dtype))


def _check_small(n_units: int, most: int, what: str) -> None:
    if n_units > most:
        raise InputError(
            f"{what} of {n_units} units cannot be enumerated: there are 2^{n_units} states; the limit is {most} units."
        )
