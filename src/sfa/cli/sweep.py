"""``sfa sweep``: search over ranges of a recipe, and report on the winner."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer
from rich.table import Table
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.paper.estimate import duration
from sfa.run import Recipe
from sfa.run.display import Display, Tracker, counted, results_console
from sfa.run.run import describe, set_threads
from sfa.run.source import Source, tell_of_data
from sfa.sweep import (
    Range,
    Record,
    Report,
    Search,
    SearchCallback,
    Settings,
    fresh_seeds,
    load_ranges,
    make_report,
    merged,
    parse_range,
    shipped_ranges,
)
from sfa.sweep.development import development_part
from sfa.sweep.report import Summary
from sfa.sweep.search import best_file, best_of_each
from sfa.sweep.space import MISSING, value_at
from sfa.sweep.trials import REPORT
from sfa.tasks import item_word
from sfa.train import Interrupted, make_fabric


def begin(device: str, threads: int | None) -> None:
    """Check what can be checked before anything is read."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A search runs in one process: start it without torchrun, more than once if you like.")
    make_fabric(device)
    set_threads(threads)


def run(
    search: Search,
    *,
    trials: int | None,
    timeout: float | None,
    report_seeds: Sequence[int] | None,
    device: str,
    strict: bool,
    display: Display,
) -> None:
    """Search, show what was chosen, and report if that is asked for."""
    total = search.total(trials)
    tell_of_data(search.data, display)
    search.settings.settle(search.folder)
    with search.trials() as opened:
        records = search.records(opened)
    display.say(f"{counted(total, 'trial')}{_each(search)}, {len(records)} there, in {search.folder}")
    with _progress(display, search, len([one for one in records if one.state != "running"]), total) as progress:
        records = search.run(trials=trials, timeout=timeout, device=device, strict=strict, callback=progress)
    left = 0 if report_seeds is None else search.unfinished(records, trials)
    if left:
        to_come = counted(left, "trial")
        Display().say(f"No report yet, with {to_come} still to come: the same command goes on from there.")
    if all(record.state == "failed" for record in records):
        raise typer.Exit(1)
    print_winners(search, records)
    if report_seeds is None:
        read = f"Test labels were read: {search.folder / REPORT}"
        display.say(read if search.is_reported else f"Test labels are unread: sfa sweep report {search.folder}")
    elif left:
        raise typer.Exit(1)
    else:
        report(search, report_seeds, device=device, strict=strict, display=display)


def report(search: Search, seeds: Sequence[int], *, device: str, strict: bool, display: Display) -> None:
    """Report on the winner of a search that has ended."""
    with _progress(display, search, 0, len(fresh_seeds(search, seeds))) as progress:
        made = make_report(search, seeds=seeds, device=device, strict=strict, callback=progress)
    print_report(search, made)
    for title, failure in made.failures.items():
        Display().say(f"Failed: {title}: {failure}")
    if made.failures:
        raise typer.Exit(1)


def given_ranges(ranges: Sequence[str], file: Path | None) -> list[Range]:
    """Return the ranges of the command line and of a file; none, if the method's own are to be taken."""
    given = [parse_range(text) for text in ranges]
    keys = [found.key for found in given]
    if len(set(keys)) < len(keys):
        raise InputError(f"There are two ranges of {next(key for key in keys if keys.count(key) > 1)}.")
    return merged(load_ranges(file) if file is not None else [], given)


def method_ranges(recipe: Recipe, ablate: Range | None) -> list[Range]:
    """Return the ranges that come with the method, without the one that is compared."""
    method, shipped = recipe.method["name"], shipped_ranges()
    if method not in shipped:
        raise InputError(
            f"No ranges come with {method} (some do with {', '.join(shipped)}): give --range KEY=LOW..HIGH or --ranges."
        )
    compared = "" if ablate is None else ablate.key
    return [found for found in shipped[method] if found.key not in (compared, f"{compared}.name")]


def default_folder(data: Data, recipe: Recipe) -> Path:
    """Return the folder of a search where none is named."""
    name, method = (re.sub(r"[^\w-]+", "-", str(part)).strip("-") for part in (data.name, recipe.method["name"]))
    return Path("sweeps") / f"{name or 'graph'}-{method}"


def recorded_data(settings: Settings, data_root: Path | None, display: Display) -> Data:
    """Load the data that a search was begun with."""
    root = data_root or settings.source.get("data_root")
    return Source(settings.source.get("data"), None if root is None else Path(root)).load(display)


@contextmanager
def _progress(display: Display, search: Search, ended: int, total: int) -> Iterator[_Progress]:
    with ExitStack() as stack:
        try:
            yield _Progress(display, search, ended, total, stack)
        except (KeyboardInterrupt, Interrupted) as error:
            done = str(error).partition(";")[0] or "Stopped"
            raise Interrupted(f"{done}; the same command goes on from there.") from None


