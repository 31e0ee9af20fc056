"""Greedy training: the pairs of a stack one after the other, each on what the trained pair below makes of the data."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped

from boltzflow.bits import prepare
from boltzflow.errors import InputError, check_count, check_seed
from boltzflow.learning.completions import complete
from boltzflow.learning.loop import Run, train
from boltzflow.learning.rules.flow import VPF
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack, check_model
from boltzflow.sampling.uniforms import Purpose, Stream, stream

_MOST_ROWS = 10_000
"""Rows that one compiled program draws."""


@dataclass(frozen=True)
class GreedyRun:
    """The trained stack, and the run of each pair."""

    model: Stack
    runs: tuple[Run[Machine], ...]

    def __repr__(self) -> str:
        return "\n".join([f"GreedyRun({self.model})", *(f"  pair {k}: {run}" for k, run in enumerate(self.runs))])


def train_greedy(
    model: Stack, data: Any, *, sweeps: int | None = None, on_pair: Callable[[int], None] | None = None, **options: Any
) -> GreedyRun:
    """Train pair after pair from the bottom up, by any rule; keywords are those of `train`, the same for each pair.

    Each pair learns from hidden states drawn once from the trained pair below, at the temperature of the rule's completions
    and after `sweeps` sweeps where units are coupled (by default as many as the rule makes). Grey data become bits as the
    first pair's were: by the threshold, or drawn once.
    """
    check_model(model)
    if not isinstance(model, Stack):
        raise InputError(f"train_greedy trains the pairs of a stack; got {model!r}. Use train, or cut it by as_stack.")
    if sweeps is not None:
        check_count("sweeps", sweeps)
    seed = check_seed(options.get("seed", 0))
    rows, trained = data, []
    for k, pair in enumerate(model.pairs):
        if on_pair is not None:
            on_pair(k)
        run = train(pair, rows, **options)
        trained.append(run)
        if k + 1 < len(model.pairs):
            drawn_as = run.rule if isinstance(run.rule, VPF) else VPF()
            values = prepare(rows, pair.layout.n_visible, run.settings.binarise).values
            n_sweeps = drawn_as.sweeps if sweeps is None else sweeps
            rows = draw_hidden(run.model, bits_of(values, seed), n_sweeps, seed, k, 1.0 / drawn_as.temperature)
    return GreedyRun(Stack(tuple(run.model for run in trained)), tuple(trained))


def bits_of(values: Shaped[np.ndarray, "rows n_visible"], seed: int) -> Bool[np.ndarray, "rows n_visible"]:
    """Bits as they are; probabilities drawn once."""
    if values.dtype == bool:
        return values
    draws = stream(jax.random.key(seed), Purpose.BINARISE, jnp.arange(len(values)))
    parts = [
        draw_bits(jnp.asarray(values[k : k + _MOST_ROWS]), _rows(draws, k)) for k in range(0, len(values), _MOST_ROWS)
    ]
    return np.concatenate([np.asarray(part) for part in parts]) > 0.5


@jax.jit
def draw_bits(values: Float[Array, "rows n_visible"], draws: Stream) -> Float[Array, "rows n_visible"]:
    """x_i ~ Bernoulli(value) for every entry [ours]."""
    return draws.draw(values)


def draw_hidden(
    pair: Machine,
    visible: Bool[np.ndarray, "rows n_visible"],
    n_sweeps: int,
    seed: int,
    number: int,
    inverse_temperature: float = 1.0,
) -> Bool[np.ndarray, "rows n_hidden"]:
    """h ~ q(h | x) for every row, in parts that fit into memory [Alg. 1]."""
    key = jax.random.fold_in(jax.random.key(seed), number)
    draws = stream(key, Purpose.COMPLETE, jnp.arange(len(visible)))
    parts = [
        _draw(
            pair, jnp.asarray(visible[k : k + _MOST_ROWS], pair.dtype), _rows(draws, k), n_sweeps, inverse_temperature
        )
        for k in range(0, len(visible), _MOST_ROWS)
    ]
    return np.concatenate([np.asarray(part) for part in parts]) > 0.5


def _rows(draws: Stream, first: int) -> Stream:
    return Stream(draws.key, draws.examples[first : first + _MOST_ROWS])


@partial(jax.jit, static_argnums=3)
def _draw(
    pair: Machine,
    visible: Float[Array, "rows n_visible"],
    draws: Stream,
    n_sweeps: int,
    inverse_temperature: float,
) -> Float[Array, "rows n_hidden"]:
    return complete(pair, visible, draws, inverse_temperature, n_sweeps)[1]
