"""Postprocessing steps of node embeddings: callables ``(z, data) -> z``."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import some_rows
from sfa.matrices import relative_powers, row_chunks, singular_directions, unit_rows
from sfa.nn.sparse import Propagation, propagation_of, sparse_product
from sfa.ranges import FewCount, NonNegative, Positive, Width, check_number, check_whole
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

    def __init__(self, count: FewCount = 1) -> None:
        check_whole("count", count, 1)
        self.count = count

    def check_width(self, width: int) -> None:
        """Raise unless something is left of embeddings of this width."""
        if self.count >= width:
            raise InputError(f"Embeddings of width {width} without their {self.count} leading directions are nothing.")

    @torch.no_grad()
    def __call__(self, z: Tensor, data: Data) -> Tensor:
        self.check_width(z.shape[1])
        leading = singular_directions(z)[1][:, : self.count]
        return _map_rows(z, lambda rows: rows - (rows @ leading) @ leading.mT)


@register("postprocess", "power")
class Power:
    r"""Raise the singular values of the embeddings to a power, relative to the largest.

    .. math::
        Z V \operatorname{diag}\bigl((\sigma_i / \sigma_1)^{p-1}\bigr) V^\top, \qquad Z = U \Sigma V^\top

    Above 1, the leading directions count more than they did; below 1 less, and at 0 all alike (whitening).

    Args:
        p: The exponent; 1 changes nothing.
    """

    def __init__(self, p: NonNegative = 2.0) -> None:
        check_number("p", p)
        self.p = p

    def __call__(self, z: Tensor, data: Data) -> Tensor:
        sigma, v = singular_directions(z)
        change = v * relative_powers(sigma, self.p - 1) @ v.mT
        return _map_rows(z, lambda rows: rows @ change)


@register("postprocess", "pca")
class PCA:
    """Replace the embeddings by their leading principal components, those of the centered embeddings.

    Args:
        width: Number of components; all of them, if there are fewer.
    """

    def __init__(self, width: Width = 128) -> None:
        check_whole("width", width, 1)
        self.width = width

    def __call__(self, z: Tensor, data: Data) -> Tensor:
        mean = z.mean(0, dtype=torch.float64) if len(z) else z.new_zeros(z.shape[1], dtype=torch.float64)
        centered = _map_rows(z, lambda rows: rows - mean)
        v = singular_directions(centered)[1][:, : self.width]
        return _map_rows(centered, lambda rows: rows @ v)


@register("postprocess", "propagate")
class Propagate:
    """Replace each row by a mean of itself and its neighbors (:func:`propagate`).

    Args:
        hops: Number of repetitions.
        concat: Keep the embeddings of every hop, ``[Z, ÂZ, …]`` side by side with unit rows, and not the last alone.
    """

    def __init__(self, hops: FewCount = 1, *, concat: bool = False) -> None:
        check_whole("hops", hops, 1)
        self.hops, self.concat = hops, concat

    def __call__(self, z: Tensor, data: Data) -> Tensor:
        adjacency = propagation_of(data, z.dtype)
        if self.concat:
            return hops_side_by_side(z, adjacency, self.hops)
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


def hops_side_by_side(z: Tensor, adjacency: Propagation, hops: int) -> Tensor:
    r"""Compute :math:`[Z, \hat A Z, \dots, \hat A^k Z]` for ``k`` hops, each with unit rows: ``(n, (k + 1) d)``."""
    rows = z.new_empty(len(z), (hops + 1) * z.shape[1])
    for hop, block in enumerate(torch.split(rows, z.shape[1], 1)):
        z = propagate(z, adjacency) if hop else z.detach()
        block.copy_(unit_rows(z))
    return rows


def _map_rows(z: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Change rows in float64, chunk by chunk."""
    z = z.detach()
    width = change(z[:0].double()).shape[1]
    result = z.new_empty(len(z), width)
    for chunk in row_chunks(tuple(z.shape)):
        result[chunk] = change(z[chunk].double()).to(z.dtype)
    return result
