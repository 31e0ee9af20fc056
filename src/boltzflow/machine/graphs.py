"""Machines on a given graph: from a list of pairs, a sparse matrix or a networkx graph, and back to a list."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import ArrayLike, DTypeLike

from boltzflow.errors import InputError
from boltzflow.machine.builders import edges_between, random_machine, zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.wiring import Dense, Lateral, Wiring, check_pairs

Graph: TypeAlias = Any
"""Pairs of units, a scipy.sparse matrix of couplings, or an undirected networkx graph."""

_NO_EDGES = "the graph has no edges; give at least one pair of units."


@dataclass(frozen=True)
class _Pairs:
    """A graph in one form: named units, pairs of their positions, and what the source said of weights and biases."""

    labels: tuple[Hashable, ...]
    pairs: np.ndarray
    couplings: np.ndarray | None = None
    biases: np.ndarray | None = None


def graph(
    edges: Graph,
    *,
    visible: int | Sequence[Hashable] | None = None,
    couplings: ArrayLike | None = None,
    biases: ArrayLike | None = None,
    seed: int = 0,
    dtype: DTypeLike = jnp.float32,
) -> Machine:
    """A machine on a given graph; cost and memory grow with its edges.

    `edges` is a list of pairs, a scipy.sparse matrix (its values are the couplings) or a networkx graph (edge attribute
    `weight`, node attribute `bias`). `visible` says which units are data: all (None), the first so many, or their names.
    `couplings`, one per pair or as a symmetric matrix, and `biases`, one per unit, default to zero where all is visible.
    """
    given = _read(edges)
    check_pairs(given.pairs[:, 0], given.pairs[:, 1], given.labels)
    weights = given.couplings if couplings is None else _weights_of(given, _numbers("couplings", couplings))
    offsets = given.biases if biases is None else _numbers("biases", biases)
    _check_numbers("couplings", weights, len(given.pairs))
    _check_numbers("biases", offsets, len(given.labels))
    layers = _split(given.labels, visible)
    layout, source = _layout(given, layers)
    machine = (
        zero_machine(layout, dtype=dtype)
        if layout.fully_visible or weights is not None
        else random_machine(layout, seed=seed, dtype=dtype)
    )
    placed = machine.couplings if weights is None else tuple(jnp.asarray(weights[pick], dtype) for pick in source)
    set_biases = machine.biases if offsets is None else tuple(jnp.asarray(offsets[layer], dtype) for layer in layers)
    return Machine(layout, placed, set_biases)


def coupling_list(machine: Machine) -> tuple[list[tuple[Hashable, Hashable]], np.ndarray]:
    """All coupled pairs by name, and their couplings; units without names are counted through from 0."""
    layout = machine.layout
    names = layout.labels or tuple(
        tuple(range(start, start + width)) for start, width in zip(layout.offsets, layout.widths, strict=True)
    )
    pairs: list[tuple[Hashable, Hashable]] = []
    weights = [np.zeros(0, dtype=machine.dtype)]
    for wiring, array in zip(layout.wirings, machine.couplings, strict=True):
        lower, upper, at = _ends(wiring)
        low, high = min(wiring.layers), max(wiring.layers)
        pairs += [(names[low][i], names[high][j]) for i, j in zip(lower, upper, strict=True)]
        weights.append(np.asarray(array)[at])
    return pairs, np.concatenate(weights)


def _ends(wiring: Wiring) -> tuple[np.ndarray, np.ndarray, Any]:
    """Lower unit and upper unit of every coupling, and where its weight lies in the array."""
    if isinstance(wiring, Dense):
        upper, lower = (axis.ravel() for axis in np.indices(wiring.weight_shape))
        return lower, upper, (upper, lower)
    if isinstance(wiring, Lateral):
        lower, upper = np.triu_indices(wiring.width, 1)
        return lower, upper, (lower, upper)
    return wiring.rows, wiring.columns, slice(None)


def _read(edges: Graph) -> _Pairs:
    if hasattr(edges, "tocoo"):
        return _from_sparse(edges)
    if hasattr(edges, "is_directed"):
        return _from_networkx(edges)
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise InputError(f"a graph is a list of pairs, a scipy.sparse matrix or a networkx graph; got {edges!r}.")
    return _from_pairs(edges)


def _from_pairs(edges: Iterable[Any]) -> _Pairs:
    if isinstance(edges, np.ndarray) and (edges.dtype.kind == "f" or edges.shape[1:] != (2,)):
        raise InputError(
            f"an array of pairs is whole and has two columns; got {edges.dtype} of shape {edges.shape}. A dense matrix of "
            "couplings goes in as scipy.sparse.csr_array(matrix)."
        )
    listed = [tuple(pair) if isinstance(pair, Iterable) else pair for pair in edges]
    if not listed:
        raise InputError(_NO_EDGES)
    if wrong := [pair for pair in listed if not isinstance(pair, tuple) or len(pair) != 2]:
        raise InputError(f"each edge is a pair of units; got {wrong[0]!r}. Weights go in as couplings=.")
    units = dict.fromkeys(unit.item() if isinstance(unit, np.generic) else unit for pair in listed for unit in pair)
    numbers = [unit for unit in units if isinstance(unit, int)]
    if len(numbers) == len(units):
        if min(numbers) < 0:
            raise InputError(f"units are counted from 0; got unit {min(numbers)}.")
        units = dict.fromkeys(range(max(numbers) + 1))
    place = {unit: k for k, unit in enumerate(units)}
    return _Pairs(tuple(units), np.array([[place[a], place[b]] for a, b in listed], dtype=np.int64))


def _from_sparse(matrix: Any) -> _Pairs:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a matrix of couplings is square; got shape {matrix.shape}.")
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"couplings are real numbers; got a matrix of type {matrix.dtype}.")
    square: Any = scipy.sparse.csr_array(matrix)
    _check_diagonal(square.diagonal())
    entries = scipy.sparse.coo_array(square)
    if (odd := np.flatnonzero(~np.isfinite(entries.data))).size:
        raise _not_finite(int(entries.row[odd[0]]), int(entries.col[odd[0]]), entries.data[odd[0]])
    uneven = scipy.sparse.coo_array(square - square.T)
    if (odd := np.flatnonzero(uneven.data)).size:
        raise _asymmetric(int(uneven.row[odd[0]]), int(uneven.col[odd[0]]), square)
    upper = scipy.sparse.coo_array(scipy.sparse.triu(square, 1))
    if not upper.nnz:
        raise InputError(_NO_EDGES)
    pairs = np.stack([upper.row, upper.col], axis=1).astype(np.int64)
    return _Pairs(tuple(range(square.shape[0])), pairs, np.asarray(upper.data, dtype=float))


def _check_diagonal(diagonal: np.ndarray) -> None:
    if (loops := np.flatnonzero(diagonal)).size:
        raise InputError(f"unit {loops[0]} is coupled to itself on the diagonal; give that number as its bias instead.")


def _not_finite(i: int, j: int, coupling: Any) -> InputError:
    return InputError(f"couplings must be finite, but ({i}, {j}) is {coupling}.")


def _asymmetric(i: int, j: int, couplings: Any) -> InputError:
    return InputError(
        f"couplings of a Boltzmann machine are symmetric, but ({i}, {j}) is {couplings[i, j]:g} and "
        f"({j}, {i}) is {couplings[j, i]:g}; symmetrise the matrix, for example (w + w.T) / 2."
    )


def _from_networkx(network: Any) -> _Pairs:
    if network.is_directed() or network.is_multigraph():
        raise InputError(
            "couplings are symmetric and single: give an undirected networkx.Graph, not a directed or multi one."
        )
    labels = tuple(network.nodes)
    place = {unit: k for k, unit in enumerate(labels)}
    listed = list(network.edges(data="weight"))
    if not listed:
        raise InputError(_NO_EDGES)
    pairs = np.array([[place[a], place[b]] for a, b, _ in listed], dtype=np.int64)
    weights = _all_or_none("edges", "weight", {(a, b): weight for a, b, weight in listed})
    biases = _all_or_none("nodes", "bias", dict(network.nodes(data="bias")))
    return _Pairs(labels, pairs, weights, biases)


def _all_or_none(of: str, attribute: str, values: dict[Any, Any]) -> np.ndarray | None:
    """An attribute that all edges or nodes have, or none."""
    missing = [name for name, value in values.items() if value is None]
    if len(missing) == len(values):
        return None
    if missing:
        raise InputError(
            f"{len(missing)} of {len(values)} {of} have no attribute {attribute!r}, the first is {missing[0]!r}; "
            "give it to all or to none."
        )
    for value in values.values():
        if not isinstance(value, Real):
            raise InputError(f"the attribute {attribute!r} of {of} holds numbers; got {value!r}.")
    return np.array([*values.values()], dtype=float)


def _numbers(what: str, values: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} are numbers; got {values!r}.") from None


def _weights_of(given: _Pairs, couplings: np.ndarray) -> np.ndarray:
    """One coupling per pair, from as many numbers or from a symmetric matrix that is zero off the graph."""
    n_units = len(given.labels)
    if couplings.ndim == 1:
        return couplings
    if couplings.shape != (n_units, n_units):
        raise InputError(f"couplings are one per pair or a {n_units} × {n_units} matrix; got shape {couplings.shape}.")
    if (odd := np.argwhere(~np.isfinite(couplings))).size:
        raise _not_finite(int(odd[0, 0]), int(odd[0, 1]), couplings[odd[0, 0], odd[0, 1]])
    _check_diagonal(couplings.diagonal())
    if (odd := np.argwhere(couplings != couplings.T)).size:
        raise _asymmetric(int(odd[0, 0]), int(odd[0, 1]), couplings)
    wired = np.zeros_like(couplings, dtype=bool)
    wired[given.pairs[:, 0], given.pairs[:, 1]] = wired[given.pairs[:, 1], given.pairs[:, 0]] = True
    if (stray := np.argwhere((couplings != 0) & ~wired)).size:
        i, j = stray[0]
        raise InputError(
            f"the coupling ({i}, {j}) is {couplings[i, j]:g}, but the graph has no edge there; add it or set 0."
        )
    return couplings[given.pairs[:, 0], given.pairs[:, 1]]


def _check_numbers(what: str, values: np.ndarray | None, n_expected: int) -> None:
    if values is None:
        return
    if values.shape != (n_expected,):
        raise InputError(f"expected {n_expected} {what}; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"{what} must be finite; number {int(np.flatnonzero(~np.isfinite(values))[0])} is not.")


def _split(labels: tuple[Hashable, ...], visible: int | Sequence[Hashable] | None) -> list[np.ndarray]:
    """Positions of the visible units, in the order the data will have, and of the hidden ones."""
    if visible is None:
        return [np.arange(len(labels))]
    place = {label: k for k, label in enumerate(labels)}
    if isinstance(visible, Integral) and not isinstance(visible, bool):
        if not 1 <= int(visible) <= len(labels):
            raise InputError(f"visible must lie between 1 and the {len(labels)} units of the graph; got {visible}.")
        visible = labels[: int(visible)]
    if isinstance(visible, str) or not isinstance(visible, Iterable):
        raise InputError(f"visible is the number of visible units or their names; got {visible!r}.")
    wanted = list(visible)
    if missing := [label for label in wanted if label not in place]:
        raise InputError(f"visible names {missing[0]!r}, which is not a unit of the graph.")
    if len(set(wanted)) != len(wanted) or not wanted:
        raise InputError(f"visible must name at least one unit, and each once; got {wanted!r}.")
    chosen = np.array([place[label] for label in wanted])
    hidden = np.setdiff1d(np.arange(len(labels)), chosen)
    return [chosen, hidden] if hidden.size else [chosen]


def _layout(given: _Pairs, layers: list[np.ndarray]) -> tuple[Layout, list[np.ndarray]]:
    """The layout of a graph, and for each wiring the positions of its pairs in the list that was given."""
    layer_of, unit_of = np.zeros(len(given.labels), np.int64), np.zeros(len(given.labels), np.int64)
    for layer, positions in enumerate(layers):
        layer_of[positions], unit_of[positions] = layer, np.arange(len(positions))
    ends = np.sort(layer_of[given.pairs], axis=1)
    flipped = np.where(
        (layer_of[given.pairs][:, 0] > layer_of[given.pairs][:, 1])[:, None], given.pairs[:, ::-1], given.pairs
    )
    widths = tuple(len(positions) for positions in layers)
    wirings, source = [], []
    for lower, upper in sorted({(int(a), int(b)) for a, b in ends}):
        picked = np.flatnonzero((ends == (lower, upper)).all(axis=1))
        rows, columns = unit_of[flipped[picked, 0]], unit_of[flipped[picked, 1]]
        if lower == upper:
            rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
        source.append(picked[np.lexsort((columns, rows))])
        wirings.append(edges_between(lower, upper, (widths[lower], widths[upper]), rows, columns))
    labels = tuple(tuple(given.labels[k] for k in positions) for positions in layers)
    plain = labels == (tuple(range(len(given.labels))),)
    return Layout(widths, tuple(wirings), () if plain else labels), source
