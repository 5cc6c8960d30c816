"""Draw a figure of the paper by number or name, from runs, run times or theory, and write it to files."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.errors import InputError, translate_os_errors
from sfa.paper import default_path, own_entries
from sfa.paper.figures import NO_RUN, RUNS, TIMES, NamedFigure, find_figure
from sfa.paper.figures.run_time import STUDY, timings
from sfa.paper.measure import seconds_per_epoch
from sfa.paper.summary import duration
from sfa.paper.tables.definition import load
from sfa.paper.tables.make import shipped_entries
from sfa.plots import check_picture, save_figure
from sfa.registry import registered
from sfa.run import Recipe, load_recipe
from sfa.run.display import Display, counted
from sfa.run.run import describe
from sfa.run.source import Source, require_same_data
from sfa.run.train_recipe import train_in
from sfa.train import Interrupted, RunFolder
from sfa.train.checkpoint import read_progress
from sfa.train.run_log import read_runs

FOLDER = Path("runs/figures")  # where the paper's runs are trained; figures of the same runs share them
MAPS = ("none", "sfa")  # spectral maps of the paper's runs on each data set: without and with SFA
TIMED = 2  # the paper's table whose data sets run times are measured on, and whose values are shown with them
TRIED = 2  # epochs that are timed to estimate how long all will take


def draw_figure(
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
    """Draw a figure and write it; with ``measure``, train the runs or measure the times of the paper's figure first.

    ``study`` measures times: it is called with a study's name and data sets.
    """
    figure, ratios = find_figure(name), published_ratios()
    _check(name, figure, paths, measure)
    files = _files(f"figure-{name.lower()}" if name[:1].isdigit() else name.rpartition(":")[2], out)
    if measure and figure.takes == RUNS:
        paths = train_runs(figure.datasets, data_root=data_root, device=device, display=display)
    elif measure:
        study(STUDY, list(available(ratios, data_root, display)))
    if figure.takes != TIMES:
        _draw(name, figure, read_runs(paths), files, display)
        return
    path = ledger or default_path()
    own = own_entries(path, asked=ledger is not None)  # else those that came with sfa
    entries = next((list(those) for those in (own, shipped_entries()) if timings(those)), None)
    if entries is None:
        raise InputError(
            f"{_title(name)} is drawn from {TIMES}, and {path} has none: `sfa figure {name} --run` "
            f"measures them, or `sfa study {STUDY} --datasets {' '.join(ratios)}`."
        )
    _draw(name, figure, [entries, ratios], files, display)


def draw_all(paths: Sequence[Path], out: Path | None, measure: bool, display: Display) -> None:
    """Draw every figure that needs neither runs nor times, in one folder."""
    if paths or measure:
        raise InputError("`sfa figure all` draws what needs no run: leave out --run and run folders.")
    folder = out or Path("figures")
    if folder.suffix and not folder.is_dir():
        raise InputError(f"`sfa figure all` draws many pictures: --out is a folder for them, not {folder}.")
    with translate_os_errors(f"Cannot make the folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    figures: Mapping[str, NamedFigure] = registered("figure")
    theory = {name: figure for name, figure in figures.items() if figure.takes == NO_RUN}
    stems = {name: name if figure.number is None else f"figure-{figure.number}" for name, figure in theory.items()}
    files = {name: _files(stem, folder) for name, stem in stems.items()}  # raises before any is drawn
    for name, figure in theory.items():
        _draw(name, figure, [], files[name], display)
    rest = [figure.number or name for name, figure in figures.items() if name not in theory]
    display.say(f"Not drawn, as they need runs or run times: {', '.join(rest)} (`sfa figure {rest[0]} --run`).")


def _check(name: str, figure: NamedFigure, paths: Sequence[Path], measure: bool) -> None:
    """Raise if the figure cannot be drawn from what is given."""
    title = f"{_title(name)} is drawn from {figure.takes}"
    if measure and figure.takes == NO_RUN:
        raise InputError(f"{title}: leave out --run.")
    if measure and paths:
        raise InputError("--run trains what the paper's figure is of: leave it out, or the run folders.")
    if measure and "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A figure is measured in one process: start it without torchrun.")
    if measure or bool(paths) == (figure.takes == RUNS):
        return
    if paths:
        raise InputError(f"{title}, not from {len(paths)}.")
    commands = "`, `".join(
        f"sfa train {dataset} --recipe grace/{dataset} --spectral {spectral} --out {run_path(dataset, spectral)}"
        for dataset in figure.datasets
        for spectral in MAPS
    )
    raise InputError(
        f"{title}: give run folders, or let `sfa figure {name} --run` train the paper's, which is `{commands}`."
    )


def _title(name: str) -> str:
    return f"Figure {name}" if name[:1].isdigit() else f"The figure {name!r}"


def _files(name: str, out: Path | None) -> list[Path]:
    """Return one file if its format is given, else two, in the folder or under the name; raise if one cannot be."""
    stem = Path(name) if out is None else out / name if out.is_dir() else out
    given = out is not None and out.suffix and not out.is_dir()
    files = [stem] if given else [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
    for file in files:
        check_picture(file)
    return files


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


def run_path(dataset: str, spectral: str) -> Path:
    """Return where a run of the paper is trained, the same for every figure."""
    return FOLDER / f"{dataset}-grace-{spectral}"


def published_ratios() -> dict[str, float]:
    """Return by data set how many times longer an epoch with SFA takes, as the paper's table has it."""
    values = {row.key: [float(cell.published) for cell in row.cells if cell.published] for row in load(TIMED).rows}
    return {dataset: with_sfa / without for dataset, (without, with_sfa) in values.items()}


