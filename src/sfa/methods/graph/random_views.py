"""Random views of graphs by the augmentations of GraphCL (You et al., 2020), one for all or a random one for each."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.graph.graph_views import AUGMENTATIONS, Rates, augment, draw_choices

Augmentation = Literal[
    "identity", "node-drop", "edge-perturb", "attribute-mask", "subgraph", "random2", "random3", "random4"
]
"""One augmentation for all graphs, or each graph by one of the first two, three or four of :data:`RANDOM`."""

RANDOM = ("node-drop", "subgraph", "edge-perturb", "attribute-mask")
"""What ``random2``, ``random3`` and ``random4`` choose among, each as likely, in the order of GraphCL's code."""


class RandomViews:
    """Views of a batch of graphs; calling it draws one, in which every graph has an augmentation of its own.

    Args:
        augmentation: One of :data:`~sfa.graph.graph_views.AUGMENTATIONS`, or ``random2``, ``random3``, ``random4``.
        rates: How much each augmentation takes away, or keeps.
    """

    def __init__(self, augmentation: Augmentation, rates: Rates) -> None:
        if augmentation not in get_args(Augmentation):
            raise unknown_name("augmentation", augmentation, get_args(Augmentation))
        self.rates = rates
        self.probabilities = probabilities_of(augmentation)

    def __call__(self, batch: Data, generator: torch.Generator | None = None) -> Data:
        choices = draw_choices(self.probabilities.to(batch.x.device), len(batch.ptr) - 1, generator)
        return augment(batch, choices, self.rates, generator)


def probabilities_of(augmentation: Augmentation) -> torch.Tensor:
    """How likely each of the :data:`~sfa.graph.graph_views.AUGMENTATIONS` is to be chosen, ``(5,)``."""
    among = RANDOM[: int(augmentation[-1])] if augmentation.startswith("random") else (augmentation,)
    return torch.tensor([float(name in among) / len(among) for name in AUGMENTATIONS])
