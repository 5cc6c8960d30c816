"""A study's table on standard output."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rich.table import Table

from sfa.evaluate import Clustering, Difference
from sfa.ledger import Entry, mean_and_std
from sfa.registry import resolve
from sfa.run.display import results_console
from sfa.studies import RUN_TIME, Plan, Summary, metrics_of, summarise


def print_table(plan: Plan, entries: Mapping[str, Entry]) -> None:
    """One table for each protocol and metric: variants by data sets."""
    console = results_console()
    for protocol, metric in metrics_of(plan, entries):
        summaries = summarise(plan, entries, protocol, metric)
        console.print(_table(plan, summaries, protocol, metric), markup=False)
    for note in _notes(plan, entries):
        console.print(note, markup=False)


def _table(plan: Plan, summaries: Mapping[tuple[str, str], Summary], protocol: str, metric: str) -> Table:
    variants = {cell.variant.label: cell.variant.baseline for cell in plan.cells}
    datasets = list(dict.fromkeys(cell.dataset.name for cell in plan.cells))
    title = f"{plan.study.name}: {metric}" + ("" if protocol == RUN_TIME else f", {protocol}")
    table = Table(
        title=title, title_justify="left", caption=_caption(summaries.values(), protocol), caption_justify="left"
    )
    table.add_column("variant")
    table.add_column("baseline")
    for dataset in datasets:
        table.add_column(dataset, justify="right")
    for label, baseline in variants.items():
        cells = [_cell(summaries.get((label, dataset), Summary()), protocol) for dataset in datasets]
        table.add_row(label, baseline or "", *cells)
    return table


def _cell(summary: Summary, protocol: str) -> str:
    if summary.mean is None:
        return "failed" if summary.failed else "–"
    text = mean_and_std(summary.mean, summary.std)
    if summary.seeds < summary.planned:
        text += f" ({summary.seeds} of {summary.planned} seeds)"
    if summary.difference is not None:
        text += "\n" + (_ratio(summary.difference) if protocol == RUN_TIME else str(summary.difference))
    return text


def _ratio(relative: Difference) -> str:
    """A relative change in per cent as a factor."""
    mean, low, high = (1 + change / 100 for change in (relative.mean, relative.low, relative.high))
    return f"× {mean:.3f} [{low:.3f}, {high:.3f}]"


def _caption(summaries: Collection[Summary], protocol: str) -> str:
    """What the numbers are."""
    repeats = "turns" if protocol == RUN_TIME else "runs" if _is_clustering(protocol) else "splits"
    seeds = max((summary.seeds for summary in summaries), default=0)
    if summaries and all(summary.std is None for summary in summaries):
        return "One split and one seed: no deviation; several --seeds give one."
    over = f"{seeds} seeds, of the means over {repeats}" if seeds > 1 else f"the {repeats} of one seed"
    text = f"Mean ± standard deviation over {over}"
    if seeds > 1 and any(summary.seeds == 1 for summary in summaries):
        text += f" (over {repeats} where there is but one)"
    if any(summary.difference for summary in summaries):
        what = "ratio to" if protocol == RUN_TIME else "difference from"
        text += f"; below, the paired {what} the baseline and its 95 % interval, over the same"
    return text + "."


def _notes(plan: Plan, entries: Mapping[str, Entry]) -> list[str]:
    """What a reader of the table should know."""
    found = [entries[cell.key].versions for cell in plan.cells if cell.key in entries]
    different = {
        name: sorted({str(versions.get(name)) for versions in found})
        for name in (found[0] if found else ())
        if len({versions.get(name) for versions in found}) > 1
    }
    return [f"Measured with different versions of {name}: {', '.join(those)}." for name, those in different.items()]


def _is_clustering(protocol: str) -> bool:
    return isinstance(resolve("protocol", protocol), Clustering)
