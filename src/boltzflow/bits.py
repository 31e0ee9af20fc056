"""From what the user brings to bits: shape and values checked, greyscale made binary in the way that was asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from boltzflow.errors import InputError

Binarise: TypeAlias = float | Literal["draw"] | None
"""A threshold (lit if above), fresh Bernoulli draws each epoch, or None: refuse anything but 0 and 1."""


@dataclass(frozen=True)
class Prepared:
    """Data ready for a machine: bits, or grey values where they are to be drawn afresh; and a word on what was done."""

    values: np.ndarray
    """bool where the data are bits, float32 where each epoch draws its own."""
    notes: tuple[str, ...]
    """What was done, and what a person should know of such data."""


def prepare(data: Any, n_visible: int, binarise: Binarise = 0.5) -> Prepared:
    """Rows of n_visible values in [0, 1], as bits."""
    check_binarise(binarise)
    values = check_values(data, n_visible)
    check_no_missing(values)
    values, made = _bits(values, binarise)
    return Prepared(values, (made, *_warnings(values)))


def _bits(values: np.ndarray, binarise: Binarise) -> tuple[np.ndarray, str]:
    """The values as training uses them, and what was done."""
    between = np.zeros(0) if values.dtype == bool else (values > 0) & (values < 1)
    if not between.any():
        return values > 0, "binary data, used as they are"
    share = f"{between.mean():.1%} of the values lie strictly between 0 and 1"
    if binarise is None:
        row, column = np.argwhere(between)[0]
        raise InputError(
            f"expected 0 or 1; {share}, the first is {values[row, column]:g} in row {row}, column {column}. "
            "Choose binarise=0.5 (a threshold) or binarise='draw' (fresh draws each epoch)."
        )
    if binarise == "draw":
        return values.astype(np.float32), f"{share}; each epoch draws fresh bits with these probabilities"
    return values > binarise, f"{share}; a bit is lit where its value is above {binarise:g}"


def _warnings(values: np.ndarray) -> Iterator[str]:
    """What a person should know of data that can be learned from, but not well."""
    if len(values) == 1:
        yield (
            "expected many rows, got one: the machine can only memorise it, and each of its units is constant; bring more rows"
        )
        return
    constant = np.flatnonzero((values == values[0]).all(axis=0))
    if constant.size:
        first = constant[0]
        yield (
            f"{constant.size} of {values.shape[1]} columns never change (the first is column {first}, always "
            f"{values[0, first]:g}): their units learn a bias and nothing else; drop them if that is not meant"
        )


def check_binarise(binarise: Binarise) -> None:
    """Refuse what is not a way to binarise."""
    if binarise is None or (isinstance(binarise, str) and binarise == "draw"):
        return
    if isinstance(binarise, bool) or not isinstance(binarise, Real) or not 0 <= binarise < 1:
        raise InputError(f"binarise is a threshold, at least 0 and below 1, or 'draw' or None; got {binarise!r}.")


def check_values(data: Any, n_visible: int) -> np.ndarray:
    """A table of n_visible columns with values in [0, 1]; NaN passes, for what is missing."""
    values = as_table(data)
    if values.shape[1] != n_visible:
        raise InputError(f"the machine has {n_visible} visible units, but the data have {values.shape[1]} columns.")
    if values.dtype != bool and (wrong := np.argwhere((values < 0) | (values > 1))).size:
        row, column = wrong[0]
        raise InputError(
            f"values must lie in [0, 1]; got {values[row, column]:g} in row {row}, column {column}. "
            f"{_scaling_hint(values)}"
        )
    return values


def _scaling_hint(values: np.ndarray) -> str:
    if np.isinf(values).any():
        return "Mend or drop what is not finite."
    if np.isin(values, (-1, 1)).all():
        return "Spins of −1 and 1 become bits by (x + 1) / 2."
    return "Scale the data first (8-bit images: divide by 255)."


def as_table(data: Any) -> np.ndarray:
    """Numbers or booleans with one example a row, at least one."""
    values = as_numbers(data)
    if values.ndim and len(values) == 0:
        raise InputError(f"data are empty: got shape {values.shape}, expected at least one row.")
    if values.ndim != 2:
        hint = "reshape one example with x[None, :]" if values.ndim == 1 else "flatten each example to one row"
        raise InputError(f"data are a table, one example a row; got shape {values.shape}: {hint}.")
    return values


def check_no_missing(values: np.ndarray) -> None:
    """Refuse NaN where it has no meaning."""
    if values.dtype != bool and (missing := np.argwhere(np.isnan(values))).size:
        row, column = missing[0]
        raise InputError(
            f"a value is missing (NaN) in row {row}, column {column}, {len(missing)} in all; training needs complete rows. "
            "Drop them, or fill them with a machine trained on the others (impute)."
        )


def as_numbers(data: Any) -> np.ndarray:
    """An array of numbers or booleans, from anything that numpy or scipy.sparse can turn into one."""
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(float), np.nan)
    if hasattr(data, "toarray"):
        data = data.toarray()
    try:
        values = np.asarray(data)
    except ValueError as reason:
        raise InputError(f"data are a table, every row of the same length; numpy says: {reason}") from None
    if values.dtype == bool:
        return values
    if values.dtype.kind not in "iuf":
        raise InputError(f"data are numbers in [0, 1] or booleans; got an array of type {values.dtype}.")
    return values


def log_odds(values: np.ndarray) -> Float[np.ndarray, " n_visible"]:
    """log p/(1 − p) with p = (n₁ + ½)/(n + 1), finite for constant columns too [ours]."""
    lit, n_rows = values.sum(axis=0, dtype=np.float64), len(values)
    return np.log((lit + 0.5) / (n_rows - lit + 0.5))
