"""Read the data of a run: from a name, a file, a folder, or an object in memory."""

import copy
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Data, Dataset

from sfa.data import as_graph, as_graphs, as_images, describe, find, fingerprint, left_out_remark, load, remark
from sfa.data.convert import holds_edges, is_one_graph
from sfa.data.encode import Encode
from sfa.data.labels import set_labels
from sfa.data.load import LoadedByFunction
from sfa.data.raw import own_name
from sfa.data.readers.edge_list import OLD_RULES, EdgeColumns
from sfa.data.readers.image_folder import holds_images
from sfa.data.readers.tables import place_labels, read_labels
from sfa.errors import InputError
from sfa.evaluate.inputs import has_targets
from sfa.folders import existing, expand_user
from sfa.registry import known_names
from sfa.run.display import Display, counted
from sfa.tasks import Task, task_of
from sfa.train import RunFolder


@dataclass(frozen=True)
class Source:
    """Data, and the options of the command line that say how they are read."""

    data: Any  # a data set's name, a path, or an object: a PyG ``Data`` or data set, graphs, an array of images
    data_root: str | Path | None = None
    features: str | Path | None = None
    labels: str | Path | None = None
    node_features: str | None = None
    image_size: int | None = None
    skip_corrupt: bool = False
    source: str | None = None  # columns of an edge list, as for EdgeColumns
    target: str | None = None
    weight: str | None = None
    bipartite: bool = False
    encode: Encode = None  # how a table of features becomes numbers, as for encode_frame

    @property
    def in_memory(self) -> bool:
        return self.data is not None and not isinstance(self.data, str | os.PathLike)

    @property
    def dataset(self) -> str | None:
        """The name by which there may be recipes for these data."""
        return own_name(self.data) if self.in_memory or self.data is None else str(self.data)

    @property
    def columns(self) -> dict[str, Any]:
        """The options that name columns of edges, as far as they are given."""
        return EdgeColumns(self.source, self.target, self.weight, self.bipartite).given

    def check(self) -> None:
        """Raise if there are options for data that were not named, or for data in memory."""
        of_edges = EdgeColumns.__annotations__ if self.in_memory else ()
        others = ("data", "data_root", "node_features", "encode", *of_edges)
        for key in ("features", "labels"):
            if not (self.in_memory or isinstance(given := getattr(self, key), str | os.PathLike | None)):
                kind = type(given).__name__
                raise InputError(f"{key}= is a file where the data are one, and not a {kind}: give both as objects.")
        of_files = [
            key for key, value in vars(self).items() if key not in others and value is not None and value is not False
        ]
        if self.in_memory and of_files:
            raise InputError(f"{' and '.join(of_files)} belong to files: data in memory have their own.")
        if self.data is None and (of_files or self.node_features or self.encode):
            names = "--features, --encode, --labels, --source, --target, --weight, --bipartite, --node-features"
            more = "--image-size and --skip-corrupt belong to data"
            raise InputError(f"{names}, {more}: name those too, or leave these out.")

    def load(self, display: Display | None = None) -> Data:
        """Read the data, and show the progress of reading a folder of images."""
        self.check()
        if self.in_memory:
            return _read_object(self.data, self.node_features, self.encode, self.columns)
        if not self.data:
            raise InputError("Say which data to use: a data set's name (`sfa list datasets`) or a file.")
        options = {key: value for key, value in vars(self).items() if key not in ("data", "data_root")}
        with (display or Display(quiet=True)).counting("reading images") as count:
            return load(self.data, root=self.data_root, **options, on_image=count)

    def task(self) -> Task | None:
        """Return the task where it is known without reading: of data sets with a name, and of images."""
        if self.in_memory or not self.data:
            return None
        named = find(self.data)
        return named.task if named is not None else "image" if holds_images(self.data) else None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the run's record, with absolute paths and without data in memory."""
        result: dict[str, Any] = {**vars(self), "data": None if self.in_memory else self.data}
        if result["data"] is not None:
            data = result["data"] = os.fspath(self.data)
            file, _, function = data.rpartition(":")
            if find(data) is None and expand_user(data).exists():
                result["data"] = _absolute(data)
            elif file.endswith(".py"):
                result["data"] = f"{_absolute(file)}:{function}"
        paths = {key: _absolute(result[key]) for key in ("data_root", "features", "labels") if result[key] is not None}
        return {**result, **paths}


def _absolute(path: str | Path) -> str:
    return os.path.realpath(expand_user(path))  # which raises on no loop of links


def _read_object(obj: Any, node_features: str | None, encode: Encode, columns: Mapping[str, Any]) -> Data:
    """Return a graph, graphs or images in memory as PyG ``Data``."""
    name = own_name(obj)
    if isinstance(obj, Dataset) and len(obj) == 1:
        obj = obj[0]
    task = task_of(obj) if isinstance(obj, Data) else None
    first = obj[0] if isinstance(obj, list) and obj else None
    of_graphs = task == "graph" or is_one_graph(first) or isinstance(obj, Dataset | DataLoader)
    of_images = isinstance(obj, np.ndarray | Tensor | list) and not of_graphs and not holds_edges(obj)
    if (of_graphs or of_images or task == "image") and columns.keys() - ({"weight"} if of_graphs else set()):
        raise InputError(f"{' and '.join(columns)} belong to tables of edges: leave them out.")
    if task == "image" or of_images:
        return as_images(obj)
    options = {"name": name, "node_features": node_features, "encode": encode, **columns}
    return as_graphs(obj, **options) if of_graphs else as_graph(obj, **options)


