"""Learning by pseudolikelihood: each unit predicts its own state from the others, with the logistic loss."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from boltzflow.flow import half_flips, local_gradient, total, weighted
from boltzflow.learning.completions import as_states
from boltzflow.learning.contract import Examples, Info, Step, check_fully_visible
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine, local_fields
from boltzflow.machine.stack import StackLayout
from boltzflow.machine.wiring import States


@dataclass(frozen=True)
class Pseudolikelihood:
    """Besag's pseudolikelihood: the same sum as the flow, with the logistic loss for the exponential one."""

    name: ClassVar[str] = "pseudolikelihood"
    objective: ClassVar[str] = "negative log-pseudolikelihood"
    local: ClassVar[bool] = True
    samples_model: ClassVar[bool] = False
    convex: ClassVar[bool] = True

    def check(self, layout: Layout | StackLayout) -> None:
        check_fully_visible(layout, self.name, "With hidden units use 'vpf', 'cd' or 'pcd'.")

    def init(self, model: Machine, data: Examples, *, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def begin_epoch(self, model: Machine, rule_state: tuple[()], data: Examples, *, key: Key[Array, ""]) -> tuple[()]:
        return ()

    def update(self, model: Machine, rule_state: tuple[()], batch: Examples, *, key: Key[Array, ""]) -> Step:
        """−∂/∂z_i log p(y_i | y_rest) = σ(z_i) − y_i, carried to couplings and biases [ours]."""
        updates, value = mean_pseudo_gradient(model, (as_states(model, batch.visible),), batch.weights)
        return Step(updates, (), Info(value))


def negative_log_pseudolikelihood(machine: Machine, states: States) -> Float[Array, " batch"]:
    """−Σ_i log p(y_i | y_rest) = Σ_i log(1 + exp(2 α_i z_i)) for each state [ours]."""
    fields = local_fields(machine, states)
    return total(tuple(jax.nn.softplus(2 * a * z) for a, z in zip(half_flips(states), fields, strict=True)))


def mean_pseudo_gradient(
    model: Machine, states: States, weights: Float[Array, " batch"]
) -> tuple[Machine, Float[Array, ""]]:
    """The weighted mean of the negative log-pseudolikelihood, and its gradient with e_i = σ(z_i) − y_i [ours]."""
    fields = local_fields(model, states)
    errors = tuple(jax.nn.sigmoid(z) - y for y, z in zip(states, fields, strict=True))
    losses = tuple(jax.nn.softplus(2 * a * z) for a, z in zip(half_flips(states), fields, strict=True))
    return local_gradient(model, states, weighted(errors, weights)), jnp.dot(weights, total(losses))
