"""Baselines: embeddings of the data alone, which need no training, and networks that are trained with the labels."""

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, cross_entropy
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.evaluate.inputs import MOST_BYTES, Labels, labels_of
from sfa.evaluate.protocols import Classification, Embedder, Protocol
from sfa.evaluate.scores import Score
from sfa.evaluate.splits import Split
from sfa.graph.features import are_measurements, column_statistics, normalize_features
from sfa.graph.histograms import degree_histogram, label_histogram, weisfeiler_lehman
from sfa.graph.spread import rows_of
from sfa.graph.structure import is_stored
from sfa.methods.stored import SideBySide, features_spread
from sfa.nn.image_encoder import to_float
from sfa.nn.layers import dropout
from sfa.nn.node_encoders import MLP, Convolution
from sfa.nn.sparse import Propagation, feature_product, propagation_of
from sfa.postprocess import hops_side_by_side
from sfa.ranges import check_whole
from sfa.seeding import derive_seed, seeded_initialization, step_generator
from sfa.tasks import Task, item_word, task_of

HOPS = 2
TOGETHER = 1024  # images that are read at a time
SCALES = 10  # ratio of the deviations of two dense columns from which features are standardized
SupervisedModel = Literal["mlp", "gcn"]


def raw_features(graph: Data) -> Tensor:
    """Return the features, standardized if columns are on different scales, as an age and an income are."""
    x: Tensor = graph.x
    if x.layout == torch.sparse_csr:
        return x
    mean, deviation = column_statistics(x)
    if 2 * int(x.count_nonzero()) >= x.numel():
        known = deviation[deviation.isfinite()]  # of columns that are not constant
        have_scales = len(known) > 0 and bool(known.max() >= SCALES * known.min())
    else:  # some may be measurements beside categories, unless rows were divided by their sums
        sums = torch.linalg.vector_norm(x, ord=1, dim=1)
        are_scaled = bool(sums.amax() <= 1.001 * sums.where(sums > 0, torch.inf).amin())
        have_scales = not are_scaled and are_measurements(x)
    if have_scales and graph.get("mapped_features"):
        standardized: Tensor = normalize_features(graph, "standard", {"mean": mean, "deviation": deviation}).x
        return standardized
    return ((x - mean) / deviation).float() if have_scales else x


def propagated_features(graph: Data) -> Tensor:
    r"""Return :math:`[X, \hat A X, \hat A^2 X]` with unit rows side by side, float32 ``(n, 3d)``.

    With :math:`\hat A = \hat D^{-1/2} (A + I) \hat D^{-1/2}` this is the input of an encoder of two graph convolutions.
    Where it would take more than a gigabyte, features are brought to 256 columns first by a fixed random projection,
    which nearly keeps angles. Those of a stored graph lie on disk, with the hops beside the store.
    """
    x = raw_features(graph)
    n, width = x.shape
    if is_stored(graph):
        standardized = copy.copy(graph).update({"x": x})
        spread = features_spread(standardized, torch.zeros(width), torch.ones(width), hops=HOPS, alpha=0.0)
        return SideBySide(n, [partial(rows_of, x), *(one.rows for one in spread)]).product()
    if 4 * (HOPS + 1) * n * width > MOST_BYTES and width > 256:
        projection = torch.randn(width, 256, generator=torch.Generator().manual_seed(0))
        x = feature_product(x, projection.to(x))
    return hops_side_by_side(x.to_dense().float(), propagation_of(graph, torch.float32), HOPS)


def raw_pixels(images: Data) -> Tensor:
    """Return the pixels of images as rows of float32 in [0, 1], ``(n, H·W·C)``.

    Where that would take more than a gigabyte, they are averaged over cells first, to at most 32 x 32 of them.
    """
    n, height, width, channels = images.x.shape
    if 4 * n * height * width * channels > MOST_BYTES:
        height, width = min(height, 32), min(width, 32)
    rows = torch.empty(n, height, width, channels)
    for piece, chunk in zip(torch.split(rows, TOGETHER), torch.split(images.x, TOGETHER), strict=True):
        piece.copy_(adaptive_avg_pool2d(to_float(chunk), (height, width)).permute(0, 2, 3, 1))
    return rows.flatten(1)


BASELINES: dict[Task, dict[str, Embedder]] = {
    "node": {"raw features": raw_features, "propagated features": propagated_features},
    "graph": {
        "label histogram": label_histogram,
        "degree histogram": degree_histogram,
        "WL subtree counts": weisfeiler_lehman,
    },
    "image": {"raw pixels": raw_pixels},
}
"""Baselines for nodes, for graphs and for images, by the name that tables give them: dense rows or CSR."""


class SupervisedResult(NamedTuple):
    """Accuracies in per cent on one split, and the epoch that validation chose."""

    test: float
    validation: float
    epoch: int


