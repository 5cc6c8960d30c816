"""``sfa embed``: the embeddings of a run's graph, or of another, in a file."""

from __future__ import annotations

from pathlib import Path

from sfa.cli.console import Display
from sfa.cli.run import Source, counted, open_run, recorded_source, set_threads, tell_if_unfinished, tell_of_data
from sfa.errors import InputError
from sfa.export import check_export, write_embeddings
from sfa.levels import level_of
from sfa.training import RunFolder


def run(
    path: Path, *, out: Path, source: Source | None, data_root: Path | None, threads: int | None, quiet: bool
) -> None:
    """Embed and write."""
    check_export(out)
    set_threads(threads)
    origin = source or recorded_source(RunFolder.open(path), data_root)
    _check_overwrites_no_source(out, origin)
    opened = open_run(path, data_root=data_root, source=source)
    z = opened.method.embed(opened.graph).numpy()
    level = level_of(opened.graph)
    write_embeddings(out, z, opened.graph[f"{level}_ids"], item=level)
    display = Display(quiet)
    tell_if_unfinished(opened, display)
    tell_of_data(opened.graph, display)
    display.say(f"{counted(len(z), 'embedding')} of width {z.shape[1]} in {out}")


def _check_overwrites_no_source(out: Path, source: Source) -> None:
    files = [Path(file).expanduser() for file in (source.data, source.features, source.labels) if file is not None]
    if out.exists() and any(file.exists() and out.samefile(file) for file in files):
        raise InputError(f"{out} holds the data to be embedded: choose another --out.")
