"""MNIST and Fashion-MNIST from their four idx files each, found in a folder of the user's."""

import gzip
import hashlib
import os
import zlib
from math import prod
from pathlib import Path

import numpy as np

from boltzflow.data.pictures import PictureSet
from boltzflow.errors import InputError

FILES = (
    "train-images-idx3-ubyte",
    "t10k-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-labels-idx1-ubyte",
)

CHECKSUMS = {
    "mnist": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "fashion-mnist": (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
}
"""SHA-256 of the unpacked bytes of each file: the packing differs between sources, what is packed does not."""

_MOST_AXES = 64
"""Of an array in numpy."""

_SOURCES = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/<file>",
    "fashion-mnist": "https://storage.googleapis.com/tensorflow/tf-keras-datasets/<file>",
}
"""Where a user can fetch the files; said in the error for missing ones."""


def mnist(data_dir: str | Path | None = None) -> PictureSet:
    """60,000 training and 10,000 test digits of 28 × 28 pixels, from `data_dir` or the folder named by BOLTZFLOW_DATA."""
    return read_idx_set("mnist", data_dir)


def fashion_mnist(data_dir: str | Path | None = None) -> PictureSet:
    """60,000 training and 10,000 test pictures of clothing, 28 × 28 pixels, from `data_dir` or BOLTZFLOW_DATA."""
    return read_idx_set("fashion-mnist", data_dir)


def read_idx_set(name: str, data_dir: str | Path | None) -> PictureSet:
    """The four files of a set, from `<folder>/<name>/` or `<folder>/`, gzipped or not."""
    folder = find_folder(name, data_dir)
    train, test, train_labels, test_labels = (read_idx(_file(folder, file)) for file in FILES)
    fits = train.ndim == 3 and train.shape[1:] == test.shape[1:]
    if not fits or train_labels.shape != train.shape[:1] or test_labels.shape != test.shape[:1]:
        shapes = ", ".join(str(part.shape) for part in (train, test, train_labels, test_labels))
        raise InputError(f"the files in {folder} do not belong together: their shapes are {shapes}.")
    shape = (train.shape[1], train.shape[2])
    return PictureSet(
        name, shape, _grey(train), _grey(test), train_labels.astype(np.int64), test_labels.astype(np.int64)
    )


def find_folder(name: str, data_dir: str | Path | None) -> Path:
    """The folder that holds a set's files; an error says where they were looked for and where they can be had."""
    given = data_dir or os.environ.get("BOLTZFLOW_DATA")
    tried = [folder for base in ([Path(given).expanduser()] if given else []) for folder in (base / name, base)]
    for folder in tried:
        if all(_file(folder, file).is_file() for file in FILES):
            return folder
    looked = f"looked in {', '.join(map(str, tried))}" if tried else "no folder was named"
    if nearest := next((folder for folder in tried if any(_file(folder, file).is_file() for file in FILES)), None):
        missing = [f"{file}.gz" for file in FILES if not _file(nearest, file).is_file()]
        looked += f"; {nearest} lacks {', '.join(missing)}"
    raise InputError(
        f"the four files of {name} were not found: {looked}. Fetch {FILES[0]}.gz and its three companions "
        f"(from {_SOURCES[name]}), then name their folder with data_dir= or BOLTZFLOW_DATA."
    )


def verify(name: str, data_dir: str | Path | None) -> None:
    """Refuse files of a named set that are not, byte for byte, what everybody else means by it."""
    folder = find_folder(name, data_dir)
    for file, expected in zip(FILES, CHECKSUMS[name], strict=True):
        path = _file(folder, file)
        found = hashlib.sha256(_content(path)).hexdigest()
        if found != expected:
            raise InputError(
                f"{path} is not the file that {name} has: SHA-256 of its unpacked bytes is {found}, expected {expected}; "
                f"fetch it again (from {_SOURCES[name]})."
            )


def read_idx(path: Path) -> np.ndarray:
    """One idx file of unsigned bytes: a magic number with the count of axes, their lengths, the values."""
    content = _content(path)
    n_axes = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    begin = 4 + 4 * n_axes
    shape = tuple(np.frombuffer(content[4:begin], ">u4").tolist()) if n_axes and len(content) >= begin else ()
    if not 0 < len(shape) <= _MOST_AXES or len(content) != begin + prod(shape):
        raise InputError(f"{path} is not a complete idx file of bytes; fetch it again.")
    return np.frombuffer(content, np.uint8, offset=begin).reshape(shape)


def _content(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as reason:
        raise InputError(f"{path} cannot be unpacked ({reason}); fetch it again.") from None


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.gz"
    return packed if packed.is_file() else folder / name


def _grey(pictures: np.ndarray) -> np.ndarray:
    return pictures.reshape(len(pictures), -1).astype(np.float32) / np.float32(255)
