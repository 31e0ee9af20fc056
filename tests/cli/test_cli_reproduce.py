"""`boltzflow reproduce`, quickly, on the built-in digits; stopped and gone on with; and done wrong."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from boltzflow import cli, experiments
from boltzflow.experiments import NAMES, study
from boltzflow.experiments.record import Number, Record, Row, Table, read_record
from boltzflow.experiments.study import Experiment, Piece

PROGRAM = [
    sys.executable,
    "-c",
    "import signal, sys; from boltzflow.cli import main; sys.argv[0] = 'boltzflow';"
    "signal.signal(signal.SIGINT, signal.default_int_handler); main()",
]


@pytest.fixture
def trials(monkeypatch):
    """Two experiments of three pieces that take no time and no data: what was done, and what is to happen where."""
    done, happen = [], {}

    def made_by(name):
        def make(piece):
            done.append(f"{name} {piece}")
            happen.get(piece, lambda: None)()
            return {"value": piece}

        return make

    def trial(name, *, seeded):
        make = made_by(name)

        def pieces(of):
            return [Piece(f"p{k}", 60.0, lambda k=k: make(k), depends=list(of.seeds)) for k in range(3)]

        def finish(of, found):
            rows = tuple(Row(each, (Number(facts["value"]),)) for each, facts in found.items())
            return Record(name, f"{name} is a trial.", (Table("t", ("piece", "value"), rows),))

        return Experiment(name, "", 1.0, 3, pieces, finish, data=(), seeded=seeded)

    known = {"many": trial("many", seeded=True), "once": trial("once", seeded=False)}
    monkeypatch.setattr(cli, "_leave", sys.exit)
    monkeypatch.setattr(experiments, "NAMES", tuple(known))
    monkeypatch.setattr(experiments, "experiment", known.__getitem__)
    return done, happen


def interrupt():
    raise KeyboardInterrupt


def test_all_experiments_run_quickly_and_leave_records_and_pictures(call, tmp_path):
    began = time.perf_counter()
    code, out, err = call("reproduce", "all", "--quick", "--json")
    assert time.perf_counter() - began < 180
    assert code == 0
    assert all(f"{name}: piece 1 of " in err for name in NAMES)
    found = json.loads(out)
    results = tmp_path / found["out"]
    assert [each["name"] for each in found["experiments"]] == list(NAMES)
    for each in found["experiments"]:
        record = read_record(results / f"{each['name']}.json")
        assert record.quick
        assert record.claim == each["claim"]
        assert record.tables
        assert all((results / picture).stat().st_size > 5000 for picture in record.pictures)
        assert {judged.answer for judged in record.verdicts} <= {"not judged"}
    assert not (tmp_path / "experiments").exists()
    assert [path.name for path in (tmp_path / "runs" / "reproduce").iterdir()] == ["quick"]


def test_words_for_a_person_name_the_paper_the_measurement_and_the_verdict(call, tmp_path):
    code, out, err = call("reproduce", "filters", "--quick", "--out", "here")
    assert code == 0
    for part in ("filters: VPF learns", "RBM(400)", "paper", "measured", "verdict   not judged", "here/filters.png"):
        assert part in out
    assert "filters: piece 1 of 4, rbm100\n" in err
    assert (tmp_path / "here" / "filters.json").exists()


def test_each_record_is_reported_as_soon_as_it_is_done(call, trials, capfd):
    _, happen = trials
    told = []
    happen[0] = lambda: told.append(capfd.readouterr().out)
    code, out, _ = call("reproduce", "all", "--quick")
    assert code == 0
    assert (told[0], "many is a trial." in told[1]) == ("", True)
    assert "once is a trial." in out
    assert "many is a trial." not in out


def test_json_on_stdout_and_progress_on_stderr(call, trials):
    code, out, err = call("reproduce", "all", "--json")
    assert (code, [each["name"] for each in json.loads(out)["experiments"]]) == (0, ["many", "once"])
    left = ("about 3 min left", "about 60 s left", "about 15 s left")
    assert err.splitlines() == [
        f"{name}: piece {k + 1} of 3, p{k}; {left[k]}" for name in ("many", "once") for k in range(3)
    ]
    assert "many: piece 1 of 3, p0; kept from an earlier run" in call("reproduce", "many")[2]


@pytest.mark.parametrize(
    ("words", "many", "once"),
    [((), [0, 1, 2], [0]), (("--quick",), [0], [0]), (("--seeds", 2), [0, 1], [0])],
)
def test_a_record_names_the_seeds_that_were_really_used(call, trials, words, many, once):
    code, out, err = call("reproduce", "all", "--json", *words)
    assert (code, [each["seeds"] for each in json.loads(out)["experiments"]]) == (0, [many, once])
    note = "note: --seeds changes nothing in once: each model is trained once there.\n"
    assert err.startswith(note) == ("--seeds" in words)


def test_a_stopped_run_says_what_is_kept_and_goes_on(call, trials):
    done, happen = trials
    happen[1] = interrupt
    code, out, err = call("reproduce", "many")
    assert (code, out) == (130, "")
    assert err.endswith("boltzflow: stopped; 1 of 3 pieces of many are kept, and the same command goes on.\n")
    happen.clear()
    done.clear()
    assert call("reproduce", "many")[0] == 0
    assert done == ["many 1", "many 2"]


def test_fresh_does_again_what_is_kept(call, trials):
    done, happen = trials
    assert call("reproduce", "many")[0] == 0
    time.sleep(0.05)
    happen[2] = interrupt
    code, _, err = call("reproduce", "many", "--fresh")
    assert code == 130
    assert err.endswith("stopped; 2 of 3 pieces of many are kept, and the same command without --fresh goes on.\n")
    assert done == 2 * ["many 0", "many 1", "many 2"]


def test_quick_runs_begin_anew_and_never_touch_what_full_runs_keep(call, trials):
    done, happen = trials
    assert call("reproduce", "many")[0] == 0
    for _ in range(2):
        time.sleep(0.05)
        assert call("reproduce", "many", "--quick")[0] == 0
    assert done == 3 * ["many 0", "many 1", "many 2"]
    assert call("reproduce", "many")[0] == 0
    assert len(done) == 9
    happen[1] = interrupt
    code, _, err = call("reproduce", "many", "--quick")
    assert (code, err.splitlines()[-1]) == (130, "boltzflow: stopped in many; quick runs begin anew.")
    code, _, err = call("reproduce", "many", "--quick", "--out", "experiments/results")
    assert (code, err) == (
        2,
        "boltzflow: experiments/results/many.json is the record of a full run; choose another --out for a quick one.\n",
    )


def test_a_run_stopped_before_its_first_piece_says_so(call, trials, monkeypatch):
    monkeypatch.setattr(study, "perform", lambda *_: interrupt())
    assert call("reproduce", "many")[::2] == (130, "boltzflow: stopped before many began.\n")


@pytest.mark.parametrize(
    ("words", "sign", "sentence"),
    [
        (("reproduce", "table1", "--quick"), "table1: piece 1 of", "stopped in table1; quick runs begin anew."),
        (("train", "--epochs", "1000000", "--hidden", "8"), "epoch", "stopped; nothing was saved."),
    ],
)
def test_ctrl_c_is_answered_in_one_sentence(tmp_path, words, sign, sentence):
    """FORCE_COLOR makes the progress bar of `train` draw, so that one sees when it has begun."""
    with subprocess.Popen(
        [*PROGRAM, *words],
        cwd=tmp_path,
        env={**os.environ, "FORCE_COLOR": "1"} if "train" in words else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stderr is not None
        seen = ""
        while sign not in seen and run.poll() is None:
            seen += run.stderr.read(1)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert out == ""
    assert err.endswith(f"boltzflow: {sentence}\n")
    assert "Traceback" not in seen + err
    assert not list(tmp_path.glob("runs/digits*"))


def test_a_disk_that_refuses_is_answered_in_one_sentence(call, trials, tmp_path):
    _, happen = trials
    happen[1] = lambda: (tmp_path / "taken").mkdir() or (tmp_path / "taken").write_text("")
    code, out, err = call("reproduce", "many")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == f"boltzflow: cannot read or write {tmp_path / 'taken'}: Is a directory."


WRONG = {
    "an unknown name": (("tabel2",), "unknown experiment 'tabel2': did you mean 'table2'? known are all, claims"),
    "no data": (("table1",), "the four files of mnist were not found: no folder was named"),
    "no such folder": (
        ("fashion", "--data-dir", "gone"),
        "the four files of fashion-mnist were not found: looked in gone",
    ),
    "no seeds": (("table1", "--quick", "--seeds", "0"), "seeds must be a whole number, 1 or more; got 0"),
    "a file for results": (
        ("table1", "--quick", "--out", "taken"),
        "taken is a file; results and work are kept in folders",
    ),
    "results below a file": (("table1", "--quick", "--out", "taken/x"), "cannot write to taken/x: Not a directory"),
    "work below a file": (("table1", "--quick", "--work", "taken/x"), "cannot write to taken/x"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_gets_one_sentence_and_exit_code_2(call, tmp_path, monkeypatch, name):
    monkeypatch.delenv("BOLTZFLOW_DATA", raising=False)
    (tmp_path / "taken").write_text("")
    words, sentence = WRONG[name]
    code, out, err = call("reproduce", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_seeds_are_refused_where_they_change_nothing(call, trials):
    code, out, err = call("reproduce", "once", "--seeds", "3")
    assert (code, out) == (2, "")
    assert err == "boltzflow: once trains each model once; --seeds changes nothing there.\n"
