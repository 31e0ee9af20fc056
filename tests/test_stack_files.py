"""Stacks lie in files as they are, and what is not a whole stack is refused."""

import json
import re

import jax
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow import files
from boltzflow.errors import InputError
from boltzflow.machine.stack import Stack, as_stack
from machines import MACHINES


def named() -> Stack:
    pairs = [("a", "h"), ("b", "h"), ("h", (0, 1)), ((0, 1), "i")]
    return as_stack(bf.graph(pairs, visible=["a", "b"]))


STACKS = {
    "plain": lambda: bf.stack(5, 4, 3),
    "coupled in one layer": lambda: bf.stack(5, 4, 3, 2, lateral=[False, True, False]),
    "in doubles": lambda: as_stack(MACHINES["deep_2_2_2_lateral"]()),
    "one pair, coupled below too": lambda: as_stack(MACHINES["lateral_3_3"]()),
    "of edge lists": lambda: as_stack(MACHINES["masked_graph"]()),
    "with names": named,
    "eleven pairs": lambda: Stack(tuple(oracles.perturbed(bf.rbm(2, 2), 1.0, k) for k in range(11))),
}


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_that_was_saved_is_loaded_bit_for_bit(name, tmp_path):
    of = STACKS[name]()
    loaded = bf.load(bf.save(of, tmp_path / "model", about={"rule": "vpf"}))
    assert jax.tree.structure(loaded) == jax.tree.structure(of)
    for leaf, other in zip(jax.tree.leaves(loaded), jax.tree.leaves(of), strict=True):
        assert (leaf.dtype, np.asarray(leaf).tobytes()) == (other.dtype, np.asarray(other).tobytes())
    assert files.read(tmp_path / "model").about == {"rule": "vpf"}


def change_layout(**changes):
    def change(folder):
        path = folder / files.CONFIG
        config = json.loads(path.read_text())
        config["layout"] = {name: do(config["layout"]["pairs"]) for name, do in changes.items()}
        path.write_text(json.dumps(config))

    return change


def change_numbers(do):
    def change(folder):
        numbers = files.load_file(folder / files.NUMBERS)
        files.save_file(do(numbers), folder / files.NUMBERS)

    return change


def of_another_stack(folder):
    other = bf.save(bf.stack(5, 3, 2), folder.parent / "other")
    (other / files.NUMBERS).replace(folder / files.NUMBERS)


def without(name):
    return change_numbers(lambda numbers: {key: array for key, array in numbers.items() if key != name})


def widened(pairs):
    return [pairs[0], pairs[1] | {"widths": [3, 2]}]


DAMAGES = {
    "a pair left out": (change_layout(pairs=lambda pairs: pairs[:1]), "do not fit"),
    "a pair too many": (change_layout(pairs=lambda pairs: [*pairs, pairs[1]]), "do not fit"),
    "no pairs": (change_layout(pairs=lambda pairs: []), "do not fit"),
    "pairs that are none": (change_layout(pairs=lambda pairs: 5), "do not fit"),
    "one pair as a machine": (change_layout(widths=lambda pairs: [5, 4], wirings=lambda pairs: []), "do not fit"),
    "pairs in the other order": (change_layout(pairs=lambda pairs: pairs[::-1]), "do not fit"),
    "widths that do not chain": (change_layout(pairs=widened), "do not fit"),
    "the numbers of another stack": (of_another_stack, "do not fit"),
    "couplings left out": (without("1.coupling.0"), "do not fit"),
    "biases left out": (without("0.bias.1"), "do not fit"),
    "a number that is none": (
        change_numbers(lambda numbers: numbers | {"1.bias.1": np.full_like(numbers["1.bias.1"], np.nan)}),
        "not finite",
    ),
}


@pytest.mark.parametrize(("spoil", "sentence"), DAMAGES.values(), ids=DAMAGES)
def test_what_is_not_a_whole_stack_is_refused(spoil, sentence, tmp_path):
    bf.save(bf.stack(5, 4, 2), tmp_path / "model")
    spoil(tmp_path / "model")
    with pytest.raises(InputError, match=re.escape(sentence)):
        bf.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["9.bias.0", "0.bias.9", "0.coupling.1"])
def test_numbers_that_belong_to_no_layer_are_refused(name, tmp_path):
    bf.save(bf.rbm(3, 2), tmp_path / "model")
    change_numbers(lambda numbers: numbers | {name: np.zeros(3, np.float32)})(tmp_path / "model")
    with pytest.raises(InputError, match="do not fit"):
        bf.load(tmp_path / "model")
