"""Deep machines from the command line: several widths are a stack, --joint makes one machine of them."""

import json

import jax
import numpy as np
import pytest

import boltzflow as bf
from boltzflow.machine.stack import as_deep
from boltzflow.sampling.generation import mean_activations
from deep_oracles import types_unchecked

QUICK = ("--epochs", "1", "--rows", "30", "--batch-size", "30", "--json")
DEEP = {
    "stack": (lambda: bf.stack(6, 6, 6, 6), ("--hidden", "6-6-6"), {"order": "authors"}),
    "joint": (
        lambda: bf.deep(6, 6, 6, lateral=True),
        ("--hidden", "6-6", "--joint", "--lateral"),
        {"method": "gibbs", "sweeps": 2},
    ),
    "one coupled layer": (lambda: bf.deep(6, 6, lateral=True), ("--hidden", "6", "--lateral"), {}),
}


@pytest.fixture(autouse=True)
def survey(call):
    """Some rows of answers in the folder that the commands run in."""
    np.savetxt("survey.csv", (np.random.default_rng(0).random((40, 6)) < 0.4).astype(int), delimiter=",", fmt="%d")


@pytest.mark.parametrize("name", DEEP)
def test_the_command_line_trains_what_the_library_trains_and_notes_mean_activations_of_the_top(call, name):
    build, words, rule_options = DEEP[name]
    options = [word for option in rule_options.items() for word in ("--option", f"{option[0]}={option[1]}")]
    code, out, err = call("train", "survey.csv", "--out", "model", *words, *options, *QUICK)
    assert (code, err) == (0, "")
    rows, model = np.loadtxt("survey.csv", delimiter=",")[:30], bf.load("model")
    run = bf.train(build(), rows, rule_options=rule_options, epochs=1, batch_size=30)
    assert jax.tree.structure(model) == jax.tree.structure(run.model)
    assert all(map(np.array_equal, jax.tree.leaves(model), jax.tree.leaves(run.model)))
    of = model if isinstance(model, bf.Stack) else bf.as_stack(model)
    assert json.loads(out)["mean_activations"] == mean_activations(of, rows).tolist()


