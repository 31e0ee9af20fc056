"""The paper, one experiment a table or figure: its claim, its expected numbers, its minutes."""

import importlib

from boltzflow.errors import unknown
from boltzflow.experiments.study import Experiment

NAMES = (
    "table1",
    "table2",
    "likelihood",
    "filters",
    "training",
    "reconstructions",
    "samples",
    "fashion",
    "claims",
)


def experiment(name: str) -> Experiment:
    """An experiment by name."""
    if name not in NAMES:
        raise unknown("experiment", name, [*NAMES, "all"])
    return importlib.import_module(f"boltzflow.experiments.{name}").EXPERIMENT
