"""What the measurements of `claims.py` come to: its tables, and the thresholds that make a sentence of the paper hold."""

from collections.abc import Mapping, Sequence

import numpy as np

from boltzflow.experiments.record import HALF_RANGE, Number, Row, Table, Verdict, clearly_less, over_seeds, verdict
from boltzflow.experiments.study import Facts

DRAWN = ("test digits", "DBM1-P", "DBM2-R", "DBM2-P")
"""Whose gaps are counted."""

CODES = ("DBM1", "DBM2", "RBM(196)", "BM(196)")
"""Whose lit units are counted; DBM2 and BM(196) have connections inside layers."""

ENOUGH, NEARLY = 0.02, 0.05
"""How much worse than the best number of completions one may be."""
NATS = 5.0
"""Parzen scores that are no further apart are taken as equal."""
SPARSER = 0.9
"""Of the units that are lit without connections inside layers, at most this share is lit with them."""
OFTEN = 2.0
"""Gaps are often there where they are more than so many times as frequent as in test digits."""
CLOSED = 0.5
"""They are closed where at most this share of what DBM1-P has above test digits is left."""
LONGER = 1.5
"""PCD-10's epochs take at least so many times as long as VPF's."""
BOUND = 0.1
"""Couplings are bounded where w² grows by no more than this share when epochs double."""

Found = Mapping[str, Facts]


def tables(found: Found) -> tuple[Table, ...]:
    """One a claim."""
    return (
        _of_completions(found),
        _of_e_step(found),
        _of_strategies(found),
        _of_steps(found),
        _of_codes(found),
        _of_gaps(found),
        _of_seconds(found),
        _of_growth(found),
    )


def verdicts(found: Found) -> tuple[Verdict, ...]:
    """One a claim; two of the gaps, which are said to be in one machine and not in the other."""
    return (
        _one_is_enough(found),
        _once_an_epoch(found),
        _no_greed(found),
        _five_mix(found),
        _sparser(found),
        _gaps_in_dbm1(found),
        _gaps_closed(found),
        _longer(found),
        _bounded(found),
    )


def _drawn(found: Found) -> dict[str, Facts]:
    return {
        name.removeprefix("completions-"): facts for name, facts in found.items() if name.startswith("completions-")
    }


def _fills(found: Found) -> list[Row]:
    named = {"black": "all black", "median": "per-pixel median", "floor": "floor of 0/1 outputs"}
    return [Row(label, (Number(found["trivial"][key]), None)) for key, label in named.items()]


def _unmade(found: Found) -> list[Row]:
    """Scores of centres that no model made; where the top layer starts is no question for them."""
    return [Row(name, (Number(score), Number(score))) for name, score in found["trivial"]["parzen"].items()]


def _of_completions(found: Found) -> Table:
    rows = [
        Row(f"{n} completion{'s' if n != '1' else ''}", _cells(facts, "error", "seconds"))
        for n, facts in _drawn(found).items()
    ]
    return Table(
        "1. Completions of each digit: RBM(196), 10,000 digits, 30 epochs",
        ("", "fair L1, mean of four sides", "s an epoch"),
        (*_fills(found), *rows),
        "On 2,000 training digits that nobody learned from; the protocol is the fair one of table 1.",
    )


def _one_is_enough(found: Found) -> Verdict:
    errors = {n: float(np.mean(facts["error"])) for n, facts in _drawn(found).items()}
    more, median = errors["1"] / min(errors.values()) - 1, found["trivial"]["median"]
    return verdict(
        "It is enough to generate just one sample to achieve good convergence of the learning algorithm",
        "§ VPF Learning Algorithm, E-step",
        "no number",
        "fair error "
        + ", ".join(f"{over_seeds(facts['error'])} with {n}" for n, facts in _drawn(found).items())
        + f"; per-pixel median {median:.2f}",
        [more <= ENOUGH, more <= NEARLY],
        needs=[clearly_less(found["completions-1"]["error"], [median])],
        because=f"holds: one within {ENOUGH:.0%} of the best; in part: within {NEARLY:.0%}; if below the per-pixel median at all",
    )


def _of_e_step(found: Found) -> Table:
    facts = {once: found[f"e-step-{once}"] for once in ("epoch", "batch")}
    return Table(
        "2. When hidden states are drawn: RBM(196), 50,000 digits, 30 epochs",
        ("E-step", "fair L1, mean of four sides", "flow"),
        (
            *_fills(found),
            *(
                Row(f"once a{'n' * (once == 'epoch')} {once}", _cells(each, "error", "flow"))
                for once, each in facts.items()
            ),
        ),
        "The flow is that of digits that nobody learned from, completed anew by the trained machine.",
    )


def _once_an_epoch(found: Found) -> Verdict:
    epoch, batch = found["e-step-epoch"], found["e-step-batch"]
    return verdict(
        "An E-step for the entire data set at the start of each epoch promotes convergence to better local minima",
        "§ VPF for Multilayer Networks, RBM",
        "no number",
        f"fair error {over_seeds(epoch['error'])} against {over_seeds(batch['error'])} with one for each batch; "
        f"flow {over_seeds(epoch['flow'])} against {over_seeds(batch['flow'])}",
        [clearly_less(epoch[what], batch[what]) for what in ("error", "flow")],
        because="better: every training of the one below every training of the other, in the error and in the flow",
    )


