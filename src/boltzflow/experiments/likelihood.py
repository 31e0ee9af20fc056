"""Likelihood, which the paper avoids: log p(x) of test digits under machines trained for equal seconds.

Expected, in nats, by annealed importance sampling with 20,000 temperatures: RBM(196) about −123 by VPF after some 20 epochs and
about −196 after the 100 of table 1, −84 to −88 by PCD-1 without decay and about −97 with it, −113 to −125 by CD-1; RBM(500) −86
or better by PCD-1; units without hidden ones about −95 by pseudolikelihood; independent pixels −206. Likelihood and
reconstruction stand in the same rows.

How long to train is chosen by the likelihood of digits that nobody has learned from (50,001 to 60,000 of the training pictures);
the test digits judge what was chosen, and nothing else.

Seventy minutes on two cores with three seeds. A training takes some 45 seconds at most (RBM(500): 90, units without hidden ones
60); most ways to train have several, to choose among. Further seeds are trained as long as was chosen with the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from boltzflow.bits import log_odds
from boltzflow.experiments.record import Cell, Number, Record, Row, Table, Verdict, clearly_less, over_seeds, verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Recipe, Rows, Study
from boltzflow.experiments.table1 import CONTESTANTS
from boltzflow.machine.machine import Machine
from boltzflow.measure.likelihood import log_likelihood
from boltzflow.measure.parzen import parzen_score
from boltzflow.measure.reconstruction import SIDES, reconstruction_error, region
from boltzflow.sampling.chains import sample

N_TEMPERATURES = 20_000
N_REVERSE_TEMPERATURES = 10_000
N_CHOOSING_TEMPERATURES = 2_000
N_REVERSE = 500
SHARE_OF_COUPLED = 0.25
"""A sweep over 784 coupled units takes several times one over two layers: this share of all temperatures has to do."""
N_CHOOSING_FILLS = 2_000
NEAR = 5.0
"""Nats within which two densities count as equally good."""
TOGETHER = 0.5
"""Rank correlation from which two orders count as going together."""
TRUSTED = 1.0
"""Nats by which an estimate may miss the exact value."""
PICTURE = "likelihood.png"


@dataclass(frozen=True)
class Contender:
    """A way to train a machine, and the numbers of epochs that are tried."""

    machine: str
    recipe: Recipe
    epochs: tuple[int, ...]
    every_seed: bool = False

    def candidates(self, seed: int) -> tuple[Recipe, ...]:
        return tuple(replace(self.recipe, epochs=epochs, seed=seed) for epochs in self.epochs)


def _contender(hidden: int, rule: str, epochs: tuple[int, ...], decay: float) -> Contender:
    recipe = Recipe("rbm", (hidden,), epochs[-1], rule=rule, settings={"decay": decay})
    return Contender(f"RBM({hidden})", recipe, epochs, every_seed=hidden == 196)


EPOCHS = {
    "vpf": (5, 10, 20, 30, 60, CONTESTANTS["VPF, RBM(196)"].epochs),
    "cd-1": (10, 20, CONTESTANTS["CD-1, decay"].epochs),
    "pcd-1": (10, 20, CONTESTANTS["PCD-1, decay"].epochs),
}
"""Those of table 1 are the last and take some 45 seconds, so that machines are shared."""
LARGE_EPOCHS = {"vpf": (10, 20, 40, 95), "cd-1": (10, 20, 80), "pcd-1": (10, 20, 45)}
"""At most some 90 seconds."""

COUPLED_EPOCHS = 30

AS_IN_TABLE_1 = f"RBM(196), VPF, decay, {EPOCHS['vpf'][-1]} epochs as in table 1"

CONTENDERS: Mapping[str, Contender] = {
    AS_IN_TABLE_1: _contender(196, "vpf", EPOCHS["vpf"][-1:], 0.01),
    **{
        f"RBM(196), {rule.upper()}, {told}": _contender(196, rule, epochs, decay)
        for rule, epochs in EPOCHS.items()
        for decay, told in ((0.01, "decay"), (0.0, "no decay"))
    },
    **{
        f"RBM(500), {rule.upper()}, {told}": _contender(500, rule, LARGE_EPOCHS[rule], decay)
        for rule, decay, told in (("vpf", 0.01, "decay"), ("cd-1", 0.0, "no decay"), ("pcd-1", 0.0, "no decay"))
    },
    **{
        f"784 coupled units, {name}": Contender(
            "784 coupled units", Recipe("visible", (), COUPLED_EPOCHS, rule=rule), (COUPLED_EPOCHS,)
        )
        for rule, name in (("pseudolikelihood", "pseudolikelihood"), ("mpf", "MPF"))
    },
}

QUICK = ("RBM(196), VPF, decay", "RBM(196), PCD-1, no decay", AS_IN_TABLE_1)

TINY: Mapping[str, Recipe] = {
    "RBM(16), PCD-1": Recipe("rbm", (16,), 20, rule="pcd-1", settings={"decay": 0.0}),
    "RBM(20), PCD-1": Recipe("rbm", (20,), 20, rule="pcd-1", settings={"decay": 0.0}),
    "RBM(20), VPF": Recipe("rbm", (20,), 20),
}
"""Few enough hidden units for an exact log Z."""


def tried(study: Study, contender: Contender) -> list[Facts]:
    """Each number of epochs with the first seed, judged on the digits that choose; nothing where there is no choice."""
    candidates = contender.candidates(study.seeds[0])
    return [_tried(study, recipe) for recipe in candidates] if len(candidates) > 1 else []


def _tried(study: Study, recipe: Recipe) -> Facts:
    trained, rows = study.trained(recipe), study.choosing()
    n_temperatures, n_chains = _temperatures(study, recipe, N_CHOOSING_TEMPERATURES), study.size(100, 10)
    found = log_likelihood(trained.model, rows, method="ais", n_temperatures=n_temperatures, n_chains=n_chains)
    return {
        "epochs": recipe.epochs,
        "log p": found.mean,
        "warning": found.warning,
        "reconstruction": fair_error(study, trained.model, rows[: study.size(N_CHOOSING_FILLS, 60)], recipe.seed),
        "seconds": trained.seconds,
    }


def best(candidates: Sequence[Facts]) -> int:
    """Which candidate makes the digits that choose most likely.

    >>> best([{"log p": -130.0}, {"log p": -120.0}, {"log p": -190.0}])
    1
    """
    return int(np.argmax([each["log p"] for each in candidates]))


def compared(study: Study, contender: Contender) -> Facts:
    """What each number of epochs is worth, and test digits under the one that was chosen."""
    candidates, found = contender.candidates(study.seeds[0]), tried(study, contender)
    chosen = candidates[best(found) if found else 0]
    return {
        "tried": found,
        "runs": [judged(study, replace(chosen, seed=seed)) for seed in _seeds(study, contender)],
    }


def judged(study: Study, recipe: Recipe) -> Facts:
    """log p of the test digits and reconstruction; with the first seed the reverse estimate and the Parzen score too."""
    trained, test = study.trained(recipe), study.judging()
    n_temperatures, n_chains = _temperatures(study, recipe, N_TEMPERATURES), study.size(100, 10)
    found = log_likelihood(
        trained.model, test, method="ais", n_temperatures=n_temperatures, n_chains=n_chains, seed=recipe.seed
    )
    first = recipe.seed == study.seeds[0]
    both = both_ways(study, trained.model, _temperatures(study, recipe, N_REVERSE_TEMPERATURES)) if first else None
    return {
        "log p": found.mean,
        "interval": [found.low, found.high],
        "effective": found.log_partition.effective_samples,
        "temperatures": n_temperatures,
        "both": both,
        "warnings": [each for each in (found.warning, both and both["warning"]) if each],
        "parzen": _parzen(study, trained.model, recipe.seed) if first else None,
        "reconstruction": fair_error(study, trained.model, test, recipe.seed),
        "seconds": trained.seconds,
        "epochs": trained.epochs,
        "seed": recipe.seed,
    }


def _temperatures(study: Study, recipe: Recipe, full: int) -> int:
    coupled = recipe.kind == "visible"
    return study.size(int(full * SHARE_OF_COUPLED) if coupled else full, 50)


def _parzen(study: Study, machine: Machine, seed: int) -> float:
    n = study.size(10_000, 50)
    pictures = sample(machine, n, burn_in=study.size(300, 3), probabilities=True, seed=seed)
    return parzen_score(pictures, study.judging()).mean


def fair_error(study: Study, machine: Machine, rows: Rows, seed: int) -> float:
    """Table 1's fair protocol against grey originals, the mean of the four sides."""
    shape, n_sweeps = study.pictures().shape, study.size(20, 3)
    errors = [reconstruction_error(machine, rows, region(shape, side), n_sweeps=n_sweeps, seed=seed) for side in SIDES]
    return float(np.mean(errors))


