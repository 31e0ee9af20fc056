"""What an experiment may ask for: data, trained models, and pieces of work that are kept, so that a run can go on."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Float

from boltzflow import __version__
from boltzflow.data.digits import digits
from boltzflow.data.pictures import PictureSet
from boltzflow.data.sources import NAMED
from boltzflow.experiments.record import Record
from boltzflow.files import new_folder, read, write_model
from boltzflow.learning.greedy import train_greedy
from boltzflow.learning.loop import EpochRecord, train
from boltzflow.learning.settings import make_settings
from boltzflow.machine.builders import deep, rbm, visible
from boltzflow.machine.machine import Machine
from boltzflow.machine.stack import Model, Stack, stack

N_TRAINING = 50_000
"""The paper's authors learned from the first 50,000 of the training pictures; the rest choose, the test set judges."""

Facts: TypeAlias = dict[str, Any]
"""What a piece of work found, as JSON knows it."""

Rows: TypeAlias = Float[np.ndarray, "rows pixels"]

Kind = TypeVar("Kind", Machine, Stack)


@dataclass(frozen=True)
class Recipe:
    """A model, by all that it takes to train it."""

    kind: Literal["visible", "rbm", "deep", "stack", "greedy"]
    hidden: tuple[int, ...]
    epochs: int
    seed: int = 0
    rule: str = "vpf"
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    lateral: bool = False
    data: str = "mnist"

    @property
    def label(self) -> str:
        """Readable, different for each recipe, and the same for all ways to write one."""
        resolved = {**asdict(self), "settings": asdict(make_settings(dict(self.settings)))}
        widths = "-".join(map(str, self.hidden))
        return f"{self.data}-{self.rule}-{self.kind}{widths}-{_digest(resolved)}"


@dataclass(frozen=True)
class Trained:
    """A model and how it came to be."""

    model: Any
    seconds: float
    epochs: int
    objective: tuple[float, ...]
    """After each epoch."""


@dataclass(frozen=True)
class Piece:
    """A part of an experiment that is kept once it is done."""

    name: str
    seconds: float
    """What it takes on two cores, the models that it trains included."""
    make: Callable[[], Facts]
    pictures: tuple[str, ...] = ()
    """Files that it draws."""
    models: tuple[Recipe, ...] = ()
    """What it trains, unless somebody has before; its own seconds are counted apart from theirs."""
    depends: Any = ()
    """What else it is made of that its name does not say, as JSON knows it."""


@dataclass(frozen=True)
class Experiment:
    """One table or figure: what it claims to check, what it takes, how it is made."""

    name: str
    claim: str
    minutes: float
    """Of a full run on two cores, alone."""
    n_seeds: int
    """How many trainings of each model there are unless told otherwise."""
    pieces: Callable[["Study"], Sequence[Piece]]
    finish: Callable[["Study", Mapping[str, Facts]], Record]
    data: tuple[str, ...] = ("mnist",)
    seeded: bool = True
    """Whether more seeds change anything; else each model is trained once."""


