"""Commands that measure what the paper measured, and show it."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sfa.cli.app import app
from sfa.cli.options import PAIR, DataRoot, Device, LedgerPath, ManyValues, Quiet, Threads


class TableFormat(str, Enum):
    """What a table can be written as."""

    term = "term"
    md = "md"
    csv = "csv"
    latex = "latex"
    html = "html"


@app.command(cls=ManyValues)
def table(
    context: typer.Context,
    number: Annotated[
        str | None, typer.Argument(help="A table's number, 1 to 17, or `all`; `list` says which there are.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Data sets, by name. Default: the paper's, and others that were measured.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Methods to show, where methods are compared; else the one to take in place of GRACE."),
    ] = None,
    format: Annotated[
        TableFormat | None, typer.Option(help="How it is written. Default: by the suffix of --out, else term.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write: .txt, .md, .csv, .tex or .html; a folder for `all`.")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Measure what is missing first.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what --run would measure; run nothing.")] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="Print nothing but the commands that fill what is missing.")
    ] = False,
    seeds: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Seeds of training that count, each of which is to be there. Default: any; --run: 0."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Training epochs that count. Default: the most there are; --run: the recipe's.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar=PAIR, help="Any other key of the recipes that the study starts from."),
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Leave out the runs that came with sfa.")] = False,
    ledger: LedgerPath = None,
    data_root: DataRoot = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Show a table of the paper: its values, ours, seeds, protocol and budget side by side.

    Ours are of your ledger, or of the runs that came with sfa where these are longer. What is not measured says so, and
    the table ends with the commands that measure it; --run does, and goes on where it was stopped.

    **Examples**

    * `sfa table`: which there are
    * `sfa table 1 --datasets cora citeseer`
    * `sfa table 7 --datasets cora --run --epochs 100`: measure what is missing, with fewer epochs
    * `sfa table 8 --seeds 0 1 2 --dry-run`: what is missing of three seeds, and how long it takes
    * `sfa table 10 --out table_10.tex`
    * `sfa table all --format md --out tables`
    """
    from sfa.cli import table as command
    from sfa.errors import InputError
    from sfa.paper import default_path
    from sfa.run.display import Display

    if number in (None, "list"):
        from sfa.cli import listing

        listing.run("tables", data_root)
        return
    numbers = command.parse_number(str(number))
    if len(numbers) > 1 and (datasets or method):
        raise InputError("Data sets and methods are named for one table: leave out --datasets and --method.")
    if missing and (run or dry_run):
        raise InputError("--missing prints the commands, --run runs them: choose one.")
    files = command.output_files(numbers, out, None if format is None else format.value)
    more, changes, path = command.more_words(ledger, data_root), _changes(set_, epochs), ledger or default_path()
    asked = datasets or method or seeds or changes or run or dry_run or own or more or threads
    if not asked and not path.exists():  # what came with sfa is shown without the libraries by which it was measured
        make = command.shipped_table
    else:
        from sfa.cli.table_run import TableRun
        from sfa.paper.tables.selection import Selection
        from sfa.run.run import set_threads

        set_threads(threads)
        names, distinct = tuple(name.lower() for name in datasets or ()), tuple(dict.fromkeys(seeds or ()))
        selection, strict = (
            Selection(names, tuple(method or ()), distinct, changes),
            bool((context.obj or {}).get("debug")),
        )
        tables = TableRun(path, ledger is not None, selection, own, data_root, device, strict, Display(quiet), more)
        make = tables.table
    could_not = False
    for one in numbers:
        if run or dry_run:
            could_not |= tables.measure(one, alone=len(numbers) == 1, dry_run=dry_run)
        if not dry_run:
            command.show(make(one), *files[one], Display(quiet), only_commands=missing)
    if could_not:
        raise typer.Exit(1)


