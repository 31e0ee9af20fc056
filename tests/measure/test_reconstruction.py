"""Reconstruction errors are what they say, between fills that need no learning and a machine that knows the answer."""

from inspect import unwrap

import jax.numpy as jnp
import numpy as np
import pytest

import boltzflow as bf
import oracles
from boltzflow.machine.builders import zero_machine
from boltzflow.machine.layout import Layout
from boltzflow.machine.machine import Machine
from boltzflow.measure import reconstruction
from boltzflow.measure.reconstruction import (
    SIDES,
    fill_errors,
    median_fill,
    reconstruction_error,
    region,
    side_errors,
    trivial_fills,
    unclamped_fill,
    without,
)
from boltzflow.sampling.imputation import imputation_chains
from chance import assert_same_mean
from deep_oracles import types_unchecked
from kernels import sweep_kernel
from machines import MACHINES

SHAPE = (4, 6)
PICTURES = np.random.default_rng(0).random((30, 24))
ONE_PICTURE = np.tile(PICTURES[0] > 0.5, (3, 1)).astype(float)
BLANK = zero_machine(Layout((24,), ()), dtype=jnp.float64)


def machine_that_knows(picture: np.ndarray) -> Machine:
    """Biases so large that every unit is what it is in one picture."""
    return Machine(BLANK.layout, (), (jnp.asarray(2000 * picture - 1000),))


@pytest.mark.parametrize(
    ("side", "picture"),
    [
        ("top", ["##", "..", ".."]),
        ("bottom", ["..", "..", "##"]),
        ("left", ["#.", "#.", "#."]),
        ("right", [".#", ".#", ".#"]),
    ],
)
def test_a_region_is_so_many_lines_at_one_side(side, picture):
    found = np.where(region((3, 2), side, 1).reshape(3, 2), "#", ".")
    assert ["".join(row) for row in found] == picture


@pytest.mark.parametrize(
    ("side", "n_missing"), [("top", 12 * 20), ("bottom", 12 * 20), ("left", 28 * 9), ("right", 28 * 9)]
)
def test_where_nothing_was_said_twelve_of_28_lines_are_missing(side, n_missing):
    assert region((28, 20), side).sum() == n_missing


@pytest.mark.parametrize("side", SIDES)
def test_at_least_one_line_is_missing(side):
    assert region((2, 2), side).sum() == 2


@pytest.mark.parametrize("n_lines", [1, 2, 3])
def test_opposite_sides_share_no_pixel_until_they_meet(n_lines):
    for one, other, along in (("top", "bottom", 4), ("left", "right", 6)):
        overlap = region(SHAPE, one, n_lines) & region(SHAPE, other, n_lines)
        assert overlap.sum() == max(0, 2 * n_lines - along) * 24 // along


@pytest.mark.parametrize(
    ("side", "n_lines", "words"),
    [
        ("top", 4, "at most 3 of 4; got 4"),
        ("left", 6, "at most 5 of 6; got 6"),
        ("top", 0, "n_lines must be a whole number, 1 or more; got 0"),
        ("top", 1.5, "n_lines must be a whole number, 1 or more; got 1.5"),
    ],
)
def test_a_region_that_is_none_or_all_is_refused(side, n_lines, words):
    with pytest.raises(bf.InputError, match=words):
        region(SHAPE, side, n_lines)


def test_an_unknown_side_is_answered_with_the_nearest_one():
    unchecked = unwrap(region)
    with pytest.raises(bf.InputError, match="unknown side 'topp': did you mean 'top'"):
        unchecked(SHAPE, "topp")


def test_pictures_without_a_region_miss_this_and_nothing_else():
    missing = region(SHAPE, "left", 2)
    left = without(PICTURES, missing)
    assert np.isnan(left[:, missing]).all()
    np.testing.assert_array_equal(left[:, ~missing], PICTURES[:, ~missing])


def test_fill_errors_are_sums_of_distances_over_the_region_alone():
    missing = np.array([True, False, True])
    originals, filled = np.array([[0.25, 1.0, 0.5], [1.0, 0.0, 0.0]]), np.array([[0.5, 0.0, 0.0], [1.0, 1.0, 0.0]])
    assert fill_errors(originals, filled, missing).tolist() == [0.75, 0.0]


@pytest.mark.parametrize("side", SIDES)
def test_the_median_is_the_best_fill_that_is_the_same_for_all_pictures(side):
    missing = region(SHAPE, side)
    best = trivial_fills(PICTURES, PICTURES, missing).median
    for fill in [*np.linspace(0, 1, 11), PICTURES.mean(axis=0), *PICTURES]:
        assert best <= fill_errors(PICTURES, np.broadcast_to(fill, PICTURES.shape), missing).mean()


@pytest.mark.parametrize("side", SIDES)
def test_no_bits_come_below_the_floor(side):
    missing = region(SHAPE, side)
    floor = trivial_fills(PICTURES, PICTURES, missing).floor
    for seed in range(20):
        bits = (np.random.default_rng(seed).random(PICTURES.shape) < PICTURES).astype(float)
        assert floor < fill_errors(PICTURES, bits, missing).mean()


