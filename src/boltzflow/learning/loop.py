"""The training loop. An epoch is a few compiled programs over chunks of data; all that a person sees lives between them."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Generic, TypeAlias, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from boltzflow.errors import InputError, check_count
from boltzflow.learning.contract import Examples, Rule
from boltzflow.learning.divergence import check_finite
from boltzflow.learning.optimum import learn_whole, steepest
from boltzflow.learning.rules import make_rule
from boltzflow.learning.settings import Settings, learning_rates, make_settings
from boltzflow.learning.start import set_biases
from boltzflow.learning.step import TrainState, begin_chunk, begin_descent, begin_rule, learn_chunk
from boltzflow.learning.task import Task, chunks, make_task
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack
from boltzflow.sampling.uniforms import Purpose


@dataclass(frozen=True)
class EpochRecord:
    """What one epoch left behind for a person to see."""

    epoch: int
    """Counted from 1."""
    epochs: int
    """How many there are to be at most."""
    value: float
    """The rule's objective, averaged over the epoch's steps."""
    learning_rate: float | None
    """At the end of the epoch; None where the optimiser brought its own."""
    seconds: float
    monitor: float | None = None


Monitor: TypeAlias = Callable[[Any], float]
"""A number to watch after each epoch; smaller is better."""

Callback: TypeAlias = Callable[[EpochRecord, TrainState], bool | None]
"""Called after each epoch; True stops the run."""


Trained = TypeVar("Trained", bound=Machine | Stack)


@dataclass(frozen=True)
class Run(Generic[Trained]):
    """A finished training run."""

    model: Trained
    """After the last epoch; with `patience`, after the best one."""
    history: tuple[EpochRecord, ...]
    rule: Rule
    settings: Settings
    state: TrainState
    """After the last epoch: what going on would start from."""
    notes: tuple[str, ...]
    """What was done with the data, and how the run ended."""

    def __repr__(self) -> str:
        last = self.history[-1]
        told = (
            f"Run({self.rule.name}, {len(self.history)} epochs, {self.rule.objective} {last.value:.4g}, {self.model})"
        )
        return "\n".join([told, *(f"  {note}" for note in self.notes)])


def train(
    machine: Trained,
    data: Any,
    *,
    rule: str | Rule = "vpf",
    rule_options: dict[str, Any] | None = None,
    monitor: Monitor | None = None,
    patience: int | None = None,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> Run[Trained]:
    """Train a machine on rows of values in [0, 1]. Further keywords are the fields of `Settings`:

    epochs, batch_size, learning_rate, optimiser, tolerance, schedule, decay, bias_start, shuffle, binarise, chunk_rows, seed.

    With `patience`, training stops when `monitor` has not fallen for so many epochs, and the best model is kept.

    >>> import boltzflow as bf
    >>> run = bf.train(bf.rbm(64, 16), bf.data.digits().train, rule="vpf", epochs=2)
    >>> len(run.history)
    2
    """
    if patience is not None and check_count("patience", patience) and monitor is None:
        raise InputError("patience stops a run by its monitor; give monitor=, a function of the model.")
    if callable(callbacks) or not all(callable(callback) for callback in callbacks):
        raise InputError("callbacks is a list of functions of the epoch's record and state: callbacks=[…].")
    if monitor is not None and not callable(monitor):
        raise InputError(f"monitor is a function of the model that returns a number; got {monitor!r}.")
    task = make_task(machine, data, make_rule(rule, **(rule_options or {})), make_settings(settings))
    state = start(machine, task)
    best, history, ended = state.model, [], None
    for record, after in epochs(task, state, monitor):
        state = after
        history.append(record)
        waited = _epochs_since_best(history)
        best = state.model if waited == 0 else best
        stops = [callback(record, state) for callback in callbacks]
        if ended := _reason_to_stop(task, state, patience, waited, any(stops)):
            break
    model = state.model if patience is None else best
    ended = ended or _all_run(task, state)
    resolved = replace(task.settings, epochs=task.epochs)
    return Run(cast(Trained, model), tuple(history), task.rule, resolved, state, (*task.data.notes, ended))


def _reason_to_stop(task: Task, state: TrainState, patience: int | None, waited: int, told: bool) -> str | None:
    """Why the run ends after this epoch, in words; None where it goes on."""
    epoch = int(state.epoch)
    if patience is not None and waited >= patience:
        return f"stopped after epoch {epoch}: the monitor had not fallen for {patience} epochs"
    if told:
        return f"stopped by a callback after epoch {epoch}"
    if task.settings.lbfgs and (slope := steepest(state)) <= task.settings.tolerance:
        return f"the optimum was reached after {epoch} iterations: no component of the gradient is above {slope:.1e}"
    return None


def _all_run(task: Task, state: TrainState) -> str:
    if not task.settings.lbfgs:
        return "all epochs were run"
    return (
        f"not yet at the optimum: after all {task.epochs} iterations the gradient is {steepest(state):.1e}, "
        f"and tolerance is {task.settings.tolerance:g}; raise epochs, or tolerance where the gradient no longer falls"
    )


def start(machine: Model, task: Task) -> TrainState:
    """The state before the first epoch."""
    machine = set_biases(machine, task.data.values, task.settings.bias_start)
    key = jax.random.key(task.settings.seed)
    before_first = jax.random.fold_in(key, 0)
    first = next(chunks(task, before_first))
    rule_state = begin_rule(task.rule, machine, first, jax.random.fold_in(before_first, int(Purpose.START)))
    optimiser_state = begin_descent(task.optimiser, machine)
    return TrainState(machine, optimiser_state, rule_state, jnp.zeros((), jnp.int32), key)


def epochs(task: Task, state: TrainState, monitor: Monitor | None = None) -> Iterator[tuple[EpochRecord, TrainState]]:
    """The epochs that are still to be run, one after the other."""
    for epoch in range(int(state.epoch) + 1, task.epochs + 1):
        began = time.perf_counter()
        state, value = run_epoch(task, state)
        seconds = time.perf_counter() - began
        watched = None if monitor is None else _watch(monitor, state.model)
        yield EpochRecord(epoch, task.epochs, value, _rate_after(task, epoch), seconds, watched), state


def _watch(monitor: Monitor, model: Model) -> float:
    value = monitor(model)
    if not isinstance(value, Real) and getattr(value, "shape", None) != ():
        raise InputError(f"monitor is a function of the model that returns a number; it returned {value!r}.")
    return float(value)


def run_epoch(task: Task, state: TrainState) -> tuple[TrainState, float]:
    """One pass over the data; every chunk is completed with the model as it was when the epoch began."""
    key = jax.random.fold_in(state.key, state.epoch + 1)
    model, values = state.model, []
    for chunk in chunks(task, key):
        before = state._replace(rule_state=begin_chunk(task.rule, model, state.rule_state, chunk, key))
        state, chunk_values = _learn(task, before, chunk, key)
        check_finite(task, before, state, chunk_values, chunk, key, n_before=sum(map(len, values)))
        values.append(np.asarray(chunk_values))
    return state._replace(epoch=state.epoch + 1), float(np.concatenate(values).mean())


def _learn(task: Task, state: TrainState, chunk: Examples, key: Key[Array, ""]) -> tuple[TrainState, Array]:
    if task.settings.lbfgs:
        return learn_whole(task.rule, task.optimiser, task.settings.decay, state, chunk, key)
    return learn_chunk(task.rule, task.optimiser, task.batch_size, state, chunk, key)


def _rate_after(task: Task, epoch: int) -> float | None:
    if not task.settings.rated:
        return None
    rates = learning_rates(task.settings, task.n_steps)
    return float(np.asarray(rates(epoch * task.steps_per_epoch)))


def _epochs_since_best(history: list[EpochRecord]) -> int:
    """0 where the last epoch is the best so far, or nothing is watched."""
    watched = [record.monitor for record in history if record.monitor is not None]
    return len(watched) - 1 - int(np.argmin(np.nan_to_num(watched, nan=np.inf))) if watched else 0
