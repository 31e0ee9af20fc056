"""Filling gaps: missing visible units drawn by Gibbs sampling while the known ones are held."""

from functools import partial
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from boltzflow.bits import check_binarise, check_values
from boltzflow.errors import InputError, check_count, check_seed, check_temperature
from boltzflow.machine.machine import Machine
from boltzflow.sampling.chains import check_joint, hold_visible, random_states, visible_probabilities
from boltzflow.sampling.sweeps import Conditions, sweeps
from boltzflow.sampling.uniforms import Purpose, Stream, stream

_MOST_VALUES = 2**24
"""Unit states that one compiled program holds."""


def impute(
    machine: Machine,
    values: Any,
    *,
    n_sweeps: int = 20,
    n_chains: int = 1,
    temperature: float = 1.0,
    binarise: float = 0.5,
    seed: int = 0,
) -> np.ndarray:
    """The table with each missing value (NaN) replaced by the probability that it is 1; known values come back as given.

    Each row starts from coin flips in its gaps and is swept `n_sweeps` times with its known bits held. One chain gives a
    draw's last word, p(x_i = 1 | the rest of its state); the mean over several `n_chains` is nearer to p(x_i = 1 | known).
    Known grey values are heard as bits (above `binarise`).
    """
    check_joint(machine, "fill gaps", "as_deep(stack)")
    _check(n_sweeps, n_chains, temperature, binarise, seed)
    known = check_values(values, machine.layout.n_visible)
    chains = imputation_chains(machine, known, n_sweeps, n_chains, temperature, binarise, seed)
    return np.where(np.isnan(known), chains.mean(axis=0), known)


def imputation_chains(
    machine: Machine,
    values: np.ndarray,
    n_sweeps: int,
    n_chains: int,
    temperature: float = 1.0,
    binarise: float = 0.5,
    seed: int = 0,
) -> Float[np.ndarray, "chains rows n_visible"]:
    """p(x_i = 1 | the rest of the state) at the end of each chain, known units at their bits [ours]."""
    bits = np.where(np.isnan(values), np.nan, values > binarise)
    key = jax.random.key(seed)
    n_rows = max(1, _MOST_VALUES // machine.layout.n_units)
    starts = range(0, len(bits), n_rows)

    def one_chain(chain: int) -> np.ndarray:
        own = jax.random.fold_in(key, chain)
        parts = [_fill(machine, bits[k : k + n_rows], n_sweeps, temperature, own, k) for k in starts]
        return np.concatenate(parts)

    return np.stack([one_chain(chain) for chain in range(n_chains)])


def _fill(
    machine: Machine, bits: np.ndarray, n_sweeps: int, temperature: float, key: Array, first_row: int
) -> np.ndarray:
    conditions = Conditions(1.0 / temperature, hold_visible(machine, bits))
    draws = stream(key, Purpose.CHAINS, first_row + jnp.arange(len(bits)))
    return np.asarray(_swept(machine, draws, n_sweeps, conditions))


@partial(jax.jit, static_argnums=2)
def _swept(machine: Machine, draws: Stream, n_sweeps: int, conditions: Conditions) -> Float[Array, "batch n_visible"]:
    states = random_states(machine.layout, machine.dtype, draws.fold(0), conditions)
    states = sweeps(machine, states, draws.fold(1), n_sweeps, conditions)
    return visible_probabilities(machine, states, conditions)


def _check(n_sweeps: int, n_chains: int, temperature: float, binarise: float, seed: int) -> None:
    check_count("n_sweeps", n_sweeps)
    check_count("n_chains", n_chains)
    check_seed(seed)
    check_temperature(temperature)
    check_binarise(binarise)
    if not isinstance(binarise, Real):
        raise InputError(
            f"known values are heard as bits: binarise is a threshold, at least 0 and below 1; got {binarise!r}."
        )
