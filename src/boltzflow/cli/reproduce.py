"""`boltzflow reproduce`: the paper, one command per table and figure."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from boltzflow.cli.output import StoppedError, emit, say, say_table
from boltzflow.errors import InputError, check_count

if TYPE_CHECKING:
    from boltzflow.experiments.record import Record, Table
    from boltzflow.experiments.study import Experiment, Piece, Study

_NAME = "table1, table2, likelihood, filters, training, reconstructions, samples, fashion, claims; or all, one after another."
_SEEDS = "Independent trainings. Default: three, where an experiment trains more than once."
_QUICK = "Seconds, on the built-in digits: shows that all works, and nothing else."
_OUT = "Where the record and its pictures go. Default: experiments/results, of quick runs quick/results in --work."
_WORK = "Where trained models and finished pieces are kept, so that a stopped run goes on."
_FRESH = "Do again what is kept from an earlier run; quick runs always do."


def reproduce(
    name: Annotated[str, typer.Argument(help=_NAME)],
    *,
    seeds: Annotated[int | None, typer.Option(help=_SEEDS, show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help=_QUICK)] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where MNIST and Fashion-MNIST lie; else BOLTZFLOW_DATA.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help=_OUT, show_default=False)] = None,
    work: Annotated[Path, typer.Option(help=_WORK)] = Path("runs/reproduce"),
    fresh: Annotated[bool, typer.Option("--fresh", help=_FRESH)] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")] = False,
) -> None:
    """Run an experiment of the paper: its numbers beside the paper's, the trivial baselines, and a verdict.

    A stopped run goes on where it was. Example: boltzflow reproduce table2 --data-dir ~/data
    """
    from boltzflow.experiments import NAMES, experiment
    from boltzflow.experiments.study import Study

    chosen = [experiment(each) for each in (NAMES if name == "all" else (name,))]
    _check_seeds(chosen, seeds)
    out = out or (work / "quick" / "results" if quick else Path("experiments/results"))
    if quick:
        _spare_full_records(chosen, out)
    else:
        _look_for_data(chosen, data_dir)
    for folder in (out, work):
        _make_folder(folder)
    since = time.time() if fresh or quick else 0.0
    records: list[Record] = []
    for each in chosen:
        records.append(_perform(each, Study(_seeds(each, seeds, quick), work, out, data_dir, quick, since)))
        if not json:
            _report(records[-1], out)
    if json:
        emit({"out": str(out), "experiments": [asdict(record) for record in records]})


def _check_seeds(chosen: "Sequence[Experiment]", seeds: int | None) -> None:
    if seeds is None:
        return
    check_count("seeds", seeds)
    once = [each.name for each in chosen if not each.seeded]
    if len(chosen) == len(once) == 1:
        raise InputError(f"{once[0]} trains each model once; --seeds changes nothing there.")
    if once:
        print(f"note: --seeds changes nothing in {', '.join(once)}: each model is trained once there.", file=sys.stderr)


def _seeds(of: "Experiment", seeds: int | None, quick: bool) -> tuple[int, ...]:
    """Those that are really used."""
    return tuple(range((seeds or (1 if quick else of.n_seeds)) if of.seeded else 1))


def _spare_full_records(chosen: "Sequence[Experiment]", out: Path) -> None:
    """Seconds on other data never take the place of hours."""
    from boltzflow.experiments.record import read_record

    for path in (out / f"{each.name}.json" for each in chosen):
        if path.is_file() and not read_record(path).quick:
            raise InputError(f"{path} is the record of a full run; choose another --out for a quick one.")


def _look_for_data(chosen: "Sequence[Experiment]", data_dir: Path | None) -> None:
    """Before hours of work, not after; and the very files that others mean by these names."""
    from boltzflow.data.idx import verify

    for name in sorted({name for each in chosen for name in each.data}):
        verify(name, data_dir)


def _make_folder(folder: Path) -> None:
    """Before hours of work, not after."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; results and work are kept in folders.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise InputError(f"cannot write to {folder}: {reason.strerror}.") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to {folder}: it belongs to somebody else, or is read-only.")


def _perform(of: "Experiment", study: "Study") -> "Record":
    from boltzflow.experiments.record import versions, write_record
    from boltzflow.experiments.study import perform

    with _Watch(of.name, quick=study.quick) as watch:
        try:
            record, minutes = perform(of, study, watch)
        except KeyboardInterrupt:
            raise StoppedError(_stopped(watch, study)) from None
    read = "scikit-learn's 8 × 8 digits (--quick)" if study.quick else ", ".join(of.data)
    known = {"data": read, "seeds": study.seeds, "quick": study.quick, "minutes": round(minutes, 1)}
    record = replace(record, **known, versions=versions())
    write_record(study.out, record)
    return record


class _Watch:
    """Says what is being done and how long it will take: a line that moves on a terminal, else a line for each piece."""

    def __init__(self, name: str, *, quick: bool) -> None:
        from rich.console import Console

        self.name, self.done, self.n_pieces = name, 0, 0
        self._quick, self._console = quick, Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status(f"{name}: starting") if self._console.is_terminal else None

    def __enter__(self) -> "_Watch":
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, k: int, pieces: "Sequence[Piece]", left: float) -> None:
        self.done, self.n_pieces = k, len(pieces)
        line = f"{self.name}: piece {k + 1} of {len(pieces)}, {pieces[k].name}{self._time(left)}"
        if self._status:
            self._status.update(line)
        else:
            self._console.print(line, markup=False)

    def _time(self, left: float) -> str:
        """What is left of a full run; nobody waits for a quick one."""
        if self._quick:
            return ""
        if left == 0:
            return "; kept from an earlier run"
        return f"; about {left / 60:.0f} min left" if left >= 90 else f"; about {left:.0f} s left"


def _stopped(watch: _Watch, study: "Study") -> str:
    """What is kept of a run that was stopped, and how it goes on."""
    if study.quick:
        return f"stopped in {watch.name}; quick runs begin anew."
    if not watch.n_pieces:
        return f"stopped before {watch.name} began."
    again = "the same command without --fresh" if study.since else "the same command"
    return f"stopped; {watch.done} of {watch.n_pieces} pieces of {watch.name} are kept, and {again} goes on."


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
            f"  verdict   {each.answer}{f' ({each.because})' if each.because else ''}",
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
