"""Training of a recipe in a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lightning_fabric import Fabric
from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.errors import InputError
from sfa.evaluate.online_probe import OnlineProbe
from sfa.levels import item_word, level_of, num_items
from sfa.methods import Method
from sfa.run.recipe import Recipe
from sfa.run.run import Run
from sfa.sampling import Sampler
from sfa.train import Callback, OnlineProbeCallback, RunFolder, train


def record_of(recipe: Recipe, data: Data, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run folder notes of its data; ``source`` says where these came from."""
    return {
        "source": dict(source),
        "fingerprint": fingerprint(data),
        item_word(data): num_items(data),
        **({"nodes": data.num_nodes} if level_of(data) == "graph" else {}),
        **({"size": list(data.x.shape[1:3])} if level_of(data) == "image" else {}),
        "in_features": data.num_features,
        "features": recipe.preparation,
        "features_of": data.get("features_of"),
        "seed": recipe.training.seed,
    }


@dataclass(frozen=True)
class Setup:
    """All that training needs, built once: the method, the prepared data, the sampler, an online probe if asked for."""

    recipe: Recipe
    method: Method
    data: Data
    probe: OnlineProbe | None
    _samplers: dict[int, Sampler] = field(default_factory=dict)

    @classmethod
    def build(cls, recipe: Recipe, data: Data) -> Setup:
        """Build everything for data as they were read; raise what does not fit."""
        training, method, prepared = recipe.training, recipe.build_for(data), recipe.prepare(data)
        probe = None
        if training.online_probe:
            try:
                probe = OnlineProbe(method.width, prepared, epochs=training.epochs, seed=training.seed)
            except InputError as error:
                raise InputError(f"--online-probe is not possible here: {error}") from error
        return cls(recipe, method, prepared, probe)

    def sampler(self, data: Data) -> Sampler:
        """Make the sampler of these data, once: cutting a graph into clusters takes its time."""
        if id(data) not in self._samplers:
            self._samplers[id(data)] = self.recipe.make_sampler()(data)
        return self._samplers[id(data)]

    def train(
        self, folder: RunFolder, *, device: str | Fabric, resume: bool, callbacks: Sequence[Callback] = ()
    ) -> Run:
        """Train in an existing folder, or go on there."""
        progress = train(
            self.method,
            self.data,
            **self.recipe.training.arguments,
            device=device,
            folder=folder,
            resume=resume,
            sampler=self.sampler,
            callbacks=[*([OnlineProbeCallback(self.probe)] if self.probe else []), *callbacks],
        )
        return Run(folder, self.recipe, self.data, self.method.cpu().eval(), progress)


def train_recipe(
    recipe: Recipe,
    data: Data,
    folder: RunFolder,
    *,
    device: str | Fabric,
    resume: bool,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Train in an existing folder, or go on there; ``callbacks`` as in :func:`sfa.train.train`."""
    return Setup.build(recipe, data).train(folder, device=device, resume=resume, callbacks=callbacks)
