"""``sfa study``: run a comparison of the paper, and print its table."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import PAIR, DataRoot, Device, LedgerPath, ManyValues, Quiet, Threads


@app.command(cls=ManyValues, no_args_is_help=True)
def study(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A study's name (`sfa list studies`).")],
    datasets: Annotated[list[str], typer.Option(help="Data sets, by name or file.")],
    seeds: Annotated[list[int] | None, typer.Option(min=0, help="Seeds of training. Default: 0.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs. Default: the recipe's.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method, or several where methods are compared. Default: the task's first, or all."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Recipe to start from, such as `paper`. Default: the method's own.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar=PAIR, help="Any other key of the recipes that the study starts from."),
    ] = None,
    protocol: Annotated[
        list[str] | None, typer.Option(help="Protocols (`sfa list protocols`). Default: the study's.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the cells and what is there; run nothing.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run cells anew that failed before.")] = False,
    keep_runs: Annotated[bool, typer.Option("--keep-runs", help="Keep the run folders of finished cells.")] = False,
    ledger: LedgerPath = None,
    data_root: DataRoot = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run a study of the paper: what the ledger lacks is measured, the table of all is printed.

    Stopped by whatever, the same command goes on where it was.

    **Examples**

    * `sfa study ablation --datasets cora citeseer --seeds 0 1 2`
    * `sfa study iterations --datasets cora --recipe paper --dry-run`: what would be run, and how long it takes
    * `sfa study methods --datasets cora --method grace bgrl --epochs 50`
    * `sfa study methods --datasets nci1 proteins dd --method graphcl --seeds 0 1 2 3 4`: graph classification
    * `sfa study methods --datasets cifar10-subset --method simclr swav --epochs 20`: image classification
    """
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
    run_plans([plan], runner, [to_do], entries, display)
    print_table(plan, {entry.key: entry for entry in opened.select()})
    if report_failures(runner):
        Display().say("--retry-failed tries again.")
        raise typer.Exit(1)
