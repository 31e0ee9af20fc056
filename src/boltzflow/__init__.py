"""Boltzmann machines over binary units, trained by probability flow: local updates, no confabulations, no backward pass.

Names are loaded when they are first used, so that `boltzflow --help` does not wait for JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from boltzflow import data as data
    from boltzflow.errors import DivergenceError as DivergenceError
    from boltzflow.errors import InputError as InputError
    from boltzflow.files import load as load
    from boltzflow.files import save as save
    from boltzflow.learning.greedy import train_greedy as train_greedy
    from boltzflow.learning.loop import Run as Run
    from boltzflow.learning.loop import train as train
    from boltzflow.machine.builders import deep as deep
    from boltzflow.machine.builders import rbm as rbm
    from boltzflow.machine.builders import visible as visible
    from boltzflow.machine.graphs import graph as graph
    from boltzflow.machine.layout import Layout as Layout
    from boltzflow.machine.machine import Machine as Machine
    from boltzflow.machine.stack import Stack as Stack
    from boltzflow.machine.stack import as_deep as as_deep
    from boltzflow.machine.stack import as_stack as as_stack
    from boltzflow.machine.stack import stack as stack
    from boltzflow.measure.likelihood import log_likelihood as log_likelihood
    from boltzflow.measure.partition import log_partition as log_partition
    from boltzflow.progress import ProgressBar as ProgressBar
    from boltzflow.sampling.chains import sample as sample
    from boltzflow.sampling.generation import generate as generate
    from boltzflow.sampling.imputation import impute as impute

_HOME = {
    "data": "",
    "DivergenceError": "errors",
    "InputError": "errors",
    "Layout": "machine.layout",
    "Machine": "machine.machine",
    "ProgressBar": "progress",
    "Run": "learning.loop",
    "Stack": "machine.stack",
    "as_deep": "machine.stack",
    "as_stack": "machine.stack",
    "generate": "sampling.generation",
    "stack": "machine.stack",
    "train_greedy": "learning.greedy",
    "deep": "machine.builders",
    "graph": "machine.graphs",
    "impute": "sampling.imputation",
    "load": "files",
    "log_likelihood": "measure.likelihood",
    "log_partition": "measure.partition",
    "rbm": "machine.builders",
    "sample": "sampling.chains",
    "save": "files",
    "train": "learning.loop",
    "visible": "machine.builders",
}
"""Where each public name lives; an empty home is a module of that name."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'boltzflow' has no attribute {name!r}; it offers {', '.join(__dir__())}")
    if not _HOME[name]:
        return importlib.import_module(f"boltzflow.{name}")
    return getattr(importlib.import_module(f"boltzflow.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*sorted(_HOME), "__version__"]
