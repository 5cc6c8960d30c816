"""What a table of the paper asks for, in terms of studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sfa.levels import Level
from sfa.registry import resolve

HONEST = "honest-10-10-80"
GRAPHS = ("cora", "citeseer", "pubmed", "photo", "computers", "wikics")
"""The paper's, of which a table shows those that were measured."""
SETS = {
    "wikics": "WikiCS",
    "computers": "Am-Comput.",
    "photo": "Am-Photo",
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "nci1": "NCI1",
    "proteins": "PROTEINS",
    "dd": "DD",
    "mutag": "MUTAG",
    "digits": "Digits",
    "cifar10": "CIFAR10",
    "cifar100": "CIFAR100",
    "cifar10-subset": "CIFAR10, subset",
    "cifar100-subset": "CIFAR100, subset",
}
"""Data sets as tables call them; others are called as on the command line."""

METHOD_TITLES = {
    "g-bt": "G-BT",
    "cca-ssg": "CCA-SSG",
    "node2vec": "node2vec",
    "joao-v2": "JOAOv2",
    "lp-info": "LP-Info",
    "graph-bt": "Graph-BT",
    "graph-bgrl": "Graph-BGRL",
    "barlow-twins": "Barlow Twins",
}
"""Methods as tables call them, where that is not the name of the class."""


@dataclass(frozen=True)
class Line:
    """A variant of a study as a line, or column, of a table."""

    variant: str = ""
    """What the study calls it; nothing, if no study has it."""
    label: str | None = None
    """What the table calls it; ``None``: as the paper does."""
    method: str | None = None
    """The one that the study is asked for; the first of the level if ``None``."""
    recipe: str | None = None
    """A recipe that it starts from in place of the method's own."""
    only: tuple[str, ...] = ()
    """The data sets that it is for; all, if there are none here."""
    missing: str | None = None
    """Why no study has it."""
    optional: bool = False
    """Shown only where something was measured of it, or where it is asked for."""


@dataclass(frozen=True)
class Point:
    """What one cell of a table shows: a line on a data set, by a metric."""

    line: Line
    dataset: str
    metric: str
    """Empty, if no protocol measures it."""


@dataclass(frozen=True)
class Band:
    """A row of a table: the key under which the paper's values of it are found, and what its cells show."""

    key: str
    label: str | None
    """``None``: as the paper has it."""
    points: tuple[Point, ...]
    optional: bool = False


@dataclass(frozen=True)
class Head:
    """A column of a table: the key under which the paper's values of it are found."""

    key: str
    label: str | None
    optional: bool = False


@dataclass(frozen=True)
class Grid:
    """The cells of a table before anything is known of their values."""

    columns: tuple[Head, ...]
    rows: tuple[Band, ...]


Layout = Callable[["Definition", Sequence[str], Mapping[str, Line]], Grid]
"""Where data sets and lines go in a table."""


@dataclass(frozen=True)
class Definition:
    """A table whose cells are measured by a study."""

    number: int
    study: str
    protocol: str
    datasets: tuple[str, ...]
    """The paper's, in its order."""
    lines: Mapping[str, Line]
    """By the paper's keys, then ours."""
    layout: Layout
    more_datasets: tuple[str, ...] = ()
    """Ours, shown where something was measured on them."""
    metrics: Mapping[str, str] = field(default_factory=lambda: {"": "accuracy"})
    """What the columns of a data set are called, if it has several, and what a protocol calls it."""
    unmeasured: str = ""
    """Why a metric that no protocol measures is missing."""
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """What its data sets are of."""
        level: Level = resolve("dataset", self.datasets[0]).level
        return level

    @property
    def many_methods(self) -> bool:
        """Whether its lines are methods."""
        return any(line.method for line in self.lines.values())


def variants_by_sets(definition: Definition, datasets: Sequence[str], lines: Mapping[str, Line]) -> Grid:
    """A row for each variant, a column for each data set and metric."""
    places = [(dataset, metric) for dataset in datasets for metric in definition.metrics]
    return Grid(
        columns=tuple(_head(definition, dataset, metric) for dataset, metric in places),
        rows=tuple(
            Band(
                key,
                line.label,
                tuple(Point(line, dataset, definition.metrics[metric]) for dataset, metric in places),
                optional=line.optional,
            )
            for key, line in lines.items()
        ),
    )


def _head(definition: Definition, dataset: str, metric: str) -> Head:
    own = dataset in definition.datasets
    if own and len(definition.datasets) == 1 and metric:
        return Head(metric, None)
    key = f"{dataset}/{metric}" if metric else dataset
    label = f"{title_of(dataset)} {metric.upper() if len(metric) == 3 else metric}".strip()
    return Head(key, None if own else label, optional=not own)


def sets_by_variants(definition: Definition, datasets: Sequence[str], lines: Mapping[str, Line]) -> Grid:
    """A row for each data set, a column for each variant."""
    (metric,) = definition.metrics.values()
    return Grid(
        columns=tuple(Head(key, line.label, line.optional) for key, line in lines.items()),
        rows=tuple(
            Band(
                dataset,
                None if dataset in definition.datasets else title_of(dataset),
                tuple(Point(line, dataset, metric) for line in lines.values()),
                optional=dataset not in definition.datasets,
            )
            for dataset in datasets
        ),
    )


def sets_by_noise(definition: Definition, datasets: Sequence[str], lines: Mapping[str, Line]) -> Grid:
    """Two rows for each data set, without and with SFA (whose lines' keys end in ``-sfa``), a column for each noise."""
    (metric,) = definition.metrics.values()
    columns = [key for key in lines if not key.endswith("-sfa")]
    return Grid(
        columns=tuple(Head(key, lines[key].label) for key in columns),
        rows=tuple(
            Band(
                f"{dataset}{suffix}",
                None if dataset in definition.datasets else f"{title_of(dataset)} {words}",
                tuple(Point(lines[f"{key}{suffix}"], dataset, metric) for key in columns),
                optional=dataset not in definition.datasets,
            )
            for dataset in datasets
            for suffix, words in (("", "w/o SFA"), ("-sfa", "with SFA"))
        ),
    )


def title_of(dataset: str) -> str:
    """A data set as tables call it."""
    return SETS.get(dataset, dataset)


def method_title(name: str) -> str:
    """A method as tables call it."""
    return METHOD_TITLES.get(name) or str(resolve("method", name).__name__)


def labelled(variants: Mapping[str, str]) -> dict[str, Line]:
    """Lines that the paper has, by its keys, with what the study calls them."""
    return {key: Line(variant) for key, variant in variants.items()}
