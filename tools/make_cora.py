"""Makes the bundled Cora graph from the files inside the Python package graphdatascience 2.2 (Apache-2.0).

    pip download --no-deps graphdatascience==2.2
    python tools/make_cora.py graphdatascience-2.2-py3-none-any.whl ~/data

The same wheel gives the same bytes on every run (NumPy writes its zip entries with a fixed date). The node order is
that of the original `cora.content`; an edge is stored once, as (smaller, larger) node position.

The public split (Yang et al., 2016) comes from the Planetoid files in `~/data/Planetoid/Cora/raw`, whose nodes are the
same in another order: each is found again by its words and its neighbours. Papers that have both in common cannot be
told apart by anything in the graph, and are matched in their order.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from torch_geometric.data import Data

from sfa.data.pyg_sets import PygSet

FOLDER = "graphdatascience/resources/cora"
OUT = Path(__file__).parents[1] / "src/sfa/data/bundled/cora.npz"
# The number of each subject, from serialize_cora.py in the same folder of the wheel.
SUBJECTS = [
    "Neural_Networks",
    "Rule_Learning",
    "Reinforcement_Learning",
    "Probabilistic_Methods",
    "Theory",
    "Genetic_Algorithms",
    "Case_Based",
]


def cora_arrays(nodes: pd.DataFrame, citations: pd.DataFrame) -> dict[str, np.ndarray]:
    """The arrays of the npz file, in the smallest dtypes that hold them."""
    features = np.stack(nodes["features"].to_list())
    assert features.shape == (2708, 1433)
    assert set(np.unique(features)) == {0, 1}
    attr = sparse.csr_matrix(features.astype(np.uint8))

    position = {node: i for i, node in enumerate(nodes["nodeId"])}
    source = citations["sourceNodeId"].map(position).to_numpy(dtype=np.int64)
    target = citations["targetNodeId"].map(position).to_numpy(dtype=np.int64)
    pairs = np.stack([np.minimum(source, target), np.maximum(source, target)])
    pairs = np.unique(pairs[:, source != target], axis=1)
    assert pairs.shape == (2, 5278)

    class_names = sorted(SUBJECTS)
    labels = np.array([class_names.index(SUBJECTS[subject]) for subject in nodes["subject"]])
    assert np.unique(labels).size == len(class_names) == 7

    return {
        "attr_data": attr.data,
        "attr_indices": attr.indices.astype(np.uint16),
        "attr_indptr": attr.indptr.astype(np.uint16 if attr.nnz < 2**16 else np.int32),
        "attr_shape": np.array(attr.shape, dtype=np.int32),
        "edge_index": pairs.astype(np.uint16),
        "labels": labels.astype(np.int8),
        "class_names": np.array(class_names),
        "node_ids": nodes["nodeId"].to_numpy(dtype=np.int32),
    }


def public_split(arrays: dict[str, np.ndarray], planetoid: Data) -> dict[str, np.ndarray]:
    """Planetoid's masks in the order of our nodes."""
    x = sparse.csr_matrix(tuple(arrays[f"attr_{part}"] for part in ("data", "indices", "indptr"))).toarray()
    edges = np.concatenate([arrays["edge_index"], arrays["edge_index"][::-1]], axis=1)
    ours = np.argsort(_colours(x, edges), kind="stable")
    theirs = np.argsort(_colours(planetoid.x.to_dense().numpy(), planetoid.edge_index.numpy()), kind="stable")
    position = np.empty(2708, dtype=np.int64)
    position[ours] = theirs
    assert {*map(tuple, position[edges].T)} == {*map(tuple, planetoid.edge_index.numpy().T)}
    assert (x == planetoid.x.to_dense().numpy()[position]).all()
    assert len({*zip(arrays["labels"], planetoid.y.numpy()[position], strict=True)}) == 7
    masks = {name: planetoid[name].numpy()[position] for name in ("train_mask", "val_mask", "test_mask")}
    assert [int(mask.sum()) for mask in masks.values()] == [140, 500, 1000]
    return masks


def _colours(x: np.ndarray, edges: np.ndarray) -> list[bytes]:
    """What tells a node by its words, and those of its neighbours."""
    words = [hashlib.sha256(row.astype(np.uint8).tobytes()).digest() for row in x]
    around: list[list[bytes]] = [[] for _ in words]
    for u, v in edges.T.tolist():
        around[u].append(words[v])
    return [
        hashlib.sha256(b"".join([own, *sorted(others)])).digest() for own, others in zip(words, around, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="graphdatascience-2.2-py3-none-any.whl")
    parser.add_argument("root", type=Path, help="the folder that holds Planetoid/Cora/raw")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()

    with zipfile.ZipFile(args.wheel) as wheel:
        nodes, citations = (
            pd.read_parquet(io.BytesIO(wheel.read(f"{FOLDER}/cora_{part}.parquet.gzip"))) for part in ("nodes", "rels")
        )
    arrays = cora_arrays(nodes, citations)
    planetoid = PygSet("cora", "Planetoid/Cora", {"name": "Cora"}).load(args.root)
    np.savez_compressed(args.out, **arrays, **public_split(arrays, planetoid))
    content = args.out.read_bytes()
    print(f"{args.out}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
