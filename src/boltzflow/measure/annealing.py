"""Annealed importance sampling: chains from independent units to the machine, and back.

The path is machine_β = base + β (machine − base) in all parameters, where the base has no couplings, so that its partition
function is known and its states are drawn exactly. Chains live on the layers that are kept, with density f_β(s) ∝ the
sum over the others. One sweep draws the others given s, then the kept blocks in order, which leaves f_β alone.

*Forward* the mean weight of chains is Z / Z_base without bias (Neal 2001). *Back* from a state s (Burda, Grosse and
Salakhutdinov 2015) the same path gives the probability p_ann(s) that a forward chain ends in s. With T̃_k(s' | s) =
T_k(s | s') f_k(s') / f_k(s), the reversal of a sweep T_k,

    forward / backward = [f_0(s_0)/Z_base Π_k T_k(s_k | s_{k−1})] / Π_k T̃_k(s_{k−1} | s_k)
                       = f_K(s_K)/Z_base Π_k f_{k−1}(s_{k−1}) / f_k(s_{k−1}),

whose mean over backward chains is p_ann(s_K). The reversal draws the other layers first, then the kept blocks from the last
to the first, units of a coupled layer likewise.
"""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from boltzflow.bits import log_odds
from boltzflow.errors import check_count, check_seed
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, layer_fields
from boltzflow.machine.wiring import States
from boltzflow.measure.summing import add_up, kept_fields, kept_layers, log_summed_out, other_layers, summed_fields
from boltzflow.sampling.meanfield import mean_field
from boltzflow.sampling.sweeps import Block, Conditions, sweep_plan, update_block
from boltzflow.sampling.uniforms import Purpose, Stream, stream

SETTLED = 50
"""Sweeps of mean field."""

_LEAST_CHANCE = 1e-6
"""Means stay this far from 0 and 1, so that each hidden state can be proposed."""


@dataclass(frozen=True)
class Annealing:
    """How long and how often."""

    n_temperatures: int = 1000
    n_chains: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("n_temperatures", self.n_temperatures)
        check_count("n_chains", self.n_chains, least=2)
        check_seed(self.seed)

    def betas(self, dtype: jnp.dtype) -> Float[Array, " temperatures"]:
        """Inverse temperatures from 0 to 1, evenly: one more than there are steps."""
        return jnp.asarray(np.linspace(0.0, 1.0, self.n_temperatures + 1), dtype)

    def draws(self, purpose: Purpose, rows: np.ndarray) -> Stream:
        """The random numbers of chains, by their numbers."""
        return stream(jax.random.key(self.seed), purpose, jnp.asarray(rows))


class Path(eqx.Module):
    """From independent units to a machine."""

    machine: Machine
    base: States
    """Biases of the independent units, one row for each layer."""
    kept: tuple[int, ...] = eqx.field(static=True)

    @property
    def rest(self) -> tuple[int, ...]:
        return other_layers(self.machine.layout, self.kept)


def path_to(machine: Machine, rows: np.ndarray | None) -> Path:
    """The path that starts at the machine's own biases, visible ones at the log-odds of the data where there are any."""
    base = [bias[None, :] for bias in machine.biases]
    if rows is not None:
        base[0] = jnp.asarray(log_odds(rows), machine.dtype)[None, :]
    return Path(machine, tuple(base), annealed_layers(machine.layout))


def annealed_layers(layout: Layout) -> tuple[int, ...]:
    """The layers that chains live on: just the visible one where hidden units are independent, so that data are whole states."""
    return (0,) if layout.hidden_independent else kept_layers(layout)


def tempered(path: Path, beta: Float[Array, ""]) -> Machine:
    """machine_β as a machine at inverse temperature β: z_i + b⁰_i (1 − β)/β, so no coupling is scaled [ours]."""
    biases = (b + (1 - beta) / beta * b0[0] for b, b0 in zip(path.machine.biases, path.base, strict=True))
    return Machine(path.machine.layout, path.machine.couplings, tuple(biases))


def log_base_partition(path: Path) -> Float[Array, ""]:
    """log Z_base = Σ_i log(1 + exp b⁰_i) [ours]."""
    return jnp.sum(jnp.stack([jnp.sum(jax.nn.softplus(b0)) for b0 in path.base]))


def log_rise(path: Path, states: States, old: Float[Array, ""], new: Float[Array, ""]) -> Float[Array, " chains"]:
    """log f_new(s) − log f_old(s) = Δβ (−Energy(s, 0) − Σ_s b⁰_s s) + Σ_r log (1 + exp u_r(new))/(1 + exp u_r(old)),

    where u_r(β) = b⁰_r + β (z_r(s) − b⁰_r): from Δβ itself, because differences of large numbers lose what a step adds [ours].
    """
    machine, delta = path.machine, new - old
    own = kept_fields(machine, states, path.kept)
    pairs = (
        jnp.sum(states[layer] * (0.5 * (own[layer] + machine.biases[layer]) - path.base[layer]), axis=1)
        for layer in path.kept
    )
    heard = ((path.base[layer], z) for layer, z in summed_fields(machine, states, path.kept).items())
    softened = (jnp.sum(softplus_rise(b0 + old * (z - b0), delta * (z - b0)), axis=1) for b0, z in heard)
    return delta * add_up(pairs, states[0]) + add_up(softened, states[0])


