"""Commands that measure what the paper measured, and show it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.many_values import ManyValues
from sfa.cli.options import DataRoot, Device, LedgerPath, Quiet, Threads


@app.command(no_args_is_help=True)
def figure(
    name: Annotated[str, typer.Argument(help="A figure's name (`sfa list figures`).")],
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders, for a figure that is drawn from them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .png, .svg or .pdf; without a suffix both .png and .svg. Default: NAME."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw a figure of the paper, from runs or from theory.

    **Examples**

    * `sfa figure push-forward`: push-forward.png and push-forward.svg, from theory alone
    * `sfa figure spectrum runs/cora-grace-sfa --out spectrum.svg`
    * `sfa figure alignment runs/cora-grace-none runs/cora-grace-sfa --out alignment.pdf`
    """
    from sfa.cli import figure as command

    command.run(name, runs or [], out=out, quiet=quiet)


@app.command(cls=ManyValues, no_args_is_help=True)
def study(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A study's name (`sfa list studies`).")],
    datasets: Annotated[list[str], typer.Option(help="Data sets, by name or file.")],
    seeds: Annotated[list[int] | None, typer.Option(min=0, help="Seeds of training. Default: 0.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs. Default: the recipe's.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method, or several where methods are compared. Default: the level's first, or all."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Recipe to start from, such as `paper`. Default: the method's own.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other key of the recipes that the study starts from."),
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
    from sfa.cli import study as command
    from sfa.cli.train import parse_assignments

    command.run(
        name,
        datasets=datasets,
        seeds=seeds or [0],
        methods=method or [],
        recipe=recipe,
        changes={**parse_assignments(set_ or []), **({} if epochs is None else {"training.epochs": epochs})},
        protocols=protocol or [],
        ledger=ledger,
        data_root=data_root,
        device=device,
        threads=threads,
        dry_run=dry_run,
        retry_failed=retry_failed,
        keep_runs=keep_runs,
        strict=bool(context.obj and context.obj["debug"]),
        quiet=quiet,
    )


class LedgerAction(str, Enum):
    """What can be done with a ledger."""

    show = "show"
    export = "export"
    remove = "remove"


@app.command()
def ledger(
    action: Annotated[LedgerAction, typer.Argument(help="What to do.")] = LedgerAction.show,
    ledger: LedgerPath = None,
    study: Annotated[str | None, typer.Option(help="Runs of this study alone.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Runs on this data set alone.")] = None,
    method: Annotated[str | None, typer.Option(help="Runs of this method alone.")] = None,
    key: Annotated[str | None, typer.Option(help="Runs whose key begins so.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Failed runs alone.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to export to: .csv, .json (with every split) or .md.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show the ledger of all studies, export it, or remove runs from it.

    **Examples**

    * `sfa ledger --study ablation`
    * `sfa ledger export --dataset cora --out results.csv`
    * `sfa ledger remove --failed`
    """
    from sfa.cli import ledger as command

    command.run(
        action.value,
        path=ledger,
        study=study,
        dataset=dataset,
        method=method,
        key=key,
        failed=failed,
        out=out,
        yes=yes,
        quiet=quiet,
    )
