"""A stack: two-layer machines over the same layers, each with biases of its own; what the paper's authors trained.

Pair k is a machine over layers k and k + 1 and treats layer k as its data. A layer between two pairs so has two bias vectors,
one in each. A stack is no joint machine: it has no energy, only those of its pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import DTypeLike

from boltzflow.errors import InputError
from boltzflow.machine.builders import deep
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Lateral, Wiring


@dataclass(frozen=True)
class StackLayout:
    """The layouts of the pairs, from the data upwards."""

    pairs: tuple[Layout, ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InputError("a stack needs at least one pair of layers; got none.")
        for k, pair in enumerate(self.pairs):
            if len(pair.widths) != 2:
                raise InputError(f"pair {k} of a stack joins two layers; it has {len(pair.widths)}: {pair}.")
        for k, (below, above) in enumerate(zip(self.pairs, self.pairs[1:], strict=False)):
            if below.widths[1] != above.widths[0]:
                raise InputError(
                    f"pairs {k} and {k + 1} of a stack share a layer, but its width is {below.widths[1]} in one and "
                    f"{above.widths[0]} in the other."
                )

    @property
    def widths(self) -> tuple[int, ...]:
        return (*(pair.widths[0] for pair in self.pairs), self.pairs[-1].widths[1])

    @property
    def n_visible(self) -> int:
        return self.widths[0]

    @property
    def n_hidden(self) -> int:
        return sum(self.widths[1:])

    @property
    def fully_visible(self) -> bool:
        return False

    @property
    def n_couplings(self) -> int:
        return sum(pair.n_couplings for pair in self.pairs)

    def __str__(self) -> str:
        lateral = [k + 1 for k, pair in enumerate(self.pairs) if pair.coupled_inside(1)]
        inside = f", lateral {', '.join(map(str, lateral))}" if lateral else ""
        return f"{'-'.join(map(str, self.widths))} (stack of {len(self.pairs)} pair{'s' if len(self.pairs) > 1 else ''}{inside})"


class Stack(eqx.Module):
    """Two-layer machines, one on top of the other, as a pytree whose leaves are their parameters."""

    pairs: tuple[Machine, ...] = eqx.field(converter=tuple)

    def __check_init__(self) -> None:
        for k, pair in enumerate(self.pairs):
            if not isinstance(pair, Machine):
                raise InputError(f"the pairs of a stack are machines; pair {k} is a {type(pair).__name__}.")
        StackLayout(tuple(pair.layout for pair in self.pairs))
        if len(types := {str(pair.dtype) for pair in self.pairs}) > 1:
            raise InputError(f"the pairs of a stack hold numbers of one type; got {', '.join(sorted(types))}.")

    @property
    def layout(self) -> StackLayout:
        return StackLayout(tuple(pair.layout for pair in self.pairs))

    @property
    def dtype(self) -> jnp.dtype:
        return self.pairs[0].dtype

    def __repr__(self) -> str:
        return f"Stack({self.layout}, {self.layout.n_couplings} couplings, {self.dtype})"


Model: TypeAlias = Machine | Stack
"""What can be trained."""


def check_model(model: object) -> None:
    """Refuse what is neither a machine nor a stack."""
    if not isinstance(model, Machine | Stack):
        hint = "; use its .model" if isinstance(getattr(model, "model", None), Machine | Stack) else ""
        raise InputError(f"expected a machine or a stack; got {type(model).__name__}{hint}.")


def parts(model: Model) -> tuple[Machine, ...]:
    """The machines that a model is made of: a machine is a stack of itself alone."""
    return (model,) if isinstance(model, Machine) else model.pairs


def with_parts(model: Model, machines: Sequence[Machine]) -> Model:
    """A model of the same kind, made of other machines."""
    return machines[0] if isinstance(model, Machine) else Stack(tuple(machines))


def stack(*widths: int, lateral: bool | Sequence[bool] = False, seed: int = 0, dtype: DTypeLike = jnp.float32) -> Stack:
    """A stack of pairs over layers of these widths, the first one visible; `lateral` couples the units inside hidden layers.

    `lateral` is one word for all hidden layers, or one for each.
    """
    return as_stack(deep(*widths, lateral=lateral, seed=seed, dtype=dtype))


def as_stack(machine: Machine) -> Stack:
    """A joint deep machine cut into pairs; each pair gets the biases of both its layers, and the couplings inside the upper one.

    Couplings inside the visible layer stay with the first pair. Exact where there is one hidden layer; otherwise a start.
    """
    check_model(machine)
    if not isinstance(machine, Machine):
        raise InputError(f"a joint machine is cut into a stack; got {machine!r}.")
    layout = machine.layout
    if any(max(wiring.layers) - min(wiring.layers) > 1 for wiring in layout.wirings):
        raise InputError(f"only neighbouring layers of a stack are coupled; the layout is {layout}.")
    return Stack(tuple(_pair(machine, k) for k in range(len(layout.widths) - 1)))


def as_deep(of: Stack) -> Machine:
    """A stack joined to one deep machine. A layer between two pairs gets the mean of its two bias vectors.

    What the joint machine does is another matter: each unit now hears the layers above and below at once.
    """
    check_model(of)
    if not isinstance(of, Stack):
        raise InputError(f"the pairs of a stack are joined to one machine; got {of!r}.")
    named = [pair.layout.labels for pair in of.pairs]
    layout = Layout(
        of.layout.widths,
        tuple(_moved(wiring, k) for k, pair in enumerate(of.pairs) for wiring in pair.layout.wirings),
        (*(labels[0] for labels in named), named[-1][1]) if all(named) else (),
    )
    couplings = tuple(weights for pair in of.pairs for weights in pair.couplings)
    between = tuple(
        0.5 * (below.biases[1] + above.biases[0]) for below, above in zip(of.pairs, of.pairs[1:], strict=False)
    )
    return Machine(layout, couplings, (of.pairs[0].biases[0], *between, of.pairs[-1].biases[1]))


def _pair(machine: Machine, k: int) -> Machine:
    """Layers k and k + 1 with what is wired between them and inside the upper one."""
    wanted = ({k, k + 1}, {k + 1}, {0} if k == 0 else {k + 1})
    kept = [n for n, wiring in enumerate(machine.layout.wirings) if wiring.layers in wanted]
    layout = Layout(
        machine.layout.widths[k : k + 2],
        tuple(_moved(machine.layout.wirings[n], -k) for n in kept),
        machine.layout.labels[k : k + 2],
    )
    return Machine(layout, tuple(machine.couplings[n] for n in kept), machine.biases[k : k + 2])


def _moved(wiring: Wiring, by: int) -> Wiring:
    """The same wiring between layers that are counted from elsewhere."""
    if isinstance(wiring, Lateral):
        return replace(wiring, layer=wiring.layer + by)
    return replace(wiring, lower=wiring.lower + by, upper=wiring.upper + by)
