"""Batches of images out of a set."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.rows import take_rows
from sfa.levels import Level, level_of
from sfa.ranges import Count
from sfa.registry import register
from sfa.sampling.base import Sampler


@register("sampler", "images")
class Images(Sampler):
    """Some images of a set. Where the set has a part for training (``train_mask``), no image outside of it is seen.

    Args:
        graph: The set, ``x`` ``(n, height, width, channels)`` in uint8, in memory or in a mapped file.
        batch_size: Images of a step at most.
    """

    seeds_are = "images"
    level: ClassVar[Level] = "image"

    def __init__(self, graph: Data, *, batch_size: Count = 256) -> None:
        if level_of(graph) != "image":
            raise InputError("The sampler images needs a set of images, and this is of graphs.")
        own = graph.get("train_mask")
        self._numbers = torch.arange(graph.num_nodes) if own is None else own.nonzero().flatten()
        super().__init__(graph, batch_size=batch_size, num_seeds=len(self._numbers))
        if self.num_seeds < 2:
            raise InputError(f"At least 2 images are needed to learn from; there are {self.num_seeds}.")

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """These images and their labels, in the order of the seeds; ``images`` are their numbers in the set."""
        images = self._numbers[seeds]
        batch = Data(x=take_rows(self.graph.x, images), images=images)
        if self.graph.get("y") is not None:
            batch.y = self.graph.y[images]
        return batch
