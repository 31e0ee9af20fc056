"""Algorithm 2: pictures from the top down. Each pair of layers is swept on its own, and its lower state starts the next pair.

It is no draw from the law of a joint machine: layers further up or down are not heard. For a stack it is the one way to generate.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from boltzflow.bits import check_no_missing, check_values
from boltzflow.errors import InputError, check_choice, check_count, check_seed
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack, as_stack, check_model
from boltzflow.sampling.sweeps import Block, Conditions, block_probabilities, sweeps, update_block
from boltzflow.sampling.uniforms import Purpose, Stream, stream

Prior: TypeAlias = Literal["uniform", "mean"]

_MOST_ROWS = 10_000
"""Rows that one compiled program carries."""


def generate(
    model: Stack | Machine,
    n_samples: int = 100,
    *,
    prior: Prior | Sequence[float] | Float[np.ndarray, " top"] = "uniform",
    data: Any = None,
    r: int = 5,
    n_sweeps: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """Pixel probabilities by Algorithm 2, one row a sample; a joint machine is taken pair by pair.

    The top layer starts from coin flips ("uniform"), from the mean activations of `data` propagated upwards ("mean"), or from
    a probability for each top unit. Each pair takes `r` steps down and up; inside a coupled layer each step up is followed by
    `n_sweeps` sweeps.
    """
    check_model(model)
    n_samples = check_count("n_samples", n_samples)
    r, n_sweeps = check_count("r", r), check_count("n_sweeps", n_sweeps)
    of = model if isinstance(model, Stack) else as_stack(model)
    top = jnp.asarray(_top_prior(of, prior, data), of.dtype)
    draws = stream(jax.random.key(check_seed(seed)), Purpose.CHAINS, jnp.arange(n_samples))
    parts = [
        _generate(of, top, Stream(draws.key, draws.examples[first : first + _MOST_ROWS]), r, n_sweeps)
        for first in range(0, n_samples, _MOST_ROWS)
    ]
    return np.concatenate([np.asarray(part) for part in parts])


@partial(jax.jit, static_argnums=(3, 4))
def _generate(
    of: Stack, top: Float[Array, " top"], draws: Stream, r: int, n_sweeps: int
) -> Float[Array, "batch n_visible"]:
    rows = jnp.broadcast_to(top, (draws.examples.shape[0], top.shape[0]))
    return descend_stack(of, draws.fold(0).draw(rows), draws.fold(1), r, n_sweeps)


def descend_stack(
    of: Stack, top: Float[Array, "batch top"], draws: Stream, r: int, n_sweeps: int
) -> Float[Array, "batch n_visible"]:
    """From a state of the top layer down to p(x_i = 1 | h_1): r steps in each pair [Alg. 2]."""
    states = (top,)
    for k, pair in reversed(list(enumerate(of.pairs))):
        above, own = states[0], draws.fold(k)
        below = jnp.zeros((above.shape[0], pair.layout.widths[0]), above.dtype)
        states = jax.lax.fori_loop(
            0, r, lambda step, y, pair=pair, own=own: pair_step(pair, y, own.fold(step), n_sweeps), (below, above)
        )
    return block_probabilities(of.pairs[0], states, Block(0))


def pair_step(
    pair: Machine, states: tuple[Float[Array, "batch _"], ...], draws: Stream, n_sweeps: int
) -> tuple[Float[Array, "batch _"], ...]:
    """h_{i−1} given h_i, h_i given h_{i−1}, then sweeps inside h_i where it is coupled: one round of the inner loop [Alg. 2]."""
    for layer in (0, 1):
        deaf = Conditions(silent=frozenset({layer}))
        states = update_block(pair, states, Block(layer), draws.fold(0), deaf)
        if pair.layout.coupled_inside(layer):
            states = sweeps(pair, states, draws.fold(1 + layer), n_sweeps, layers=(layer,))
    return states


def mean_activations(of: Stack, data: Any) -> Float[np.ndarray, " top"]:
    """Probabilities propagated upwards, p_k = σ(W_k p_{k−1} + c_k), averaged over the data [§DBM: P].

    Data go in as they are: for grey data give the bits that the model learned from, or their probabilities.
    """
    visible = check_values(data, of.layout.n_visible)
    check_no_missing(visible)
    starts = range(0, len(visible), _MOST_ROWS)
    sums = [_propagated(of, jnp.asarray(visible[k : k + _MOST_ROWS], of.dtype)) for k in starts]
    return np.asarray(sum(np.asarray(part, dtype=np.float64) for part in sums)) / len(visible)


@jax.jit
def _propagated(of: Stack, visible: Float[Array, "batch n_visible"]) -> Float[Array, " top"]:
    probabilities = visible
    for pair in of.pairs:
        above = jnp.zeros((visible.shape[0], pair.layout.widths[1]), of.dtype)
        deaf = Conditions(silent=frozenset({1}))
        probabilities = block_probabilities(pair, (probabilities, above), Block(1), deaf)
    return jnp.sum(probabilities, axis=0)


def _top_prior(of: Stack, prior: Prior | Sequence[float] | np.ndarray, data: Any) -> Float[np.ndarray, " top"]:
    width = of.layout.widths[-1]
    if not isinstance(prior, str):
        try:
            given = np.asarray(prior, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"a prior is one probability for each of the {width} top units; got {prior!r}.") from None
        if given.shape != (width,) or not ((given >= 0) & (given <= 1)).all():
            raise InputError(
                f"a prior is one probability for each of the {width} top units; got shape {given.shape} "
                f"with values from {given.min(initial=np.inf):g} to {given.max(initial=-np.inf):g}."
            )
        return given
    check_choice("prior", prior, ("uniform", "mean"))
    if prior == "uniform":
        return np.full(width, 0.5)
    if data is None:
        raise InputError("prior 'mean' propagates data upwards; give data=, rows of visible values.")
    return mean_activations(of, data)