def both_ways(study: Study, machine: Machine, n_temperatures: int) -> Facts:
    """Forward and reverse estimates of the first test digits."""
    rows = study.judging()[: study.size(N_REVERSE, 5)]
    n_chains = study.size(100, 10)
    found = log_likelihood(
        machine, rows, method="ais", n_temperatures=n_temperatures, n_chains=n_chains, reverse_rows=len(rows)
    )
    assert found.reverse is not None
    reverse = [found.reverse.mean, found.reverse.low, found.reverse.high]
    return {"forward": found.mean, "reverse": reverse, "warning": found.warning}


def checked(study: Study, recipe: Recipe) -> Facts:
    """A machine whose log Z can be enumerated: exact, forward and reverse."""
    model, test = study.trained(recipe).model, study.judging()
    exact = log_likelihood(model, test, method="exact")
    few = log_likelihood(model, test[: study.size(N_REVERSE, 5)], method="exact")
    found = log_likelihood(model, test, method="ais", n_temperatures=study.size(N_TEMPERATURES, 50))
    return {
        "exact": exact.mean,
        "ais": found.mean,
        "exact of few": few.mean,
        "both": both_ways(study, model, study.size(N_REVERSE_TEMPERATURES, 50)),
    }


def independent(study: Study) -> Facts:
    """log p(x) with each pixel on its own, at the log-odds of the training digits."""
    odds = log_odds((study.training() > 0.5).astype(np.float32))
    bits = (study.judging() > 0.5).astype(np.float64)
    return {"log p": float((bits @ odds - np.logaddexp(0, odds).sum()).mean())}


