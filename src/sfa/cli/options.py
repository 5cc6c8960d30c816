"""Options that several commands have."""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from sfa.memory import LIMIT

Text = str | None
Integer = int | None
DATA, METHOD, TRAINING, OUTPUT = "Data", "Method", "Training", "Output"  # groups of options in the help


def option(panel: str, help: str, *names: str, metavar: str = "NAME", **more: Any) -> Any:
    """Return an option that the help shows in a group."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **more)


def flag(panel: str, help: str, *names: str) -> Any:
    """Return an option without a value that the help shows in a group."""
    return typer.Option(*names, help=help, rich_help_panel=panel)


DataRoot = Annotated[
    Path | None, option(DATA, "Folder of data sets, in PyG's layout.", metavar="FOLDER", envvar="SFA_DATA")
]
Features = Annotated[Path | None, option(DATA, "Node features: .csv, .parquet or .npy.", metavar="FILE")]
MovedData = Annotated[str | None, option(DATA, "Where the data are now, if they moved.", metavar="DATA")]
Labels = Annotated[Path | None, option(DATA, "Labels: .csv with columns id, label.", metavar="FILE")]
NodeFeatures = Annotated[str | None, option(DATA, "Make features: degree, random or spectral.", metavar="KIND[:WIDTH]")]
FeatureNorm = Annotated[
    Literal["auto", "row", "standard", "shifted-row", "none"] | None, option(METHOD, "auto, row, standard or none.")
]
SourceColumn = Annotated[str | None, option(DATA, "Edge list: column of sources.", "--source", metavar="COLUMN")]
TargetColumn = Annotated[str | None, option(DATA, "Column of targets: edges or SMILES.", "--target", metavar="COLUMN")]
WeightColumn = Annotated[str | None, option(DATA, "Edge list: weights, or none.", "--weight", metavar="COLUMN")]
Bipartite = Annotated[bool, flag(DATA, "Edge list: its two columns name different things.", "--bipartite")]
ImageSize = Annotated[int | None, option(DATA, "Resize images to N pixels a side.", metavar="N", min=4, max=2048)]
SkipCorrupt = Annotated[bool, flag(DATA, "Leave out images that cannot be read.", "--skip-corrupt")]
Quiet = Annotated[bool, flag(OUTPUT, "Print only results and errors.", "--quiet", "-q")]
Threads = Annotated[int | None, option(TRAINING, "CPU threads. Default: PyTorch's.", metavar="N", min=1, max=1024)]
Memory = Annotated[
    str | None, option(TRAINING, "For a stored graph, as 2GB. Default: 1/4 of free.", metavar="SIZE", envvar=LIMIT)
]
Device = Annotated[str, option(TRAINING, "auto, cpu, cuda, …")]
LedgerPath = Annotated[
    Path | None, option(OUTPUT, "Results. Default: runs/results.json.", "--ledger", metavar="FILE", envvar="SFA_LEDGER")
]
RunPath = Annotated[Path, typer.Argument(help="A run folder made by `sfa train`.")]
ProtocolName = Annotated[
    str | None, option(OUTPUT, "Protocol (`sfa list protocols`). Default: honest-10-10-80 for nodes.")
]
Json = Annotated[bool, flag(OUTPUT, "Print JSON with the value of every split.", "--json")]
OpenPage = Annotated[bool, flag(OUTPUT, "Show the page in the browser.", "--open")]


def print_result(result: Any, as_json: bool = False) -> None:
    """Print a result of :mod:`sfa.run` as JSON, or as a table."""
    from sfa.run.display import results_console

    if as_json:
        print(json.dumps(result.as_dict(), indent=2))
    else:
        results_console().print(result)


PAIR = "KEY=VALUE"  # the metavar of an option whose values have an equals sign


class ManyValues(TyperCommand):
    """A command whose options of many values take all words, or all pairs, up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        many = [option for option in self.params if getattr(option, "multiple", False)]
        flags = {flag for option in many for flag in option.opts}
        pairs = {flag for option in many if option.metavar == PAIR for flag in option.opts}
        return super().parse_args(ctx, list(spread(args, flags, pairs)))


def spread(words: Sequence[str], flags: Collection[str], pairs: Collection[str] = ()) -> Iterator[str]:
    """Put its flag before every value, as click wants it; behind the last pair of a flag there may be an argument.

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
