"""Embeddings of whole graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from torch_geometric.data import Data

from sfa.data import as_graphs
from sfa.errors import InputError
from sfa.estimators.base import Embedder
from sfa.levels import Level
from sfa.methods import Method


class GraphEmbedder(Embedder):
    """Embeddings of many graphs, one each, learnt without labels.

    Graphs are a list of PyG ``Data`` or of NetworkX graphs, a PyG data set, ``Batch`` or ``DataLoader``, or a set of
    :func:`sfa.data.load`. To split them by scikit-learn (``cross_val_score``), give a list.

    Args:
        method: The method: its name (``sfa list methods``), ``package.module:Class``, a class, or an object.
        spectral: The spectral map between pooling and head, or a list of several: names (``sfa list spectral``),
            classes or objects; ``none`` is the plain method, which leaves the options of maps aside.
        encoder: The encoder: a name (``sfa list encoders``), a class, or any ``nn.Module``; by default the method's.
        augmentation: What makes two views: a name (``sfa list augmentations``), or a function ``(data, generator) ->
            (view, view)``; by default the method's.
        hidden: Width of a layer; the embeddings are as wide as all layers side by side.
        iterations: Power iterations of the spectral map.
        tau: Temperature of the loss.
        epochs: Training epochs.
        lr: Learning rate.
        batch_size: Graphs of a step.
        node_features: What to make features of for graphs whose nodes have none, for instance ``degree:64``; if
            ``None``, nodes keep their own, and those of graphs without get ``degree`` features.
        options: Any other key of a recipe by its path, for instance ``{"encoder.layers": 5}``.
        random_state: Seed, a NumPy ``RandomState``, or ``None`` for a new draw at each fit.
        device: ``auto``, ``cpu``, ``cuda``, …

    Arguments left at ``None`` have the method's own defaults.

    Attributes:
        recipe_: Everything that decided the fit.
        history_: Metrics of each epoch.
        embedding_: Embeddings of the graphs it was fitted to.
        graph_ids_: Ids of these, in the order of the embeddings.
        n_features_in_: Number of node features.
        features_of_: What the node features were made of, such as ``degree``; ``None`` if they are the graphs' own.
    """

    level: ClassVar[Level] = "graph"
    kept: ClassVar = {"features_of": str | None}

    graph_ids_: list[str | int]
    features_of_: str | None

    def __init__(
        self,
        method: str | type[Method] | Method = "graphcl",
        spectral: Any = "sfa",
        *,
        encoder: Any = None,
        augmentation: Any = None,
        hidden: int | None = None,
        iterations: int | None = None,
        tau: float | None = None,
        epochs: int | None = None,
        lr: float | None = None,
        batch_size: int | None = None,
        node_features: str | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
    ) -> None:
        self.method = method
        self.spectral = spectral
        self.encoder = encoder
        self.augmentation = augmentation
        self.hidden = hidden
        self.iterations = iterations
        self.tau = tau
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.node_features = node_features
        self.options = options
        self.random_state = random_state
        self.device = device

    def _read(self, X: Any) -> Data:
        return as_graphs(X, labels=False, node_features=self.node_features)

    def _check(self, data: Data) -> None:
        here, then = (_origin(kind) for kind in (getattr(data, "features_of", None), self.features_of_))
        if here != then:
            raise InputError(f"These graphs have {here}; this embedder was fitted to graphs with {then}.")
        super()._check(data)


def _origin(features_of: str | None) -> str:
    return "node features of their own" if features_of is None else f"{features_of} features made for them"
