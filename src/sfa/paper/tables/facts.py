"""Tables 11 to 13: statistics, hyper-parameters and settings, which are counted or read, not measured."""

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import remove_self_loops, to_undirected

from sfa.errors import InputError
from sfa.methods import Method
from sfa.paper.tables.definition import column_keys, dataset_title, load, method_title, read
from sfa.paper.tables.model import Cell, Measured, Row, Table
from sfa.paper.tables.selection import Selection
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes

STATISTICS, HYPER_PARAMETERS, SETTINGS = 11, 12, 13
SOURCES = {STATISTICS: "counted", HYPER_PARAMETERS: "recipe `paper`", SETTINGS: "read from our methods"}
METHODS = {"sfa-infonce": "grace", "sfa-bt": "g-bt"}  # names of methods that have other keys in the paper

Counts = Mapping[str, Mapping[str, int]]


def facts_table(number: int, selection: Selection, counted: Counts | None = None) -> Table:
    """Return a table, of the selected data sets or methods; ``counted`` are statistics that were counted anew."""
    selection.check(number, "node", many_methods=number == SETTINGS)
    if number == SETTINGS and selection.datasets:
        raise InputError(f"Table {number} is of methods, not of data sets: leave out --datasets.")
    if number != SETTINGS and selection.methods:
        raise InputError(f"Table {number} is of data sets, not of methods: leave out --method.")
    paper, columns, known = load(number), column_keys(number), {**shipped_counts(), **(counted or {})}
    chosen = selection.methods if number == SETTINGS else selection.datasets
    title_of = method_title if number == SETTINGS else dataset_title
    printed = [row.key for row in paper.rows]
    more = chosen or [key for key in read(number)["more"] if number != STATISTICS or key in known]
    rows = [row for row in paper.rows if not chosen or METHODS.get(row.key, row.key) in chosen]
    for key in (key for key in more if key not in printed):
        rule = bool(rows) and not rows[-1].ours
        rows.append(Row(title_of(key), True, rule_above=rule, key=key, cells=(Cell(),) * len(columns)))

    def recount(*datasets: str) -> str:
        return Selection(datasets=datasets).table_command(STATISTICS, "--run", *selection.more_words)

    filled = []
    for row in rows:
        values, cells = _values(number, row.key, known), []
        for column, cell in zip(columns, row.cells, strict=True):
            if column in values:
                cell = replace(cell, measured=_fact(values[column], SOURCES[number], column))
            elif number != STATISTICS:
                cell = replace(cell, missing=f"there is no recipe paper/{row.key}")
            elif column != "type":
                cell = replace(cell, command=recount(row.key))
            cells.append(cell)
        filled.append(replace(row, cells=tuple(cells)))
    missing = [key for key in chosen or printed if number == STATISTICS and key not in known]
    return replace(
        paper,
        rows=tuple(filled),
        notes=(*read(number)["our_notes"], *paper.notes),
        command=selection.table_command(number),
        commands=(recount(*missing),) if missing else (),
    )


def _values(number: int, key: str, known: Counts) -> Mapping[str, Any]:
    """Return the values of a row by column; none if they are not known."""
    if number == STATISTICS:
        return known.get(key, {})
    if number == SETTINGS:
        name = METHODS.get(key, key)
        return {"spectral": "✓" if key in METHODS else "/", "augmentation": augmentation(name), "loss": loss(name)}
    if f"paper/{key}" not in shipped_recipes():
        return {}
    recipe = load_recipe(f"paper/{key}")
    encoder: Any = recipe.encoder
    spectral_map: Any = recipe.spectral
    return {
        "hidden": encoder["hidden"],
        "projection": recipe.method["projection"],
        "lr": recipe.training.lr,
        "epochs": recipe.training.epochs,
        "k": spectral_map["iterations"],
        "tau": recipe.method["tau"],
        "activation": read(number)["activations"][encoder["activation"]],
    }


def _fact(value: float | str, source: str, column: str) -> Measured:
    text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return Measured(math.nan if isinstance(value, str) else float(value), None, (), 0, source, column, text=text)


def count(graph: Data) -> dict[str, int]:
    """Return the statistics of a graph; an edge is a pair of nodes, in whichever direction and however often."""
    both_ways = to_undirected(remove_self_loops(graph.edge_index)[0], num_nodes=graph.num_nodes)
    return {
        "edges": both_ways.shape[1] // 2,
        "nodes": int(graph.num_nodes),
        "attributes": int(graph.num_features),
        "classes": len(torch.unique(graph.y[graph.y >= 0])),
    }


def shipped_counts() -> Counts:
    """Return the statistics that are shipped with sfa, by data set."""
    found: Counts = json.loads(files("sfa.paper").joinpath("measured/counts.json").read_text(encoding="utf-8"))
    return found


def augmentation(name: str) -> str:
    """Return the abbreviation of a method's graph augmentation in the paper."""
    section = Recipe.parse({"method": name}).augmentation
    if not isinstance(section, dict):
        return "/"
    drops = {"edge_drop": "ER", "feature_drop": "FM"} if section["name"] == "diffusion" else {}
    parts = [word for option, word in drops.items() if any(np.atleast_1d(section[option]))]
    parts += [read(SETTINGS)["augmentations"].get(section["name"], str(section["name"]))]
    parts += ["NS"] * ("ShuffleFeatures" in _functions(name))  # of MVGRL, beside its views
    return "+".join(parts)


def loss(name: str) -> str:
    """Return the abbreviation of a method's loss in the paper."""
    found = [word for function, word in read(SETTINGS)["losses"].items() if function in _functions(name)]
    return "+".join(dict.fromkeys(found)) or "/"


def _functions(name: str) -> set[str]:
    """Return the names that the methods of a method's class and of its base classes use."""
    found: set[str] = set()
    for cls in inspect.getmro(resolve("method", name)):
        if cls is not Method and cls.__module__.startswith("sfa.methods"):
            codes = [function.__code__ for function in vars(cls).values() if inspect.isfunction(function)]
            found |= {used for code in codes for used in code.co_names}
    return found