def test_what_lies_in_the_folder_of_a_stack_is_told(saved):
    code, out, err = saved("info", "stack", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["machine"] | {"largest_coupling": 0} == {
        "layout": "6-6-6-6 (stack of 3 pairs)",
        "visible": 6,
        "hidden": 18,
        "couplings": 108,
        "dtype": "float32",
        "largest_coupling": 0,
        "largest_bias": 0.0,
    }
    assert "6-6-6-6 (stack of 3 pairs)" in saved("info", "stack")[1]


def test_a_stack_of_pictures_is_reported_and_drawn(call, tmp_path):
    code, out, _ = call("train", "digits", "--out", "model", "--hidden", "6-6", "--epochs", "1", "--rows", "40")
    assert code == 0
    assert "machine          64-6-6 (stack of 2 pairs)" in out
    assert (tmp_path / "model" / "picture.png").stat().st_size > 10_000
    assert "layout            64-6-6 (stack of 2 pairs)" in call("info", "model")[1]


MEANS = [0.9, 0.1, 0.8, 0.3, 0.5, 0.0]


@pytest.fixture
def saved(call):
    """A stack and a joint machine that were saved with what training notes of them, and a stack without."""
    about = {"mean_activations": MEANS, "picture_shape": [2, 3]}
    bf.save(DEEP["stack"][0](), "stack", about=about)
    bf.save(as_deep(DEEP["stack"][0]()), "joint", about=about)
    bf.save(DEEP["stack"][0](), "unnoted")
    return call


@pytest.mark.parametrize("words", [(), ("--prior", "mean"), ("--prior", "uniform", "-r", "2", "--seed", "7")])
@pytest.mark.parametrize("model", [("stack",), ("joint", "--top-down")])
def test_a_stack_is_sampled_from_the_top_down_and_so_is_a_joint_machine_if_asked_for(saved, model, words):
    assert saved("sample", *model, "-n", "5", *words)[0] == 0
    uniform = "uniform" in words
    options = {"prior": "uniform", "r": 2, "seed": 7} if uniform else {"prior": MEANS, "r": 5, "seed": 0}
    np.testing.assert_array_equal(np.load("samples.npy"), bf.generate(bf.load(model[0]), 5, **options))


def test_a_joint_machine_is_sampled_by_gibbs_sweeps_unless_told_otherwise(saved):
    assert saved("sample", "joint", "-n", "5", "--burn-in", "3")[0] == 0
    np.testing.assert_array_equal(np.load("samples.npy"), bf.sample(bf.load("joint"), 5, burn_in=3))


def test_generated_pictures_are_drawn(saved, tmp_path):
    assert saved("sample", "stack", "-n", "5", "--out", "s.png")[0] == 0
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_one_hidden_layer_is_sampled_from_the_top_down_without_more_ado(saved):
    assert saved("train", "survey.csv", "--out", "model", *DEEP["one coupled layer"][1], *QUICK)[0] == 0
    assert saved("sample", "model", "--top-down", "-n", "5")[0] == 0


TRAIN = ("train", "survey.csv", "--epochs", "1")
GIBBS = ("--option", "method=gibbs", "--option", "sweeps=2")
WRONG = {
    "a width left out": ((*TRAIN, "--hidden", "6-"), "--hidden is a width, or widths with dashes as in 196-196-64"),
    "a width below zero": ((*TRAIN, "--hidden", "-3"), "--hidden is a width, or widths with dashes as in 196-196-64"),
    "half a unit": ((*TRAIN, "--hidden", "6.5"), "--hidden is a width, or widths with dashes as in 196-196-64"),
    "a layer of nothing": (
        (*TRAIN, "--hidden", "6-0"),
        "the width of layer 2 must be a whole number, 1 or more; got 0",
    ),
    "a stack by cd": (
        (*TRAIN, "--hidden", "6-5", "--rule", "cd"),
        "rule 'cd' trains one machine, and the layout is 6-6-5",
    ),
    "a stack by mpf": ((*TRAIN, "--hidden", "6-5", "--rule", "mpf"), "rule 'mpf' is for fully visible machines"),
    "a stack by gibbs": ((*TRAIN, "--hidden", "6-5", *GIBBS), "completes one joint machine"),
    "no sweep": (
        (*TRAIN, "--hidden", "6-5", "--option", "sweeps=0"),
        "sweeps must be a whole number, 1 or more; got 0",
    ),
    "an order by half its name": (
        (*TRAIN, "--option", "order=author"),
        "unknown order 'author': did you mean 'authors'?",
    ),
    "true in words": ((*TRAIN, "--option", "carry=true"), "carry=True goes on with Gibbs sweeps"),
    "false in words": ((*TRAIN, "--option", "carry=false", "--epochs", "0"), "epochs must be a whole number"),
    "neither": ((*TRAIN, "--option", "carry=maybe"), "carry is True or False; got 'maybe'"),
    "burn-in of a stack": (("sample", "stack", "--burn-in", "9"), "--burn-in is for Gibbs chains"),
    "r of a joint machine": (("sample", "joint", "-r", "9"), "-r is for pictures from the top down; add --top-down"),
    "sweeps of a joint machine": (("sample", "joint", "--sweeps", "2"), "--sweeps is for pictures from the top down"),
    "gibbs that hears nothing": (
        (*TRAIN, "--hidden", "6-5", "--joint", "--option", "method=gibbs"),
        "its first sweep hears nothing from above: choose sweeps=2 or more, or carry=True",
    ),
    "no round": (("sample", "stack", "-r", "0"), "r must be a whole number, 1 or more; got 0"),
    "an unknown prior": (("sample", "stack", "--prior", "unifrom"), "unknown prior 'unifrom': did you mean 'uniform'?"),
    "no means noted": (("sample", "unnoted"), "holds no mean activations of its top layer; use --prior uniform"),
    "held units of a stack": (("sample", "stack", "--given", "survey.csv"), "--given"),
    "a stack at a temperature": (("sample", "stack", "--temperature", "0.5"), "--temperature"),
    "chains of a stack": (("sample", "joint", "--top-down", "--n-chains", "2"), "--n-chains"),
}


@pytest.mark.parametrize(("words", "sentence"), WRONG.values(), ids=WRONG)
def test_a_wrong_call_for_a_deep_machine_gets_one_sentence_and_exit_code_2(saved, words, sentence):
    with types_unchecked():
        code, out, err = saved(*words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("boltzflow: ")
    assert err.count("\n") == 1
