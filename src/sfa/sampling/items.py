"""Batches of items as they are: nodes to start walks from, whole graphs of a set, and images."""

import copy
from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import make_batch
from sfa.graph.structure import expand_rowptr, row_entries, take_rows
from sfa.ranges import Count
from sfa.registry import register
from sfa.sampling.base import GraphSampler, Sampler
from sfa.tasks import Task, task_of


@register("sampler", "starts")
class Starts(GraphSampler):
    """The whole graph with ``seeds`` ``(k,)``, the nodes that a method starts walks from; every node once an epoch.

    Args:
        batch_size: Starts of a step at most.
    """

    for_walks = True

    def __init__(self, data: Data, *, batch_size: Count = 128) -> None:
        super().__init__(data, batch_size=batch_size)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        batch = copy.copy(self.data)
        batch.seeds = seeds
        return batch


@register("sampler", "graphs")
class Graphs(GraphSampler):
    """Some graphs of a set, whole: their disjoint union, as ``torch_geometric.data.Batch`` would collate them.

    Args:
        batch_size: Graphs of a step at most.
    """

    seeds_are = "graphs"
    task: ClassVar[Task] = "graph"

    def __init__(self, data: Data, *, batch_size: Count = 128) -> None:
        if task_of(data) != "graph":
            raise InputError("The sampler graphs needs a set of graphs, and this is one graph.")
        super().__init__(data, batch_size=batch_size)
        self.num_seeds = len(data.ptr) - 1
        if self.num_seeds < 2:
            raise InputError("Only one graph in the set, and at least 2 are needed to learn from: use NodeEmbedder.")

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return the union of these graphs, in the order of the seeds; ``graphs`` are their numbers in the set."""
        nodes, ptr = row_entries(self.data.ptr, seeds)
        entries, rowptr = row_entries(self._structure.edge_rowptr, nodes)
        graph_of_node, row = expand_rowptr(ptr, len(nodes)), expand_rowptr(rowptr, len(entries))
        shift = (ptr[:-1] - self.data.ptr[seeds]).index_select(0, graph_of_node)
        col = self._structure.edge_col.index_select(0, entries) + shift.index_select(0, row)
        weight = None if self._weight is None else self._weight.index_select(0, entries)
        batch = make_batch(take_rows(self.data.x, nodes), torch.stack([row, col]), weight, ptr, graph_of_node)
        batch.graphs = seeds
        return batch


@register("sampler", "images")
class Images(Sampler):
    """Some images of a set. Where the set has a part for training (``train_mask``), no image outside of it is seen.

    Args:
        batch_size: Images of a step at most.
    """

    seeds_are = "images"
    task: ClassVar[Task] = "image"

    def __init__(self, data: Data, *, batch_size: Count = 256) -> None:
        if task_of(data) != "image":
            raise InputError("The sampler images needs a set of images, and this is of graphs.")
        own = data.get("train_mask")
        self._numbers = torch.arange(data.num_nodes) if own is None else own.nonzero().flatten()
        super().__init__(data, batch_size=batch_size, num_seeds=len(self._numbers))
        if self.num_seeds < 2:
            raise InputError(f"At least 2 images are needed to learn from; there are {self.num_seeds}.")

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return these images and their labels, in the order of the seeds; ``images`` are their numbers in the set."""
        images = self._numbers[seeds]
        batch = Data(x=take_rows(self.data.x, images), images=images)
        if self.data.get("y") is not None:
            batch.y = self.data.y[images]
        return batch
