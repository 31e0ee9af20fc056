"""What an experiment leaves behind: tables, verdicts and pictures, as one JSON file that no hand writes."""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

Answer: TypeAlias = Literal["holds", "in part", "does not hold", "not judged"]

HALF_RANGE = "half the range over seeds"

_LIBRARIES = ("jax", "jaxlib", "numpy", "optax", "equinox")


@dataclass(frozen=True)
class Number:
    """A measured number, and how far it moves."""

    value: float
    spread: float | None = None
    n: int = 1
    """How many numbers the mean was taken of."""
    kind: str = ""
    """What the spread is: half the range over seeds, a standard deviation over sets …"""

    def __str__(self) -> str:
        digits = 1 if abs(self.value) >= 100 else 2
        spread = "" if self.spread is None else f" ± {self.spread:.{digits}f}"
        return f"{self.value:.{digits}f}{spread}".replace("-", "−")


Cell: TypeAlias = Number | str | None


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows under headings."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """A sentence of the paper, what was measured, and whether it holds."""

    claim: str
    where: str
    """Section, table or figure of the paper."""
    paper: str
    measured: str
    answer: Answer
    because: str = ""
    """The rule that decides."""
    asked: bool = True
    """The paper says it; else it is a question of ours."""


@dataclass(frozen=True)
class Record:
    """All that a run of an experiment found."""

    name: str
    claim: str
    tables: tuple[Table, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    pictures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    data: str = ""
    seeds: tuple[int, ...] = ()
    quick: bool = False
    minutes: float = 0.0
    versions: Mapping[str, str] | None = None


def over_seeds(values: Sequence[float]) -> Number:
    """Mean and half the range.

    >>> str(over_seeds([1.0, 2.0, 3.0]))
    '2.00 ± 1.00'
    """
    found = np.asarray(values, float)
    if len(found) == 1:
        return Number(float(found[0]))
    return Number(float(found.mean()), float(found.max() - found.min()) / 2, len(found), HALF_RANGE)


def verdict(
    claim: str,
    where: str,
    paper: str,
    measured: str,
    parts: Sequence[bool],
    *,
    needs: Sequence[bool] = (),
    because: str = "",
    asked: bool = True,
) -> Verdict:
    """It holds where all its parts do and in part where some do; where a need is not met it does not hold at all.

    A need is what the sentence makes no sense without, such as the difference that a control must show.
    """
    met = all(needs) and any(parts)
    answer: Answer = "does not hold" if not met else "holds" if all(parts) else "in part"
    return Verdict(claim, where, paper, _minus(measured), answer, _minus(because), asked)


def clearly_less(those: Sequence[float], others: Sequence[float]) -> bool:
    """Every seed of the one below every seed of the other: further apart than seeds move."""
    return max(those) < min(others)


def _minus(text: str) -> str:
    """Hyphens before numbers are minus signs."""
    return re.sub(r"(?<![\w)])-(?=\d)", "−", text)


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    from boltzflow import __version__

    made = {"boltzflow": __version__, "python": platform.python_version()}
    made.update({library: version(library) for library in _LIBRARIES})
    return {**made, "machine": f"{platform.machine()}, {os.cpu_count()} cores"}


def write_record(folder: Path, record: Record) -> Path:
    """`<name>.json` in a folder, replaced in one go."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record.name}.json"
    unfinished = path.with_suffix(".json.part")
    unfinished.write_text(json.dumps(asdict(record), ensure_ascii=False, indent=1) + "\n")
    unfinished.replace(path)
    return path


def read_record(path: Path) -> Record:
    """A record as it was written."""
    facts = json.loads(path.read_text())
    tables = tuple(
        Table(each["title"], tuple(each["columns"]), tuple(map(_row, each["rows"])), each["note"])
        for each in facts["tables"]
    )
    verdicts = tuple(Verdict(**each) for each in facts["verdicts"])
    lists = {name: tuple(facts[name]) for name in ("pictures", "notes", "seeds")}
    return Record(**{**facts, **lists, "tables": tables, "verdicts": verdicts})


def _row(facts: Mapping[str, Any]) -> Row:
    cells = tuple(Number(**cell) if isinstance(cell, dict) else cell for cell in facts["cells"])
    return Row(facts["label"], cells)
