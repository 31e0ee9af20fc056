"""Model folders: `config.json` says what the model is and how it came about, `model.safetensors` holds its numbers.

Nothing in them is code. A folder is written under a temporary name and renamed when it is complete.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from boltzflow import __version__
from boltzflow.errors import InputError
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack, check_model, parts
from boltzflow.machine.wiring import Dense, Edges, Lateral, Wiring

CONFIG = "config.json"
NUMBERS = "model.safetensors"
FORMAT = "boltzflow model"
VERSION = 1


@dataclass(frozen=True)
class Saved:
    """A machine or stack that was read, and what its folder says about it."""

    model: Model
    about: Mapping[str, Any]
    """How it came about: rule, settings, data, results; whatever was given to `save`."""
    written_by: str
    """The version of boltzflow."""


def save(model: Model, folder: str | Path, *, about: Mapping[str, Any] | None = None, overwrite: bool = False) -> Path:
    """Write a machine or stack to a folder that does not exist yet, or, with `overwrite`, to one that holds a model."""
    check_model(model)
    folder = Path(folder)
    check_free(folder, overwrite=overwrite)
    with new_folder(folder) as unfinished:
        write_model(unfinished, model, about or {})
    return folder


def load(folder: str | Path) -> Any:
    """The machine or stack in a folder."""
    return read(folder).model


def read(folder: str | Path) -> Saved:
    """The model in a folder, and what is known about it; anything incomplete, altered or foreign is refused."""
    folder = Path(folder)
    config = _read_config(folder)
    numbers = _read_numbers(folder / NUMBERS)
    try:
        model = _model(config["layout"], numbers)
        written_by = str(config["boltzflow"])
    except (KeyError, TypeError, IndexError, AttributeError, InputError) as reason:
        raise InputError(f"{folder} is damaged: {CONFIG} and {NUMBERS} do not fit together ({reason}).") from None
    if not all(np.isfinite(array).all() for array in numbers.values()):
        raise InputError(f"{folder / NUMBERS} holds numbers that are not finite; this model cannot be used.")
    return Saved(model, config.get("about", {}), written_by)


def check_free(folder: Path, *, overwrite: bool = False) -> None:
    """Refuse to write over what is there; with `overwrite`, over anything that is not a model folder."""
    if not folder.exists():
        first = next(parent for parent in folder.absolute().parents if parent.exists())
        if not first.is_dir() or not os.access(first, os.W_OK):
            raise InputError(f"{folder} cannot be made: {first} is not a folder that can be written to.")
        return
    if not overwrite:
        raise InputError(
            f"{folder} exists already; choose another name, or overwrite it (overwrite=True, --overwrite)."
        )
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / CONFIG).is_file()):
        raise InputError(f"{folder} is not a model folder, so it is not overwritten; choose another name.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the given name, in place of any folder there, once it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        unfinished.chmod(0o755)
        yield unfinished
        if folder.exists():
            old = unfinished.with_name(unfinished.name + "-old")
            folder.rename(old)
            unfinished.rename(folder)
            shutil.rmtree(old)
        else:
            unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def write_model(folder: Path, model: Model, about: Mapping[str, Any]) -> None:
    """Both files of a model, in a folder that exists."""
    described = [_describe_layout(part.layout) for part in parts(model)]
    numbers: dict[str, np.ndarray] = {}
    for part, prefix in zip(parts(model), _prefixes(len(described)), strict=True):
        numbers |= {prefix + name: array for name, array in _numbers(part).items()}
    config = {
        "format": FORMAT,
        "version": VERSION,
        "boltzflow": __version__,
        "layout": described[0] if isinstance(model, Machine) else {"pairs": described},
        "about": about,
    }
    try:
        text = json.dumps(config, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as reason:
        raise InputError(f"a model folder holds names and facts that JSON can write; {reason}.") from None
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
    save_file({name: np.ascontiguousarray(array) for name, array in numbers.items()}, folder / NUMBERS)
    for name in (CONFIG, NUMBERS):
        _flush(folder / name)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _prefixes(n_parts: int) -> list[str]:
    """What the names of a part's numbers begin with."""
    return [f"{k}." for k in range(n_parts)]


