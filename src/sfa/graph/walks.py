"""Random draws on a graph: numbers, pairs without an edge, neighbors, and walks of the first and second order."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import CSRStructure, WeakTensorCache, edge_key, expand_rowptr, row_entries, structure_of

Generator = torch.Generator | None
ROUNDS = 10  # proposals of a second-order walker before its probabilities are computed in full
CHUNK = 1 << 18  # neighbors that are then looked at together, or as many as the graph has edges


def draw_uniform(like: Tensor, generator: Generator) -> Tensor:
    """Draw float64 numbers in ``[0, 1)`` in the shape and on the device of a tensor."""
    return torch.rand(like.shape, dtype=torch.float64, generator=generator, device=like.device)


def draw_below(bounds: Tensor, generator: Generator) -> Tensor:
    """Draw for each of the bounds ≥ 1 a whole number from 0 to the bound minus 1."""
    # No product of a float64 below 1 and a whole number rounds up to that number.
    return (draw_uniform(bounds, generator) * bounds).long()


def below(bounds: Tensor, generator: Generator) -> Tensor:
    """Draw as :func:`draw_below` does, but from 63 random bits."""
    return torch.randint(2**63 - 1, bounds.shape, generator=generator, device=bounds.device) % bounds


def distinct_below(bounds: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` different numbers below each of ``k`` bounds ≥ ``count``, ``(count, k)``, by Floyd's algorithm."""
    last = bounds - count + torch.arange(count)[:, None]
    picks = below(last + 1, generator)
    for i in range(1, count):
        taken = (picks[:i] == picks[i]).any(0)
        picks[i] = torch.where(taken, last[i], picks[i])  # a number that was taken before makes room for the last one
    return picks


