"""``sfa figure``: a named picture, of runs or of theory, in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfa.cli.console import Display
from sfa.errors import InputError
from sfa.figures import check_picture, read_runs, resolve, save_figure


def run(name: str, paths: Sequence[Path], *, out: Path | None, quiet: bool) -> None:
    """Draw and write."""
    figure = resolve(name)
    if not figure.takes.allows(len(paths)):
        raise InputError(f"The figure {name!r} is drawn from {figure.takes.value}, not from {len(paths)}.")
    files = _files(name, out)
    for file in files:
        check_picture(file)
    drawn = figure.draw(*read_runs(paths))
    for file in files:
        save_figure(drawn, file)
    Display(quiet).say(f"{name} in {' and '.join(map(str, files))}")


def _files(name: str, out: Path | None) -> list[Path]:
    """One file if its format is given; else two, to look at and to print, in the folder or under the name given."""
    if out is not None and out.suffix and not out.is_dir():
        return [out]
    stem = Path(name) if out is None else out / name if out.is_dir() else out
    return [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".svg")]
