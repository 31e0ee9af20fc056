"""Reconstructions to look at: the first ten test digits, four corruptions, RBM(196) and BM(196) by VPF.

The paper shows digits that RBM(196) and BM(196) complete after two transitions from pictures with noise over one side.

Expected: most digits are completed plausibly where enough is seen; with the bottom missing a 9 and a 4 or 7 are confused.

One minute on two cores beyond the machines of table 1.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from boltzflow.experiments.record import Number, Record, Row, Table, Verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Study
from boltzflow.experiments.table1 import CONTESTANTS
from boltzflow.measure.reconstruction import SIDES, fill_errors, region, unclamped_fill, without
from boltzflow.plots import Repair, show_repair
from boltzflow.sampling.imputation import impute

MACHINES = {"RBM(196)": "VPF, RBM(196)", "BM(196)": "VPF, BM(196)"}
N_SHOWN = 10


def picture(name: str) -> str:
    """The file of a machine's figure."""
    return f"reconstructions-{name.split('(')[0].lower()}.png"


def drawn(study: Study, name: str) -> Facts:
    """Fair protocol in the picture; in the numbers the paper's too."""
    machine = study.trained(CONTESTANTS[MACHINES[name]].recipe(0)).model
    originals, shape = study.judging()[:N_SHOWN], study.pictures().shape
    figure = Figure(figsize=(10, 6.6), layout="constrained", facecolor="white")
    found: Facts = {"fair": [], "paper": []}
    for axes, side in zip(figure.subplots(2, 2).ravel(), SIDES, strict=True):
        missing = region(shape, side)
        corrupted = without(originals, missing)
        filled = impute(machine, corrupted, n_sweeps=20)
        show_repair(axes, Repair(side, originals, corrupted, filled), shape)
        found["fair"].append(float(fill_errors(originals, filled, missing).mean()))
        theirs = unclamped_fill(machine, originals, missing)
        found["paper"].append(float(fill_errors(originals, theirs, missing).mean()))
    figure.suptitle(f"{name}: original, region missing, filled in (the first {N_SHOWN} test digits)", fontsize=11)
    figure.savefig(study.out / picture(name), dpi=120)
    return found


def pieces(study: Study) -> Sequence[Piece]:
    """One picture a machine."""
    return [Piece(name, 60, partial(drawn, study, name), (picture(name),)) for name in MACHINES]


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """Errors of what is shown."""
    table = Table(
        "L1 over the region, the ten digits shown",
        ("machine, protocol", *SIDES),
        tuple(
            Row(f"{name}, {protocol}", tuple(map(Number, found[name][protocol])))
            for name in MACHINES
            for protocol in ("fair", "paper")
        ),
        "Too few to compare anything with: table 1 has all 10,000.",
    )
    mean = float(np.mean(found["RBM(196)"]["fair"]))
    seen = Verdict(
        "RBM(196) is able to reconstruct the corrupted pixels under four patterns",
        "§ Image Reconstruction, figure",
        "a figure",
        f"pictures; mean error of the digits shown {mean:.1f}",
        "holds",
        "judged by looking; table 1 has the numbers",
    )
    return Record("reconstructions", EXPERIMENT.claim, (table,), (seen,), tuple(map(picture, MACHINES)))


EXPERIMENT = Experiment(
    "reconstructions",
    "Digits with a side missing are completed.",
    minutes=3,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
)
