"""Draw a figure of the paper by number or name, from runs, run times or theory, and write it to files."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfa.errors import InputError
from sfa.paper import default_path
from sfa.paper.figures import NamedFigure, Takes, find_figure
from sfa.paper.figures.material import MAPS, available, find_times, published_ratios, run_path, train_runs
from sfa.paper.figures.run_time import STUDY
from sfa.plots import check_picture, save_figure
from sfa.registry import registered
from sfa.run.display import Display
from sfa.train.run_log import read_runs


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
    if measure and figure.takes is Takes.RUNS:
        paths = train_runs(figure.datasets, data_root=data_root, device=device, display=display)
    elif measure:
        study(STUDY, list(available(ratios, data_root, display)))
    if figure.takes is not Takes.TIMES:
        _draw(name, figure, read_runs(paths), files, display)
        return
    path = ledger or default_path()
    entries = find_times(path, required=ledger is not None)
    if entries is None:
        raise InputError(
            f"{_title(name)} is drawn from {Takes.TIMES.value}, and {path} has none: `sfa figure {name} --run` "
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {folder}: {error.strerror or error}.") from error
    figures: Mapping[str, NamedFigure] = registered("figure")
    theory = {name: figure for name, figure in figures.items() if figure.takes is Takes.NO_RUN}
    files = {
        name: _files(name if figure.number is None else f"figure-{figure.number}", folder)
        for name, figure in theory.items()
    }
    for name, figure in theory.items():
        _draw(name, figure, [], files[name], display)
    rest = [figure.number or name for name, figure in figures.items() if name not in theory]
    display.say(f"Not drawn, as they need runs or run times: {', '.join(rest)} (`sfa figure {rest[0]} --run`).")


def _check(name: str, figure: NamedFigure, paths: Sequence[Path], measure: bool) -> None:
    """Raise if the figure cannot be drawn from what is given."""
    title = f"{_title(name)} is drawn from {figure.takes.value}"
    if measure and figure.takes is Takes.NO_RUN:
        raise InputError(f"{title}: leave out --run.")
    if measure and paths:
        raise InputError("--run trains what the paper's figure is of: leave it out, or the run folders.")
    if measure and "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A figure is measured in one process: start it without torchrun.")
    if measure or bool(paths) == (figure.takes is Takes.RUNS):
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
