"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataRoot = Annotated[
    Path | None,
    typer.Option(
        envvar="SFA_DATA",
        help="Folder of data sets in PyTorch Geometric's or CIFAR's layout, or of image folders; else they are "
        "downloaded.",
    ),
]
Features = Annotated[Path | None, typer.Option(help="Node features of an edge list: .csv, .parquet or .npy.")]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="Labels of an edge list's nodes, or of a folder's graphs or images: .csv with columns id, label."
    ),
]
NodeFeatures = Annotated[
    str | None,
    typer.Option(
        metavar="KIND[:WIDTH]",
        help="Features for a file that has none, made of `degree`, `random` numbers or `spectral` position.",
    ),
]
ImageSize = Annotated[
    int | None, typer.Option(min=4, max=2048, help="Pixels a side that the images of a folder are brought to.")
]
SkipCorrupt = Annotated[
    bool, typer.Option("--skip-corrupt", help="Leave out images of a folder that cannot be read, and say which.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but results and errors.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="CPU threads; PyTorch's choice if not given.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, …")]
LedgerPath = Annotated[
    Path | None,
    typer.Option("--ledger", envvar="SFA_LEDGER", help="The ledger's file. Default: runs/results.json."),
]
