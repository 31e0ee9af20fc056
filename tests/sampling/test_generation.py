"""Algorithm 2: pixel probabilities follow the enumerated product of its kernels, and start from the prior asked for."""

import re
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow.errors import InputError
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Stack, as_stack
from boltzflow.machine.wiring import Dense
from boltzflow.sampling import generation
from boltzflow.sampling.generation import mean_activations
from chance import assert_same_distribution
from deep_oracles import descended, independent, propagated
from machines import MACHINES

N = 100_000
"""A miss that moves χ² by 133 with 4 outcomes, 189 with 64, is overlooked less than once in a million times."""


def slow(name: str) -> Machine:
    """Each unit holds on to one of the layer below, and no state is preferred: three rounds do not bring it to rest."""
    machine = MACHINES[name]()
    couplings = tuple(
        w + 5 * jnp.eye(*w.shape) if isinstance(wiring, Dense) else 3 * w
        for wiring, w in zip(machine.layout.wirings, machine.couplings, strict=True)
    )
    held = Machine(machine.layout, couplings, machine.biases)
    balanced = np.split(-oracles.couplings(held).sum(axis=1) / 2, machine.layout.offsets[1:])
    return Machine(machine.layout, couplings, tuple(map(jnp.asarray, balanced)))


@cache
def stack_of(name: str) -> Stack:
    return as_stack(slow(name))


@cache
def generated(name: str, r: int, n_sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of pixel probabilities came out, and how often."""
    rows = bf.generate(stack_of(name), N, prior=uneven(stack_of(name)), r=r, n_sweeps=n_sweeps)
    return np.unique(rows.round(9), axis=0, return_counts=True)


def uneven(of: Stack) -> np.ndarray:
    """A prior that no chain would come to by itself."""
    return np.linspace(0.9, 0.1, of.layout.widths[-1])


def assert_follows(found: tuple[np.ndarray, np.ndarray], of: Stack, law: np.ndarray) -> None:
    """Rows occur as often as the law over the lowest pair's states says; some states lead to the same row."""
    rows, times = found
    pixels = oracles.sigmoid(oracles.fields(of.pairs[0]))[:, : of.layout.n_visible]
    possible, outcome = np.unique(pixels.round(9), axis=0, return_inverse=True)
    off = np.abs(rows[:, None] - possible[None]).max(axis=2)
    assert off.min(axis=1).max() < 1e-8, "a row that no state of the lowest pair leads to"
    counts = np.bincount(off.argmin(axis=1), times, minlength=len(possible))
    assert_same_distribution(counts, np.bincount(outcome.ravel(), law))


PLAIN, LATERAL, BOTH_LATERAL = ("deep_2_2_2", 2, 1), ("deep_2_2_2_lateral", 1, 1), ("lateral_3_3", 2, 1)
SWEPT_TWICE = ("lateral_3_3", 2, 2)


@pytest.mark.parametrize(("name", "r", "n_sweeps"), [PLAIN, LATERAL, BOTH_LATERAL, SWEPT_TWICE])
def test_pixel_probabilities_follow_the_enumerated_kernels_of_algorithm_2(name, r, n_sweeps):
    of = stack_of(name)
    law = descended(of, independent(uneven(of)), r, n_sweeps)
    assert_follows(generated(name, r, n_sweeps), of, law)


@pytest.mark.parametrize(
    ("case", "r", "n_sweeps", "even_prior"),
    [
        *((case, case[1] + 1, case[2], False) for case in (PLAIN, LATERAL, BOTH_LATERAL)),
        *((case, 1, case[2], False) for case in (PLAIN, BOTH_LATERAL)),
        *((case, case[1], 0, False) for case in (LATERAL, BOTH_LATERAL)),
        (BOTH_LATERAL, 2, 2, False),
        (SWEPT_TWICE, 2, 1, False),
        *((case, case[1], case[2], True) for case in (PLAIN, LATERAL, BOTH_LATERAL)),
    ],
)
def test_a_round_or_a_sweep_too_many_or_too_few_or_another_prior_is_caught(case, r, n_sweeps, even_prior):
    of = stack_of(case[0])
    top = np.full(of.layout.widths[-1], 0.5) if even_prior else uneven(of)
    with pytest.raises(AssertionError, match="χ²"):
        assert_follows(generated(*case), of, descended(of, independent(top), r, n_sweeps))


def test_a_layer_that_is_passed_over_on_the_way_down_is_caught():
    of = stack_of("deep_2_2_2")
    with pytest.raises(AssertionError, match="χ²"):
        assert_follows(generated(*PLAIN), of, descended(Stack(of.pairs[:1]), independent(uneven(of)), 2))


GREY = np.random.default_rng(0).uniform(size=(23, 2))


def forty(model: Stack | Machine | None = None, n_samples: int = 40, **options: object) -> np.ndarray:
    return bf.generate(stack_of("deep_2_2_2_lateral") if model is None else model, n_samples, r=1, **options)


def test_mean_activations_are_probabilities_propagated_upwards_and_averaged(monkeypatch):
    of = stack_of("deep_2_2_2_lateral")
    oracles.close(mean_activations(of, GREY), propagated(of, GREY))
    monkeypatch.setattr(generation, "_MOST_ROWS", 10)
    oracles.close(mean_activations(of, GREY), propagated(of, GREY))


def test_a_prior_by_name_is_that_of_its_probabilities():
    even, mean = [0.5, 0.5], mean_activations(stack_of("deep_2_2_2_lateral"), GREY)
    assert forty().tobytes() == forty(prior="uniform").tobytes() == forty(prior=even).tobytes()
    assert forty(prior="mean", data=GREY).tobytes() == forty(prior=mean).tobytes() != forty().tobytes()


@pytest.mark.parametrize("bit", [0.0, 1.0])
def test_a_prior_of_zeros_and_ones_is_where_every_sample_starts(bit):
    """Three rounds in pairs that copy their upper states downwards and upwards."""
    layout = bf.rbm(3, 3).layout
    copying = Machine(layout, (80 * jnp.eye(3, dtype=jnp.float32),), (jnp.full(3, -40.0, jnp.float32),) * 2)
    rows = bf.generate(Stack((copying, copying)), 50, prior=[bit, 1 - bit, bit], r=3)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.round(6), np.tile([bit, 1 - bit, bit], (50, 1)))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    assert forty(seed=3).tobytes() == forty(seed=3).tobytes() != forty(seed=4).tobytes()


