"""idx files, written here byte by byte, are read as they were meant, and what is not one is refused by name."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

import boltzflow as bf
from boltzflow.data import idx
from boltzflow.data.idx import FILES, find_folder, read_idx

RNG = np.random.default_rng(0)
ARRAYS = {
    "train-images-idx3-ubyte": RNG.integers(0, 256, (5, 4, 3)),
    "t10k-images-idx3-ubyte": RNG.integers(0, 256, (2, 4, 3)),
    "train-labels-idx1-ubyte": np.array([3, 1, 4, 1, 5]),
    "t10k-labels-idx1-ubyte": np.array([9, 2]),
}
SETS = {"mnist": bf.data.mnist, "fashion-mnist": bf.data.fashion_mnist}


def idx_bytes(values: np.ndarray) -> bytes:
    """Two zero bytes, 8 for unsigned bytes, the count of axes, each length in four bytes, the values."""
    lengths = b"".join(length.to_bytes(4, "big") for length in values.shape)
    return bytes([0, 0, 8, values.ndim]) + lengths + values.astype(np.uint8).tobytes()


def write(folder: Path, *, packed: bool = True, **changed: np.ndarray) -> Path:
    """The four files of a set; `changed` names others than the usual arrays by the first word of a file and its kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, usual in ARRAYS.items():
        content = idx_bytes(changed.get("_".join(name.split("-")[:2]), usual))
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.fixture(autouse=True)
def _no_folder_named_outside(monkeypatch):
    monkeypatch.delenv("BOLTZFLOW_DATA", raising=False)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("below", ["", "its own"])
def test_pictures_are_one_row_each_from_zero_to_one_with_their_labels(tmp_path, name, packed, below):
    write(tmp_path / (name if below else ""), packed=packed)
    found = SETS[name](tmp_path)
    assert (found.name, found.shape) == (name, (4, 3))
    np.testing.assert_array_equal(found.train, (ARRAYS[FILES[0]].reshape(5, 12) / 255).astype(np.float32))
    np.testing.assert_array_equal(found.test, (ARRAYS[FILES[1]].reshape(2, 12) / 255).astype(np.float32))
    assert (found.train_labels.tolist(), found.test_labels.tolist()) == ([3, 1, 4, 1, 5], [9, 2])


def test_the_folder_can_be_named_by_the_environment_or_as_text(tmp_path, monkeypatch):
    write(tmp_path / "mnist")
    by_text = bf.data.mnist(str(tmp_path))
    monkeypatch.setenv("BOLTZFLOW_DATA", str(tmp_path))
    np.testing.assert_array_equal(bf.data.mnist().train, by_text.train)


def test_a_folder_named_in_the_call_comes_before_that_of_the_environment(tmp_path, monkeypatch):
    write(tmp_path / "here")
    write(tmp_path / "there", train_labels=np.zeros(5))
    monkeypatch.setenv("BOLTZFLOW_DATA", str(tmp_path / "there"))
    assert bf.data.mnist(tmp_path / "here").train_labels.tolist() == [3, 1, 4, 1, 5]


def test_a_folder_of_the_name_of_the_set_comes_before_the_folder_itself(tmp_path):
    write(tmp_path, train_labels=np.zeros(5))
    write(tmp_path / "mnist")
    assert find_folder("mnist", tmp_path) == tmp_path / "mnist"


def test_the_home_of_the_user_can_be_written_as_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(write(tmp_path)))
    assert find_folder("mnist", "~") == tmp_path


@pytest.mark.parametrize("name", SETS)
def test_without_a_folder_the_error_says_where_the_files_are_and_how_to_name_theirs(name):
    with pytest.raises(bf.InputError) as refused:
        SETS[name]()
    said = str(refused.value)
    assert said.startswith(f"the four files of {name} were not found: no folder was named. Fetch {FILES[0]}.gz")
    assert "https://" in said
    assert said.endswith("then name their folder with data_dir= or BOLTZFLOW_DATA.")


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_reported_with_the_folders_that_were_searched(tmp_path, missing):
    (write(tmp_path) / f"{missing}.gz").unlink()
    with pytest.raises(bf.InputError, match="were not found") as refused:
        bf.data.mnist(tmp_path)
    assert f"looked in {tmp_path / 'mnist'}, {tmp_path}; {tmp_path} lacks {missing}.gz. Fetch" in str(refused.value)