def _contenders(study: Study) -> Mapping[str, Contender]:
    if not study.quick:
        return CONTENDERS
    return {name: replace(CONTENDERS[name], epochs=CONTENDERS[name].epochs[-2:]) for name in QUICK}


def _seeds(study: Study, contender: Contender) -> tuple[int, ...]:
    return study.seeds if contender.every_seed else study.seeds[:1]


def _tiny(study: Study) -> Mapping[str, Recipe]:
    """A quick run has no hidden units to spare: it compiles nothing twice where all its machines are of one size."""
    name, recipe = next(iter(TINY.items()))
    return {name: replace(recipe, hidden=(196,))} if study.quick else TINY


def _slug(name: str) -> str:
    return name.replace(", ", "-").replace("(", "").replace(")", "").replace(" ", "-")


def pieces(study: Study) -> Sequence[Piece]:
    """Independent pixels, machines that can be enumerated, then each way to train."""
    return [
        Piece("independent", 5, partial(independent, study)),
        *(
            Piece(_slug(name), 50, partial(checked, study, recipe), models=(recipe,))
            for name, recipe in _tiny(study).items()
        ),
        *(_piece(study, name, contender) for name, contender in _contenders(study).items()),
    ]


def _piece(study: Study, name: str, contender: Contender) -> Piece:
    """Its models are those to choose from, of the first seed; where there is no choice, of each."""
    seeds = _seeds(study, contender)
    sure = seeds if len(contender.epochs) == 1 else seeds[:1]
    models = tuple(recipe for seed in sure for recipe in contender.candidates(seed))
    make = partial(compared, study, contender)
    return Piece(_slug(name), _seconds(contender, len(seeds)), make, models=models, depends=list(seeds))


_SECONDS_AN_EPOCH = {"vpf": 0.42, "cd-1": 0.51, "pcd-1": 0.91, "pseudolikelihood": 2.0, "mpf": 2.0}


