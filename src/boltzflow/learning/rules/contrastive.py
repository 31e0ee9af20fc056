"""Contrastive divergence and its persistent form: the rules that VPF is compared with. Both sample the model."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from boltzflow.errors import check_count
from boltzflow.flow import weighted
from boltzflow.learning.completions import as_states, complete
from boltzflow.learning.contract import Examples, Info, Step, check_one_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, hidden_fields
from boltzflow.machine.stack import StackLayout
from boltzflow.machine.wiring import States
from boltzflow.sampling.sweeps import sweeps
from boltzflow.sampling.uniforms import Purpose, Stream, stream


@dataclass(frozen=True)
class CD:
    """Contrastive divergence: the data against states a few sweeps away from them. It descends no function."""

    steps: int = 1
    """Gibbs sweeps from the data to the states they are compared with."""
    positive_sweeps: int = 10
    """Over the hidden units given the data, where hidden units are coupled to each other."""

    name: ClassVar[str] = "cd"
    objective: ClassVar[str] = "energy gap"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_count("positive_sweeps", self.positive_sweeps)

    def check(self, layout: Layout | StackLayout) -> None:
        check_one_machine(layout, self.name)

    def init(self, model: Machine, data: Examples, *, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def begin_epoch(self, model: Machine, rule_state: tuple[()], data: Examples, *, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def update(self, model: Machine, rule_state: tuple[()], batch: Examples, *, key: Key[Array, ""]) -> Step:
        """Δw_ij ∝ ⟨y_i y_j⟩ of the data − ⟨y_i y_j⟩ of states k sweeps away from them [ours]."""
        draws = stream(key, Purpose.UPDATE, batch.ids)
        data = clamped_states(model, as_states(model, batch.visible), draws.fold(0), self.positive_sweeps)
        fantasies = sweeps(model, data, draws.fold(1), self.steps)
        updates = statistics_gap(model, data, batch.weights, fantasies, batch.weights)
        return Step(updates, (), Info(energy_gap(model, updates)))


class Chains(NamedTuple):
    """Persistent states of the model, and how often they have moved."""

    states: States
    n_updates: Int[Array, ""]


@dataclass(frozen=True)
class PCD:
    """Persistent contrastive divergence: the data against chains that go on from one update to the next."""

    steps: int = 1
    """Gibbs sweeps of the chains in each update."""
    n_chains: int = 100
    positive_sweeps: int = 10
    """Over the hidden units given the data, where hidden units are coupled to each other."""

    name: ClassVar[str] = "pcd"
    objective: ClassVar[str] = "energy gap"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = True
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_count("n_chains", self.n_chains)
        check_count("positive_sweeps", self.positive_sweeps)

    def check(self, layout: Layout | StackLayout) -> None:
        check_one_machine(layout, self.name)

    def init(self, model: Machine, data: Examples, *, key: Key[Array, ""]) -> Chains:
        """Chains start at rows of the data."""
        first = data.visible[jnp.arange(self.n_chains) % data.visible.shape[0]]
        draws = stream(key, Purpose.CHAINS, jnp.arange(self.n_chains))
        return Chains(complete(model, as_states(model, first), draws), jnp.zeros((), jnp.int32))

    def begin_epoch(self, model: Machine, rule_state: Chains, data: Examples, *, key: Key[Array, ""]) -> Chains:
        return rule_state

    def update(self, model: Machine, rule_state: Chains, batch: Examples, *, key: Key[Array, ""]) -> Step:
        """Δw_ij ∝ ⟨y_i y_j⟩ of the data − ⟨y_i y_j⟩ of the chains after k more sweeps [ours]."""
        draws = stream(key, Purpose.UPDATE, batch.ids)
        data = clamped_states(model, as_states(model, batch.visible), draws, self.positive_sweeps)
        moves = stream(key, Purpose.CHAINS, jnp.arange(self.n_chains)).fold(rule_state.n_updates)
        chains = sweeps(model, rule_state.states, moves, self.steps)
        equal = jnp.full(self.n_chains, 1.0 / self.n_chains, model.dtype)
        updates = statistics_gap(model, data, batch.weights, chains, equal)
        return Step(updates, Chains(chains, rule_state.n_updates + 1), Info(energy_gap(model, updates)))


def clamped_states(model: Machine, visible: Float[Array, "batch n_visible"], stream: Stream, n_sweeps: int) -> States:
    """(x, h) with h drawn given x; where hidden units do not hear each other their draw waits for the next sweep."""
    hidden = model.layout.hidden_layers
    if model.layout.hidden_independent:
        return (visible, *(jnp.zeros((visible.shape[0], model.layout.widths[k]), visible.dtype) for k in hidden))
    states = complete(model, visible, stream.fold(0))
    return sweeps(model, states, stream.fold(1), n_sweeps, layers=tuple(hidden))


def statistics_gap(
    model: Machine,
    data: tuple[Float[Array, "data _"], ...],
    data_weights: Float[Array, " data"],
    fantasies: tuple[Float[Array, "fantasies _"], ...],
    fantasy_weights: Float[Array, " fantasies"],
) -> Machine:
    """⟨y_i y_j⟩ and ⟨y_i⟩ of the model's states minus those of the data: the gradient of −log p where both are exact [ours]."""
    signed = jnp.concatenate([-data_weights, fantasy_weights])
    both = smoothed(model, tuple(jnp.concatenate(pair) for pair in zip(data, fantasies, strict=True)))
    counted = weighted(both, signed)
    couplings = tuple(wiring.pair_statistics(both, counted) for wiring in model.layout.wirings)
    return Machine(model.layout, couplings, tuple(jnp.sum(layer, axis=0) for layer in counted))


def smoothed(model: Machine, states: States) -> States:
    """Hidden states replaced by their expectation given the visible ones, where that is known in closed form."""
    if not model.layout.hidden_independent:
        return states
    return (states[0], *(jax.nn.sigmoid(z) for z in hidden_fields(model, states[0])))


def energy_gap(model: Machine, gradient: Machine) -> Float[Array, ""]:
    """Mean energy of the data minus that of the model's states: Σ θ ∂/∂θ, for the energy is linear in θ [ours]."""
    products = jax.tree.map(jnp.vdot, model, gradient)
    return jnp.sum(jnp.stack(jax.tree.leaves(products)))
