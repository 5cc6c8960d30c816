"""The command line as a whole: options of every command, and the commands in the order of the help."""

from importlib import import_module
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("sfa"))
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (anywhere on the line).")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Spectral feature augmentation, and contrastive pre-training of graphs and images around it."""


# In the order of the help.
COMMANDS = "runs explore convert table figure study ledger sweep listing demo"
for command in COMMANDS.split():
    import_module(f"sfa.cli.{command}")
