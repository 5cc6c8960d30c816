"""Embeddings of the nodes of one graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from torch_geometric.data import Data

from sfa.data import as_graph
from sfa.estimators.base import Embedder
from sfa.levels import Level
from sfa.methods import Method


class NodeEmbedder(Embedder):
    """Node embeddings of a graph, learnt without labels.

    A graph is a PyG ``Data``, a pair ``(X, A)`` of node features and adjacency (SciPy sparse, dense, or a ``(2, m)``
    edge index), or a NetworkX graph whose nodes carry features ``x``. One without features needs ``node_features``.

    Args:
        method: The method: its name (``sfa list methods``), ``package.module:Class``, a class, or an object.
        spectral: The spectral map between encoder and head, or a list of several: names (``sfa list spectral``),
            classes or objects. ``gentle`` is SFA in 64 gentle passes, ``sfa`` the paper's Algorithm 1, and ``none`` the
            plain method, which leaves the options of maps aside.
        encoder: The encoder: a name (``sfa list encoders``), a class, or any ``nn.Module``; by default the method's.
        augmentation: What makes two views: a name (``sfa list augmentations``), or a function ``(data, generator) ->
            (view, view)``; by default the method's.
        hidden: Width of the embeddings.
        iterations: Power iterations of the spectral map.
        tau: Temperature of the loss.
        epochs: Training epochs.
        lr: Learning rate.
        batch_size: Train on sampled batches of so many nodes; on the whole graph at once, if ``None``.
        node_features: What to make features of for graphs that have none: ``degree``, ``random`` or ``spectral``, with
            a width if wanted, for instance ``spectral:64``. Those of ``degree`` mean the same in every graph; the
            others belong to the graph that was fitted.
        options: Any other key of a recipe by its path, for instance ``{"augmentation.edge_drop": (0.2, 0.4)}``.
        random_state: Seed, a NumPy ``RandomState``, or ``None`` for a new draw at each fit.
        device: ``auto``, ``cpu``, ``cuda``, …

    Arguments left at ``None`` have the method's own defaults.

    Attributes:
        recipe_: Everything that decided the fit.
        history_: Metrics of each epoch.
        embedding_: Embeddings of the graph it was fitted to.
        node_ids_: Ids of its nodes, in the order of the embeddings.
        n_features_in_: Number of node features.
        num_nodes_: Number of nodes of the graph it was fitted to.
    """

    level: ClassVar[Level] = "node"
    kept: ClassVar = {"num_nodes": int}

    node_ids_: list[str | int]
    num_nodes_: int

    def __init__(
        self,
        method: str | type[Method] | Method = "grace",
        spectral: Any = "gentle",
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
        return as_graph(X, labels=False, node_features=self.node_features)
