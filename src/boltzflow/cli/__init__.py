"""The command-line door: one module per verb, and one place that turns errors into words and exit codes.

Exit codes: 0, 1 where a run failed, 2 where the call was wrong, 130 where the user stopped it.
JAX is imported by the verbs when they run, not for --help.
"""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from boltzflow import __version__
from boltzflow.cli.info import info
from boltzflow.cli.output import StoppedError
from boltzflow.cli.reproduce import reproduce
from boltzflow.cli.sample import sample
from boltzflow.cli.train import train
from boltzflow.errors import DivergenceError, InputError

app = typer.Typer(
    invoke_without_command=True,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _stoppable(verb: Callable[..., None]) -> Callable[..., None]:
    """Typer ends in silence where it sees Ctrl-C, so it does not get to see it."""

    @wraps(verb)
    def run(*args: Any, **options: Any) -> None:
        try:
            verb(*args, **options)
        except KeyboardInterrupt:
            raise StoppedError("stopped; nothing was saved.") from None

    return run


for verb in (train, sample, info, reproduce):
    app.command(no_args_is_help=verb is not train)(_stoppable(verb))


@app.callback()
def whole(*, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Boltzmann machines over binary units, trained by probability flow."""
    if version:
        print(f"boltzflow {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; what the user did wrong is answered in one sentence."""
    try:
        app()
    except StoppedError as reason:
        print(f"boltzflow: {reason}", file=sys.stderr)
        _leave(130)
    except InputError as reason:
        _fail(str(reason), 2)
    except DivergenceError as reason:
        _fail(str(reason), 1)
    except OSError as reason:
        where = f" {reason.filename}" if reason.filename else ""
        _fail(f"cannot read or write{where}: {reason.strerror or reason}.", 1)


def _fail(sentence: str, code: int) -> None:
    print(f"boltzflow: {sentence}", file=sys.stderr)
    sys.exit(code)


def _leave(code: int) -> None:
    """At once: a computation may still be running, and Python's own way out can crash in it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
