"""Runs: recipes, training, scores, embeddings, comparisons and reports, as notebooks and the command line use them."""

from typing import TYPE_CHECKING

from sfa.lazy import lazy_names

if TYPE_CHECKING:  # isort: off
    from sfa.run.embed import embed_run as embed_run
    from sfa.run.evaluate import compare_runs as compare_runs, evaluate_run as evaluate_run
    from sfa.run.recipe import Recipe as Recipe, load_recipe as load_recipe
    from sfa.run.report import report_run as report_run
    from sfa.run.run import Run as Run, open_run as open_run
    from sfa.run.shipped import shipped_recipes as shipped_recipes
    from sfa.run.train import train_run as train_run

_MODULES = {"recipe": "Recipe load_recipe", "shipped": "shipped_recipes", "run": "Run open_run", "train": "train_run"}
_MODULES |= {"evaluate": "evaluate_run compare_runs", "embed": "embed_run", "report": "report_run"}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
