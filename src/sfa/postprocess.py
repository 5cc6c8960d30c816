"""Postprocessing steps of node embeddings: callables ``(z, data) -> z``."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import some_rows
from sfa.matrices import row_chunks, unit_rows
from sfa.nn.sparse import Propagation, propagation_of, sparse_product
from sfa.ranges import Count, Positive, check_number, check_whole
from sfa.registry import register

Postprocess = Callable[[Tensor, Data], Tensor]
"""A step: embeddings ``(n, d)`` and the graph that they are of, to embeddings ``(n, d')``."""

CHUNK = 1 << 16  # Rows that are propagated at a time.


@register("postprocess", "remove-top-pcs")
class RemoveTopPCs:
    r"""Remove the strongest singular directions from the embeddings.

    .. math::
        Z - Z V V^\top, \qquad V = [v_1 \dots v_c] \text{ of } Z = U \Sigma V^\top

    One direction is what a complete power iteration would remove (:math:`k \to \infty`). The directions are those of
    the Gram matrix ``(d, d)`` in float64.

    Args:
        count: Number of directions.
    """

    def __init__(self, count: Count = 1) -> None:
        check_whole("count", count, 1)
        self.count = count

    def check_width(self, width: int) -> None:
        """Raise unless something is left of embeddings of this width."""
        if self.count >= width:
            raise InputError(f"Embeddings of width {width} without their {self.count} leading directions are nothing.")

    @torch.no_grad()
    def __call__(self, z: Tensor, data: Data) -> Tensor:
        n, width = z.shape
        self.check_width(width)
        largest = z.abs().amax() if n else z.new_ones(())
        if not largest.isfinite():
            raise InputError("Embeddings with NaN or infinity have no leading directions.")
        scale = torch.where(largest > 0, largest, 1)  # so that no square overflows
        gram = torch.zeros(width, width, dtype=torch.float64, device=z.device)
        for chunk in row_chunks((n, width)):
            rows = (z[chunk] / scale).double()
            gram += rows.mT @ rows
        leading = torch.linalg.eigh(gram).eigenvectors[:, width - self.count :]
        result = torch.empty_like(z, memory_format=torch.contiguous_format)
        for chunk in row_chunks((n, width)):
            rows = z[chunk].double()
            result[chunk] = (rows - (rows @ leading) @ leading.mT).to(z.dtype)
        return result


@register("postprocess", "propagate")
class Propagate:
    """Replace each row by a mean of itself and its neighbors (:func:`propagate`).

    Args:
        hops: Number of repetitions.
    """

    def __init__(self, hops: Count = 1) -> None:
        check_whole("hops", hops, 1)
        self.hops = hops

    def __call__(self, z: Tensor, data: Data) -> Tensor:
        adjacency = propagation_of(data, z.dtype)
        for _ in range(self.hops):
            z = propagate(z, adjacency)
        return z


@register("postprocess", "concat-features")
class ConcatFeatures:
    """Concatenate the embedding and the features of a node, both with unit rows; the result is dense.

    Args:
        weight: Factor of the features.
    """

    def __init__(self, weight: Positive = 1.0) -> None:
        check_number("weight", weight, above=0)
        self.weight = weight

    @torch.no_grad()
    def __call__(self, z: Tensor, data: Data) -> Tensor:
        width = z.shape[1]
        result = z.new_empty(len(z), width + data.x.shape[1])
        for chunk in row_chunks(tuple(result.shape)):
            features = some_rows(data.x, chunk.start, min(chunk.stop, len(z))).to_dense()
            result[chunk, :width] = unit_rows(z[chunk])
            result[chunk, width:] = unit_rows(features).mul_(self.weight)
        return result


@torch.no_grad()
def propagate(z: Tensor, adjacency: Propagation, *, chunk: int = CHUNK) -> Tensor:
    r"""Compute :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2} Z` of embeddings ``(n, d)``, in chunks of rows.

    A node without neighbors keeps its own row.
    """
    result = z.new_empty(z.shape)
    for start in range(0, len(z), chunk):
        rows = adjacency.rows(start, min(start + chunk, len(z)))
        result[start : start + chunk] = sparse_product(rows, rows, z)  # no backward pass, and so no transpose
    return result
