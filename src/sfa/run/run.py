"""A run: a recipe trained on a graph, in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.evaluate.online_probe import OnlineProbe
from sfa.levels import item_word, level_of, num_items
from sfa.methods import Method
from sfa.run.recipe import Recipe
from sfa.train import Callback, OnlineProbeCallback, Progress, RunFolder, train


@dataclass(frozen=True)
class Run:
    """A run folder with everything in it ready for use."""

    folder: RunFolder
    recipe: Recipe
    graph: Data
    """Features as in training."""
    method: Method
    progress: Progress

    @property
    def name(self) -> str:
        return describe(self.recipe)

    def untrained(self) -> Method:
        """The method as it was before the first epoch."""
        return self.recipe.build_for(self.graph)


def describe(recipe: Recipe) -> str:
    """A method and its spectral map in a few letters, for instance ``grace + sfa``."""
    method, spectral = recipe.method["name"], recipe.spectral_name
    return str(method) if spectral == "none" else f"{method} + {spectral}"


def record_of(recipe: Recipe, graph: Data, source: Mapping[str, Any]) -> dict[str, Any]:
    """What a run folder notes of its graph; ``source`` says where that came from."""
    return {
        "source": dict(source),
        "fingerprint": fingerprint(graph),
        item_word(graph): num_items(graph),
        **({"nodes": graph.num_nodes} if level_of(graph) == "graph" else {}),
        **({"size": list(graph.x.shape[1:3])} if level_of(graph) == "image" else {}),
        "in_features": graph.num_features,
        "features": recipe.preparation,
        "features_of": graph.get("features_of"),
        "seed": recipe.training.seed,
    }


def train_recipe(
    recipe: Recipe,
    graph: Data,
    folder: RunFolder,
    *,
    device: str,
    resume: bool,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Train in an existing folder, or go on there; ``callbacks`` as in :func:`sfa.train.train`."""
    prepared = recipe.prepare(graph)
    method = recipe.build_for(graph)
    probe = online_probe(recipe, method, prepared)
    progress = train(
        method,
        prepared,
        **recipe.training.arguments,
        device=device,
        folder=folder,
        resume=resume,
        sampler=recipe.make_sampler(),
        callbacks=[*([OnlineProbeCallback(probe)] if probe else []), *callbacks],
    )
    return Run(folder, recipe, prepared, method.cpu().eval(), progress)


def online_probe(recipe: Recipe, method: Method, graph: Data) -> OnlineProbe | None:
    """What watches the features while they are learnt, if the recipe asks for it and these data allow it."""
    training = recipe.training
    if not training.online_probe:
        return None
    return OnlineProbe(method.width, graph, epochs=training.epochs, seed=training.seed)
