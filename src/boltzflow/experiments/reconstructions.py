"""Reconstructions: the first ten test digits to look at, and all of them measured; four corruptions, RBM(196) and BM(196) by VPF.

The paper shows digits that RBM(196) and BM(196) complete after two transitions from pictures with noise over one side.

Expected: by the fair protocol both below the per-pixel median of the training digits on every side, as in table 1, and so for
most digits; with the bottom missing 9, 4 and 7 are easily confused.

Three minutes on two cores, one where table1 has left its machines; one training each.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from boltzflow.experiments.record import Cell, Number, Record, Row, Table, Verdict, verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Recipe, Study
from boltzflow.experiments.table1 import CONTESTANTS
from boltzflow.machine.machine import Machine
from boltzflow.measure.reconstruction import SIDES, fill_errors, region, without
from boltzflow.plots import Repair, show_repair
from boltzflow.sampling.imputation import impute

MACHINES = {"RBM(196)": "VPF, RBM(196)", "BM(196)": "VPF, BM(196)"}
N_SHOWN = 10
N_SWEEPS = 20
"""Of the fair protocol: the region starts from coin flips, known pixels are held."""
MOST = 0.5
"""Most digits are more than this share."""


def recipe(name: str) -> Recipe:
    """The machine as table 1 trains it."""
    return CONTESTANTS[MACHINES[name]].recipe(0)


def picture(name: str) -> str:
    """The file of a machine's figure."""
    return f"reconstructions-{name.split('(')[0].lower()}.png"


def drawn(study: Study, name: str) -> Facts:
    """The picture, and the errors over all test digits, side by side with those of the median."""
    machine = study.trained(recipe(name)).model
    _draw(study, name, machine)
    originals, shape = study.judging(), study.pictures().shape
    median = np.broadcast_to(np.median(study.training(), axis=0), originals.shape)
    found: Facts = {"machine": [], "median": [], "better": []}
    for side in SIDES:
        missing = region(shape, side)
        filled = impute(machine, without(originals, missing), n_sweeps=N_SWEEPS)
        errors, trivial = (fill_errors(originals, fill, missing) for fill in (filled, median))
        found["machine"].append(_over_digits(errors))
        found["median"].append(_over_digits(trivial))
        found["better"].append(float((errors < trivial).mean()))
    return {**found, "n": len(originals)}


def _over_digits(errors: np.ndarray) -> list[float]:
    """Mean and its standard error."""
    return [float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors)))]


def _draw(study: Study, name: str, machine: Machine) -> None:
    originals, shape = study.judging()[:N_SHOWN], study.pictures().shape
    figure = Figure(figsize=(10, 4.3), layout="constrained", facecolor="white")
    for axes, side in zip(figure.subplots(2, 2).ravel(), SIDES, strict=True):
        corrupted = without(originals, region(shape, side))
        filled = impute(machine, corrupted, n_sweeps=N_SWEEPS)
        show_repair(axes, Repair(side, originals, corrupted, filled), shape)
    figure.suptitle(f"{name}: original, region missing, filled in (the first {N_SHOWN} test digits)", fontsize=11)
    figure.savefig(study.out / picture(name), dpi=160, bbox_inches="tight")


def pieces(study: Study) -> Sequence[Piece]:
    """One a machine."""
    seconds = {"RBM(196)": 65.0, "BM(196)": 100.0}
    return [
        Piece(name, seconds[name], partial(drawn, study, name), (picture(name),), (recipe(name),)) for name in MACHINES
    ]


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """Errors over all test digits, and whether a machine is worth more than a constant fill."""
    table = Table(
        "L1 over the region, all test digits, fair protocol",
        ("", *SIDES),
        (
            Row("per-pixel median of the training digits", _cells(found["RBM(196)"], "median")),
            *(Row(name, _cells(found[name], "machine")) for name in MACHINES),
            *(
                Row(
                    f"{name}: digits below the median's error", tuple(f"{share:.0%}" for share in found[name]["better"])
                )
                for name in MACHINES
            ),
        ),
        f"Region from coin flips, known pixels held, {N_SWEEPS} sweeps, grey target; ± is the standard error over digits. "
        "Table 1 has more seeds and protocols.",
    )
    verdicts = tuple(_verdict(name, found[name]) for name in MACHINES)
    return Record("reconstructions", EXPERIMENT.claim, (table,), verdicts, tuple(map(picture, MACHINES)))


def _cells(facts: Facts, whose: str) -> tuple[Cell, ...]:
    return tuple(Number(mean, error, facts["n"], "standard error over digits") for mean, error in facts[whose])


def _verdict(name: str, facts: Facts) -> Verdict:
    ours, median = ([mean for mean, _ in facts[whose]] for whose in ("machine", "median"))
    return verdict(
        f"{name} is able to reconstruct the initially corrupted pixels under 4 different corruption patterns",
        "§ Image Reconstruction, figure" if name == "RBM(196)" else "supplement, figure",
        "a figure",
        f"{_told(ours)} against {_told(median)} of the per-pixel median; nearer for "
        + " / ".join(f"{share:.0%}" for share in facts["better"])
        + " of the digits",
        [
            *(mean < trivial for mean, trivial in zip(ours, median, strict=True)),
            *(share > MOST for share in facts["better"]),
        ],
        because=f"on each side nearer to the original than the median, on average and for more than {MOST:.0%} of the digits",
    )


def _told(errors: Sequence[float]) -> str:
    return " / ".join(f"{error:.2f}" for error in errors)


EXPERIMENT = Experiment(
    "reconstructions",
    "Digits with a side missing are completed.",
    minutes=3,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
    seeded=False,
)
