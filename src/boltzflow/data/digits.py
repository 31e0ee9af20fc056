"""The 8 × 8 digits that come with scikit-learn: nothing to download."""

import numpy as np
from sklearn.datasets import load_digits

from boltzflow.data.pictures import PictureSet


def digits() -> PictureSet:
    """1,438 training and 359 test digits of 8 × 8 pixels, scaled from 0…16 to [0, 1]; every fifth one is for testing.

    >>> digits().train.shape
    (1438, 64)
    """
    pixels, labels = load_digits(return_X_y=True)
    values = (pixels / 16).astype(np.float32)
    testing = np.arange(len(values)) % 5 == 4
    return PictureSet("digits", (8, 8), values[~testing], values[testing], labels[~testing], labels[testing])
