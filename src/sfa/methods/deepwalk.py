"""DeepWalk (Perozzi, Al-Rfou and Skiena, 2014) and node2vec (Grover and Leskovec, 2016): nodes as words of walks."""

from typing import Annotated, Any

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch_geometric.data import Data

from sfa.graph.walks import Transitions, draw_nodes, random_walks, second_order_walks, transitions_of
from sfa.losses import skip_gram
from sfa.methods.base import Method, Observer, Spectral
from sfa.ranges import FewCount, Positive, Width, check_number, check_whole
from sfa.registry import register


@register("method", "deepwalk")
class DeepWalk(Method):
    """Walk at random from every node, and predict from each node on a walk the nodes around it (skip-gram).

    From `"DeepWalk: Online Learning of Social Representations" <https://arxiv.org/abs/1403.6652>`_ (Perozzi et al.,
    2014). A node has two rows of weights, one as a center, its embedding, and one as a context. Features play no part,
    edge weights steer the walks. Negative sampling (:func:`~sfa.losses.skip_gram`) takes the place of the hierarchical
    softmax, with negatives by (weighted) degrees to the power 3/4. The spectral map sees the centers that the step's
    walks visit. Width and window are the authors'; the 10 walks of 80 nodes are node2vec's, where they have 80 of 40.

    Args:
        num_nodes: Number of nodes of the one graph that it is trained on and embeds.
        hidden: Width of the embeddings.
        length: Nodes of a walk.
        window: How far from the center on a walk a context may be.
        negatives: Random nodes that each context is told from.
    """

    defaults = {
        "sampler": {"name": "starts", "batch_size": 128},
        "training": {"epochs": 10, "lr": 0.005, "weight_decay": 0.0, "patience": None},
        "feature_norm": "none",
    }
    transductive = True
    requires_row_identity = True
    samplers = ("starts",)
    graph_digest: Tensor

    def __init__(
        self,
        num_nodes: int,
        *,
        hidden: Width = 128,
        length: Annotated[int, Ge(2)] = 80,
        window: FewCount = 10,
        negatives: FewCount = 5,
        spectral: Spectral = None,
    ) -> None:
        check_whole("length", length, 2)
        for name, value in (("hidden", hidden), ("window", window), ("negatives", negatives)):
            check_whole(name, value, 1)
        super().__init__(None, spectral=spectral, width=hidden)
        self.centre, self.context = (nn.Parameter(torch.empty(num_nodes, hidden)) for _ in range(2))
        for table in (self.centre, self.context):
            nn.init.uniform_(table, -0.5 / hidden, 0.5 / hidden)
        self.register_buffer("graph_digest", torch.zeros(32, dtype=torch.uint8))
        self.length, self.window, self.negatives = length, window, negatives

    def walks(self, transitions: Transitions, starts: Tensor, generator: torch.Generator | None) -> Tensor:
        """Draw a walk from each of ``k`` nodes, ``(length, k)``."""
        return random_walks(transitions, starts, self.length - 1, generator)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        transitions = transitions_of(data, len(self.centre), self.graph_digest, type(self).__name__)
        self.graph_digest.copy_(transitions.digest)
        starts = data.get("seeds", torch.arange(data.num_nodes, device=self.centre.device))
        walks = self.walks(transitions, starts, generator).T  # (k, length)
        visited, row = torch.unique(walks, return_inverse=True)
        (h,) = self.apply_spectral(embedding(visited, self.centre), generator=generator, observe=observe, views=1)
        # All positions of a walk share four times as many negatives as a pair has: a mean over more is steadier.
        noise = draw_nodes(transitions.strength**0.75, (len(walks), 4 * self.negatives), generator)
        contexts, negatives = embedding(walks, self.context), embedding(noise, self.context)
        return skip_gram(embedding(row, h), contexts, negatives, window=self.window, negatives=self.negatives)

    def embeddings(self, data: Data) -> Tensor:
        """Return the center embeddings ``(n, hidden)``; once it is trained, of no other graph."""
        transitions_of(data, len(self.centre), self.graph_digest, type(self).__name__)
        return self.centre.detach().clone()


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