def _seconds(contender: Contender, n_seeds: int) -> float:
    """By what was seen on two cores: of an epoch, of a candidate, of a judgement, and of what the first seed's has beside."""
    slower = 2.2 if contender.machine == "RBM(500)" else 1.0
    look, judgement, first = {"RBM(196)": (5, 28, 107), "RBM(500)": (10, 54, 217)}.get(contender.machine, (0, 45, 140))
    training = sum(contender.epochs) + (n_seeds - 1) * max(contender.epochs) / 2
    trained = slower * _SECONDS_AN_EPOCH[contender.recipe.rule] * training
    return trained + look * len(contender.epochs) + judgement * n_seeds + first


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """The machines; how their epochs were chosen; the check against exact values."""
    machines = {name: found[_slug(name)] for name in _contenders(study)}
    exact = {name: found[_slug(name)] for name in _tiny(study)}
    alone = found["independent"]["log p"]
    draw(study, machines)
    warnings = [
        f"{_label(name, facts)}, seed {run['seed']}: {each}"
        for name, facts in machines.items()
        for run in facts["runs"]
        for each in run["warnings"]
    ]
    unsure = [
        f"{name}, {each['epochs']} epochs, on the digits that choose: {each['warning']}"
        for name, facts in machines.items()
        if _has_choice(facts)
        for each in facts["tried"]
        if each["warning"]
    ]
    return Record(
        "likelihood",
        EXPERIMENT.claim,
        (_machines(study, machines, alone), _choices(machines), _checks(exact)),
        tuple(verdicts_of(machines, list(exact.values()), alone)),
        (PICTURE,),
        (*warnings, *unsure),
    )


def _machines(study: Study, machines: Mapping[str, Facts], alone: float) -> Table:
    return Table(
        f"log p(x) of {len(study.judging()):,} test digits, nats",
        ("machine", "AIS", "its interval", "some digits: AIS", "reverse", "Parzen", "reconstruction", "training"),
        (
            Row("independent pixels", (Number(alone), "exact", *(None,) * 5)),
            *(_row(_label(name, facts), facts["runs"]) for name, facts in machines.items()),
        ),
        "± is half the range over seeds. Rows without it are of the first seed only, as are all intervals, reverse estimates and "
        f"Parzen scores. AIS: {N_TEMPERATURES:,} temperatures, 100 chains, or as many as the row says; it underestimates log Z "
        "on average, so it flatters the machine. The reverse estimate errs on the other side, on average: "
        f"{N_REVERSE_TEMPERATURES:,} temperatures, or as many as the row says, from each of the first {N_REVERSE} test digits, "
        "with AIS of the same digits and temperatures beside it. Intervals: 95 %, over digits and over chains. "
        "Epoch chosen: by the likelihood of digits 50,001 to 60,000, see the table of choices; further seeds train as long as "
        "the first. Reconstruction: fair protocol of table 1, mean of the four sides, lower is better. Parzen: 10,000 "
        "probabilities after 300 sweeps from noise, σ = 0.2. The rule pseudolikelihood is for machines without hidden units; "
        "for others it does not exist in this version. Equal seconds are the most that a choice could take, some 45 for RBM(196) "
        f"and 90 for RBM(500); units without hidden ones are trained for {COUPLED_EPOCHS} epochs, whatever that takes. "
        "Published figures binarise digits otherwise and do not belong in this column.",
    )


def _label(name: str, facts: Facts) -> str:
    if name.startswith("784"):
        run = facts["runs"][0]
        return (
            f"{name}; {run['temperatures']:,} temperatures, reverse {int(N_REVERSE_TEMPERATURES * SHARE_OF_COUPLED):,}"
        )
    return f"{name}, epoch chosen by likelihood" if _has_choice(facts) else name


def _has_choice(facts: Facts) -> bool:
    return bool(facts["tried"])


