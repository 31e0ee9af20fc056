"""Data by name or by file: the sets that boltzflow knows, and tables of the user's as .npy, .npz or .csv."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from boltzflow.data.digits import digits
from boltzflow.data.idx import fashion_mnist, mnist
from boltzflow.data.pictures import PictureSet
from boltzflow.errors import InputError, unknown

NAMED: Mapping[str, Callable[[str | Path | None], PictureSet]] = {
    "digits": lambda _: digits(),
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
}

READERS = (".npy", ".npz", ".csv")


@dataclass(frozen=True)
class Source:
    """A table to learn from; with pictures, all that belongs to them."""

    name: str
    train: np.ndarray
    pictures: PictureSet | None = None


def find(source: str, data_dir: str | Path | None = None) -> Source:
    """A data set by name, or a table by the path of its file."""
    if source in NAMED:
        pictures = NAMED[source](data_dir)
        return Source(source, pictures.train, pictures)
    path = Path(source).expanduser()
    if path.suffix not in READERS and not path.exists():
        raise unknown("data set", source, [*NAMED, *(f"a path ending in {end}" for end in READERS)])
    return Source(path.stem, read_table(path))


def read_table(path: Path) -> np.ndarray:
    """The table in a .npy, .npz (its only array) or .csv file (with or without a line of names; empty cells are missing)."""
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".npz":
            return _only_array(path)
        if path.suffix == ".csv":
            return _read_csv(path)
    except InputError:
        raise
    except (ValueError, OSError, EOFError) as reason:
        raise InputError(f"{path} cannot be read as {path.suffix}: {reason}") from None
    raise InputError(f"data files end in {', '.join(READERS)}; got {path.name}.")


def _only_array(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as archive:
        if len(archive.files) != 1:
            raise InputError(f"{path} should hold one array; it holds {', '.join(archive.files) or 'none'}.")
        return archive[archive.files[0]]


def _read_csv(path: Path) -> np.ndarray:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file) if line]
    named = bool(lines) and not any(cell.strip() and _is_number(cell) for cell in lines[0])
    table = lines[named:]
    if not table:
        raise InputError(f"{path} has no rows.")
    for k, line in enumerate(table, start=1 + named):
        if len(line) != len(table[0]):
            raise InputError(f"{path}: line {k} has {len(line)} cells, the first has {len(table[0])}.")
        if wrong := next((cell for cell in line if not _is_number(cell)), None):
            raise InputError(
                f"{path}: line {k} holds {wrong!r}, which is not a number; cells are numbers between commas."
            )
    return np.array([[float(cell) if cell.strip() else np.nan for cell in line] for line in table])


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return not cell.strip()
    return True