def _of_strategies(found: Found) -> Table:
    return Table(
        "3. Training a stack: 784-196-196-64, 50 epochs for each pair",
        ("", "Parzen, P", "Parzen, R", "seconds"),
        (
            *(Row(row.label, (*row.cells, None)) for row in _unmade(found)),
            *(Row(name, _cells(found[name], "P", "R", "seconds")) for name in ("simultaneous", "greedy")),
        ),
        "On training digits 50,001–60,000, r = 5, σ = 0.2, from mean activations (P) and coin flips (R); seconds of training "
        "with compilation, for which greedy training has three programs to the other's one. The score rewards blur: see table 2.",
    )


def _no_greed(found: Found) -> Verdict:
    ours, greedy, blank = found["simultaneous"], found["greedy"], found["trivial"]["parzen"]["mean digit"]
    ahead = {prior: float(np.mean(ours[prior]) - np.mean(greedy[prior])) for prior in ("P", "R")}
    return verdict(
        "VPF learns all the parameters simultaneously, without greedy layer-wise initialisation of the weights",
        "§ VPF for Multilayer Networks, DBM; § Related Work",
        "no number",
        "Parzen score of simultaneous minus greedy training: "
        + ", ".join(f"{prior} {gain:+.1f}" for prior, gain in ahead.items())
        + f"; simultaneous {over_seeds(ours['P'])} and {over_seeds(ours['R'])}, the mean digit {Number(blank)}",
        [gain >= -NATS for gain in ahead.values()],
        needs=[clearly_less([blank], [*ours["P"], *ours["R"]])],
        because=f"not needed: no more than {NATS:.0f} behind, from each start; if above the mean digit at all",
    )


def _of_steps(found: Found) -> Table:
    rows = (Row(f"r = {r}", (Number(score["P"]), Number(score["R"]))) for r, score in found["steps"].items())
    return Table(
        "4. Steps in each pair of layers: DBM1 of table 2",
        ("", "Parzen, P", "Parzen, R"),
        (*_unmade(found), *rows),
        "On training digits 50,001–60,000, σ = 0.2; one training. Where steps mix, more of them change nothing.",
    )


def _five_mix(found: Found) -> Verdict:
    scores = found["steps"]
    five, later = scores["5"], [score for r, score in scores.items() if int(r) > 5]
    moved = {prior: max(abs(score[prior] - five[prior]) for score in later) for prior in ("P", "R")}
    apart = {r: abs(score["P"] - score["R"]) for r, score in scores.items()}
    most = max(apart, key=int)
    return verdict(
        "r = 5 was enough to ensure good mixing",
        "§ VPF for Multilayer Networks, DBM",
        "no number; table 2 has 210 (P) and 183 (R) for DBM1",
        f"after r = 5 P moves by up to {moved['P']:.1f}, R by up to {moved['R']:.1f}; the two starts are {apart['5']:.1f} "
        f"apart at r = 5 and {apart[most]:.1f} at r = {most}",
        [moved[prior] <= NATS for prior in ("P", "R")],
        because=f"mixed: with more steps a score moves by no more than {NATS:.0f}; how far P and R are apart does not count",
    )


def _lit(found: Found) -> dict[str, list[list[float]]]:
    """For each machine, for each hidden layer: the share of its units that are lit, a number a training."""
    return {name: found[f"codes-{name}"]["lit"] for name in CODES}


def _of_codes(found: Found) -> Table:
    rows = []
    for name, layers in _lit(found).items():
        shown = [over_seeds([100 * share for share in layer]) for layer in layers]
        rows.append(Row(name, (*shown, *[None] * (3 - len(shown)))))
    return Table(
        "5. Hidden units that are lit, %, given test digits",
        ("", "layer 1", "layer 2", "layer 3"),
        tuple(rows),
        "DBM1 and DBM2 of table 2, RBM and BM of table 1; DBM2 and BM have connections inside their hidden layers.",
    )


def _sparser(found: Found) -> Verdict:
    lit = _lit(found)
    pairs = [*zip(lit["DBM2"], lit["DBM1"], strict=True), *zip(lit["BM(196)"], lit["RBM(196)"], strict=True)]
    return verdict(
        "Intra-layer connections significantly improve the ability to learn sparse representations",
        "§ Introduction; § DBM with Intra-layer Connections",
        "no number; RBM(400) has a mean activation of 0.26",
        "lit with against without: "
        + ", ".join(f"{100 * np.mean(those):.1f} / {100 * np.mean(others):.1f} %" for those, others in pairs)
        + " (layers 1 to 3 of the deep machines, the layer of the shallow ones)",
        [clearly_less(those, [SPARSER * share for share in others]) for those, others in pairs],
        because=f"sparser: in every training fewer units are lit than {SPARSER:.0%} of those in any training without",
    )