@app.command(no_args_is_help=True)
def figure(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A figure's number in the paper or name (`sfa list figures`), or `all`.")],
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders, for a figure that is drawn from them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write: .png, .svg or .pdf; without a suffix both .png and .svg. Default: `figure-N` or the "
            "name. A folder for `all`."
        ),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Train the runs, or measure the times, that the paper's figure is of.")
    ] = False,
    ledger: LedgerPath = None,
    data_root: DataRoot = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Draw a figure of the paper, from runs, run times or theory, and say what it shows.

    With --run the paper's own runs are trained in runs/figures; stopped by whatever, the same command goes on.

    **Examples**

    * `sfa figure 3`: figure-3.png and figure-3.svg, from theory alone
    * `sfa figure 6 --run`: GRACE on Cora without and with SFA, trained if they are not there, and their alignment
    * `sfa figure spectrum runs/cora-grace-sfa --out spectrum.svg`
    * `sfa figure alignment runs/cora-grace-none runs/cora-grace-sfa --out alignment.pdf`
    * `sfa figure all --out figures`: all that need no run
    """
    from sfa.cli import figure as command
    from sfa.run.display import Display
    from sfa.run.run import set_threads

    def measure(name: str, datasets: list[str]) -> None:
        study(context, name, datasets, ledger=ledger, data_root=data_root, device=device, quiet=quiet)

    set_threads(threads)
    if name == "all":
        command.draw_all(runs or [], out, run, Display(quiet))
        return
    command.run(
        name,
        runs or [],
        out=out,
        measure=run,
        ledger=ledger,
        data_root=data_root,
        device=device,
        study=measure,
        display=Display(quiet),
    )


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
    import os

    from sfa.cli import study as command
    from sfa.errors import InputError
    from sfa.paper import default_path
    from sfa.paper.cells import Dataset
    from sfa.paper.estimate import Estimator
    from sfa.paper.plans import make_plan, protocols_of
    from sfa.paper.results import Ledger
    from sfa.paper.runner import Runner
    from sfa.registry import resolve
    from sfa.run.display import Display
    from sfa.run.recipe_choice import parse_assignments
    from sfa.run.run import set_threads
    from sfa.run.source import Source

    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A study runs in one process: start it without torchrun, more than once if you like.")
    set_threads(threads)
    found, strict = resolve("study", name), bool(context.obj and context.obj["debug"])
    sources = [Source(data, data_root) for data in dict.fromkeys(datasets)]
    allowed = partial(protocols_of, found, asked=protocol or [])
    plan = make_plan(
        found,
        [Dataset.of(source.load, source.as_dict(), allowed) for source in sources],
        seeds or [0],
        methods=method or [],
        recipe=recipe,
        changes={**parse_assignments(set_ or []), **({} if epochs is None else {"training.epochs": epochs})},
        protocols=protocol or [],
        device=device,
    )
    path = default_path() if ledger is None else ledger
    if dry_run and not path.exists():
        command.list_cells(plan, {}, [], path, retry_failed)
        return
    with Ledger(path, create=not dry_run) as opened:
        entries, measured = command.entries_of(plan, opened), opened.select()
        if dry_run:
            command.list_cells(plan, entries, measured, path, retry_failed)
            return
        display, to_do = Display(quiet), command.cells_to_do(plan, entries, retry_failed)
        display.say(f"{name}: {len(plan.cells)} cells, {len(to_do)} to do, in {opened.path}")
        runner = Runner(opened, device=device, keep_runs=keep_runs, retry_failed=retry_failed, strict=strict)
        command.measure_plan(plan, runner, to_do, display, Estimator(measured))
        command.print_table(plan, command.entries_of(plan, opened))
    for title, failure in runner.failures.items():
        Display().say(f"Failed: {title}: {failure}")
    if runner.failures:
        Display().say("--retry-failed tries again.")
        raise typer.Exit(1)


class LedgerAction(str, Enum):
    """What can be done with a ledger."""

    show = "show"
    export = "export"
    import_ = "import"
    remove = "remove"


@app.command()
def ledger(
    action: Annotated[LedgerAction, typer.Argument(help="What to do.")] = LedgerAction.show,
    file: Annotated[
        Path | None, typer.Argument(help="The exported ledger to import: .json or .json.gz.", show_default=False)
    ] = None,
    ledger: LedgerPath = None,
    study: Annotated[str | None, typer.Option(help="Runs of this study alone.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Runs on this data set alone.")] = None,
    method: Annotated[str | None, typer.Option(help="Runs of this method alone.")] = None,
    key: Annotated[str | None, typer.Option(help="Runs whose key begins so.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Failed runs alone.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="File to export to: .csv, .json or .json.gz (with every split), or .md.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show the ledger of all studies, export it, add runs that were exported elsewhere, or remove some.

    **Examples**

    * `sfa ledger --study ablation`
    * `sfa ledger export --dataset cora --out results.csv`
    * `sfa ledger import theirs.json`: what is there stays
    * `sfa ledger remove --failed`
    """
    from sfa.cli import ledger as command
    from sfa.errors import InputError
    from sfa.paper import default_path
    from sfa.run.display import Display

    display, path, chosen = Display(quiet), ledger or default_path(), bool(study or dataset or method or key or failed)
    if (action.value == "export") != (out is not None):
        raise InputError("`sfa ledger export` needs --out, the file to write; nothing else takes it.")
    if action.value == "import" and file is None:
        raise InputError("`sfa ledger import` needs the exported file to read.")
    if action.value != "import" and file is not None:
        raise InputError(
            f"`sfa ledger {action.value}` takes no file: --ledger says which ledger; only import reads one."
        )
    if action.value == "remove" and not chosen:
        raise InputError("Say what to remove: --study, --dataset, --method, --key or --failed.")
    if file is not None and chosen:
        raise InputError("A file is imported whole: leave out --study, --dataset, --method, --key and --failed.")
    if file is not None:
        command.add_runs(file, path, display)
        return
    select = partial(command.select, path, study=study, dataset=dataset, method=method, key=key, failed=failed)
    if out is not None:
        command.export(select, out, display)
    elif action.value == "remove":
        command.remove(select, path, study, display, ask=not yes)
    else:
        command.show(select())


def _changes(assignments: list[str] | None, epochs: int | None) -> dict[str, Any]:
    """Return the recipe keys that --set and --epochs change."""
    changes: dict[str, Any] = {} if epochs is None else {"training.epochs": epochs}
    if assignments:
        from sfa.run.recipe_choice import parse_assignments

        changes = {**parse_assignments(assignments), **changes}
    return changes
