"""Which pairs of units are coupled: three kinds of wiring with the same operations.

`fields` carries states through the couplings to one layer; `pair_statistics` sums products of two units' values
over a batch, one number per coupling. Everything else (energy, flow, rules) is made of these two. A wiring is static
and hashable; the weights it shapes are plain arrays in the machine.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from boltzflow.errors import InputError

States: TypeAlias = tuple[Float[Array, "batch _"], ...]
"""One array per layer, batch first, units last; 0/1 when they are states, any value when they are statistics."""

Units: TypeAlias = Int[np.ndarray, " chosen"] | None
"""Some units of a layer, known before compilation; None means all of them."""


def _columns(weights: Float[Array, "n m"], units: Units) -> Float[Array, "n _"]:
    return weights if units is None else weights[:, units]


@dataclass(frozen=True)
class Dense:
    """Every unit of layer `lower` with every unit of layer `upper`; row j of the weights is what upper unit j listens to.

    Rows belong to the upper layer because XLA's products on CPU are a fifth faster that way round.
    """

    lower: int
    upper: int
    widths: tuple[int, int]
    """Widths of the lower and the upper layer."""

    def __post_init__(self) -> None:
        if self.lower == self.upper:
            raise InputError(
                f"layer {self.lower} cannot be joined to itself by Dense; Lateral couples units inside a layer."
            )
        _check_order(self.lower, self.upper)

    @property
    def layers(self) -> frozenset[int]:
        return frozenset({self.lower, self.upper})

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return (self.widths[1], self.widths[0])

    @property
    def n_couplings(self) -> int:
        return self.widths[0] * self.widths[1]

    def fields(
        self, weights: Float[Array, "upper lower"], states: States, layer: int, units: Units = None
    ) -> Float[Array, "batch _"]:
        """z_j = Σ_i w_ji y_i for `layer` = upper, z_i = Σ_j w_ji y_j for `layer` = lower [ours]."""
        if layer == self.upper:
            return states[self.lower] @ _columns(weights.T, units)
        return states[self.upper] @ _columns(weights, units)

    def pair_statistics(self, first: States, second: States) -> Float[Array, "upper lower"]:
        """Σ_batch first_i second_j, with i in layer `lower` and j in layer `upper` [ours]."""
        return second[self.upper].T @ first[self.lower]

    def tied_statistics(self, values: States, errors: States) -> Float[Array, "upper lower"]:
        """Σ_batch (values_i errors_j + errors_i values_j): what a coupling owes to its two ends together [ours]."""
        return self.pair_statistics(values, errors) + self.pair_statistics(errors, values)


@dataclass(frozen=True)
class Lateral:
    """Every pair inside one layer, stored once: weights are (n, n), of which the strict upper triangle counts."""

    layer: int
    width: int

    @property
    def widths(self) -> tuple[int, int]:
        return (self.width, self.width)

    @property
    def layers(self) -> frozenset[int]:
        return frozenset({self.layer})

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return self.widths

    @property
    def n_couplings(self) -> int:
        return self.width * (self.width - 1) // 2

    def symmetric(self, weights: Float[Array, "n n"]) -> Float[Array, "n n"]:
        """w_ij = w_ji, w_ii = 0: symmetric by construction, whatever lies below the diagonal [ours]."""
        upper = jnp.triu(weights, 1)
        return upper + upper.T

    def fields(
        self, weights: Float[Array, "n n"], states: States, layer: int, units: Units = None
    ) -> Float[Array, "batch _"]:
        """z_j = Σ_{i≠j} w_ij y_i [ours]."""
        return states[layer] @ _columns(self.symmetric(weights), units)

    def pair_statistics(self, first: States, second: States) -> Float[Array, "n n"]:
        """Σ_batch first_i second_j for i < j, zero elsewhere [ours]."""
        return jnp.triu(first[self.layer].T @ second[self.layer], 1)

    def tied_statistics(self, values: States, errors: States) -> Float[Array, "n n"]:
        """Σ_batch (values_i errors_j + errors_i values_j) for i < j: both directions lie in one product [ours]."""
        both = values[self.layer].T @ errors[self.layer]
        return jnp.triu(both + both.T, 1)


@dataclass(frozen=True, eq=False)
class Edges:
    """A list of pairs between layers `lower` < `upper`, or inside one: weights are one number per pair.

    Work and memory grow with the number of pairs. Inside a layer each pair is listed once, smaller unit first.
    """

    lower: int
    upper: int
    widths: tuple[int, int]
    """Widths of the two layers."""
    rows: np.ndarray
    """Unit of layer `lower`, for each pair."""
    columns: np.ndarray
    """Unit of layer `upper`, for each pair."""
    identity: tuple[object, ...] = field(init=False, repr=False)
    """What two equal edge lists share: lets compiled programs be found again."""

    def __post_init__(self) -> None:
        _check_order(self.lower, self.upper)
        _check_units(self.rows, self.columns, self.widths)
        for name in ("rows", "columns"):
            indices = np.array(getattr(self, name), dtype=np.int32)
            indices.flags.writeable = False
            object.__setattr__(self, name, indices)
        if self.lower == self.upper:
            if (turned := np.flatnonzero(self.rows > self.columns)).size:
                i, j = self.rows[turned[0]], self.columns[turned[0]]
                raise InputError(f"the pair ({i}, {j}) lies inside a layer; list the smaller unit first: ({j}, {i}).")
            check_pairs(self.rows, self.columns)
        else:
            check_listed_once(self.rows, self.columns)
        digest = hashlib.sha256(self.rows.tobytes() + self.columns.tobytes()).digest()
        object.__setattr__(self, "identity", (self.lower, self.upper, self.widths, digest))

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edges) and self.identity == other.identity

    @property
    def layers(self) -> frozenset[int]:
        return frozenset({self.lower, self.upper})

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return (self.n_couplings,)

    @property
    def n_couplings(self) -> int:
        return len(self.rows)

    def fields(
        self, weights: Float[Array, " pairs"], states: States, layer: int, units: Units = None
    ) -> Float[Array, "batch _"]:
        """z_i = Σ_{pairs i–j} w_ij y_j: each pair sends its weight to the one end, the other, or both [ours]."""
        into, out_of, pair = self._half_edges(layer, units)
        senders = states[self.lower if layer == self.upper else self.upper].T
        sent = weights[pair][:, None] * senders[out_of]
        n_receivers = self.widths[layer == self.upper] if units is None else len(units)
        return jax.ops.segment_sum(sent, into, num_segments=n_receivers).T

    def pair_statistics(self, first: States, second: States) -> Float[Array, " pairs"]:
        """Σ_batch first_i second_j for each listed pair (i, j) [ours]."""
        return jnp.sum(first[self.lower].T[self.rows] * second[self.upper].T[self.columns], axis=1)

    def tied_statistics(self, values: States, errors: States) -> Float[Array, " pairs"]:
        """Σ_batch (values_i errors_j + errors_i values_j) for each listed pair (i, j) [ours]."""
        return self.pair_statistics(values, errors) + self.pair_statistics(errors, values)

    def _half_edges(self, layer: int, units: Units) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Receiver, sender and number of each pair as seen from `layer`; only those that end in `units`."""
        pair = np.arange(len(self.rows), dtype=np.int32)
        if self.lower == self.upper:
            into = np.concatenate([self.columns, self.rows])
            out_of = np.concatenate([self.rows, self.columns])
            pair = np.concatenate([pair, pair])
        elif layer == self.upper:
            into, out_of = self.columns, self.rows
        else:
            into, out_of = self.rows, self.columns
        if units is None:
            return into, out_of, pair
        place = np.full(self.widths[layer == self.upper], -1, dtype=np.int32)
        place[units] = np.arange(len(units), dtype=np.int32)
        kept = place[into] >= 0
        return place[into][kept], out_of[kept], pair[kept]


