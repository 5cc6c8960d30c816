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
from sfa.graph.features import normalise_features
from sfa.methods import ContrastiveMethod
from sfa.recipes import Recipe, load_recipe
from sfa.training import load_tensors, save_tensors, train

FORMAT = 2
"""Layout of a saved embedder."""


class NodeEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Node embeddings of a graph, learnt without labels.

    A graph is a PyG ``Data``, a pair ``(X, A)`` of node features and adjacency (SciPy sparse, dense, or a ``(2, m)``
    edge index), or a NetworkX graph whose nodes carry features ``x``.

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
        options: Any other key of a recipe by its path, for instance ``{"method.edge_drop": (0.2, 0.4)}``.
        random_state: Seed, a NumPy ``RandomState``, or ``None`` for a new draw at each fit.
        device: ``auto``, ``cpu``, ``cuda``, …

    Arguments left at ``None`` have the method's own defaults.

    Attributes:
        recipe_: Everything that decided the fit.
        history_: Metrics of each epoch.
        embedding_: Embeddings of the graph it was fitted to.
        n_features_in_: Number of node features.
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
        self.options = options
        self.random_state = random_state
        self.device = device

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], *, device: str = "auto") -> NodeEmbedder:
        """An embedder with all settings of a recipe: a shipped name such as ``paper/cora``, a YAML file, a mapping."""
        parsed = Recipe.parse(recipe) if isinstance(recipe, Mapping) else load_recipe(recipe)
        sections = parsed.as_dict()
        options: dict[str, Any] = {"feature_norm": sections["feature_norm"]}
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
        graph = as_graph(X, labels=False)
        recipe = self._recipe()
        method = recipe.build(graph.num_features)
        prepared = normalise_features(graph, recipe.feature_norm)
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
        self._adopt(method, graph.num_features)
        self.embedding_ = self._embed(prepared)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embeddings ``(n, hidden)`` of the nodes of a graph, the one it was fitted to or another."""
        if not hasattr(self, "method_"):
            raise NotFittedError("This NodeEmbedder is not fitted yet: call fit() or load() first.")
        graph = as_graph(X, labels=False)
        if graph.num_features != self.n_features_in_:
            raise InputError(
                f"The graph has {graph.num_features} features; this embedder was fitted to {self.n_features_in_}."
            )
        return self._embed(normalise_features(graph, self.recipe_.feature_norm))

    def save(self, path: str | Path) -> None:
        """Write the fitted embedder to one safetensors file."""
        if not hasattr(self, "method_"):
            raise NotFittedError("This NodeEmbedder is not fitted yet: there is nothing to save.")
        path = Path(path)
        ensure_writable(path)
        meta = {"format": FORMAT, "recipe": self.recipe_.as_dict(), "in_features": self.n_features_in_}
        save_tensors(path, dict(self.method_.state_dict()), meta)

    @classmethod
    def load(cls, path: str | Path) -> NodeEmbedder:
        """Read an embedder that :meth:`save` wrote; nothing in the file is executed."""
        weights, meta = load_tensors(Path(path))
        wanted = {"format": int, "recipe": dict, "in_features": int}
        if meta.get("format") != FORMAT or not all(isinstance(meta.get(key), kind) for key, kind in wanted.items()):
            raise InputError(f"{path} is not an embedder of this version of sfa: fit it again.")
        embedder = cls.from_recipe(meta["recipe"])
        embedder.recipe_ = Recipe.parse(meta["recipe"])
        method = embedder.recipe_.build(meta["in_features"])
        try:
            method.load_state_dict(weights)
        except RuntimeError as error:
            raise InputError(f"{path} does not hold the weights that its recipe asks for.") from error
        embedder._adopt(method, meta["in_features"])
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
        changes = {**(self.options or {}), **{key: value for key, value in given.items() if value is not None}}
        if self.spectral == "none":
            changes = {key: value for key, value in changes.items() if not key.startswith("spectral.")}
        recipe = Recipe.parse({"method": self.method, "spectral": self.spectral})
        return recipe.updated({**changes, "training.seed": int(seed)})

    def _adopt(self, method: ContrastiveMethod, in_features: int) -> None:
        self.method_ = method.eval()
        self.n_features_in_ = in_features

    def _embed(self, graph: Data) -> NDArray[np.float32]:
        device = next(self.method_.parameters()).device
        embeddings: NDArray[np.float32] = self.method_.embed(copy.copy(graph).to(device)).cpu().numpy()
        return embeddings
