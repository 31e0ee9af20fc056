"""Data become bits in the way that was asked for, and what cannot is refused with its place and its cure."""

import re

import numpy as np
import pytest
import scipy.sparse

import boltzflow as bf
from boltzflow.bits import as_numbers, check_values, prepare

BITS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
GREY = np.array([[0.0, 0.5, 1.0], [0.25, 0.75, 0.4], [0.6, 0.0, 0.9]])
NAN = np.nan


KINDS = {
    "booleans": BITS.astype(bool),
    "bytes": BITS.astype(np.uint8),
    "floats": BITS.astype(np.float32),
    "lists": BITS.tolist(),
    "sparse": scipy.sparse.csr_matrix(BITS),
    "sparse array": scipy.sparse.coo_array(BITS.astype(float)),
}


@pytest.mark.parametrize("binarise", [0.0, 0.5, "draw", None])
@pytest.mark.parametrize("data", KINDS.values(), ids=KINDS)
def test_bits_of_any_kind_pass_as_they_are_whatever_is_said_of_grey(data, binarise):
    prepared = prepare(data, 3, binarise)
    assert prepared.values.dtype == bool
    np.testing.assert_array_equal(prepared.values, BITS)
    assert prepared.notes == ("binary data, used as they are",)


@pytest.mark.parametrize("threshold", [0, 0.25, 0.5, 0.7])
def test_above_a_threshold_and_not_at_it_a_bit_is_lit(threshold):
    prepared = prepare(GREY, 3, threshold)
    np.testing.assert_array_equal(prepared.values, threshold < GREY)
    assert prepared.notes[0] == (
        f"66.7% of the values lie strictly between 0 and 1; a bit is lit where its value is above {threshold:g}"
    )


def test_values_to_be_drawn_are_kept_as_they_are():
    prepared = prepare(GREY, 3, "draw")
    assert prepared.values.dtype == np.float32
    np.testing.assert_array_equal(prepared.values, GREY.astype(np.float32))
    assert prepared.notes == (
        "66.7% of the values lie strictly between 0 and 1; each epoch draws fresh bits with these probabilities",
    )


def test_where_nothing_was_said_the_threshold_is_one_half():
    np.testing.assert_array_equal(prepare(GREY, 3).values, GREY > 0.5)


def test_grey_is_refused_where_bits_were_asked_for_with_the_first_grey_value_and_both_ways_out():
    sentence = (
        "expected 0 or 1; 66.7% of the values lie strictly between 0 and 1, the first is 0.5 in row 0, column 1. "
        "Choose binarise=0.5 (a threshold) or binarise='draw' (fresh draws each epoch)."
    )
    with pytest.raises(bf.InputError, match=f"^{re.escape(sentence)}$"):
        prepare(GREY, 3, None)


def test_columns_that_never_change_are_pointed_out():
    constant = np.array([[0, 1, 1], [1, 1, 1]])
    said, warned = prepare(constant, 3).notes
    assert said == "binary data, used as they are"
    assert warned.startswith("2 of 3 columns never change (the first is column 1, always 1)")


def test_columns_that_the_threshold_makes_constant_are_pointed_out_as_bits():
    assert (
        "1 of 2 columns never change (the first is column 0, always 0)" in prepare([[0.1, 0.9], [0.2, 0.1]], 2).notes[1]
    )


def test_a_single_row_is_taken_and_the_person_told():
    prepared = prepare([[0, 1, 1]], 3)
    assert prepared.values.tolist() == [[False, True, True]]
    assert prepared.notes[1].startswith("expected many rows, got one")


@pytest.mark.parametrize("binarise", [0.5, "draw", None])
def test_a_missing_value_is_refused_with_its_place(binarise):
    data = np.array([[0, 1.0, 1], [1, 0.5, NAN], [NAN, 1, 0]])
    sentence = "a value is missing (NaN) in row 1, column 2, 2 in all; training needs complete rows."
    with pytest.raises(bf.InputError, match=f"^{re.escape(sentence)}"):
        prepare(data, 3, binarise)


@pytest.mark.parametrize("data", [BITS, BITS.astype(bool), GREY])
@pytest.mark.parametrize(
    ("binarise", "sentence"),
    [
        ("threshold", "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got 'threshold'."),
        (1.5, "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got 1.5."),
        (-0.1, "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got -0.1."),
        (NAN, "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got nan."),
        (1.0, "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got 1.0."),
        (True, "binarise is a threshold, at least 0 and below 1, or 'draw' or None; got True."),
    ],
)
def test_what_is_no_way_to_binarise_is_refused_for_any_data(data, binarise, sentence):
    with pytest.raises(bf.InputError, match=f"^{re.escape(sentence)}$"):
        prepare(data, 3, binarise)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            [[0, 1, 2]],
            "values must lie in [0, 1]; got 2 in row 0, column 2. Scale the data first (8-bit images: divide by 255).",
        ),
        ([[0, 1, 1], [0, -0.5, 1]], "values must lie in [0, 1]; got -0.5 in row 1, column 1. Scale the data first"),
        (np.uint8([[0, 255, 3]]), "values must lie in [0, 1]; got 255 in row 0, column 1."),
        ([[0, -np.inf, 1]], "values must lie in [0, 1]; got -inf in row 0, column 1."),
        ([[0, 1]], "the machine has 3 visible units, but the data have 2 columns."),
        (np.zeros((3, 2)), "the machine has 3 visible units, but the data have 2 columns."),
        (np.zeros((2, 0)), "the machine has 3 visible units, but the data have 0 columns."),
        ([0, 1, 1], "data are a table, one example a row; got shape (3,): reshape one example with x[None, :]."),
        (
            np.zeros((2, 3, 1)),
            "data are a table, one example a row; got shape (2, 3, 1): flatten each example to one row.",
        ),
        ([], "data are empty: got shape (0,), expected at least one row."),
        (np.zeros((0, 3)), "data are empty: got shape (0, 3), expected at least one row."),
        ([[0, 1, 1], [0, 1]], "data are a table, every row of the same length; numpy says: "),
        ([["a", "b", "c"]], "data are numbers in [0, 1] or booleans; got an array of type <U1."),
        ([[0, None, 1]], "data are numbers in [0, 1] or booleans; got an array of type object."),
        ([[0, 1j, 1]], "data are numbers in [0, 1] or booleans; got an array of type complex128."),
    ],
)
def test_what_is_no_table_of_the_width_of_the_machine_in_range_is_refused(data, sentence):
    with pytest.raises(bf.InputError, match=f"^{re.escape(sentence)}"):
        prepare(data, 3)


def test_missing_values_pass_where_gaps_are_meant():
    values = check_values([[0, NAN, 1]], 3)
    np.testing.assert_array_equal(values, [[0, NAN, 1]])


def test_the_data_of_the_user_are_not_copied_and_not_changed():
    mine = GREY.copy()
    assert as_numbers(mine) is mine
    prepare(mine, 3)
    np.testing.assert_array_equal(mine, GREY)
