"""``sfa sweep``: search over ranges of a recipe, and report on the winner."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import PAIR, DataRoot, Device, ManyValues, Quiet, Threads


class SamplerName(str, Enum):
    """What proposes trials."""

    tpe = "tpe"
    random = "random"
    grid = "grid"


class PrunerName(str, Enum):
    """What stops trials early."""

    none = "none"
    median = "median"


@app.command(cls=ManyValues, no_args_is_help=True)
def sweep(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="A data set's name or a file; or `report`, then the folder of a search.")],
    folder: Annotated[Path | None, typer.Argument(help="The folder of a search, for `sfa sweep report`.")] = None,
    method: Annotated[str | None, typer.Option(help="Method. Default: the task's first, or the recipe's.")] = None,
    range_: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="KEY=RANGE",
            help="What to choose from: `LOW..HIGH`, `LOW..HIGH:log`, `LOW..HIGH:STEP` or `A,B,C`; may be repeated.",
        ),
    ] = None,
    ranges: Annotated[
        Path | None, typer.Option(help="A YAML file of ranges. Default, with no --range either: the method's shipped.")
    ] = None,
    ablate: Annotated[
        str | None, typer.Option(metavar="KEY=A,B", help="Search for each of these on its own, and compare.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials of each arm. Default: 20, or all of a grid.")
    ] = None,
    seeds: Annotated[list[int] | None, typer.Option(min=0, help="Seeds of training to average. Default: 0.")] = None,
    report_seeds: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Then train the winner with these fresh seeds and read the test labels, once."),
    ] = None,
    sampler: Annotated[SamplerName, typer.Option(help="What proposes trials.")] = SamplerName.tpe,
    pruner: Annotated[
        PrunerName, typer.Option(help="median: give up a trial whose first seeds are below the median of the others.")
    ] = PrunerName.none,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds after which no further trial is begun.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs. Default: the recipe's.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Recipe, such as `paper`. Default: the method's own.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar=PAIR, help="Any other key of the recipe.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Protocol of the report. Default: the task's.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the search. Default: sweeps/DATA-METHOD.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the ranges and what is there; run nothing.")] = False,
    data_root: DataRoot = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Search over ranges of a recipe, choosing on validation alone; test labels are read once, in the report.

    Stopped by whatever, the same command goes on; several processes may share a search.

    **Examples**

    * `sfa sweep cora --method grace --dry-run`: the ranges that come with GRACE, and how long it takes
    * `sfa sweep cora --range training.lr=1e-4..1e-2:log method.tau=0.1..1 spectral.name=none,sfa --trials 50`
    * `sfa sweep cora --ranges mine.yaml --out sweeps/mine --seeds 0 1 --report-seeds 2 3 4`
    * `sfa sweep cora --ablate spectral.name=none,sfa --trials 30`: with and without SFA, each tuned alike
    * `sfa sweep report sweeps/mine`: train the winner with fresh seeds, and score it
    * `sfa train cora --recipe sweeps/mine/best.yaml`
    """
    given = {**locals()}
    from sfa.cli import sweep_output
    from sfa.errors import InputError
    from sfa.run.display import Display
    from sfa.run.recipe_choice import parse_assignments
    from sfa.sweep import fresh_seeds, open_search, reopen_search

    display, strict = Display(quiet), bool(context.obj and context.obj["debug"])
    sweep_output.prepare(device, threads, dry_run)
    if data == "report" and folder is not None:
        search = reopen_search(folder, data_root=data_root, display=display)
        sweep_output.report(search, report_seeds or [], display, device=device, strict=strict)
        return
    if folder is not None:
        raise InputError(f"One data set is searched on, not {data!r} and {str(folder)!r}.")
    search = open_search(
        data,
        **{key: given[key] for key in ("method", "recipe", "epochs", "ablate", "protocol", "seed", "out", "data_root")},
        set=parse_assignments(set_ or []),
        ranges=range_ or [],
        ranges_file=ranges,
        seeds=seeds or [0],
        sampler=sampler.value,
        pruner=pruner.value,
        display=display,
    )
    fresh_seeds(search, report_seeds or [])
    if dry_run:
        sweep_output.print_plan(search, trials)
    else:
        sweep_output.run(search, trials, timeout, report_seeds, display, device=device, strict=strict)
