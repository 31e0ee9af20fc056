"""The likelihood of data under a machine: log p(x) = log p*(x) − log Z, with p*(x) = Σ_h exp(−Energy(x, h)).

Both terms are exact where they can be. Otherwise it is said what kind of number comes out: annealing underestimates log Z on
average, which flatters the machine; mean field underestimates log p*(x), which does not; and the reverse estimate, chains from
each row of data back to independent units, underestimates log p(x) of what annealing reaches. Where forward and reverse
agree, the truth is very likely between them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from boltzflow.bits import Binarise, prepare
from boltzflow.errors import check_choice, check_count
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, energy, free_energy, hidden_fields, visible_part
from boltzflow.machine.wiring import States
from boltzflow.measure.annealing import SETTLED, Annealing, log_reverse_visible, mean_interval, path_to
from boltzflow.measure.partition import LogPartition, Method, check_machine, find_log_partition
from boltzflow.measure.summing import (
    add_up,
    kept_fields,
    kept_layers,
    n_units_of,
    states_of,
    summed_fields,
)
from boltzflow.sampling.meanfield import mean_field
from boltzflow.sampling.uniforms import Purpose

MOST_HIDDEN = 12
"""Hidden units that are enumerated for each row."""

_NUMBERS = 2**23
"""Numbers of one array in a compiled program, at most, unless one row has more."""

_CHAINS = 1000
"""Backward chains in one program."""

_GAP, _SHARE = 2.0, 0.05
"""Forward and reverse should agree within 2 nats, and within a twentieth of a likelihood that is smaller than 40."""


@dataclass(frozen=True)
class Reverse:
    """The mean of log p̂(x) from chains that start in the data: a lower bound, on average, on what annealing reaches."""

    mean: float
    low: float
    high: float
    """95 % by the bootstrap over rows."""
    n_rows: int

    def __str__(self) -> str:
        return f"reverse {self.mean:.2f} ({self.low:.2f} to {self.high:.2f}, {self.n_rows} rows)"


@dataclass(frozen=True)
class LogLikelihood:
    """Mean log p(x) over rows, in nats."""

    mean: float
    error: float
    """Standard error of the mean over rows; NaN for a single row."""
    low: float
    high: float
    """The mean ± 1.96 errors, and from there as far again as log Z may lie above or below its value: the two do not cancel."""
    method: str
    """How log Z was found."""
    kind: str
    """What kind of number the mean is: exact, or a bound from which side."""
    log_partition: LogPartition
    reverse: Reverse | None = None
    warning: str | None = None

    def __str__(self) -> str:
        reverse = "" if self.reverse is None else f"; {self.reverse}"
        return f"log p = {self.mean:.2f} ± {self.error:.2f} ({self.low:.2f} to {self.high:.2f}; {self.kind}){reverse}"


def log_likelihood(
    machine: Machine,
    data: Any,
    *,
    method: Method = "auto",
    n_temperatures: int = 1000,
    n_chains: int = 100,
    reverse_rows: int = 0,
    binarise: Binarise = 0.5,
    seed: int = 0,
) -> LogLikelihood:
    """Mean log p(x) of rows of data, with what is known of its error; see `kind` for what kind of number it is.

    "auto" computes log Z exactly up to 25 units that have to be enumerated, otherwise by annealed importance sampling
    with as many temperatures and chains; 20,000 temperatures are usual in tables. `reverse_rows` rows of the data are
    judged from the other side too.
    """
    machine = check_machine(machine)
    check_choice("method", method, ("auto", "exact", "ais"))
    annealing = Annealing(n_temperatures, n_chains, seed)
    n_reverse = check_count("reverse_rows", reverse_rows, least=0)
    rows = _as_bits(data, machine.layout.n_visible, binarise, annealing)
    with jax.default_matmul_precision("highest"):
        log_z = find_log_partition(machine, rows, method, annealing)
        values = log_unnormalised(machine, rows) - log_z.value
        chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:n_reverse])
        back = log_reverse_rows(machine, rows, chosen, annealing) if n_reverse else None
    return _summary(values, log_z, kind_of(machine.layout, log_z), back, chosen, seed)


def _as_bits(data: Any, n_visible: int, binarise: Binarise, annealing: Annealing) -> np.ndarray:
    values = prepare(data, n_visible, binarise).values
    if values.dtype == bool:
        return values
    return np.asarray(annealing.draws(Purpose.BINARISE, np.arange(len(values))).draw(jnp.asarray(values))) == 1


def _summary(
    values: np.ndarray, log_z: LogPartition, kind: str, back: np.ndarray | None, chosen: np.ndarray, seed: int
) -> LogLikelihood:
    mean, error = float(values.mean()), _standard_error(values)
    spread = 1.96 * float(np.nan_to_num(error))
    low, high = mean - spread - (log_z.high - log_z.value), mean + spread + (log_z.value - log_z.low)
    found = partial(LogLikelihood, mean, error, low, high, log_z.method, kind, log_z)
    if back is None:
        return found(warning=log_z.warning)
    warning = "; ".join(filter(None, (log_z.warning, gap_warning(values[chosen], back)))) or None
    return found(Reverse(float(back.mean()), *mean_interval(back, seed), len(back)), warning)


def gap_warning(forward: np.ndarray, reverse: np.ndarray) -> str | None:
    """A sentence where the two estimates of the same rows are further apart than 2 nats, 5 % or chance explain."""
    gap = float(forward.mean() - reverse.mean())
    chance = 2 * float(np.nan_to_num(_standard_error(forward - reverse)))
    if abs(gap) <= min(_GAP, _SHARE * abs(float(forward.mean()))) + chance:
        return None
    return (
        f"on the same {len(forward)} rows forward and reverse estimate differ by {gap:.2f} nats "
        f"({forward.mean():.2f} and {reverse.mean():.2f}), so neither is to be trusted; raise n_temperatures"
    )


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def kind_of(layout: Layout, log_z: LogPartition) -> str:
    """What kind of number log p*(x) − log Z is."""
    match (_enumerable(layout), log_z.method == "exact"):
        case (True, True):
            return "exact"
        case (True, False):
            return "optimistic: annealing underestimates log Z on average"
        case (False, True):
            return "a lower bound: mean field underestimates log p*(x), log Z is exact"
    return "no bound: mean field underestimates log p*(x) and annealing log Z; the reverse estimate is a lower bound on average"


def _kept_hidden(layout: Layout) -> tuple[int, ...]:
    return tuple(layer for layer in kept_layers(layout, (0,)) if layer != 0)


def _enumerable(layout: Layout) -> bool:
    return n_units_of(layout, _kept_hidden(layout)) <= MOST_HIDDEN


def log_unnormalised(machine: Machine, rows: np.ndarray) -> np.ndarray:
    """log p*(x) = log Σ_h exp(−Energy(x, h)) for each row: in closed form, by enumeration, or its bound by mean field [ours]."""
    layout = machine.layout
    if layout.hidden_independent:
        return _by_chunks(partial(_summed_out, machine), machine, rows, layout.n_units)
    if not _enumerable(layout):
        return _by_chunks(partial(mean_field_bound, machine), machine, rows, layout.n_units)
    n_states = 2 ** n_units_of(layout, _kept_hidden(layout))
    return _by_chunks(partial(_enumerated, machine), machine, rows, n_states * layout.n_hidden)


def _by_chunks(
    function: Callable[[Float[Array, "rows n"]], Float[Array, " rows"]], machine: Machine, rows: np.ndarray, width: int
) -> np.ndarray:
    """A value for each row, as many rows at a time as memory has room for."""
    n = max(1, _NUMBERS // width)
    parts = [np.asarray(function(jnp.asarray(rows[k : k + n], machine.dtype))) for k in range(0, len(rows), n)]
    return np.concatenate(parts).astype(np.float64)


@jax.jit
def _summed_out(machine: Machine, visible: Float[Array, "rows n"]) -> Float[Array, " rows"]:
    return -free_energy(machine, visible)


@jax.jit
def _enumerated(machine: Machine, visible: Float[Array, "rows n"]) -> Float[Array, " rows"]:
    """log Σ_c exp(−Energy(x, 0) + Σ_c c (v + ½ z(c)) + Σ_r log(1 + exp(v_r + z_r(c)))), v heard of x and z of c [ours].

    c are the states of the hidden layers that are kept. What is heard of the data and of c is found once each and added up.
    """
    kept = _kept_hidden(machine.layout)
    silent = Machine(machine.layout, machine.couplings, tuple(jnp.zeros_like(b) for b in machine.biases))
    numbers = jnp.arange(2 ** n_units_of(machine.layout, kept), dtype=jnp.int32)
    inner = states_of(silent, kept, numbers)
    own, rest = kept_fields(silent, inner, (0, *kept)), summed_fields(silent, inner, (0, *kept))
    outer = dict(zip(machine.layout.hidden_layers, hidden_fields(machine, visible), strict=True))
    pairs = add_up((0.5 * jnp.sum(inner[layer] * own[layer], axis=1) for layer in kept), inner[0])
    total = pairs + sum(outer[layer] @ inner[layer].T for layer in kept)
    for layer, z in rest.items():
        total = total + jnp.sum(jax.nn.softplus(outer[layer][:, None, :] + z), axis=2)
    return logsumexp(total, axis=1) - energy(visible_part(machine), (visible,))


@jax.jit
def mean_field_bound(machine: Machine, visible: Float[Array, "rows n_visible"]) -> Float[Array, " rows"]:
    """log p*(x) ≥ E_q[−Energy(x, h)] + H(q) = −Energy(x, μ) + Σ_i H(μ_i), q of independent units with means μ [ours]."""
    means: States = mean_field(machine, visible, 1.0, SETTLED)
    entropies = (jnp.sum(jax.scipy.special.entr(m) + jax.scipy.special.entr(1 - m), axis=1) for m in means[1:])
    return add_up(entropies, visible) - energy(machine, means)


def log_reverse_rows(machine: Machine, rows: np.ndarray, chosen: np.ndarray, annealing: Annealing) -> np.ndarray:
    """log p̂(x) for the rows chosen, one backward chain each."""
    path, betas = path_to(machine, rows), annealing.betas(machine.dtype)

    def found(part: np.ndarray) -> np.ndarray:
        visible = jnp.asarray(rows[part], machine.dtype)
        return np.asarray(log_reverse_visible(path, betas, visible, annealing.draws(Purpose.MONITOR, part)), np.float64)

    return np.concatenate([found(chosen[k : k + _CHAINS]) for k in range(0, len(chosen), _CHAINS)])
