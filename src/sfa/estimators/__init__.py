"""Embeddings the scikit-learn way, of nodes, of graphs and of images: ``fit``, ``transform``, ``save``, ``load``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from sfa.data.encode import Encode
from sfa.errors import InputError
from sfa.estimators.base import Embedder
from sfa.explore import row_of, suggest_links
from sfa.methods import Method
from sfa.tasks import Task

__all__ = ["GraphEmbedder", "ImageEmbedder", "NodeEmbedder"]


@dataclass(eq=False, repr=False)
class NodeEmbedder(Embedder):
    """Node embeddings of a graph, learned without labels.

    A graph is whatever :func:`sfa.data.as_graph` takes: a DataFrame of edges, a pair ``(nodes, edges)`` of DataFrames,
    a NetworkX graph, a PyG ``Data`` or ``HeteroData``, a list of pairs, a pair ``(X, A)`` of node features and
    adjacency, an adjacency alone, a path, or a data set's name. One without features needs ``node_features``, or a
    method that uses none, such as ``deepwalk``.

    ``fit(graph)`` is followed by ``transform`` of the same or of another graph. With ``graph=``, samples are nodes, as
    ``cross_val_score`` and ``GridSearchCV`` need them: ``X`` is ids of nodes, or numbers of rows where no id is a
    number. This is transductive: every ``fit`` learns from all nodes and edges of the graph, those of the test fold
    too, and ``X`` only says which embeddings are returned. Labels are never used.

    Args:
        method: The method: its name (``sfa list methods``), ``package.module:Class``, a class, or an object.
        spectral: The spectral map between encoder and head, or a list of several: names (``sfa list spectral``),
            classes or objects. ``auto`` is what suits the method, ``gentle`` SFA in 64 gentle passes, ``sfa`` the
            paper's Algorithm 1, and ``none`` the plain method, for which options of maps are ignored.
        encoder: The encoder: a name (``sfa list encoders``), a class, or any ``nn.Module``; by default the method's.
        augmentation: A name (``sfa list augmentations``), or a function ``(data, generator) -> (view, view)``; by
            default the method's.
        hidden: Width of the embeddings.
        iterations: Power iterations of the spectral map.
        tau: Temperature of the loss.
        batch_size: Nodes of a sampled batch; by default training is on the whole graph, unless that is too large.
        node_features: Features to make for graphs that have none: ``degree``, ``random`` or ``spectral``, with a width
            if wanted, for instance ``spectral:64``. Only ``degree`` features mean the same in every graph; with the
            others ``transform`` refuses another graph.
        feature_norm: Normalization of features: ``row``, ``standard``, ``shifted-row``, ``none``, or ``auto``, by what
            they look like. Statistics are those of the data it was fitted to, also in :meth:`transform`.
        graph: The graph whose nodes are the samples of ``fit`` and ``transform``.
        options: Any other key of a recipe by its path, for instance ``{"augmentation.edge_drop": (0.2, 0.4)}``.
        random_state: Seed, a NumPy ``RandomState``, or ``None`` for a new draw at each fit.
        verbose: Show progress on standard error, or in a notebook, if 1.
        callbacks: Called while training, :class:`sfa.train.Callback`.

    Arguments left at ``None`` have the method's own defaults.

    Attributes:
        recipe_: All settings of the fit.
        history_: Metrics of each epoch.
        embedding_: Embeddings of the graph it was fitted to.
        node_ids_: Ids of its nodes, in the order of the embeddings.
        encoding_: How the columns of a data frame became numbers, which :meth:`transform` does again; else ``None``.
        n_features_in_: Number of node features.
        feature_names_in_: Their names, if they come from a DataFrame or from attributes.
    """

    task: ClassVar[Task] = "node"
    kept: ClassVar = {"num_nodes": int, "encoding": dict | None}
    method: str | type[Method] | Method = "neighbor-contrast"
    node_features: str | None = field(default=None, kw_only=True)
    feature_norm: str = field(default="auto", kw_only=True)
    graph: Any = field(default=None, kw_only=True)

    def _read(self, X: Any, transductive: bool, encode: Encode = None) -> Data:
        return super()._read(X if self.graph is None else self.graph, transductive, encode)

    def _rows(self, X: Any, ids: Sequence[Any]) -> Sequence[int]:
        """Return the rows of nodes that are given by id, or by number where no id is a number; None is all."""
        if self.graph is None or X is None:
            return super()._rows(X, ids)
        try:
            asked: list[Any] = np.asarray(X).reshape(len(X)).tolist()
        except (TypeError, ValueError) as error:
            kind = type(X).__name__
            raise InputError(f"X is ids of nodes of graph=, one a row, not a {kind}: leave out one of them.") from error
        if any(isinstance(one, int) for one in ids) or not all(isinstance(one, int) for one in asked):
            return [row_of(ids, one) for one in asked]
        if asked and not 0 <= min(asked) <= max(asked) < len(ids):
            raise InputError(f"Rows of nodes go from 0 to {len(ids) - 1}, and X from {min(asked)} to {max(asked)}.")
        return asked

    def _transformed(self, X: Any) -> tuple[NDArray[np.float32], Sequence[Any]]:
        if self.graph is None:
            return super()._transformed(X)
        rows = self._rows(X, self.node_ids_)
        return self.embedding_[rows], [self.node_ids_[row] for row in rows]

    def suggest_links(self, k: int = 20) -> pd.DataFrame:
        """Return the ``k`` pairs of nodes of the fitted graph that are most similar and have no edge."""
        check_is_fitted(self, "embedding_", msg="Links are suggested of the graph of the fit: call fit() first.")
        edges = getattr(self._edges, "edge_index", self._edges)  # of a stored graph, they are not read before
        return suggest_links(torch.from_numpy(self.embedding_), self.node_ids_, edges, k)


@dataclass(eq=False, repr=False)
class GraphEmbedder(Embedder):
    """Embeddings of many graphs, one each, learned without labels.

    Graphs are a list of PyG ``Data`` or of NetworkX graphs, a PyG data set, ``Batch`` or ``DataLoader``, or a set of
    :func:`sfa.data.load`. To split them by scikit-learn (``cross_val_score``), give a list.

    Arguments and attributes are those of :class:`NodeEmbedder`, except these.

    Args:
        hidden: Width of a layer; the embeddings are as wide as all layers side by side.
        batch_size: Graphs of a step.
        node_features: Features to make for nodes that have none, for instance ``degree:64``; by default ``degree``.

    Attributes:
        graph_ids_: Ids of the graphs, in the order of the embeddings.
        features_of_: The kind of node features that were made, such as ``degree``; ``None`` if there was no need.
    """

    task: ClassVar[Task] = "graph"
    kept: ClassVar = {"features_of": str | None, "encoding": dict | None}
    method: str | type[Method] | Method = "graphcl"
    node_features: str | None = field(default=None, kw_only=True)
    feature_norm: str = field(default="auto", kw_only=True)


@dataclass(eq=False, repr=False)
class ImageEmbedder(Embedder):
    """Embeddings of images, learned without labels.

    Images are uint8 arrays or tensors ``(n, height, width)`` or ``(n, height, width, channels)`` with 1 or 3 channels,
    a list of Pillow images or arrays of one size, the name or path of a data set, or what :func:`sfa.data.load` gives.
    Of a set with parts of its own, training uses the training part alone.

    Arguments and attributes are those of :class:`NodeEmbedder`, except ``node_features`` and these.

    Args:
        encoder: A name, a class, or any ``nn.Module`` from images to ``(b, d)``, such as one of torchvision or timm.
        hidden: Channels of the encoder's first stage; embeddings are 4 or 8 times as wide.
        batch_size: Images of a step.
        image_size: Size to which the images of a folder are brought, in pixels.
        skip_corrupt: Leave out the files of a folder that are no whole images.

    Attributes:
        image_ids_: Ids of the images, in the order of the embeddings.
        n_features_in_: Number of channels.
    """

    task: ClassVar[Task] = "image"
    reading: ClassVar = ("image_size", "skip_corrupt")
    method: str | type[Method] | Method = "simclr"
    image_size: int | None = field(default=None, kw_only=True)
    skip_corrupt: bool = field(default=False, kw_only=True)