def supervised(
    graph: Data,
    splits: Sequence[Split],
    *,
    model: SupervisedModel = "gcn",
    hidden: int = 64,
    dropout: float = 0.5,
    lr: float = 0.01,
    weight_decay: float = 5e-4,
    epochs: int = 500,
    patience: int = 50,
    seed: int = 0,
    on_split: Callable[[], None] = lambda: None,
) -> list[SupervisedResult]:
    """Train a classifier of two layers on the training part of each split, choose its epoch on validation, read test.

    The settings are those of `"Semi-Supervised Classification with Graph Convolutional Networks"
    <https://arxiv.org/abs/1609.02907>`_ (Kipf and Welling, 2017), but for the width (theirs is 16), the decay of both
    layers' weights (theirs is of the first's alone) and a patience of 50 of at most 500 epochs (theirs is 10 of 200).
    The epoch chosen is that of the highest validation accuracy and, of several, the lowest validation loss. An ``mlp``
    is blind to edges. Outside the splits labels may be -1, unknown. Split ``i`` depends on ``(seed, i)``.
    """
    if model not in get_args(SupervisedModel):
        raise unknown_name("supervised model", model, get_args(SupervisedModel))
    for name, value in (("hidden", hidden), ("epochs", epochs), ("patience", patience)):
        check_whole(name, value, 1)
    if task_of(graph) != "node":
        items = item_word(graph)
        raise InputError(f"Supervised baselines need the nodes of one graph, and these are {items} of a set.")
    y, results = labels_of(graph), []
    for name, part in (item for split in splits for item in vars(split).items()):
        if len(part) == 0 or (y[part] < 0).any():
            raise InputError(f"Supervised training needs labeled nodes, and only those, in the {name} part of a split.")
    for number, split in enumerate(splits):
        split_seed, seen = derive_seed(seed, 6, number), np.concatenate([split.train, split.validation])
        known = torch.full((len(y),), -1)  # all that training may look at
        known[seen] = torch.from_numpy(y[seen])
        with seeded_initialization(split_seed):
            network = _network(model, graph, hidden, int(known.max()) + 1, dropout)
        optimizer = torch.optim.Adam(network.parameters(), lr=lr, weight_decay=weight_decay)
        best, best_epoch, labels = (-1.0, -math.inf), 0, np.empty(0, dtype=np.int64)
        for epoch in range(1, epochs + 1):
            network.train()
            logits = network(graph.x, step_generator(split_seed, epoch))
            optimizer.zero_grad()
            cross_entropy(logits[split.train], known[split.train]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            now, found = _validate(network, graph.x, known, split.validation)
            if now > best:
                best, best_epoch, labels = now, epoch, found
            if epoch - best_epoch >= patience:
                break
        test = 100 * float((labels[split.test] == y[split.test]).mean())
        results.append(SupervisedResult(test, 100 * best[0], best_epoch))
        on_split()
    return results


class GraphClassifier(nn.Module):
    """Two graph convolutions of one graph's features, dropout before both and a ReLU between them."""

    def __init__(self, propagation: Propagation, in_features: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.propagation, self.dropout = propagation, dropout
        self.first, self.second = Convolution(in_features, hidden), Convolution(hidden, classes)

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        rate = self.dropout if self.training else 0.0
        h = self.first(dropout(x, rate, generator), self.propagation).relu()
        logits: Tensor = self.second(dropout(h, rate, generator), self.propagation)
        return logits


def _network(model: SupervisedModel, graph: Data, hidden: int, classes: int, dropout: float) -> nn.Module:
    if model == "mlp":
        return MLP(graph.num_features, classes, inner=hidden, dropout=dropout)
    return GraphClassifier(propagation_of(graph), graph.num_features, hidden, classes, dropout)


@torch.no_grad()
def _validate(network: nn.Module, x: Tensor, known: Tensor, part: Labels) -> tuple[tuple[float, float], Labels]:
    """Return accuracy and negative loss on the validation part, and the predicted label of every node."""
    network.eval()
    logits = network(x)
    labels = logits.argmax(1)
    accuracy = float((labels[part] == known[part]).double().mean())
    return (accuracy, -float(cross_entropy(logits[part], known[part]))), labels.numpy()


_NAMES = ("hidden", "dropout", "lr", "weight_decay", "epochs", "patience")
SUPERVISED_SETTINGS = {name: inspect.signature(supervised).parameters[name].default for name in _NAMES}
"""How the supervised baselines are trained, where nothing else is said."""


def can_be_supervised(protocol: Protocol, data: Data) -> bool:
    """Return whether the splits of a protocol have nodes to classify, and a validation part to choose on."""
    if task_of(data) != "node" or not isinstance(protocol, Classification):
        return False
    return all(len(split.validation) > 0 for split in protocol.draw(data))


def supervised_score(
    graph: Data, protocol: Classification, model: SupervisedModel, *, name: str, **options: Any
) -> Score:
    """Score a supervised baseline on the splits of a protocol, with options of :func:`supervised`."""
    found = supervised(graph, protocol.draw(graph), model=model, **options)
    test, validation, epochs = zip(*found, strict=True)
    return Score(name, protocol.name, {"accuracy": test}, epochs, {"accuracy": validation}, protocol.digest(graph))
