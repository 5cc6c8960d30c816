"""Read the graph data sets of torch_geometric, TU Dortmund and the Open Graph Benchmark as they are published.

No code of torch_geometric reads their files, for it unpickles some of them and what it keeps of them.
"""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from torch_geometric.data import Data

from sfa.data.arrays import read_arrays
from sfa.data.downloads import DatasetInfo, download, processed, unpack
from sfa.data.graph import build_graph, build_graphs
from sfa.data.labels import MASKS
from sfa.data.raw import build
from sfa.data.readers.graph import CSR_PARTS, read_csr
from sfa.data.readers.pickled import read_pickle
from sfa.errors import InputError
from sfa.folders import PathLike, require_regular_file
from sfa.memory import memory_bytes, require_memory
from sfa.tasks import Task

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data/ind.{}.{}"
BENCHMARK = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/{}.npz"
WIKICS = "https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/data.json"
HETEROPHILOUS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/{}.npz"
GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/{}/{}"
TU = "https://www.chrsmrrs.com/graphkerneldatasets/{}.zip"
OGB = "https://snap.stanford.edu/ogb/data/nodeproppred/{}.zip"
# Checksums of what is downloaded, where one is known.
SHA256 = {
    "arxiv.zip": "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
}


@dataclass
class PygSet(DatasetInfo):
    """One data set of nodes that torch_geometric has, read from the raw files in its layout."""

    name: str
    folder: str  # where it lies under a root, torch_geometric's class first: `Planetoid/CiteSeer`, `WikiCS`

    def __post_init__(self) -> None:
        self.content = f"{self.folder}/raw"
        self.places = (self.content,)
        kind, *own = Path(self.folder).parts
        name = own[0].lower() if own else "film"
        if kind == "Planetoid":
            self.reader = read_planetoid
            urls = [PLANETOID.format(name, part) for part in PLANETOID_PARTS]
        elif kind in ("Amazon", "Coauthor"):
            self.reader = read_benchmark
            urls = [BENCHMARK.format(f"amazon_electronics_{name}" if kind == "Amazon" else f"ms_academic_{name[:3]}")]
        elif kind == "WikiCS":
            self.reader, urls = read_wikics, [WIKICS]
        elif kind == "HeterophilousGraphDataset":
            self.reader, urls = read_heterophilous, [HETEROPHILOUS.format(name)]
        else:
            self.reader = read_geom_gcn
            tables = [f"new_data/{name}/{table}.txt" for table in ("out1_node_feature_label", "out1_graph_edges")]
            splits = [f"splits/{name}_split_0.6_0.2_{i}.npz" for i in range(10)]
            commit = "f1fc0d14b3b019c562737240d06ec83b07d16a8f" if kind == "WikipediaNetwork" else "master"
            urls = [GEOM_GCN.format(commit, path) for path in tables + splits]
        self.urls = {url.rpartition("/")[2]: url for url in urls}
        self.files = tuple(self.urls)

    def read(self, place: Path) -> Data:
        return build(self.reader([place / file for file in self.files]), name=self.name)

    def fetch(self, temporary: Path) -> None:
        raw = temporary / self.places[0]
        raw.mkdir(parents=True)
        for file, url in self.urls.items():
            download(url, raw / file, SHA256.get(file))


PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def read_planetoid(paths: list[Path]) -> Data:
    """Read features and one-hot labels of the nodes for training, for testing and of all others, and the neighbors.

    The nodes for training come first, and 500 for validation after them. Nodes that are in no part (CiteSeer has 15)
    have neither features nor edges, and their label counts as the first class.
    """
    _, tx, allx, y, ty, ally, graph = map(read_pickle, paths[:-1])
    tx, allx = (read_csr(parts, "x", path) for parts, path in ((tx, paths[1]), (allx, paths[2])))
    test = _table(paths[-1], np.int64).ravel()
    order = np.concatenate([np.arange(len(ally)), test])
    num_nodes = int(order.max(initial=-1)) + 1
    require_memory(64 * num_nodes, f"A graph of {num_nodes} nodes")
    if order.min(initial=0) < 0 or len(np.unique(order)) < len(order) or len(test) != tx.shape[0]:
        raise InputError(f"{paths[-1]} does not list other nodes than the first {len(ally)}, {tx.shape[0]} of them.")
    features = sparse.vstack([allx, tx], format="coo")
    ends = order[features.row], features.col
    labels = np.zeros((num_nodes, ally.shape[1]))
    labels[order] = np.concatenate([ally, ty])
    edges = [(node, neighbor) for node, neighbors in graph.items() for neighbor in neighbors]
    parts = range(len(y)), range(len(y), len(y) + 500), test
    return Data(
        x=sparse.coo_array((features.data, ends), shape=(num_nodes, features.shape[1])),
        edge_index=np.array(edges, dtype=np.int64).reshape(-1, 2).T,
        y=labels.argmax(axis=1),
        **{mask: _mask(nodes, num_nodes) for mask, nodes in zip(MASKS, parts, strict=True)},
    )