def _numbers(machine: Machine) -> dict[str, np.ndarray]:
    """All arrays of a machine by name."""
    numbers = {f"coupling.{k}": np.asarray(weights) for k, weights in enumerate(machine.couplings)}
    numbers |= {f"bias.{layer}": np.asarray(bias) for layer, bias in enumerate(machine.biases)}
    for k, wiring in enumerate(machine.layout.wirings):
        if isinstance(wiring, Edges):
            numbers |= {f"rows.{k}": wiring.rows, f"columns.{k}": wiring.columns}
    return numbers


def _describe_layout(layout: Layout) -> dict[str, Any]:
    wirings = [_describe(wiring) for wiring in layout.wirings]
    return {"widths": layout.widths, "wirings": wirings, "labels": layout.labels}


def _describe(wiring: Wiring) -> dict[str, Any]:
    if isinstance(wiring, Lateral):
        return {"kind": "lateral", "layer": wiring.layer}
    return {"kind": type(wiring).__name__.lower(), "lower": wiring.lower, "upper": wiring.upper}


def _model(described: dict[str, Any], numbers: dict[str, np.ndarray]) -> Model:
    layouts = described.get("pairs", [described])
    if {name.split(".")[0] for name in numbers} != {prefix[:-1] for prefix in _prefixes(len(layouts))}:
        raise InputError(f"the numbers are not those of {len(layouts)} machines")
    machines = [
        _machine(one, {name.removeprefix(prefix): array for name, array in numbers.items() if name.startswith(prefix)})
        for one, prefix in zip(layouts, _prefixes(len(layouts)), strict=True)
    ]
    return Stack(tuple(machines)) if "pairs" in described else machines[0]


def _machine(described: dict[str, Any], numbers: dict[str, np.ndarray]) -> Machine:
    layout = _layout(described, numbers)
    counts = {
        "coupling": len(layout.wirings),
        "bias": len(layout.widths),
        "rows": len(layout.wirings),
        "columns": len(layout.wirings),
    }
    for name in numbers:
        kind, _, place = name.partition(".")
        if not place.isdecimal() or int(place) >= counts.get(kind, 0):
            raise InputError(f"{name} belongs to no layer and no wiring")
    couplings = tuple(jnp.asarray(numbers[f"coupling.{k}"]) for k in range(len(layout.wirings)))
    return Machine(layout, couplings, tuple(jnp.asarray(numbers[f"bias.{k}"]) for k in range(len(layout.widths))))


def _layout(described: dict[str, Any], numbers: dict[str, np.ndarray]) -> Layout:
    widths = tuple(described["widths"])
    wirings = tuple(_wiring(one, k, widths, numbers) for k, one in enumerate(described["wirings"]))
    labels = tuple(tuple(_label(label) for label in layer) for layer in described.get("labels", ()))
    return Layout(widths, wirings, labels)


def _wiring(described: dict[str, Any], k: int, widths: tuple[int, ...], numbers: dict[str, np.ndarray]) -> Wiring:
    if described["kind"] == "lateral":
        return Lateral(described["layer"], widths[described["layer"]])
    lower, upper = described["lower"], described["upper"]
    joined = (widths[lower], widths[upper])
    if described["kind"] == "dense":
        return Dense(lower, upper, joined)
    return Edges(lower, upper, joined, numbers[f"rows.{k}"], numbers[f"columns.{k}"])


def _label(label: Any) -> Any:
    """JSON knows no tuples: a unit named (0, 1) was written as a list."""
    return tuple(_label(part) for part in label) if isinstance(label, list) else label


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} is not a model folder: there is no {CONFIG} in it.")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as reason:
        raise InputError(f"{path} is damaged: {reason}.") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{path} does not describe a boltzflow model.")
    if config.get("version") != VERSION:
        raise InputError(
            f"{path} has format version {config.get('version')!r}; this boltzflow ({__version__}) reads version {VERSION}."
        )
    return config


def _read_numbers(path: Path) -> dict[str, np.ndarray]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as reason:
        raise InputError(f"{path} cannot be read, it may be truncated or altered: {reason}.") from None
