"""``sfa sweep``: a search over ranges of a recipe, and the report on its winner."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from torch_geometric.data import Data

from sfa.cli.sweep_progress import ReportProgress, SearchProgress
from sfa.cli.sweep_table import print_plan, print_report, print_winners
from sfa.data import fingerprint
from sfa.errors import InputError
from sfa.evaluate import default_protocol
from sfa.ledger import Ledger, default_path
from sfa.levels import level_of
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.display import Display, counted
from sfa.run.run import set_threads
from sfa.run.source import Source, tell_of_data
from sfa.studies import starting_point
from sfa.sweep import (
    Range,
    Record,
    Search,
    Settings,
    fresh_seeds,
    load_ranges,
    make_report,
    merged,
    parse_range,
    shipped_ranges,
)
from sfa.sweep.cells import SWEEP
from sfa.sweep.trials import REPORT, check_installed
from sfa.train import Interrupted, make_fabric


@dataclass(frozen=True)
class Manner:
    """Where it runs and what is shown, in the words of the command line."""

    ledger: Path | None
    device: str
    threads: int | None
    strict: bool
    quiet: bool

    def begin(self) -> Display:
        """Check what can be checked before anything is read."""
        if "TORCHELASTIC_RUN_ID" in os.environ:
            raise InputError("A search runs in one process: start it without torchrun, more than once if you like.")
        make_fabric(self.device)
        set_threads(self.threads)
        return Display(self.quiet)

    @property
    def path(self) -> Path:
        """Of the ledger."""
        return default_path() if self.ledger is None else self.ledger


@dataclass(frozen=True)
class Asked:
    """A search in the words of the command line."""

    method: str | None
    recipe: str | None
    changes: Mapping[str, Any]
    ranges: tuple[str, ...]
    ranges_file: Path | None
    ablate: str | None
    seeds: tuple[int, ...]
    sampler: Any
    seed: int
    pruner: Any
    protocol: str | None


def run(
    source: Source,
    *,
    asked: Asked,
    out: Path | None,
    trials: int | None,
    timeout: float | None,
    report_seeds: Sequence[int] | None,
    dry_run: bool,
    manner: Manner,
) -> None:
    """Search as asked on the command line, then report if that was asked for too."""
    display = manner.begin()
    if not dry_run:
        check_installed()
    given = _given_ranges(asked)  # what can be wrong in words is wrong before the data are read
    graph = source.load(display)
    settings = _settings(source, graph, asked, given)
    folder = _folder(graph, settings.recipe) if out is None else out
    search = Search(settings, graph, folder)
    if report_seeds is not None:
        fresh_seeds(search, report_seeds)
    settings.require_same(folder)
    total = search.total(trials)
    if dry_run:
        print_plan(search, manner.path, total)
        return
    tell_of_data(graph, display)
    settings.settle(folder)
    with Ledger(manner.path, create=True) as opened:
        records = _search(search, opened, trials, timeout, manner=manner, display=display)
        left = 0 if report_seeds is None else search.unfinished(records, trials)
        if left:
            to_come = counted(left, "trial")
            Display().say(f"No report yet, with {to_come} still to come: the same command goes on from there.")
        if all(record.state == "failed" for record in records):
            raise typer.Exit(1)
        print_winners(search, records)
        if report_seeds is None:
            read = f"Test labels were read: {folder / REPORT}"
            display.say(read if search.is_reported else f"Test labels are unread: sfa sweep report {folder}")
            return
        if left:
            raise typer.Exit(1)
        _report(search, opened, report_seeds, manner=manner, display=display)


def report(folder: Path, *, seeds: Sequence[int], data_root: Path | None, manner: Manner) -> None:
    """Report on the winner of a search that is at its end."""
    display = manner.begin()
    check_installed()
    settings = Settings.read(folder)
    search = Search(settings, _recorded_source(settings, data_root).load(display), folder)
    fresh_seeds(search, seeds)
    with Ledger(manner.path, create=True) as opened:
        _report(search, opened, seeds, manner=manner, display=display)


def _search(
    search: Search,
    ledger: Ledger,
    trials: int | None,
    timeout: float | None,
    *,
    manner: Manner,
    display: Display,
) -> list[Record]:
    total = search.total(trials)
    with search.trials() as opened:
        records = search.records(opened)
    arms = f" for each of {', '.join(search.arms)}" if len(search.arms) > 1 else ""
    display.say(f"{counted(total, 'trial')}{arms}, {len(records)} there, in {search.folder}; runs in {ledger.path}")
    with SearchProgress(display, search, records, total) as progress:
        try:
            return search.run(
                ledger, trials=trials, timeout=timeout, device=manner.device, strict=manner.strict, watcher=progress
            )
        except KeyboardInterrupt:
            raise Interrupted("Stopped; the same command goes on from there.") from None


def _report(search: Search, ledger: Ledger, seeds: Sequence[int], *, manner: Manner, display: Display) -> None:
    with ReportProgress(display, len(search.arms) * len(fresh_seeds(search, seeds))) as progress:
        try:
            made = make_report(
                search, ledger, seeds=seeds, device=manner.device, strict=manner.strict, watcher=progress
            )
        except KeyboardInterrupt:
            raise Interrupted("Stopped; the same command goes on from there.") from None
    print_report(search, made)
    for title, failure in made.failures.items():
        Display().say(f"Failed: {title}: {failure}")
    if made.failures:
        raise typer.Exit(1)


def _given_ranges(asked: Asked) -> list[Range]:
    """Those of the command line and of a file; none, if the method's own are to be taken."""
    given = [parse_range(text) for text in asked.ranges]
    keys = [found.key for found in given]
    if len(set(keys)) < len(keys):
        raise InputError(f"There are two ranges of {next(key for key in keys if keys.count(key) > 1)}.")
    return merged(load_ranges(asked.ranges_file) if asked.ranges_file is not None else [], given)


