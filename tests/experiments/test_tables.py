"""What made-up measurements come to in tables 1 and 2: every answer on both sides of its threshold."""

from pathlib import Path

import numpy as np
import pytest

from boltzflow.experiments import table1, table2
from boltzflow.experiments.study import Study

STUDY = Study((0, 1), Path("work"), Path("out"))
SIDES = 4


# Table 1.


def facts_of_table1(**levels):
    """Every error of a machine at one level (some seeds a little above), unless `levels` says otherwise for (name, protocol)."""
    usual = {"VPF, RBM(196)": 20.0, "VPF, BM(196)": 20.0}
    fills = {"black": [40.0] * SIDES, "median": [30.0] * SIDES, "floor": [8.0] * SIDES}
    found = {"trivial": {"grey": fills, "few": fills, "binary": fills}}
    found["pace"] = dict.fromkeys(table1.CONTESTANTS, 0.5)
    for name in table1.CONTESTANTS:
        for seed in STUDY.seeds:
            protocols = ("paper", "paper, few", "paper, long", "fair", "fair, binary", "fair, 2", "fair, 200", "best")
            level = usual.get(name, 25.0)
            runs = {protocol: [level + 0.1 * seed] * SIDES for protocol in protocols}
            found[f"{table1._slug(name)}-seed{seed}"] = runs
    for name, protocol, values in levels.pop("changed", []):
        for seed in STUDY.seeds:
            found[f"{table1._slug(name)}-seed{seed}"][protocol] = [value + 0.1 * seed for value in values]
    return found


def answers_of_table1(*changed):
    found = table1.finish(STUDY, facts_of_table1(changed=changed))
    return {each.claim: each.answer for each in found.verdicts}


VPF, BM = "VPF, RBM(196)", "VPF, BM(196)"
TABLE1 = {
    "at the paper's figures": ((VPF, "paper", [34.0, 49.0, 38.0, 46.0]), "RBM(196) trained by VPF", "holds"),
    "one side above them": ((VPF, "paper", [35.0, 49.0, 38.0, 46.0]), "RBM(196) trained by VPF", "in part"),
    "all sides above them": ((VPF, "paper", [60.0] * 4), "RBM(196) trained by VPF", "does not hold"),
    "the lateral machine": ((BM, "paper", [60.0] * 4), "reconstructs with errors 34.33", "does not hold"),
    "best on each side": ((VPF, "paper, few", [24.7] * 4), "after 2 transitions than", "holds"),
    "within the seeds' range": ((VPF, "paper, few", [24.95] * 4), "after 2 transitions than", "does not hold"),
    "one rule better on one side": (
        ("PCD-10, decay", "paper, long", [30.0, 30.0, 30.0, 15.0]),
        "after 2 transitions than",
        "in part",
    ),
    "a rule with decay better": (("CD-1, decay", "fair", [15.0] * 4), "CD and PCD with VPF's decay", "does not hold"),
    "it says nothing of those without": (("CD-1, decay", "fair", [15.0] * 4), "CD and PCD without decay", "holds"),
    "a rule without decay better": (
        ("CD-1, no decay", "fair", [15.0, 30.0, 30.0, 30.0]),
        "CD and PCD without decay",
        "in part",
    ),
    "the authors' way better": (
        ("PCD-1, as the authors", "fair", [15.0] * 4),
        "as the authors trained them",
        "does not hold",
    ),
    "above the median": ((VPF, "fair", [31.0] * 4), "better than the per-pixel median", "does not hold"),
    "above the median for bits": ((VPF, "fair, binary", [20.0, 20.0, 20.0, 31.0]), "bits as the target", "in part"),
    "best protocol, both": ((VPF, "best", [26.0, 32.0, 19.0, 25.0]), "With the median over chains", "holds"),
    "best protocol, one": ((VPF, "best", [27.5, 32.0, 21.0, 27.5]), "With the median over chains", "in part"),
}


@pytest.mark.parametrize("name", TABLE1)
def test_table_1_judges_by_its_rules(name):
    change, sentence, answer = TABLE1[name]
    changes = [change]
    if sentence.startswith("With the median"):
        changes += [(other, "best", [40.0] * 4) for other in table1.CONTESTANTS if other != VPF]
    (found,) = [each for claim, each in answers_of_table1(*changes).items() if sentence in claim]
    assert found == answer


