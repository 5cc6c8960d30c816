"""Link prediction: edges held out before embedding, told from pairs of nodes without one."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import Labels, dense_rows
from sfa.evaluate.logistic_regression import ROWS_TOGETHER, logistic_regression
from sfa.evaluate.protocols.base import Protocol, draw_once
from sfa.evaluate.scores import Score
from sfa.graph.structure import is_stored, structure_of
from sfa.matrices import unit_rows
from sfa.tasks import Task

MOST_EDGES = 5_000_000  # of which the shares are held out at most: more would tell nothing new
STRUCTURAL = ("degree", "spectral")  # features that sfa.data.build_graph makes of the edges, and notes as features_of


@dataclass(frozen=True)
class LinkPrediction(Protocol):
    """Area under the ROC curve and average precision on edges held out of the graph that is embedded and trained on."""

    repeats: int = 3
    validation: float = 0.05  # share of the edges held out to choose by
    test: float = 0.1  # share held out to score
    cs: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1)
    most: int = 2**14  # edges to learn from, each with a pair that is none; a classifier of few weights needs no more
    seed: int = 0
    needs: ClassVar[Literal["edges"]] = "edges"
    tasks: ClassVar[tuple[Task, ...]] = ("node",)

    def draw(self, data: Data) -> list[LinkSplit]:
        generators = (np.random.default_rng([self.seed, number]) for number in range(self.repeats))
        draw = partial(hold_out, data, self.validation, self.test, most=self.most)
        return draw_once(self, data, data.edge_index, lambda: [draw(rng=rng) for rng in generators])

    def check(self, data: Data) -> None:
        self.check_task(data)
        if is_stored(data):
            reason = "the edges of a stored graph cannot be held out of training"
            raise InputError(f"{self.name}: {reason}; train on a file of some of them, `sfa train edges.csv`, instead.")
        made_of, noise = getattr(data, "features_of", None), getattr(data, "edge_noise", 0)
        if made_of in STRUCTURAL:
            raise InputError(f"{self.name} cannot score runs whose {made_of} features were made of the graph's edges.")
        if noise > 0:
            reason = f"an edge noise of {noise:g} has put random ones among them"
            raise InputError(f"{self.name} holds out given edges, and {reason}.")
        held_out_sizes(data, self.validation, self.test)

    def parts(self, data: Data) -> Iterable[Labels]:
        parts = (part for split in self.draw(data) for part in (split.train, split.validation, split.test))
        return (part.nodes.flatten().numpy() for part in parts)

    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        if not callable(embedding):
            reason = "embeddings have seen the edges that are to be predicted"
            raise InputError(f"{self.name} takes a function that embeds: {reason}.")
        self.check(data)
        found = []
        for split in self.draw(data):
            z = dense_rows(embedding(split.graph), data.num_nodes)
            scores, c, area = predict_links(z, split.train, split.validation, split.test.nodes, self.cs)
            auc, ap = (float(metric(split.test.is_edge, scores)) for metric in (roc_auc_score, average_precision_score))
            found.append((100 * auc, 100 * ap, c, area))
            on_split()
        aucs, aps, chosen, areas = zip(*found, strict=True)
        return Score("", self.name, {"auc": aucs, "ap": aps}, chosen, {"auc": areas})


class Pairs(NamedTuple):
    """Pairs of nodes ``(2, m)``, and which of them are edges ``(m,)``."""

    nodes: Tensor
    is_edge: Tensor


@dataclass(frozen=True)
class LinkSplit:
    """A graph without the edges held out, and the pairs of the three parts, half of them edges."""

    graph: Data
    train: Pairs  # pairs without an edge in it, but perhaps held out: to know otherwise is to know of the test part
    validation: Pairs
    test: Pairs


def hold_out(graph: Data, validation: float, test: float, *, most: int, rng: np.random.Generator) -> LinkSplit:
    """Draw the held-out edges of an undirected graph uniformly; of the others at most ``most`` are learned from."""
    n, (edge_of, count) = graph.num_nodes, structure_of(graph).undirected
    sizes = held_out_sizes(graph, validation, test)
    order = torch.from_numpy(rng.permutation(count))
    held_validation, held_test, left = torch.split(order, [*sizes, count - sum(sizes)])
    upper = graph.edge_index[0] < graph.edge_index[1]
    edges = torch.empty(2, count, dtype=torch.int64)
    edges[:, edge_of[upper]] = graph.edge_index[:, upper]
    others = _unjoined(edges, n, sum(sizes), rng)
    kept = torch.zeros(count, dtype=torch.bool)
    kept[left] = True
    rest = copy.copy(graph)
    rest.edge_index = graph.edge_index[:, kept[edge_of]]
    if graph.edge_weight is not None:
        rest.edge_weight = graph.edge_weight[kept[edge_of]]
    learned = left[: min(most, n * (n - 1) // 2 - len(left))]

    def pairs(numbers: Tensor, unjoined: Tensor) -> Pairs:
        nodes = torch.cat([edges[:, numbers], unjoined], 1)
        return Pairs(nodes, torch.arange(nodes.shape[1]) < len(numbers))

    train = pairs(learned, _unjoined(edges[:, left], n, len(learned), rng))
    validates, tests = others.tensor_split([sizes[0]], dim=1)
    return LinkSplit(rest, train, pairs(held_validation, validates), pairs(held_test, tests))


def held_out_sizes(graph: Data, validation: float, test: float) -> tuple[int, int]:
    """Return how many edges validate and test; raise if there are too few of them, or of pairs without an edge.

    They are shares of ``MOST_EDGES`` at most.
    """
    count = structure_of(graph).undirected[1]
    sizes = round(validation * min(count, MOST_EDGES)), round(test * min(count, MOST_EDGES))
    if min(sizes) < 2:
        raise InputError(f"{count} edges are too few to hold some out: at least 2 must validate and 2 test.")
    unjoined = graph.num_nodes * (graph.num_nodes - 1) // 2 - count
    if unjoined < sum(sizes):
        raise InputError(f"The graph has {unjoined} pairs without an edge, too few for {sum(sizes)} edges held out.")
    return sizes


def _unjoined(edges: Tensor, nodes: int, count: int, rng: np.random.Generator) -> Tensor:
    """Draw ``count`` different pairs ``(2, count)`` that are not among these edges, uniformly."""
    joined = np.sort((edges[0] * nodes + edges[1]).numpy())
    total = nodes * (nodes - 1) // 2
    if total <= 4 * (len(joined) + count):  # most draws would hit an edge or each other: list what is left
        low, high = np.triu_indices(nodes, 1)
        keys = np.setdiff1d(low * nodes + high, joined, assume_unique=True)
        found = rng.choice(keys, count, replace=False)
    else:
        found = np.empty(0, np.int64)
        while len(found) < count:
            a, b = rng.integers(nodes, size=(2, 2 * (count - len(found)) + 8))
            keys = (np.minimum(a, b) * nodes + np.maximum(a, b))[a != b]
            place = np.searchsorted(joined, keys).clip(max=len(joined) - 1)
            keys = np.concatenate([found, keys[joined[place] != keys]])
            found = keys[np.sort(np.unique(keys, return_index=True)[1])]  # the first of each, in the order drawn
    return torch.from_numpy(np.stack(np.divmod(found[:count], nodes)))


def predict_links(
    z: Tensor, train: Pairs, validation: Pairs, test: Tensor, cs: Sequence[float]
) -> tuple[NDArray[np.float64], float, float]:
    r"""Fit to the training pairs for every ``C``, and return scores of test pairs ``(2, m)``, best ``C`` and its area.

    A pair ``{u, v}`` is described by :math:`d \, (z_u \odot z_v) / (\lVert z_u \rVert \lVert z_v \rVert)`, of which the
    entries have the mean size 1 for any width ``d``. The ``C`` is the smallest of those with the largest area on
    validation.
    """
    cs = sorted(cs)
    z = unit_rows(z) * math.sqrt(z.shape[1])

    def score(pairs: Tensor, weights: Tensor) -> Tensor:
        """Return scores ``(m, columns)`` up to an intercept, which changes no order."""
        pieces = torch.split(pairs, ROWS_TOGETHER, dim=1)
        return torch.cat([(z[u] * z[v]).to(weights.dtype) @ weights for u, v in pieces])

    rows = z[train.nodes[0]] * z[train.nodes[1]]
    (path,) = logistic_regression(rows, train.is_edge.long(), [torch.arange(len(rows))], cs)
    weights = (path.coefficients[:, 1] - path.coefficients[:, 0]).mT
    areas = [100 * roc_auc_score(validation.is_edge, column) for column in score(validation.nodes, weights).mT]
    best = int(np.argmax(areas))
    scores: NDArray[np.float64] = score(test, weights[:, best : best + 1]).squeeze(1).numpy()
    return scores, cs[best], float(areas[best])
