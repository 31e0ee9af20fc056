"""Deep machines from the command line: several widths are a stack, --joint makes one machine of them."""

import json
import sys

import numpy as np
import pytest

import boltzflow as bf
from boltzflow import cli, files
from boltzflow.data.sources import find
from boltzflow.machine.stack import Stack, as_stack
from boltzflow.sampling.generation import mean_activations

QUICK = ("--epochs", "1", "--rows", "40", "--batch-size", "40", "--json")
DEEP = {
    "stack": ("--hidden", "6-5-4"),
    "coupled stack": ("--hidden", "5-4", "--lateral", "--option", "order=authors"),
    "joint": ("--hidden", "5-4", "--joint", "--option", "method=gibbs"),
    "one coupled layer": ("--hidden", "5", "--lateral", "--rule", "cd"),
}


@pytest.fixture
def call(monkeypatch, capfd, tmp_path):
    """Run a command line in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("survey.csv", (np.random.default_rng(0).random((40, 6)) < 0.4).astype(int), delimiter=",", fmt="%d")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["boltzflow", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capfd.readouterr())

    return run


def built(name):
    return {
        "stack": lambda: bf.stack(6, 6, 5, 4),
        "coupled stack": lambda: bf.stack(6, 5, 4, lateral=True),
        "joint": lambda: bf.deep(6, 5, 4),
        "one coupled layer": lambda: bf.deep(6, 5, lateral=True),
    }[name]()


@pytest.mark.parametrize("name", DEEP)
def test_the_machine_that_was_asked_for_is_trained_and_described(call, name):
    code, out, err = call("train", "survey.csv", "--out", "model", *DEEP[name], *QUICK)
    assert (code, err) == (0, "")
    about, model = json.loads(out), bf.load("model")
    assert model.layout == built(name).layout
    assert not np.array_equal(bf.machine.stack.parts(model)[0].biases[0], np.zeros(6))
    deep = name != "one coupled layer"
    assert ("mean_activations" in about) == deep
    code, out, _ = call("info", "model", "--json")
    assert (code, json.loads(out)["machine"]["layout"]) == (0, str(model.layout))
    assert call("info", "model")[1].count(str(model.layout)) == 1
