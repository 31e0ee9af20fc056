import numpy as np
import pytest

import boltzflow as bf
from boltzflow.data.sources import find, read_table

ROWS = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("names", ["", "a,b,c\n"])
def test_a_csv_is_read_whole_with_and_without_names_and_mark(tmp_path, encoding, names):
    (tmp_path / "t.csv").write_text(names + "1,0,1\n0,1,1\n", encoding=encoding)
    assert read_table(tmp_path / "t.csv").tolist() == ROWS


def test_empty_cells_are_missing(tmp_path):
    (tmp_path / "t.csv").write_text("1,,1\n0,1, \n")
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv"), [[1, np.nan, 1], [0, 1, np.nan]])


def test_arrays_are_read_from_npy_and_npz(tmp_path):
    np.save(tmp_path / "t.npy", ROWS)
    np.savez(tmp_path / "t.npz", anything=ROWS)
    for name in ("t.npy", "t.npz"):
        assert find(str(tmp_path / name)).train.tolist() == ROWS


WRONG = {
    "a typo in the first line": ("t.csv", "1,O,1\n0,1,1\n", "line 1 holds 'O', which is not a number"),
    "a typo later": ("t.csv", "1,0,1\n0,x,1\n", "line 2 holds 'x'"),
    "uneven": ("t.csv", "1,0,1\n0,1\n", "line 2 has 2 cells, the first has 3"),
    "nothing": ("t.csv", "", "has no rows"),
    "names alone": ("t.csv", "a,b\n", "has no rows"),
    "no array": ("t.npy", "text", "cannot be read as .npy"),
    "no archive": ("t.npz", "text", "cannot be read as .npz"),
    "another kind": ("t.tsv", "1\t2\n", r"data files end in \.npy, \.npz, \.csv; got t\.tsv"),
}


@pytest.mark.parametrize(("name", "content", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_no_table_is_refused(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(bf.InputError, match=sentence):
        read_table(tmp_path / name)


def test_an_archive_of_two_arrays_is_refused_once(tmp_path):
    np.savez(tmp_path / "t.npz", a=ROWS, b=ROWS)
    with pytest.raises(bf.InputError, match=r"should hold one array; it holds a, b\.$"):
        read_table(tmp_path / "t.npz")


def test_masked_values_are_missing():
    masked = np.ma.masked_array(ROWS, mask=[[0, 1, 0], [0, 0, 0]])
    with pytest.raises(bf.InputError, match=r"missing .* in row 0, column 1"):
        bf.train(bf.visible(3), masked, rule="mpf", epochs=1)


def test_spins_are_told_how_to_become_bits():
    with pytest.raises(bf.InputError, match=r"by \(x \+ 1\) / 2"):
        bf.train(bf.visible(3), 2 * np.array(ROWS) - 1, rule="mpf", epochs=1)
