"""Link prediction: edges held out before embedding, told from pairs of nodes without one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import dense_rows
from sfa.evaluate.links import LinkSplit, Pairs, check_edges, hold_out
from sfa.evaluate.logistic_regression import logistic_regression
from sfa.evaluate.probes.base import ROWS_TOGETHER
from sfa.evaluate.protocols.base import Protocol, draw_once
from sfa.evaluate.scores import Score
from sfa.matrices import unit_rows
from sfa.tasks import Task

STRUCTURAL = ("degree", "spectral")
"""Features that :func:`sfa.data.build_graph` makes of the edges; it notes them as ``features_of``."""


@dataclass(frozen=True)
class LinkPrediction(Protocol):
    """Area under the ROC curve and average precision on edges that nothing has seen.

    It takes what makes embeddings, not embeddings: they are to be computed, and trained, on the graph without the edges
    held out.

    Attributes:
        validation: Share of the edges held out to choose by.
        test: Share held out to score.
        cs: Inverse strengths of the classifier's penalty.
        most: Edges to learn from at most, each with one pair that is none; a classifier of few weights needs no more.
        seed: Seed of the splits.
    """

    repeats: int = 3
    validation: float = 0.05
    test: float = 0.1
    cs: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1)
    most: int = 2**14
    seed: int = 0
    needs: ClassVar[Literal["edges"]] = "edges"
    tasks: ClassVar[tuple[Task, ...]] = ("node",)

    def draw(self, graph: Data) -> list[LinkSplit]:
        """Return the splits of the edges."""

        def hold_out_edges(number: int) -> LinkSplit:
            rng = np.random.default_rng([self.seed, number])
            return hold_out(graph, validation=self.validation, test=self.test, most=self.most, rng=rng)

        return draw_once(self, graph, graph.edge_index, lambda: list(map(hold_out_edges, range(self.repeats))))

    def check(self, graph: Data) -> None:
        self.check_task(graph)
        made_of = getattr(graph, "features_of", None)
        if made_of in STRUCTURAL:
            raise InputError(
                f"{self.name} needs features of the nodes' own: {made_of} features were made of the graph's edges, "
                "those to be held out among them."
            )
        noise = getattr(graph, "edge_noise", 0)
        if noise > 0:
            raise InputError(
                f"{self.name} holds out edges of the graph as it was given, and an edge noise of {noise:g} has put "
                "random ones among them: score a run without it."
            )
        check_edges(graph, self.validation, self.test)

    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        pairs = (pairs for split in self.draw(graph) for pairs in (split.train, split.validation, split.test))
        return (part.nodes.flatten().numpy() for part in pairs)

    def measure(self, embedding: Any, graph: Data, on_split: Callable[[], None]) -> Score:
        if not callable(embedding):
            raise InputError(
                f"{self.name} takes a function that embeds a graph, not embeddings: those of the whole graph have seen "
                "the edges that are to be predicted."
            )
        self.check(graph)
        found = []
        for split in self.draw(graph):
            z = dense_rows(embedding(split.graph), graph.num_nodes)
            scores, c, area = predict_links(z, split.train, split.validation, split.test.nodes, self.cs)
            auc, ap = (float(metric(split.test.is_edge, scores)) for metric in (roc_auc_score, average_precision_score))
            found.append((100 * auc, 100 * ap, c, area))
            on_split()
        aucs, aps, chosen, areas = zip(*found, strict=True)
        return Score("", self.name, {"auc": aucs, "ap": aps}, chosen=chosen, validation={"auc": areas})


def predict_links(
    z: Tensor, train: Pairs, validation: Pairs, test: Tensor, cs: Sequence[float]
) -> tuple[NDArray[np.float64], float, float]:
    r"""Fit to the training pairs for every ``C``, choose the one with the largest area on validation, score the test.

    A pair ``{u, v}`` is described by its Hadamard product, and the classifier is that of
    :func:`~sfa.evaluate.logistic_regression.logistic_regression`:

    .. math::
        d \, \frac{z_u \odot z_v}{\lVert z_u \rVert \lVert z_v \rVert}

    Its entries have the mean size 1 for any width ``d``, and their mean is the cosine. Of equally good values the
    smallest ``C`` is taken.

    Args:
        z: Embeddings ``(n, d)``.
        train: Pairs to learn from.
        validation: Pairs to choose by.
        test: Pairs of nodes ``(2, m)`` to score; whether they are edges is not asked.
        cs: Inverse strengths of the penalty.

    Returns:
        The score of each test pair, the higher, the likelier an edge; the chosen ``C``; its area on validation.
    """
    cs = sorted(cs)
    z = unit_rows(z) * math.sqrt(z.shape[1])

    def multiply(pairs: Tensor) -> Tensor:
        return z[pairs[0]] * z[pairs[1]]

    def score(pairs: Tensor, weights: Tensor) -> Tensor:
        """Return scores ``(m, columns)`` up to an intercept, which changes no order."""
        pieces = torch.split(pairs, ROWS_TOGETHER, dim=1)
        return torch.cat([multiply(piece).to(weights.dtype) @ weights for piece in pieces])

    rows = multiply(train.nodes)
    (path,) = logistic_regression(rows, train.is_edge.long(), [torch.arange(len(rows))], cs)
    weights = (path.coefficients[:, 1] - path.coefficients[:, 0]).mT
    areas = [100 * roc_auc_score(validation.is_edge, column) for column in score(validation.nodes, weights).mT]
    best = int(np.argmax(areas))
    scores: NDArray[np.float64] = score(test, weights[:, best : best + 1]).squeeze(1).numpy()
    return scores, cs[best], float(areas[best])
