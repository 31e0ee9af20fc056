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
    burn_in: Annotated[int, typer.Option(help="Sweeps before the first sample.")] = 1000,
    thin: Annotated[int, typer.Option(help="Sweeps between samples of a chain.")] = 10,
    temperature: Annotated[float, typer.Option(help="Below 1: fewer, likelier states.")] = 1.0,
    probabilities: Annotated[bool, typer.Option(help="p(unit = 1) instead of drawn bits.")] = False,
    given: Annotated[
        Path | None, typer.Option(help="Units held: a row of 0, 1 and NaN (.npy, .csv), or one for each chain.")
    ] = None,
    top_down: Annotated[bool, typer.Option("--top-down", help="Algorithm 2; always so for a stack.")] = False,
    prior: Annotated[
        str, typer.Option(help="Of the top layer, with --top-down: uniform, or mean activations.")
    ] = "mean",
    r: Annotated[int, typer.Option("-r", help="Steps in each pair of layers, with --top-down.")] = 5,
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
    if top_down or isinstance(saved.model, bf.Stack):
        chains = {"--given": given, "--n-chains": n_chains, "--probabilities": probabilities or None}
        chains["--temperature"] = None if temperature == 1.0 else temperature
        if named := [name for name, value in chains.items() if value is not None]:
            raise InputError(
                f"{named[0]} is for Gibbs chains; from the top down there is nothing to hold or to choose."
            )
        rows = bf.generate(saved.model, n_samples, prior=_prior(prior, saved.about), r=r, seed=seed)
    else:
        rows = bf.sample(
            saved.model,
            n_samples,
            n_chains=n_chains,
            burn_in=burn_in,
            thin=thin,
            temperature=temperature,
            given=None if given is None else read_table(given),
            probabilities=probabilities,
            seed=seed,
        )
    _write(out, rows, saved.about.get("picture_shape"))
    facts = {"samples": str(out), "rows": rows.shape[0], "columns": rows.shape[1], "mean": float(rows.mean())}
    if json:
        emit(facts)
    else:
        say(f"{rows.shape[0]} samples of {rows.shape[1]} units, mean {rows.mean():.3f}: {out}")


def _prior(prior: str, about: Mapping[str, Any]) -> Any:
    """Mean activations were noted when the model was trained."""
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
