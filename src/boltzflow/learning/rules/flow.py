"""Learning by probability flow: VPF for machines with hidden units, MPF for fully visible ones."""

from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from boltzflow.errors import InputError, check_choice, check_count, check_temperature
from boltzflow.flow import flow_errors, local_gradient, weighted
from boltzflow.learning.completions import (
    Order,
    as_states,
    blank,
    complete,
    complete_by_gibbs,
    complete_by_mean_field,
    complete_stack,
)
from boltzflow.learning.contract import Examples, Info, RuleState, Step, check_fully_visible
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack, StackLayout, parts, with_parts
from boltzflow.machine.wiring import States
from boltzflow.sampling.uniforms import Purpose, Stream, stream

Completed: TypeAlias = tuple[Bool[Array, "rows completions _"], ...]
"""Drawn states, several of each row: the hidden layers of the first machine, then both layers of each further pair."""

Method: TypeAlias = Literal["feed-forward", "gibbs", "mean-field"]


@dataclass(frozen=True)
class VPF:
    """Variational probability flow: complete the data with hidden states, then lower the flow of the completed states.

    The completion is drawn once an epoch from the model as it was when the epoch began, as in the paper (this staleness is
    what teaches the hidden units: docs/theory.md), or afresh for each batch. A stack is completed from the bottom up, and all
    its pairs learn at once.
    """

    e_step: Literal["epoch", "batch"] = "epoch"
    completions: int = 1
    """How many hidden states are drawn for each example."""
    temperature: float = 1.0
    """Of the completion; below one the hidden codes are more certain."""
    sweeps: int = 1
    """Inside hidden layers whose units are coupled to each other; for "gibbs" over all hidden layers; steps of "mean-field"."""
    method: Method = "feed-forward"
    """Of the completion. "gibbs" and "mean-field" hear the layers above as well, and need one joint machine."""
    carry: bool = False
    """With "gibbs": go on from the states of the epoch before, instead of from hidden units at 0."""
    order: Order = "algorithm-1"
    """For a stack with coupled layers: what the next pair learns from."""

    name: ClassVar[str] = "vpf"
    objective: ClassVar[str] = "probability flow"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choice("e_step", self.e_step, ("epoch", "batch"))
        check_choice("method", self.method, ("feed-forward", "gibbs", "mean-field"))
        check_choice("order", self.order, ("algorithm-1", "authors"))
        check_count("completions", self.completions)
        check_count("sweeps", self.sweeps)
        check_temperature(self.temperature)
        if not isinstance(self.carry, bool):
            raise InputError(f"carry is True or False; got {self.carry!r}.")
        if self.method == "gibbs" and self.sweeps == 1 and not self.carry:
            raise InputError(
                "method 'gibbs' starts from hidden units at 0, so its first sweep hears nothing from above: "
                "choose sweeps=2 or more, or carry=True."
            )
        if self.carry and (self.method != "gibbs" or self.e_step != "epoch"):
            raise InputError(
                "carry=True goes on with Gibbs sweeps from epoch to epoch: it needs method='gibbs', e_step='epoch'."
            )

    def check(self, layout: Layout | StackLayout) -> None:
        if layout.fully_visible:
            raise InputError(f"rule 'vpf' completes hidden units, and the layout {layout} has none; use 'mpf'.")
        if isinstance(layout, Layout) and self.order != "algorithm-1":
            raise InputError(
                f"order {self.order!r} says what the next pair of a stack learns from; the layout is {layout}."
            )
        if isinstance(layout, StackLayout) and self.method != "feed-forward":
            raise InputError(
                f"method {self.method!r} completes one joint machine; the pairs of a stack do not hear each other: {layout}."
            )

    def init(self, model: Model, data: Examples, *, key: Key[Array, ""]) -> Completed:
        """Hidden units at 0, in the shape that `begin_epoch` fills."""
        if self.e_step == "batch":
            return ()
        first, *others = (part.layout.widths for part in parts(model))
        shape = (data.total if self.carry else data.visible.shape[0], self.completions)
        return tuple(jnp.zeros((*shape, width), bool) for width in (*first[1:], *chain(*others)))

    def begin_epoch(self, model: Model, rule_state: RuleState, data: Examples, *, key: Key[Array, ""]) -> Completed:
        """E-step: h ~ q(h | x) for all the data, with the parameters of the last epoch's end [Alg. 1]."""
        if self.e_step == "batch":
            return ()
        if not self.carry:
            return self._complete(model, data, key, None)
        drawn = self._complete(model, data, key, tuple(layer[data.ids] for layer in rule_state))
        return tuple(kept.at[data.ids].set(new) for kept, new in zip(rule_state, drawn, strict=True))

    def update(self, model: Model, rule_state: RuleState, batch: Examples, *, key: Key[Array, ""]) -> Step:
        """M-step: the flow gradient of the completed states, Δw ∝ −∂K/∂w, Δb ∝ −∂K/∂b [Eq. 1] [Eq. 2]."""
        rows = batch.ids if self.carry else batch.rows
        kept = tuple(layer[rows] for layer in rule_state)
        completed = self._complete(model, batch, key, None) if self.e_step == "batch" else kept
        weights = jnp.repeat(batch.weights, self.completions) / self.completions
        found = [
            mean_flow_gradient(part, states, weights)
            for part, states in zip(parts(model), self._states(model, batch, completed), strict=True)
        ]
        gradients, flows = zip(*found, strict=True)
        return Step(with_parts(model, gradients), rule_state, Info(jnp.sum(jnp.stack(flows))))

    def _complete(self, model: Model, data: Examples, key: Key[Array, ""], start: RuleState) -> Completed:
        draws = stream(key, Purpose.COMPLETE, data.ids)
        drawn = [
            self._complete_once(model, data, draws.fold(k), start and tuple(layer[:, k] for layer in start))
            for k in range(self.completions)
        ]
        return tuple(jnp.stack(layer, axis=1).astype(bool) for layer in zip(*drawn, strict=True))

    def _complete_once(
        self, model: Model, data: Examples, draws: Stream, start: tuple[Bool[Array, "rows _"], ...] | None
    ) -> States:
        visible, inverse_temperature = as_states(model, data.visible), 1.0 / self.temperature
        if isinstance(model, Stack):
            first, *others = complete_stack(model, visible, draws, inverse_temperature, self.sweeps, self.order)
            return (*first[1:], *(layer for states in others for layer in states))
        if self.method == "gibbs":
            states = (visible, *(layer.astype(model.dtype) for layer in start)) if start else blank(model, visible)
            return complete_by_gibbs(model, states, draws, inverse_temperature, self.sweeps)[1:]
        method = complete if self.method == "feed-forward" else complete_by_mean_field
        return method(model, visible, draws, inverse_temperature, self.sweeps)[1:]

    def _states(self, model: Model, batch: Examples, completed: Completed) -> list[States]:
        """The states that each machine of the model learns from."""
        first = jnp.repeat(as_states(model, batch.visible), self.completions, axis=0)
        flat = [first, *(layer.reshape(-1, layer.shape[-1]).astype(model.dtype) for layer in completed)]
        found = []
        for part in parts(model):
            n_layers = len(part.layout.widths)
            found.append(tuple(flat[:n_layers]))
            flat = flat[n_layers:]
        return found


@dataclass(frozen=True)
class MPF:
    """Minimum probability flow: lower the flow of the data themselves. Convex, and consistent; all units are visible."""

    name: ClassVar[str] = "mpf"
    objective: ClassVar[str] = "probability flow"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = False
    convex: ClassVar[bool] = True

    def check(self, layout: Layout | StackLayout) -> None:
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
