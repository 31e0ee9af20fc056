"""Experiments: pieces that are kept, models that are trained once, records that are read as they were written."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

import oracles
from boltzflow.data.digits import digits
from boltzflow.errors import InputError
from boltzflow.experiments import NAMES, experiment
from boltzflow.experiments.record import (
    Number,
    Record,
    Row,
    Table,
    clearly_less,
    over_seeds,
    read_record,
    verdict,
    versions,
    write_record,
)
from boltzflow.experiments.study import Experiment, Piece, Recipe, Study, perform

RECIPE = Recipe("rbm", (64,), 30, seed=1)


@pytest.fixture
def study(tmp_path):
    return Study((0,), tmp_path / "work", tmp_path / "out", quick=True)


class Counted:
    """Pieces that note how often they were made; the second can be told to break off."""

    def __init__(self):
        self.made, self.breaks = [], False

    def make(self, name):
        if self.breaks and name == "second":
            raise KeyboardInterrupt
        self.made.append(name)
        return {"value": len(self.made)}

    def experiment(self, pictures=(), **made_of):
        def pieces(study):
            return [
                Piece("first", 3.0, lambda: self.make("first"), pictures, **made_of),
                Piece("second", 2.0, lambda: self.make("second")),
            ]

        def finish(study, found):
            judged = verdict("a claim", "Table 9", "1", "-2 and x-1", [True])
            return Record("counted", str(sorted(found.items())), verdicts=(judged,))

        return Experiment("counted", "", 1.0, 1, pieces, finish)


def test_a_run_that_was_stopped_goes_on_where_it_was(study):
    work = Counted()
    work.breaks = True
    with pytest.raises(KeyboardInterrupt):
        perform(work.experiment(), study)
    work.breaks, told = False, []
    record, minutes = perform(work.experiment(), study, lambda k, pieces, left: told.append((k, len(pieces), left)))
    assert work.made == ["first", "second"]
    assert told == [(0, 2, 2.0), (1, 2, 2.0)]
    assert record.claim == "[('first', {'value': 1}), ('second', {'value': 2})]"
    assert 0 <= minutes < 0.01
    assert perform(work.experiment(), study)[0] == record
    assert work.made == ["first", "second"]


def test_a_fresh_run_does_again_what_is_older_than_its_beginning(study):
    """And what it has done itself it takes as it is."""
    work = Counted()
    perform(work.experiment(models=(RECIPE,)), study)
    fresh = replace(study, since=time.time() + 1000)
    for path in [*study.work.rglob("*.json")]:
        os.utime(path, (fresh.since - 1, fresh.since - 1))
    before = study.folder(RECIPE).stat().st_ino
    assert study.trained(RECIPE)
    assert study.folder(RECIPE).stat().st_ino == before
    perform(work.experiment(models=(RECIPE,)), study)
    assert work.made == ["first", "second"]
    perform(work.experiment(models=(RECIPE,)), fresh)
    assert work.made == 2 * ["first", "second"]
    assert study.folder(RECIPE).stat().st_ino != before


def test_quick_runs_and_full_ones_keep_their_things_apart(study):
    work, full = Counted(), replace(study, quick=False)
    perform(work.experiment(), study)
    perform(work.experiment(), full)
    assert work.made == 2 * ["first", "second"]
    assert study.folder(RECIPE) != full.folder(RECIPE)


def test_a_piece_made_of_other_things_is_made_again(study):
    work = Counted()
    perform(work.experiment(), study)
    perform(work.experiment(depends=[0, 1]), study)
    perform(work.experiment(depends=[0, 1], models=(RECIPE,)), study)
    perform(work.experiment(depends=[0, 1], models=(replace(RECIPE, seed=2),)), study)
    perform(work.experiment(), study)
    assert work.made == ["first", "second", "first", "first", "first"]


def test_minutes_are_those_of_pieces_and_of_models_whenever_these_were_trained(study):
    trained = study.trained(RECIPE)
    _, minutes = perform(Counted().experiment(models=(RECIPE,)), study)
    assert trained.seconds / 60 <= minutes < trained.seconds / 60 + 0.01


def test_a_setting_that_is_written_out_though_it_is_the_default_gives_the_same_model():
    assert replace(RECIPE, settings={"decay": 0.01, "schedule": "linear"}).label == RECIPE.label


def test_a_piece_whose_picture_is_gone_is_made_again(study):
    work = Counted()
    study.out.mkdir()
    (study.out / "a.png").write_bytes(b"drawn")
    perform(work.experiment(("a.png",)), study)
    perform(work.experiment(("a.png",)), study)
    assert work.made == ["first", "second"]
    (study.out / "a.png").unlink()
    perform(work.experiment(("a.png",)), study)
    assert work.made == ["first", "second", "first"]


def test_pieces_of_another_version_are_made_again(study, monkeypatch):
    work = Counted()
    perform(work.experiment(), study)
    monkeypatch.setattr("boltzflow.experiments.study.__version__", "99")
    perform(work.experiment(), study)
    assert work.made == 2 * ["first", "second"]


def test_a_quick_run_judges_nothing(study):
    assert perform(Counted().experiment(), study)[0].verdicts[0].answer == "not judged"
    slow = replace(study, quick=False, work=study.work / "slow")
    assert perform(Counted().experiment(), slow)[0].verdicts[0].answer == "holds"


def test_a_model_is_trained_once_and_comes_back_the_same(study):
    first = study.trained(RECIPE)
    kept = sorted((study.work / "quick" / "models").iterdir())
    times = [path.stat().st_mtime_ns for path in kept]
    again = study.trained(replace(RECIPE))
    assert sorted((study.work / "quick" / "models").iterdir()) == kept
    assert [path.stat().st_mtime_ns for path in kept] == times
    oracles.close(first.model.couplings[0], again.model.couplings[0])
    assert (first.seconds, first.objective) == (again.seconds, again.objective)
    assert (first.epochs, len(first.objective)) == (2, 2)


CHANGES = {
    "seed": {"seed": 2},
    "rule": {"rule": "cd"},
    "options": {"options": {"completions": 2}},
    "settings": {"settings": {"decay": 0.0}},
    "epochs": {"epochs": 31},
    "width": {"hidden": (65,)},
    "data": {"data": "fashion-mnist"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_recipe_gives_it_another_name(change):
    assert replace(RECIPE, **CHANGES[change]).label != RECIPE.label
    assert replace(RECIPE).label == RECIPE.label


def test_the_digits_that_judge_are_neither_learned_from_nor_chosen_by(study):
    whole = digits()
    training, choosing, judging = study.training(), study.choosing(), study.judging()
    np.testing.assert_array_equal(training, whole.train[: len(training)])
    np.testing.assert_array_equal(choosing, whole.train[len(training) :][: len(choosing)])
    np.testing.assert_array_equal(judging, whole.test[: len(judging)])


def test_a_record_is_read_as_it_was_written(tmp_path):
    table = Table("t", ("a", "b", "c"), (Row("x", (Number(1.0, 0.5, 3), "told", None)),), "a note")
    judged = verdict("a claim", "Table 9", "1", "-2 and x-1, 3-5", [True, False], because="b", asked=False)
    record = Record("name", "claim", (table,), (judged,), ("a.png",), ("n",), "mnist", (0, 1), False, 1.5, versions())
    assert read_record(write_record(tmp_path, record)) == record
    assert [path.name for path in tmp_path.iterdir()] == ["name.json"]
    assert (judged.answer, judged.measured) == ("in part", "−2 and x-1, 3-5")


@pytest.mark.parametrize(
    ("parts", "needs", "answer"),
    [
        ([True, True], [], "holds"),
        ([True, False], [], "in part"),
        ([False, False], [], "does not hold"),
        ([True, True], [True, False], "does not hold"),
        ([True, False], [True], "in part"),
        ([False], [True], "does not hold"),
    ],
)
def test_a_claim_holds_where_all_of_it_does_and_all_is_met_that_it_needs(parts, needs, answer):
    assert verdict("", "", "", "", parts, needs=needs).answer == answer


@pytest.mark.parametrize(
    ("those", "others", "less"), [([1, 2], [3, 4], True), ([1, 3], [3, 4], False), ([1, 5], [3, 4], False)]
)
def test_one_training_is_clearly_less_where_no_seed_of_it_reaches_the_other(those, others, less):
    assert clearly_less(those, others) is less


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (over_seeds([1.0, 2.0, 4.0]), "2.33 ± 1.50"),
        (over_seeds([-1.25]), "−1.25"),
        (Number(-123.456, 2.0), "−123.5 ± 2.0"),
    ],
)
def test_numbers_are_told_with_their_spread(number, told):
    assert str(number) == told


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_an_experiment_of_that_name_that_opens_with_what_it_expects(name):
    found = experiment(name)
    assert found.name == name
    assert 0 < found.minutes <= 75
    opening = __import__(f"boltzflow.experiments.{name}", fromlist=["__doc__"]).__doc__
    assert "Expected" in opening
    assert "minute" in opening.lower() or "hour" in opening.lower()


SHARED = 15
"""Minutes that each of them counts and that `all` does not: machines of tables 1 and 2 in what comes after them."""


def test_all_of_them_take_less_than_four_hours():
    assert sum(experiment(name).minutes for name in NAMES) - SHARED < 240


def test_an_unknown_name_gets_the_list_and_the_nearest():
    with pytest.raises(InputError, match=r"unknown experiment 'tabel1': did you mean 'table1'\? known are all, claims"):
        experiment("tabel1")
