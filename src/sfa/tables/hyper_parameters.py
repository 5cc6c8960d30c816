"""Table 12, the paper's hyper-parameters beside those of our recipes ``paper``."""

from __future__ import annotations

from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.tables.ask import Ask
from sfa.tables.commands import table_command
from sfa.tables.definition import title_of
from sfa.tables.facts import fact, facts_table
from sfa.tables.model import Cell, Table

NUMBER = 12
DATASETS = ("cora", "citeseer", "computers", "photo", "wikics")
MORE_DATASETS = ("pubmed",)
ACTIVATIONS = {"relu": "ReLU", "prelu": "PReLU", "rrelu": "RReLU", "elu": "ELU"}


def hyper_parameters_table(ask: Ask) -> Table:
    """The table for the data sets asked for, or for all that have such a recipe."""

    def value_of(dataset: str, column: str) -> Cell | None:
        name = f"paper/{dataset}"
        if name not in shipped_recipes():
            return Cell(missing=f"there is no recipe {name}")
        return fact(_read(load_recipe(name), column), source="recipe `paper`", metric=column)

    shown = ask.datasets or (*DATASETS, *MORE_DATASETS)
    return facts_table(
        NUMBER,
        value_of,
        rows=shown,
        ours={name: title_of(name) for name in shown if name not in DATASETS},
        notes=("Ours are those of the recipes `paper`, which `sfa train … --recipe paper` takes.",),
        command=table_command(NUMBER, ask),
    )


def _read(recipe: Recipe, column: str) -> float | str:
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
        "activation": ACTIVATIONS[encoder["activation"]],
    }
    return values[column]
