"""Training curves, mean activations, and how couplings grow sparse.

The paper claims that the objective flattens out within 50 epochs for RBM(100), RBM(196) and RBM(400); that the hidden units of
RBM(400) have mean activations of 0.1 to 0.4, in all 0.26; that the weight sparsity ρ falls to 0.15 while w² grows.

Expected, with the authors' settings: flat by epoch 50; a mean activation near theirs; ρ near 0.15 and w² still growing at the
end. Hidden units that start quiet, this package's default, are expected to stay sparser.

Five minutes on two cores; one training each.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from boltzflow.experiments.record import Number, Record, Row, Table, Verdict, verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Study
from boltzflow.experiments.table2 import AUTHORS
from boltzflow.learning.loop import EpochRecord, train
from boltzflow.learning.step import TrainState
from boltzflow.machine.builders import rbm
from boltzflow.machine.stack import as_stack
from boltzflow.measure.sparsity import squared_weight, weight_sparsity
from boltzflow.plots import filters
from boltzflow.sampling.generation import mean_activations

WIDTHS = (100, 196, 400)
EPOCHS = 100
N_EXAMPLES = 10_000
FLAT = 0.02
"""A curve is flat where all of it that is still to come is within this share of its fall."""
SOON = 50
"""It flattens out fast where it does before this epoch."""
USUAL = (0.1, 0.4)
ACTIVE, RHO = 0.26, 0.15
"""The paper's mean activation and weight sparsity of RBM(400)."""
NEAR = 0.05
"""How far from them a number may be."""
PICTURE = "training.png"
QUIET: Mapping[str, Any] = {}


