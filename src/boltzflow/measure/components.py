"""Gaps in drawn strokes: how many separate parts a picture has."""

import numpy as np
from jaxtyping import Bool, Int
from scipy import ndimage

from boltzflow.errors import InputError, check_count

_TOUCHING = np.stack([np.zeros((3, 3)), np.ones((3, 3)), np.zeros((3, 3))])
"""A pixel and the eight around it, in its own picture."""


def n_components(
    pictures: Bool[np.ndarray, "pictures pixels"], shape: tuple[int, int], *, least: int = 3
) -> Int[np.ndarray, " pictures"]:
    """How many connected parts of at least `least` lit pixels each picture has; pixels touch by sides and by corners.

    >>> n_components(np.array([[True, False, True], [True, True, False]]), (1, 3), least=1).tolist()
    [2, 1]
    """
    least = check_count("least", least)
    if pictures.ndim != 2 or pictures.dtype != bool or pictures.shape[1] != shape[0] * shape[1]:
        raise InputError(
            f"pictures of {shape[0]} × {shape[1]} pixels are rows of {shape[0] * shape[1]} bits; "
            f"got shape {pictures.shape} and type {pictures.dtype}."
        )
    parts = np.zeros((len(pictures), *shape), np.int32)
    ndimage.label(pictures.reshape(parts.shape), _TOUCHING, output=parts)
    lit = np.nonzero(parts)
    sizes = np.bincount(parts[lit])
    picture_of = np.zeros(len(sizes), int)
    picture_of[parts[lit]] = lit[0]
    return np.bincount(picture_of[sizes >= least], minlength=len(pictures))
