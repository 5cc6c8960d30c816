"""``sfa study``: run a comparison of the paper, and print its table."""

import os
from typing import Annotated

import typer

from sfa.cli import early
from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import DATA, METHOD, OUTPUT, TRAINING, ManyValues, flag, option
from sfa.cli.table import RecipeKeys, Words


@app.command(cls=ManyValues, no_args_is_help=True)
def study(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A study's name (`sfa list studies`).")],
    datasets: Annotated[list[str], option(DATA, "Data sets, by name or file.")],
    data_root: shared.DataRoot = None,
    method: Annotated[Words, option(METHOD, "Methods. Default: the task's first, or all.")] = None,
    recipe: Annotated[str | None, option(METHOD, "Recipe to start from. Default: the method's.")] = None,
    set_: RecipeKeys = None,
    seeds: Annotated[list[int] | None, option(TRAINING, "Seeds of training. Default: 0.", metavar="N", min=0)] = None,
    epochs: Annotated[int | None, option(TRAINING, "Epochs. Default: the recipe's.", metavar="N")] = None,
    device: shared.Device = "auto",
    threads: shared.Threads = None,
    protocol: Annotated[Words, option(OUTPUT, "Protocols. Default: the study's.")] = None,
    dry_run: Annotated[bool, flag(OUTPUT, "List the runs and their state.", "--dry-run")] = False,
    retry_failed: Annotated[bool, flag(OUTPUT, "Repeat runs that failed.", "--retry-failed")] = False,
    keep_runs: Annotated[bool, flag(OUTPUT, "Keep the folders of finished runs.", "--keep-runs")] = False,
    ledger: shared.LedgerPath = None,
    quiet: shared.Quiet = False,
) -> None:
    """Run a study of the paper: measure what the ledger lacks, and print the table of all.

    After an interruption, the same command continues.

    **Examples**

    * `sfa study ablation --datasets cora citeseer --seeds 0 1 2`
    * `sfa study iterations --datasets cora --recipe paper --dry-run`: how long it takes
    * `sfa study methods --datasets nci1 proteins --method graphcl --epochs 50`
    """
    early.check_names("study", name)
    from sfa.cli.study_display import list_cells, print_table, report_failures, run_plans
    from sfa.cli.table import recipe_changes
    from sfa.errors import InputError
    from sfa.paper import default_path
    from sfa.paper.plans import load_datasets, make_plan
    from sfa.paper.results import Ledger
    from sfa.paper.runner import Runner, cells_to_do
    from sfa.registry import resolve
    from sfa.run.display import Display
    from sfa.run.run import set_threads

    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A study runs in one process: start it without torchrun, more than once if you like.")
    set_threads(threads)
    found = resolve("study", name)
    plan = make_plan(
        found,
        load_datasets(found, datasets, protocol or [], data_root),
        seeds or [0],
        methods=method or [],
        recipe=recipe,
        changes=recipe_changes(set_, epochs),
        protocols=protocol or [],
        device=device,
    )
    path = default_path() if ledger is None else ledger
    if dry_run:
        entries = Ledger(path).select() if path.exists() else []
        list_cells(plan, entries, entries, path, retry_failed=retry_failed)
        return
    opened, strict = Ledger(path, create=True), bool(context.obj and context.obj["debug"])
    entries, display = opened.select(), Display(quiet)
    to_do = cells_to_do(plan, {entry.key: entry for entry in entries}, retry_failed=retry_failed)
    display.say(f"{name}: {len(plan.cells)} cells, {len(to_do)} to do, in {opened.path}")
    runner = Runner(opened, device=device, keep_runs=keep_runs, retry_failed=retry_failed, strict=strict)
    run_plans([plan], runner, entries, display)
    print_table(plan, {entry.key: entry for entry in opened.select()})
    if report_failures(runner):
        Display().say("--retry-failed tries again.")
        raise typer.Exit(1)