def followed(study: Study, width: int, settings: Mapping[str, Any]) -> Facts:
    """One training, looked at after every epoch."""
    n_hidden = study.size(width, width // 16)
    rho, w2 = [], []

    def look(_: EpochRecord, state: TrainState) -> None:
        couplings = filters(state.model).T
        rho.append(weight_sparsity(couplings))
        w2.append(squared_weight(couplings))

    rows = study.training()
    machine = rbm(rows.shape[1], n_hidden)
    run = train(machine, rows, rule="vpf", epochs=study.size(EPOCHS, 4), callbacks=[look], **settings)
    bits = (rows[:N_EXAMPLES] > 0.5).astype(np.float32)
    return {
        "flow": [record.value for record in run.history],
        "rho": rho,
        "w2": w2,
        "activations": mean_activation_of_each(run.model, bits),
    }


def mean_activation_of_each(model: Any, bits: np.ndarray) -> list[float]:
    """p(h_j = 1 | x), averaged over examples, of each hidden unit."""
    return [float(mean) for mean in mean_activations(as_stack(model), bits)]


def flat_from(curve: Sequence[float]) -> int:
    """The first epoch (from 1) from which a curve stays near its end.

    >>> flat_from([10.0, 5.0, 1.05, 1.1, 1.0])
    3
    """
    values = np.asarray(curve)
    away = np.abs(values - values[-1]) > FLAT * (values[0] - values[-1])
    return int(np.flatnonzero(away).max(initial=-1)) + 2


def drawn(study: Study, curves: Mapping[int, Facts]) -> Facts:
    """The paper's three panels."""
    figure = Figure(figsize=(11, 3.2), layout="constrained", facecolor="white")
    flow, activity, sparsity = figure.subplots(1, 3)
    for (width, facts), style in zip(curves.items(), ("-", "--", ":"), strict=True):
        flow.plot(range(1, len(facts["flow"]) + 1), facts["flow"], "k" + style, label=f"RBM({width})", lw=1.3)
    flow.set(title="objective", xlabel="epoch", ylabel="probability flow")
    flow.legend(frameon=False)
    last = curves[WIDTHS[-1]]
    activity.hist(last["activations"], bins=20, range=(0, 1), color="0.45", edgecolor="white")
    activity.axvline(float(np.mean(last["activations"])), color="k", ls="--", lw=1)
    activity.set(title=f"RBM({WIDTHS[-1]})", xlabel="mean activation, dashed: of all", ylabel="hidden units")
    epochs = range(1, len(last["rho"]) + 1)
    sparsity.plot(epochs, last["rho"], "k-", lw=1.3)
    sparsity.set(title=f"RBM({WIDTHS[-1]})", xlabel="epoch", ylabel="weight sparsity ρ (solid)")
    other = sparsity.twinx()
    other.plot(epochs, last["w2"], "k--", lw=1.3)
    other.set(ylabel="squared weight w² (dashed)")
    for axes in (flow, sparsity, other):
        axes.set_ylim(0, 1.05 * axes.dataLim.ymax)
    for axes in (flow, activity):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(study.out / PICTURE, dpi=160, bbox_inches="tight")
    return {}


def pieces(study: Study) -> Sequence[Piece]:
    """The three machines as the authors trained them, and the largest as this package does."""
    seconds = {100: 30.0, 196: 45.0, 400: 90.0}
    ways = {**{f"rbm{width}": (width, AUTHORS) for width in WIDTHS}, "quiet": (WIDTHS[-1], QUIET)}
    return [
        Piece(name, seconds[width], partial(followed, study, width, settings), depends=dict(settings))
        for name, (width, settings) in ways.items()
    ]


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """The panels, and what is said of them."""
    curves = {width: found[f"rbm{width}"] for width in WIDTHS}
    drawn(study, curves)
    labelled = {
        **{f"RBM({width})": facts for width, facts in curves.items()},
        f"RBM({WIDTHS[-1]}), this package's defaults": found["quiet"],
    }
    table = Table(
        "After training",
        ("machine", "flat from epoch", "flow", "mean activation", "between 0.1 and 0.4", "ρ", "w²"),
        tuple(_row(name, facts) for name, facts in labelled.items()),
        f"Flat: all that follows stays within {FLAT:.0%} of the whole fall. Mean activations over {N_EXAMPLES:,} training "
        "digits. The first three as the authors trained them: a constant rate, digits in their order, biases from 0.",
    )
    return Record("training", EXPERIMENT.claim, (table,), _verdicts(curves), (PICTURE,))


def _verdicts(curves: Mapping[int, Facts]) -> tuple[Verdict, ...]:
    flat = [flat_from(facts["flow"]) for facts in curves.values()]
    n_epochs, last = len(curves[WIDTHS[-1]]["flow"]), curves[WIDTHS[-1]]
    mean, most = float(np.mean(last["activations"])), _between(last)
    return (
        verdict(
            f"The objective flattens out in less than {SOON} epochs",
            "§ Restricted Boltzmann Machines, figure (a)",
            f"less than {SOON}",
            f"epochs {', '.join(map(str, flat))}",
            [epoch < SOON for epoch in flat],
            because=f"flat: all that follows stays within {FLAT:.0%} of the whole fall over {n_epochs} epochs",
        ),
        verdict(
            "Most hidden units of RBM(400) have mean activations between 0.1 and 0.4, in all 0.26",
            "§ Restricted Boltzmann Machines, figure (b)",
            f"{ACTIVE}",
            f"{mean:.2f}; {most:.0%} of the units between 0.1 and 0.4",
            [most > 0.5, abs(mean - ACTIVE) <= NEAR],
            because=f"most: more than half of the units; the mean within {NEAR} of the paper's",
        ),
        verdict(
            "ρ falls to 0.15 while w² grows",
            "§ Restricted Boltzmann Machines, figure (c)",
            f"{RHO}",
            f"ρ from {last['rho'][0]:.2f} to {last['rho'][-1]:.2f}, w² from {last['w2'][0]:.1f} to {last['w2'][-1]:.1f}",
            [abs(last["rho"][-1] - RHO) <= NEAR, last["w2"][-1] > last["w2"][0]],
            needs=[last["rho"][-1] < last["rho"][0]],
            because=f"from the first epoch to the last: ρ ends within {NEAR} of the paper's, w² is larger; if ρ falls at all",
        ),
    )


def _between(facts: Facts) -> float:
    activations = np.asarray(facts["activations"])
    return float(((activations >= USUAL[0]) & (activations <= USUAL[1])).mean())


def _row(name: str, facts: Facts) -> Row:
    return Row(
        name,
        (
            str(flat_from(facts["flow"])),
            Number(facts["flow"][-1]),
            Number(float(np.mean(facts["activations"]))),
            f"{_between(facts):.0%}",
            Number(facts["rho"][-1]),
            Number(facts["w2"][-1]),
        ),
    )


EXPERIMENT = Experiment(
    "training",
    "Training converges fast, and to sparse couplings and sparse codes.",
    minutes=5,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
    seeded=False,
)
