"""A progress bar for training: epoch, objective, monitor, rate and time left, on the terminal's error stream."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from boltzflow.learning.loop import EpochRecord
from boltzflow.learning.step import TrainState


class ProgressBar:
    """A callback that draws; silent where there is no terminal.

    with bf.ProgressBar() as bar:
        run = bf.train(machine, data, callbacks=[bar])
    """

    def __init__(self, label: str = "training") -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[seen]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(label, total=None, seen="compiling")

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, record: EpochRecord, state: TrainState) -> None:
        self._bar.update(self._task, total=record.epochs, completed=record.epoch, seen=describe(record))


def describe(record: EpochRecord) -> str:
    """One epoch in a line.

    >>> describe(EpochRecord(3, 30, 41.239, 0.001, 0.5))
    'epoch 3/30 · objective 41.24 · rate 0.001'
    """
    parts = [f"epoch {record.epoch}/{record.epochs}", f"objective {record.value:.4g}"]
    if record.monitor is not None:
        parts.append(f"monitor {record.monitor:.4g}")
    if record.learning_rate is not None:
        parts.append(f"rate {record.learning_rate:.2g}")
    return " · ".join(parts)
