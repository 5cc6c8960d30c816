"""What ``sfa figure`` does: a picture of the paper by number or name, of runs, run times or theory, in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.cli.table import own_entries
from sfa.errors import InputError
from sfa.paper import default_path
from sfa.paper.estimate import duration
from sfa.paper.figures import NamedFigure, Takes, find_figure
from sfa.paper.figures.run_time import STUDY, timings
from sfa.paper.measure import seconds_per_epoch
from sfa.paper.tables import definition as published
from sfa.paper.tables.make import shipped_entries
from sfa.plots import check_picture, save_figure
from sfa.registry import registered
from sfa.run import Recipe, load_recipe
from sfa.run.display import Display, counted
from sfa.run.run import describe
from sfa.run.source import Source, require_same_data
from sfa.run.train_recipe import start_run, train_in
from sfa.train import Interrupted, RunFolder, load_tensors
from sfa.train.run_log import read_runs

FOLDER = Path("runs/figures")
"""Where the paper's runs are trained; figures that are of the same runs share them."""
TIMED = 2
"""The paper's table whose data sets run times are measured on, and whose values are shown with them."""
MAPS = ("none", "sfa")
"""Of the paper's runs on each data set: without and with SFA."""
TRIED = 2
"""Epochs that are timed to tell how long all will take."""


def run(
    name: str,
    paths: Sequence[Path],
    *,
    out: Path | None,
    measure: bool,
    ledger: Path | None,
    data_root: Path | None,
    device: str,
    study: Callable[[str, list[str]], None],
    display: Display,
) -> None:
    """Draw and write; with ``measure`` the runs or times that the paper's figure is of are got first.

    ``study`` measures the times: it is called with a study's name and data sets.
    """
    figure = find_figure(name)
    _check(name, figure, paths, measure)
    files = _files(_stem(name), out)
    for file in files:
        check_picture(file)
    if measure and figure.takes is Takes.RUNS:
        paths = train_needed(figure.datasets, data_root=data_root, device=device, display=display)
    elif measure:
        study(STUDY, list(available({name: Source(name, data_root) for name in _published_ratios()}, display)))
    material = _times(name, ledger) if figure.takes is Takes.TIMES else read_runs(paths)
    _draw(name, figure, material, files, display)


def _check(name: str, figure: NamedFigure, paths: Sequence[Path], measure: bool) -> None:
    """Raise if it cannot be drawn from what is given."""
    title = _title(name)
    if measure and figure.takes is Takes.NO_RUN:
        raise InputError(f"{title} is drawn from {figure.takes.value}: leave out --run.")
    if measure and paths:
        raise InputError("--run trains what the paper's figure is of: leave it out, or the run folders.")
    if measure and "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A figure is measured in one process: start it without torchrun.")
    if measure or bool(paths) == (figure.takes is Takes.RUNS):
        return
    if paths:
        raise InputError(f"{title} is drawn from {figure.takes.value}, not from {len(paths)}.")
    commands = "`, `".join(
        f"sfa train {dataset} --recipe grace/{dataset} --spectral {spectral} --out {_folder(dataset, spectral)}"
        for dataset in figure.datasets
        for spectral in MAPS
    )
    raise InputError(
        f"{title} is drawn from {figure.takes.value}: give run folders, or let `sfa figure {name} --run` train the "
        f"paper's, which is `{commands}`."
    )


def _times(name: str, ledger: Path | None) -> list[Any]:
    """Return the run times to draw, the user's or those that came with sfa, and the ratios that the paper prints."""
    path = default_path() if ledger is None else ledger
    for entries in (own_entries(path, asked=ledger is not None), shipped_entries()):
        if timings(entries):
            return [entries, _published_ratios()]
    raise InputError(
        f"{_title(name)} is drawn from {Takes.TIMES.value}, and {path} has none: `sfa figure {name} --run` measures "
        f"them, or `sfa study {STUDY} --datasets {' '.join(_published_ratios())}`."
    )


def _published_ratios() -> dict[str, float]:
    """Return by data set how many times longer an epoch with SFA takes, as the paper's table has it."""
    ratios = {}
    for row in published.load(TIMED).rows:
        without, with_sfa = (float(cell.published) for cell in row.cells if cell.published)
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