def _settings(source: Source, graph: Data, asked: Asked, given: Sequence[Range]) -> Settings:
    level = level_of(graph)
    if asked.method is not None:
        resolve("method", asked.method)
    methods = [] if asked.method is None else [asked.method]
    base = starting_point(SWEEP, str(graph.name), level, methods=methods, recipe=asked.recipe, changes=asked.changes)
    recipe = base.recipe
    ablate = None if asked.ablate is None else parse_range(asked.ablate)
    return Settings(
        source=source.as_dict(),
        fingerprint=fingerprint(graph),
        protocol=asked.protocol or default_protocol(level),
        recipe=recipe,
        ranges=tuple(given or _own_ranges(recipe, ablate)),
        ablate=ablate,
        seeds=tuple(dict.fromkeys(asked.seeds)),
        sampler=asked.sampler,
        seed=asked.seed,
        pruner=asked.pruner,
    )


def _own_ranges(recipe: Recipe, ablate: Range | None) -> list[Range]:
    """The ranges that come with the method, but for what is compared."""
    method, shipped = recipe.method["name"], shipped_ranges()
    if method not in shipped:
        raise InputError(
            f"No ranges come with {method} (some do with {', '.join(shipped)}): give --range KEY=LOW..HIGH or --ranges."
        )
    compared = "" if ablate is None else ablate.key
    return [found for found in shipped[method] if found.key not in (compared, f"{compared}.name")]


def _folder(graph: Data, recipe: Recipe) -> Path:
    name, method = (re.sub(r"[^\w-]+", "-", str(part)).strip("-") for part in (graph.name, recipe.method["name"]))
    return Path("sweeps") / f"{name or 'graph'}-{method}"


def _recorded_source(settings: Settings, data_root: Path | None) -> Source:
    recorded, root = settings.source, settings.source.get("data_root")
    return Source(recorded.get("data"), data_root if data_root is not None else None if root is None else Path(root))
