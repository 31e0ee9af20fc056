"""Reconstruction of corrupted pictures: how far filled-in pixels lie from the original, beside what trivial fills reach.

The fair protocol: a region is missing, its pixels start from coin flips, the known ones are held, and the probabilities after
some sweeps are compared with the greyscale original, summed over the region (L1) and averaged over pictures.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from boltzflow.errors import InputError, check_choice, check_count, check_seed
from boltzflow.machine.machine import Machine
from boltzflow.sampling.chains import check_joint, visible_probabilities
from boltzflow.sampling.imputation import imputation_chains, impute
from boltzflow.sampling.sweeps import sweeps
from boltzflow.sampling.uniforms import Purpose, Stream, stream

Side: TypeAlias = Literal["top", "bottom", "left", "right"]

SIDES: tuple[Side, ...] = ("top", "bottom", "left", "right")

PAPER_SHARE = 12 / 28
"""The paper corrupts 12 of 28 rows or columns."""

_ROWS = 10_000
"""Pictures that one compiled program carries."""

Pictures: TypeAlias = Float[np.ndarray, "pictures pixels"]
Training: TypeAlias = Float[np.ndarray, "training pixels"]


@dataclass(frozen=True)
class TrivialFills:
    """Mean L1 errors over a region that need no learning: a model should be below the first two, and none gets below the last."""

    black: float
    """All pixels 0."""
    median: float
    """Each pixel at its median over the training pictures: the best constant fill."""
    floor: float
    """The best that 0/1 outputs could do: the original itself, rounded."""


def region(shape: tuple[int, int], side: Side, n_lines: int | None = None) -> Bool[np.ndarray, " pixels"]:
    """Which pixels of a (rows, columns) picture are corrupted: `n_lines` rows or columns at one side, by default 12/28 of them.

    >>> region((2, 2), "top", 1).tolist()
    [True, True, False, False]
    """
    check_choice("side", side, SIDES)
    along = shape[0] if side in ("top", "bottom") else shape[1]
    n_lines = max(1, round(PAPER_SHARE * along)) if n_lines is None else check_count("n_lines", n_lines)
    if n_lines >= along:
        raise InputError(f"n_lines must leave something to see: at most {along - 1} of {along}; got {n_lines}.")
    lines = {
        "top": np.s_[:n_lines, :],
        "bottom": np.s_[-n_lines:, :],
        "left": np.s_[:, :n_lines],
        "right": np.s_[:, -n_lines:],
    }
    mask = np.zeros(shape, bool)
    mask[lines[side]] = True
    return mask.ravel()


def without(pictures: Pictures, missing: Bool[np.ndarray, " pixels"]) -> Pictures:
    """The pictures with a region missing (NaN)."""
    return np.where(missing, np.nan, pictures)


def fill_errors(
    originals: Pictures, filled: Pictures, missing: Bool[np.ndarray, " pixels"]
) -> Float[np.ndarray, " pictures"]:
    """‖x − x̂‖₁ over the missing region, for each picture [§RBM: L1]."""
    if missing.shape != originals.shape[1:]:
        raise InputError(f"the region covers {missing.shape[0]} pixels, but the pictures have {originals.shape[1]}.")
    return np.abs(originals[:, missing] - filled[:, missing]).sum(axis=1)


def reconstruction_error(
    machine: Machine,
    originals: Pictures,
    missing: Bool[np.ndarray, " pixels"],
    *,
    n_sweeps: int = 20,
    n_chains: int = 1,
    seed: int = 0,
) -> float:
    """Mean L1 error of a machine's fills by the fair protocol [differs: replacement noise, known pixels held]."""
    filled = impute(machine, without(originals, missing), n_sweeps=n_sweeps, n_chains=n_chains, seed=seed)
    return float(fill_errors(originals, filled, missing).mean())


def unclamped_fill(
    machine: Machine,
    originals: Pictures,
    missing: Bool[np.ndarray, " pixels"],
    *,
    n_sweeps: int = 2,
    binarise: float = 0.5,
    seed: int = 0,
) -> Pictures:
    """The paper's protocol: p(x_i = 1 | h) after `n_sweeps` sweeps that start from x ∨ ξ and hold nothing [§RBM: L1].

    ξ is a coin flip for each pixel of the region, so ink that was there stays; known pixels are put back at the end.
    """
    check_joint(machine, "reconstruct pictures", "as_deep(stack)")
    check_count("n_sweeps", n_sweeps)
    key = jax.random.key(check_seed(seed))
    parts = []
    for first in range(0, len(originals), _ROWS):
        bits = originals[first : first + _ROWS] > binarise
        draws = stream(key, Purpose.CHAINS, first + jnp.arange(len(bits)))
        parts.append(np.asarray(_unclamped(machine, jnp.asarray(bits), jnp.asarray(missing), draws, n_sweeps)))
    return np.where(missing, np.concatenate(parts), originals)


@partial(jax.jit, static_argnums=4)
def _unclamped(
    machine: Machine,
    bits: Bool[Array, "batch n_visible"],
    missing: Bool[Array, " n_visible"],
    draws: Stream,
    n_sweeps: int,
) -> Float[Array, "batch n_visible"]:
    coins = draws.fold(0).draw(jnp.full(bits.shape, 0.5, machine.dtype)) > 0
    noisy = (bits | (missing & coins)).astype(machine.dtype)
    hidden = (jnp.zeros((len(bits), width), machine.dtype) for width in machine.layout.widths[1:])
    states = sweeps(machine, (noisy, *hidden), draws.fold(1), n_sweeps)
    return visible_probabilities(machine, states)


def median_fill(
    machine: Machine,
    originals: Pictures,
    missing: Bool[np.ndarray, " pixels"],
    *,
    n_sweeps: int = 50,
    n_chains: int = 9,
    seed: int = 0,
) -> Pictures:
    """The median over clamped chains of p(x_i = 1 | the rest): what L1 asks of somebody who does not know [ours]."""
    check_joint(machine, "reconstruct pictures", "as_deep(stack)")
    chains = imputation_chains(machine, without(originals, missing), n_sweeps, n_chains, seed=seed)
    return np.where(missing, np.median(chains, axis=0), originals)


def trivial_fills(training: Training, originals: Pictures, missing: Bool[np.ndarray, " pixels"]) -> TrivialFills:
    """The errors of fills that need no learning."""

    def error(fill: np.ndarray) -> float:
        return float(fill_errors(originals, np.broadcast_to(fill, originals.shape), missing).mean())

    return TrivialFills(error(np.zeros(())), error(np.median(training, axis=0)), error(np.round(originals)))


@dataclass(frozen=True)
class SideErrors:
    """Mean L1 errors with one side of the pictures missing: the machine's, and those of the trivial fills."""

    side: Side
    machine: float
    black: float
    median: float
    floor: float


def side_errors(
    machine: Machine, shape: tuple[int, int], training: Training, originals: Pictures, *, n_sweeps: int = 20
) -> list[SideErrors]:
    """The fair protocol for each of the four sides, beside the trivial fills."""
    found = []
    for side in SIDES:
        missing = region(shape, side)
        trivial = trivial_fills(training, originals, missing)
        error = reconstruction_error(machine, originals, missing, n_sweeps=n_sweeps)
        found.append(SideErrors(side, error, trivial.black, trivial.median, trivial.floor))
    return found
