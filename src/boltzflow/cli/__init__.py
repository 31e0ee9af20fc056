"""The command-line door: one module per verb, and one place that turns errors into words and exit codes.

Exit codes: 0, 1 where a run failed, 2 where the call was wrong. JAX is imported by the verbs when they run, not for --help.
"""

import sys

import typer

from boltzflow.cli.info import info
from boltzflow.cli.sample import sample
from boltzflow.cli.train import train
from boltzflow.errors import DivergenceError, InputError

app = typer.Typer(
    help="Boltzmann machines over binary units, trained by probability flow.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (train, sample, info):
    app.command(no_args_is_help=verb is not train)(verb)


def main() -> None:
    """Run the command line; what the user did wrong is answered in one sentence."""
    try:
        app()
    except InputError as reason:
        _fail(str(reason), 2)
    except DivergenceError as reason:
        _fail(str(reason), 1)


def _fail(sentence: str, code: int) -> None:
    print(f"boltzflow: {sentence}", file=sys.stderr)
    sys.exit(code)
