"""Table 2: Parzen scores of digits generated from the top down.

The paper claims 78 ± 5.9 for RBM(196), 183 and 210 for a deep machine without connections inside layers started from coin flips
(DBM1-R) and from mean activations (DBM1-P), 222 and 222 with them (DBM2-R, DBM2-P), close to GANs at 225; all by a Gaussian of
σ = 0.2 on each of 10,000 generated pictures, which are pixel probabilities, scored on the grey test digits.

Expected: RBM(196) about 80, DBM1 about 189 / 205, DBM2 about 210 / 211: some ten below the paper where there are connections
inside layers, at or near it elsewhere. Real training digits score 231, means of a few neighbours close to 300: the score rewards
blur, and no claim should rest on it.

Fifty minutes on two cores; one training each, as deep machines take minutes.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float

from boltzflow.experiments.record import Number, Record, Row, Table, Verdict, verdict
from boltzflow.experiments.study import Experiment, Facts, Piece, Recipe, Rows, Study
from boltzflow.machine.stack import Model
from boltzflow.measure.parzen import parzen_log_density, parzen_score
from boltzflow.sampling.chains import sample
from boltzflow.sampling.generation import generate

SIGMA = 0.2
SIGMAS = (0.14, 0.16, 0.18, 0.2, 0.22, 0.25, 0.3, 0.4, 0.6)
N_CENTRES = 10_000
N_SETS = 10
NEIGHBOURS = 30

PAPER = {"RBM(196)": (78, 5.9), "DBM1-R": (183, 1.1), "DBM1-P": (210, 0.8), "DBM2-R": (222, 0.5), "DBM2-P": (222, 0.4)}

AUTHORS = {"learning_rate": 1e-3, "schedule": "constant", "shuffle": False, "bias_start": "keep"}
"""As the paper's authors trained: a constant rate, the digits in their order, all biases from zero."""

RBM = Recipe("rbm", (196,), 100, settings=AUTHORS)
DBM1 = Recipe("stack", (196, 196, 64), 150, settings=AUTHORS)
DBM2 = Recipe("stack", (196, 196, 64), 150, options={"order": "authors"}, settings=AUTHORS, lateral=True)
STEPS = {"RBM(196)": 5, "DBM1": 5, "DBM2": 3}
"""r of Algorithm 2, as the authors ran it."""


def _varied(base: Recipe, **changes: object) -> Recipe:
    settings = {**base.settings, **changes}
    return Recipe(base.kind, base.hidden, 100, base.seed, base.rule, base.options, settings, base.lateral)


_SHORT = _varied(DBM2)
VARIANTS: Mapping[str, Recipe] = {
    "DBM2, 100 epochs": _SHORT,
    "… digits shuffled": _varied(DBM2, shuffle=True),
    "… decay 0.005": _varied(DBM2, decay=0.005),
    "… decay 0.02": _varied(DBM2, decay=0.02),
    "… visible biases at the log-odds, hidden ones at −1": _varied(DBM2, bias_start="log-odds"),
    "… Algorithm 1's order": Recipe("stack", (196, 196, 64), 100, settings=AUTHORS, lateral=True),
    "… 3 sweeps in the E-step": Recipe(
        "stack", (196, 196, 64), 100, options={"order": "authors", "sweeps": 3}, settings=AUTHORS, lateral=True
    ),
    "DBM2, 150 epochs": DBM2,
    "DBM2, 200 epochs": Recipe("stack", (196, 196, 64), 200, options=DBM2.options, settings=AUTHORS, lateral=True),
    "DBM1, 150 epochs": DBM1,
    "… decay 0.02, 100 epochs": _varied(DBM1, decay=0.02),
    "RBM(196), 100 epochs": RBM,
    "… this package's defaults": Recipe("rbm", (196,), 100),
}
"""What was tried, judged on digits that nobody learned from."""

TRIED_STEPS = (1, 3, 5, 10)