def test_trivial_fills_by_hand():
    training, originals = np.array([[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    found = trivial_fills(training, originals, np.array([True, True]))
    assert (found.black, found.median, found.floor) == (1.0, 0.75, 0.5)


@pytest.mark.parametrize("side", SIDES)
def test_a_machine_that_knows_the_answer_makes_no_error(side):
    assert reconstruction_error(machine_that_knows(ONE_PICTURE[0]), ONE_PICTURE, region(SHAPE, side)) == 0


@pytest.mark.parametrize("side", SIDES)
def test_a_machine_that_knows_the_contrary_errs_by_one_per_pixel(side):
    missing = region(SHAPE, side)
    assert reconstruction_error(machine_that_knows(1 - ONE_PICTURE[0]), ONE_PICTURE, missing) == missing.sum()


@pytest.mark.parametrize("n_chains", [1, 3])
def test_a_blank_machine_errs_by_one_half_per_pixel_of_a_binary_picture(n_chains):
    missing = region(SHAPE, "top")
    assert reconstruction_error(BLANK, ONE_PICTURE, missing, n_chains=n_chains) == missing.sum() / 2


def test_errors_are_measured_against_the_grey_original():
    missing = region(SHAPE, "left")
    expected = np.abs(PICTURES[:, missing] - 0.5).sum(axis=1).mean()
    np.testing.assert_allclose(reconstruction_error(BLANK, PICTURES, missing), expected, rtol=1e-10)


def test_the_pixels_that_are_known_are_held_and_heard():
    copies = bf.graph([(0, 1)], couplings=[2000.0], biases=[-1000.0, -1000.0], dtype=jnp.float64)
    seen = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert reconstruction_error(copies, seen, np.array([True, False])) == 0


def test_side_errors_are_the_errors_of_each_side_beside_its_trivial_fills():
    machine = machine_that_knows(ONE_PICTURE[0])
    for found in side_errors(machine, SHAPE, PICTURES[:10], PICTURES, n_sweeps=2):
        missing = region(SHAPE, found.side)
        trivial = trivial_fills(PICTURES[:10], PICTURES, missing)
        assert (found.black, found.median, found.floor) == (trivial.black, trivial.median, trivial.floor)
        assert found.machine == reconstruction_error(machine, PICTURES, missing, n_sweeps=2)


# The paper's protocol: noise over ink that stays, nothing held, known pixels put back.

GREY = np.array([0.9, 0.2, 0.7])
MISSING = np.array([True, True, False])


def expected_fill(machine: Machine, starts: list[tuple[int, int, int]], n_sweeps: int) -> np.ndarray:
    """The mean of p(x_i = 1 | rest) after sweeps from visible states of equal chance and hidden units at 0."""
    n_units, n_visible = machine.layout.n_units, machine.layout.n_visible
    law = np.zeros(2**n_units)
    for start in starts:
        law[int("".join(map(str, start)) + "0" * (n_units - n_visible), 2)] += 1 / len(starts)
    law = np.linalg.matrix_power(sweep_kernel(machine), n_sweeps) @ law
    fields = oracles.fields(machine)[:, :n_visible]
    return law @ oracles.sigmoid(fields)


OR_NOISE = [(1, 0, 1), (1, 1, 1)]
REPLACED = [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1)]


@pytest.mark.parametrize("name", ["rbm_3_2", "lateral_3_3"])
@pytest.mark.parametrize("n_sweeps", [1, 2])
def test_the_papers_fill_starts_from_ink_or_noise_and_holds_nothing(name, n_sweeps):
    machine = MACHINES[name]()
    filled = unclamped_fill(machine, np.tile(GREY, (40_000, 1)), MISSING, n_sweeps=n_sweeps, seed=1)
    expected = expected_fill(machine, OR_NOISE, n_sweeps)
    assert_same_mean(filled[:, :2], expected[:2])
    assert (filled[:, 2] == GREY[2]).all()
    if (name, n_sweeps) == ("rbm_3_2", 1):
        with pytest.raises(AssertionError):
            assert_same_mean(filled[:, :2], expected_fill(machine, REPLACED, n_sweeps)[:2])


def test_a_pictures_fill_does_not_depend_on_the_part_it_is_computed_in(monkeypatch):
    machine, rows = MACHINES["rbm_3_2"](), np.random.default_rng(0).random((25, 3))
    whole = unclamped_fill(machine, rows, MISSING)
    monkeypatch.setattr(reconstruction, "_ROWS", 10)
    np.testing.assert_array_equal(unclamped_fill(machine, rows, MISSING), whole)


def test_the_best_fill_is_the_median_over_clamped_chains():
    machine, rows = MACHINES["rbm_3_2"](), np.random.default_rng(0).random((25, 3))
    chains = imputation_chains(machine, without(rows, MISSING), 4, 5, seed=3)
    filled = median_fill(machine, rows, MISSING, n_sweeps=4, n_chains=5, seed=3)
    oracles.close(filled[:, :2], np.median(chains, axis=0)[:, :2])
    np.testing.assert_array_equal(filled[:, 2], rows[:, 2])


@pytest.mark.parametrize("fill", [unclamped_fill, median_fill])
def test_a_stack_fills_nothing(fill):
    with types_unchecked(), pytest.raises(bf.InputError, match="a stack has no joint law"):
        fill(bf.stack(3, 2, 2), np.zeros((2, 3)), MISSING)
