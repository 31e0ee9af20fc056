"""The contract of every learning rule.

    rule_state          = rule.init(model, data, key=key)
    rule_state          = rule.begin_epoch(model, rule_state, data, key=key)
    updates, state, info = rule.update(model, rule_state, batch, key=key)

`updates` is a machine of numbers to descend along: the gradient of the rule's objective where it has one. `rule_state`
holds what the next step needs (chains, completions), `info` what a person wants to see. A rule never sees the optimiser
and never sees the data twice: `begin_epoch` gets the rows that are about to be learned from, with the model as it was
when the epoch began, and `update` one batch of them.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, Key

from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.stack import Model, StackLayout

RuleState: TypeAlias = Any
"""A pytree of arrays that only its rule looks into."""


class Examples(eqx.Module):
    """Rows of data that know who they are."""

    visible: Bool[Array, "rows n_visible"]
    ids: Int[Array, " rows"]
    """Which example each row is: random numbers belong to examples, not to places in a batch."""
    rows: Int[Array, " rows"]
    """Where each row stands among those that `begin_epoch` saw."""
    weights: Float[Array, " rows"]
    """Weights that sum to one; zero for rows that only fill up the last batch."""
    total: int = eqx.field(static=True, default=0)
    """How many examples there are in all."""


class Info(NamedTuple):
    """What a person wants to see of one step."""

    value: Float[Array, ""]
    """The number that the rule's `objective` names."""


class Step(NamedTuple):
    """What one call of `update` returns."""

    updates: Model
    rule_state: RuleState
    info: Info


@runtime_checkable
class Rule(Protocol):
    """A way to learn. Rules are frozen dataclasses: options only, so that compiled programs are found again."""

    name: ClassVar[str]
    """As typed on the command line."""
    objective: ClassVar[str]
    """What `info.value` measures, in words."""
    local: ClassVar[bool]
    """An update of a coupling uses only what its two ends know."""
    samples_model: ClassVar[bool]
    """Visible units are drawn from the model while learning."""
    convex: ClassVar[bool]
    """The objective is one convex function of the parameters, free of chance: L-BFGS finds its minimum."""

    def check(self, layout: Layout | StackLayout) -> None:
        """Refuse a layout that the rule cannot serve."""
        ...

    def init(self, model: Model, data: Examples, *, key: Key[Array, ""]) -> RuleState: ...

    def begin_epoch(self, model: Model, rule_state: RuleState, data: Examples, *, key: Key[Array, ""]) -> RuleState: ...

    def update(self, model: Model, rule_state: RuleState, batch: Examples, *, key: Key[Array, ""]) -> Step: ...


def check_one_machine(layout: Layout | StackLayout, rule: str) -> None:
    """Refuse a stack where a rule needs the energy of one machine."""
    if isinstance(layout, StackLayout):
        raise InputError(
            f"rule {rule!r} trains one machine, and the layout is {layout}; train its pairs one after the other "
            "(train_greedy), all at once by 'vpf', or train one joint machine instead (deep, --joint)."
        )


def check_fully_visible(layout: Layout | StackLayout, rule: str, instead: str) -> None:
    """Refuse hidden units where a rule has nothing to say about them."""
    if not layout.fully_visible:
        raise InputError(f"rule {rule!r} is for fully visible machines; the layout is {layout}. {instead}")
