import numpy as np
import pytest

import boltzflow as bf
from boltzflow import plots
from boltzflow.measure.reconstruction import SIDES, region, without


def test_a_mosaic_puts_each_picture_in_its_place():
    pictures = np.arange(3)[:, None] * np.ones((3, 4))
    expected = [[0, 0, 9, 1, 1], [0, 0, 9, 1, 1], [9, 9, 9, 9, 9], [2, 2, 9, 9, 9], [2, 2, 9, 9, 9]]
    assert plots.mosaic(pictures, (2, 2), 2, gap=9.0).tolist() == expected


def test_filters_are_the_couplings_of_hidden_units():
    machine = bf.rbm(4, 3)
    assert np.array_equal(plots.filters(machine), machine.couplings[0])
    assert plots.filters(bf.visible(4)).shape == (0, 4)


@pytest.mark.parametrize("machine", [bf.rbm(64, 5), bf.visible(64), bf.deep(64, 4, 3, lateral=True)], ids=str)
def test_an_overview_of_every_kind_of_machine_is_drawn(machine, tmp_path):
    originals = bf.data.digits().test[:4]
    repairs = []
    for side in SIDES:
        corrupted = without(originals, region((8, 8), side))
        repairs.append(plots.Repair(side, originals, corrupted, np.nan_to_num(corrupted)))
    path = tmp_path / "overview.png"
    plots.overview(machine, (8, 8), repairs, originals, "a title").savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")
