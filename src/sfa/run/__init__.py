"""Runs: recipes, training, scores, embeddings, comparisons and reports, as notebooks and the command line use them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfa.run.compare import compare_runs
    from sfa.run.embed import embed_run
    from sfa.run.evaluate import evaluate_run
    from sfa.run.recipe import Recipe, load_recipe
    from sfa.run.report import report_run
    from sfa.run.run import Run, open_run
    from sfa.run.shipped import shipped_recipes
    from sfa.run.train import train_run

__all__ = [
    "Recipe",
    "Run",
    "compare_runs",
    "embed_run",
    "evaluate_run",
    "load_recipe",
    "open_run",
    "report_run",
    "shipped_recipes",
    "train_run",
]

_HOMES = {"Recipe": "recipe", "load_recipe": "recipe", "shipped_recipes": "shipped", "Run": "run", "open_run": "run"}


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: a recipe needs nothing of a report."""
    if name not in __all__:
        raise AttributeError(f"module 'sfa.run' has no attribute {name!r}")
    module = import_module(f"sfa.run.{_HOMES.get(name, name.partition('_')[0])}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
