"""Chains: many copies of a machine swept in parallel, kept now and then; samples from a trained machine."""

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from boltzflow.bits import as_numbers, check_values
from boltzflow.errors import InputError, check_count, check_seed, check_temperature
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import check_model
from boltzflow.machine.wiring import States
from boltzflow.sampling.sweeps import (
    FREE,
    Block,
    Clamp,
    Conditions,
    block_probabilities,
    clamp_states,
    constant_states,
    sweeps,
)
from boltzflow.sampling.uniforms import Purpose, Stream, stream

Kept: TypeAlias = tuple[Float[Array, "kept batch _"], ...]
"""States of all chains at the times they were looked at, one array per layer."""


@dataclass(frozen=True)
class Schedule:
    """When a chain is looked at: after `burn_in` sweeps, then every `thin` sweeps, `n_kept` times in all."""

    n_kept: int = 1
    burn_in: int = 1000
    thin: int = 1

    def __post_init__(self) -> None:
        check_count("n_kept", self.n_kept)
        check_count("burn_in", self.burn_in, least=0)
        check_count("thin", self.thin)


@partial(jax.jit, static_argnums=3)
def run_chains(
    machine: Machine, states: States, draws: Stream, schedule: Schedule, conditions: Conditions = FREE
) -> Kept:
    """The kept states of each chain, with an axis in front for the time they were kept at."""
    burnt = sweeps(machine, states, draws.fold(0), schedule.burn_in, conditions)

    def advance(y: States, k: Array) -> tuple[States, States]:
        y = sweeps(machine, y, draws.fold(k), schedule.thin, conditions)
        return y, y

    later = jax.lax.scan(advance, burnt, jnp.arange(1, schedule.n_kept))[1]
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), burnt, later)


@partial(jax.jit, static_argnums=(0, 1))
def random_states(layout: Layout, dtype: jnp.dtype, draws: Stream, conditions: Conditions = FREE) -> States:
    """Every free unit 0 or 1 with equal chance."""
    halves = constant_states(layout, draws.examples.shape[0], 0.5, dtype)
    drawn = tuple(draws.fold(layer).draw(half) for layer, half in enumerate(halves))
    return clamp_states(drawn, conditions)


@jax.jit
def visible_probabilities(
    machine: Machine, states: States, conditions: Conditions = FREE
) -> Float[Array, "batch n_visible"]:
    """p(x_i = 1 | all other units), what is held at its held value [Alg. 2]."""
    probabilities = block_probabilities(machine, states, Block(0), conditions)
    return clamp_states((probabilities, *states[1:]), conditions)[0]


def sample(
    machine: Machine,
    n_samples: int = 1,
    *,
    n_chains: int | None = None,
    burn_in: int = 1000,
    thin: int = 10,
    temperature: float = 1.0,
    given: Any = None,
    probabilities: bool = False,
    seed: int = 0,
) -> np.ndarray:
    """Visible states drawn from a machine by Gibbs sampling from random starts, one row a sample.

    Each sample has a chain of its own unless `n_chains` is smaller; then the chains take turns, `thin` sweeps apart.
    `given` holds visible units: one row of 0, 1 and NaN for what is free, or one such row for each chain. With
    `probabilities` each row is p(x_i = 1 | the rest of the state) instead of the drawn bits: smoother pictures.
    """
    check_joint(machine, "be sampled by Gibbs sweeps", "generate")
    n_samples = check_count("n_samples", n_samples)
    n_chains = min(n_samples, check_count("n_chains", n_samples if n_chains is None else n_chains))
    schedule = Schedule(-(-n_samples // n_chains), burn_in, thin)
    temperature = check_temperature(temperature)
    conditions = Conditions(1.0 / temperature, None if given is None else hold(machine, given, n_chains))
    draws = stream(jax.random.key(check_seed(seed)), Purpose.CHAINS, jnp.arange(n_chains))
    first = random_states(machine.layout, machine.dtype, draws.fold(0), conditions)
    kept = run_chains(machine, first, draws.fold(1), schedule, conditions)
    seen = [
        visible_probabilities(machine, states, conditions) if probabilities else states[0]
        for states in (jax.tree.map(lambda y, k=k: y[k], kept) for k in range(schedule.n_kept))
    ]
    return np.concatenate([np.asarray(rows) for rows in seen])[:n_samples]


def check_joint(machine: Any, what: str, instead: str) -> None:
    """Refuse a stack where one joint law is needed, and what is no machine at all."""
    check_model(machine)
    if not isinstance(machine, Machine):
        raise InputError(
            f"a stack has no joint law, so it cannot {what}; use {instead}, or one of its pairs: {machine}."
        )


def hold(machine: Machine, given: Any, n_rows: int) -> Clamp:
    """Hold visible units at given bits, one row for all chains or one for each; NaN leaves a unit free."""
    rows = as_numbers(given)
    values = check_values(rows[None, :] if rows.ndim == 1 and len(rows) else rows, machine.layout.n_visible)
    if len(values) not in (1, n_rows):
        raise InputError(f"`given` has {len(values)} rows for {n_rows} chains; give one row, or one for each chain.")
    if (between := np.argwhere((values > 0) & (values < 1))).size:
        row, column = between[0]
        raise InputError(
            f"units are held at 0 or 1, NaN leaves one free; got {values[row, column]:g} in row {row}, column {column}."
        )
    return hold_visible(machine, np.broadcast_to(values, (n_rows, values.shape[1])))


def hold_visible(machine: Machine, values: np.ndarray) -> Clamp:
    """Hold the visible units that have a value; nothing is held in hidden layers."""
    free = tuple(jnp.zeros((len(values), width), bool) for width in machine.layout.widths[1:])
    zeros = tuple(part.astype(machine.dtype) for part in free)
    held = jnp.asarray(~np.isnan(values))
    return Clamp((held, *free), (jnp.asarray(np.nan_to_num(values), machine.dtype), *zeros))