def machine_of(name: str) -> tuple[str, Recipe, str]:
    """Which machine a name of the table means, and where its pictures start: DBM1-R from coin flips …"""
    machine, _, prior = name.partition("-")
    return machine, {"RBM(196)": RBM, "DBM1": DBM1, "DBM2": DBM2}[machine], prior or "P"


def generated(study: Study, name: str, n_sets: int) -> list[Rows]:
    """Sets of pixel probabilities from one model by Algorithm 2."""
    machine, recipe, prior = machine_of(name)
    model = study.trained(recipe).model
    return [_by_algorithm_2(study, model, prior, STEPS[machine], seed) for seed in range(n_sets)]


def _by_algorithm_2(study: Study, model: Model, prior: str, r: int, seed: int = 0) -> Rows:
    n = study.size(N_CENTRES, 200)
    if prior == "P":
        return generate(model, n, prior="mean", data=study.training(), r=r, seed=seed)
    return generate(model, n, prior="uniform", r=r, seed=seed)


def scored(study: Study, sets: Sequence[Rows]) -> Facts:
    """With the paper's σ: the mean of each set, and the standard error over pictures; then with a σ chosen on other digits."""
    test, choosing = study.judging(), study.choosing()
    found = [parzen_log_density(centres, test, SIGMA) for centres in sets]
    means = [float(each.mean()) for each in found]
    by_sigma = {sigma: parzen_score(sets[0], choosing, sigma).mean for sigma in SIGMAS}
    best = max(by_sigma, key=lambda sigma: by_sigma[sigma])
    return {
        "means": means,
        "error": float(found[0].std(ddof=1) / np.sqrt(len(test))),
        "sigma": best,
        "at_sigma": parzen_score(sets[0], test, best).mean,
    }


def of_model(study: Study, name: str) -> Facts:
    """Ten sets of generated digits, scored."""
    return scored(study, generated(study, name, study.size(N_SETS, 2)))


def of_rbm_by_gibbs(study: Study) -> Facts:
    """The RBM by sweeps from noise, as its law has it: three sets, each with chains of its own."""
    model = study.trained(RBM).model
    n, n_sweeps = study.size(N_CENTRES, 200), study.size(1000, 5)
    sets = [sample(model, n, burn_in=n_sweeps, probabilities=True, seed=seed) for seed in range(study.size(3, 2))]
    return {**scored(study, sets), "ink": float(sets[0].mean()), "real ink": float(study.judging().mean())}


def of_real_digits(study: Study) -> Facts:
    """Pictures that no model made, as centres."""
    training = study.training()
    n = study.size(N_CENTRES, 200)
    bits = (training > 0.5).astype(np.float32)
    return {
        "training digits": scored(study, [training[:n]]),
        "all 50,000 training digits": scored(study, [training]),
        "training digits, binarised": scored(study, [bits[:n]]),
        "means of 30 neighbours among binarised training digits": scored(study, [neighbour_means(bits, n, NEIGHBOURS)]),
    }


def neighbour_means(bits: Rows, n: int, n_neighbours: int, n_rows: int = 1000) -> Float[np.ndarray, "centres pixels"]:
    """For each of the first n rows of bits the mean of those nearest to it, itself among them."""
    lit = bits.sum(axis=1)
    means = []
    for first in range(0, n, n_rows):
        distances = lit[None, :] - 2 * bits[first : min(first + n_rows, n)] @ bits.T
        nearest = np.argpartition(distances, n_neighbours - 1, axis=1)[:, :n_neighbours]
        means.append(np.stack([bits[rows].mean(axis=0) for rows in nearest]))
    return np.concatenate(means)


def tried(study: Study, name: str) -> Facts:
    """One way to train, with several r, from both starts, scored on digits that nobody learned from."""
    model = study.trained(VARIANTS[name]).model
    choosing = study.choosing()
    return {
        str(r): [parzen_score(_by_algorithm_2(study, model, prior, r), choosing).mean for prior in ("P", "R")]
        for r in TRIED_STEPS
    }


