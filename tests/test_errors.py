"""Errors say what was expected, what came and what to do."""

import re

import numpy as np
import pytest

import boltzflow as bf
from boltzflow.errors import check_choice, check_count, check_real, unknown


def test_a_wrong_call_is_a_value_error_and_a_diverging_run_an_arithmetic_one():
    assert issubclass(bf.InputError, ValueError)
    assert issubclass(bf.DivergenceError, ArithmeticError)


def test_an_unknown_name_is_answered_with_the_nearest_known_one():
    found = str(unknown("rule", "vfp", ["pcd", "vpf", "cd"]))
    assert found == "unknown rule 'vfp': did you mean 'vpf'? known are cd, pcd, vpf."


@pytest.mark.parametrize("name", ["zzz", 7, None])
def test_a_name_that_is_near_to_none_gets_the_list_alone(name):
    assert str(unknown("rule", name, ["vpf", "cd"])) == f"unknown rule {name!r}: known are cd, vpf."


def test_a_choice_is_one_of_the_known_ones():
    check_choice("side", "top", ("top", "left"))
    with pytest.raises(bf.InputError, match=r"^unknown side 'lefty': did you mean 'left'\?"):
        check_choice("side", "lefty", ("top", "left"))


@pytest.mark.parametrize("value", [1, 5, np.int8(3), np.uint64(9)])
def test_a_count_is_a_whole_number_of_any_kind(value):
    found = check_count("n", value)
    assert (found, type(found)) == (value, int)


@pytest.mark.parametrize("value", [0, -1, 2.0, 1.5, True, "3", None, np.float64(2), float("nan"), [1]])
def test_anything_else_is_no_count(value):
    with pytest.raises(bf.InputError, match=f"^n must be a whole number, 1 or more; got {re.escape(repr(value))}\\.$"):
        check_count("n", value)


def test_a_count_may_start_at_another_number():
    assert check_count("n", 0, least=0) == 0
    with pytest.raises(bf.InputError, match="2 or more; got 1"):
        check_count("n", 1, least=2)


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.25), np.int64(1)])
def test_a_real_number_between_its_bounds_passes_with_the_bounds_included(value):
    found = check_real("x", value, most=1.0)
    assert (found, type(found)) == (value, float)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None, 1j])
def test_what_lies_outside_or_is_no_real_number_is_refused(value):
    sentence = f"x must be a number at least 0 and at most 1; got {value!r}."
    with pytest.raises(bf.InputError, match=f"^{re.escape(sentence)}$"):
        check_real("x", value, most=1.0)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("-inf"), float("nan")])
def test_a_number_above_a_bound_does_not_equal_it_and_is_finite(value):
    with pytest.raises(bf.InputError, match=f"^x must be a number above 0; got {re.escape(repr(value))}\\.$"):
        check_real("x", value, above=True)