def test_a_sample_is_the_same_however_many_are_drawn_and_in_whichever_parts(monkeypatch):
    whole = forty()
    monkeypatch.setattr(generation, "_MOST_ROWS", 20)
    oracles.close(forty(), whole)
    oracles.close(forty(n_samples=20), whole[:20])


def test_a_joint_machine_is_taken_pair_by_pair():
    assert forty(slow("deep_2_2_2_lateral")).tobytes() == forty().tobytes()


REFUSED = {
    "no round": ({"r": 0}, "r must be a whole number, 1 or more; got 0"),
    "half a round": ({"r": 1.5}, "r must be a whole number, 1 or more; got 1.5"),
    "no sweep": ({"n_sweeps": 0}, "n_sweeps must be a whole number, 1 or more; got 0"),
    "no samples": ({"n_samples": 0}, "n_samples must be a whole number, 1 or more; got 0"),
    "a negative seed": ({"seed": -1}, "seed must be a whole number from 0 to 2**32 − 1; got -1"),
    "an unknown prior": ({"prior": "unifrom"}, "unknown prior 'unifrom': did you mean 'uniform'?"),
    "a prior too long": (
        {"prior": [0.5, 0.6, 0.7]},
        "a prior is one probability for each of the 2 top units; got shape (3,) with values from 0.5 to 0.7",
    ),
    "a prior of odds": ({"prior": [0.5, 1.5]}, "each of the 2 top units; got shape (2,) with values from 0.5 to 1.5"),
    "a prior with a gap": ({"prior": [0.5, np.nan]}, "each of the 2 top units; got shape (2,) with values from nan"),
    "a prior of words": ({"prior": ["half", "half"]}, "a prior is one probability for each of the 2 top units"),
    "means of nothing": ({"prior": "mean"}, "prior 'mean' propagates data upwards; give data="),
    "means of other data": (
        {"prior": "mean", "data": np.zeros((4, 3))},
        "the machine has 2 visible units, but the data have 3 columns",
    ),
    "means of data with gaps": (
        {"prior": "mean", "data": np.array([[0.0, 1.0], [np.nan, 1.0]])},
        "a value is missing (NaN) in row 1, column 0",
    ),
}


@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_generated_is_refused_in_one_sentence(options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)) as refusal:
        bf.generate(stack_of("deep_2_2_2"), **{"n_samples": 4, **options})
    assert "\n" not in str(refusal.value)


def test_a_machine_without_hidden_units_has_nothing_to_start_from():
    with pytest.raises(InputError, match="at least one pair of layers"):
        bf.generate(bf.visible(3), 4)
