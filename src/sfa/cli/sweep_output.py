"""What ``sfa sweep`` shows: the plan, the progress of a search, the winners and the report."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import typer
from rich.table import Table

from sfa import distributed
from sfa.errors import InputError
from sfa.paper.summary import duration
from sfa.run import Recipe
from sfa.run.changes import MISSING
from sfa.run.display import Display, counted, make_table, results_console
from sfa.run.run import describe, set_threads
from sfa.run.source import tell_of_data
from sfa.sweep import Record, Report, Search, SearchCallback, fresh_seeds, make_report
from sfa.sweep.search import best_file
from sfa.sweep.settings import value_at
from sfa.sweep.trials import REPORT, best_of_each, check_installed
from sfa.tasks import item_word
from sfa.train import Interrupted, make_fabric


def prepare(device: str, threads: int | None, dry_run: bool) -> None:
    """Check what can be checked before the data are read."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A search runs in one process: start it without torchrun, more than once if you like.")
    distributed.train_alone()
    make_fabric(device)
    set_threads(threads)
    if not dry_run:
        check_installed()


def run(
    search: Search,
    trials: int | None,
    timeout: float | None,
    report_seeds: Sequence[int] | None,
    display: Display,
    **options: Any,
) -> None:
    """Search, print the winners, and report if that is asked for; ``options`` are the device and strictness."""
    tell_of_data(search.data, display)
    search.settings.save(search.folder)
    records, total = search.records(), max(search.trials_by_arm(trials).values())
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
        display.say(
            read if (search.folder / REPORT).exists() else f"Test labels are unread: sfa sweep report {search.folder}"
        )
    elif left:
        raise typer.Exit(1)
    else:
        report(search, report_seeds, display, **options)


def report(search: Search, seeds: Sequence[int], display: Display, **options: Any) -> None:
    """Report on the winners of a search that has ended."""
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
    started, total = time.monotonic(), max(ended, total * len(search.arms))

    class ShowProgress(SearchCallback):
        done = ended

        def on_run_begin(self, arm: str, number: int, recipe: Recipe) -> None:
            stack.close()
            seeds, own = search.settings.seeds, recipe.training.seed
            title = f"{arm} trial {number}{f' seed {own}' if len(seeds) > 1 or own not in seeds else ''}".strip()
            self.tracker = stack.enter_context(display.progress(title, recipe.training.epochs))

        def on_step_end(self, epochs: float, loss: float) -> None:
            self.tracker.step(epochs, loss=loss)

        def on_trial_end(self, record: Record, best: Record | None) -> None:
            result = {"failed": f"failed: {record.failure}", "pruned": "given up"}.get(record.state, record.state)
            result = result if record.value is None else f"validation {record.value:.2f}"
            chosen = [] if best is None else [f"best {best.value:.2f} (trial {best.number})"]
            self.say(f"{record.name}: {result}", *chosen)

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


def print_plan(search: Search, trials: int | None) -> None:
    """Print the ranges, how many trials there are to be and, where some have ended, how long the rest takes."""
    settings, total, table = search.settings, max(search.trials_by_arm(trials).values()), Table("key", "range", "now")
    for range_ in (*([] if settings.ablate is None else [settings.ablate]), *settings.ranges):
        now = value_at(settings.recipe, range_.key)
        alone = ", each on its own" if range_ is settings.ablate else ""
        table.add_row(range_.key, range_.text + alone, "" if now is MISSING else str(now))
    records = search.records() if (search.folder / "trials.sqlite").exists() else []
    seconds = [record.seconds for record in records if record.state == "done" and record.seconds is not None]
    left = search.unfinished(records, trials)
    about = f", about {duration(left * sum(seconds) / len(seconds))} for the {left} left" if seconds else ""
    recipe, seeds = next(iter(search.arms.values())).recipe, settings.seeds
    results_console().print(
        table,
        f"{search.data.name}, {describe(recipe)}, {recipe.training.epochs} epochs, sampler {settings.sampler}, seeds "
        f"{' '.join(map(str, seeds))}",
        f"Chosen by the labels of {len(search.seen)} {item_word(search.data)}; reported under {settings.protocol}",
        f"{counted(total, 'trial')}{_each(search)}: {counted(total * len(search.arms) * len(seeds), 'run')}{about}",
        sep="\n",
    )


def _print_winners(search: Search, records: Sequence[Record]) -> None:
    """Print the trial chosen in each arm, with its values."""
    console = results_console()
    for arm, record in best_of_each(records).items():
        params = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in record.params.items()}
        values, name = ", ".join(f"{key}={value}" for key, value in params.items()), f"{arm}: trial" if arm else "Trial"
        file = search.folder / best_file(arm)
        console.print(f"{name} {record.number}, validation {record.value:.2f} %, in {file}: {values}")
    failed = sum(record.state == "failed" for record in records)
    if failed:
        console.print(f"{failed} of {len(records)} trials failed: see {search.folder / 'trials.csv'}.")


def _print_report(search: Search, made: Report) -> None:
    """Print the test accuracy of each winner; arms are compared with the first."""
    several, unseen = len(made.seeds) > 1, len(made.protocols) > 1
    caption = f"Trained with the fresh seed{'s' if several else ''} {' '.join(map(str, made.seeds))}"
    if any(summary.std is not None for summary in made.table.values()):
        over = "over seeds, of the means over splits" if several else "over the splits"
        caption += f"; mean ± standard deviation {over}"
    if len(search.arms) > 1:
        caption += f"; below, the paired difference from {next(iter(search.arms))} and its 95 % interval, over the same"
    caption += f". Never seen: test {item_word(search.data)} outside the development part." if unseen else "."
    title, rows = f"{search.folder.name}: test accuracy, {made.protocols[0]}", []
    headings = ["arm" if any(search.arms) else "winner", "validation", "test", "test, labels never seen"]
    for arm, record in made.winners.items():
        cells = []
        for summary in (made.table[name, arm] for name in made.protocols):
            spread = "" if summary.std is None else f" ± {summary.std:.2f}"
            below = "" if summary.difference is None else f"\n{summary.difference}"
            cells.append("failed" if summary.mean is None else f"{summary.mean:.2f}{spread}{below}")
        rows.append([arm or record.name, f"{record.value:.2f}", *cells])
    options: dict[str, Any] = {"title_justify": "left", "caption_justify": "left"}
    results_console().print(make_table(headings[: 3 + unseen], rows, title=title, caption=caption, **options))


def _each(search: Search) -> str:
    return f" for each of {', '.join(search.arms)}" if len(search.arms) > 1 else ""
