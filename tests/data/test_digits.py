"""The digits that need no download."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import boltzflow as bf


@pytest.fixture(scope="module")
def digits() -> bf.data.PictureSet:
    return bf.data.digits()


def test_digits_are_grey_values_between_zero_and_one(digits):
    for part in (digits.train, digits.test):
        assert part.dtype == np.float32
        assert (part.min(), part.max()) == (0, 1)


def test_every_fifth_digit_is_for_testing_and_none_is_lost(digits):
    pixels, labels = load_digits(return_X_y=True)
    testing = np.arange(1797) % 5 == 4
    for part, part_labels, chosen in (
        (digits.train, digits.train_labels, ~testing),
        (digits.test, digits.test_labels, testing),
    ):
        np.testing.assert_array_equal(part * 16, pixels[chosen])
        np.testing.assert_array_equal(part_labels, labels[chosen])


def test_both_parts_hold_every_digit(digits):
    assert set(digits.train_labels.tolist()) == set(digits.test_labels.tolist()) == set(range(10))


def test_a_set_says_what_it_is_in_one_line(digits):
    assert digits.shape == (8, 8)
    assert repr(digits) == "digits: 1,438 training and 359 test pictures of 8 × 8 pixels"
