"""What experiments compute beside the measures: neighbours' means, flat curves."""

import numpy as np
import pytest

from boltzflow.experiments.table2 import neighbour_means
from boltzflow.experiments.training import flat_from


def test_means_of_neighbours_against_a_search_one_by_one():
    bits = (np.random.default_rng(0).random((40, 9)) < 0.4).astype(np.float32)
    bits = np.unique(bits, axis=0)
    found = neighbour_means(bits, 7, 1, n_rows=3)
    np.testing.assert_array_equal(found, bits[:7])
    for row, mean in zip(bits[:7], neighbour_means(bits, 7, 5, n_rows=3), strict=True):
        distances = np.abs(bits - row).sum(axis=1)
        reached = np.abs(bits - row).sum(axis=1)[np.argsort(distances, kind="stable")[:5]].sum()
        assert np.isclose(np.abs(mean - row).sum() * 5, reached)


@pytest.mark.parametrize(
    ("curve", "epoch"), [([10, 5, 1.05, 1.1, 1.0], 3), ([10, 1, 1], 2), ([10, 8, 6, 4], 4), ([10, 1, 5, 1], 4)]
)
def test_a_curve_is_flat_from_where_it_stays_near_its_end(curve, epoch):
    assert flat_from(curve) == epoch
