"""Normalization of node features, and noise added to them."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.graph.structure import some_rows, take_rows
from sfa.matrices import csr_matrix, on_disk, row_chunks, to_csr
from sfa.ranges import check_number
from sfa.seeding import derive_seed

FeatureNormalization = Literal["auto", "row", "none", "standard", "shifted-row"]  # recipes choose what auto is

MEANINGS: dict[str, str] = {
    "row": "rows divided by their absolute sum",
    "standard": "columns standardized",
    "shifted-row": "shifted to 0 and rows divided by their sum",
    "none": "as they are",
}
"""What each normalization does, in a few words."""
ENTRIES = 10_000_000
"""Numbers, at most, that are looked at to tell what features are."""


def are_measurements(x: Tensor) -> bool:
    """Tell whether features ``(n, d)`` are measurements, to be standardized, by looking at some rows of a large table.

    Others are binary, counts or weights of words, whose rows can be compared as they are. Measurements are negative
    numbers, numbers that are not whole and mostly not 0, and any column of different numbers that nearly all rows have
    (an age), or that half of the rows have and that are ten times as large as those of other columns.
    """
    count = min(x.shape[0], ENTRIES // x.shape[1] + 1)
    places = torch.arange(count, device=x.device) * x.shape[0] // count
    rows = take_rows(x, places).to_dense()
    present = rows != 0
    share, largest, smallest = present.double().mean(0), rows.amax(0), rows.where(present, torch.inf).amin(0)
    is_large = (share > 0.5) & (largest >= 10 * largest.median())
    has_measured_column = bool(((smallest < largest) & ((share > 0.9) | is_large)).any())
    is_real = bool(share.mean() >= 0.5) and bool((rows != rows.round()).any())
    return has_measured_column or is_real or bool((rows < 0).any())


def feature_statistics(graph: Data, how: FeatureNormalization) -> dict[str, Tensor]:
    """Compute the statistics of the features of a graph that :func:`normalize_features` needs, by name."""
    x: Tensor = _in_rows(graph).x
    if how == "standard":
        return dict(zip(("mean", "deviation"), column_statistics(x), strict=True))
    if how != "shifted-row":
        return {}
    entries = x.values() if x.layout == torch.sparse_csr else x
    lowest = entries.min() if entries.numel() else entries.new_zeros(())
    leaves_out_zeros = entries.numel() < x.shape[0] * x.shape[1]  # as CSR does
    return {"lowest": lowest.clamp(max=0) if leaves_out_zeros else lowest}


def normalize_features(graph: Data, how: FeatureNormalization, statistics: Mapping[str, Tensor] | None = None) -> Data:
    r"""Normalize the features of a graph.

    .. math::
        \text{row:} \quad \frac{x_{ij}}{\sum_l |x_{il}|} \qquad
        \text{standard:} \quad \frac{x_{ij} - \mu_j}{\sigma_j} \qquad
        \text{shifted-row:} \quad \frac{x_{ij} - m}{\max(1, \sum_l (x_{il} - m))}, \quad m = \min_{kl} x_{kl}

    - ``row``: CSR features stay CSR, over the same pattern.
    - ``standard``: population deviation; a constant column becomes 0, as in BGRL on WikiCS. The result is dense.
    - ``shifted-row``: as PyTorch Geometric's ``NormalizeFeatures``, which GRACE, GCA and COSTA use. CSR features stay
      CSR if :math:`m = 0`, zeros counted, and become dense if not.

    ``statistics`` are those of other data, on which a model was trained; by default they are computed of the graph
    (:func:`feature_statistics`). Sparse features of another layout (COO, CSC) become CSR first. Mapped features
    (``graph.mapped_features``) stay on disk: the result is written to a temporary file of the same size.
    """
    if how not in MEANINGS:
        raise unknown_name("feature normalization", how, MEANINGS)
    graph = _in_rows(graph)
    x: Tensor = graph.x
    if how == "none":
        return graph
    statistics = statistics or feature_statistics(graph, how)
    if how == "standard":
        mean, deviation = (statistics[name].to(x.device) for name in ("mean", "deviation"))
        return _map_rows(graph, lambda rows: (rows.double() - mean) / deviation)
    lowest = float(statistics.get("lowest", 0))

    def divisor(length: Tensor) -> Tensor:
        return length.where(length > 0, 1) if how == "row" else length.clamp(min=1)

    def shift_and_divide(rows: Tensor) -> Tensor:
        rows = rows - lowest
        return rows / divisor(rows.abs().sum(1, keepdim=True))

    if x.layout == torch.strided or lowest != 0:
        return _map_rows(graph, shift_and_divide)
    rowptr = x.crow_indices()
    length = divisor(torch.segment_reduce(x.values().abs(), "sum", offsets=rowptr))
    length = length.repeat_interleave(rowptr.diff(), output_size=len(x.values()))
    rows = csr_matrix(rowptr, x.col_indices(), x.values() / length, (x.shape[0], x.shape[1]))
    return copy.copy(graph).update({"x": rows})


def add_noise(graph: Data, epsilon: float, seed: int) -> Data:
    r"""Add noise to the features, :math:`X + \epsilon \, \Delta X` with :math:`\Delta X \sim \mathcal N(0, I)`.

    The draw depends only on the seed and the shape of the features, not on their layout. The result is dense, and on
    disk if the features are mapped.
    """
    check_number("epsilon", epsilon)
    graph = _in_rows(graph)
    if epsilon == 0:
        return graph
    rng = np.random.default_rng(derive_seed(seed, 4))  # draws the same however the rows are cut into chunks

    def add(rows: Tensor) -> Tensor:
        noise = torch.from_numpy(rng.standard_normal(tuple(rows.shape), dtype=np.float32))
        return rows + epsilon * noise.to(rows.device)

    return _map_rows(graph, add)


def _in_rows(graph: Data) -> Data:
    """Return the graph itself, or one with CSR features if they are sparse in another layout."""
    is_in_rows = graph.x.layout in (torch.strided, torch.sparse_csr)
    return graph if is_in_rows else copy.copy(graph).update({"x": to_csr(graph.x)})


def _map_rows(graph: Data, change: Callable[[Tensor], Tensor]) -> Data:
    """Change the features chunk by chunk, as dense rows; on disk if those of the graph are."""
    x, shape = graph.x, tuple(graph.x.shape)
    chunks = (change(rows) for rows in _dense_rows(x))
    if getattr(graph, "mapped_features", False):
        return copy.copy(graph).update({"x": on_disk((rows.float().numpy() for rows in chunks), shape)})
    changed = torch.empty(shape, dtype=x.dtype, device=x.device)
    for place, rows in zip(row_chunks(shape), chunks, strict=True):
        changed[place] = rows
    return copy.copy(graph).update({"x": changed})


def _dense_rows(x: Tensor) -> Iterator[Tensor]:
    return (some_rows(x, chunk.start, chunk.stop).to_dense() for chunk in row_chunks(tuple(x.shape)))


def column_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Compute means and deviations ``(d,)`` of the columns in float64; infinity for a column of equal entries."""
    total, squares = torch.zeros((2, x.shape[1]), dtype=torch.float64, device=x.device)
    # The deviation of a constant column may be above 0, as its mean is rounded.
    constant, first = torch.ones_like(total, dtype=torch.bool), some_rows(x, 0, 1).to_dense()
    for rows in _dense_rows(x):
        constant &= (rows == first).all(0)
        total += rows.sum(0, dtype=torch.float64)
    mean = total / x.shape[0]
    for rows in _dense_rows(x):
        squares += (rows.double() - mean).square().sum(0)
    return mean, (squares / x.shape[0]).sqrt().where(~constant, torch.inf)
