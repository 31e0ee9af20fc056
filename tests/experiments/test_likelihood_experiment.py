"""The likelihood experiment: what is said of made-up findings, and who chooses how long to train."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from boltzflow.experiments import likelihood
from boltzflow.experiments.likelihood import (
    AS_IN_TABLE_1,
    CONTENDERS,
    EXPERIMENT,
    NEAR,
    PICTURE,
    TOGETHER,
    TRUSTED,
    best_by,
    compared,
    finish,
    pieces,
    rank_correlation,
    tried,
    verdicts_of,
)
from boltzflow.experiments.study import Recipe, Study, perform
from boltzflow.experiments.table1 import CONTESTANTS

ALONE = -200.0
VPF, PCD = "RBM(196), VPF, decay", "RBM(196), PCD-1, no decay"
GOOD, FALLS, TOGETHERNESS, EXACT = range(4)


def run(log_p, error=30.0, seed=0, warnings=()):
    both = {"forward": log_p, "reverse": [log_p - 1, log_p - 2, log_p], "warning": None}
    return {
        "log p": log_p,
        "interval": [log_p - 1, log_p + 1],
        "effective": 50.0,
        "temperatures": 5000,
        "both": both,
        "warnings": list(warnings),
        "parzen": 150.0,
        "reconstruction": error,
        "seconds": 40.0,
        "epochs": 2,
        "seed": seed,
    }


def candidates(*log_p, warning=None):
    return [
        {"epochs": 10 * 2**k, "log p": each, "warning": warning, "reconstruction": 30.0 - k, "seconds": 4.0}
        for k, each in enumerate(log_p)
    ]


def machines(vpf=(-120.0,), pcd=(-90.0,), late=(-190.0,), errors=(31.0, 30.0, 29.0)):
    made = zip(("vpf", "pcd", "late"), (vpf, pcd, late), errors, strict=True)
    runs = {name: [run(each, error, seed) for seed, each in enumerate(values)] for name, values, error in made}
    return {
        VPF: {"tried": candidates(-121.0, -150.0), "runs": runs["vpf"]},
        PCD: {"tried": candidates(-100.0, -91.0), "runs": runs["pcd"]},
        AS_IN_TABLE_1: {"tried": [], "runs": runs["late"]},
    }


def exact(forward=0.2, reverse=-0.2):
    both = {"forward": -120.0 + forward, "reverse": [-120.0 + reverse, -121.0, -119.0], "warning": None}
    return {"exact": -110.0, "ais": -110.0 + forward, "exact of few": -120.0, "both": both}


def answers(facts, checks=None):
    return [each.answer for each in verdicts_of(facts, checks or [exact()], ALONE)]


@pytest.mark.parametrize(
    ("vpf", "answer"),
    [
        ([-90.0 - NEAR + 0.1, -90.0 - NEAR + 0.2], "holds"),
        ([-90.0 - NEAR - 0.1, -90.0 - NEAR - 0.2], "in part"),
        ([-80.0, -60.0], "holds"),
        ([ALONE + 0.1, ALONE + 50], "in part"),
        ([ALONE - 0.1, ALONE + 50], "does not hold"),
    ],
)
def test_a_density_is_good_above_independent_pixels_and_near_pcd(vpf, answer):
    assert answers(machines(vpf=vpf, pcd=[-91.0, -89.0]))[GOOD] == answer


@pytest.mark.parametrize(
    ("late", "errors", "answer"),
    [
        ([-190.0, -122.1], (31.0, 30.0, 29.0), "holds"),
        ([-190.0, -121.9], (31.0, 30.0, 29.0), "in part"),
        ([-190.0, -122.1], (31.0, 30.0, 31.0), "in part"),
        ([-100.0, -122.1], (31.0, 30.0, 32.0), "does not hold"),
    ],
)
def test_the_long_training_falls_where_each_of_its_seeds_is_below_each_of_the_chosen_ones(late, errors, answer):
    assert answers(machines(vpf=[-120.0, -122.0], late=late, errors=errors))[FALLS] == answer


def test_density_and_reconstruction_go_together_from_the_threshold_on():
    one_swapped = machines(vpf=(-120.0,), pcd=(-90.0,), late=(-190.0,), errors=(29.0, 30.0, 31.0))
    turned = machines(vpf=(-120.0,), pcd=(-90.0,), late=(-190.0,), errors=(31.0, 30.0, 29.0))
    assert rank_correlation([-120, -90, -190], [-29, -30, -31]) == pytest.approx(0.5) == TOGETHER
    assert rank_correlation([-120, -90, -190], [-31, -30, -29]) < TOGETHER
    assert answers(one_swapped)[TOGETHERNESS] == "holds"
    assert answers(turned)[TOGETHERNESS] == "does not hold"


@pytest.mark.parametrize("seed", range(3))
def test_the_correlation_of_ranks_against_scipy(seed):
    these, those = np.random.default_rng(seed).integers(0, 6, (2, 12)).astype(float).tolist()
    assert rank_correlation(these, those) == pytest.approx(spearmanr(these, those).statistic)


NEARLY, TOO_FAR = TRUSTED - 0.01, TRUSTED + 0.01


@pytest.mark.parametrize(
    ("checks", "answer"),
    [
        ([exact(NEARLY, -NEARLY)], "holds"),
        ([exact(-NEARLY, NEARLY), exact()], "holds"),
        ([exact(TOO_FAR, 0.0)], "in part"),
        ([exact(0.0, -TOO_FAR)], "in part"),
        ([exact(-TOO_FAR, TOO_FAR)], "does not hold"),
    ],
)
def test_estimates_come_near_within_a_nat_on_both_sides(checks, answer):
    assert answers(machines(), checks)[EXACT] == answer


def test_no_verdict_is_a_sentence_of_the_paper():
    assert not any(each.asked for each in verdicts_of(machines(), [exact()], ALONE))


@dataclass(frozen=True)
class Blind(Study):
    """Without digits that judge."""

    def judging(self, name="mnist", n_rows=10_000):
        raise AssertionError("test digits were looked at")


@pytest.fixture
def study(tmp_path):
    (tmp_path / "out").mkdir()
    return Study((0,), tmp_path / "work", tmp_path / "out", quick=True)


def test_candidates_are_tried_without_the_digits_that_judge(tmp_path):
    blind = Blind((0,), tmp_path / "work", tmp_path / "out", quick=True)
    found = tried(blind, replace(CONTENDERS[VPF], epochs=(1, 2)))
    assert [each["epochs"] for each in found] == [1, 2]
    assert tried(blind, CONTENDERS[AS_IN_TABLE_1]) == []


@pytest.mark.parametrize("chosen", [5, 20, 100])
def test_every_seed_is_judged_as_long_as_the_digits_that_choose_say(monkeypatch, tmp_path, chosen):
    seen = []

    def looked_at(study, recipe):
        return {"epochs": recipe.epochs, "log p": -abs(recipe.epochs - chosen) - 100.0}

    def judge(study, recipe):
        seen.append(recipe)
        return {"log p": abs(recipe.epochs - chosen)}

    monkeypatch.setattr(likelihood, "_tried", looked_at)
    monkeypatch.setattr(likelihood, "judged", judge)
    compared(Study((3, 4), tmp_path, tmp_path), CONTENDERS[VPF])
    assert seen == [replace(CONTENDERS[VPF].recipe, epochs=chosen, seed=seed) for seed in (3, 4)]


def test_where_test_digits_disagree_the_digits_that_choose_decide(study):
    facts = machines()
    facts["RBM(196), PCD-1, decay"] = {"tried": candidates(-92.0, -91.5), "runs": [run(-50.0)]}
    assert best_by("PCD-1", facts) == PCD
    facts["RBM(196), PCD-1, decay"]["tried"] = candidates(-92.0, -90.5)
    facts["RBM(196), PCD-1, decay"]["runs"] = [run(-300.0)]
    assert best_by("PCD-1", facts) == "RBM(196), PCD-1, decay"
    assert verdicts_of(facts, [exact()], ALONE)[GOOD].answer == "holds"


def made_up(facts):
    slugs = {name: piece.name for name, piece in zip((VPF, PCD, AS_IN_TABLE_1), pieces_of_machines(), strict=True)}
    return {"independent": {"log p": ALONE}, "RBM16-PCD-1": exact(), **{slugs[name]: facts[name] for name in facts}}


def pieces_of_machines():
    return pieces(Study((0,), Path(), Path(), quick=True))[2:]


def test_the_record_says_what_was_chosen_and_by_whom(study):
    facts = machines(vpf=(-120.0, -122.0))
    facts[VPF]["tried"] = candidates(-121.0, -150.0, warning="few chains")
    facts[AS_IN_TABLE_1]["runs"][0]["warnings"] = ["far apart"]
    record = finish(study, made_up(facts))
    table, choices, _ = record.tables
    assert [row.label for row in table.rows[1:]] == [
        f"{VPF}, epoch chosen by likelihood",
        f"{PCD}, epoch chosen by likelihood",
        AS_IN_TABLE_1,
    ]
    assert str(table.rows[1].cells[0]) == "−121.0 ± 1.0"
    assert [(row.label, row.cells[0], row.cells[-1]) for row in choices.rows] == [
        (VPF, "10 / 20", "10 epochs"),
        (PCD, "10 / 20", "20 epochs"),
    ]
    assert record.notes[0] == f"{AS_IN_TABLE_1}, seed 0: far apart"
    assert record.notes[1] == f"{VPF}, 10 epochs, on the digits that choose: few chains"
    assert (study.out / PICTURE).stat().st_size > 10_000


def test_pieces_list_what_they_choose_from(tmp_path):
    made = {piece.name: piece for piece in pieces(Study((0, 1, 2), tmp_path, tmp_path))}
    assert [recipe.epochs for recipe in made["RBM196-VPF-decay"].models] == [5, 10, 20, 30, 60, 100]
    assert {recipe.seed for recipe in made["RBM196-VPF-decay"].models} == {0}
    late = made["RBM196-VPF-decay-100-epochs-as-in-table-1"]
    assert [(recipe.epochs, recipe.seed) for recipe in late.models] == [(100, 0), (100, 1), (100, 2)]
    assert all(recipe.hidden == (500,) for recipe in made["RBM500-VPF-decay"].models)
    assert made["RBM500-VPF-decay"].depends == [0]
    assert sum(piece.seconds for piece in made.values()) < 60 * EXPERIMENT.minutes * 1.05


@pytest.mark.parametrize("rule", ["vpf", "cd-1", "pcd-1"])
def test_the_longest_trainings_are_those_of_table_1(rule):
    label = {"vpf": "VPF, RBM(196)"}.get(rule, f"{rule.upper()}, decay")
    ours = CONTENDERS[f"RBM(196), {rule.upper()}, decay"].candidates(0)[-1]
    assert isinstance(ours, Recipe)
    assert ours.label == CONTESTANTS[label].recipe(0).label


def test_a_quick_run_leaves_the_whole_record(study):
    record, _ = perform(EXPERIMENT, study)
    assert [len(table.rows) for table in record.tables] == [4, 2, 1]
    assert {each.answer for each in record.verdicts} == {"not judged"}
