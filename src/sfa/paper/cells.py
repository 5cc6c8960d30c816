"""What is measured: variants of a recipe on data sets, each with the key by which the results know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.errors import unknown_name
from sfa.evaluate import Protocol
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.supervised import SETTINGS
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.identity import recipe_hash, run_key
from sfa.run.run import describe
from sfa.tasks import Task, task_of

RUN_TIME = "run-time"
"""The protocol under which the results hold seconds per epoch."""
SEEDLESS = {name for of_task in BASELINES.values() for name in of_task}
"""Embeddings of the data alone."""
KINDS = {"trained", "timed", "untrained encoder", "supervised mlp", "supervised gcn", *SEEDLESS}
"""What is measured: the recipe's embeddings, seconds per epoch, or a baseline's embeddings or classifier."""


@dataclass(frozen=True)
class Variant:
    """One line of a study's table."""

    label: str
    recipe: Recipe
    baseline: str | None = None
    """Label of the variant it is compared with."""
    kind: str = "trained"
    """One of :data:`KINDS`."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of variant", self.kind, KINDS)

    @property
    def name(self) -> str:
        """Name of the embedding that is scored."""
        if self.kind == "untrained encoder":
            return f"untrained {self.recipe.method['name']}"
        return describe(self.recipe) if self.kind in ("trained", "timed") else self.kind

    @property
    def decisive(self) -> dict[str, Any]:
        """The part of the recipe that decides what is measured."""
        unused: set[str] = {"postprocess"} if self.kind == "timed" else set()
        if self.kind not in ("trained", "timed"):
            unused = {"spectral", "sampler", "training"}
            if self.kind != "untrained encoder":
                unused |= {"method", "encoder", "augmentation", "postprocess"}
        used = {key: value for key, value in self.recipe.as_dict().items() if key not in unused}
        return {**used, "supervised": SETTINGS} if self.kind.startswith("supervised") else used

    @property
    def seed(self) -> int:
        """The seed it depends on; 0 if it depends on none."""
        seedless = self.kind in SEEDLESS and self.recipe.feature_noise == self.recipe.edge_noise == 0
        return 0 if seedless else self.recipe.training.seed


@dataclass(frozen=True)
class Dataset:
    """Data that runs are measured on: what they are, where they came from and how to get them again."""

    name: str
    fingerprint: str
    source: Mapping[str, Any]
    load: Callable[[], Data]
    task: Task = "node"
    _digests: dict[str, str] = field(default_factory=lambda: {RUN_TIME: ""}, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        load: Callable[[], Data],
        source: Mapping[str, Any],
        protocols: Callable[[Task], Sequence[str]] = lambda task: (),
    ) -> Dataset:
        """Describe what ``load`` reads; raise if it does not allow one of the protocols for its task."""
        graph = load()
        dataset = cls(str(graph.name), fingerprint(graph), source, load, task_of(graph))
        for name in protocols(dataset.task):
            if name != RUN_TIME:
                dataset.protocol(name).check(graph)
                dataset._digests[name] = dataset.protocol(name).digest(graph)
        return dataset

    def protocol(self, name: str) -> Protocol:
        """Return the protocol that goes by a name on these data."""
        protocol: Protocol = resolve("protocol", name)
        return protocol

    def digest(self, protocol: str) -> str:
        """Hash a protocol's settings and splits of these data: a stored score counts if it has the same."""
        if protocol not in self._digests:
            self._digests[protocol] = self.protocol(protocol).digest(self.load())
        return self._digests[protocol]


@dataclass(frozen=True)
class Cell:
    """One run: a variant on a data set."""

    dataset: Dataset
    variant: Variant
    key: str
    identity: Mapping[str, Any]
    """What the key is made of, beside kind, data and seed."""

    @property
    def title(self) -> str:
        return f"{self.dataset.name}, {self.variant.label}, seed {self.variant.seed}"

    @property
    def epochs(self) -> int:
        """Epochs to be trained."""
        return self.variant.recipe.training.epochs if self.variant.kind in ("trained", "timed") else 0


Job = tuple[Cell, ...]
"""Cells that are measured together: one, or those that are timed by turns."""


@dataclass(frozen=True)
class Plan:
    """All runs of a study."""

    study: str
    """The name under which the results label them."""
    protocols: tuple[str, ...]
    jobs: tuple[Job, ...]

    @property
    def cells(self) -> list[Cell]:
        return [cell for job in self.jobs for cell in job]


def make_cell(variant: Variant, dataset: Dataset, **more: Any) -> Cell:
    """Return a variant on a data set with its key; ``more`` is what else the key depends on."""
    identity = {**variant.decisive, **more}
    return Cell(dataset, variant, run_key(variant.kind, identity, dataset.fingerprint, variant.seed), identity)


def make_jobs(variants: Sequence[Variant], dataset: Dataset, *, device: str) -> list[Job]:
    """Return the runs of variants on a data set, those that are timed in one job.

    Times are compared with those measured by turns with them, on the same device and threads, and with no others.
    """
    timed = [variant for variant in variants if variant.kind == "timed"]
    beside = {
        "beside": sorted(recipe_hash(variant.decisive) for variant in timed),
        "device": device,
        "threads": torch.get_num_threads(),
    }
    jobs: list[Job] = [tuple(make_cell(variant, dataset, **beside) for variant in timed)] if timed else []
    return jobs + [(make_cell(variant, dataset),) for variant in variants if variant.kind != "timed"]