def test_files_that_are_not_those_of_the_set_are_refused_with_both_checksums(tmp_path, monkeypatch):
    """Packed or not, their unpacked bytes count."""
    write(tmp_path)
    sums = [hashlib.sha256(gzip.decompress((tmp_path / f"{file}.gz").read_bytes())).hexdigest() for file in FILES]
    monkeypatch.setitem(idx.CHECKSUMS, "mnist", tuple(sums))
    idx.verify("mnist", tmp_path)
    content = gzip.decompress((tmp_path / f"{FILES[2]}.gz").read_bytes())
    changed = content[:-1] + b"\0"
    (tmp_path / f"{FILES[2]}.gz").write_bytes(gzip.compress(changed))
    with pytest.raises(bf.InputError) as refused:
        idx.verify("mnist", tmp_path)
    for part in (FILES[2], sums[2], hashlib.sha256(changed).hexdigest(), "https://"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    "values", [np.arange(7), np.arange(6).reshape(2, 3), np.arange(24).reshape(2, 3, 2, 2), np.zeros((0, 3))]
)
def test_an_idx_file_of_any_number_of_axes_is_read_as_written(tmp_path, values):
    (tmp_path / "values").write_bytes(idx_bytes(values))
    np.testing.assert_array_equal(read_idx(tmp_path / "values"), values)


WHOLE = idx_bytes(np.arange(6).reshape(2, 3))
BROKEN = {
    "empty": b"",
    "three bytes": WHOLE[:3],
    "ends in its lengths": WHOLE[:9],
    "ends in its values": WHOLE[:-1],
    "goes on after its values": WHOLE + b"\0",
    "other type of number": b"\0\0\x0d" + WHOLE[3:],
    "no axes": b"\0\0\x08\0",
    "a web page": b"<!DOCTYPE html><html><body>Not found</body></html>",
}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_no_complete_idx_file_is_refused_by_name(tmp_path, content, packed):
    path = tmp_path / ("values.gz" if packed else "values")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(bf.InputError) as refused:
        read_idx(path)
    assert str(refused.value) == f"{path} is not a complete idx file of bytes; fetch it again."


PACKED = gzip.compress(WHOLE)
UNREADABLE = {
    "not packed": WHOLE,
    "ends early": PACKED[:-9],
    "ends in its header": PACKED[:5],
    "a damaged stream": PACKED[:10] + b"\xff\xff" + PACKED[12:],
    "a wrong checksum": PACKED[:-8] + bytes(4) + PACKED[-4:],
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_unpacked_is_refused_by_name(tmp_path, content):
    (tmp_path / "values.gz").write_bytes(content)
    with pytest.raises(bf.InputError, match=r"values\.gz cannot be unpacked \(.+\); fetch it again\.$"):
        read_idx(tmp_path / "values.gz")


MISFITS = {
    "fewer labels than pictures": {"train_labels": np.zeros(4)},
    "more test labels than pictures": {"t10k_labels": np.zeros(3)},
    "pictures of two sizes": {"t10k_images": np.zeros((2, 3, 4))},
    "pictures that are labels": {"train_images": np.zeros(5)},
    "labels that are pictures": {"train_labels": np.zeros((5, 4, 3))},
}


@pytest.mark.parametrize("changed", MISFITS.values(), ids=MISFITS)
def test_files_that_do_not_belong_together_are_refused_with_their_shapes(tmp_path, changed):
    write(tmp_path, **changed)
    with pytest.raises(bf.InputError, match="do not belong together") as refused:
        bf.data.mnist(tmp_path)
    assert str(next(iter(changed.values())).shape) in str(refused.value)
