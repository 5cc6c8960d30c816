"""node2vec: scalable feature learning for networks (Grover and Leskovec, 2016)."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.graph.walks import Transitions, second_order_walks
from sfa.methods.node.deepwalk import DeepWalk, Length
from sfa.ranges import Count, Positive, check_number
from sfa.spectral import SpectralMap


class Node2Vec(DeepWalk):
    """DeepWalk with walks that lean towards going back (small ``p``), staying near (large ``q``) or away (small ``q``).

    With ``p = q = 1``, the authors' defaults and the middle of the grid ¼, ½, 1, 2, 4 that they search, the walks are
    DeepWalk's.

    Args:
        num_nodes: Of the one graph that it can be trained on and asked for.
        hidden: Width of the embeddings.
        length: Nodes of a walk.
        window: How far from the centre on a walk a context may be.
        negatives: Random nodes that each context is told from.
        p: Return parameter.
        q: In-out parameter.
        spectral: The map applied to the centre embeddings while training.
    """

    def __init__(
        self,
        num_nodes: int,
        *,
        hidden: Count = 128,
        length: Length = 80,
        window: Count = 10,
        negatives: Count = 5,
        p: Positive = 1.0,
        q: Positive = 1.0,
        spectral: SpectralMap | None = None,
    ) -> None:
        check_number("p", p, above=0)
        check_number("q", q, above=0)
        super().__init__(num_nodes, hidden=hidden, length=length, window=window, negatives=negatives, spectral=spectral)
        self.p = p
        self.q = q

    def walks(self, transitions: Transitions, starts: Tensor, generator: torch.Generator | None) -> Tensor:
        return second_order_walks(transitions, starts, self.length - 1, generator, p=self.p, q=self.q)