def test_table_1_shows_each_protocol_with_the_fills_of_the_same_digits():
    found = facts_of_table1()
    found["trivial"]["few"] = {name: [7.0] * SIDES for name in ("black", "median", "floor")}
    tables = table1.finish(STUDY, found).tables
    few = [table for table in tables if "first 1,000" in table.title]
    assert len(few) == 2
    for table in few:
        (row,) = [row for row in table.rows if row.label == "all black"]
        assert [cell.value for cell in row.cells] == [7.0] * SIDES
    (paper,) = [row for row in tables[0].rows if row.label == "paper: VPF, RBM(196)"]
    assert [cell.value for cell in paper.cells] == [32.9, 46.9, 36.7, 44.1]


# Table 2.


def facts_of_table2(**scores):
    usual = {"RBM(196)": 80.0, "DBM1-R": 185.0, "DBM1-P": 212.0, "DBM2-R": 223.0, "DBM2-P": 223.0, "blur": 200.0}
    usual |= scores

    def scored(mean):
        return {"means": [mean - 1, mean + 1], "error": 2.0, "sigma": 0.2, "at_sigma": mean + 5}

    real = {
        label: scored(230.0)
        for label in ("training digits", "all 50,000 training digits", "training digits, binarised")
    }
    real["means of 30 neighbours among binarised training digits"] = scored(usual["blur"])
    found = {table2._slug(name): scored(usual[name]) for name in table2.PAPER}
    tried = {f"tried-{k}": {str(r): [1.0, -2.0] for r in table2.TRIED_STEPS} for k in range(len(table2.VARIANTS))}
    gibbs = {**scored(-300.0), "ink": 0.05, "real ink": 0.13}
    return {"real": real, **found, "RBM196-gibbs": gibbs, **tried}


TABLE2 = {
    "all": ({}, dict.fromkeys(["DBM1-R scores", "DBM2-P scores", "well above", "above DBM1", "no bottom-up"], "holds")),
    "at the lower end": ({"DBM2-P": 221.6}, {"DBM2-P scores": "holds"}),
    "below it": ({"DBM2-P": 221.5}, {"DBM2-P scores": "in part"}),
    "below 95 %": ({"DBM2-P": 210.0}, {"DBM2-P scores": "does not hold"}),
    "an RBM within its ±": ({"RBM(196)": 72.2}, {"RBM(196) scores": "holds"}),
    "an RBM below its ±": ({"RBM(196)": 72.0}, {"RBM(196) scores": "does not hold"}),
    "deep not far above": ({"DBM1-R": 129.0}, {"well above": "in part"}),
    "lateral no better": ({"DBM1-P": 222.0}, {"above DBM1": "in part"}),
    "starts apart": ({"DBM2-R": 217.9}, {"no bottom-up": "does not hold"}),
    "starts apart without as little": ({"DBM1-R": 208.0}, {"no bottom-up": "does not hold"}),
    "blur ahead": ({"blur": 287.0}, {"ranks pictures rightly": "does not hold"}),
    "blur behind": ({"blur": 222.0}, {"ranks pictures rightly": "holds"}),
}


@pytest.mark.parametrize("name", TABLE2)
def test_table_2_judges_by_its_rules(name):
    scores, expected = TABLE2[name]
    found = {each.claim: each.answer for each in table2.finish(STUDY, facts_of_table2(**scores)).verdicts}
    for words, answer in expected.items():
        assert [each for claim, each in found.items() if words in claim] == [answer]


def test_table_2_says_what_its_spread_is():
    table = table2.finish(STUDY, facts_of_table2()).tables[0]
    (row,) = [row for row in table.rows if row.label == "DBM2-P"]
    paper, score, error, sigma, at = row.cells
    assert (paper, sigma) == ("222 ± 0.4", "0.2")
    assert (score.value, score.kind, score.n) == (223.0, "standard deviation over sets", 2)
    np.testing.assert_allclose(score.spread, np.sqrt(2))
    assert (error.kind, at.value) == ("standard error over digits", 228.0)
