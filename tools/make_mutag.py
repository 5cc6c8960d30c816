"""Makes the bundled MUTAG graphs from the raw files inside the Python package grakel 0.1.11 (BSD-3-Clause).

    pip download --no-deps grakel==0.1.11
    unzip grakel-0.1.11-*.whl 'grakel/tests/data/MUTAG/*'
    python tools/make_mutag.py grakel/tests/data/MUTAG

The raw files are those of TU Dortmund (`MUTAG_A.txt`, …), and the same content gives the same bytes on every run (NumPy
writes its zip entries with a fixed date). Graphs and nodes keep their order; an edge is stored once, as (smaller,
larger) node position. Kinds of bonds are left out: no method here uses them.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np

OUT = Path(__file__).parents[1] / "src/sfa/data/bundled/mutag.npz"
CLASS_NAMES = {-1: "not mutagenic", 1: "mutagenic"}


def mutag_arrays(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of the npz file, in the smallest dtypes that hold them."""
    edges, graph, atoms, labels = (
        np.loadtxt(folder / f"MUTAG_{part}.txt", delimiter=",", dtype=np.int64)
        for part in ("A", "graph_indicator", "node_labels", "graph_labels")
    )
    assert graph.shape == atoms.shape == (3371,)
    assert (np.diff(graph) >= 0).all()
    assert set(graph) == set(range(1, 189))
    assert set(atoms) == set(range(7))
    source, target = edges.T - 1
    assert (graph[source] == graph[target]).all()
    pairs = np.unique(np.sort([source, target], axis=0), axis=1)
    assert pairs.shape == (2, 3721)
    assert (pairs[0] < pairs[1]).all()
    y = np.searchsorted(list(CLASS_NAMES), labels)
    assert np.bincount(y).tolist() == [63, 125]

    return {
        "x": np.eye(7, dtype=np.uint8)[atoms],
        "edge_index": pairs.astype(np.uint16),
        "ptr": np.searchsorted(graph, np.arange(1, 190)).astype(np.uint16),
        "y": y.astype(np.int8),
        "class_names": np.array(list(CLASS_NAMES.values())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder that holds MUTAG_A.txt and the other raw files")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()

    np.savez_compressed(args.out, **mutag_arrays(args.folder))
    content = args.out.read_bytes()
    print(f"{args.out}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
