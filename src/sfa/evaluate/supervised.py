"""Supervised baselines: networks trained with the labels, on the splits of a protocol."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.evaluate.inputs import Labels, labels_of
from sfa.evaluate.protocols import Classification, Protocol
from sfa.evaluate.scores import Score
from sfa.evaluate.splits import Split
from sfa.nn.gcn import Convolution
from sfa.nn.layers import dropout
from sfa.nn.mlp import MLP
from sfa.nn.sparse import Propagation, propagation_of
from sfa.ranges import check_whole
from sfa.seeding import derive_seed, seeded_initialization, step_generator
from sfa.tasks import item_word, task_of

SupervisedModel = Literal["mlp", "gcn"]


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
    on_split: Callable[[], None] | None = None,
) -> list[SupervisedResult]:
    """Train a classifier of two layers on the training part of each split, choose its epoch on validation, read test.

    The settings are those of `"Semi-Supervised Classification with Graph Convolutional Networks"
    <https://arxiv.org/abs/1609.02907>`_ (Kipf and Welling, 2017), but for the width (theirs is 16), the decay of both
    layers' weights (theirs is of the first's alone) and a patience of 50 of at most 500 epochs (theirs is 10 of 200).
    The epoch chosen is that of the highest validation accuracy and, of several, the lowest validation loss.

    Args:
        graph: Its ``x`` is dense or CSR; its ``y`` may be -1, unknown, outside the splits.
        splits: Those of a protocol, each with a validation part.
        model: ``mlp``, which is blind to edges, or ``gcn``.
        hidden: Width of the first layer.
        dropout: Rate before each layer.
        lr: Learning rate of Adam.
        weight_decay: L2 penalty of Adam.
        epochs: Full-batch steps at most.
        patience: Epochs without a better validation score after which it stops.
        seed: Source of all randomness; split ``i`` depends on ``(seed, i)``.
        on_split: Called after each split.
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
        if on_split is not None:
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


SETTINGS: dict[str, int | float] = {
    name: parameter.default
    for name, parameter in inspect.signature(supervised).parameters.items()
    if name not in ("graph", "splits", "model", "seed", "on_split")
}
"""How the supervised baselines are trained, where nothing else is said."""


def can_be_supervised(protocol: Protocol, data: Data) -> bool:
    """Return whether the splits of a protocol have nodes to classify, and a validation part to choose on."""
    if task_of(data) != "node" or not isinstance(protocol, Classification):
        return False
    return all(len(split.validation) > 0 for split in protocol.draw(data))


def supervised_score(
    graph: Data,
    protocol: Classification,
    model: SupervisedModel,
    *,
    name: str,
    seed: int = 0,
    on_split: Callable[[], None] | None = None,
) -> Score:
    """Score a supervised baseline on the splits of a protocol; its arguments are those of :func:`supervised`."""
    found = supervised(graph, protocol.draw(graph), model=model, seed=seed, on_split=on_split)
    test, validation, epochs = zip(*found, strict=True)
    return Score(name, protocol.name, {"accuracy": test}, epochs, {"accuracy": validation}, protocol.digest(graph))
