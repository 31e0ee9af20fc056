"""Where training starts: visible biases at the log-odds of the data, hidden units quiet."""

import jax.numpy as jnp
import numpy as np

from boltzflow.bits import log_odds
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, parts, with_parts

QUIET = -1.0
"""Bias of a hidden unit before training: lit in about a quarter of all states (docs/decisions/0007-a-quiet-start.md)."""


def set_biases(model: Model, values: np.ndarray, bias_start: str) -> Model:
    """Visible biases at the log-odds, hidden ones quiet; with "auto" only where no bias of the model has been set."""
    untouched = not any(bool(jnp.any(bias)) for part in parts(model) for bias in part.biases)
    if bias_start == "keep" or (bias_start == "auto" and not untouched):
        return model
    visible = jnp.asarray(log_odds(values), model.dtype)
    first, *others = (tuple(jnp.full_like(bias, QUIET) for bias in part.biases) for part in parts(model))
    biases = ((visible, *first[1:]), *others)
    return with_parts(
        model, [Machine(part.layout, part.couplings, own) for part, own in zip(parts(model), biases, strict=True)]
    )
