"""Filters of RBM(100), RBM(196) and RBM(400): twenty-five chosen by chance, as in the paper's figure.

The paper claims that all learn reasonable filters (pen strokes), sharper in the larger two. Two numbers stand for that: the
share ρ of its pixels that count in a filter (a third where couplings are Gaussian noise), and the correlation of neighbouring
couplings (0 in noise).

Expected: in all three fewer pixels count than in noise, and neighbours agree; ρ falls with the number of hidden units.

Four minutes on two cores; one training each.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from boltzflow.experiments.record import Number, Record, Row, Table, Verdict, verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Recipe, Study
from boltzflow.measure.sparsity import squared_weight, weight_sparsity
from boltzflow.plots import filters, show_filters

WIDTHS = (100, 196, 400)
N_SHOWN = 25
PICTURE = "filters.png"

NOISE = 1 / 3
"""ρ of many couplings from a normal law: (E w²)² / E w⁴."""
AGREEING = 0.5
"""Neighbouring couplings belong to one stroke where they are correlated by more than this."""
APART = 2.0
"""Means over filters differ where they are more than so many standard errors apart."""


def recipe(width: int) -> Recipe:
    """VPF with the settings of table 1."""
    return Recipe("rbm", (width,), 100)


def measured(study: Study, width: int) -> Facts:
    """ρ and w² of one machine, the standard error of ρ over its filters, and whether neighbours agree."""
    trained = study.trained(recipe(width))
    weights = filters(trained.model)
    shares = [weight_sparsity(weight[:, None]) for weight in weights]
    return {
        "rho": float(np.mean(shares)),
        "error": float(np.std(shares, ddof=1) / np.sqrt(len(shares))),
        "n": len(shares),
        "agreement": agreement(weights, study.pictures().shape),
        "w2": squared_weight(weights.T),
        "seconds": trained.seconds,
    }


def agreement(weights: Float[np.ndarray, "hidden pixels"], shape: tuple[int, int]) -> float:
    """Correlation of a coupling with those to its right and below, mean over filters.

    >>> round(agreement(np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]]), (2, 2)), 2)
    -0.33
    """
    found = []
    for weight in weights.reshape(-1, *shape):
        here = np.concatenate([weight[:, :-1].ravel(), weight[:-1].ravel()])
        there = np.concatenate([weight[:, 1:].ravel(), weight[1:].ravel()])
        found.append(np.corrcoef(here, there)[0, 1])
    return float(np.mean(found))


def drawn(study: Study) -> Facts:
    """Twenty-five filters of each, drawn by lot with a fixed seed; one colour scale a machine."""
    figure = Figure(figsize=(10.5, 3.9), layout=ConstrainedLayoutEngine(wspace=0.04), facecolor="white")
    for axes, width in zip(figure.subplots(1, len(WIDTHS)), WIDTHS, strict=True):
        weights = filters(study.trained(recipe(width)).model)
        lot = np.random.default_rng(0).permutation(len(weights))[:N_SHOWN]
        show_filters(axes, weights[np.sort(lot)], study.pictures().shape, 5, f"RBM({width})")
        axes.title.set_fontsize(12)
        axes.set_anchor("N")
    figure.savefig(study.out / PICTURE, dpi=160, bbox_inches="tight")
    return {}


def pieces(study: Study) -> Sequence[Piece]:
    """Each machine, then the picture."""
    seconds = {100: 35.0, 196: 50.0, 400: 95.0}
    return [
        *(
            Piece(f"rbm{width}", seconds[width], partial(measured, study, width), models=(recipe(width),))
            for width in WIDTHS
        ),
        Piece("picture", 3, partial(drawn, study), (PICTURE,), tuple(map(recipe, WIDTHS))),
    ]


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """Numbers beside the picture."""
    facts = {width: found[f"rbm{width}"] for width in WIDTHS}
    table = Table(
        "Filters",
        ("machine", "ρ", "neighbours' correlation", "w²", "training"),
        tuple(
            Row(
                f"RBM({width})",
                (_rho(each), Number(each["agreement"]), Number(each["w2"]), f"{each['seconds']:.0f} s"),
            )
            for width, each in facts.items()
        ),
        "ρ is the share of a filter's pixels that count: strokes cover few, smears many, noise a third; ± is the standard "
        "error over filters.",
    )
    return Record("filters", EXPERIMENT.claim, (table,), _verdicts(facts), (PICTURE,))


def _verdicts(facts: Mapping[int, Facts]) -> tuple[Verdict, Verdict]:
    strokes = verdict(
        "All of the models learned reasonable filters (pen strokes)",
        "§ Restricted Boltzmann Machines, filters",
        "a figure",
        "; ".join(f"RBM({width}): ρ {_rho(each)}, neighbours {each['agreement']:.2f}" for width, each in facts.items()),
        [each["rho"] < NOISE and each["agreement"] > AGREEING for each in facts.values()],
        because=f"strokes: ρ below {NOISE:.2f}, that of noise, and neighbouring couplings correlated by more than {AGREEING:g}",
    )
    sharper = verdict(
        "They are sharper in RBM(196) and RBM(400)",
        "§ Restricted Boltzmann Machines, filters",
        "a figure",
        "ρ " + ", ".join(f"{_rho(each)} in RBM({width})" for width, each in facts.items()),
        [_less(facts[width], facts[WIDTHS[0]]) for width in WIDTHS[1:]],
        because=f"sharper: a filter covers fewer pixels than in RBM({WIDTHS[0]}), by more than {APART:g} standard errors",
    )
    return strokes, sharper


def _rho(facts: Facts) -> Number:
    return Number(facts["rho"], facts["error"], facts["n"], "standard error over filters")


def _less(those: Facts, others: Facts) -> bool:
    return bool(others["rho"] - those["rho"] > APART * np.hypot(those["error"], others["error"]))


EXPERIMENT = Experiment(
    "filters",
    "VPF learns pen strokes, sharper with more hidden units.",
    minutes=4,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
    seeded=False,
)