def draw_distinct(bound: int, count: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` different numbers below a bound in random order, without a permutation of all of them."""
    rng = np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))
    return torch.from_numpy(rng.choice(bound, count, replace=False))


def random_non_edges(structure: CSRStructure, count: int, generator: Generator = None) -> Tensor:
    """Draw ``(2, count)`` ordered pairs of different nodes without an edge, uniformly and with replacement."""
    n, col = structure.num_nodes, structure.col
    zeros_before = expand_rowptr(structure.rowptr) * n + col - torch.arange(len(col), device=col.device)
    zeros = n * n - len(col)
    if zeros == 0:
        return col.new_empty(2, 0)
    # A rank among the zeros of A + I is drawn and looked up, so that no pair is rejected.
    rank = torch.randint(zeros, (count,), generator=generator, device=col.device)
    place = rank + torch.searchsorted(zeros_before, rank, right=True)
    return torch.stack([place // n, place % n])


def ones_and_zeros(graph: Data, generator: Generator) -> tuple[Tensor, Tensor]:
    """Return all pairs that are one in ``A + I``, ``(2, m + n)``, and draw as many that are zero."""
    structure = structure_of(graph)
    ones = torch.stack([expand_rowptr(structure.rowptr), structure.col])
    return ones, random_non_edges(structure, ones.shape[1], generator)


def sampled_means(h: Tensor, graph: Data, count: int, draws: int, generator: Generator) -> Tensor:
    """Compute means ``(count, d)`` of ``draws`` rows of ``h``, drawn from a node and its neighbors with replacement."""
    structure = structure_of(graph)
    start, stop = structure.rowptr[:count], structure.rowptr[1 : count + 1]
    drawn = structure.col[start + below((stop - start).expand(draws, count), generator)]
    return torch.stack([h[rows] for rows in drawn]).mean(0)


class Transitions:
    r"""Walk from a node ``v`` to a neighbor ``x`` by the weights of sorted edges, :math:`w_{vx} / \sum_y w_{vy}`."""

    def __init__(self, structure: CSRStructure, weight: Tensor | None = None) -> None:
        self.num_nodes = structure.num_nodes
        self.rowptr, self.col = structure.edge_rowptr, structure.edge_col
        self.weight = None if weight is None else weight.detach()
        self._cumulative = None
        if weight is None or structure.is_mapped:  # those of a store were checked when it was made
            return
        if not bool((weight.isfinite() & (weight >= 0)).all()):
            raise InputError("The edge weights are negative, NaN or infinite: make the graph with sfa.data.as_graph.")
        self._cumulative = _cumulate(weight.detach(), self.rowptr)

    @classmethod
    def of(cls, graph: Data) -> Transitions:
        """Return the transitions of a graph, cached while its edges and weights stay unchanged."""
        structure, weight = structure_of(graph), graph.edge_weight
        if weight is None:
            return _TRANSITIONS.get(edge_key(graph), lambda: cls(structure), made_of=structure)
        return _TRANSITIONS.get(weight, lambda: cls(structure, structure.sorted(weight)), made_of=structure)

    def step(self, here: Tensor, generator: Generator) -> Tensor:
        """Draw a neighbor of each of the nodes ``(k,)``; the node itself where it has none."""
        if len(self.col) == 0:
            return here
        start, stop = self.rowptr[here], self.rowptr[here + 1]
        if self.weight is not None and self._cumulative is None:  # the weights of these rows alone are read
            entries, rowptr = row_entries(self.rowptr, here)
            cumulative = _cumulate(self.weight[entries], rowptr)
            entry, moves = _draw_entries(cumulative, rowptr[:-1], rowptr[1:], generator)
            entry += start - rowptr[:-1]
        elif self._cumulative is None:
            entry, moves = start + draw_below(stop - start, generator), stop > start
        else:
            entry, moves = _draw_entries(self._cumulative, start, stop, generator)
        return torch.where(moves, self.col[entry.clamp_max(len(self.col) - 1)], here)

    def joins(self, one: Tensor, other: Tensor) -> Tensor:
        """Tell for each of the pairs of nodes ``(k,)`` whether there is an edge between them."""
        keys = one * self.num_nodes + other
        return self._keys[torch.searchsorted(self._keys, keys)] == keys

    @cached_property
    def strength(self) -> Tensor:
        """Sums ``(n,)`` of the weights of the edges of each node: its degree, if they have none."""
        if self.weight is None:
            return self.rowptr.diff().double()
        return torch.segment_reduce(self.weight.double(), "sum", offsets=self.rowptr)

    @cached_property
    def digest(self) -> Tensor:
        """SHA-256 ``(32,)`` of the number of nodes, the edges and the weights."""
        content = hashlib.sha256(f"{self.num_nodes} nodes".encode())
        for part in (self.rowptr, self.col, self.weight):
            content.update(b"" if part is None else part.cpu().contiguous().numpy().data)
        return torch.tensor(list(content.digest()), dtype=torch.uint8)

    @cached_property
    def _keys(self) -> Tensor:
        keys = expand_rowptr(self.rowptr) * self.num_nodes + self.col
        return torch.cat([keys, keys.new_full((1,), self.num_nodes**2)])  # one that is larger than those of all pairs


_TRANSITIONS: WeakTensorCache[Transitions] = WeakTensorCache()


def transitions_of(graph: Data, num_nodes: int, digest: Tensor, method: str) -> Transitions:
    """Return the transitions of a graph; raise if it has not this digest, unless that is zero."""
    if graph.num_nodes == num_nodes:
        transitions = Transitions.of(graph)
        if not bool(digest.any()) or torch.equal(digest, transitions.digest.to(digest.device)):
            return transitions
    raise InputError(
        f"{method} has learned the nodes of one graph by their numbers, and this is another (or a batch cut out of "
        "it): train it on this graph whole, or choose a method with an encoder."
    )


def random_walks(transitions: Transitions, seeds: Tensor, length: int, generator: Generator) -> Tensor:
    """Draw ``(length + 1, k)``: a random walk from each of ``k`` nodes, which stays where there is no neighbor."""
    walks = [seeds]
    for _ in range(length):
        walks.append(transitions.step(walks[-1], generator))
    return torch.stack(walks)


def second_order_walks(
    transitions: Transitions, seeds: Tensor, length: int, generator: Generator, *, p: float, q: float
) -> Tensor:
    r"""Draw ``(length + 1, k)``: walks as :func:`random_walks` does, but by the last two nodes.

    From `"node2vec: Scalable Feature Learning for Networks" <https://arxiv.org/abs/1607.00653>`_ (Grover and Leskovec,
    2016). A walk that came from ``t`` to ``v`` goes on to the neighbor ``x`` of ``v`` with probability proportional to

    .. math::
        \alpha_{pq}(t, x) \cdot w_{vx}, \qquad
        \alpha_{pq}(t, x) = \begin{cases}
            1/p & x = t \\ 1 & t \text{ and } x \text{ are joined} \\ 1/q & \text{otherwise.} \end{cases}

    A step is proposed by :math:`w` alone and accepted with probability :math:`\alpha / \max \alpha`; after
    :data:`ROUNDS` rejections it is drawn from the probabilities themselves. Memory is linear in walks and edges.
    """
    if p == q == 1:
        return random_walks(transitions, seeds, length, generator)
    walks = list(random_walks(transitions, seeds, min(length, 1), generator))
    for _ in range(length - 1):
        walks.append(_second_order_step(transitions, walks[-2], walks[-1], p, q, generator))
    return torch.stack(walks)


def draw_nodes(weight: Tensor, shape: tuple[int, ...], generator: Generator) -> Tensor:
    """Draw nodes with replacement, with probabilities proportional to their weights ``(n,)``, not all of them 0."""
    if not bool((weight > 0).any()):
        raise InputError("Nodes cannot be drawn by weights that are all 0, as those of a graph without edges are.")
    ends = torch.tensor([0, len(weight)], device=weight.device)
    start, stop = (end.expand(shape) for end in ends)
    return _draw_entries(_cumulate(weight, ends), start, stop, generator)[0]


def _second_order_step(
    transitions: Transitions, before: Tensor, here: Tensor, p: float, q: float, generator: Generator
) -> Tensor:
    def bias(before: Tensor, there: Tensor) -> Tensor:
        alpha = torch.where(transitions.joins(before, there), 1.0, 1 / q).double()
        return torch.where(there == before, 1 / p, alpha)

    there, waiting = here.clone(), torch.arange(len(here), device=here.device)
    for _ in range(ROUNDS):
        proposed = transitions.step(here[waiting], generator)
        accepted = draw_uniform(waiting, generator) * max(1 / p, 1.0, 1 / q) < bias(before[waiting], proposed)
        there[waiting[accepted]] = proposed[accepted]
        waiting = waiting[~accepted]
        if len(waiting) == 0:
            return there
    degree = transitions.rowptr.diff()[here[waiting]]
    part = degree.cumsum(0) // max(CHUNK, len(transitions.col))
    for walkers in torch.split(waiting, part.bincount().tolist()):
        entry, rowptr = row_entries(transitions.rowptr, here[walkers])
        weight = bias(before[walkers][expand_rowptr(rowptr)], transitions.col[entry])
        if transitions.weight is not None:
            weight = weight * transitions.weight[entry]
        drawn, moves = _draw_entries(_cumulate(weight, rowptr), rowptr[:-1], rowptr[1:], generator)
        there[walkers[moves]] = transitions.col[entry[drawn[moves]]]
    return there


def _cumulate(weight: Tensor, rowptr: Tensor) -> Tensor:
    """Sum all entries before each, ``(m + 1,)``, every row scaled to 1 so that a light row keeps its digits."""
    weight = weight.double()
    total = torch.segment_reduce(weight, "sum", offsets=rowptr)
    scale = total.where(total > 0, 1).repeat_interleave(rowptr.diff(), output_size=len(weight))
    return torch.cat([weight.new_zeros(1), (weight / scale).cumsum(0)])


def _draw_entries(cumulative: Tensor, start: Tensor, stop: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Draw an entry of each row from ``start`` to ``stop`` by its weight; tell whether the row has any weight."""
    low, high = cumulative[start], cumulative[stop]
    aim = low + draw_uniform(start, generator) * (high - low)
    aim = torch.minimum(aim, torch.nextafter(high, low))  # rounding up to the end would be the next row
    return torch.searchsorted(cumulative, aim, right=True) - 1, high > low
