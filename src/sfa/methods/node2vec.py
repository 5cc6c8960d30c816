"""node2vec: scalable feature learning for networks (Grover and Leskovec, 2016)."""

from typing import Any

import torch
from torch import Tensor

from sfa.graph.walks import Transitions, second_order_walks
from sfa.methods.deepwalk import DeepWalk
from sfa.ranges import Positive, check_number
from sfa.registry import register


@register("method", "node2vec")
class Node2Vec(DeepWalk):
    """Embed nodes by walks that lean towards going back (small ``p``), staying near (large ``q``) or not (small ``q``).

    From `"node2vec: Scalable Feature Learning for Networks" <https://arxiv.org/abs/1607.00653>`_ (Grover and Leskovec,
    2016). With ``p = q = 1``, the authors' defaults, it is :class:`~sfa.methods.DeepWalk`, whose arguments it takes.

    Args:
        p: Return parameter.
        q: In-out parameter.
    """

    def __init__(self, num_nodes: int, *, p: Positive = 1.0, q: Positive = 1.0, **options: Any) -> None:
        check_number("p", p, above=0)
        check_number("q", q, above=0)
        super().__init__(num_nodes, **options)
        self.p, self.q = p, q

    def walks(self, transitions: Transitions, starts: Tensor, generator: torch.Generator | None) -> Tensor:
        return second_order_walks(transitions, starts, self.length - 1, generator, p=self.p, q=self.q)
