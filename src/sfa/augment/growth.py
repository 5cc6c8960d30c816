"""Connected pieces of graphs, each grown from a random node: all graphs of a batch at once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.batches import places


def grown(batch: Data, counts: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""``(N,)``: which nodes are in the pieces, of so many nodes ``(G,)`` in each graph; of none where that is 0.

    A piece starts at a node drawn uniformly, and a node drawn uniformly from the neighbours of the piece comes in until
    it is large enough or there are none (GraphCL: You et al., 2020, Section 3.2). To do so one node after the other
    would take a step for every node. Instead every node :math:`v` has a clock, :math:`e_v \sim \mathrm{Exp}(1)`, which
    starts when the first of its neighbours is in:

    .. math::
        T_{\text{start}} = 0, \qquad T_v = e_v + \min_{u \sim v} T_u .

    An exponential clock forgets how long it has run, so that the next to ring is any of those that run, each as likely,
    and the nodes of least :math:`T` are the piece exactly as it grows by single nodes. :math:`T` is a shortest path,
    found by relaxing all edges at once; of a node among the ``k`` first the path has fewer than ``k`` edges, so that
    fewer than ``k`` rounds are needed whatever the graph.
    """
    time = _times(batch, counts, generator)
    reached = time.isfinite().nonzero().squeeze(1)
    reached = reached[time.index_select(0, reached).argsort()]
    reached = reached[batch.batch.index_select(0, reached).argsort(stable=True)]
    graph = batch.batch.index_select(0, reached)
    first = places(graph, graph.bincount(minlength=len(counts))) < counts.index_select(0, graph)
    return torch.zeros_like(batch.batch, dtype=torch.bool).index_fill_(0, reached[first], True)


def _times(batch: Data, counts: Tensor, generator: torch.Generator | None) -> Tensor:
    """``(N,)``: when each node comes in, as far as the counts need it; infinite for one that never does."""
    device, nodes = counts.device, batch.batch
    clock = torch.empty(len(nodes), dtype=torch.float64, device=device).exponential_(generator=generator)
    # No product of a float64 below 1 and a whole number rounds up to that number.
    draw = torch.rand(len(counts), dtype=torch.float64, generator=generator, device=device)
    start = batch.ptr[:-1] + (draw * batch.ptr.diff()).long()
    time = torch.full_like(clock, torch.inf).index_fill_(0, start[counts > 0], 0)
    growing = (counts > 1).index_select(0, nodes.index_select(0, batch.edge_index[0]))
    row, col = batch.edge_index.index_select(1, growing.nonzero().squeeze(1))
    wait = clock.index_select(0, col)
    for _ in range(int(counts.max()) - 1 if len(counts) else 0):
        sooner = time.scatter_reduce(0, col, time.index_select(0, row) + wait, "amin")
        if torch.equal(sooner, time):
            break
        time = sooner
    return time
