"""The partition function: exact where one side of a machine is small, otherwise by annealed importance sampling."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from boltzflow.bits import prepare
from boltzflow.errors import InputError, check_choice
from boltzflow.machine.machine import Machine
from boltzflow.measure.annealing import Annealing, log_base_partition, log_weights, mean_interval, path_to
from boltzflow.measure.summing import MOST, exact_log_partition, kept_layers, n_units_of
from boltzflow.sampling.chains import check_joint
from boltzflow.sampling.uniforms import Purpose

Method: TypeAlias = Literal["auto", "exact", "ais"]

_LEAST_SHARE = 1 / 20
"""Normal log-weights of variance v leave e^{−v} of the chains effective: below a twentieth v is above 3, and the mean rests on
weights so large that few chains or none have them."""

_LEAST_CHAINS = 5
"""With fewer effective chains the bootstrap draws the same few weights again, and its interval means nothing."""


@dataclass(frozen=True)
class LogPartition:
    """log Z, and what is known of its error."""

    value: float
    low: float
    high: float
    """95 % by the bootstrap over chains; what no chain has seen it cannot know. Equal to the value where it is exact."""
    method: Literal["exact", "ais"]
    effective_samples: float
    """(Σ w)² / Σ w² of the chains' weights; NaN where nothing was drawn."""
    warning: str | None = None

    def __str__(self) -> str:
        if self.method == "exact":
            return f"log Z = {self.value:.2f} (exact)"
        return (
            f"log Z = {self.value:.2f} ({self.low:.2f} to {self.high:.2f}; ais, "
            f"{self.effective_samples:.0f} effective chains)"
        )


def log_partition(
    machine: Machine,
    *,
    data: Any = None,
    method: Method = "auto",
    n_temperatures: int = 1000,
    n_chains: int = 100,
    seed: int = 0,
) -> LogPartition:
    """log Z of a machine: exact by enumeration of its smaller side, or estimated by annealed importance sampling.

    "auto" is exact up to 25 units that have to be enumerated. The estimate is too small on average (its exponential is
    right on average), so likelihoods made with it are optimistic; more temperatures bring it closer. With `data` the
    chains start where the data are, one unit at a time, which is a better start than the machine's biases.
    """
    machine = check_machine(machine)
    check_choice("method", method, ("auto", "exact", "ais"))
    annealing = Annealing(n_temperatures, n_chains, seed)
    rows = None if data is None else prepare(data, machine.layout.n_visible).values
    with jax.default_matmul_precision("highest"):
        return find_log_partition(machine, rows, method, annealing)


def find_log_partition(machine: Machine, rows: np.ndarray | None, method: Method, annealing: Annealing) -> LogPartition:
    """log Z, once all is checked."""
    small = n_units_of(machine.layout, kept_layers(machine.layout)) <= MOST
    if method == "exact" or (method == "auto" and small):
        value = exact_log_partition(machine)
        return LogPartition(value, value, value, "exact", float("nan"))
    path = path_to(machine, rows)
    draws = annealing.draws(Purpose.CHAINS, np.arange(annealing.n_chains))
    found = np.asarray(log_weights(path, annealing.betas(machine.dtype), draws), np.float64)
    return from_weights(found, float(log_base_partition(path)), annealing.seed)


def from_weights(log_weights: np.ndarray, log_base: float, seed: int) -> LogPartition:
    """log Ẑ = log Z_base + log (1/n) Σ w, its bootstrap interval and (Σ w)² / Σ w² [ours]."""
    largest = log_weights.max()
    weights = np.exp(log_weights - largest)
    value, low, high = np.log([weights.mean(), *mean_interval(weights, seed)]) + largest + log_base
    effective = float(weights.sum() ** 2 / np.sum(weights**2))
    return LogPartition(float(value), float(low), float(high), "ais", effective, _warning(effective, len(weights)))


def _warning(effective: float, n_chains: int) -> str | None:
    if effective >= max(_LEAST_CHAINS, _LEAST_SHARE * n_chains):
        return None
    return (
        f"the weights of {n_chains} chains are worth {effective:.1f} even ones, so log Z is probably underestimated and its "
        "interval too narrow; raise n_temperatures"
    )


def check_machine(machine: Any) -> Machine:
    """One joint machine of finite numbers, at least in single precision."""
    check_joint(machine, "be given a likelihood or a partition function", "as_deep to join it to one machine")
    if not all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in (*machine.couplings, *machine.biases)):
        raise InputError(f"some couplings or biases are not finite, so there is no partition function: {machine}.")
    if machine.dtype == jnp.bfloat16:
        return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), machine)
    return machine
