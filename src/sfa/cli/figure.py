"""``sfa figure``: a picture of the paper by number or name, of runs, run times or theory, in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfa.cli import study
from sfa.cli.figure_runs import FOLDER, available, train_needed
from sfa.cli.table import own_entries
from sfa.errors import InputError
from sfa.figures import NamedFigure, Takes, check_picture, find_figure, read_runs, save_figure
from sfa.figures.run_time import STUDY, timings
from sfa.ledger import Entry, default_path
from sfa.registry import registered
from sfa.run.display import Display
from sfa.run.run import set_threads
from sfa.run.source import Source
from sfa.tables import published
from sfa.tables.shipped import shipped_entries

ALL = "all"
TIMED = 2
"""The paper's table whose data sets run times are measured on, and whose values are shown with them."""


@dataclass(frozen=True)
class Place:
    """Where numbers come from and where work is done."""

    ledger: Path | None
    data_root: Path | None
    device: str
    threads: int | None

    @property
    def ledger_path(self) -> Path:
        return default_path() if self.ledger is None else self.ledger


def run(
    name: str, paths: Sequence[Path], *, out: Path | None, measure: bool, place: Place, strict: bool, quiet: bool
) -> None:
    """Draw and write; with ``measure`` the runs or times that the paper's figure is of are got first."""
    display = Display(quiet)
    if name == ALL:
        _draw_all(paths, out, measure, display)
        return
    figure = find_figure(name)
    _check(name, figure, paths, measure)
    files = _files(_stem(name), out)
    for file in files:
        check_picture(file)
    set_threads(place.threads)
    if measure:
        paths = _measure(figure, place, strict, display)
    _draw(name, figure, _material(name, figure, paths, place), files, display)


def _check(name: str, figure: NamedFigure, paths: Sequence[Path], measure: bool) -> None:
    """Raise if it cannot be drawn from what is given."""
    title = _title(name)
    if measure and figure.takes is Takes.NO_RUN:
        raise InputError(f"{title} is drawn from {figure.takes.value}: leave out --run.")
    if measure and paths:
        raise InputError("--run trains what the paper's figure is of: leave it out, or the run folders.")
    if measure and "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A figure is measured in one process: start it without torchrun.")
    if measure or figure.takes.allows(len(paths)):
        return
    if paths:
        raise InputError(f"{title} is drawn from {figure.takes.value}, not from {len(paths)}.")
    commands = "`, `".join(run.command(str(FOLDER)) for run in figure.runs)
    raise InputError(
        f"{title} is drawn from {figure.takes.value}: give run folders, or let `sfa figure {name} --run` train the "
        f"paper's, which is `{commands}`."
    )


def _measure(figure: NamedFigure, place: Place, strict: bool, display: Display) -> list[Path]:
    """Train the runs that are missing, or time what is; the folders of the runs."""
    if figure.takes is Takes.RUNS:
        return train_needed(figure.runs, data_root=place.data_root, device=place.device, display=display)
    sources = {row.key: Source(row.key, place.data_root) for row in published.load(TIMED).rows}
    study.run(
        STUDY,
        datasets=list(available(sources, display)),
        seeds=[0],
        methods=[],
        recipe=None,
        changes={},
        protocols=[],
        ledger=place.ledger,
        data_root=place.data_root,
        device=place.device,
        threads=place.threads,
        dry_run=False,
        retry_failed=False,
        keep_runs=False,
        strict=strict,
        quiet=display.console.quiet,
    )
    return []


def _material(name: str, figure: NamedFigure, paths: Sequence[Path], place: Place) -> list[Any]:
    """What the figure is drawn from."""
    if figure.takes is not Takes.TIMES:
        return list(read_runs(paths))
    entries: Sequence[Entry] = own_entries(place.ledger_path, asked=place.ledger is not None)
    if not timings(entries):
        entries = shipped_entries()
    if not timings(entries):
        datasets = " ".join(row.key for row in published.load(TIMED).rows)
        raise InputError(
            f"{_title(name)} is drawn from {figure.takes.value}, and {place.ledger_path} has none: "
            f"`sfa figure {name} --run` measures them, or `sfa study {STUDY} --datasets {datasets}`."
        )
    return [entries, _published_ratios()]


def _published_ratios() -> dict[str, float]:
    """By data set, how many times longer an epoch with SFA takes, as the paper's table has it."""
    ratios = {}
    for row in published.load(TIMED).rows:
        without, with_sfa = (float(cell.text) for cell in row.cells if cell is not None)
        ratios[row.key] = with_sfa / without
    return ratios


def _draw(name: str, figure: NamedFigure, material: Sequence[Any], files: Sequence[Path], display: Display) -> None:
    drawn = figure.draw(*material)
    for file in files:
        save_figure(drawn, file)
    name = next((known for known, one in registered("figure").items() if one is figure), name)
    title = name if figure.number is None else f"Figure {figure.number} ({name})"
    display.say(f"{title} in {' and '.join(map(str, files))}")
    if figure.caption is not None:
        display.say(f"The paper: {figure.caption}")
    if figure.tell is not None:
        display.say(f"Here: {figure.tell(*material)}")


def _draw_all(paths: Sequence[Path], out: Path | None, measure: bool, display: Display) -> None:
    """Every figure that needs neither runs nor times, in one folder."""
    if paths or measure:
        raise InputError("`sfa figure all` draws what needs no run: leave out --run and run folders.")
    folder = Path("figures") if out is None else out
    if folder.suffix and not folder.is_dir():
        raise InputError(f"`sfa figure all` draws many pictures: --out is a folder for them, not {folder}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error
    figures = registered("figure")
    drawn = {name: figure for name, figure in figures.items() if figure.takes is Takes.NO_RUN}
    stems = {name: name if figure.number is None else _stem(figure.number) for name, figure in drawn.items()}
    files = {name: _files(stem, folder) for name, stem in stems.items()}
    for each in files.values():
        for file in each:
            check_picture(file)
    for name, figure in drawn.items():
        _draw(name, figure, [], files[name], display)
    rest = [figure.number or name for name, figure in figures.items() if figure.takes is not Takes.NO_RUN]
    display.say(f"Not drawn, as they need runs or run times: {', '.join(rest)} (`sfa figure {rest[0]} --run`).")


def _title(name: str) -> str:
    return f"Figure {name}" if name[:1].isdigit() else f"The figure {name!r}"


def _stem(name: str) -> str:
    return f"figure-{name.lower()}" if name[:1].isdigit() else name.rpartition(":")[2]  # of module:figure


def _files(name: str, out: Path | None) -> list[Path]:
    """One file if its format is given; else two, to look at and to print, in the folder or under the name given."""
    if out is not None and out.suffix and not out.is_dir():
        return [out]
    stem = Path(name) if out is None else out / name if out.is_dir() else out
    return [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
