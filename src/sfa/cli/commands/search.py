"""The command that searches for better settings."""

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
    """What gives up trials."""

    none = "none"
    median = "median"


@app.command(cls=ManyValues, no_args_is_help=True)
def sweep(
    context: typer.Context,
    data: Annotated[
        str, typer.Argument(help="A data set's name or a file; or `report`, then the folder of a search at its end.")
    ],
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
        str | None,
        typer.Option(metavar="KEY=A,B", help="Search for each of these on its own, with as many trials, and compare."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials in all, for each arm. Default: 20, or all of a grid.")
    ] = None,
    seeds: Annotated[
        list[int] | None, typer.Option(min=0, help="Seeds of training; a trial's value is their mean. Default: 0.")
    ] = None,
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
    recipe: Annotated[
        str | None, typer.Option(help="Recipe to start from, such as `paper`. Default: the method's own.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar=PAIR, help="Any other key of the recipe.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Protocol of the report (`sfa list protocols`). Default: the task's.")
    ] = None,
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
    from sfa.cli import sweep as command
    from sfa.data import fingerprint
    from sfa.errors import InputError
    from sfa.evaluate import default_protocol
    from sfa.run.display import Display
    from sfa.run.recipe_choice import parse_assignments
    from sfa.run.source import Source
    from sfa.sweep import Search, Settings, fresh_seeds, parse_range, starting_recipe
    from sfa.sweep.trials import check_installed
    from sfa.tasks import task_of

    strict, display = bool(context.obj and context.obj["debug"]), Display(quiet)
    command.begin(device, threads)
    if not dry_run:
        check_installed()
    if data == "report" and folder is not None:
        settings = Settings.read(folder)
        search = Search(settings, command.recorded_data(settings, data_root, display), folder)
        command.report(search, report_seeds or [], device=device, strict=strict, display=display)
        return
    if folder is not None:
        raise InputError(f"One data set is searched on, not {data!r} and {str(folder)!r}.")
    given = command.given_ranges(range_ or [], ranges)  # what can be wrong in words is wrong before the data are read
    compared = None if ablate is None else parse_range(ablate)
    changes = {**parse_assignments(set_ or []), **({} if epochs is None else {"training.epochs": epochs})}
    source = Source(data, data_root)
    loaded = source.load(display)
    task = task_of(loaded)
    start = starting_recipe(str(loaded.name), task, method=method, recipe=recipe, changes=changes)
    settings = Settings(
        source=source.as_dict(),
        fingerprint=fingerprint(loaded),
        protocol=protocol or default_protocol(task),
        recipe=start,
        ranges=tuple(given or command.method_ranges(start, compared)),
        ablate=compared,
        seeds=tuple(dict.fromkeys(seeds or [0])),
        sampler=sampler.value,
        seed=seed,
        pruner=pruner.value,
    )
    search = Search(settings, loaded, command.default_folder(loaded, start) if out is None else out)
    if report_seeds is not None:
        fresh_seeds(search, report_seeds)
    settings.require_same(search.folder)
    if dry_run:
        command.print_plan(search, trials)
        return
    command.run(
        search,
        trials=trials,
        timeout=timeout,
        report_seeds=report_seeds,
        device=device,
        strict=strict,
        display=display,
    )