def _variants(study: Study) -> Mapping[str, Recipe]:
    """All; a quick run does with the two models of the table."""
    return {name: recipe for name, recipe in VARIANTS.items() if not study.quick or recipe in (DBM1, DBM2)}


def pieces(study: Study) -> Sequence[Piece]:
    """Real digits, then models, then all that was tried."""
    training = {"RBM(196)": 45.0, "DBM1-R": 90.0, "DBM2-R": 165.0}
    variants = _variants(study)
    return [
        Piece("real", 75, partial(of_real_digits, study)),
        *(
            Piece(
                _slug(name),
                30 + training.get(name, 0.0),
                partial(of_model, study, name),
                models=(machine_of(name)[1],),
            )
            for name in PAPER
        ),
        Piece("RBM196-gibbs", 240, partial(of_rbm_by_gibbs, study), models=(RBM,)),
        *(
            Piece(f"tried-{k}", 20 + _seconds(recipe), partial(tried, study, name), models=(recipe,), depends=name)
            for k, (name, recipe) in enumerate(variants.items())
        ),
    ]


def _seconds(recipe: Recipe) -> float:
    """Of a training on two cores, none where the table has done it."""
    if recipe in (RBM, DBM1, DBM2):
        return 0.0
    return recipe.epochs * (0.45 if recipe.kind == "rbm" else 1.1 if recipe.lateral else 0.6)


def _slug(name: str) -> str:
    return name.replace("(", "").replace(")", "")


def finish(study: Study, found: Mapping[str, Facts]) -> Record:
    """The table, what was tried, and the verdicts."""
    models = {name: found[_slug(name)] for name in PAPER}
    gibbs = found["RBM196-gibbs"]
    rows = [
        *(Row(label, ("", *_cells(facts))) for label, facts in found["real"].items()),
        *(Row(name, (f"{PAPER[name][0]} ± {PAPER[name][1]}", *_cells(facts))) for name, facts in models.items()),
        Row("RBM(196), 1,000 sweeps from noise", ("", *_cells(gibbs))),
    ]
    table = Table(
        "Parzen score of the grey test digits, 10,000 centres",
        ("centres", "paper", "σ = 0.2", "s.e. over digits", "validated σ", "at that σ"),
        tuple(rows),
        "± is the standard deviation over ten sets of pictures from one model (sweeps from noise: three), as in the paper; the "
        "standard error is over test digits. One training each, with the authors' settings and r; 100 epochs for the RBM and "
        "150 for deep machines, where the authors had 200, 200 and 500. All 50,000 digits are five times as many centres as "
        f"the others have. σ was chosen among {', '.join(f'{sigma:g}' for sigma in SIGMAS)} on training digits 50,001–60,000. "
        "The score rewards blur: a mean of neighbours lies nearer to a new digit than a sharp digit does. The paper "
        "cites 32 (DBM), 138 (DBN), 121 (stacked CAE), 214 (deep GSN), 225 (GAN) and 236 (Bengio et al. 2015) from elsewhere.",
    )
    attempts = Table(
        "What was tried, on training digits 50,001–60,000: P / R",
        ("training", *(f"r = {r}" for r in TRIED_STEPS)),
        tuple(Row(name, _pairs(found[f"tried-{k}"])) for k, name in enumerate(_variants(study))),
        "P starts from mean activations, R from coin flips.",
    )
    notes = _notes(found["real"]["training digits"], gibbs)
    return Record("table2", EXPERIMENT.claim, (table, attempts), tuple(_verdicts(models, found["real"])), notes=notes)


def _cells(facts: Facts) -> tuple[Number | str, ...]:
    means = facts["means"]
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else None
    return (
        Number(float(np.mean(means)), spread, len(means), "standard deviation over sets" if spread else ""),
        Number(facts["error"], kind="standard error over digits"),
        f"{facts['sigma']:g}",
        Number(facts["at_sigma"]),
    )


