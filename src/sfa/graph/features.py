"""What is done to node features before a model sees them: normalization, and noise on purpose."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.graph.structure import some_rows
from sfa.matrices import csr_matrix, on_disk, row_chunks
from sfa.ranges import check_number
from sfa.seeding import derive_seed

FeatureNormalization = Literal["row", "none", "standard", "shifted-row"]

MEANINGS: dict[FeatureNormalization, str] = {
    "row": "rows divided by their absolute sum",
    "standard": "columns standardised",
    "shifted-row": "shifted to 0 and rows divided by their sum",
    "none": "as they are",
}
"""What each normalization does, in a few words."""
OF_ALL_ROWS: tuple[FeatureNormalization, ...] = ("standard", "shifted-row")
"""Those in which a row becomes what it does because of the others."""


def normalize_features(graph: Data, how: FeatureNormalization) -> Data:
    r"""Normalize a graph's features, each node's and each column's in one of four ways.

    .. math::
        \text{row:} \quad \frac{x_{ij}}{\sum_l |x_{il}|} \qquad
        \text{standard:} \quad \frac{x_{ij} - \mu_j}{\sigma_j} \qquad
        \text{shifted-row:} \quad \frac{x_{ij} - m}{\max(1, \sum_l (x_{il} - m))}, \quad m = \min_{kl} x_{kl}

    - ``row``: rows are treated one by one, so that a node's features do not depend on the graph it comes with. CSR
      features stay CSR, over the same pattern.
    - ``standard``: each column has mean 0 and (population) deviation 1 over the nodes of *this* graph, and is 0 if it
      is constant; BGRL's way with WikiCS (Thakoor et al., 2022). The result is dense.
    - ``shifted-row``: what PyTorch Geometric's ``NormalizeFeatures`` does, and GRACE, GCA and COSTA with it. The
      smallest value is that of *this* graph, zeros included. CSR features stay CSR if it is 0, and become dense if not.
    - ``none``: the graph as it is.

    Sparse features of another layout (COO, CSC) become CSR first. Mapped features (``graph.mapped_features``) stay on
    disk: the result is written to a temporary file of the same size.
    """
    graph = _in_rows(graph)
    if how == "none":
        return graph
    if how == "row":
        return _divide_rows(graph, Tensor.abs, lambda length: length.where(length > 0, 1))
    if how == "standard":
        mean, deviation = _column_statistics(graph.x)
        return _map_rows(graph, lambda rows: (rows.double() - mean) / deviation)
    if how != "shifted-row":
        raise unknown_name("feature normalisation", how, ("row", "none", "standard", "shifted-row"))
    lowest = _lowest(graph.x)
    if lowest == 0:
        return _divide_rows(graph, lambda x: x, lambda length: length.clamp(min=1))

    def shift(rows: Tensor) -> Tensor:
        rows = rows - lowest
        return rows / rows.sum(1, keepdim=True).clamp(min=1)

    return _map_rows(graph, shift)


def add_noise(graph: Data, epsilon: float, seed: int) -> Data:
    r"""Add noise to a graph's features, :math:`X + \epsilon \, \Delta X` with :math:`\Delta X \sim \mathcal N(0, I)`.

    The draw depends on the seed and the shape of the features alone: sparse, dense and mapped features become the same.
    The result is dense, and on disk if the features are mapped.
    """
    check_number("epsilon", epsilon)
    graph = _in_rows(graph)
    if epsilon == 0:
        return graph
    rng = np.random.default_rng(derive_seed(seed, 4))  # which draws the same however the rows are cut into chunks

    def add(rows: Tensor) -> Tensor:
        noise = torch.from_numpy(rng.standard_normal(tuple(rows.shape), dtype=np.float32))
        return rows + epsilon * noise.to(rows.device)

    return _map_rows(graph, add)


def _with_features(graph: Data, x: Tensor) -> Data:
    changed = copy.copy(graph)
    changed.x = x
    return changed


def _in_rows(graph: Data) -> Data:
    """Return the graph itself, or one with CSR features if its features are sparse in another layout."""
    if graph.x.layout in (torch.strided, torch.sparse_csr):
        return graph
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are in beta
        return _with_features(graph, graph.x.to_sparse_coo().coalesce().to_sparse_csr())


def _divide_rows(graph: Data, size: Callable[[Tensor], Tensor], divisor: Callable[[Tensor], Tensor]) -> Data:
    """Divide each row by a function of the sum of its entries' sizes; CSR stays CSR."""
    x: Tensor = graph.x
    if x.layout != torch.sparse_csr:
        return _map_rows(graph, lambda rows: rows / divisor(size(rows).sum(1, keepdim=True)))
    rowptr, values = x.crow_indices(), x.values()
    length = divisor(torch.segment_reduce(size(values), "sum", offsets=rowptr))
    length = length.repeat_interleave(rowptr.diff(), output_size=len(values))
    return _with_features(graph, csr_matrix(rowptr, x.col_indices(), values / length, (x.shape[0], x.shape[1])))


def _map_rows(graph: Data, change: Callable[[Tensor], Tensor]) -> Data:
    """Change the features chunk by chunk, as dense rows; on disk if the graph's are."""
    x: Tensor = graph.x
    if getattr(graph, "mapped_features", False):
        return _with_features(graph, on_disk((change(rows).float().numpy() for rows in _dense_rows(x)), tuple(x.shape)))
    changed = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    for chunk, rows in zip(row_chunks(tuple(x.shape)), _dense_rows(x), strict=True):
        changed[chunk] = change(rows)
    return _with_features(graph, changed)


def _dense_rows(x: Tensor) -> Iterator[Tensor]:
    for chunk in row_chunks(tuple(x.shape)):
        rows = some_rows(x, chunk.start, chunk.stop)
        yield rows.to_dense() if rows.layout == torch.sparse_csr else rows


def _lowest(x: Tensor) -> float:
    """Return the smallest entry of features ``(n, d)``, those that CSR leaves out included."""
    if x.layout != torch.sparse_csr:
        return min(float(rows.min()) for rows in _dense_rows(x))
    left_out = x.shape[0] * x.shape[1] - len(x.values())
    return float(torch.cat([x.values(), x.values().new_zeros(min(left_out, 1))]).min())


def _column_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Compute means and deviations ``(d,)`` of the columns, in float64; that of a constant column is infinite.

    Constant is what is the same in every row, not what has deviation 0: the mean is rounded, and so is the deviation.
    """
    total, squares = torch.zeros((2, x.shape[1]), dtype=torch.float64, device=x.device)
    constant = torch.ones(x.shape[1], dtype=torch.bool, device=x.device)
    first = None
    for rows in _dense_rows(x):
        first = rows[0] if first is None else first
        constant &= (rows == first).all(0)
        total += rows.sum(0, dtype=torch.float64)
    mean = total / x.shape[0]
    for rows in _dense_rows(x):
        squares += (rows.double() - mean).square().sum(0)
    return mean, (squares / x.shape[0]).sqrt().where(~constant, torch.inf)
