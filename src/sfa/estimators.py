"""Embeddings the scikit-learn way: ``fit``, ``transform``, ``save``, ``load``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from torch_geometric.data import Data

from sfa.atomic import ensure_writable
from sfa.data import as_graph
from sfa.errors import InputError
from sfa.methods import Method
from sfa.recipes import Recipe, load_recipe
from sfa.training import load_tensors, save_tensors, train

FORMAT = 3
"""Layout of a saved embedder."""


class NodeEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Node embeddings of a graph, learnt without labels.

    A graph is a PyG ``Data``, a pair ``(X, A)`` of node features and adjacency (SciPy sparse, dense, or a ``(2, m)``
    edge index), or a NetworkX graph whose nodes carry features ``x``. One without features needs ``node_features``.

    Args:
        method: Name of the method; ``sfa list methods`` shows them.
        spectral: Name of the spectral map between encoder and head; ``none`` for the plain method, which leaves the
            options of maps aside.
        hidden: Width of the embeddings.
        iterations: Power iterations of the spectral map.
        tau: Temperature of the loss.
        epochs: Training epochs.
        lr: Learning rate.
        batch_size: Train on sampled batches of so many nodes; on the whole graph at once, if ``None``.
        node_features: What to make features of for graphs that have none: ``degree``, ``random`` or ``spectral``, with
            a width if wanted, for instance ``spectral:64``. Those of ``degree`` mean the same in every graph; the
            others belong to the graph that was fitted.
        options: Any other key of a recipe by its path, for instance ``{"method.edge_drop": (0.2, 0.4)}``.
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

    def __init__(
        self,
        method: str = "grace",
        spectral: str = "sfa",
        *,
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

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], *, device: str = "auto") -> NodeEmbedder:
        """An embedder with all settings of a recipe: a shipped name such as ``paper/cora``, a YAML file, a mapping."""
        parsed = Recipe.parse(recipe) if isinstance(recipe, Mapping) else load_recipe(recipe)
        sections = parsed.as_dict()
        options: dict[str, Any] = {key: sections[key] for key in ("feature_norm", "feature_noise")}
        for name in ("method", "spectral", "sampler", "training"):
            options |= {f"{name}.{key}": value for key, value in sections[name].items() if key not in ("name", "seed")}
        options["sampler.name"] = sections["sampler"]["name"]
        return cls(
            sections["method"]["name"],
            sections["spectral"]["name"],
            options=options,
            random_state=parsed.training.seed,
            device=device,
        )

    def fit(self, X: Any, y: Any = None) -> NodeEmbedder:
        """Learn the encoder from a graph; labels are not used."""
        graph = as_graph(X, labels=False, node_features=self.node_features)
        recipe = self._recipe()
        method = recipe.build(graph.num_features, graph.num_nodes)
        prepared = recipe.prepare(graph)
        history: list[dict[str, Any]] = []
        train(
            method,
            prepared,
            **recipe.training.model_dump(),
            sampler=recipe.make_sampler(),
            device=self.device,
            on_epoch=history.append,
        )
        self.recipe_ = recipe
        self.history_ = history
        self._adopt(method, graph.num_features, graph.num_nodes)
        self.embedding_ = self._embed(prepared)
        self.node_ids_ = graph.node_ids
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embeddings ``(n, hidden)`` of the nodes of a graph, the one it was fitted to or another."""
        if not hasattr(self, "method_"):
            raise NotFittedError("This NodeEmbedder is not fitted yet: call fit() or load() first.")
        graph = as_graph(X, labels=False, node_features=self.node_features)
        if graph.num_features != self.n_features_in_:
            raise InputError(
                f"The graph has {graph.num_features} features; this embedder was fitted to {self.n_features_in_}."
            )
        return self._embed(self.recipe_.prepare(graph))

    def save(self, path: str | Path) -> None:
        """Write the fitted embedder to one safetensors file."""
        if not hasattr(self, "method_"):
            raise NotFittedError("This NodeEmbedder is not fitted yet: there is nothing to save.")
        path = Path(path)
        ensure_writable(path)
        meta = {
            "format": FORMAT,
            "recipe": self.recipe_.as_dict(),
            "in_features": self.n_features_in_,
            "num_nodes": self.num_nodes_,
            "node_features": self.node_features,
        }
        save_tensors(path, dict(self.method_.state_dict()), meta)

    @classmethod
    def load(cls, path: str | Path) -> NodeEmbedder:
        """Read an embedder that :meth:`save` wrote; nothing in the file is executed."""
        weights, meta = load_tensors(Path(path))
        wanted = {"format": int, "recipe": dict, "in_features": int, "num_nodes": int}
        if meta.get("format") != FORMAT or not all(isinstance(meta.get(key), kind) for key, kind in wanted.items()):
            raise InputError(f"{path} is not an embedder of this version of sfa: fit it again.")
        embedder = cls.from_recipe(meta["recipe"])
        embedder.node_features = meta.get("node_features")
        embedder.recipe_ = Recipe.parse(meta["recipe"])
        method = embedder.recipe_.build(meta["in_features"], meta["num_nodes"])
        try:
            method.load_state_dict(weights)
        except RuntimeError as error:
            raise InputError(f"{path} does not hold the weights that its recipe asks for.") from error
        embedder._adopt(method, meta["in_features"], meta["num_nodes"])
        return embedder

    def _recipe(self) -> Recipe:
        given = {
            "method.hidden": self.hidden,
            "method.tau": self.tau,
            "spectral.iterations": self.iterations,
            "training.epochs": self.epochs,
            "training.lr": self.lr,
            "sampler.batch_size": self.batch_size,
        }
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        options, given = (
            {
                key: value
                for key, value in changes.items()
                if value is not None or changes is self.options
                if self.spectral != "none" or not key.startswith("spectral.")
            }
            for changes in (self.options or {}, given)
        )
        if "training.epochs" in options:  # of a whole recipe, whose warm-up is meant for its epochs
            return self._plain_recipe().updated(options).updated({**given, "training.seed": int(seed)})
        return self._plain_recipe().updated({**options, **given, "training.seed": int(seed)})

    def _plain_recipe(self) -> Recipe:
        return Recipe.parse({"method": self.method, "spectral": self.spectral})

    def _adopt(self, method: Method, in_features: int, num_nodes: int) -> None:
        self.method_ = method.eval()
        self.n_features_in_ = in_features
        self.num_nodes_ = num_nodes

    def _embed(self, graph: Data) -> NDArray[np.float32]:
        device = next(self.method_.parameters()).device
        embeddings: NDArray[np.float32] = self.method_.embed(copy.copy(graph).to(device)).cpu().numpy()
        return embeddings
