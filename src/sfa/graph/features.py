"""Normalisation of node features, the same for every graph a model sees."""

from __future__ import annotations

import copy
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.matrices import csr_matrix, on_disk, row_chunks

FeatureNormalisation = Literal["row", "none"]


def normalise_features(graph: Data, how: FeatureNormalisation) -> Data:
    """A graph whose feature rows sum to one in absolute value (``row``), or the graph as it is (``none``).

    Rows are treated one by one, so that a node's features do not depend on the graph it comes with. CSR features stay
    CSR, over the same pattern. Mapped features (``graph.mapped_features``) stay on disk: the result is written to a
    temporary file of the same size.
    """
    if how == "none":
        return graph
    x: Tensor = graph.x
    normalised = copy.copy(graph)
    if x.layout == torch.sparse_csr:
        normalised.x = _normalised_csr(x)
    elif getattr(graph, "mapped_features", False):
        chunks = (_normalised(x[rows]).numpy() for rows in row_chunks(x.shape))
        normalised.x = on_disk(chunks, tuple(x.shape))
    else:
        normalised.x = _normalised(x)
    return normalised


def _normalised(x: Tensor) -> Tensor:
    length = x.abs().sum(1, keepdim=True)
    return x / length.where(length > 0, 1)


def _normalised_csr(x: Tensor) -> Tensor:
    rowptr, values = x.crow_indices(), x.values()
    length = torch.segment_reduce(values.abs(), "sum", offsets=rowptr)
    length = length.where(length > 0, 1).repeat_interleave(rowptr.diff(), output_size=len(values))
    return csr_matrix(rowptr, x.col_indices(), values / length, (x.shape[0], x.shape[1]))
