"""The graph classification sets of TU Dortmund, as torch_geometric reads them: found, and processed, as `PygSet`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.downloads import damage_is_said
from sfa.data.graphs import build_graphs
from sfa.data.pyg_sets import PygSet
from sfa.errors import InputError
from sfa.levels import Level

PREFIX = "tu:"


@dataclass(frozen=True)
class TuSet:
    """One data set of many graphs (Morris et al., 2020, "TUDataset"), in the original version.

    Its text files lie in `TUDataset/NAME/raw/` under a root: `NAME_A.txt`, `NAME_graph_indicator.txt`, ….

    Features are the one-hot labels of the nodes; where nodes have no labels, their attributes; where they have neither,
    what `build_graphs` makes of the number of neighbours. Labels of edges are left behind, and so are the numbers of a
    set that is for regression.

    Args:
        key: our name of it.
        name: what TU Dortmund calls it; upper and lower case count.
    """

    key: str
    name: str
    level: ClassVar[Level] = "graph"

    @classmethod
    def parse(cls, text: str) -> TuSet:
        """The data set that `tu:NAME` says."""
        name = text[len(PREFIX) :]
        if not re.fullmatch(r"[\w-]+", name, re.ASCII):
            raise InputError(
                f"{text!r} is no data set: after {PREFIX} comes the name of a TUDataset, for instance {PREFIX}NCI1."
            )
        return cls(text, name)

    @property
    def files(self) -> PygSet:
        required = (f"{self.name}_A.txt", f"{self.name}_graph_indicator.txt")
        options = {"name": self.name, "use_node_attr": True}
        return PygSet(self.key, f"TUDataset/{self.name}", required, options, instead="mutag")

    def locate(self, root: str | os.PathLike[str] | None) -> Path | None:
        """The folder of raw files, in the root or else among earlier downloads; None if it must be downloaded."""
        return self.files.locate(root)

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The data set as a graph set; nothing is written outside the cache folder."""
        raw = self.files.raw(root)
        with damage_is_said(self.key, raw):
            ptr = _ptr(raw / f"{self.name}_graph_indicator.txt")
            read = self.files.processed(raw, sorted(raw.glob(f"{self.name}_*.txt")))
            return build_graphs(_features(read), _edges(read, ptr), ptr, y=_labels(read), name=self.key)


def _ptr(indicator: Path) -> NDArray[np.int64]:
    """Where each graph's nodes begin, from the graph of each node.

    torch_geometric takes it for granted that these ascend, and would mix graphs up if they did not.
    """
    import pandas as pd

    graph = pd.read_csv(indicator, header=None).to_numpy(dtype=np.int64).ravel() - 1
    if graph.size == 0 or graph[0] < 0 or (np.diff(graph) < 0).any():
        raise InputError(f"{indicator} does not list the nodes graph by graph, beginning with graph 1.")
    return np.cumsum([0, *np.bincount(graph)], dtype=np.int64)


def _features(read: Any) -> Tensor | None:
    """Node labels if there are any; torch_geometric has attributes in the columns before them."""
    x: Tensor | None = read._data.x
    return x if x is None or read.num_node_labels == 0 else x[:, read.num_node_attributes :]


def _edges(read: Any, ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """The edges as positions in the union; torch_geometric counts the nodes of each graph from 0."""
    edges: NDArray[np.int64] = read._data.edge_index.numpy()
    counts = np.diff(read.slices["edge_index"].numpy())  # of the graphs up to the last that has edges
    return edges + np.repeat(ptr[: len(counts)], counts)


def _labels(read: Any) -> Tensor | None:
    y: Tensor | None = read._data.y
    return None if y is None or y.is_floating_point() else y
