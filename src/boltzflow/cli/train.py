"""`boltzflow train`: a table of bits or a named data set in, a model folder out."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from boltzflow.cli.output import emit, say, say_table
from boltzflow.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from boltzflow.data.sources import Source
    from boltzflow.learning.loop import Run
    from boltzflow.machine.machine import Machine
    from boltzflow.machine.stack import Stack
    from boltzflow.measure.reconstruction import Side, SideErrors
    from boltzflow.plots import Repair


@dataclass(frozen=True)
class Shape:
    """What the machine is to look like."""

    hidden: tuple[int, ...] | None
    """Widths of the hidden layers; None where nothing was said."""
    lateral: bool
    joint: bool


_DATA = "digits, mnist, fashion-mnist, or a .npy, .npz or .csv file: one example a row, values in [0, 1]."
_HIDDEN = (
    "Hidden units, as 196 or 196-196-64; 0: fully visible. Default: 100, or 0 where the rule is for visible units only."
)
_JOINT = "Several hidden layers as one joint machine, instead of a stack of pairs."
_EPOCHS = "Passes over the data (with lbfgs, iterations). Default: 30 for 50,000 rows, more for fewer."
_OUT = "Folder of the model. Default: a new one under runs/."


def train(
    data: Annotated[str, typer.Argument(help=_DATA)] = "digits",
    *,
    rule: Annotated[str, typer.Option(help="vpf, mpf, pseudolikelihood, cd, cd-10, pcd, …")] = "vpf",
    option: Annotated[list[str] | None, typer.Option(help="Of the rule, as name=value; may be repeated.")] = None,
    hidden: Annotated[str | None, typer.Option(help=_HIDDEN, show_default=False)] = None,
    lateral: Annotated[bool, typer.Option("--lateral", help="Couple the units inside hidden layers.")] = False,
    joint: Annotated[bool, typer.Option("--joint", help=_JOINT)] = False,
    epochs: Annotated[int | None, typer.Option(help=_EPOCHS, show_default=False)] = None,
    batch_size: Annotated[int, typer.Option()] = 40,
    learning_rate: Annotated[float, typer.Option(help="At the first step.")] = 1.5e-3,
    schedule: Annotated[str, typer.Option(help="Of the rate: linear, cosine (to zero) or constant.")] = "linear",
    optimiser: Annotated[str, typer.Option(help="adam, sgd, momentum; lbfgs with mpf, pseudolikelihood.")] = "adam",
    decay: Annotated[float, typer.Option(help="Of couplings, never of biases: λ/ε of the paper.")] = 0.01,
    binarise: Annotated[str, typer.Option(help="Grey values: a threshold, draw (each epoch), or refuse.")] = "0.5",
    rows: Annotated[
        int | None, typer.Option(help="Learn from the first so many rows only.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same machine.")] = 0,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the files of a named set lie; else BOLTZFLOW_DATA.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help=_OUT, show_default=False)] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a model folder that is there already.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")] = False,
) -> None:
    """Train a machine; with no arguments, on the 8 × 8 digits that are built in.

    Example: boltzflow train spikes.npy --hidden 50 --epochs 100
    """
    from boltzflow.data.sources import find

    source = _first_rows(find(data, data_dir), rows)
    folder = out or _free_name(Path("runs"), f"{source.name}-{rule}")
    _check_out(folder, overwrite)
    settings = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "schedule": schedule,
        "optimiser": optimiser,
        "decay": decay,
        "binarise": _binarise(binarise),
        "seed": seed,
    }
    shape = Shape(_widths(hidden), lateral, joint)
    run = _learn(source, rule, _options(option or []), shape, settings, quiet=json)
    errors = _errors(run, source)
    about = _about(run, source, errors)
    _write(folder, run, source, about, overwrite)
    if json:
        emit({"model": str(folder), **about})
    else:
        _report(run, errors, folder, has_pictures=source.pictures is not None)


def _first_rows(source: "Source", rows: int | None) -> "Source":
    from dataclasses import replace

    from boltzflow.bits import as_table
    from boltzflow.errors import check_count

    table = as_table(source.train)
    if rows is not None and check_count("rows", rows) > len(table):
        raise InputError(f"--rows asks for {rows} rows, but {source.name} has {len(table)}.")
    return replace(source, train=table[:rows])


def _learn(
    source: "Source",
    rule: str,
    options: dict[str, Any],
    shape: Shape,
    settings: dict[str, Any],
    *,
    quiet: bool,
) -> "Run":
    from contextlib import nullcontext

    import boltzflow as bf
    from boltzflow.learning.rules import make_rule

    model = _model(source.train.shape[1], make_rule(rule, **options).name, shape, settings["seed"])
    with nullcontext(None) if quiet else bf.ProgressBar(f"{source.name}, {rule}") as bar:
        callbacks = [] if bar is None else [bar]
        return bf.train(model, source.train, rule=rule, rule_options=options, callbacks=callbacks, **settings)


def _widths(hidden: str | None) -> tuple[int, ...] | None:
    """Widths of hidden layers from "196-196-64"; none from "0"."""
    if hidden is None or hidden == "0":
        return None if hidden is None else ()
    widths = hidden.split("-")
    if not all(width.isdecimal() for width in widths):
        raise InputError(f"--hidden is a width, or widths with dashes as in 196-196-64, or 0; got {hidden!r}.")
    return tuple(int(width) for width in widths)


def _model(n_visible: int, rule: str, shape: Shape, seed: int) -> "Machine | Stack":
    import boltzflow as bf

    default = () if rule in ("mpf", "pseudolikelihood") else (100,)
    hidden = default if shape.hidden is None else shape.hidden
    if not hidden:
        return bf.visible(n_visible)
    build = bf.stack if len(hidden) > 1 and not shape.joint else bf.deep
    return build(n_visible, *hidden, lateral=shape.lateral, seed=seed)


def _errors(run: "Run", source: "Source") -> "list[SideErrors]":
    from boltzflow.machine.machine import Machine
    from boltzflow.measure.reconstruction import side_errors

    pictures = source.pictures
    if pictures is None or not isinstance(run.model, Machine):
        return []
    return side_errors(run.model, pictures.shape, pictures.train, pictures.test)


def _about(run: "Run", source: "Source", errors: "list[SideErrors]") -> dict[str, Any]:
    """The resolved settings and what came of them: lies beside the model, and is what --json prints."""
    from dataclasses import asdict

    from boltzflow.bits import prepare
    from boltzflow.learning.rules import options_of
    from boltzflow.machine.stack import Stack, as_stack
    from boltzflow.sampling.generation import mean_activations

    last = run.history[-1]
    facts = {
        "data": {"name": source.name, "rows": len(source.train), "columns": source.train.shape[1]},
        "rule": {"name": run.rule.name, **options_of(run.rule)},
        "settings": asdict(run.settings),
        "epochs_run": len(run.history),
        "objective": {"name": run.rule.objective, "value": last.value},
        "seconds": round(sum(record.seconds for record in run.history), 3),
        "notes": list(run.notes),
    }
    if len(run.model.layout.widths) > 1:
        of = run.model if isinstance(run.model, Stack) else as_stack(run.model)
        bits = prepare(source.train, of.layout.n_visible, run.settings.binarise).values
        facts["mean_activations"] = mean_activations(of, bits.astype("float32")).tolist()
    if source.pictures is not None:
        facts["picture_shape"] = list(source.pictures.shape)
    if errors:
        facts["reconstruction"] = [asdict(error) for error in errors]
    return facts


def _write(folder: Path, run: "Run", source: "Source", about: dict[str, Any], overwrite: bool) -> None:
    from boltzflow import files

    files.check_free(folder, overwrite=overwrite)
    with files.new_folder(folder) as unfinished:
        files.write_model(unfinished, run.model, about)
        if source.pictures is not None:
            _draw(unfinished / "picture.png", run, source)


def _draw(path: Path, run: "Run", source: "Source") -> None:
    import boltzflow as bf
    from boltzflow import plots
    from boltzflow.measure.reconstruction import SIDES

    pictures = source.pictures
    assert pictures is not None
    if isinstance(run.model, bf.Stack):
        repairs, samples = [], bf.generate(run.model, 36, prior="mean", data=source.train)
    else:
        repairs = [_repair(run.model, pictures.test[:10], pictures.shape, side) for side in SIDES]
        samples = bf.sample(run.model, 36, probabilities=True)
    layout = "-".join(map(str, run.model.layout.widths))
    title = f"{source.name}: {layout} trained by {run.rule.name}, {len(run.history)} epochs"
    plots.overview(run.model, pictures.shape, repairs, samples, title).savefig(path, dpi=110)


def _repair(machine: "Machine", originals: "np.ndarray", shape: tuple[int, int], side: "Side") -> "Repair":
    import boltzflow as bf
    from boltzflow.measure.reconstruction import region, without
    from boltzflow.plots import Repair

    corrupted = without(originals, region(shape, side))
    return Repair(side, originals, corrupted, bf.impute(machine, corrupted, n_sweeps=20))


def _report(run: "Run", errors: "list[SideErrors]", folder: Path, *, has_pictures: bool) -> None:
    first, last = run.history[0], run.history[-1]
    seconds = sum(record.seconds for record in run.history)
    say(
        f"machine          {run.model.layout}",
        f"rule             {run.rule.name}, {len(run.history)} epochs in {seconds:.1f} s",
        f"{run.rule.objective:<16} {first.value:.4g} in the first epoch, {last.value:.4g} in the last",
        *(f"note             {note}" for note in run.notes),
    )
    if errors:
        _report_errors(errors)
    say("", f"model            {folder}")
    if has_pictures:
        say(f"picture          {folder / 'picture.png'}: filters, samples, reconstructions")
    say(f"next             boltzflow info {folder}", f"                 boltzflow sample {folder} --out samples.npy")


def _report_errors(errors: "list[SideErrors]") -> None:
    named = {
        "this machine": "machine",
        "all black": "black",
        "per-pixel median": "median",
        "floor of any 0/1 output": "floor",
    }
    rows = [[label, *(f"{getattr(error, field):.2f}" for error in errors)] for label, field in named.items()]
    say("")
    say("Reconstruction of test pictures: mean L1 over the missing region, lower is better")
    say_table(
        ["missing", *(error.side for error in errors)],
        rows,
    )


def _options(given: list[str]) -> dict[str, Any]:
    pairs = [text.partition("=") for text in given]
    if wrong := next((text for text, (_, sign, _) in zip(given, pairs, strict=True) if not sign), None):
        raise InputError(f"--option takes name=value, as in --option completions=3; got {wrong!r}.")
    return {name.replace("-", "_"): _value(text) for name, _, text in pairs}


def _value(text: str) -> int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _binarise(text: str) -> float | Literal["draw"] | None:
    if text in ("draw", "refuse"):
        return "draw" if text == "draw" else None
    value = _value(text)
    if isinstance(value, str):
        raise InputError(f"--binarise is a threshold, at least 0 and below 1, or draw or refuse; got {text!r}.")
    return float(value)


def _free_name(parent: Path, name: str) -> Path:
    """The first of name, name-2, name-3 … that is not there."""
    taken = {path.name for path in parent.glob(f"{name}*")}
    return parent / next(
        each for each in (name, *(f"{name}-{k}" for k in range(2, len(taken) + 3))) if each not in taken
    )


def _check_out(folder: Path, overwrite: bool) -> None:
    """Before minutes of training, not after."""
    from boltzflow.files import check_free

    check_free(folder, overwrite=overwrite)