def _row(label: str, runs: Sequence[Facts]) -> Row:
    first = runs[0]
    cells: tuple[Cell, ...] = (
        over_seeds([run["log p"] for run in runs]),
        _interval(*first["interval"]),
        Number(first["both"]["forward"]),
        _with_interval(*first["both"]["reverse"]),
        Number(first["parzen"]),
        over_seeds([run["reconstruction"] for run in runs]),
        f"{np.mean([run['seconds'] for run in runs]):.0f} s, {first['epochs']} epochs",
    )
    return Row(label, cells)


def _choices(machines: Mapping[str, Facts]) -> Table:
    return Table(
        "How long to train, chosen on digits that nobody learned from",
        ("machine", "epochs tried", "log p, AIS", "reconstruction", "chosen"),
        tuple(
            Row(
                name,
                (
                    _listed(facts, "epochs", 0),
                    _listed(facts, "log p", 1),
                    _listed(facts, "reconstruction", 2),
                    f"{facts['tried'][best(facts['tried'])]['epochs']} epochs",
                ),
            )
            for name, facts in machines.items()
            if _has_choice(facts)
        ),
        f"Training digits 50,001 to 60,000, first seed; AIS with {N_CHOOSING_TEMPERATURES:,} temperatures; reconstruction of "
        f"the first {N_CHOOSING_FILLS:,} of them. Each number of epochs is a training of its own, whose rate falls to zero at "
        "its end. The largest likelihood is chosen; test digits have no part in it.",
    )


def _listed(facts: Facts, what: str, digits: int) -> str:
    return " / ".join(f"{each[what]:.{digits}f}" for each in facts["tried"]).replace("-", "−")


def _checks(exact: Mapping[str, Facts]) -> Table:
    return Table(
        "Machines small enough for an exact log Z",
        ("machine", "exact", "AIS", "some digits: exact", "AIS", "reverse"),
        tuple(_check_row(name, facts) for name, facts in exact.items()),
        f"AIS: {N_TEMPERATURES:,} temperatures; of the first {N_REVERSE} digits, and reverse, {N_REVERSE_TEMPERATURES:,}. "
        "In brackets 95 % over digits.",
    )


def _check_row(name: str, facts: Facts) -> Row:
    both = facts["both"]
    few = (Number(facts["exact of few"]), Number(both["forward"]), _with_interval(*both["reverse"]))
    return Row(name, (Number(facts["exact"]), Number(facts["ais"]), *few))


def _interval(low: float, high: float) -> str:
    return f"{low:.1f} to {high:.1f}".replace("-", "−")


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:.1f} ({low:.1f} to {high:.1f})".replace("-", "−")


_STYLES = {"VPF": ("k", "o"), "CD-1": ("0.5", "s"), "PCD-1": ("tab:blue", "^")}


