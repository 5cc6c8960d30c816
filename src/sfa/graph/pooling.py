"""Pooling: the rows of each graph's nodes -> one row a graph."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.errors import InputError


def sum_pool(h: Tensor, ptr: Tensor) -> Tensor:
    r"""The sum of each graph's rows, :math:`g_k = \sum_{i \in \text{graph } k} h_i`; zeros for a graph without nodes.

    Half precision is summed in float32 and comes back so. Differentiable; memory is linear in ``h``.

    Args:
        h: ``(N, d)``, the nodes of a graph one after the other.
        ptr: ``(G + 1,)``: the nodes of graph ``k`` are those from ``ptr[k]`` to ``ptr[k + 1]``.

    Returns:
        ``(G, d)``
    """
    wide = h.to(torch.promote_types(h.dtype, torch.float32))
    return wide.new_zeros(len(ptr) - 1, *h.shape[1:]).index_add(0, graph_of_nodes(ptr, len(h)), wide)


def graph_of_nodes(ptr: Tensor, nodes: int) -> Tensor:
    """``(nodes,)``: the graph of each node, of graphs that begin where ``ptr`` says."""
    sizes = ptr.diff()
    if int(ptr[0]) != 0 or int(ptr[-1]) != nodes or bool((sizes < 0).any()):
        raise InputError(
            f"Where graphs begin, ptr, must rise from 0 to the number of nodes, {nodes}: this goes from {int(ptr[0])} "
            f"to {int(ptr[-1])} by steps of {int(sizes.min())} or more."
        )
    return torch.arange(len(sizes), device=ptr.device).repeat_interleave(sizes, output_size=nodes)
