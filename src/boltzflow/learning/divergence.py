"""Diverging machines: found after each chunk, named by unit, layer, epoch and step. Nothing is paid for it while all is well."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from boltzflow.errors import DivergenceError
from boltzflow.learning.contract import Examples
from boltzflow.learning.step import TrainState, one_step, split_batches
from boltzflow.learning.task import Task
from boltzflow.machine.machine import Machine, local_fields
from boltzflow.machine.stack import Model, parts, with_parts


@jax.jit
def all_finite(tree: PyTree) -> Bool[Array, ""]:
    """No NaN and no infinity among the numbers of a pytree."""
    numbers = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in numbers]))


def check_finite(
    task: Task,
    before: TrainState,
    after: TrainState,
    values: Float[Array, " steps"],
    chunk: Examples,
    key: Key[Array, ""],
    n_before: int = 0,
) -> None:
    """Refuse a chunk after which model, optimiser or objective is not finite; steps are repeated to find the first bad one."""
    if all_finite((after.model, after.optimiser_state, values)):
        return
    if task.settings.lbfgs:
        raise _error(task, before, after.model, chunk, 0, key)
    step = jax.jit(lambda state, batch: one_step(task.rule, task.optimiser, state, batch, key))
    batches = split_batches(chunk, task.batch_size)
    state = before
    for k in range(len(values)):
        batch = jax.tree.map(lambda rows, k=k: rows[k], batches)
        after, value = step(state, batch)
        if not all_finite((after.model, after.optimiser_state, value)):
            raise _error(task, state, after.model, batch, n_before + k, key)
        state = after
    raise DivergenceError(f"training diverged in epoch {int(before.epoch) + 1}; {_advice(task)}")


_ADVICE = "lower learning_rate, raise decay, or keep an earlier model"
_ADVICE_OPTAX = "lower the rate of the transformation given as optimiser, raise decay, or keep an earlier model"
_ADVICE_LBFGS = "raise decay, drop columns that never change, or use optimiser='adam'"


def _error(
    task: Task, state: TrainState, reached: Model, batch: Examples, k: int, key: Key[Array, ""]
) -> DivergenceError:
    updates, _, _ = task.rule.update(state.model, state.rule_state, batch, key=key)
    where, size = steepest_unit(updates)
    what = f"the gradient of {where} reached {size:.3g}"
    if all_finite(updates) and not all_finite(reached):
        where, _ = steepest_unit(heard_from_all(reached))
        what = f"its step left the range of numbers at {where}"
    elif all_finite(updates):
        what = "its objective is no longer a number"
    cause = f" with learning_rate={task.settings.learning_rate:g}" if task.settings.rated else ""
    return DivergenceError(
        f"training by {task.rule.name} diverged in epoch {int(state.epoch) + 1}, step {k + 1}: {what}{cause}; "
        f"{_advice(task)}."
    )


def _advice(task: Task) -> str:
    if task.settings.lbfgs:
        return _ADVICE_LBFGS
    return _ADVICE if task.settings.rated else _ADVICE_OPTAX


def heard_from_all(model: Model) -> Model:
    """Each bias replaced by the unit's field where all units are 1: not finite at both ends of a coupling that is not."""
    found = []
    for part in parts(model):
        ones = tuple(jnp.ones((1, width), part.dtype) for width in part.layout.widths)
        fields = tuple(field[0] for field in local_fields(part, ones))
        found.append(Machine(part.layout, part.couplings, fields))
    return with_parts(model, found)


def steepest_unit(updates: Model) -> tuple[str, float]:
    """The unit with the largest bias gradient, in words, and its size; what is not a number counts as infinite."""
    found = []
    for k, part in enumerate(parts(updates)):
        of_pair = f", pair {k}," if len(parts(updates)) > 1 else ""
        for layer, bias in enumerate(part.biases):
            sizes = np.nan_to_num(np.abs(np.asarray(bias)), nan=np.inf, posinf=np.inf)
            found.append((float(sizes.max()), part.layout.name_of(layer, int(sizes.argmax()), below=k) + of_pair))
    size, name = max(found, key=lambda pair: pair[0])
    return name, size