def draw_all(paths: Sequence[Path], out: Path | None, measure: bool, display: Display) -> None:
    """Draw every figure that needs neither runs nor times, in one folder."""
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
    files = {
        name: _files(name if figure.number is None else _stem(figure.number), folder)
        for name, figure in figures.items()
        if figure.takes is Takes.NO_RUN
    }
    for file in (file for both in files.values() for file in both):
        check_picture(file)
    for name, both in files.items():
        _draw(name, figures[name], [], both, display)
    rest = [figure.number or name for name, figure in figures.items() if name not in files]
    display.say(f"Not drawn, as they need runs or run times: {', '.join(rest)} (`sfa figure {rest[0]} --run`).")


def _title(name: str) -> str:
    return f"Figure {name}" if name[:1].isdigit() else f"The figure {name!r}"


def _stem(name: str) -> str:
    return f"figure-{name.lower()}" if name[:1].isdigit() else name.rpartition(":")[2]  # of module:figure


def _files(name: str, out: Path | None) -> list[Path]:
    """Return one file if its format is given; else two, to look at and to print, in the folder or under the name."""
    if out is not None and out.suffix and not out.is_dir():
        return [out]
    stem = Path(name) if out is None else out / name if out.is_dir() else out
    return [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]


def _folder(dataset: str, spectral: str) -> Path:
    """Return where a run of the paper is trained: the same whichever figure asks for it."""
    return FOLDER / f"{dataset}-grace-{spectral}"


def train_needed(datasets: Sequence[str], *, data_root: Path | None, device: str, display: Display) -> list[Path]:
    """Train the runs that are not there yet, and return all folders; say why, of those on data that cannot be had."""
    sources = {name: Source(name, data_root) for name in datasets}
    graphs = available(sources, display)
    recipes = {
        _folder(name, spectral): (load_recipe(f"grace/{name}").updated({"spectral.name": spectral}), name)
        for name in graphs
        for spectral in MAPS
    }
    left = {path: _epochs_left(path, recipe, graphs[name]) for path, (recipe, name) in recipes.items()}
    left = {path: epochs for path, epochs in left.items() if epochs}
    if left:
        names = ", ".join(f"{describe(recipes[path][0])} on {recipes[path][1]}" for path in left)
        seconds = 0.0
        for path, epochs in left.items():
            recipe, graph = recipes[path][0], graphs[recipes[path][1]]
            method, prepared, timed = recipe.build_for(graph), recipe.prepare(graph), min(TRIED, epochs)
            seconds += epochs * seconds_per_epoch(method, prepared, recipe, epochs=timed, device=device)
        display.say(f"{counted(len(left), 'run')} to train in {FOLDER}, about {duration(seconds)}: {names}.")
    for path in left:
        recipe, name = recipes[path]
        try:
            if path.exists():
                train_in(RunFolder.open(path), recipe, graphs[name], device=device, resume=True, display=display)
            else:
                start_run(path, recipe, graphs[name], sources[name], device=device, display=display)
        except Interrupted as error:
            raise Interrupted(f"{str(error).partition(';')[0]}; the same command goes on from there.") from error
    return list(recipes)


def available(sources: dict[str, Source], display: Display) -> dict[str, Data]:
    """Load the data that can be had; raise if none can."""
    graphs, reasons = {}, {}
    for name, source in sources.items():
        try:
            graphs[name] = source.load(display)
        except InputError as error:
            reasons[name] = error
    if not graphs:
        raise next(iter(reasons.values()))
    for name, reason in reasons.items():
        display.say(f"Without {name}: {reason}")
    return graphs


def _epochs_left(path: Path, recipe: Recipe, graph: Data) -> int:
    """Return how much of a run is still to be trained; raise if its folder holds another."""
    if not path.exists():
        return recipe.training.epochs
    folder = RunFolder.open(path)
    if load_recipe(folder.recipe_file) != recipe:
        wanted = f"grace/{path.name.partition('-grace-')[0]} with {recipe.spectral_name}"
        raise InputError(f"{path} holds another run than {wanted}: move it away, and try again.")
    require_same_data(folder, graph)
    meta = load_tensors(folder.checkpoint)[1] if folder.checkpoint.exists() else {}
    return 0 if meta.get("finished") else recipe.training.epochs - int(meta.get("epoch", 0))
