"""Where the data of a run come from: a name, a file, a folder, or an object in memory."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Data, Dataset

from sfa.data import as_graph, as_graphs, as_images, find, fingerprint, left_out_remark, load, remark
from sfa.data.convert import is_one_graph
from sfa.data.readers.image_folder import holds_images
from sfa.errors import InputError
from sfa.run.display import Display
from sfa.tasks import Task, task_of
from sfa.train import RunFolder


@dataclass(frozen=True)
class Source:
    """Data, and how they are read, in the words of the command line."""

    data: Any
    """A data set's name, a path, or an object: a PyG ``Data`` or data set, a list of graphs, an array of images …"""
    data_root: str | Path | None = None
    features: str | Path | None = None
    labels: str | Path | None = None
    node_features: str | None = None
    image_size: int | None = None
    skip_corrupt: bool = False

    @property
    def in_memory(self) -> bool:
        return self.data is not None and not isinstance(self.data, str | os.PathLike)

    @property
    def dataset(self) -> str | None:
        """The name, by which there may be recipes for these data."""
        name = getattr(self.data, "name", None) if self.in_memory else self.data
        return None if name is None else str(name)

    def load(self, display: Display | None = None) -> Data:
        """Read the data; a folder of images shows how far it is."""
        if not self.in_memory and not self.data:
            raise InputError("Say which data to use: a data set's name (`sfa list datasets`) or a file.")
        if self.in_memory:
            if replace(self, data=None, data_root=None, node_features=None) != Source(None):
                raise InputError(
                    "features, labels, image_size and skip_corrupt belong to files: data in memory have their own."
                )
            return _read_object(self.data, self.node_features)
        with (display or Display(quiet=True)).counting("reading images") as count:
            return load(
                self.data,
                root=self.data_root,
                features=self.features,
                labels=self.labels,
                node_features=self.node_features,
                image_size=self.image_size,
                skip_corrupt=self.skip_corrupt,
                on_image=count,
            )

    def task(self) -> Task | None:
        """Return what there is to embed, where it is known without reading: in sets that have a name, and in images."""
        if self.in_memory or not self.data:
            return None
        named = find(self.data)
        return named.task if named is not None else "image" if holds_images(self.data) else None

    def as_dict(self) -> dict[str, Any]:
        """Return what the run's record says, with absolute paths; data that were in memory are not in it."""
        data = None if self.in_memory or self.data is None else os.fspath(self.data)
        if data is not None and find(data) is None and Path(data).expanduser().exists():
            data = str(Path(data).expanduser().resolve())
        elif data is not None and ".py:" in data:  # file.py:function
            file, _, function = data.rpartition(":")
            data = f"{Path(file).expanduser().resolve()}:{function}"
        paths = {
            key: None if getattr(self, key) is None else str(Path(getattr(self, key)).expanduser().resolve())
            for key in _PATHS
        }
        return {**asdict(replace(self, data=None)), **paths, "data": data}


_PATHS = ("data_root", "features", "labels")
"""What a source says that is a file or folder, beside the data themselves."""
_KINDS: dict[str, type | UnionType] = {"image_size": int | None, "skip_corrupt": bool}
"""What it says that is no text, if it does."""


def _read_object(obj: Any, node_features: str | None) -> Data:
    """Return a graph, graphs or images in memory in the one form that methods take."""
    name = obj.name if isinstance(getattr(obj, "name", None), str) else None
    if isinstance(obj, Dataset) and len(obj) == 1:
        obj = obj[0]
    task = task_of(obj) if isinstance(obj, Data) else None
    of_graphs = isinstance(obj, list) and bool(obj) and is_one_graph(obj[0])
    if task == "graph" or of_graphs or isinstance(obj, Dataset | DataLoader):
        return as_graphs(obj, name=name, node_features=node_features)
    if task == "image" or isinstance(obj, np.ndarray | Tensor | list):
        return as_images(obj)
    return as_graph(obj, name=name, node_features=node_features)


def recorded_source(folder: RunFolder, data_root: str | Path | None = None) -> Source:
    """Return where the run's data came from; a data root given now replaces the recorded one."""
    given = recorded(folder, "source", dict)
    if not all(isinstance(value, _KINDS.get(key, str | None)) for key, value in given.items()):
        raise InputError(f"{folder.path / 'run.json'} is damaged: its source does not hold what it should.")
    paths: dict[str, Any] = {key: None if given.get(key) is None else Path(given[key]) for key in _PATHS}
    if data_root is not None:
        paths["data_root"] = data_root
    others = {key: given[key] for key in ("node_features", *_KINDS) if key in given}
    return Source(given.get("data"), **paths, **others)


def recorded(folder: RunFolder, key: str, kind: type) -> Any:
    """Return what the record of a run says; raise if it does not."""
    value = folder.record.get(key)
    if not isinstance(value, kind):
        raise InputError(f"{folder.path / 'run.json'} is damaged: it does not say {key!r} as it should.")
    return value


def require_same_data(folder: RunFolder, data: Data) -> None:
    """Raise if the data are not those the run was trained on."""
    if fingerprint(data) != recorded(folder, "fingerprint", str):
        raise InputError(f"The data of {folder.path} have changed since it was trained: train anew in another --out.")


def tell_of_data(data: Data, display: Display) -> None:
    """Say so if the features of nodes are not their own, or if images were left out."""
    for told in (remark(data), left_out_remark(data)):
        if told is not None:
            display.say(told)