@dataclass(frozen=True)
class Study:
    """One run of one experiment."""

    seeds: tuple[int, ...]
    work: Path
    """Where models and finished pieces are kept; those of quick runs apart."""
    out: Path
    """Where pictures and the record go."""
    data_dir: Path | None = None
    quick: bool = False
    since: float = 0.0
    """What was kept before this time (seconds since 1970) is done again."""

    def size(self, full: int, quick: int) -> int:
        """A number of rows, epochs, units …: the real one, or one that is over in a moment."""
        return quick if self.quick else full

    def pictures(self, name: str = "mnist") -> PictureSet:
        """A data set by name; a quick run does with the digits that are built in."""
        known = self._sets
        if name not in known:
            known[name] = digits() if self.quick else NAMED[name](self.data_dir)
        return known[name]

    @cached_property
    def _sets(self) -> dict[str, PictureSet]:
        return {}

    def training(self, name: str = "mnist") -> Rows:
        """What models learn from."""
        return self.pictures(name).train[: self.size(N_TRAINING, 400)]

    def choosing(self, name: str = "mnist") -> Rows:
        """What settings are chosen on: training pictures that no model has learned from."""
        return self.pictures(name).train[self.size(N_TRAINING, 400) :][: self.size(10_000, 100)]

    def judging(self, name: str = "mnist", n_rows: int = 10_000) -> Rows:
        """The test pictures, or the first so many."""
        return self.pictures(name).test[: self.size(n_rows, 60)]

    def trained(self, recipe: Recipe) -> Trained:
        """The model of a recipe; trained once, then kept."""
        folder = self.folder(recipe)
        if not self.kept(folder / "config.json"):
            model, records = self._train(recipe)
            with new_folder(folder) as unfinished:
                write_model(unfinished, model, _about(recipe, records))
        saved = read(folder)
        return Trained(
            saved.model, saved.about["seconds"], saved.about["epochs_run"], tuple(saved.about["objective_by_epoch"])
        )

    def folder(self, recipe: Recipe) -> Path:
        """Where the model of a recipe is kept."""
        return self.work / ("quick" if self.quick else "full") / "models" / recipe.label

    def kept(self, path: Path) -> bool:
        """Whether a file is there, and not too old."""
        return path.is_file() and path.stat().st_mtime >= self.since

    def _train(self, recipe: Recipe) -> tuple[Model, list[EpochRecord]]:
        rows = self.training(recipe.data)
        hidden = tuple(self.size(width, max(4, width // 16)) for width in recipe.hidden)
        epochs = self.size(recipe.epochs, 2)
        model = _build(recipe, rows.shape[1], hidden)
        how = {"rule": recipe.rule, "rule_options": dict(recipe.options), "epochs": epochs, "seed": recipe.seed}
        if recipe.kind == "greedy":
            assert isinstance(model, Stack)
            runs = train_greedy(model, rows, **how, **recipe.settings)
            return runs.model, [record for run in runs.runs for record in run.history]
        run = train(model, rows, **how, **recipe.settings)
        return run.model, list(run.history)


def _build(recipe: Recipe, n_visible: int, hidden: tuple[int, ...]) -> Model:
    if recipe.kind == "visible":
        return visible(n_visible)
    if recipe.kind == "rbm":
        return rbm(n_visible, *hidden, seed=recipe.seed)
    make = deep if recipe.kind == "deep" else stack
    return make(n_visible, *hidden, lateral=recipe.lateral, seed=recipe.seed)


def _about(recipe: Recipe, records: Sequence[EpochRecord]) -> Facts:
    return {
        "recipe": asdict(recipe),
        "seconds": round(sum(record.seconds for record in records), 3),
        "epochs_run": len(records),
        "objective_by_epoch": [record.value for record in records],
    }


def _digest(told: Any) -> str:
    return hashlib.sha256(json.dumps([told, __version__], sort_keys=True).encode()).hexdigest()[:12]


Watcher: TypeAlias = Callable[[int, Sequence[Piece], float], None]
"""Called before each piece with its number, all pieces, and the seconds that are left."""


def perform(experiment: Experiment, study: Study, watch: Watcher | None = None) -> tuple[Record, float]:
    """All pieces, those that are kept from an earlier run taken as they are; then the record, and its minutes.

    The minutes are those of the work itself, whenever it was done: of each piece, and of each model's training once.
    """
    pieces = list(experiment.pieces(study))
    found: dict[str, Facts] = {}
    pace = 1.0
    for k, piece in enumerate(pieces):
        if watch is not None:
            missing = [each.seconds for each in pieces[k:] if _read(study, experiment, each) is None]
            watch(k, pieces, pace * sum(missing))
        facts = _read(study, experiment, piece)
        if facts is None:
            facts, pace = _make(study, experiment, piece, pace)
        found[piece.name] = facts
    record = experiment.finish(study, {name: facts["found"] for name, facts in found.items()})
    if study.quick:
        record = replace(record, verdicts=tuple(replace(each, answer="not judged") for each in record.verdicts))
    models = {recipe.label: recipe for piece in pieces for recipe in piece.models}
    training = sum(study.trained(recipe).seconds for recipe in models.values())
    return record, (training + sum(facts["seconds"] for facts in found.values())) / 60


def _make(study: Study, experiment: Experiment, piece: Piece, pace: float) -> tuple[Facts, float]:
    """What a piece finds, with its seconds apart from those of its models; and the pace after it."""
    began = time.perf_counter()
    for recipe in piece.models:
        study.trained(recipe)
    trained = time.perf_counter()
    facts: Facts = {"found": piece.make()}
    done = time.perf_counter()
    facts["seconds"] = done - trained
    _write(study, experiment, piece, facts)
    return facts, 0.5 * (pace + (done - began) / max(piece.seconds, 1e-3))


def _path(study: Study, experiment: Experiment, piece: Piece) -> Path:
    """A piece is found again by all that it was made of: its name, its models, and the text of its experiment."""
    source = Path(str(sys.modules[experiment.pieces.__module__].__file__)).read_text()
    made_of = [piece.name, [recipe.label for recipe in piece.models], piece.depends, source]
    parent = study.work / ("quick" if study.quick else "full") / "pieces" / experiment.name
    return parent / f"{piece.name}-{_digest(made_of)}.json"


def _read(study: Study, experiment: Experiment, piece: Piece) -> Facts | None:
    path = _path(study, experiment, piece)
    drawn = all((study.out / name).is_file() for name in piece.pictures)
    return json.loads(path.read_text()) if study.kept(path) and drawn else None


def _write(study: Study, experiment: Experiment, piece: Piece, facts: Facts) -> None:
    path = _path(study, experiment, piece)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(facts))
    unfinished.replace(path)