def _pairs(facts: Facts) -> tuple[str, ...]:
    return tuple(f"{p:.0f} / {r:.0f}".replace("-", "−") for p, r in (facts[str(steps)] for steps in TRIED_STEPS))


def _notes(real: Facts, gibbs: Facts) -> tuple[str, ...]:
    return (
        f"The paper's reference of 239.88 ± 2.3 for training digits is cited from elsewhere. Here 10,000 training digits score "
        f"{np.mean(real['means']):.1f} at σ = 0.2 and {real['at_sigma']:.1f} at the validated σ = {real['sigma']:g}: "
        "a σ chosen for training digits would explain the reference; 0.2 does not.",
        f"After 1,000 sweeps from noise the RBM's pictures have a mean ink of {gibbs['ink']:.3f}; test digits have "
        f"{gibbs['real ink']:.3f}. Algorithm 2 stops after r steps from a chosen start, far from the machine's own law.",
    )


def _verdicts(models: Mapping[str, Facts], real: Mapping[str, Facts]) -> list[Verdict]:
    score = {name: float(np.mean(facts["means"])) for name, facts in models.items()}
    blur = float(np.mean(real["means of 30 neighbours among binarised training digits"]["means"]))
    return [
        *(_reached(name, score[name]) for name in PAPER),
        verdict(
            "The deep machines are well above RBM(196)",
            "§ MNIST",
            "78 against 183 and more",
            f"{score['RBM(196)']:.1f} against {', '.join(f'{score[name]:.1f}' for name in PAPER if name[0] == 'D')}",
            [score[name] > score["RBM(196)"] + 50 for name in PAPER if name[0] == "D"],
            because="by 50 or more, each of the four",
        ),
        verdict(
            "Connections inside layers make better pictures: DBM2 above DBM1",
            "§ MNIST",
            "222 / 222 above 183 / 210",
            f"R {score['DBM2-R']:.1f} against {score['DBM1-R']:.1f}, P {score['DBM2-P']:.1f} against {score['DBM1-P']:.1f}",
            [score["DBM2-R"] > score["DBM1-R"] + 2, score["DBM2-P"] > score["DBM1-P"] + 2],
            because="by 2 or more, from each start; sets of pictures differ by about 1, trainings by more",
        ),
        verdict(
            "With them no bottom-up signal is needed: R is as good as P",
            "§ MNIST",
            "DBM2 222 and 222, DBM1 183 and 210",
            f"DBM2 {score['DBM2-R']:.1f} and {score['DBM2-P']:.1f}, DBM1 {score['DBM1-R']:.1f} and {score['DBM1-P']:.1f}",
            [abs(score["DBM2-R"] - score["DBM2-P"]) < 5],
            needs=[score["DBM1-P"] - score["DBM1-R"] > 5],
            because="within 5 with connections, where P is ahead by more than 5 without",
        ),
        verdict(
            "The score ranks pictures rightly: no means of training digits beat the best model",
            "the measure itself",
            "–",
            f"means of neighbours {blur:.1f}; best model {max(score.values()):.1f}",
            [max(score.values()) > blur],
            because="best model above the means of 30 neighbours",
            asked=False,
        ),
    ]


def _reached(name: str, score: float) -> Verdict:
    paper, spread = PAPER[name]
    return verdict(
        f"{name} scores {paper} ± {spread}",
        "Table 2",
        f"{paper} ± {spread}",
        f"{score:.1f}",
        [score >= paper - spread, score >= min(0.95 * paper, paper - spread)],
        because="holds: above the paper's lower end; in part: within 5 %",
    )


EXPERIMENT = Experiment(
    "table2",
    "Deep machines trained by VPF generate digits with Parzen scores near those of GANs.",
    minutes=50,
    n_seeds=1,
    pieces=pieces,
    finish=finish,
    seeded=False,
)
