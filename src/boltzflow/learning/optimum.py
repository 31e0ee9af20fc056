"""L-BFGS to the optimum, for rules whose objective is one convex function of the parameters.

One epoch is one iteration over all rows. The line search knows the objective only through the rule's own local updates:
nothing is differentiated backwards.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from boltzflow.learning.contract import Examples, Rule
from boltzflow.learning.settings import couplings_only
from boltzflow.learning.step import TrainState, descend
from boltzflow.machine.stack import Model, parts

Objective: TypeAlias = Callable[[Model], Float[Array, ""]]


@partial(jax.jit, static_argnums=(0, 1, 2))
def learn_whole(
    rule: Rule,
    optimiser: optax.GradientTransformationExtraArgs,
    decay: float,
    state: TrainState,
    rows: Examples,
    key: Key[Array, ""],
) -> tuple[TrainState, Float[Array, " one"]]:
    """One iteration of L-BFGS on all rows; the value is the rule's objective where the iteration began."""
    objective = decayed_objective(rule, decay, state, rows, key)
    value, gradient = optax.value_and_grad_from_state(objective)(state.model, state=state.optimiser_state)
    model, optimiser_state = descend(
        optimiser, gradient, state.optimiser_state, state.model, value=value, grad=gradient, value_fn=objective
    )
    undecayed = jnp.asarray(value) - 0.5 * decay * squared_couplings(state.model)
    return state._replace(model=model, optimiser_state=optimiser_state), undecayed[None]


def decayed_objective(rule: Rule, decay: float, state: TrainState, rows: Examples, key: Key[Array, ""]) -> Objective:
    """θ ↦ objective(θ) + ½ decay Σ w², with the rule's own update plus decay · w as its gradient [ours]."""

    def both(model: Model) -> tuple[Float[Array, ""], Model]:
        updates, _, info = rule.update(model, state.rule_state, rows, key=key)
        pulled = jax.tree.map(
            lambda update, weight, decays: update + decay * weight if decays else update,
            updates,
            model,
            couplings_only(model),
        )
        return info.value + 0.5 * decay * squared_couplings(model), pulled

    @jax.custom_vjp
    def objective(model: Model) -> Float[Array, ""]:
        return both(model)[0]

    objective.defvjp(both, lambda gradient, scale: (jax.tree.map(lambda part: scale * part, gradient),))
    return objective


def squared_couplings(model: Model) -> Float[Array, ""]:
    """Σ w² over all couplings [ours]."""
    squares = (jnp.sum(weights**2) for part in parts(model) for weights in part.couplings)
    return sum(squares, jnp.zeros((), model.dtype))


def steepest(state: TrainState) -> float:
    """The largest component of the gradient at the machine that L-BFGS has reached."""
    gradient = optax.tree_utils.tree_get(state.optimiser_state, "grad")
    return float(jnp.max(jnp.stack([jnp.max(jnp.abs(part)) for part in jax.tree.leaves(gradient) if part.size])))
