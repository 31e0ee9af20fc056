"""Learning by probability flow: VPF for machines with hidden units, MPF for fully visible ones."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from boltzflow.errors import InputError, check_choice, check_count, check_temperature
from boltzflow.flow import flow_errors, local_gradient, weighted
from boltzflow.learning.completions import as_states, complete
from boltzflow.learning.contract import Examples, Info, Step, check_fully_visible
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import States
from boltzflow.sampling.uniforms import Purpose, stream

Completed = tuple[Bool[Array, "rows completions _"], ...]
"""Hidden states of each row, several completions of each, one array per hidden layer."""


@dataclass(frozen=True)
class VPF:
    """Variational probability flow: complete the data with hidden states, then lower the flow of the completed states.

    The completion is drawn once an epoch from the model as it was when the epoch began, as in the paper (this staleness is
    what teaches the hidden units: docs/theory.md), or afresh for each batch.
    """

    e_step: Literal["epoch", "batch"] = "epoch"
    completions: int = 1
    """How many hidden states are drawn for each example."""
    temperature: float = 1.0
    """Of the completion; below one the hidden codes are more certain."""
    sweeps: int = 1
    """Inside hidden layers whose units are coupled to each other."""

    name: ClassVar[str] = "vpf"
    objective: ClassVar[str] = "probability flow"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choice("e_step", self.e_step, ("epoch", "batch"))
        check_count("completions", self.completions)
        check_count("sweeps", self.sweeps)
        check_temperature(self.temperature)

    def check(self, layout: Layout) -> None:
        if layout.fully_visible:
            raise InputError(f"rule 'vpf' completes hidden units, and the layout {layout} has none; use 'mpf'.")

    def init(self, model: Machine, data: Examples, *, key: Key[Array, ""]) -> Completed:
        return self.begin_epoch(model, (), data, key=key)

    def begin_epoch(self, model: Machine, rule_state: Completed, data: Examples, *, key: Key[Array, ""]) -> Completed:
        """E-step: h ~ q(h | x) for all the data, with the parameters of the last epoch's end [Alg. 1]."""
        return () if self.e_step == "batch" else self._complete(model, data, key)

    def update(self, model: Machine, rule_state: Completed, batch: Examples, *, key: Key[Array, ""]) -> Step:
        """M-step: the flow gradient of the completed states, Δw ∝ −∂K/∂w, Δb ∝ −∂K/∂b [Eq. 1] [Eq. 2]."""
        kept = tuple(layer[batch.rows] for layer in rule_state)
        states = self._states(model, batch, kept if self.e_step == "epoch" else self._complete(model, batch, key))
        weights = jnp.repeat(batch.weights, self.completions) / self.completions
        updates, value = mean_flow_gradient(model, states, weights)
        return Step(updates, rule_state, Info(value))

    def _complete(self, model: Machine, data: Examples, key: Key[Array, ""]) -> Completed:
        visible = as_states(model, data.visible)
        draws = stream(key, Purpose.COMPLETE, data.ids)
        drawn = [
            complete(model, visible, draws.fold(k), 1.0 / self.temperature, self.sweeps)[1:]
            for k in range(self.completions)
        ]
        return tuple(jnp.stack(layer, axis=1).astype(bool) for layer in zip(*drawn, strict=True))

    def _states(self, model: Machine, batch: Examples, hidden: Completed) -> States:
        visible = jnp.repeat(as_states(model, batch.visible), self.completions, axis=0)
        flat = (layer.reshape(-1, layer.shape[-1]).astype(model.dtype) for layer in hidden)
        return (visible, *flat)


@dataclass(frozen=True)
class MPF:
    """Minimum probability flow: lower the flow of the data themselves. Convex, and consistent; all units are visible."""

    name: ClassVar[str] = "mpf"
    objective: ClassVar[str] = "probability flow"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = False
    convex: ClassVar[bool] = True

    def check(self, layout: Layout) -> None:
        check_fully_visible(layout, self.name, "With hidden units use 'vpf'.")

    def init(self, model: Machine, data: Examples, *, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def begin_epoch(self, model: Machine, rule_state: tuple[()], data: Examples, *, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def update(self, model: Machine, rule_state: tuple[()], batch: Examples, *, key: Key[Array, ""]) -> Step:
        """∂K/∂b_i = α_i δ_i, ∂K/∂w_ij = y_j α_i δ_i + y_i α_j δ_j [Eq. 1] [Eq. 2]."""
        updates, value = mean_flow_gradient(model, (as_states(model, batch.visible),), batch.weights)
        return Step(updates, (), Info(value))


def mean_flow_gradient(
    model: Machine, states: States, weights: Float[Array, " batch"]
) -> tuple[Machine, Float[Array, ""]]:
    """The weighted mean of K and its gradient, from one evaluation of the rates [Eq. 2]."""
    flow, errors = flow_errors(model, states)
    return local_gradient(model, states, weighted(errors, weights)), jnp.dot(weights, flow)
