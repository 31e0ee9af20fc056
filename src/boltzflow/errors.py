"""Errors that teach: what was expected, what came, what to do."""

import difflib
import reprlib
from collections.abc import Iterable
from numbers import Integral, Real


class InputError(ValueError):
    """The call was wrong: a value, a shape or a name that cannot be served. The message says what to do."""


class DivergenceError(ArithmeticError):
    """Training left the range in which numbers mean something. The message names the unit and the epoch."""


def unknown(kind: str, name: object, known: Iterable[str]) -> InputError:
    """The error for a name that does not exist, with the nearest one that does."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name).casefold(), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    choices = f"known are {', '.join(names)}" if names else "there are none"
    return InputError(f"unknown {kind} {name!r}: {hint}{choices}.")


def check_choice(kind: str, value: object, known: Iterable[str]) -> None:
    """Refuse a value that is none of the known ones."""
    if value not in (names := list(known)):
        raise unknown(kind, value, names)


MOST = 2**63 - 1
"""The largest whole number that arrays and keys can hold."""


def check_count(name: str, value: object, *, least: int = 1) -> int:
    """A whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= MOST:
        limit = f", at most {MOST}" if isinstance(value, Integral) and int(value) > MOST else ""
        raise InputError(f"{name} must be a whole number, {least} or more{limit}; got {reprlib.repr(value)}.")
    return int(value)


def check_seed(value: object) -> int:
    """A seed: JAX's keys are made from 32 bits."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise InputError(f"seed must be a whole number from 0 to 2**32 − 1; got {reprlib.repr(value)}.")
    return int(value)


def check_temperature(value: object) -> float:
    """A temperature so far from zero that fields can be divided by it."""
    return check_real("temperature", value, least=1e-6)


def check_real(
    name: str, value: object, *, least: float = 0.0, most: float = float("inf"), above: bool = False
) -> float:
    """A finite number between `least` and `most`; with `above`, larger than `least`."""
    number = _as_float(value) if isinstance(value, Real) and not isinstance(value, bool) else float("nan")
    low_enough = number > least if above else number >= least
    if not (low_enough and number <= most and abs(number) != float("inf")):
        bounds = f"{'above' if above else 'at least'} {least:g}" + (f" and at most {most:g}" if most < 1e300 else "")
        raise InputError(f"{name} must be a number {bounds}; got {reprlib.repr(value)}.")
    return number


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