def _gaps(found: Found) -> dict[str, Facts]:
    return {name: found[f"gaps-{name.replace(' ', '-')}"] for name in DRAWN}


def _of_gaps(found: Found) -> Table:
    rows = (Row(name, (Number(100 * facts["gaps"]), Number(facts["lit"]))) for name, facts in _gaps(found).items())
    return Table(
        "6. Digits in several parts",
        ("", "in parts, %", "lit pixels"),
        tuple(rows),
        "Pixels above 0.5; parts of at least 3 pixels that touch by sides or corners. 10,000 digits of one training each, "
        "DBM1 with r = 5, DBM2 with r = 3.",
    )


def _gaps_in_dbm1(found: Found) -> Verdict:
    share = {name: _gaps(found)[name]["gaps"] for name in ("DBM1-P", "test digits")}
    return verdict(
        "DBM1 often produced digits with undesirable gaps",
        "§ MNIST",
        "seen in a figure",
        ", ".join(f"{name} {100 * each:.1f} %" for name, each in share.items()),
        [share["DBM1-P"] > OFTEN * share["test digits"]],
        because=f"often: more than {OFTEN:g} times as often as in test digits",
    )


def _gaps_closed(found: Found) -> Verdict:
    share = {name: facts["gaps"] for name, facts in _gaps(found).items()}
    real = share["test digits"]
    excess = share["DBM1-P"] - real
    return verdict(
        "Connections inside layers resolve it: there are no obvious gaps in digits from DBM2-R and DBM2-P",
        "§ MNIST",
        "seen in a figure",
        ", ".join(f"{name} {100 * each:.1f} %" for name, each in share.items()),
        [share[name] - real <= CLOSED * excess for name in ("DBM2-R", "DBM2-P")],
        needs=[share["DBM1-P"] > OFTEN * real],
        because=f"closed: at most {CLOSED:.0%} is left of what DBM1-P has above test digits; if DBM1-P has gaps often",
    )


def _of_seconds(found: Found) -> Table:
    took = found["seconds"]
    shown = {rule: _over_epochs(each) for rule, each in took.items()}
    rows = (Row(rule.upper(), (each, Number(each.value / shown["vpf"].value))) for rule, each in shown.items())
    return Table(
        "7. Seconds an epoch: RBM(196), 50,000 digits, batches of 40",
        ("", "s an epoch", "times VPF's"),
        tuple(rows),
        "Mean of three epochs ± half their range, the one that compiles left out. PCD has 100 chains.",
    )


def _over_epochs(seconds: Sequence[float]) -> Number:
    found = over_seeds(seconds)
    return Number(found.value, found.spread, found.n, HALF_RANGE.replace("seeds", "epochs") if found.n > 1 else "")


def _longer(found: Found) -> Verdict:
    ours, theirs = found["seconds"]["vpf"], found["seconds"]["pcd-10"]
    ratio = np.mean(theirs) / np.mean(ours)
    return verdict(
        "PCD-10 takes a longer time in doing 10 Gibbs transitions during training",
        "§ Image Reconstruction with RBMs",
        "no number",
        f"{_over_epochs(theirs)} s an epoch against {_over_epochs(ours)}: {ratio:.1f} times as long",
        [clearly_less([LONGER * each for each in ours], theirs)],
        because=f"longer: each of its epochs takes more than {LONGER:g} times as long as each of VPF's",
    )


def _growths(found: Found) -> dict[str, Facts]:
    return {"decay 0.01": found["growth-decay"], "no decay": found["growth-no-decay"]}


def _of_growth(found: Found) -> Table:
    facts = _growths(found)
    return Table(
        "8. Couplings as training goes on: RBM(196), 50,000 digits, constant rate",
        ("after", *(f"{sign}, {name}" for sign in ("w²", "ρ") for name in facts)),
        tuple(
            Row(
                f"{epoch} epochs",
                tuple(over_seeds(each[what][k]) for what in ("w2", "rho") for each in facts.values()),
            )
            for k, epoch in enumerate(found["growth-decay"]["epochs"])
        ),
    )


def _bounded(found: Found) -> Verdict:
    held, free = (_grown(facts) for facts in _growths(found).values())
    before, after = found["growth-decay"]["epochs"][-2:]
    return verdict(
        "One could constrain the weights to a bounded space by adding a weight decay term to the objective",
        "§ VPF Objective Function",
        "no number",
        f"from epoch {before} to {after} w² changes by {100 * np.mean(held):+.0f} %, "
        f"without decay by {100 * np.mean(free):+.0f} %",
        [max(held) <= BOUND],
        needs=[min(free) > BOUND],
        because=f"bounded: it grows by no more than {BOUND:.0%} when epochs double; if it grows by more without decay",
    )


def _grown(facts: Facts) -> list[float]:
    """By which share w² grows between the last two epochs that were looked at, in each training."""
    return [after / before - 1 for before, after in zip(*facts["w2"][-2:], strict=True)]


def _cells(facts: Facts, *names: str) -> tuple[Number, ...]:
    return tuple(over_seeds(facts[name]) for name in names)