def available(datasets: Iterable[str], data_root: Path | None, display: Display) -> dict[str, tuple[Source, Data]]:
    """Load the data sets that can be had, and say why others cannot; raise if none can."""
    found, reasons = dict[str, tuple[Source, Data]](), dict[str, InputError]()
    for name in datasets:
        source = Source(name, data_root)
        try:
            found[name] = source, source.load(display)
        except InputError as error:
            reasons[name] = error
    if not found:
        raise next(iter(reasons.values()))
    for name, reason in reasons.items():
        display.say(f"Without {name}: {reason}")
    return found


def train_runs(datasets: Iterable[str], *, data_root: Path | None, device: str, display: Display) -> list[Path]:
    """Train the runs of a figure that are not there yet, on data that can be had, and return the folders of all."""
    runs = [
        (run_path(name, spectral), load_recipe(f"grace/{name}").updated({"spectral.name": spectral}), source, data)
        for name, (source, data) in available(datasets, data_root, display).items()
        for spectral in MAPS
    ]
    left = [(_epochs_left(path, recipe, data), path, recipe, source, data) for path, recipe, source, data in runs]
    left = [run for run in left if run[0]]
    if left:
        seconds = 0.0
        for epochs, _, recipe, _, data in left:
            method, prepared, timed = recipe.build_for(data), recipe.prepare(data), min(TRIED, epochs)
            seconds += epochs * seconds_per_epoch(method, prepared, recipe, epochs=timed, device=device)
        names = ", ".join(f"{describe(recipe)} on {source.data}" for _, _, recipe, source, _ in left)
        display.say(f"{counted(len(left), 'run')} to train in {FOLDER}, about {duration(seconds)}: {names}.")
    for _, path, recipe, source, data in left:
        try:
            new = None if path.exists() else source
            train_in(path, recipe, data, source=new, device=device, display=display)
        except Interrupted as error:
            raise Interrupted(f"{str(error).partition(';')[0]}; the same command goes on from there.") from error
    return [path for path, *_ in runs]


def _epochs_left(path: Path, recipe: Recipe, data: Data) -> int:
    """Return how many epochs of a run are still to be trained; raise if its folder holds another run."""
    if not path.exists():
        return recipe.training.epochs
    folder = RunFolder.open(path)
    if load_recipe(folder.recipe_file) != recipe:
        wanted = f"grace/{path.name.partition('-grace-')[0]} with {recipe.spectral_name}"
        raise InputError(f"{path} holds another run than {wanted}: move it away, and try again.")
    require_same_data(folder, data)
    if not folder.checkpoint.exists():
        return recipe.training.epochs
    progress = read_progress(folder.checkpoint, recipe.training.epochs)
    return 0 if progress.finished else recipe.training.epochs - progress.epoch
