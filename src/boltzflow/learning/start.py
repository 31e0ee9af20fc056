"""Where training starts: visible biases at the log-odds of the data, hidden units quiet."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from boltzflow.machine.machine import Machine

QUIET = -1.0
"""Bias of a hidden unit before training: lit in about a quarter of all states (docs/decisions/0007-a-quiet-start.md)."""


def log_odds(values: np.ndarray) -> Float[np.ndarray, " n_visible"]:
    """log p/(1 − p) with p = (n₁ + ½)/(n + 1), finite for constant columns too [ours]."""
    lit, n_rows = values.sum(axis=0, dtype=np.float64), len(values)
    return np.log((lit + 0.5) / (n_rows - lit + 0.5))


def set_biases(machine: Machine, values: np.ndarray, bias_start: str) -> Machine:
    """Visible biases at the log-odds, hidden ones quiet; with "auto" only where no bias of the machine has been set."""
    untouched = not any(bool(jnp.any(bias)) for bias in machine.biases)
    if bias_start == "keep" or (bias_start == "auto" and not untouched):
        return machine
    visible = jnp.asarray(log_odds(values), machine.dtype)
    hidden = (jnp.full_like(bias, QUIET) for bias in machine.biases[1:])
    return Machine(machine.layout, machine.couplings, (visible, *hidden))
