"""Tables that compare methods: classification of nodes, graphs and images, and clustering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfa.levels import Level
from sfa.methods import available_methods
from sfa.tables import hyper_parameters
from sfa.tables.definition import GRAPHS, HONEST, Definition, Line, method_title, variants_by_sets


def _plain(*methods: str) -> dict[str, Line]:
    """Lines of methods that the paper has, under their names."""
    return {method: Line(method, method=method) for method in methods}


def _with_sfa(**methods: str) -> dict[str, Line]:
    """Lines of methods with SFA that the paper has, by its keys: ``infonce="grace"`` is ``sfa-infonce``."""
    return {f"sfa-{key.replace('_', '-')}": Line(f"{method} + SFA", method=method) for key, method in methods.items()}


def _ours(level: Level, lines: Iterable[Line], *, optional: bool = False) -> dict[str, Line]:
    """Lines of every method of a level, without and with SFA, that are not there yet."""
    there = {line.variant for line in lines}
    every = {
        f"{name}{suffix}": Line(f"{name}{suffix}", f"{method_title(name)}{suffix}", method=name, optional=optional)
        for name in available_methods(level)
        for suffix in ("", " + SFA")
    }
    return {key: line for key, line in every.items() if line.variant not in there}


def _yardsticks(**labels: str) -> dict[str, Line]:
    """Lines of what learns nothing, or learns from the labels, by what the study calls it."""
    return {name.replace("_", " "): Line(name.replace("_", " "), label) for name, label in labels.items()}


def _node_classification() -> Definition:
    paper = {
        "raw-features": Line("raw features"),
        **_plain("deepwalk", "dgi", "mvgrl", "grace", "gca", "sugrl", "merit", "bgrl", "g-bt", "costa"),
        **_with_sfa(bt="g-bt", infonce="grace"),
    }
    settings = Line(
        "grace + SFA",
        "SFA_InfoNCE, the paper's hyper-parameters",
        method="grace",
        recipe="paper",
        only=hyper_parameters.DATASETS,
    )
    return Definition(
        number=1,
        study="methods",
        protocol=HONEST,
        datasets=("wikics", "computers", "photo", "cora", "citeseer", "pubmed"),
        lines={
            **paper,
            "paper": settings,
            **_ours("node", paper.values()),
            **_yardsticks(untrained_encoder="GRACE's encoder, untrained"),
            "supervised MLP": Line("supervised MLP", "MLP, trained with the labels"),
            "supervised GCN": Line("supervised GCN", "GCN, trained with the labels"),
        },
        layout=variants_by_sets,
        notes=(
            "Each method has its own recipe for the data set: its authors' settings, where they gave some. "
            "SFA_InfoNCE is GRACE with SFA and SFA_BT is G-BT with SFA, by the recipes of GRACE and G-BT; the paper's "
            "own hyper-parameters (table 12) have a line of ours.",
            "The recipes of node2vec have p = q = 1, the middle of its authors' grid, and with these it is DeepWalk.",
        ),
    )


def _ogbn_arxiv() -> Definition:
    paper = {
        "mlp": Line("supervised MLP"),
        **_plain("node2vec", "mvgrl", "dgi", "sugrl", "merit", "grace", "g-bt", "costa"),
        **_with_sfa(infonce="grace"),
    }
    return Definition(
        number=4,
        study="methods",
        protocol="public",
        datasets=("ogbn-arxiv",),
        lines={
            **paper,
            **_ours("node", paper.values(), optional=True),
            "raw features": Line("raw features", "Raw features", optional=True),
            "supervised GCN": Line("supervised GCN", "GCN, trained with the labels", optional=True),
        },
        layout=variants_by_sets,
        metrics={"validation": "", "test": "accuracy"},
        unmeasured="not kept: the ledger has test values alone",
        notes=("Validation accuracies choose the probe's C; no protocol keeps them as a result.",),
    )


def _image_classification() -> Definition:
    paper: dict[str, Line] = {}
    for method, key in (("simclr", "simclr"), ("barlow-twins", "bt"), ("simsiam", "simsiam"), ("swav", "swav")):
        paper |= {**_plain(method), **_with_sfa(**{key: method})}
    return Definition(
        number=5,
        study="methods",
        protocol="image-linear",
        datasets=("cifar10", "cifar100", "imagenet-100"),
        more_datasets=("cifar10-subset", "cifar100-subset", "digits"),
        lines={
            **paper,
            **_ours("image", paper.values()),
            **_yardsticks(raw_pixels="Raw pixels", untrained_encoder="SimCLR's encoder, untrained"),
        },
        layout=variants_by_sets,
        notes=(
            "Columns of ours are small sets with small encoders and few epochs, for a CPU (`sfa list recipes`); they "
            "say nothing of the paper's values beside them.",
        ),
    )


def _graph_classification() -> Definition:
    paper = {**_plain("graphcl", "lp-info", "joao", "simgrace"), **_with_sfa(infonce="graphcl")}
    return Definition(
        number=6,
        study="methods",
        protocol="tu-svm-10fold",
        datasets=("nci1", "proteins", "dd"),
        more_datasets=("mutag", "nci109", "enzymes", "ptc-mr", "imdb-binary", "imdb-multi", "reddit-binary", "collab"),
        lines={
            **paper,
            **_ours("graph", paper.values()),
            **_yardsticks(label_histogram="Histogram of node labels", degree_histogram="Histogram of degrees"),
            "WL subtree counts": Line("WL subtree counts", "Weisfeiler–Lehman subtree counts"),
            **_yardsticks(untrained_encoder="GraphCL's encoder, untrained"),
        },
        layout=variants_by_sets,
    )


def _clustering(number: int, lines: Mapping[str, Line], metrics: Mapping[str, str]) -> Definition:
    return Definition(
        number=number,
        study="clustering",
        protocol="clustering",
        datasets=("computers", "cora", "citeseer"),
        more_datasets=GRAPHS,
        lines={**lines, **_ours("node", lines.values(), optional=True)},
        layout=variants_by_sets,
        metrics=metrics,
    )


def _clustering_agreement() -> Definition:
    lines = {
        "k-means": Line("raw features"),
        **_plain("gae", "vgae", "grace", "g-bt"),
        **_with_sfa(bt="g-bt", infonce="grace"),
    }
    return _clustering(14, lines, {"nmi": "nmi", "ari": "ari"})


def _clustering_accuracy() -> Definition:
    lines = {"k-means": Line("raw features"), **_plain("gae", "vgae")}
    for method, key in (("merit", ""), ("mvgrl", ""), ("g-bt", "bt"), ("grace", "infonce"), ("sugrl", "")):
        lines |= {**_plain(method), **_with_sfa(**{key or method: method})}
    return _clustering(15, lines, {"": "accuracy"})


METHOD_TABLES = (
    _node_classification(),
    _ogbn_arxiv(),
    _image_classification(),
    _graph_classification(),
    _clustering_agreement(),
    _clustering_accuracy(),
)
