"""Runs: recipes, training, scores, embeddings, comparisons and reports, as notebooks and the command line use them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # isort: off
    from sfa.run.embed import embed_run as embed_run
    from sfa.run.evaluate import compare_runs as compare_runs, evaluate_run as evaluate_run
    from sfa.run.recipe import Recipe as Recipe, load_recipe as load_recipe
    from sfa.run.report import report_run as report_run
    from sfa.run.run import Run as Run, open_run as open_run
    from sfa.run.shipped import shipped_recipes as shipped_recipes
    from sfa.run.train import train_run as train_run

_HOMES = {"Recipe": "recipe", "load_recipe": "recipe", "shipped_recipes": "shipped", "Run": "run", "open_run": "run"}
_HOMES |= {"evaluate_run": "evaluate", "compare_runs": "evaluate"}
_HOMES |= {"train_run": "train", "embed_run": "embed", "report_run": "report"}


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: a recipe needs nothing of a report."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sfa.run' has no attribute {name!r}")
    return getattr(import_module(f"sfa.run.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
