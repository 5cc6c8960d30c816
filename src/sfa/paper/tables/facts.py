"""Tables 11 to 13: statistics, hyper-parameters and settings, which are counted or read, not measured."""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from sfa.methods import Method
from sfa.paper.tables.definition import column_keys, dataset_title, load, method_title, read
from sfa.paper.tables.model import Cell, Measured, Row, Table
from sfa.paper.tables.selection import Selection
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes

if TYPE_CHECKING:
    from torch_geometric.data import Data

STATISTICS, HYPER_PARAMETERS, SETTINGS = 11, 12, 13
"""The numbers of the tables."""
LINES = {"sfa-infonce": "grace", "sfa-bt": "g-bt"}
"""Methods by the paper's keys, where these are others."""


def _fact(value: float | str, source: str, column: str) -> Cell:
    """Return a cell with a value that depends on no seed; ``source`` says where it was read."""
    number = math.nan if isinstance(value, str) else float(value)
    text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return Cell(measured=Measured(number, None, (), 0, source, column, text=text))


def _make(
    number: int,
    value_of: Callable[[str, str], Cell],
    shown: Sequence[str],
    title_of: Callable[[str], str],
    selection: Selection,
    commands: Sequence[str] = (),
) -> Table:
    """Return a table with the cells that ``value_of`` gives for the keys of rows and columns.

    ``shown`` are the keys of the rows; those that the paper does not have come last, as ``title_of`` calls them.
    """
    paper, columns = load(number), column_keys(number)
    rows = [row for row in paper.rows if row.key in shown]
    more = [Row(title_of(key), ours=True, key=key) for key in shown if key not in {row.key for row in paper.rows}]
    if rows and more:
        more[0] = replace(more[0], rule_above=True)
    filled = []
    for row in (*rows, *more):
        own = [value_of(row.key, column) for column in columns]
        printed = row.cells or (Cell(),) * len(columns)
        cells = (
            replace(cell, published=one.published, best=one.best, note=one.note)
            for cell, one in zip(own, printed, strict=True)
        )
        filled.append(replace(row, cells=tuple(cells)))
    notes = (*read(number)["our_notes"], *paper.notes)
    command = selection.command(number)
    return replace(paper, rows=tuple(filled), notes=notes, command=command, commands=tuple(commands))


def count(graph: Data) -> dict[str, int]:
    """Return the statistics of one graph; an edge is a pair of nodes, whichever way and however often it is given."""
    import torch

    low, high = graph.edge_index.min(0).values, graph.edge_index.max(0).values
    pairs = torch.unique(low[low < high] * graph.num_nodes + high[low < high])
    return {
        "edges": len(pairs),
        "nodes": int(graph.num_nodes),
        "attributes": int(graph.num_features),
        "classes": len(torch.unique(graph.y[graph.y >= 0])),
    }


@cache
def shipped_counts() -> dict[str, dict[str, int]]:
    """Return counts that came with sfa, by data set."""
    file = files("sfa.paper").joinpath("measured/counts.json")
    found: dict[str, dict[str, int]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def statistics_table(counted: Mapping[str, Mapping[str, int]], selection: Selection, more: Sequence[str] = ()) -> Table:
    """Return table 11 with counts by data set, of those selected or of all; ``more`` words end commands."""
    paper = [row.key for row in load(STATISTICS).rows]
    shown = selection.datasets or (*paper, *(name for name in read(STATISTICS)["more"] if name in counted))
    missing = tuple(name for name in shown if name not in counted)

    def count_again(*datasets: str) -> str:
        return Selection(datasets=datasets).command(STATISTICS, ("--run", *more))

    def value_of(name: str, column: str) -> Cell:
        if column == "type":
            return Cell()
        return _fact(counted[name][column], "counted", column) if name in counted else Cell(command=count_again(name))

    commands = [count_again(*missing)] if missing else []
    return _make(STATISTICS, value_of, shown, dataset_title, selection, commands)


def hyper_parameters_table(selection: Selection) -> Table:
    """Return table 12 for the data sets selected, or for all that have a recipe ``paper``."""

    def value_of(dataset: str, column: str) -> Cell:
        name = f"paper/{dataset}"
        if name not in shipped_recipes():
            return Cell(missing=f"there is no recipe {name}")
        recipe = load_recipe(name)
        encoder, spectral = recipe.encoder, recipe.spectral
        assert isinstance(encoder, dict)
        assert isinstance(spectral, dict)
        values: dict[str, float | str] = {
            "hidden": encoder["hidden"],
            "projection": recipe.method["projection"],
            "lr": recipe.training.lr,
            "epochs": recipe.training.epochs,
            "k": spectral["iterations"],
            "tau": recipe.method["tau"],
            "activation": read(HYPER_PARAMETERS)["activations"][encoder["activation"]],
        }
        return _fact(values[column], "recipe `paper`", column)

    every = [*(row.key for row in load(HYPER_PARAMETERS).rows), *read(HYPER_PARAMETERS)["more"]]
    return _make(HYPER_PARAMETERS, value_of, selection.datasets or every, dataset_title, selection)


def settings_table(selection: Selection) -> Table:
    """Return table 13, augmentation and loss of the baselines, for the methods selected, or for all."""

    def value_of(key: str, column: str) -> Cell:
        name = LINES.get(key, key)
        if column == "spectral":
            return _fact("✓" if key in LINES else "/", "read from our methods", column)
        found = augmentation(name) if column == "augmentation" else loss(name)
        return _fact(found, "read from our methods", column)

    paper = [row.key for row in load(SETTINGS).rows]
    chosen = [key for key in paper if not selection.methods or LINES.get(key, key) in selection.methods]
    more = [name for name in selection.methods or read(SETTINGS)["more"] if name not in paper]
    return _make(SETTINGS, value_of, [*chosen, *more], method_title, selection)


def augmentation(name: str) -> str:
    """Return what a method does to a graph, in the paper's letters."""
    section = Recipe.parse({"method": name}).augmentation
    if not isinstance(section, dict):
        return "/"
    drops = {"edge_drop": "ER", "feature_drop": "FM"} if section["name"] == "diffusion" else {}
    parts = [word for option, word in drops.items() if any(np.atleast_1d(section[option]))]
    parts += [read(SETTINGS)["augmentations"].get(section["name"], str(section["name"]))]
    parts += ["NS"] if "ShuffleFeatures" in _functions(name) else []  # of MVGRL, beside its views
    return "+".join(parts)


def loss(name: str) -> str:
    """Return what a method minimises, in the paper's letters."""
    found = [word for function, word in read(SETTINGS)["losses"].items() if function in _functions(name)]
    return "+".join(dict.fromkeys(found)) or "/"


def _functions(name: str) -> set[str]:
    """Return the names of all that a method's module, and those of the classes it is made of, have at hand."""
    modules = {cls.__module__ for cls in inspect.getmro(resolve("method", name)) if cls is not Method}
    return {known for module in modules if module.startswith("sfa.methods") for known in vars(sys.modules[module])}
