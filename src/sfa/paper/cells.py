"""The runs of a study: variants of a recipe on data sets, each with the key under which the results hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.errors import unknown_name
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.supervised import SETTINGS
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.identity import run_key
from sfa.run.run import describe
from sfa.tasks import Task, task_of

RUN_TIME = "run-time"  # the protocol under which the results hold seconds per epoch
SEEDLESS = {name for of_task in BASELINES.values() for name in of_task}
"""Kinds of variants that are computed from the data alone."""
KINDS = {"trained", "timed", "untrained encoder", "supervised mlp", "supervised gcn", *SEEDLESS}


@dataclass(frozen=True)
class Variant:
    """One row of a study's table, compared with the variant whose label is ``baseline``.

    ``kind`` says what is measured: the recipe's embeddings, its seconds per epoch, or a baseline (:data:`KINDS`).
    """

    label: str
    recipe: Recipe
    baseline: str | None = None
    kind: str = "trained"

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
        """The part of the recipe that decides the result."""
        unused: set[str] = {"postprocess"} if self.kind == "timed" else set()
        if self.kind not in ("trained", "timed"):
            unused = {"spectral", "sampler", "training"}
            if self.kind != "untrained encoder":
                unused |= {"method", "encoder", "augmentation", "postprocess"}
        used = {key: value for key, value in self.recipe.as_dict().items() if key not in unused}
        return {**used, "supervised": SETTINGS} if self.kind.startswith("supervised") else used

    @property
    def seed(self) -> int:
        """The seed that the result depends on; 0 if it depends on none."""
        seedless = self.kind in SEEDLESS and self.recipe.feature_noise == self.recipe.edge_noise == 0
        return 0 if seedless else self.recipe.training.seed


@dataclass(frozen=True)
class Dataset:
    """Data that runs are measured on, and how to load them again."""

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
        """Describe the data that ``load`` returns; raise if they do not allow one of the protocols for their task."""
        data = load()
        dataset = cls(str(data.name), fingerprint(data), source, load, task_of(data))
        for name in protocols(dataset.task):
            if name != RUN_TIME:
                resolve("protocol", name).check(data)
                dataset._digests[name] = resolve("protocol", name).digest(data)
        return dataset

    def digest(self, protocol: str) -> str:
        """Hash a protocol's settings and splits of these data: a stored score counts if it has the same hash."""
        if protocol not in self._digests:
            self._digests[protocol] = resolve("protocol", protocol).digest(self.load())
        return self._digests[protocol]


@dataclass(frozen=True)
class Cell:
    """One run: a variant on a data set. Its key is a hash of kind, identity, data and seed."""

    dataset: Dataset
    variant: Variant
    key: str
    identity: Mapping[str, Any]

    @classmethod
    def of(cls, dataset: Dataset, variant: Variant, **more: Any) -> Cell:
        """Make a run; ``more`` is what its key depends on beside the recipe."""
        identity = {**variant.decisive, **more}
        return cls(dataset, variant, run_key(variant.kind, identity, dataset.fingerprint, variant.seed), identity)

    @property
    def title(self) -> str:
        return f"{self.dataset.name}, {self.variant.label}, seed {self.variant.seed}"

    @property
    def epochs(self) -> int:
        return self.variant.recipe.training.epochs if self.variant.kind in ("trained", "timed") else 0


Job = tuple[Cell, ...]  # cells that are measured together: one, or all that are timed in turns


@dataclass(frozen=True)
class Plan:
    """All runs of a study, and the protocols that score them."""

    study: str
    protocols: tuple[str, ...]
    jobs: tuple[Job, ...]

    @property
    def cells(self) -> list[Cell]:
        return [cell for job in self.jobs for cell in job]
