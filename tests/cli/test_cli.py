import json
import subprocess
import sys
import time

import numpy as np
import pytest

import boltzflow as bf

PROGRAM = [sys.executable, "-c", "import sys; from boltzflow.cli import main; sys.argv[0] = 'boltzflow'; main()"]
QUICK = ("--epochs", "2", "--hidden", "8", "--rows", "200")


@pytest.fixture
def model(call):
    assert call("train", "--out", "model", *QUICK)[0] == 0
    return "model"


def test_training_says_what_came_of_it_and_writes_a_model_and_a_picture(call, tmp_path):
    code, out, _ = call("train", "--out", "model", *QUICK)
    assert code == 0
    for word in ("probability flow", "per-pixel median", "this machine", "floor", "model/picture.png"):
        assert word in out
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "config.json",
        "model.safetensors",
        "picture.png",
    ]


def test_json_is_one_object_and_nothing_else(call):
    code, out, err = call("train", "--out", "model", "--json", *QUICK)
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["model"] == "model"
    assert told["settings"]["epochs"] == 2
    assert [side["side"] for side in told["reconstruction"]] == ["top", "bottom", "left", "right"]
    code, out, err = call("info", "model", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["about"]["data"] == {"name": "digits", "rows": 200, "columns": 64}
    code, out, err = call("sample", "model", "-n", "5", "--burn-in", "3", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"] == 5


def test_the_command_line_trains_what_the_library_trains(call, model):
    run = bf.train(bf.rbm(64, 8), bf.data.digits().train[:200], epochs=2)
    assert np.array_equal(bf.load(model).couplings[0], run.model.couplings[0])


def test_own_tables_are_learned_from(call, tmp_path):
    rows = (np.random.default_rng(0).random((50, 6)) < 0.4).astype(int)
    np.savetxt(tmp_path / "survey.csv", rows, delimiter=",", fmt="%d", header="a,b,c,d,e,f", comments="")
    code, out, _ = call("train", "survey.csv", "--rule", "mpf", "--optimiser", "lbfgs")
    assert code == 0
    assert "the optimum was reached" in out
    assert bf.load(tmp_path / "runs" / "survey-mpf").layout.widths == (6,)
    assert call("train", "survey.csv", "--hidden", "2", "--epochs", "2")[0] == 0
    assert "runs/survey-vpf" in call("info", "runs/survey-vpf")[1]


def test_a_second_run_never_hides_the_first(call, tmp_path):
    for _ in range(3):
        assert call("train", *QUICK)[0] == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["digits-vpf", "digits-vpf-2", "digits-vpf-3"]
    code, _, err = call("train", "--out", "runs/digits-vpf", *QUICK)
    assert (code, err) == (
        2,
        "boltzflow: runs/digits-vpf exists already; choose another name, or overwrite it (overwrite=True, --overwrite).\n",
    )
    assert call("train", "--out", "runs/digits-vpf", "--overwrite", *QUICK)[0] == 0


@pytest.mark.parametrize("name", ["s.npy", "s.csv", "s.png"])
def test_samples_are_written_as_asked(call, model, tmp_path, name):
    assert call("sample", model, "-n", "4", "--burn-in", "2", "--out", name)[0] == 0
    if name != "s.png":
        rows = np.load(tmp_path / name) if name == "s.npy" else np.loadtxt(tmp_path / name, delimiter=",")
        assert rows.shape == (4, 64)
        assert set(np.unique(rows)) <= {0, 1}
    assert call("sample", model, "-n", "4", "--burn-in", "2", "--out", name)[0] == 2


def test_held_units_stay_held(call, model, tmp_path):
    given = np.full(64, np.nan)
    given[:10] = 1
    np.save(tmp_path / "given.npy", given)
    assert call("sample", model, "-n", "3", "--burn-in", "2", "--given", "given.npy")[0] == 0
    assert (np.load(tmp_path / "samples.npy")[:, :10] == 1).all()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "digit"), "unknown data set 'digit': did you mean 'digits'?"),
        (("train", "no.npy"), "there is no file no.npy"),
        (("train", "--rule", "vpff"), "unknown rule 'vpff': did you mean 'vpf'?"),
        (("train", "--option", "completion=2"), "did you mean 'completions'?"),
        (("train", "--option", "completions"), "--option takes name=value"),
        (("train", "--epochs", "0"), "epochs must be a whole number, 1 or more; got 0"),
        (("train", "--hidden", "-3"), "--hidden is a width, or widths with dashes as in 196-196-64, or 0; got '-3'"),
        (("train", "--rows", "9999"), "--rows asks for 9999 rows, but digits has 1438"),
        (("train", "--seed", "99999999999"), "seed must be a whole number from 0 to 2**32 − 1"),
        (("train", "--rule", "vpf-3"), "rule 'vpf' takes no number of steps"),
        (("train", "--rows", "0"), "rows must be a whole number, 1 or more; got 0"),
        (("train", "--hidden", "0"), "rule 'vpf' completes hidden units, and the layout 64 (lateral 0) has none"),
        (("train", "--rule", "mpf", "--hidden", "5"), "rule 'mpf' is for fully visible machines"),
        (("train", "--binarise", "half"), "--binarise is a threshold, at least 0 and below 1, or draw or refuse"),
        (("train", "--binarise", "refuse"), "expected 0 or 1"),
        (("train", "mnist", "--data-dir", "nowhere"), "the four files of mnist were not found"),
        (("info", "nothing"), "nothing is not a model folder"),
        (("sample", "nothing"), "nothing is not a model folder"),
        (("sample", "nothing", "--out", "s.doc"), "--out ends in .npy, .csv or .png"),
    ],
)
def test_a_wrong_call_gets_one_sentence_and_exit_code_2(call, words, sentence):
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("boltzflow: ")
    assert err.count("\n") == 1


def test_a_run_that_fails_gets_exit_code_1(call):
    code, _, err = call("train", "--learning-rate", "1e6", "--optimiser", "sgd", *QUICK)
    assert code == 1
    assert "diverged in epoch 1" in err


def test_help_does_not_wait_for_jax():
    code = "import sys; from boltzflow import cli; assert 'jax' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_comes_at_once():
    def seconds():
        began = time.perf_counter()
        subprocess.run([*PROGRAM, "--help"], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.5


@pytest.mark.parametrize("verb", ["train", "sample", "info"])
def test_every_verb_explains_itself_with_an_example(call, verb):
    code, out, _ = call(verb, "--help")
    assert code == 0
    assert "Example: boltzflow" in out
