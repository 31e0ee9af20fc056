"""`boltzflow info`: what lies in a model folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from boltzflow.cli.output import emit, say


def info(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")] = False,
) -> None:
    """Say what a model folder holds: the machine, how it was trained, and what came of it.

    Example: boltzflow info runs/digits-vpf
    """
    from boltzflow import files
    from boltzflow.machine.stack import parts

    saved = files.read(model)
    layout, machines = saved.model.layout, parts(saved.model)
    sizes = {
        "layout": str(layout),
        "visible": layout.n_visible,
        "hidden": layout.n_hidden,
        "couplings": layout.n_couplings,
        "dtype": str(saved.model.dtype),
        "largest_coupling": max((float(abs(w).max()) for each in machines for w in each.couplings), default=0.0),
        "largest_bias": max(float(abs(bias).max()) for each in machines for bias in each.biases),
    }
    if json:
        emit({"model": str(model), "written_by": saved.written_by, "machine": sizes, "about": saved.about})
        return
    say(f"model             {model}, written by boltzflow {saved.written_by}")
    say(*(f"{name.replace('_', ' '):<17} {_short(value)}" for name, value in sizes.items()))
    say(*(f"{name:<17} {text}" for name, text in _story(saved.about)))


def _story(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the machine came about, one line a fact; lists and tables within are written out."""
    lines: list[tuple[str, str]] = []
    for name, value in about.items():
        label = name.replace("_", " ")
        if isinstance(value, Mapping):
            lines.append((label, ", ".join(f"{key} {_short(part)}" for key, part in value.items() if part is not None)))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            lines += [(label, ", ".join(f"{key} {_short(part)}" for key, part in row.items())) for row in value]
        elif isinstance(value, list) and value and isinstance(value[0], str):
            lines += [(label.removesuffix("s"), text) for text in value]
        else:
            lines.append((label, _short(value)))
    return lines


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
