"""Compute the embeddings of a run's data, or of other data."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import yaml
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import has_targets
from sfa.evaluate.protocols.base import ProbeProtocol
from sfa.export import Columns, Layout, check_export, write_embeddings
from sfa.folders import expand_user
from sfa.memory import set_memory
from sfa.report.collect import PARTS, predict
from sfa.run.display import Display, Rows, Shown, counted, display_of
from sfa.run.run import Run, open_for, open_runs, set_threads
from sfa.run.score_cache import usual_protocol
from sfa.run.source import Source, recorded_source, tell_of_data
from sfa.tasks import Task, item_word, task_of
from sfa.train import RunFolder


@dataclass(frozen=True, repr=False)
class Embeddings(Shown):
    """Embeddings ``z``, ``(n, d)``, the ids of their nodes, graphs or images, columns such as labels, and the file."""

    z: NDArray[np.float32]
    ids: Sequence[Any]
    item: Task
    columns: Columns | None = None
    path: Path | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.z, dtype=dtype, copy=copy)

    def table(self) -> tuple[Sequence[str], Rows]:
        first = [str(self.item), *(f"z{column}" for column in range(min(4, self.z.shape[1])))]
        rows = zip(list(self.ids)[:5], self.z[:5, :4], strict=False)
        return first, [[str(one), *(f"{value:.4f}" for value in row)] for one, row in rows]

    def notes(self) -> list[str]:
        where = "" if self.path is None else f" in {self.path}"
        return [f"{counted(len(self.z), 'embedding')} of width {self.z.shape[1]}{where}"]


def embed_run(
    run: Run | str | Path,
    *,
    out: str | Path | None = None,
    data: Any = None,
    layout: Layout = "columns",
    with_labels: bool = False,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    node_features: str | None = None,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    bipartite: bool = False,
    data_root: str | Path | None = None,
    threads: int | None = None,
    memory: str | None = None,
    progress: bool | Display = False,
) -> Embeddings:
    """Compute the embeddings of all nodes, graphs or images, with their ids; write them to a file if one is named.

    ``features`` to ``bipartite`` say how other data are read, as for :func:`~sfa.run.train_run`; ``data_root``,
    ``threads`` and ``progress`` are as for :func:`~sfa.run.evaluate_run`.

    Args:
        out: File to write: ``.parquet``, ``.npy``, ``.npz``, ``.csv``, ``.tsv``, ``.pt`` or ``.h5ad``; without a
            suffix a folder, of ``.parquet`` files of some rows each.
        data: Another graph, set of graphs or images, with the same features; else the run's own.
        layout: Of ``.parquet``, ``.csv`` and ``.tsv``: a column a feature, or one column of lists.
        memory: Bytes that work on a stored graph holds at a time, ``2GB``; by default a quarter of what is free.
        with_labels: Add each one's label, and the label that a probe gives it.
    """
    set_threads(threads)
    set_memory(memory)
    path = None if out is None else Path(out)
    if path is not None:
        check_export(path, layout)
    edges = (source, target, weight, bipartite)
    origin = Source(data, data_root, features, labels, node_features, image_size, skip_corrupt, *edges)
    origin.check()
    folder = run.folder if isinstance(run, Run) else RunFolder.open(Path(run))
    if path is not None:
        refuse_own_data(path, origin if data is not None else recorded_source(folder, data_root), "--out")
    opened = open_runs([run], data_root=data_root)[0] if data is None else open_for(folder, origin)
    if with_labels and opened.data.get("y") is None:
        raise InputError(f"--with-labels writes labels, and {opened.data.name} has none: give some by --labels.")
    display, task = display_of(progress), task_of(opened.data)
    z = opened.method.embed(opened.data)
    columns = _label_columns(z, opened.data, display) if with_labels else None
    found = Embeddings(z.numpy(), opened.data[f"{task}_ids"], task, columns, path)
    if path is not None:
        about = {
            "method": opened.name,
            "data": str(opened.data.name),
            "items": item_word(opened.data),
            "recipe": yaml.safe_dump(opened.recipe.as_dict(), sort_keys=False),
            "version": version("sfa"),
        }
        write_embeddings(path, found.z, found.ids, item=task, layout=layout, columns=columns, about=about)
    opened.tell_if_unfinished(display)
    tell_of_data(opened.data, display)
    display.say(found.notes()[0])
    return found


def refuse_own_data(path: Path, source: Source, option: str) -> None:
    """Raise if embeddings would be written over the data that are embedded."""
    given = (None if source.in_memory else source.data, source.features, source.labels)
    files = [expand_user(file) for file in given if file is not None]
    if path.exists() and any(file.exists() and path.samefile(file) for file in files):
        raise InputError(f"{path} holds the data to be embedded: choose another {option}.")


def _label_columns(z: Tensor, data: Data, display: Display) -> Columns:
    """Return the label of each item and, if there are labels enough, the label that a probe predicts and its split."""
    protocol, names = cast(ProbeProtocol, usual_protocol(data)), data.get("class_names")

    def text(label: Any) -> str | None:
        if has_targets(data):
            return None if np.isnan(label) else f"{label:.7g}"
        return None if label < 0 else names[label] if names else str(label)

    columns: dict[str, list[str | None]] = {"label": [*map(text, protocol.labels(data))]}
    try:
        protocol.check(data)
        found = predict(z, data, protocol)
    except InputError as error:
        display.say(f"No predicted labels: {error}")
        return columns
    display.say(
        f"Column predicted: by the probe of {protocol.name} on its first split, which learned from the "
        f"{counted(len(found.split.train), task_of(data))} whose part is train; those of test are new to it."
    )
    columns["predicted"] = [*map(text, found.labels)]
    columns["part"] = [PARTS[number] for number in found.part]
    return columns
