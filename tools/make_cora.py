"""Makes the bundled Cora graph from the files inside the Python package graphdatascience 2.2 (Apache-2.0).

    pip download --no-deps graphdatascience==2.2
    python tools/make_cora.py graphdatascience-2.2-py3-none-any.whl

The same wheel gives the same bytes on every run (NumPy writes its zip entries with a fixed date). The node order is
that of the original `cora.content`; an edge is stored once, as (smaller, larger) node position.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="graphdatascience-2.2-py3-none-any.whl")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()

    with zipfile.ZipFile(args.wheel) as wheel:
        nodes, citations = (
            pd.read_parquet(io.BytesIO(wheel.read(f"{FOLDER}/cora_{part}.parquet.gzip"))) for part in ("nodes", "rels")
        )
    np.savez_compressed(args.out, **cora_arrays(nodes, citations))
    content = args.out.read_bytes()
    print(f"{args.out}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
