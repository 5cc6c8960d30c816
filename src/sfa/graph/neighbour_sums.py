"""Sums over neighbours, the aggregation of the graph isomorphism network."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.pattern import pattern_of
from sfa.matrices import csr_matrix


class NeighbourSums:
    r"""The matrix :math:`A + I` of an undirected graph, or of a batch of them; its own transpose on the way back.

    The identity is added by the product itself: set-up is no more than the row pointers and a check that the edges are
    those of an undirected graph, since a view in training has edges of its own and is seen once.

    Args:
        graph: With ``edge_index`` ``(2, m)`` and perhaps ``edge_weight`` ``(m,)``.
        dtype: Of the product.
    """

    def __init__(self, graph: Data, dtype: torch.dtype) -> None:
        pattern = pattern_of(graph.edge_index, graph.num_nodes)
        twin = pattern.edge_twin  # refuses edges of one direction only
        if graph.edge_weight is None:
            values = torch.ones(len(twin), dtype=dtype, device=twin.device)
        else:
            values = pattern.sorted(graph.edge_weight.detach()).to(dtype)
            if not torch.equal(values, values[twin]):
                raise InputError(
                    "The edge weights are NaN or not the same in both directions: make the graph with "
                    "sfa.data.as_graph."
                )
        shape = (pattern.num_nodes, pattern.num_nodes)
        self.matrix = csr_matrix(pattern.edge_rowptr, pattern.edge_col, values, shape)

    def __matmul__(self, h: Tensor) -> Tensor:
        """``(n, d)`` rows, each with its neighbours' added; differentiable in ``h``. Half precision comes back wide."""
        return _sum_with_neighbours(self.matrix, h)


def _sum_with_neighbours(matrix: Tensor, h: Tensor) -> Tensor:
    with torch.autocast(h.device.type, enabled=False):
        result: Tensor = _SumWithNeighbours.apply(matrix, h.to(matrix.dtype))  # type: ignore[no-untyped-call]
        return result


class _SumWithNeighbours(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, h: Tensor) -> Tensor:
        ctx.matrix = matrix
        return torch.addmm(h, matrix, h)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, _sum_with_neighbours(ctx.matrix, grads[0])
