"""Many graphs, an embedding each: molecules in a list, told apart by a classifier that is given embeddings alone.

    python examples/embed_my_graphs.py [--epochs 20]

The molecules are those of the bundled MUTAG, in a list of PyTorch Geometric's Data as yours may be. In each of five
folds the embedder learns from the other folds' molecules, without their labels, and the classifier from their
embeddings: those it is tested on are new to both. Then all molecules are embedded, to find those most like the first.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch_geometric.data import Data

import sfa
from sfa.data import load


def one_by_one(graphs: Data) -> list[Data]:
    """The graphs of a set as a list; their nodes, and so their edges, lie side by side in it."""
    edges_of_each = graphs.batch[graphs.edge_index[0]].bincount(minlength=len(graphs.ptr) - 1)
    parts = zip(
        graphs.x.split(graphs.ptr.diff().tolist()),
        graphs.edge_index.split(edges_of_each.tolist(), dim=1),
        graphs.ptr[:-1],
        strict=True,
    )
    return [Data(x=x, edge_index=edges - first) for x, edges, first in parts]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    epochs = parser.parse_args().epochs
    mutag = load("mutag")
    molecules, labels = one_by_one(mutag), mutag.y.numpy()

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, spectral in {"without SFA": "none", "with SFA": "sfa"}.items():
        embedder = sfa.GraphEmbedder(method="graphcl", spectral=spectral, epochs=epochs, random_state=0)
        classifier = make_pipeline(embedder, StandardScaler(), SVC(C=10))
        accuracy = 100 * cross_val_score(classifier, molecules, labels, cv=folds)
        print(f"{name}: accuracy {accuracy.mean():.1f} ± {accuracy.std():.1f} on molecules new to both")

    z = StandardScaler().fit_transform(embedder.fit_transform(molecules))  # a row a molecule, columns of one scale
    nearest = NearestNeighbors(n_neighbors=5).fit(z).kneighbors(return_distance=False)[0]
    alike = np.count_nonzero(labels[nearest] == labels[0])
    print(f"most like molecule 0: {', '.join(map(str, nearest))}; {alike} of 5 are of its class")
