"""Read the graph classification sets of TU Dortmund, which torch_geometric finds and processes (`PygSet`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import PathLike, explain_damage
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
    what `build_graphs` makes of the number of neighbors. Labels of edges are left behind, and so are the numbers of a
    set that is for regression.

    `name` is what TU Dortmund calls it; upper and lower case count.
    """

    key: str
    name: str
    level: ClassVar[Level] = "graph"

    @classmethod
    def parse(cls, text: str) -> TuSet:
        """Return the data set that `tu:NAME` says."""
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

    def locate(self, root: PathLike | None) -> Path | None:
        """Return the folder of raw files, in the root or among earlier downloads; None if it must be downloaded."""
        return self.files.locate(root)

    def load(self, root: PathLike | None) -> Data:
        """Return the data set as a graph set; nothing is written outside the cache folder."""
        raw = self.files.raw(root)
        with explain_damage(self.key, raw):
            ptr = _read_ptr(raw / f"{self.name}_graph_indicator.txt")
            read = self.files.processed(raw, sorted(raw.glob(f"{self.name}_*.txt")))
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
