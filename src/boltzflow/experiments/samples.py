"""Digits generated from the top down: DBM1-P, DBM2-R and DBM2-P, not chosen.

The paper shows realistic digits, those of DBM1 with gaps, those of DBM2 without.

Expected: digits in all three; `claims` counts the gaps.

Five minutes on two cores, one where table2 has left its machines; one training each.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from boltzflow.experiments.record import Number, Record, Row, Table
from boltzflow.experiments.study import Experiment, Facts, Piece, Rows, Study
from boltzflow.experiments.table2 import DBM1, DBM2, STEPS, generated
from boltzflow.plots import show_pictures

SHOWN = ("DBM1-P", "DBM2-R", "DBM2-P")
N_SHOWN = 100
PICTURE = "samples.png"


def drawn(study: Study) -> Facts:
    """A hundred of each, the first that came."""
    figure = Figure(figsize=(12.4, 4.6), layout=ConstrainedLayoutEngine(wspace=0.04), facecolor="white")
    ink = {}
    for axes, name in zip(figure.subplots(1, 3), SHOWN, strict=True):
        rows = generated(study, name, 1)[0][:N_SHOWN]
        show_pictures(axes, rows, study.pictures().shape, 10, name)
        axes.title.set_fontsize(13)
        ink[name] = [float(rows.mean()), sureness(rows)]
    figure.savefig(study.out / PICTURE, dpi=160, bbox_inches="tight")
    real = study.judging()[:N_SHOWN]
    return {**ink, "test digits": [float(real.mean()), sureness(real)]}


def sureness(rows: Rows) -> float:
    """Mean of |2p − 1|: 1 where every pixel is black or white."""
    return float(np.abs(2 * rows - 1).mean())


def pieces(study: Study) -> Sequence[Piece]:
    """One picture."""
    return [Piece("picture", 265, partial(drawn, study), (PICTURE,), (DBM1, DBM2), dict(STEPS))]


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """What is shown, in two numbers."""
    rows = tuple(Row(name, tuple(map(Number, facts))) for name, facts in found["picture"].items())
    note = "Pixel probabilities: a mean of |2p − 1| near 1 says that the machine is sure of nearly every pixel."
    table = Table("The pictures shown", ("model", "mean ink", "mean of |2p − 1|"), rows, note)
    return Record("samples", EXPERIMENT.claim, (table,), pictures=(PICTURE,))


EXPERIMENT = Experiment(
    "samples",
    "Deep machines generate digits from the top down.",
    minutes=5,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
    seeded=False,
)
