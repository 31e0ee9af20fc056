"""One step, and the compiled programs of an epoch: the completion of a chunk, and all its batches one after the other."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from boltzflow.learning.contract import Examples, Rule, RuleState
from boltzflow.machine.stack import Model


class TrainState(NamedTuple):
    """All that a run needs to go on: what a checkpoint holds."""

    model: Model
    optimiser_state: PyTree
    rule_state: RuleState
    epoch: Int[Array, ""]
    key: Key[Array, ""]


def one_step(
    rule: Rule,
    optimiser: optax.GradientTransformationExtraArgs,
    state: TrainState,
    batch: Examples,
    key: Key[Array, ""],
) -> tuple[TrainState, Float[Array, ""]]:
    """The rule's update, the optimiser's step."""
    updates, rule_state, info = rule.update(state.model, state.rule_state, batch, key=key)
    model, optimiser_state = descend(optimiser, updates, state.optimiser_state, state.model)
    return state._replace(model=model, optimiser_state=optimiser_state, rule_state=rule_state), info.value


def begin_descent(optimiser: optax.GradientTransformationExtraArgs, model: Any) -> PyTree:
    """The optimiser's first state, typed as all later ones will be, so that no program is compiled twice."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.asarray(leaf).dtype), optimiser.init(model))


def descend(
    optimiser: optax.GradientTransformationExtraArgs, updates: Any, optimiser_state: Any, model: Any, **extra: Any
) -> tuple[Any, PyTree]:
    """The model a step further. Optax counts on implicit promotion of types, and its own types cannot name a machine."""
    with jax.numpy_dtype_promotion("standard"):
        steps, optimiser_state = optimiser.update(updates, optimiser_state, model, **extra)
    return optax.apply_updates(model, steps), optimiser_state


@partial(jax.jit, static_argnums=0)
def begin_rule(rule: Rule, model: Model, chunk: Examples, key: Key[Array, ""]) -> RuleState:
    """The rule's first state, compiled."""
    return rule.init(model, chunk, key=key)


@partial(jax.jit, static_argnums=0)
def begin_chunk(rule: Rule, model: Model, rule_state: RuleState, chunk: Examples, key: Key[Array, ""]) -> RuleState:
    """The rule's preparation for the rows that come next, compiled."""
    return rule.begin_epoch(model, rule_state, chunk, key=key)


@partial(jax.jit, static_argnums=(0, 1, 2))
def learn_chunk(
    rule: Rule,
    optimiser: optax.GradientTransformationExtraArgs,
    batch_size: int,
    state: TrainState,
    chunk: Examples,
    key: Key[Array, ""],
) -> tuple[TrainState, Float[Array, " steps"]]:
    """All batches of a chunk in one compiled program."""

    def step(carry: TrainState, batch: Examples) -> tuple[TrainState, Float[Array, ""]]:
        return one_step(rule, optimiser, carry, batch, key)

    return jax.lax.scan(step, state, split_batches(chunk, batch_size))


def split_batches(chunk: Examples, batch_size: int) -> Examples:
    """The rows of a chunk with a batch axis in front."""
    return jax.tree.map(lambda rows: rows.reshape(-1, batch_size, *rows.shape[1:]), chunk)
