"""A training problem, checked and ready, and its data in shuffled chunks of whole batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Key

from boltzflow.bits import Prepared, prepare
from boltzflow.errors import InputError
from boltzflow.learning.contract import Examples, Rule
from boltzflow.learning.settings import (
    FEWEST_EPOCHS,
    MOST_EPOCHS,
    MOST_ITERATIONS,
    USUAL_STEPS,
    Settings,
    make_optimiser,
)
from boltzflow.machine.stack import Model, check_model
from boltzflow.sampling.uniforms import Purpose, stream

MOST_VALUES_IN_CHUNK = 2**28
"""Bits of data that one compiled program holds, one byte each."""


@dataclass(frozen=True)
class Task:
    """What stays the same from epoch to epoch."""

    rule: Rule
    settings: Settings
    data: Prepared
    dtype: jnp.dtype

    @property
    def n_rows(self) -> int:
        return len(self.data.values)

    @property
    def batch_size(self) -> int:
        return self.n_rows if self.settings.lbfgs else min(self.settings.batch_size, self.n_rows)

    @property
    def chunk_rows(self) -> int:
        """Rows of one chunk: whole batches, within the limit of memory."""
        most = self.settings.chunk_rows or max(1, MOST_VALUES_IN_CHUNK // self.data.values.shape[1])
        return _n_batches(min(most, self.n_rows), self.batch_size) * self.batch_size

    @property
    def steps_per_epoch(self) -> int:
        whole, rest = divmod(self.n_rows, self.chunk_rows)
        return whole * self.chunk_rows // self.batch_size + _n_batches(rest, self.batch_size)

    @property
    def epochs(self) -> int:
        """As asked for; otherwise more for small data than for large."""
        if self.settings.epochs is not None:
            return self.settings.epochs
        if self.settings.lbfgs:
            return MOST_ITERATIONS
        return min(MOST_EPOCHS, max(FEWEST_EPOCHS, -(-USUAL_STEPS // self.steps_per_epoch)))

    @property
    def n_steps(self) -> int:
        return self.epochs * self.steps_per_epoch

    @property
    def optimiser(self) -> optax.GradientTransformationExtraArgs:
        return make_optimiser(self.settings, self.n_steps)


def make_task(machine: Model, data: Any, rule: Rule, settings: Settings) -> Task:
    """Data, rule and machine, checked against each other."""
    check_model(machine)
    rule.check(machine.layout)
    task = Task(rule, settings, prepare(data, machine.layout.n_visible, settings.binarise), machine.dtype)
    if settings.lbfgs:
        _check_lbfgs(task)
    return task


def _check_lbfgs(task: Task) -> None:
    if not task.rule.convex:
        raise InputError(
            f"optimiser 'lbfgs' needs a rule with one convex objective (mpf, pseudolikelihood); {task.rule.name} has none. "
            "Use 'adam'."
        )
    if task.data.values.size > MOST_VALUES_IN_CHUNK:
        raise InputError(
            f"optimiser 'lbfgs' holds all rows at once, at most {MOST_VALUES_IN_CHUNK:,} values; the data have "
            f"{task.data.values.size:,}. Use fewer rows, or 'adam'."
        )


def chunks(task: Task, key: Key[Array, ""]) -> Iterator[Examples]:
    """The data of one epoch, shuffled, in chunks of whole batches."""
    order = np.arange(task.n_rows)
    if task.settings.shuffle and not task.settings.lbfgs:
        order = np.asarray(jax.random.permutation(jax.random.fold_in(key, int(Purpose.SHUFFLE)), task.n_rows))
    for begin in range(0, task.n_rows, task.chunk_rows):
        yield _examples(task, order[begin : begin + task.chunk_rows], key)


def _examples(task: Task, ids: np.ndarray, key: Key[Array, ""]) -> Examples:
    """Rows by number; the last batch is filled up with rows that weigh nothing."""
    n_real, n_rows = len(ids), _n_batches(len(ids), task.batch_size) * task.batch_size
    batch_begin = np.arange(n_rows) // task.batch_size * task.batch_size
    in_batch = np.minimum(task.batch_size, n_real - batch_begin)
    weights = np.where(np.arange(n_rows) < n_real, 1.0 / in_batch, 0.0)
    ids = np.resize(ids, n_rows)
    values = jnp.asarray(task.data.values[ids])
    if values.dtype != bool:
        values = stream(key, Purpose.BINARISE, jnp.asarray(ids)).draw(values).astype(bool)
    return Examples(values, jnp.asarray(ids), jnp.arange(n_rows), jnp.asarray(weights, task.dtype), task.n_rows)


def _n_batches(n_rows: int, batch_size: int) -> int:
    return -(-n_rows // batch_size)
