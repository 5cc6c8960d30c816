"""Every figure of the paper, and some more, by number or name."""

from sfa.paper.figures import implicit_steps, model, more_theory, run_time, runs, toy
from sfa.paper.figures.named import FIGURES, NamedFigure, Takes, find_figure
from sfa.registry import register

__all__ = ["NamedFigure", "Takes", "find_figure", "implicit_steps", "model", "more_theory", "run_time", "runs", "toy"]

for _name, _figure in sorted(FIGURES.items(), key=lambda item: item[1].order):
    register("figure", _name, _figure)
