"""Parzen windows: the log-density of points under a mixture of Gaussians, one on each centre.

A popular number for generated pictures and a poor one: it rewards blur, and means of a few neighbouring training pictures beat
most models. No claim should rest on it alone.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from boltzflow.errors import InputError, check_real

_ROWS = 500
"""Points that are compared with all centres in one step."""


@dataclass(frozen=True)
class ParzenScore:
    """Mean log-density over points."""

    mean: float
    error: float
    """Standard error of the mean over points; it knows nothing of the chance in the centres."""
    sigma: float
    n_centres: int


def parzen_log_density(
    centres: Float[np.ndarray, "centres pixels"], points: Float[np.ndarray, "points pixels"], sigma: float
) -> Float[np.ndarray, " points"]:
    """log p(x) = log (1/n) Σ_c exp(−‖x − c‖²/2σ²) − ½ d log 2πσ², for each point [§DBM: LL]."""
    if (
        centres.ndim != 2
        or points.ndim != 2
        or centres.shape[1] != points.shape[1]
        or not len(centres)
        or not len(points)
    ):
        raise InputError(
            f"centres and points are tables of equal width; got shapes {centres.shape} and {points.shape}."
        )
    for what, table in (("centres", centres), ("points", points)):
        if table.dtype.kind not in "biuf":
            raise InputError(f"{what} are numbers; got an array of type {table.dtype}.")
        if (gaps := np.argwhere(~np.isfinite(table))).size:
            raise InputError(
                f"a density needs whole rows; of the {what}, row {gaps[0, 0]}, column {gaps[0, 1]} is missing or not finite."
            )
    sigma = check_real("sigma", sigma, above=True)
    placed = jnp.asarray(centres, jnp.float32)
    parts = [
        np.asarray(_log_kernel_sums(placed, jnp.asarray(points[k : k + _ROWS], jnp.float32), sigma))
        for k in range(0, len(points), _ROWS)
    ]
    normaliser = np.log(len(centres)) + 0.5 * centres.shape[1] * np.log(2 * np.pi * sigma**2)
    return np.concatenate(parts).astype(np.float64) - normaliser


@jax.jit
def _log_kernel_sums(
    centres: Float[Array, "centres pixels"], points: Float[Array, "points pixels"], sigma: float
) -> Float[Array, " points"]:
    """log Σ_c exp(−‖x − c‖²/2σ²), squares opened: ‖x‖² − 2 x·c + ‖c‖² [ours]."""
    products = jnp.matmul(points, centres.T, precision=jax.lax.Precision.HIGHEST)
    distances = jnp.sum(points**2, axis=1)[:, None] - 2 * products + jnp.sum(centres**2, axis=1)[None, :]
    return jax.scipy.special.logsumexp(-distances / (2 * sigma**2), axis=1)


def parzen_score(
    centres: Float[np.ndarray, "centres pixels"], points: Float[np.ndarray, "points pixels"], sigma: float = 0.2
) -> ParzenScore:
    """Mean log-density of points, with its standard error over points."""
    found = parzen_log_density(centres, points, sigma)
    return ParzenScore(
        float(found.mean()),
        float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan"),
        sigma,
        len(centres),
    )
