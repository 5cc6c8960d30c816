"""Options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

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
    typer.Option("--ledger", envvar="SFA_LEDGER", help="The file of results. Default: runs/results.json."),
]
RunPath = Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        help="Protocol (`sfa list protocols`). Default: honest-10-10-80 for nodes, tu-svm-10fold for graphs, "
        "image-linear for images."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON with the value of every split.")]
OpenPage = Annotated[bool, typer.Option("--open", help="Show the page in the browser.")]


def print_result(result: Any, as_json: bool) -> None:
    """Print a result of :mod:`sfa.run` as JSON, or as a table."""
    from sfa.run.display import results_console

    if as_json:
        print(json.dumps(result.as_dict(), indent=2))
    else:
        results_console().print(result)


PAIR = "KEY=VALUE"
"""The metavar of an option whose values have an equals sign."""


class ManyValues(TyperCommand):
    """A command whose options of many values take all words up to the next option; each may also be given again.

    An option of pairs takes those words alone that are pairs: what comes behind them may be an argument.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        many = [option for option in self.params if getattr(option, "multiple", False)]
        flags = {flag for option in many for flag in option.opts}
        pairs = {flag for option in many if option.metavar == PAIR for flag in option.opts}
        return super().parse_args(ctx, list(spread(args, flags, pairs)))


def spread(words: Sequence[str], flags: Collection[str], pairs: Collection[str] = ()) -> Iterator[str]:
    """Every value with its flag before it, as click wants it.

    >>> list(spread(["x", "--seeds", "0", "1", "--quiet"], ["--seeds"]))
    ['x', '--seeds', '0', '--seeds', '1', '--quiet']
    >>> list(spread(["--set", "a=1", "b=2", "x"], ["--set"], pairs=["--set"]))
    ['--set', 'a=1', '--set', 'b=2', 'x']
    """
    flag, values = "", 0
    for word in words:
        if word in flags:
            flag, values = word, 0
        elif word.startswith("-") or (flag in pairs and values and "=" not in word):
            flag = ""
        elif flag:
            values += 1
            if values > 1:
                yield flag
        yield word
