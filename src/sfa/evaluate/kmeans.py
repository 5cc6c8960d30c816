"""k-means of embeddings that do not fit in memory."""

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from torch import Tensor

from sfa.evaluate.inputs import Labels
from sfa.graph.structure import take_rows
from sfa.matrices import unit_rows

BATCH = 10_000  # rows that are read at a time
FIRST = 20_000  # rows on which the centers start


def cluster_by_batches(
    z: Tensor, items: Labels, k: int, *, starts: int, random: np.random.RandomState, unit: bool = True
) -> NDArray[np.int64]:
    """Cluster some rows of a table, by default scaled to length one; return the cluster of each of them.

    The centers of the best of several starts on a sample move over all rows once, in random order, by scikit-learn's
    ``MiniBatchKMeans``; then every row gets its nearest.
    """

    def take(some: Labels) -> NDArray[np.float32]:
        rows = take_rows(z, torch.from_numpy(np.sort(some))).to_dense().float()
        return (unit_rows(rows) if unit else rows).numpy()

    def pieces(rows: Labels) -> list[Labels]:
        return np.array_split(rows, -(-len(rows) // BATCH))

    order = random.permutation(items)
    first = KMeans(k, n_init=starts, random_state=random).fit(take(order[:FIRST]))
    model = MiniBatchKMeans(k, init=first.cluster_centers_, n_init=1, random_state=random)
    for batch in pieces(order):
        model.partial_fit(take(batch))
    return np.concatenate([model.predict(take(piece)) for piece in pieces(np.sort(items))]).astype(np.int64)
