"""Commands that tell what there is, and show it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import DataRoot, Quiet, Threads


class Kind(str, Enum):
    """What can be listed."""

    methods = "methods"
    encoders = "encoders"
    augmentations = "augmentations"
    spectral = "spectral"
    postprocess = "postprocess"
    datasets = "datasets"
    samplers = "samplers"
    protocols = "protocols"
    recipes = "recipes"
    tables = "tables"
    figures = "figures"
    studies = "studies"
    loggers = "loggers"
    ranges = "ranges"


@app.command("list", no_args_is_help=True)
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], data_root: DataRoot = None) -> None:
    """List what can be chosen by name.

    **Examples**

    * `sfa list methods`
    * `sfa list datasets --data-root ~/data`
    """
    from sfa.cli import listing

    listing.run(kind.value, data_root)


@app.command()
def doctor(data_root: DataRoot = None) -> None:
    """Check the installation: versions, threads, devices, data sets, what is missing and how to get it.

    **Example**

    * `sfa doctor --data-root ~/data`
    """
    from sfa.cli import doctor as command

    command.run(data_root)


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for runs, page, table and pictures. Default: a new one.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Fewer epochs, for a quicker look.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser at the end.")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train GRACE with and without SFA on the bundled Cora, and show what the layer does. Some 3 minutes.

    Without graph augmentation it is the paper's Algorithm 1, with graph augmentation its gentle form.

    **Examples**

    * `sfa demo`
    * `sfa demo --open`: and see the page that it ends with, report.html
    * `sfa demo --epochs 20 --out runs/quick-look`
    """
    from sfa.cli import demo as command

    command.run(out=out, epochs=epochs, threads=threads, show=open_, quiet=quiet)
