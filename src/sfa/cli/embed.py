"""``sfa embed``: the embeddings of a run's graph, or of another, in a file."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import yaml
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.evaluate.labels import labels_of
from sfa.evaluate.protocols import default_protocol
from sfa.export import Columns, Layout, check_export, write_embeddings
from sfa.levels import item_word, level_of
from sfa.registry import resolve
from sfa.report.predictions import predict
from sfa.run.display import Display
from sfa.run.source import (
    Run,
    Source,
    counted,
    open_run,
    recorded_source,
    set_threads,
    tell_if_unfinished,
    tell_of_data,
)
from sfa.train import RunFolder

PARTS = ("train", "validation", "test", None)
"""Of a split, as the numbers of its parts stand for them."""


def run(
    path: Path,
    *,
    out: Path,
    source: Source | None,
    data_root: Path | None,
    threads: int | None,
    quiet: bool,
    layout: Layout = "columns",
    with_labels: bool = False,
) -> None:
    """Embed and write."""
    check_export(out, layout)
    set_threads(threads)
    origin = source or recorded_source(RunFolder.open(path), data_root)
    _check_overwrites_no_source(out, origin)
    opened = open_run(path, data_root=data_root, source=source)
    if with_labels:
        _require_labels(opened.graph)
    display = Display(quiet)
    z = opened.method.embed(opened.graph)
    level = level_of(opened.graph)
    write_embeddings(
        out,
        z.numpy(),
        opened.graph[f"{level}_ids"],
        item=level,
        layout=layout,
        columns=_label_columns(z, opened.graph, display) if with_labels else None,
        about=_about(opened),
    )
    tell_if_unfinished(opened, display)
    tell_of_data(opened.graph, display)
    display.say(f"{counted(len(z), 'embedding')} of width {z.shape[1]} in {out}")


def _require_labels(graph: Data) -> None:
    if graph.get("y") is None:
        raise InputError(
            f"--with-labels writes labels, and {graph.name} has none: leave it out, or give some (--labels)."
        )


def _label_columns(z: Tensor, graph: Data, display: Display) -> Columns:
    """The class of each item; what a probe of the embeddings takes it for, and what part of the probe's split it is in.

    Where there are too few labels for a probe, the classes alone.
    """
    y = labels_of(graph)
    names = graph.get("class_names") or [str(label) for label in range(int(y.max()) + 1)]
    columns: dict[str, list[str | None]] = {"label": [names[label] if label >= 0 else None for label in y]}
    protocol = resolve("protocol", default_protocol(level_of(graph)))
    try:
        if not isinstance(protocol, Classification):
            raise InputError(f"{protocol.name} predicts no labels.")
        protocol.check(graph)
        found = predict(z, graph, protocol)
    except InputError as error:
        display.say(f"No predicted labels: {error}")
        return columns
    display.say(
        f"Column predicted: by the probe of {protocol.name} on its first split, which learnt from the "
        f"{counted(len(found.split.train), level_of(graph))} whose part is train; those of test are new to it."
    )
    columns["predicted"] = [names[label] for label in found.labels]
    columns["part"] = [PARTS[number] for number in found.part]
    return columns


def _about(run: Run) -> dict[str, str]:
    return {
        "method": run.name,
        "data": str(run.graph.name),
        "items": item_word(run.graph),
        "recipe": yaml.safe_dump(run.recipe.as_dict(), sort_keys=False),
        "version": version("sfa"),
    }


def _check_overwrites_no_source(out: Path, source: Source) -> None:
    files = [Path(file).expanduser() for file in (source.data, source.features, source.labels) if file is not None]
    if out.exists() and any(file.exists() and out.samefile(file) for file in files):
        raise InputError(f"{out} holds the data to be embedded: choose another --out.")
