"""``sfa sweep``: search over ranges of a recipe, and report on the winner."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfa.cli.app import app
from sfa.cli.options import PAIR, DataRoot, Device, ManyValues, Quiet, Threads

if TYPE_CHECKING:
    from sfa.run.display import Display
    from sfa.sweep import Record, Report, Search, SearchCallback


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
    from sfa.errors import InputError
    from sfa.run.display import Display
    from sfa.run.recipe_choice import parse_assignments
    from sfa.run.run import set_threads
    from sfa.sweep import fresh_seeds, open_search, reopen_search
    from sfa.sweep.trials import check_installed
    from sfa.train import make_fabric

    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A search runs in one process: start it without torchrun, more than once if you like.")
    make_fabric(device)
    set_threads(threads)
    if not dry_run:
        check_installed()
    display = Display(quiet)
    options = {"device": device, "strict": bool(context.obj and context.obj["debug"])}
    if data == "report" and folder is not None:
        _report(reopen_search(folder, data_root=data_root, display=display), report_seeds or [], options, display)
        return
    if folder is not None:
        raise InputError(f"One data set is searched on, not {data!r} and {str(folder)!r}.")
    search = open_search(
        data,
        method=method,
        recipe=recipe,
        set=parse_assignments(set_ or []),
        epochs=epochs,
        ranges=range_ or [],
        ranges_file=ranges,
        ablate=ablate,
        seeds=seeds or [0],
        sampler=sampler.value,
        pruner=pruner.value,
        seed=seed,
        protocol=protocol,
        out=out,
        data_root=data_root,
        display=display,
    )
    fresh_seeds(search, report_seeds or [])
    if dry_run:
        _print_plan(search, trials)
    else:
        _run(search, trials, timeout, report_seeds, options, display)


def _run(
    search: Search,
    trials: int | None,
    timeout: float | None,
    report_seeds: Sequence[int] | None,
    options: dict[str, Any],
    display: Display,
) -> None:
    """Search, print the winners, and report if that is asked for."""
    from sfa.run.display import Display, counted
    from sfa.run.source import tell_of_data
    from sfa.sweep.trials import REPORT

    tell_of_data(search.data, display)
    search.settings.settle(search.folder)
    records, total = search.records(), search.total(trials)
    display.say(f"{counted(total, 'trial')}{_each(search)}, {len(records)} there, in {search.folder}")
    with _progress(display, search, sum(one.state != "running" for one in records), total) as callback:
        records = search.run(trials=trials, timeout=timeout, callback=callback, **options)
    left = 0 if report_seeds is None else search.unfinished(records, trials)
    if left:
        to_come = counted(left, "trial")
        Display().say(f"No report yet, with {to_come} still to come: the same command goes on from there.")
    if all(record.state == "failed" for record in records):
        raise typer.Exit(1)
    _print_winners(search, records)
    if report_seeds is None:
        read = f"Test labels were read: {search.folder / REPORT}"
        display.say(read if search.is_reported else f"Test labels are unread: sfa sweep report {search.folder}")
    elif left:
        raise typer.Exit(1)
    else:
        _report(search, report_seeds, options, display)


def _report(search: Search, seeds: Sequence[int], options: dict[str, Any], display: Display) -> None:
    """Report on the winners of a search that has ended."""
    from sfa.run.display import Display
    from sfa.sweep import fresh_seeds, make_report

    with _progress(display, search, 0, len(fresh_seeds(search, seeds))) as callback:
        made = make_report(search, seeds=seeds, callback=callback, **options)
    _print_report(search, made)
    for title, failure in made.failures.items():
        Display().say(f"Failed: {title}: {failure}")
    if made.failures:
        raise typer.Exit(1)


@contextmanager
def _progress(display: Display, search: Search, ended: int, total: int) -> Iterator[SearchCallback]:
    """Show a bar, or a line every few seconds, while a run goes on, and a line when it ends."""
    from sfa.paper.estimate import duration
    from sfa.sweep import SearchCallback
    from sfa.train import Interrupted

    started, total = time.monotonic(), max(ended, total * len(search.arms))

    class ShowProgress(SearchCallback):
        done = ended

        def on_run_begin(self, arm: str, number: int, recipe: Any) -> None:
            stack.close()
            seeds, own = search.settings.seeds, recipe.training.seed
            seed = f" seed {own}" if len(seeds) > 1 or own not in seeds else ""
            title = f"{arm} trial {number}{seed}".strip()
            self.tracker = stack.enter_context(display.progress(title, recipe.training.epochs))

        def on_step_end(self, epochs: float, loss: float) -> None:
            self.tracker.step(epochs, loss=loss)

        def on_trial_end(self, record: Record, best: Record | None) -> None:
            result = {"failed": f"failed: {record.failure}", "pruned": "given up"}.get(record.state, record.state)
            result = f"validation {record.value:.2f}" if record.value is not None else result
            self.say(f"{record.name}: {result}", *([] if best is None else [f"best {best.value:.2f} ({best.name})"]))

        def on_report_end(self, arm: str, seed: int, failure: str | None) -> None:
            self.say(f"{arm} seed {seed}: {failure or 'done'}".strip())

        def say(self, *parts: str) -> None:
            stack.close()
            self.done += 1
            left = (total - self.done) * (time.monotonic() - started) / (self.done - ended)
            more = [f"about {duration(left)} left"] if self.done < total else []
            display.say("  ".join([f"{self.done}/{total}", *parts, *more]))

    with ExitStack() as stack:
        try:
            yield ShowProgress()
        except (KeyboardInterrupt, Interrupted) as error:
            done = str(error).partition(";")[0] or "Stopped"
            raise Interrupted(f"{done}; the same command goes on from there.") from None


def _print_plan(search: Search, trials: int | None) -> None:
    """Print the ranges, how many trials there are to be and, where some have ended, how long the rest takes."""
    from rich.table import Table

    from sfa.paper.estimate import duration
    from sfa.run.display import counted, results_console
    from sfa.run.run import describe
    from sfa.sweep.space import MISSING, value_at
    from sfa.tasks import item_word

    console, settings, total = results_console(), search.settings, search.total(trials)
    table = Table("key", "range", "now")
    compared = [] if settings.ablate is None else [settings.ablate]
    for found in (*compared, *settings.ranges):
        now = value_at(settings.recipe, found.key)
        alone = ", each on its own" if found in compared else ""
        table.add_row(found.key, found.text + alone, "" if now is MISSING else str(now))
    records = search.records() if (search.folder / "trials.sqlite").exists() else []
    seconds = [record.seconds for record in records if record.state == "done" and record.seconds is not None]
    left = search.unfinished(records, trials)
    about = f", about {duration(left * sum(seconds) / len(seconds))} for the {left} left" if seconds else ""
    recipe, seeds = next(iter(search.arms.values())).recipe, settings.seeds
    runs = counted(total * len(search.arms) * len(seeds), "run")
    for line in (
        table,
        f"{search.data.name}, {describe(recipe)}, {recipe.training.epochs} epochs, sampler {settings.sampler}, seeds "
        f"{' '.join(map(str, seeds))}",
        f"Chosen by the labels of {len(search.seen)} {item_word(search.data)}; reported under {settings.protocol}",
        f"{counted(total, 'trial')}{_each(search)}: {runs}{about}",
    ):
        console.print(line, markup=False)


def _print_winners(search: Search, records: Sequence[Record]) -> None:
    """Print the trial chosen in each arm, with its values."""
    from sfa.run.display import results_console
    from sfa.sweep.search import best_file, best_of_each

    console = results_console()
    for arm, record in best_of_each(records).items():
        params = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in record.params.items()}
        values, name = ", ".join(f"{key}={value}" for key, value in params.items()), f"{arm}: trial" if arm else "Trial"
        file = search.folder / best_file(arm)
        console.print(f"{name} {record.number}, validation {record.value:.2f} %, in {file}: {values}", markup=False)
    failed = sum(record.state == "failed" for record in records)
    if failed:
        console.print(f"{failed} of {len(records)} trials failed: see {search.folder / 'trials.csv'}.", markup=False)


def _print_report(search: Search, made: Report) -> None:
    """Print the test accuracy of each winner; arms are compared with the first."""
    from rich.table import Table

    from sfa.run.display import results_console
    from sfa.tasks import item_word

    several, unseen = len(made.seeds) > 1, len(made.protocols) > 1
    caption = f"Trained with the fresh seed{'s' if several else ''} {' '.join(map(str, made.seeds))}"
    if any(summary.std is not None for summary in made.table.values()):
        over = "over seeds, of the means over splits" if several else "over the splits"
        caption += f"; mean ± standard deviation {over}"
    if len(search.arms) > 1:
        caption += f"; below, the paired difference from {next(iter(search.arms))} and its 95 % interval, over the same"
    caption += f". Never seen: test {item_word(search.data)} outside the development part." if unseen else "."
    title = f"{search.folder.name}: test accuracy, {made.protocols[0]}"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.add_column("arm" if any(search.arms) else "winner")
    for header in ("validation", "test", *(["test, labels never seen"] if unseen else [])):
        table.add_column(header, justify="right")
    for arm, record in made.winners.items():
        cells = []
        for summary in (made.table[name, arm] for name in made.protocols):
            spread = "" if summary.std is None else f" ± {summary.std:.2f}"
            below = "" if summary.difference is None else f"\n{summary.difference}"
            cells.append("failed" if summary.mean is None else f"{summary.mean:.2f}{spread}{below}")
        table.add_row(arm or record.name, f"{record.value:.2f}", *cells)
    results_console().print(table, markup=False)


def _each(search: Search) -> str:
    return f" for each of {', '.join(search.arms)}" if len(search.arms) > 1 else ""
