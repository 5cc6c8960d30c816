"""``sfa sweep``: search over ranges of a recipe, and report on the winner."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfa.cli import early
from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import METHOD, OUTPUT, PAIR, TRAINING, Integer, ManyValues, Text, flag, option

SEARCH = "Search"

SamplerName = Literal["tpe", "random", "grid"]
PrunerName = Literal["none", "median"]
Integers = list[int] | None


@app.command(cls=ManyValues, no_args_is_help=True)
def sweep(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="A data set's name or a file; or `report`, then the folder of a search.")],
    folder: Annotated[Path | None, typer.Argument(help="The folder of a search, for `sfa sweep report`.")] = None,
    range_: Annotated[
        list[str] | None,
        option(SEARCH, "LOW..HIGH, LOW..HIGH:log, LOW..HIGH:STEP or A,B.", "--range", metavar="KEY=RANGE"),
    ] = None,
    ranges: Annotated[Path | None, option(SEARCH, "YAML file. Default: the method's own.", metavar="FILE")] = None,
    ablate: Annotated[Text, option(SEARCH, "Search for each alone, and compare.", metavar="KEY=A,B")] = None,
    trials: Annotated[
        Integer, option(SEARCH, "Trials of each arm. Default: 20.", metavar="N", min=1, max=10**5)
    ] = None,
    timeout: Annotated[float | None, option(SEARCH, "Begin no trial after this time.", metavar="X", min=0)] = None,
    sampler: Annotated[SamplerName, option(SEARCH, "tpe, random or grid.")] = "tpe",
    pruner: Annotated[PrunerName, option(SEARCH, "median stops trials below the median.")] = "none",
    seeds: Annotated[Integers, option(SEARCH, "Training seeds to average. Default: 0.", metavar="N", min=0)] = None,
    seed: Annotated[int, option(SEARCH, "Seed of the search.", metavar="N", min=0)] = 0,
    report_seeds: Annotated[
        Integers, option(SEARCH, "Then test the winner with fresh seeds, once.", metavar="N", min=0)
    ] = None,
    method: Annotated[Text, option(METHOD, "Method. Default: the task's, or the recipe's.")] = None,
    recipe: Annotated[Text, option(METHOD, "Recipe, such as paper. Default: the method's.")] = None,
    feature_norm: shared.FeatureNorm = None,
    set_: Annotated[list[str] | None, option(METHOD, "Any other key of the recipe.", "--set", metavar=PAIR)] = None,
    epochs: Annotated[Integer, option(TRAINING, "Epochs. Default: the recipe's.", metavar="N")] = None,
    protocol: Annotated[Text, option(OUTPUT, "Protocol of the report. Default: the task's.")] = None,
    out: Annotated[Path | None, option(OUTPUT, "Folder. Default: sweeps/DATA-METHOD.", metavar="FOLDER")] = None,
    dry_run: Annotated[bool, flag(OUTPUT, "Show the ranges; run nothing.", "--dry-run")] = False,
    data_root: shared.DataRoot = None,
    device: shared.Device = "auto",
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Search over ranges of a recipe, choosing on validation alone; test labels are read once, in the report.

    Stopped by whatever, the same command goes on; several processes may share a search.

    **Examples**

    * `sfa sweep cora --method grace --dry-run`: the ranges that come with GRACE, and how long it takes
    * `sfa sweep cora --method grace --range training.lr=1e-4..1e-2:log method.tau=0.1..1 --trials 50`
    * `sfa sweep cora --ranges mine.yaml --out sweeps/mine --seeds 0 1 --report-seeds 2 3 4`
    * `sfa sweep cora --method grace --ablate spectral.name=none,sfa --trials 30`: with and without SFA, tuned alike
    * `sfa sweep report sweeps/mine`: train the winner with fresh seeds, and score it
    * `sfa train cora --recipe sweeps/mine/best.yaml`
    """
    given = {**locals()}
    if data != "report" and folder is None:
        early.check_names("method", method, task=early.check_data(data))
        early.check_recipe(recipe, data)
        early.check_names("protocol", protocol)
    from sfa.cli import sweep_output
    from sfa.errors import InputError
    from sfa.run.display import Display
    from sfa.run.shipped import parse_assignments
    from sfa.sweep import fresh_seeds, open_search, reopen_search

    display, strict = Display(quiet), bool(context.obj and context.obj["debug"])
    sweep_output.prepare(device, threads, dry_run)
    if data == "report" and folder is not None:
        search = reopen_search(folder, data_root=data_root, display=display)
        sweep_output.report(search, report_seeds or [], display, device=device, strict=strict)
        return
    if folder is not None:
        raise InputError(f"One data set is searched on, not {data!r} and {str(folder)!r}.")
    same = ("method", "recipe", "epochs", "ablate", "protocol", "seed", "sampler", "pruner", "out", "data_root")
    search = open_search(
        data,
        **{key: given[key] for key in same},
        set=parse_assignments([*(set_ or []), *([f"feature_norm={feature_norm}"] if feature_norm else [])]),
        ranges=range_ or [],
        ranges_file=ranges,
        seeds=seeds or [0],
        display=display,
    )
    fresh_seeds(search, report_seeds or [])
    if dry_run:
        sweep_output.print_plan(search, trials)
    else:
        sweep_output.run(search, trials, timeout, report_seeds, display, device=device, strict=strict)
