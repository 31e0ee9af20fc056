"""Parts of pictures drawn by hand."""

import re

import numpy as np
import pytest

from boltzflow.errors import InputError
from boltzflow.measure.components import n_components
from deep_oracles import types_unchecked

SHAPE = (4, 5)

DRAWN = {
    "nothing": ("..... ..... ..... .....", 0),
    "all": ("##### ##### ##### #####", 1),
    "a stroke": ("###.. ..... ..... .....", 1),
    "touching at corners": ("#.... .#... ..#.. ...#.", 1),
    "two strokes": ("###.. ..... ..... ..###", 2),
    "a frame and a dot that touches it": ("##### #...# #.#.# #####", 1),
    "a speck of two beside a stroke": ("##... ..... ..... .####", 1),
    "specks alone": ("##.## ..... ..... ##.##", 0),
    "no way around the edge": ("#...# #...# #...# .....", 2),
    "three": ("#.#.# #.#.# #.#.# .....", 3),
}


def picture(drawn: str) -> np.ndarray:
    return np.array([pixel == "#" for pixel in drawn.replace(" ", "")])


@pytest.mark.parametrize(("drawn", "expected"), DRAWN.values(), ids=DRAWN)
def test_parts_of_three_pixels_and_more_are_counted(drawn, expected):
    assert n_components(picture(drawn)[None], SHAPE).tolist() == [expected]


def test_pictures_are_counted_each_for_itself():
    pictures = np.stack([picture(drawn) for drawn, _ in DRAWN.values()])
    assert n_components(pictures, SHAPE).tolist() == [expected for _, expected in DRAWN.values()]
    assert n_components(pictures[::-1], SHAPE).tolist() == [expected for _, expected in DRAWN.values()][::-1]


@pytest.mark.parametrize(("least", "expected"), [(1, 2), (2, 2), (3, 1), (4, 1), (5, 0)])
def test_smaller_parts_do_not_count(least, expected):
    drawn = picture(DRAWN["a speck of two beside a stroke"][0])[None]
    assert n_components(drawn, SHAPE, least=least).tolist() == [expected]


def test_no_pictures_have_no_parts():
    assert n_components(np.zeros((0, 20), bool), SHAPE).tolist() == []


@pytest.mark.parametrize(
    ("pictures", "least", "sentence"),
    [
        (np.zeros((2, 19), bool), 3, "rows of 20 bits; got shape (2, 19)"),
        (np.zeros((2, 20)), 3, "type float64"),
        (np.zeros(20, bool), 3, "got shape (20,)"),
        (np.zeros((2, 20), bool), 0, "least must be a whole number, 1 or more; got 0"),
    ],
)
def test_what_are_no_pictures_is_refused(pictures, least, sentence):
    with types_unchecked(), pytest.raises(InputError, match=re.escape(sentence)):
        n_components(pictures, SHAPE, least=least)
