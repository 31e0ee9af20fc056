"""`boltzflow sample`: states drawn from a trained machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boltzflow.cli.output import emit, say
from boltzflow.errors import InputError

if TYPE_CHECKING:
    import numpy as np


def sample(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    *,
    n_samples: Annotated[int, typer.Option("--n-samples", "-n", help="How many rows.")] = 100,
    n_chains: Annotated[int | None, typer.Option(help="Default: one for each sample.", show_default=False)] = None,
    burn_in: Annotated[int | None, typer.Option(help="Sweeps before the first sample.", show_default="1000")] = None,
    thin: Annotated[int | None, typer.Option(help="Sweeps between samples of a chain.", show_default="10")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Below 1: fewer, likelier states.", show_default="1.0")
    ] = None,
    probabilities: Annotated[bool, typer.Option(help="p(unit = 1) instead of drawn bits.")] = False,
    given: Annotated[
        Path | None, typer.Option(help="Units held: a row of 0, 1 and NaN (.npy, .csv), or one for each chain.")
    ] = None,
    top_down: Annotated[bool, typer.Option("--top-down", help="Algorithm 2; always so for a stack.")] = False,
    prior: Annotated[
        str | None, typer.Option(help="Of the top layer: uniform, or mean activations.", show_default="mean")
    ] = None,
    r: Annotated[int | None, typer.Option("-r", help="Steps in each pair of layers.", show_default="5")] = None,
    sweeps: Annotated[int | None, typer.Option(help="Inside coupled layers at each step up.", show_default="1")] = None,
    seed: Annotated[int, typer.Option()] = 0,
    out: Annotated[Path, typer.Option(help="A .npy or .csv file, or a .png picture.")] = Path("samples.npy"),
    overwrite: Annotated[bool, typer.Option(help="Replace a file that is there already.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")] = False,
) -> None:
    """Draw visible states from a trained machine by Gibbs sampling; from a stack, pixel probabilities from the top down.

    Example: boltzflow sample runs/digits-vpf -n 36 --probabilities --out samples.png
    """
    import boltzflow as bf
    from boltzflow import files
    from boltzflow.data.sources import read_table

    _check_out(out, overwrite)
    saved = files.read(model)
    chains = {
        "n_chains": n_chains,
        "burn_in": burn_in,
        "thin": thin,
        "temperature": temperature,
        "given": None if given is None else read_table(given),
        "probabilities": probabilities or None,
    }
    descent = {"prior": prior, "r": r, "n_sweeps": sweeps}
    if top_down or isinstance(saved.model, bf.Stack):
        _refuse(chains, "is for Gibbs chains; from the top down there is nothing to hold or to choose")
        wanted = {**_given(descent), "prior": _prior(saved.model, prior or "mean", saved.about)}
        rows = bf.generate(saved.model, n_samples, seed=seed, **wanted)
    else:
        _refuse(descent, "is for pictures from the top down; add --top-down")
        rows = bf.sample(saved.model, n_samples, seed=seed, **_given(chains))
    _write(out, rows, saved.about.get("picture_shape"))
    facts = {"samples": str(out), "rows": rows.shape[0], "columns": rows.shape[1], "mean": float(rows.mean())}
    if json:
        emit(facts)
    else:
        say(f"{rows.shape[0]} samples of {rows.shape[1]} units, mean {rows.mean():.3f}: {out}")


_FLAGS = {"r": "-r", "n_sweeps": "--sweeps"}


def _given(choices: Mapping[str, Any]) -> dict[str, Any]:
    """What was said; the rest is left to its default."""
    return {name: value for name, value in choices.items() if value is not None}


def _refuse(choices: Mapping[str, Any], why: str) -> None:
    if named := list(_given(choices)):
        raise InputError(f"{_FLAGS.get(named[0], '--' + named[0].replace('_', '-'))} {why}.")


def _prior(model: Any, prior: str, about: Mapping[str, Any]) -> Any:
    """Mean activations were noted when the model was trained."""
    if len(model.layout.widths) < 2:
        raise InputError("nothing lies above the visible units of this machine; leave --top-down out.")
    if prior != "mean":
        return prior
    if "mean_activations" not in about:
        raise InputError("this model folder holds no mean activations of its top layer; use --prior uniform.")
    return about["mean_activations"]


def _check_out(out: Path, overwrite: bool) -> None:
    if out.suffix not in (".npy", ".csv", ".png"):
        raise InputError(f"--out ends in .npy, .csv or .png; got {out.name!r}.")
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists already; choose another name, or add --overwrite.")


def _write(out: Path, rows: "np.ndarray", shape: list[int] | None) -> None:
    import numpy as np

    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".npy":
        np.save(out, rows)
    elif out.suffix == ".csv":
        np.savetxt(out, rows, delimiter=",", fmt="%g")
    else:
        _draw(out, rows, shape)


def _draw(out: Path, rows: "np.ndarray", shape: list[int] | None) -> None:
    from math import isqrt

    from matplotlib.figure import Figure

    from boltzflow import plots

    if shape is None:
        raise InputError("this model was not trained on pictures, so its samples have no shape; use .npy or .csv.")
    figure = Figure(figsize=(6, 6), layout="constrained")
    n_columns = max(1, isqrt(len(rows) - 1) + 1)
    plots.show_pictures(figure.subplots(), rows, (shape[0], shape[1]), n_columns, f"{len(rows)} samples, not chosen")
    figure.savefig(out, dpi=120)