class _Progress(SearchCallback):
    """Shows a bar, or a line every few seconds, while a run goes on, and a line when it ends."""

    def __init__(self, display: Display, search: Search, ended: int, total: int, stack: ExitStack) -> None:
        self.display, self.search, self.stack = display, search, stack
        self.ended, self.total, self.here = ended, max(ended, total * len(search.arms)), 0
        self.started = time.monotonic()
        self.tracker: Tracker | None = None

    def on_run_begin(self, arm: str, number: int, recipe: Recipe) -> None:
        self.stack.close()
        seeds = self.search.settings.seeds
        seed = f" seed {recipe.training.seed}" if len(seeds) > 1 or recipe.training.seed not in seeds else ""
        title = f"{arm}{arm and ' '}trial {number}{seed}"
        self.tracker = self.stack.enter_context(self.display.progress(title, recipe.training.epochs))

    def on_step_end(self, epochs: float, loss: float) -> None:
        if self.tracker is not None:
            self.tracker.step(epochs, loss=loss)

    def on_trial_end(self, record: Record, best: Record | None) -> None:
        told = {
            "failed": f"failed: {record.failure}",
            "pruned": "given up",
            "done": f"validation {record.value:.2f}" if record.value is not None else "",
        }
        title = f"{record.arm}{record.arm and ' '}trial {record.number}: {told.get(record.state, record.state)}"
        self._say(title, *([] if best is None else [f"best {best.value:.2f} (trial {best.number})"]))

    def on_report_end(self, arm: str, seed: int, failure: str | None) -> None:
        self._say(f"{arm}{arm and ' '}seed {seed}: {failure or 'done'}")

    def _say(self, *parts: str) -> None:
        self.stack.close()
        self.ended, self.here = self.ended + 1, self.here + 1
        left = (self.total - self.ended) * (time.monotonic() - self.started) / self.here
        more = [f"about {duration(left)} left"] if self.ended < self.total else []
        self.display.say("  ".join([f"{self.ended}/{self.total}", *parts, *more]))


def print_plan(search: Search, trials: int | None) -> None:
    """Print the ranges, how many trials there are to be and, where some have ended, how long the rest takes."""
    console, settings, total = results_console(), search.settings, search.total(trials)
    table = Table("key", "range", "now")
    compared = [] if settings.ablate is None else [settings.ablate]
    for found in (*compared, *settings.ranges):
        now = value_at(settings.recipe, found.key)
        alone = ", each on its own" if found in compared else ""
        table.add_row(found.key, found.text + alone, "" if now is MISSING else str(now))
    console.print(table, markup=False)
    recipe, seeds = next(iter(search.arms.values())).recipe, settings.seeds
    seen = len(development_part(search.protocol, search.data))
    runs = counted(total * len(search.arms) * len(seeds), "run")
    for line in (
        f"{search.data.name}, {describe(recipe)}, {recipe.training.epochs} epochs, sampler {settings.sampler}, seeds "
        f"{' '.join(map(str, seeds))}",
        f"Chosen by the labels of {seen} {item_word(search.data)}; reported under {settings.protocol}",
        f"{counted(total, 'trial')}{_each(search)}: {runs}{_estimate(search, trials)}",
    ):
        console.print(line, markup=False)


def print_winners(search: Search, records: Sequence[Record]) -> None:
    """Print the trial chosen in each arm, with its values."""
    console = results_console()
    for arm, record in best_of_each(records).items():
        values = ", ".join(
            f"{key}={f'{value:.4g}' if isinstance(value, float) else value}" for key, value in record.params.items()
        )
        name, file = f"{arm}: trial" if arm else "Trial", search.folder / best_file(arm)
        console.print(f"{name} {record.number}, validation {record.value:.2f} %, in {file}: {values}", markup=False)
    failed = sum(record.state == "failed" for record in records)
    if failed:
        console.print(f"{failed} of {len(records)} trials failed: see {search.folder / 'trials.csv'}.", markup=False)


def print_report(search: Search, made: Report) -> None:
    """Print the test accuracy of each winner; arms are compared with the first."""
    title = f"{search.folder.name}: test accuracy, {made.protocols[0]}"
    table = Table(title=title, title_justify="left", caption=_caption(search, made), caption_justify="left")
    table.add_column("arm" if any(search.arms) else "winner")
    for header in ("validation", "test", *(["test, labels never seen"] if len(made.protocols) > 1 else [])):
        table.add_column(header, justify="right")
    for arm, record in made.winners.items():
        tested = [_cell(made.table[name, arm]) for name in made.protocols]
        table.add_row(arm or f"trial {record.number}", f"{record.value:.2f}", *tested)
    results_console().print(table, markup=False)


def _cell(summary: Summary) -> str:
    if summary.mean is None:
        return "failed"
    spread = "" if summary.std is None else f" ± {summary.std:.2f}"
    return f"{summary.mean:.2f}{spread}" + ("" if summary.difference is None else f"\n{summary.difference}")


def _caption(search: Search, made: Report) -> str:
    several = len(made.seeds) > 1
    text = f"Trained with the fresh seed{'s' if several else ''} {' '.join(map(str, made.seeds))}"
    if any(summary.std is not None for summary in made.table.values()):
        over = "over seeds, of the means over splits" if several else "over the splits"
        text += f"; mean ± standard deviation {over}"
    if len(search.arms) > 1:
        text += f"; below, the paired difference from {next(iter(search.arms))} and its 95 % interval, over the same"
    if len(made.protocols) > 1:
        text += f". Never seen: test {item_word(search.data)} outside the development part"
    return text + "."


def _each(search: Search) -> str:
    return f" for each of {', '.join(search.arms)}" if len(search.arms) > 1 else ""


def _estimate(search: Search, trials: int | None) -> str:
    """Tell how long the remaining trials take, by those that have ended."""
    if not (search.folder / "trials.sqlite").exists():
        return ""
    with search.trials() as opened:
        records = search.records(opened)
    seconds = [record.seconds for record in records if record.state == "done" and record.seconds is not None]
    left = search.unfinished(records, trials)
    return f", about {duration(left * sum(seconds) / len(seconds))} for the {left} left" if seconds else ""
