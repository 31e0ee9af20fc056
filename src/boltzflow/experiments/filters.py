"""Filters of RBM(100), RBM(196) and RBM(400): twenty-five chosen by chance, as in the paper's figure.

The paper claims that all learn reasonable filters (pen strokes), sharper in the larger two.

Expected: strokes in all three; the share of a filter's pixels that count falls with the number of hidden units.

Four minutes on two cores.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from boltzflow.experiments.record import Number, Record, Row, Table, verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Recipe, Study
from boltzflow.measure.sparsity import squared_weight, weight_sparsity
from boltzflow.plots import filters, show_filters

WIDTHS = (100, 196, 400)
N_SHOWN = 25
PICTURE = "filters.png"


def recipe(width: int) -> Recipe:
    """VPF with the settings of table 1."""
    return Recipe("rbm", (width,), 100)


def measured(study: Study, width: int) -> Facts:
    """ρ and w² of one machine."""
    trained = study.trained(recipe(width))
    couplings = filters(trained.model).T
    return {"rho": weight_sparsity(couplings), "w2": squared_weight(couplings), "seconds": trained.seconds}


def drawn(study: Study) -> Facts:
    """Twenty-five filters of each, drawn by lot with a fixed seed; one colour scale a machine."""
    figure = Figure(figsize=(10.5, 3.9), layout="constrained", facecolor="white")
    for axes, width in zip(figure.subplots(1, len(WIDTHS)), WIDTHS, strict=True):
        weights = filters(study.trained(recipe(width)).model)
        lot = np.random.default_rng(0).permutation(len(weights))[:N_SHOWN]
        show_filters(axes, weights[np.sort(lot)], study.pictures().shape, 5, f"RBM({width})")
    figure.savefig(study.out / PICTURE, dpi=130)
    return {}


def pieces(study: Study) -> Sequence[Piece]:
    """Each machine, then the picture."""
    seconds = {100: 30.0, 196: 45.0, 400: 90.0}
    return [
        *(Piece(f"rbm{width}", seconds[width], partial(measured, study, width)) for width in WIDTHS),
        Piece("picture", 3, partial(drawn, study), (PICTURE,)),
    ]


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """Numbers beside the picture."""
    facts = [found[f"rbm{width}"] for width in WIDTHS]
    table = Table(
        "Filters",
        ("machine", "ρ", "w²", "training"),
        tuple(
            Row(f"RBM({width})", (Number(each["rho"]), Number(each["w2"]), f"{each['seconds']:.0f} s"))
            for width, each in zip(WIDTHS, facts, strict=True)
        ),
        "ρ is the share of a filter's pixels that count: strokes cover few, smears many.",
    )
    shares = [each["rho"] for each in facts]
    sharper = verdict(
        "Filters are pen strokes, sharper in RBM(196) and RBM(400) than in RBM(100)",
        "§ Restricted Boltzmann Machines, filters",
        "a figure",
        "share of pixels that count: " + ", ".join(f"{share:.2f}" for share in shares),
        [shares[1] < shares[0], shares[2] < shares[0]],
        "sharper: a filter covers fewer pixels",
    )
    return Record("filters", EXPERIMENT.claim, (table,), (sharper,), (PICTURE,))


EXPERIMENT = Experiment(
    "filters",
    "VPF learns pen strokes, sharper with more hidden units.",
    minutes=4,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
)
