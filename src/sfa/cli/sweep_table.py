"""A search on standard output: what it will do, what it chose, and what the winner is worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from sfa.ledger import Ledger, mean_and_std
from sfa.levels import item_word
from sfa.run.display import counted, results_console
from sfa.run.run import describe
from sfa.studies import Estimator, Summary, duration
from sfa.sweep import Record, Report, Search
from sfa.sweep.cells import cell_of
from sfa.sweep.choose import best_file, best_of_each
from sfa.sweep.development import development_part
from sfa.sweep.space import MISSING, value_at


def print_plan(search: Search, ledger: Path, total: int) -> None:
    """The ranges, how many trials there are to be and, where the ledger can tell, how long they take."""
    console, settings = results_console(), search.settings
    table = Table("key", "range", "now")
    space = next(iter(search.arms.values()))
    compared = [] if settings.ablate is None else [settings.ablate]
    for found in (*compared, *settings.ranges):
        alone = ", each on its own" if found in compared else ""
        table.add_row(found.key, found.text + alone, _now(search, found.key))
    console.print(table, markup=False)
    seen = len(development_part(search.protocol, search.graph))
    runs = total * len(search.arms) * len(settings.seeds)
    lines = [
        f"{search.graph.name}, {describe(space.recipe)}, {space.recipe.training.epochs} epochs, sampler "
        f"{settings.sampler}, seeds {' '.join(map(str, settings.seeds))}",
        f"Chosen by the labels of {seen} {item_word(search.graph)}; reported under {settings.protocol}",
        f"{counted(total, 'trial')}{_each(search)}: {counted(runs, 'run')}{_estimate(search, ledger, total)}",
    ]
    for line in lines:
        console.print(line, markup=False)


def print_winners(search: Search, records: Sequence[Record]) -> None:
    """The trial chosen in each arm, with its values."""
    console, chosen = results_console(), best_of_each(records)
    failed = sum(record.state == "failed" for record in records)
    for arm, record in chosen.items():
        values = ", ".join(f"{key}={_short(value)}" for key, value in record.params.items())
        file = search.folder / best_file(arm)
        name = f"{arm}: trial" if arm else "Trial"
        console.print(f"{name} {record.number}, validation {record.value:.2f} %, in {file}: {values}", markup=False)
    if failed:
        console.print(f"{failed} of {len(records)} trials failed: see {search.folder / 'trials.csv'}.", markup=False)


def print_report(search: Search, report: Report) -> None:
    """Test accuracy of each winner; arms are compared with the first."""
    protocol, *unseen = report.protocols
    table = Table(
        title=f"{search.folder.name}: test accuracy, {protocol}",
        title_justify="left",
        caption=_caption(search, report),
        caption_justify="left",
    )
    table.add_column("arm" if any(search.arms) else "winner")
    table.add_column("validation", justify="right")
    table.add_column("test", justify="right")
    if unseen:
        table.add_column("test, labels never seen", justify="right")
    for arm, record in report.winners.items():
        tested = [_cell(report.table[name, arm]) for name in report.protocols]
        table.add_row(arm or f"trial {record.number}", f"{record.value:.2f}", *tested)
    results_console().print(table, markup=False)


def _cell(summary: Summary) -> str:
    if summary.mean is None:
        return "failed"
    difference = "" if summary.difference is None else f"\n{summary.difference}"
    return mean_and_std(summary.mean, summary.std) + difference


def _caption(search: Search, report: Report) -> str:
    seeds = " ".join(map(str, report.seeds))
    over = "over seeds, of the means over splits" if len(report.seeds) > 1 else "over the splits"
    plural = "s" if len(report.seeds) > 1 else ""
    text = f"Trained with the fresh seed{plural} {seeds}"
    if any(summary.std is not None for summary in report.table.values()):
        text += f"; mean ± standard deviation {over}"
    if len(search.arms) > 1:
        text += f"; below, the paired difference from {next(iter(search.arms))} and its 95 % interval, over the same"
    if len(report.protocols) > 1:
        text += f". Never seen: test {item_word(search.graph)} outside the development part"
    return text + "."


def _each(search: Search) -> str:
    return f" for each of {', '.join(search.arms)}" if len(search.arms) > 1 else ""


def _estimate(search: Search, ledger: Path, total: int) -> str:
    """By what was measured of the recipe that the search starts from."""
    if not ledger.exists():
        return ""
    with Ledger(ledger) as opened:
        estimator, data, settings = Estimator(opened.select()), search.data(), search.settings
    each = [
        estimator.seconds(cell_of(data, space.recipe, seed, "start"))
        for space in search.arms.values()
        for seed in settings.seeds
    ]
    known = [seconds for seconds in each if seconds is not None]
    return f", about {duration(total * sum(known))}" if len(known) == len(each) else ""


def _now(search: Search, key: str) -> str:
    found = value_at(search.settings.recipe, key)
    return "" if found is MISSING else str(found)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
