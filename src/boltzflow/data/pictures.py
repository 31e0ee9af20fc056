"""A set of pictures with what belongs to it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class PictureSet:
    """Greyscale pictures in [0, 1], flattened to one row each, with labels, for training and for testing."""

    name: str
    shape: tuple[int, int]
    """Rows and columns of a picture."""
    train: Float[np.ndarray, "train pixels"]
    test: Float[np.ndarray, "test pixels"]
    train_labels: Int[np.ndarray, " train"]
    test_labels: Int[np.ndarray, " test"]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"{self.name}: {len(self.train):,} training and {len(self.test):,} test pictures of {rows} × {columns} pixels"