def read_benchmark(paths: list[Path]) -> Data:
    """Read a file of gnn-benchmark: whether a word is there counts, not how often, and edges have no weights."""
    keys = {f"{prefix}_{part}" for prefix in ("attr", "adj") for part in CSR_PARTS}
    arrays = read_arrays(paths[0], keys | {"labels"})
    x, adjacency = (read_csr(arrays, prefix, paths[0]) for prefix in ("attr", "adj"))
    x.sum_duplicates()
    x.data[x.data > 0] = 1
    ends = adjacency.tocoo()
    return Data(x=x, edge_index=np.stack([ends.row, ends.col]), y=arrays["labels"])


def read_wikics(paths: list[Path]) -> Data:
    """Read WikiCS: 20 splits, with one test part for all."""
    content = json.loads(require_regular_file(paths[0], max_bytes=memory_bytes() // 32).read_bytes())
    edges = [(node, neighbor) for node, neighbors in enumerate(content["links"]) for neighbor in neighbors]
    return Data(
        x=np.array(content["features"], dtype=np.float32),
        edge_index=np.array(edges, dtype=np.int64).reshape(-1, 2).T,
        y=np.array(content["labels"], dtype=np.int64),
        train_mask=np.array(content["train_masks"], dtype=bool).T,
        val_mask=np.array(content["val_masks"], dtype=bool).T,
        test_mask=np.array(content["test_mask"], dtype=bool),
    )


def read_heterophilous(paths: list[Path]) -> Data:
    """Read a file of `"A Critical Look at the Evaluation of GNNs under Heterophily"`_ (Platonov et al., 2023).

    .. _"A Critical Look at the Evaluation of GNNs under Heterophily": https://arxiv.org/abs/2302.11640
    """
    arrays = read_arrays(paths[0], {"node_features", "node_labels", "edges", *(f"{mask}s" for mask in MASKS)})
    masks = {mask: arrays[f"{mask}s"].T for mask in MASKS}
    return Data(x=arrays["node_features"], edge_index=arrays["edges"].T, y=arrays["node_labels"], **masks)


def read_geom_gcn(paths: list[Path]) -> Data:
    """Read the tables (node, features, label) and (node, node) and the ten splits of Geom-GCN.

    From `"Geom-GCN: Geometric Graph Convolutional Networks" <https://arxiv.org/abs/2002.05287>`_ (Pei et al., 2020).
    Features of actors are lists of the words that are there, and all others are numbers.
    """
    ids, lists, labels = zip(*(line.split("\t") for line in _lines(paths[0])), strict=True)
    if paths[2].name.startswith("film"):
        nodes, words = np.array(ids, dtype=np.int64), [np.array(one.split(","), dtype=np.int64) for one in lists]
        if not np.array_equal(np.sort(nodes), np.arange(len(nodes))):
            raise InputError(f"{paths[0]} does not list the nodes 0 to {len(nodes) - 1}, each once.")
        order, column = np.argsort(nodes), np.concatenate(words)
        ends = np.unique([np.repeat(nodes, [len(one) for one in words]), column], axis=1)
        x: Any = sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(nodes), int(column.max()) + 1))
    else:
        order, x = np.arange(len(ids)), np.array([one.split(",") for one in lists], dtype=np.float32)
    splits = [read_arrays(path, MASKS) for path in paths[2:]]
    return Data(
        x=x,
        edge_index=np.array([line.split("\t") for line in _lines(paths[1])], dtype=np.int64).T,
        y=np.array(labels, dtype=np.int64)[order],
        **{mask: np.stack([split[mask] for split in splits], axis=1).astype(bool) for mask in MASKS},
    )


