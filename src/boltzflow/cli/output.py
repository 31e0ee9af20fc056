"""What verbs say: words for people on stdout, or one JSON object and nothing else."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console

_GAP = 2
"""Spaces between columns, and before a line that goes on."""
_LEAST = 16
"""A label column that folds is at least so wide; a terminal without that room gets blocks."""


class StoppedError(Exception):
    """The user stopped a run. The message says what is kept."""


def emit(facts: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    print(json.dumps(facts, ensure_ascii=False, indent=2, default=_plain))


def say(*lines: str) -> None:
    """Lines of words; a terminal too narrow for one gets it folded, a file never does."""
    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        for part in _hang(line, console.width) if console.is_terminal else [line]:
            console.print(part, markup=False)


def say_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: the first column is words, the others are numbers; as wide as it is, or as a terminal has room for."""
    console = Console()
    say(*table_lines(header, list(rows), console.width if console.is_terminal else None))


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """A table in lines no wider than `width`; nothing is ever left out.

    Headings fold at words first, then labels do; where even that is too wide, each row becomes a block.

    >>> for line in table_lines(["errors of", "the machine"], [["a machine", "3.14"]], 20):
    ...     print(line)
                   the
    errors of  machine
    a machine     3.14
    """
    widths = _widths(header, rows, width)
    if widths is None:
        return _blocks(header, rows, width or 0)
    headings = [_fold(name, size) for name, size in zip(header, widths, strict=True)]
    depth = max(map(len, headings))
    folded = [[[""] * (depth - len(each)) + each for each in headings]]
    folded += [[_fold(row[0], widths[0], indent=_GAP), *([cell] for cell in row[1:])] for row in rows]
    return [line for cells in folded for line in _lines(cells, widths)]


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> list[int] | None:
    """Of the columns, with headings in as few lines as possible; None where the table does not fit."""
    labels, *columns = zip(header, *rows, strict=True)
    natural = max(map(len, labels))
    numbers: list[int] = []
    for n_lines in range(1, max(len(name.split()) for name in ("-", *header)) + 1):
        numbers = [max(_narrowest(name, n_lines), 0, *map(len, cells)) for name, *cells in columns]
        room = natural if width is None else width - sum(numbers) - _GAP * len(numbers)
        if room >= natural:
            return [natural, *numbers]
    room = (width or 0) - sum(numbers) - _GAP * len(numbers)
    longest = max((len(word) for label in labels for word in label.split()), default=0)
    return [room, *numbers] if room >= max(_LEAST, longest + _GAP) else None


def _narrowest(text: str, n_lines: int) -> int:
    """The least width at which a text folds into so many lines, no word cut."""
    longest = max(map(len, text.split()), default=0)
    return next(size for size in range(longest, len(text) + 1) if len(_fold(text, size)) <= n_lines)


def _hang(line: str, width: int) -> list[str]:
    """A line folded at words; what follows a label of its own stays to the right of it.

    >>> _hang("  measured  1.5 against 1.7", 26)
    ['  measured  1.5 against', '            1.7']
    """
    label = re.match(r" *\S+(?: \S+)* {2,}", line)
    return _fold(line, width, indent=min(len(label[0]) if label else 0, width // 2))


def _fold(text: str, width: int, indent: int = 0) -> list[str]:
    folded = wrap(text, max(width, 1), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return folded or [""]


def _lines(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """Folded cells side by side; the first column to the left, the others to the right."""
    lines: list[str] = []
    for k in range(max(map(len, cells))):
        label, *numbers = (cell[k] if k < len(cell) else "" for cell in cells)
        aligned = [label.ljust(widths[0]), *(each.rjust(size) for each, size in zip(numbers, widths[1:], strict=True))]
        lines.append((" " * _GAP).join(aligned).rstrip())
    return lines


def _blocks(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Each row as its label and a line for each cell that says something."""
    lines: list[str] = _fold(f"{header[0]}:", width) if header[0] else []
    for label, *cells in rows:
        told = [f"{name}: {cell}" if name else cell for name, cell in zip(header[1:], cells, strict=True) if cell]
        lines += [f"  {line}" for line in _fold(label, width - 2, indent=2)]
        lines += [f"    {line}" for each in told for line in _fold(each, width - 4, indent=2)]
    return lines


def _plain(value: Any) -> Any:
    """Numbers of numpy and paths, as JSON knows them."""
    return value.item() if hasattr(value, "item") else str(value)
