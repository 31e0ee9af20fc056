"""`boltzflow reproduce`: the paper, one command per table and figure."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boltzflow.cli.output import emit, say, say_table
from boltzflow.errors import InputError, check_count

if TYPE_CHECKING:
    from boltzflow.experiments.record import Record, Table
    from boltzflow.experiments.study import Experiment, Piece

_NAME = "table1, table2, likelihood, filters, training, reconstructions, samples, fashion, claims; or all, one after another."
_OUT = "Where the record and its pictures go."
_WORK = "Where trained models and finished pieces are kept, so that a stopped run goes on."


def reproduce(
    name: Annotated[str, typer.Argument(help=_NAME)],
    *,
    seeds: Annotated[
        int | None, typer.Option(help="Independent trainings. Default: three, deep machines one.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds, on the built-in digits: shows that all works, and nothing else.")
    ] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where MNIST and Fashion-MNIST lie; else BOLTZFLOW_DATA.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help=_OUT, show_default="experiments/results")] = None,
    work: Annotated[Path | None, typer.Option(help=_WORK, show_default="runs/reproduce")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do again what is kept from an earlier run.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")] = False,
) -> None:
    """Run an experiment of the paper: its numbers beside the paper's, the trivial baselines, and a verdict.

    A stopped run goes on where it was. Example: boltzflow reproduce table2 --data-dir ~/data
    """
    from boltzflow.experiments import NAMES, experiment
    from boltzflow.experiments.study import forget

    chosen = [experiment(each) for each in (NAMES if name == "all" else (name,))]
    if seeds is not None:
        check_count("seeds", seeds)
    base = Path("runs/quick") if quick else Path("runs/reproduce")
    out, work = out or (base / "results" if quick else Path("experiments/results")), work or base
    for folder in (out, work):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; results and work are kept in folders.")
    if not quick:
        _look_for_data(chosen, data_dir)
    if fresh or quick:
        forget(work, [each.name for each in chosen])
    records = [_perform(each, seeds, quick=quick, data_dir=data_dir, out=out, work=work, quiet=json) for each in chosen]
    if json:
        emit({"out": str(out), "experiments": [asdict(record) for record in records]})
    else:
        for record in records:
            _report(record, out)


def _look_for_data(chosen: "Sequence[Experiment]", data_dir: Path | None) -> None:
    """Before hours of work, not after; and the very files that others mean by these names."""
    from boltzflow.data.idx import verify

    for name in sorted({name for each in chosen for name in each.data}):
        verify(name, data_dir)


def _perform(
    of: "Experiment",
    seeds: int | None,
    *,
    quick: bool,
    data_dir: Path | None,
    out: Path,
    work: Path,
    quiet: bool,
) -> "Record":
    from boltzflow.experiments.record import versions, write_record
    from boltzflow.experiments.study import Study, perform

    n_seeds = seeds or (1 if quick else of.n_seeds)
    study = Study(tuple(range(n_seeds)), work, out, data_dir, quick)
    out.mkdir(parents=True, exist_ok=True)
    with _Watch(of.name, quiet=quiet) as watch:
        record, minutes = perform(of, study, watch)
    read = "scikit-learn's 8 × 8 digits (--quick)" if quick else ", ".join(of.data)
    record = replace(record, data=read, seeds=study.seeds, quick=quick, minutes=round(minutes, 1), versions=versions())
    write_record(out, record)
    return record


class _Watch:
    """Says what is being done and how long it will take: a line that moves on a terminal, else a line for each piece."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        from rich.console import Console

        self._name, self._quiet, self._console = name, quiet, Console(stderr=True)
        self._status = self._console.status(f"{name}: starting") if self._console.is_terminal and not quiet else None
        self._began = time.perf_counter()

    def __enter__(self) -> "_Watch":
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, k: int, pieces: "Sequence[Piece]", left: float) -> None:
        about = f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"
        line = f"{self._name}: piece {k + 1} of {len(pieces)}, {pieces[k].name}; {about}"
        if self._status:
            self._status.update(line)
        elif not self._quiet:
            self._console.print(line, highlight=False)


def _report(record: "Record", out: Path) -> None:
    say("", f"{record.name}: {record.claim}", f"data: {record.data}; seeds: {', '.join(map(str, record.seeds))}")
    for table in record.tables:
        _report_table(table)
    for note in record.notes:
        say("", f"note: {note}")
    for each in record.verdicts:
        say(
            "",
            f"{each.claim} ({each.where})",
            f"  paper     {each.paper}",
            f"  measured  {each.measured}",
            f"  verdict   {each.answer}{f': {each.because}' if each.because else ''}",
        )
    drawn = [f"picture   {out / name}" for name in record.pictures]
    say("", *drawn, f"record    {out / record.name}.json, {record.minutes:.1f} minutes of work")


def _report_table(table: "Table") -> None:
    say("", table.title)
    say_table(
        table.columns, [[row.label, *("" if cell is None else str(cell) for cell in row.cells)] for row in table.rows]
    )
    if table.note:
        say(table.note)
