"""``sfa embed``: the embeddings of a run's graph, or of another, in a file."""

from __future__ import annotations

from pathlib import Path

from sfa.cli.console import Display
from sfa.cli.run import Source, open_run, set_threads
from sfa.export import check_export, write_embeddings


def run(
    path: Path, *, out: Path, source: Source | None, data_root: Path | None, threads: int | None, quiet: bool
) -> None:
    """Embed and write."""
    check_export(out)
    set_threads(threads)
    opened = open_run(path, data_root=data_root, source=source)
    z = opened.method.embed(opened.graph).numpy()
    write_embeddings(out, z, opened.graph.node_ids)
    Display(quiet).say(f"{len(z)} embeddings of width {z.shape[1]} in {out}")