Wiring: TypeAlias = Dense | Lateral | Edges


def check_pairs(first: np.ndarray, second: np.ndarray, names: Sequence[Hashable] | None = None) -> None:
    """Refuse self-loops, and pairs of units of one set that are listed twice, in either order."""
    if (loops := np.flatnonzero(first == second)).size:
        raise InputError(
            f"unit {_named(first[loops[0]], names)!r} is coupled to itself; a Boltzmann machine has no self-couplings."
        )
    check_listed_once(np.minimum(first, second), np.maximum(first, second), names)


def check_listed_once(first: np.ndarray, second: np.ndarray, names: Sequence[Hashable] | None = None) -> None:
    """Refuse a pair that stands in the list more than once."""
    distinct, counts = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    if (twice := np.flatnonzero(counts > 1)).size:
        pair = tuple(_named(unit, names) for unit in distinct[:, twice[0]])
        raise InputError(f"the pair {pair!r} is listed {counts[twice[0]]} times; list each pair once.")


def _named(unit: Any, names: Sequence[Hashable] | None) -> Hashable:
    return int(unit) if names is None else names[int(unit)]


def _check_order(lower: int, upper: int) -> None:
    if lower > upper:
        raise InputError(f"lower is a layer below upper, or the same; got {lower} and {upper}.")


def _check_units(rows: np.ndarray, columns: np.ndarray, widths: tuple[int, int]) -> None:
    """Whole numbers, as many of both, within their layers."""
    if len(rows) != len(columns):
        raise InputError(f"each pair has a row and a column; got {len(rows)} rows and {len(columns)} columns.")
    for units, width in zip((rows, columns), widths, strict=True):
        given = np.asarray(units)
        if given.dtype.kind not in "iu" and given.size:
            raise InputError(f"units are whole numbers; got an array of type {given.dtype}.")
        if (outside := given[(given < 0) | (given >= width)]).size:
            raise InputError(f"unit {outside[0]} is not one of the {width} units of its layer, counted from 0.")