def _lines(path: Path) -> list[str]:
    """Return the lines of a text after its header."""
    return require_regular_file(path, max_bytes=memory_bytes() // 64).read_text(encoding="utf-8").splitlines()[1:]


def _table(path: Path, dtype: type[Any]) -> NDArray[Any]:
    """Return a table of numbers, without header."""
    require_regular_file(path, max_bytes=memory_bytes() // 16)
    return np.loadtxt(path, dtype, delimiter=",", comments=None, ndmin=2, encoding="utf-8")


def _mask(nodes: Any, num_nodes: int) -> NDArray[np.bool_]:
    """Return the mask of nodes that are given by their numbers."""
    mask = np.zeros(num_nodes, dtype=bool)
    if len(nodes) and not 0 <= min(nodes) <= max(nodes) < num_nodes:
        raise InputError(f"A public split holds the nodes {min(nodes)} to {max(nodes)}, but there are {num_nodes}.")
    mask[nodes] = True
    return mask


@dataclass
class TuSet(DatasetInfo):
    """One data set of many graphs of TU Dortmund, in the original version.

    From `"TUDataset: A collection of benchmark datasets for learning with graphs" <https://arxiv.org/abs/2007.08663>`_
    (Morris et al., 2020). Features are the one-hot labels of the nodes, else their attributes, else degree features.
    Labels of edges and targets of regression are left out.
    """

    name: str
    own_name: str
    task: Task = "graph"
    instead = "mutag"

    def __post_init__(self) -> None:
        self.places = (f"TUDataset/{self.own_name}/raw",)
        self.files = (f"{self.own_name}_A.txt", f"{self.own_name}_graph_indicator.txt")

    def read(self, place: Path) -> Data:
        indicator = place / self.files[1]
        graph = _table(indicator, np.int64).ravel() - 1
        if graph.size == 0 or graph[0] < 0 or (np.diff(graph) < 0).any() or graph[-1] >= graph.size:
            raise InputError(f"{indicator} does not list the nodes graph by graph, beginning with graph 1.")

        def column(table: str, dtype: type[Any]) -> NDArray[Any] | None:
            path = place / f"{self.own_name}_{table}.txt"
            return _table(path, dtype) if path.exists() else None

        labels, x = column("node_labels", np.int64), column("node_attributes", np.float64)
        if labels is not None:
            labels = labels - labels.min(axis=0)
            require_memory(8 * len(labels) * float(labels.max(axis=0).sum()), f"The one-hot labels of {self.name}")
            x = np.concatenate([np.eye(one.max() + 1, dtype=np.float32)[one] for one in labels.T], axis=1)
        is_regression = (place / f"{self.own_name}_graph_attributes.txt").exists()
        classes = None if is_regression else column("graph_labels", np.int64)
        return build_graphs(
            x,
            _table(place / self.files[0], np.int64).T - 1,
            np.cumsum([0, *np.bincount(graph)], dtype=np.int64),
            y=None if classes is None else np.unique(classes.ravel(), return_inverse=True)[1],
            name=self.name,
        )

    def fetch(self, temporary: Path) -> None:
        tables = ("node_labels", "node_attributes", "graph_labels", "graph_attributes")
        files = [*self.files, *(f"{self.own_name}_{table}.txt" for table in tables)]
        download(TU.format(self.own_name), temporary / "archive")
        members = {f"{self.own_name}/{file}": f"{self.places[0]}/{file}" for file in files}
        unpack(temporary / "archive", temporary, members, needed=2)


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
                _check_unpacked_size(place / file)
                table = np.asarray(pd.read_csv(place / file, header=None).to_numpy())
                np.save(made / f"{i}.npy", table.astype(np.float32) if "node-feat" in file else table)

        # To read the text takes many times as long as to read arrays.
        cached = processed(self.name, place, self.files, "tables 2", make)
        edges, x, y, *parts = (np.load(cached / f"{i}.npy", allow_pickle=False) for i in range(len(self.files)))
        masks = {mask: _mask(nodes.ravel(), len(x)) for mask, nodes in zip(MASKS, parts, strict=True)}
        return build_graph(x, edges.T, y=y, masks=masks, name=self.name)

    def fetch(self, temporary: Path) -> None:
        archive = f"{self.name.removeprefix('ogbn-')}.zip"
        download(OGB.format(archive.removesuffix(".zip")), temporary / "archive", SHA256[archive])
        members = {f"{archive.removesuffix('.zip')}/{file}": f"{self.places[0]}/{file}" for file in self.files}
        unpack(temporary / "archive", temporary, members)


def _check_unpacked_size(path: Path) -> None:
    """Raise if a gzipped table is larger than what can be read."""
    with gzip.open(require_regular_file(path)) as file:
        size = 0
        while content := file.read(1 << 20):
            size += len(content)
            require_memory(8 * size, f"The table in {path}")