def softplus_rise(u: Float[Array, "*shape"], d: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log (1 + e^{u+d})/(1 + e^u) = log(1 + σ(u)(e^d − 1)): so for small d, to keep its digits, else as written [ours]."""
    near = jnp.abs(d) < 1
    small = jnp.log1p(jax.nn.sigmoid(u) * jnp.expm1(jnp.where(near, d, 0)))
    return jnp.where(near, small, jax.nn.softplus(u + d) - jax.nn.softplus(u))


def forward_plan(path: Path) -> tuple[Block, ...]:
    """The layers summed out, then the kept blocks."""
    return sweep_plan(path.machine.layout, (*path.rest, *path.kept))


def backward_plan(path: Path) -> tuple[Block, ...]:
    """The layers summed out, then the kept blocks from the last to the first, each from its last unit to its first."""
    layout = path.machine.layout
    turned = (replace(block, backwards=True) for block in reversed(sweep_plan(layout, path.kept)))
    return (*sweep_plan(layout, path.rest), *turned)


def _sweep(path: Path, plan: tuple[Block, ...], states: States, draws: Stream, beta: Float[Array, ""]) -> States:
    machine = tempered(path, beta)
    for block in plan:
        states = update_block(machine, states, block, draws, Conditions(beta))
    return states


class _Total(eqx.Module):
    """A running sum that keeps what rounding takes from each term (Kahan 1965)."""

    total: Float[Array, " chains"]
    lost: Float[Array, " chains"]

    def add(self, term: Float[Array, " chains"]) -> "_Total":
        term = term - self.lost
        total = self.total + term
        return _Total(total, (total - self.total) - term)


def _nothing(states: States) -> _Total:
    zeros = jnp.zeros(states[0].shape[0], states[0].dtype)
    return _Total(zeros, zeros)


@jax.jit
def log_weights(path: Path, betas: Float[Array, " temperatures"], draws: Stream) -> Float[Array, " chains"]:
    """log w = Σ_k [log f_k(s_{k−1}) − log f_{k−1}(s_{k−1})] along forward chains; the mean of w is Z / Z_base [ours]."""
    n_chains, plan = draws.examples.shape[0], forward_plan(path)

    def step(carry: tuple[States, _Total], now: tuple[Array, Array, Array]) -> tuple[tuple[States, _Total], None]:
        (states, found), (k, old, new) = carry, now
        found = found.add(log_rise(path, states, old, new))
        return (_sweep(path, plan, states, draws.fold(k), new), found), None

    chances = (jnp.broadcast_to(jax.nn.sigmoid(b0), (n_chains, b0.shape[1])) for b0 in path.base)
    first = tuple(draws.fold(0).fold(layer).draw(p) for layer, p in enumerate(chances))
    (_, found), _ = jax.lax.scan(step, (first, _nothing(first)), _steps(betas))
    return found.total


@jax.jit
def log_reverse(
    path: Path, betas: Float[Array, " temperatures"], states: States, draws: Stream
) -> Float[Array, " chains"]:
    """log p̂(s) = log f_K(s) − log Z_base − Σ_k [log f_k(s_{k−1}) − log f_{k−1}(s_{k−1})] back from s; E p̂ = p_ann [ours]."""
    plan = backward_plan(path)

    def step(carry: tuple[States, _Total], now: tuple[Array, Array, Array]) -> tuple[tuple[States, _Total], None]:
        (states, found), (k, old, new) = carry, now
        states = _sweep(path, plan, states, draws.fold(k), new)
        return (states, found.add(log_rise(path, states, old, new))), None

    (_, found), _ = jax.lax.scan(step, (states, _nothing(states)), _steps(betas), reverse=True)
    return log_summed_out(path.machine, states, path.kept) - log_base_partition(path) - found.total


def _steps(betas: Float[Array, " temperatures"]) -> tuple[Array, Array, Array]:
    return jnp.arange(1, betas.shape[0]), betas[:-1], betas[1:]


@jax.jit
def log_reverse_visible(
    path: Path, betas: Float[Array, " temperatures"], visible: Float[Array, "rows n_visible"], draws: Stream
) -> Float[Array, " rows"]:
    """log p̂(x) = log p̂(s) + log p(x | s) − log q(h | x), h ~ q the hidden units of s; E p̂(x) = Σ_h p_ann(x, h) = p_ann(x) [ours].

    q is mean field; where chains live on the visible layer alone, s = x and neither factor is there. Where they live on hidden
    layers alone, p(x | s) is the machine's own. The mean of log p̂(x) lies below log p_ann(x), by Jensen.
    """
    states, log_q = _proposed(path, visible, draws.fold(0))
    found = log_reverse(path, betas, states, draws) - log_q
    if 0 in path.kept:
        return found
    fields = layer_fields(path.machine, states, 0, silent=frozenset(path.rest))
    return found + jnp.sum(visible * fields - jax.nn.softplus(fields), axis=1)


def _proposed(
    path: Path, visible: Float[Array, "rows n_visible"], draws: Stream
) -> tuple[States, Float[Array, " rows"]]:
    """Hidden units of the kept layers drawn from mean field, and log q = Σ_i log(h_i μ_i + (1 − h_i)(1 − μ_i))."""
    hidden = [layer for layer in path.kept if layer != 0]
    means = [
        jnp.clip(mean, _LEAST_CHANCE, 1 - _LEAST_CHANCE) for mean in mean_field(path.machine, visible, 1.0, SETTLED)
    ]
    states = (visible, *(draws.fold(layer).draw(mean) for layer, mean in enumerate(means[1:], start=1)))
    chances = (jnp.where(states[layer] == 1, means[layer], 1 - means[layer]) for layer in hidden)
    return states, add_up((jnp.sum(jnp.log(p), axis=1) for p in chances), visible)


def mean_interval(values: np.ndarray, seed: int, n_resamples: int = 1000) -> tuple[float, float]:
    """The middle 95 % of means of as many values drawn again with replacement (the bootstrap)."""
    chance = np.random.default_rng(seed)
    means = [values[chance.integers(0, len(values), len(values))].mean() for _ in range(n_resamples)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
