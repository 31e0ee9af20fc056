"""How a run is made: the choices beside rule and data, checked once."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal

import jax
import optax

from boltzflow.bits import Binarise, check_binarise
from boltzflow.errors import InputError, check_choice, check_count, check_real, check_seed, unknown
from boltzflow.flow import PAPER_DECAY
from boltzflow.machine.stack import Model, parts

OPTIMISERS = ("adam", "sgd", "momentum", "lbfgs")
SCHEDULES = ("linear", "constant", "cosine")
MOMENTUM = 0.9

USUAL_STEPS = 37_500
"""Thirty epochs of 50,000 examples in batches of 40."""
FEWEST_EPOCHS, MOST_EPOCHS = 30, 1000
MOST_ITERATIONS = 500


@dataclass(frozen=True)
class Settings:
    """The choices of a training run, with the defaults that docs/choosing-a-rule.md argues for."""

    epochs: int | None = None
    """None: as many as make some 37,500 steps, between 30 and 1,000; with L-BFGS at most 500 iterations."""
    batch_size: int = 40
    learning_rate: float = 1.5e-3
    optimiser: str | optax.GradientTransformation = "adam"
    """"adam", "sgd", "momentum"; "lbfgs" for convex rules, where an epoch is one iteration over all rows; or a
    transformation of optax, which then brings its own rate and schedule."""
    tolerance: float = 1e-3
    """L-BFGS stops where no component of the gradient is larger; single precision shows little below 1e-4."""
    schedule: str = "linear"
    """The rate falls to zero over all epochs ("linear", "cosine") or stays ("constant")."""
    decay: float = PAPER_DECAY
    """decay · w is added to the gradient of every coupling; never of a bias."""
    bias_start: Literal["auto", "log-odds", "keep"] = "auto"
    """Visible biases start at the log-odds of the data, hidden ones at −1; "auto": only where all are still zero."""
    shuffle: bool = True
    """A new order of the rows each epoch."""
    binarise: Binarise = 0.5
    """Grey values: a threshold, "draw" for fresh bits each epoch, None to refuse them."""
    chunk_rows: int | None = None
    """Rows that one compiled program goes through; None: all, up to 2²⁸ values."""
    seed: int = 0

    @property
    def lbfgs(self) -> bool:
        return isinstance(self.optimiser, str) and self.optimiser == "lbfgs"

    @property
    def rated(self) -> bool:
        """The learning rate and its schedule are the settings'."""
        return isinstance(self.optimiser, str) and not self.lbfgs

    def __post_init__(self) -> None:
        if self.epochs is not None:
            check_count("epochs", self.epochs)
        check_count("batch_size", self.batch_size)
        check_seed(self.seed)
        check_real("learning_rate", self.learning_rate, above=True)
        check_real("decay", self.decay)
        check_real("tolerance", self.tolerance, above=True)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("bias_start", self.bias_start, ("auto", "log-odds", "keep"))
        check_binarise(self.binarise)
        if not isinstance(self.shuffle, bool):
            raise InputError(f"shuffle is True or False; got {self.shuffle!r}.")
        if self.chunk_rows is not None:
            check_count("chunk_rows", self.chunk_rows)
        if self.lbfgs and self.binarise == "draw":
            raise InputError(
                "L-BFGS needs the same bits in every iteration; with binarise='draw' use optimiser='adam'."
            )
        if isinstance(self.optimiser, str):
            check_choice("optimiser", self.optimiser, OPTIMISERS)
        elif not isinstance(self.optimiser, optax.GradientTransformation):
            raise InputError(
                f"optimiser is one of {', '.join(OPTIMISERS)} or an optax transformation; got {self.optimiser!r}."
            )


def make_settings(options: dict[str, Any]) -> Settings:
    """Settings from keywords; an unknown one suggests the nearest."""
    known = [field.name for field in fields(Settings)]
    if strange := [option for option in options if option not in known]:
        raise unknown("setting", strange[0], known)
    return Settings(**options)


def learning_rates(settings: Settings, n_steps: int) -> optax.Schedule:
    """The learning rate at each step of a run."""
    if settings.schedule == "linear":
        return optax.linear_schedule(settings.learning_rate, 0.0, n_steps)
    if settings.schedule == "cosine":
        return optax.cosine_decay_schedule(settings.learning_rate, n_steps)
    return optax.constant_schedule(settings.learning_rate)


def make_optimiser(settings: Settings, n_steps: int) -> optax.GradientTransformationExtraArgs:
    """Decay of the couplings (L-BFGS has it in its objective), then the optimiser; settings that step alike share one."""
    return _make_optimiser(
        replace(settings, epochs=None, seed=0, shuffle=True, bias_start="auto", binarise=0.5), n_steps
    )


@lru_cache(maxsize=64)
def _make_optimiser(settings: Settings, n_steps: int) -> optax.GradientTransformationExtraArgs:
    if settings.lbfgs:
        return optax.lbfgs()
    stepper = settings.optimiser
    if not isinstance(stepper, optax.GradientTransformation):
        named = {"adam": optax.adam, "sgd": optax.sgd, "momentum": partial(optax.sgd, momentum=MOMENTUM)}
        stepper = named[stepper](learning_rates(settings, n_steps))
    if settings.decay:
        stepper = optax.chain(optax.add_decayed_weights(settings.decay, mask=couplings_only), stepper)
    return optax.with_extra_args_support(stepper)


def couplings_only(model: Model) -> Any:
    """True for couplings, False for biases: what decays."""
    decays = [k < len(part.couplings) for part in parts(model) for k in range(len(jax.tree.leaves(part)))]
    return jax.tree.unflatten(jax.tree.structure(model), decays)
