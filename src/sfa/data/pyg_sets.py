"""Read the graph data sets of torch_geometric, TU Dortmund and the Open Graph Benchmark."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from sfa.data.convert import build
from sfa.data.downloads import DatasetInfo, processed, quiet
from sfa.data.graph import build_graph, build_graphs
from sfa.data.labels import MASKS
from sfa.errors import InputError
from sfa.folders import PathLike
from sfa.tasks import Task


@dataclass
class PygSet(DatasetInfo):
    """One data set of torch_geometric, which processes it only ever in the cache."""

    name: str
    folder: str  # where it lies under a root, torch_geometric's class first: `Planetoid/CiteSeer`, `WikiCS`
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments of the class

    def __post_init__(self) -> None:
        self.places = (f"{self.folder}/raw",)
        self.class_name = Path(self.folder).parts[0]

    def read(self, place: Path) -> Data:
        pickles = sorted(place.glob("ind.*")) if self.class_name == "Planetoid" else []
        for path in (path for path in pickles if path.suffix != ".index"):
            with path.open("rb") as file, quiet():  # SciPy says that the old module name scipy.sparse.csr goes away
                try:
                    ArraysOnly(file, encoding="latin1").load()
                except Exception as error:  # a damaged pickle can raise nearly anything
                    raise InputError(
                        f"{path} is refused: a Planetoid file may hold arrays only, and it is damaged or holds more "
                        f"({error}); fetch it again from a source you trust."
                    ) from error
        return build(self.processed(place)[0], name=self.name)

    def processed(self, raw: Path) -> Any:
        """Return the torch_geometric data set from the cache, made there first if it is new or a file has changed."""
        import torch_geometric

        def refuse(dataset: Any) -> None:
            needed = [Path(path).name for path in dataset.raw_paths]
            missing = next(name for name in needed if not (raw / name).exists())
            raise InputError(f"The folder {raw} has no file {missing}; {self.name} needs {', '.join(needed)}.")

        def make(shadow: Path) -> None:
            (shadow / self.folder).mkdir(parents=True)
            try:
                (shadow / self.places[0]).symlink_to(raw.resolve(), target_is_directory=True)
            except OSError:  # a system without symbolic links
                shutil.copytree(raw, shadow / self.places[0])
            self.open(shadow, download=refuse)

        files = sorted(path.name for path in raw.iterdir() if path.is_file())
        return self.open(processed(self.name, raw, files, f"torch_geometric {torch_geometric.__version__}", make))

    def open(self, root: Path, **changes: Any) -> Any:
        """Return the torch_geometric data set under `root`, which torch_geometric writes into."""
        from torch_geometric import datasets

        with quiet():
            kind = type(self.class_name, (getattr(datasets, self.class_name),), changes)
            return kind(root=str(root / self.class_name), **self.options)

    def fetch(self, temporary: Path) -> None:
        """Have torch_geometric download the raw files, and stop before it processes them."""

        def stop_here(dataset: Any) -> None:
            raise StopIteration

        with contextlib.suppress(StopIteration):
            self.open(temporary, process=stop_here)


# All that Planetoid's raw files are made of: arrays, CSR matrices and a dictionary, under old and new module names.
ALLOWED = {
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    *((f"scipy.sparse.{module}", "csr_matrix") for module in ("csr", "_csr")),
    *(("scipy.sparse._csr", "csr_array"), ("collections", "defaultdict"), ("_codecs", "encode")),
    *((module, name) for module in ("__builtin__", "builtins") for name in ("list", "object")),
    *((module, "_reconstructor") for module in ("copy_reg", "copyreg")),
}


class ArraysOnly(pickle.Unpickler):
    """Refuse a pickle unless it is made of arrays, sparse matrices and dictionaries alone; no code of it is run."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return super().find_class(module, name)


class TuSet(PygSet):
    """One data set of many graphs of TU Dortmund, in the original version.

    From `"TUDataset: A collection of benchmark datasets for learning with graphs" <https://arxiv.org/abs/2007.08663>`_
    (Morris et al., 2020). Features are the one-hot labels of the nodes, else their attributes, else degree features.
    Labels of edges and targets of regression are left out.
    """

    task: Task = "graph"
    instead = "mutag"

    def __init__(self, name: str, own_name: str) -> None:
        super().__init__(name, f"TUDataset/{own_name}", {"name": own_name, "use_node_attr": True})
        self.files = (f"{own_name}_A.txt", f"{own_name}_graph_indicator.txt")

    def read(self, place: Path) -> Data:
        indicator = place / self.files[1]
        graph = pd.read_csv(indicator, header=None).to_numpy(dtype=np.int64).ravel() - 1
        # torch_geometric takes it for granted that these ascend, and would mix graphs up if they did not.
        if graph.size == 0 or graph[0] < 0 or (np.diff(graph) < 0).any():
            raise InputError(f"{indicator} does not list the nodes graph by graph, beginning with graph 1.")
        ptr = np.cumsum([0, *np.bincount(graph)], dtype=np.int64)
        data = self.processed(place)
        x, y = data._data.x, data._data.y
        if x is not None and data.num_node_labels:
            x = x[:, data.num_node_attributes :]  # torch_geometric has attributes in the columns before labels
        # torch_geometric counts the nodes of each graph from 0, up to the last graph that has edges.
        counts = np.diff(data.slices["edge_index"].numpy())
        edges = data._data.edge_index.numpy() + np.repeat(ptr[: len(counts)], counts)
        y = None if y is None or y.is_floating_point() else y
        return build_graphs(x, edges, ptr, y=y, name=self.name)


@dataclass
class OgbSet(DatasetInfo):
    """One node classification data set of OGB with its official split, as it is published: gzipped tables.

    From `"Open Graph Benchmark: Datasets for Machine Learning on Graphs" <https://arxiv.org/abs/2005.00687>`_ (Hu et
    al., 2020).
    """

    name: str
    split: str

    def __post_init__(self) -> None:
        self.places = (self.name.replace("-", "_"),)
        self.files = [f"raw/{table}.csv.gz" for table in ("edge", "node-feat", "node-label")]
        self.files += [f"split/{self.split}/{part}.csv.gz" for part in ("train", "valid", "test")]

    def locate(self, root: PathLike | None) -> Path | None:
        place = super().locate(root)
        return place if place is not None and (place / "raw").is_dir() else None

    def read(self, place: Path) -> Data:
        def make(made: Path) -> None:
            for i, file in enumerate(self.files):
                table = np.asarray(pd.read_csv(place / file, header=None).to_numpy())
                np.save(made / f"{i}.npy", table.astype(np.float32) if "node-feat" in file else table)

        # To read the text takes many times as long as to read arrays.
        cached = processed(self.name, place, self.files, "tables 2", make)
        edges, x, y, *parts = (np.load(cached / f"{i}.npy", allow_pickle=False) for i in range(len(self.files)))
        masks = {mask: np.zeros(len(x), dtype=bool) for mask in MASKS}
        for mask, nodes in zip(masks.values(), parts, strict=True):
            mask[nodes.ravel()] = True
        return build_graph(x, edges.T, y=y, masks=masks, name=self.name)

    def fetch(self, temporary: Path) -> None:
        try:
            ogb = importlib.import_module("ogb.nodeproppred")
        except ImportError as error:
            raise InputError("the package ogb, which downloads it, is not installed (pip install ogb)") from error
        with quiet():
            ogb.NodePropPredDataset(self.name, root=str(temporary))
        for file in self.files:
            (temporary / self.places[0] / file).stat()  # one that is missing is a failure of the download