def draw(study: Study, machines: Mapping[str, Facts]) -> None:
    """Likelihood and reconstruction of the digits that choose, against epochs, for RBM(196)."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained", facecolor="white")
    density, repair = figure.subplots(1, 2)
    for name, facts in machines.items():
        if name.startswith("RBM(196), ") and _has_choice(facts):
            _, rule, decay = name.split(", ")
            _draw_curve(density, facts["tried"], "log p", rule, decay)
            _draw_curve(repair, facts["tried"], "reconstruction", rule, decay)
    density.set(title="likelihood", ylabel="log p(x), nats (higher is better)")
    repair.set(title="reconstruction", ylabel="L1 error, fair protocol (lower is better)")
    density.legend(frameon=False, fontsize=8)
    figure.savefig(study.out / PICTURE, dpi=130)


def _draw_curve(axes: Axes, candidates: Sequence[Facts], what: str, rule: str, decay: str) -> None:
    color, marker = _STYLES[rule]
    epochs, values = ([each[key] for each in candidates] for key in ("epochs", what))
    line = "-" if decay == "decay" else "--"
    axes.plot(epochs, values, ls=line, color=color, marker=marker, ms=4, lw=1.3, label=f"{rule}, {decay}")
    axes.set(xlabel="epochs of training", xscale="log")
    axes.xaxis.set_major_locator(FixedLocator([5, 10, 20, 40, 80]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.spines[["top", "right"]].set_visible(False)


def rank_correlation(these: Sequence[float], those: Sequence[float]) -> float:
    """Spearman's ρ: the correlation of ranks, equal values sharing theirs.

    >>> round(rank_correlation([1.0, 2.0, 30.0], [-5.0, -4.0, -3.0]), 6)
    1.0
    """
    return float(np.corrcoef(_ranks(np.asarray(these, float)), _ranks(np.asarray(those, float)))[0, 1])


def _ranks(values: Float[np.ndarray, " values"]) -> Float[np.ndarray, " values"]:
    below, equal = values[:, None] > values, values[:, None] == values
    return below.sum(axis=1) + 0.5 * (equal.sum(axis=1) - 1)


def best_by(rule: str, machines: Mapping[str, Facts]) -> str:
    """The contender among RBM(196) trained by a rule that makes the digits that choose most likely."""
    names = [name for name, facts in machines.items() if name.startswith(f"RBM(196), {rule},") and _has_choice(facts)]
    return names[best([machines[name]["tried"][best(machines[name]["tried"])] for name in names])]


def _of(facts: Facts, what: str) -> list[float]:
    return [run[what] for run in facts["runs"]]


def verdicts_of(machines: Mapping[str, Facts], exact: Sequence[Facts], alone: float) -> list[Verdict]:
    """Four questions of this package, each with the rule that decides."""
    vpf, pcd = best_by("VPF", machines), best_by("PCD-1", machines)
    ours, theirs = _of(machines[vpf], "log p"), _of(machines[pcd], "log p")
    early = machines["RBM(196), VPF, decay"]
    late = machines[AS_IN_TABLE_1]
    likelihoods = [float(np.mean(_of(facts, "log p"))) for facts in machines.values()]
    errors = [float(np.mean(_of(facts, "reconstruction"))) for facts in machines.values()]
    together = rank_correlation(likelihoods, [-error for error in errors])
    forward = [abs(each["ais"] - each["exact"]) for each in exact]
    reverse = [abs(each["both"]["reverse"][0] - each["exact of few"]) for each in exact]
    return [
        verdict(
            "VPF trains a good density",
            "not asked by the paper, which scores Parzen windows instead",
            "–",
            f"{vpf} {over_seeds(ours)}; {pcd} {over_seeds(theirs)}; independent pixels {Number(alone)}",
            [clearly_less([alone], ours), float(np.mean(ours)) > float(np.mean(theirs)) - NEAR],
            because=f"every seed above independent pixels; mean within {NEAR:.0f} nats of PCD-1's or above it. Decay and epochs "
            "of both by the digits that choose",
            asked=False,
        ),
        verdict(
            "VPF's likelihood falls when training goes on, and its reconstructions get better",
            "not asked by the paper",
            "–",
            f"epoch chosen: log p {over_seeds(_of(early, 'log p'))}, error {over_seeds(_of(early, 'reconstruction'))}; "
            f"as in table 1: log p {over_seeds(_of(late, 'log p'))}, error {over_seeds(_of(late, 'reconstruction'))}",
            [
                clearly_less(_of(late, "log p"), _of(early, "log p")),
                clearly_less(_of(late, "reconstruction"), _of(early, "reconstruction")),
            ],
            because="every seed of the long training below every seed of the chosen one, in likelihood and in error",
            asked=False,
        ),
        verdict(
            "Good reconstruction and good density go together",
            "not asked by the paper",
            "–",
            f"rank correlation {together:.2f} over {len(machines)} machines",
            [together >= TOGETHER],
            because=f"Spearman's, of log p and minus the error over the rows of machines: {TOGETHER} or more",
            asked=False,
        ),
        verdict(
            "Estimates of the likelihood come near exact values",
            "a check of this package",
            "–",
            f"largest difference forward {max(forward):.2f}, reverse {max(reverse):.2f} nats",
            [each < TRUSTED for each in (*forward, *reverse)],
            because=f"less than {TRUSTED:.0f} nat on each machine that can be enumerated, forward and reverse",
            asked=False,
        ),
    ]


EXPERIMENT = Experiment(
    "likelihood",
    "What the paper does not ask: how good are these machines as densities?",
    minutes=70,
    n_seeds=3,
    pieces=pieces,
    finish=finish,
)
