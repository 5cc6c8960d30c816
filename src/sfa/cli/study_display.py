"""The output of ``sfa study``: the list of cells, the progress, and the table of results."""

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from rich import progress as bars
from rich.table import Table

from sfa.paper.plans import RUN_TIME, Cell, Plan
from sfa.paper.results_files import Entry
from sfa.paper.runner import Runner, Watcher, cells_folder, cells_to_do
from sfa.paper.summary import Estimator, Summary, duration, metrics_of, ratio, summarise
from sfa.paper.tables.model import mean_and_std
from sfa.run import display as console
from sfa.run.display import Display, results_console
from sfa.train import Interrupted


def run_plans(plans: Sequence[Plan], runner: Runner, measured: Sequence[Entry], display: Display) -> None:
    """Run plans and show the progress; the time left is estimated from the runs that were measured."""
    estimator = Estimator(measured)
    for plan in plans:
        known = {entry.key: entry for entry in runner.ledger.select()}
        to_do = cells_to_do(plan, known, retry_failed=runner.retry_failed)
        with Progress(display, plan, to_do, estimator) as runner.watcher:
            try:
                runner.run(plan)
            except KeyboardInterrupt:
                raise Interrupted("Stopped; the same command goes on from there.") from None


def report_failures(runner: Runner) -> bool:
    """Print why cells failed, even if quiet; return whether some did."""
    for title, failure in runner.failures.items():
        Display().say(f"Failed: {title}: {failure}")
    return bool(runner.failures)


def list_cells(
    plan: Plan, entries: Sequence[Entry], measured: Sequence[Entry], path: Path, *, retry_failed: bool = False
) -> None:
    """Print the cells of a plan with their state in the ledger, and how long those to do will take."""
    estimator, known = Estimator(measured), {entry.key: entry for entry in entries}
    to_do = {cell.key: cell for cell in cells_to_do(plan, known, retry_failed=retry_failed)}
    table = Table("data set", "variant", "seed", "state", "about", "key")
    for cell in plan.cells:
        entry, seconds, state = known.get(cell.key), None, "done"
        if cell.key in to_do:
            seconds = estimator.seconds(cell)
            state = "begun" if (cells_folder(path) / cell.key).exists() else "to do"
        if entry is not None and entry.failure is not None:
            state = f"failed: {entry.failure}"
        about = "" if seconds is None else duration(seconds)
        table.add_row(cell.dataset.name, cell.variant.label, str(cell.variant.seed), state, about, cell.key)
    total = [f"{len(plan.cells)} cells", f"{len(to_do)} to do", estimator.total(to_do.values())]
    results_console().print(table, ", ".join(filter(None, total)) + ".", sep="\n", markup=False)


class Progress(bars.Progress, Watcher):
    """A live bar over all cells on a terminal, a line every few seconds elsewhere, and a line for each cell."""

    def __init__(self, display: Display, plan: Plan, to_do: Sequence[Cell], estimator: Estimator) -> None:
        columns = bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TextColumn("{task.fields[note]}")
        self.on_terminal = display.console.is_terminal
        super().__init__(*columns, console=display.console, disable=not self.on_terminal)
        self.display, self.estimator, self.title = display, estimator, plan.study
        self.left, self.done, self.total = {cell.key: cell for cell in to_do}, 0, len(plan.cells)
        self.task, self.shown = self.add_task(self.title, total=self.total, note=""), time.monotonic()

    def begin(self, cell: Cell) -> None:
        self.cell = cell
        self._show(cell.title, 0.0)

    def step(self, epochs: float, loss: float | None) -> None:
        notes = [self.cell.title, f"epoch {epochs:.4g}/{self.cell.epochs}"]
        self._show("  ".join(notes if loss is None else [*notes, f"loss {loss:.4g}"]), epochs)

    def end(self, cell: Cell, entry: Entry, *, measured: bool) -> None:
        self.done += 1
        self.left.pop(cell.key, None)
        if measured:
            self.estimator.learn(entry)
            scores = (f"{score.main} {mean_and_std(score.mean(), score.std())}" for score in entry.scores)
            outcome = f"failed: {entry.failure}" if entry.failure else "; ".join(scores)
            self.display.say(f"{self.done}/{self.total}  {cell.title}: {outcome}")
        self.update(self.task, completed=self.done)

    def wait(self, cell: Cell) -> None:
        self.display.say(f"{cell.title}: waiting for the process that is at it.")

    def _show(self, text: str, epochs: float) -> None:
        now = time.monotonic()
        if not self.on_terminal and now - self.shown < console.PLAIN_INTERVAL:
            return
        self.shown = now
        left = self.estimator.total(self.left.values(), {self.cell.key: epochs})
        notes = "  ".join([f"{self.done}/{self.total}", text, *([] if left is None else [f"{left} left"])])
        if self.on_terminal:
            done = self.done + min(epochs / self.cell.epochs if self.cell.epochs else 0.0, 1.0)
            self.update(self.task, completed=done, note=notes)
        else:
            self.display.say(f"{self.title}  {notes}")


def print_table(plan: Plan, entries: Mapping[str, Entry]) -> None:
    """Print a table of variants by data sets for each protocol and metric; ``entries`` are by key."""
    out = results_console()
    baselines = {cell.variant.label: cell.variant.baseline or "" for cell in plan.cells}
    datasets = list(dict.fromkeys(cell.dataset.name for cell in plan.cells))
    for protocol, metric in metrics_of(plan, entries):
        summaries = summarise(plan, entries, protocol, metric)
        title = f"{plan.study}: {metric}" + ("" if protocol == RUN_TIME else f", {protocol}")
        caption = _caption(summaries.values(), protocol)
        table = Table("variant", "baseline", title=title, caption=caption, title_justify="left", caption_justify="left")
        for dataset in datasets:
            table.add_column(dataset, justify="right")
        for label, baseline in baselines.items():
            values = (_value(summaries.get((label, dataset), Summary()), protocol) for dataset in datasets)
            table.add_row(label, baseline, *values)
        out.print(table, markup=False)
    versions = [entries[cell.key].versions for cell in plan.cells if cell.key in entries]
    for name in dict.fromkeys(name for used in versions for name in used):
        different = {used[name] for used in versions if name in used}
        if len(different) > 1:
            out.print(f"Measured with different versions of {name}: {', '.join(sorted(different))}.", markup=False)


def _value(summary: Summary, protocol: str) -> str:
    if summary.mean is None:
        return "failed" if summary.failed else "–"
    text, difference = mean_and_std(summary.mean, summary.std), summary.difference
    if summary.seeds < summary.planned:
        text += f" ({summary.seeds} of {summary.planned} seeds)"
    if difference is None:
        return text
    return f"{text}\n{ratio(difference) if protocol == RUN_TIME else difference}"


def _caption(summaries: Collection[Summary], protocol: str) -> str:
    if summaries and all(summary.std is None for summary in summaries):
        return "One split and one seed: no deviation; several --seeds give one."
    seeds, repeats = max((one.seeds for one in summaries), default=0), "turns" if protocol == RUN_TIME else "splits"
    spread = f"{seeds} seeds, of the means over {repeats}" if seeds > 1 else f"the {repeats} of one seed"
    text = f"Mean ± standard deviation over {spread}"
    if any(summary.difference for summary in summaries):
        what = "ratio to" if protocol == RUN_TIME else "difference from"
        text += f"; below, the paired {what} the baseline and its 95 % interval, over the same"
    return text + "."
