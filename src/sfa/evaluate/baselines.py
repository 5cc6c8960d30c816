"""Baselines that need no training: embeddings of the data alone, beside which those of a method are shown."""

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d
from torch_geometric.data import Data

from sfa.evaluate.inputs import MOST_BYTES
from sfa.evaluate.protocols import Embedder
from sfa.graph.histograms import degree_histogram, label_histogram, weisfeiler_lehman
from sfa.nn.image_encoder import to_float
from sfa.nn.sparse import feature_product, propagation_of
from sfa.postprocess import hops_side_by_side
from sfa.tasks import Task

HOPS = 2
TOGETHER = 1024  # images that are read at a time


def propagated_features(graph: Data) -> Tensor:
    r"""Return :math:`[X, \hat A X, \hat A^2 X]` with unit rows side by side, float32 ``(n, 3d)``.

    With :math:`\hat A = \hat D^{-1/2} (A + I) \hat D^{-1/2}` this is the input of an encoder of two graph convolutions.
    Where it would take more than a gigabyte, features are brought to 256 columns first by a fixed random projection,
    which nearly keeps angles.
    """
    x: Tensor = graph.x
    n, width = x.shape
    if 4 * (HOPS + 1) * n * width > MOST_BYTES:
        projection = torch.randn(width, 256, generator=torch.Generator().manual_seed(0))
        x = feature_product(x, projection.to(x))
    return hops_side_by_side(x.to_dense().float(), propagation_of(graph, torch.float32), HOPS)


def raw_pixels(images: Data) -> Tensor:
    """Return the pixels of images as rows of float32 in [0, 1], ``(n, H·W·C)``.

    Where that would take more than a gigabyte, they are averaged over cells first, to at most 32 x 32 of them.
    """
    n, height, width, channels = images.x.shape
    if 4 * n * height * width * channels > MOST_BYTES:
        height, width = min(height, 32), min(width, 32)
    rows = torch.empty(n, height, width, channels)
    for piece, chunk in zip(torch.split(rows, TOGETHER), torch.split(images.x, TOGETHER), strict=True):
        piece.copy_(adaptive_avg_pool2d(to_float(chunk), (height, width)).permute(0, 2, 3, 1))
    return rows.flatten(1)


BASELINES: dict[Task, dict[str, Embedder]] = {
    "node": {"raw features": lambda graph: graph.x, "propagated features": propagated_features},
    "graph": {
        "label histogram": label_histogram,
        "degree histogram": degree_histogram,
        "WL subtree counts": weisfeiler_lehman,
    },
    "image": {"raw pixels": raw_pixels},
}
"""Baselines for nodes, for graphs and for images, by the name that tables give them: dense rows or CSR."""
