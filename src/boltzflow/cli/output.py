"""What verbs say: words for people on stdout, or one JSON object and nothing else."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

_PAGE = 200
"""Columns of a table that does not go to a terminal."""


def emit(facts: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    print(json.dumps(facts, ensure_ascii=False, indent=2, default=_plain))


def say(*lines: str) -> None:
    """Lines of words, unwrapped when they go to a file."""
    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(line, markup=False)


def say_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A small table: the first column is words, the others are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for k, name in enumerate(header):
        table.add_column(name, justify="left" if k == 0 else "right", no_wrap=k > 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PAGE)
    console.print(table)


def _plain(value: Any) -> Any:
    """Numbers of numpy and paths, as JSON knows them."""
    return value.item() if hasattr(value, "item") else str(value)