def recorded_source(folder: RunFolder, data_root: str | Path | None = None, **moved: Any) -> Source:
    """Return the source of the run's data; a data root, or places to which they have moved, replace recorded ones."""
    given, kinds = recorded(folder, "source", dict), {"image_size": int | None, "skip_corrupt": bool, "bipartite": bool}
    if not all(isinstance(value, kinds.get(key, str | None)) for key, value in given.items()):
        raise InputError(f"{folder.path / 'run.json'} is damaged: its source does not hold what it should.")
    known = {one.name: given[one.name] for one in fields(Source) if one.name in given}
    may_have_edges = known.get("data") and find(known["data"]) is None and not holds_images(known["data"])
    old = {} if "weight" in given or not may_have_edges else {"weight": OLD_RULES}
    if may_have_edges and Path(known["data"]).is_dir() and known.get("node_features") is None:
        known["node_features"] = folder.record.get("features_of")  # where attributes of nodes did not count yet
    source = Source(**{"data": None, **old, **known})
    moved = {key: value for key, value in {**moved, "data_root": data_root}.items() if value is not None}
    new = replace(source, **moved)
    in_memory = Source(new.data, node_features=source.node_features, **source.columns)
    return in_memory if new.in_memory else new


def is_known(dataset: str | None) -> bool:
    """Tell whether this is the name of a built-in data set, for which settings are known, and not of a user's own."""
    name = (dataset or "").lower()
    has_name = name in known_names("dataset") and not isinstance(find(name), LoadedByFunction)
    return has_name or name.startswith("tu:")


def require_present(source: Source, folder: RunFolder) -> None:
    """Raise if the files of a run's data are no longer where they were."""
    for key in ("data", "features", "labels"):
        path = getattr(source, key)
        if isinstance(path, str) and os.path.isabs(path) and ".py:" not in path and not os.path.exists(path):
            raise InputError(f"The {key} of {folder.path} are no longer in {path}: say where by --{key} ({key}=).")


def recorded(folder: RunFolder, key: str, kind: type) -> Any:
    """Return a value of the record of a run; raise if it is missing or of another type."""
    value = folder.record.get(key)
    if not isinstance(value, kind):
        raise InputError(f"{folder.path / 'run.json'} is damaged: it does not say {key!r} as it should.")
    return value


def require_same_data(folder: RunFolder, data: Data) -> None:
    """Raise if the data are not those the run was trained on."""
    if fingerprint(data) != recorded(folder, "fingerprint", str):
        raise InputError(f"The data of {folder.path} have changed since it was trained: train anew in another --out.")


def require_same_features(data: Data, in_features: int, features_of: str | None, trained: str) -> None:
    """Raise unless features are as many as those of training, and made of a graph's structure where those were.

    ``trained`` begins the half of the sentence that tells what training had.
    """
    given, width = data.get("features_of"), data.num_features
    if given != features_of:
        kinds = (given, features_of)
        here, there = (f"{kind} features made for them" if kind else "features of their own" for kind in kinds)
        raise InputError(f"The nodes of {data.name} have {here}; {trained} {there}.")
    if width != in_features:
        is_image = task_of(data) == "image"
        found = f"Channels of {data.name}: {width}" if is_image else f"The graph has {counted(width, 'feature')}"
        raise InputError(f"{found}; {trained} {in_features}.")


def require_same_graph(data: Data, digest: str | None) -> None:
    """Raise if features were made that mean nothing in another graph, and this is not that of training."""
    if data.get("features_of") in ("spectral", "random") and digest not in (None, fingerprint(data)):
        raise InputError(
            f"The {data.features_of} features of another graph than that of training mean something else: train with "
            "features of your own, or with node_features='degree' (--node-features), to embed other graphs."
        )


def with_labels(data: Data, labels: Any) -> Data:
    """Return data that have no labels with those of a table (id, label), or of a Series or mapping from ids."""
    if data.get("y") is not None:
        raise InputError("Labels are given twice: the data of this run have some, so leave out --labels (labels=).")
    task = task_of(data)
    ids, labeled = data[f"{task}_ids"], copy.copy(data)
    if isinstance(labels, str | os.PathLike):
        own = read_labels(existing(labels, "label"), ids, task)
    elif isinstance(labels, Mapping | pd.Series):
        series = pd.Series(labels, dtype=object)
        texts = ["" if pd.isna(one) else str(one) for one in series]
        own = place_labels(list(map(str, series.index)), texts, ids, task, "labels=")
    else:
        kind = type(labels).__name__
        raise InputError(f"labels= is a file (id, label), or a Series or mapping from ids to labels, and not a {kind}.")
    set_labels(labeled, own, len(ids), None, task)
    if labeled.get("y") is None:
        raise InputError("There are no labels: every one of them is empty or -1.")
    labeled.labels_digest = hashlib.sha256(labeled.y.numpy().tobytes()).hexdigest()  # to know kept scores by
    return labeled


def tell_of_data(data: Data, display: Display) -> None:
    """Say what was read of an edge list, how features were encoded or made, and what was left out."""
    real = "Labels are real numbers, and so scores are of regression." if has_targets(data) else None
    for message in (describe(data) if "edges_read" in data else None, real, remark(data), left_out_remark(data)):
        if message is not None:
            display.say(message)
