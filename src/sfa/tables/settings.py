"""Table 13, augmentation and loss of the baselines: read from what our methods are made of."""

from __future__ import annotations

import inspect
import sys

import numpy as np

from sfa.methods import Method
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.tables.ask import Ask
from sfa.tables.commands import table_command
from sfa.tables.definition import method_title
from sfa.tables.facts import fact, facts_table
from sfa.tables.model import Cell, Table

NUMBER = 13
LINES = {
    "dgi": "dgi",
    "mvgrl": "mvgrl",
    "grace": "grace",
    "gca": "gca",
    "bgrl": "bgrl",
    "g-bt": "g-bt",
    "sfa-infonce": "grace",
    "sfa-bt": "g-bt",
}
"""Methods by the paper's keys."""
MORE_METHODS = ("sugrl", "merit", "costa", "cca-ssg")
AUGMENTATIONS = {"uniform": "ER+FM", "adaptive": "ER+FM", "diffusion": "PPR", "shuffle": "NS"}
"""What the paper calls the augmentations by which methods augment a graph."""
LOSSES = {
    "nt_xent": "InfoNCE",
    "info_nce": "InfoNCE",
    "jensen_shannon": "JSD",
    "bootstrap_latent": "BL",
    "barlow_twins": "BT",
    "multiplet": "margin",
    "cca": "CCA",
}
"""Functions that compute a loss, and what the paper calls it, or would."""


def settings_table(ask: Ask) -> Table:
    """The table for the methods asked for, or for all."""

    def value_of(key: str, column: str) -> Cell:
        name = LINES.get(key, key)
        source = "read from our methods"
        if column == "spectral":
            return fact("✓" if key.startswith("sfa-") else "/", source=source, metric=column)
        return fact(augmentation(name) if column == "augmentation" else loss(name), source=source, metric=column)

    shown = [key for key, name in LINES.items() if not ask.methods or name in ask.methods]
    more = [name for name in ask.methods or MORE_METHODS if name not in LINES.values()]
    return facts_table(
        NUMBER,
        value_of,
        rows=[*shown, *more],
        ours={name: method_title(name) for name in more},
        notes=(
            "Ours are read from the methods' options and the functions they call. Every method of ours has the slot "
            "for a spectral map, empty where the line has no ✓. GCA drops by centrality; MVGRL also shuffles nodes, "
            "for its negatives.",
        ),
        command=table_command(NUMBER, ask),
    )


def augmentation(name: str) -> str:
    """What a method does to a graph, in the paper's letters."""
    section = Recipe.parse({"method": name}).augmentation
    if not isinstance(section, dict):
        return "/"
    drops = {"edge_drop": "ER", "feature_drop": "FM"} if section["name"] == "diffusion" else {}
    parts = [word for option, word in drops.items() if any(np.atleast_1d(section[option]))]
    parts += [AUGMENTATIONS.get(section["name"], str(section["name"]))]
    parts += ["NS"] if "ShuffleFeatures" in _functions(name) else []  # of MVGRL, beside its views
    return "+".join(parts)


def loss(name: str) -> str:
    """What a method minimises, in the paper's letters."""
    found = [word for function, word in LOSSES.items() if function in _functions(name)]
    return "+".join(dict.fromkeys(found)) or "/"


def _functions(name: str) -> set[str]:
    """Names of all that a method's module, and those of the classes it is made of, have at hand."""
    modules = {cls.__module__ for cls in inspect.getmro(resolve("method", name)) if cls is not Method}
    return {known for module in modules if module.startswith("sfa.methods") for known in vars(sys.modules[module])}
