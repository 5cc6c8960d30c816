"""Read the data sets of torch_geometric: found in the user's root or the cache, processed only ever in the cache."""

from __future__ import annotations

import contextlib
import pickle
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import VARIABLE, PathLike, download, explain_damage, find_place, processed, quiet, require_files
from sfa.data.graph import build_graph
from sfa.data.graphs import build_graphs
from sfa.data.labels import given_masks
from sfa.errors import InputError
from sfa.tasks import Task


@dataclass(frozen=True)
class PygSet:
    """One data set of torch_geometric.

    Args:
        key: our name of it.
        folder: where it lies under a root, torch_geometric's class first: `Planetoid/CiteSeer`, `WikiCS`. The raw files
            are in `raw/` there.
        raw_files: what they are called.
        options: further arguments of the class, beside its root.
        instead: the bundled set to turn to where this one cannot be had.
    """

    key: str
    folder: str
    raw_files: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    instead: str = "cora"
    task: ClassVar[Task] = "node"

    @property
    def class_name(self) -> str:
        return Path(self.folder).parts[0]

    def locate(self, root: PathLike | None) -> Path | None:
        return find_place(root, f"{self.folder}/raw")

    def load(self, root: PathLike | None) -> Data:
        raw = self.raw(root)
        for name in self.raw_files:
            if self.class_name == "Planetoid" and not name.endswith(".index"):
                check_pickle(raw / name)
        with explain_damage(self.key, raw):
            data = self.processed(raw, [raw / name for name in self.raw_files])[0]
        return build_graph(data.x, data.edge_index, y=data.y, masks=given_masks(data.to_dict()), name=self.key)

    def raw(self, root: PathLike | None) -> Path:
        """Return the folder of raw files, downloaded if need be."""
        raw = self.locate(root) or self._download()
        require_files(self.key, raw, self.raw_files)  # torch_geometric would download them, into the user's folder
        return raw

    def processed(self, raw: Path, files: Sequence[Path]) -> Any:
        """Return the torch_geometric data set from the cache, made there first if it is new or a file has changed."""
        import torch_geometric

        def make(shadow: Path) -> None:
            (shadow / self.folder).mkdir(parents=True)
            try:
                (shadow / self.folder / "raw").symlink_to(raw.resolve(), target_is_directory=True)
            except OSError:  # a system without symbolic links
                shutil.copytree(raw, shadow / self.folder / "raw")
            self.open(shadow)

        return self.open(processed(self.key, files, f"torch_geometric {torch_geometric.__version__}", make))

    def open(self, root: Path, base: type | None = None) -> Any:
        """Return the torch_geometric data set under `root`, which torch_geometric writes into."""
        from torch_geometric import datasets

        kind: Any = base or getattr(datasets, self.class_name)
        with quiet():
            return kind(root=str(root / self.class_name), **self.options)

    def _download(self) -> Path:
        """Have torch_geometric download the raw files, and stop before it processes them."""
        from torch_geometric import datasets

        class Downloaded(Exception):
            pass

        def stop_here(dataset: Any) -> None:
            raise Downloaded

        def fill(temporary: Path) -> None:
            base = type(self.class_name, (getattr(datasets, self.class_name),), {"process": stop_here})
            with contextlib.suppress(Downloaded):
                self.open(temporary, base)

        return download(
            self.key,
            f"{self.folder}/raw",
            fill,
            missing="on this machine and",
            otherwise=f"; give the folder that holds {self.folder}/raw/{self.raw_files[0]} with --data-root or "
            f"{VARIABLE}, or use the bundled {self.instead}",
        )


# All that arrays, CSR matrices and the dictionary of neighbors in Planetoid's raw files are made of, under old and new
# module names.
ALLOWED = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    *((f"scipy.sparse.{module}", "csr_matrix") for module in ("csr", "_csr")),
    ("scipy.sparse._csr", "csr_array"),
    ("collections", "defaultdict"),
    *((module, name) for module in ("__builtin__", "builtins") for name in ("list", "object")),
    ("_codecs", "encode"),
    *((module, "_reconstructor") for module in ("copy_reg", "copyreg")),
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return super().find_class(module, name)


def check_pickle(path: Path) -> None:
    """Raise unless the pickle is made of arrays, sparse matrices and dictionaries alone; no code of it is run."""
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy says that the old module name scipy.sparse.csr goes away
        try:
            _ArraysOnly(file, encoding="latin1").load()
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise InputError(
                f"{path} is refused: a Planetoid file may hold arrays only, and it is damaged or holds more ({error}); "
                "fetch it again from a source you trust."
            ) from error


PREFIX = "tu:"


@dataclass(frozen=True)
class TuSet(PygSet):
    """One data set of many graphs of TU Dortmund (Morris et al., 2020, "TUDataset"), in the original version.

    Its text files lie in `TUDataset/NAME/raw/` under a root: `NAME_A.txt`, `NAME_graph_indicator.txt`, ….

    Features are the one-hot labels of the nodes; where nodes have no labels, their attributes; where they have neither,
    what `build_graphs` makes of the number of neighbors. Labels of edges are left behind, and so are the numbers of a
    set that is for regression.
    """

    task: ClassVar[Task] = "graph"

    @classmethod
    def named(cls, key: str, name: str) -> TuSet:
        """Return the set that TU Dortmund calls `name`; upper and lower case count."""
        files = (f"{name}_A.txt", f"{name}_graph_indicator.txt")
        return cls(key, f"TUDataset/{name}", files, {"name": name, "use_node_attr": True}, instead="mutag")

    @classmethod
    def parse(cls, text: str) -> TuSet:
        """Return the data set that `tu:NAME` says."""
        name = text[len(PREFIX) :]
        if not re.fullmatch(r"[\w-]+", name, re.ASCII):
            raise InputError(
                f"{text!r} is no data set: after {PREFIX} comes the name of a TUDataset, for instance {PREFIX}NCI1."
            )
        return cls.named(text, name)

    def load(self, root: PathLike | None) -> Data:
        raw = self.raw(root)
        name = self.options["name"]
        with explain_damage(self.key, raw):
            ptr = _read_ptr(raw / f"{name}_graph_indicator.txt")
            read = self.processed(raw, sorted(raw.glob(f"{name}_*.txt")))
            x, y = read._data.x, read._data.y
            if x is not None and read.num_node_labels:
                x = x[:, read.num_node_attributes :]  # torch_geometric has attributes in the columns before labels
            # torch_geometric counts the nodes of each graph from 0, up to the last graph that has edges.
            counts = np.diff(read.slices["edge_index"].numpy())
            edges = read._data.edge_index.numpy() + np.repeat(ptr[: len(counts)], counts)
            y = None if y is None or y.is_floating_point() else y
            return build_graphs(x, edges, ptr, y=y, name=self.key)


def _read_ptr(indicator: Path) -> NDArray[np.int64]:
    """Return where each graph's nodes begin, from the graph of each node.

    torch_geometric takes it for granted that these ascend, and would mix graphs up if they did not.
    """
    import pandas as pd

    graph = pd.read_csv(indicator, header=None).to_numpy(dtype=np.int64).ravel() - 1
    if graph.size == 0 or graph[0] < 0 or (np.diff(graph) < 0).any():
        raise InputError(f"{indicator} does not list the nodes graph by graph, beginning with graph 1.")
    return np.cumsum([0, *np.bincount(graph)], dtype=np.int64)
