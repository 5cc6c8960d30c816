"""From a name to a figure that `sfa figure` draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from matplotlib.figure import Figure

from sfa.errors import unknown_name
from sfa.figures.run_alignment import draw_alignment
from sfa.figures.run_spectrum import draw_spectrum_evolution
from sfa.figures.theory import (
    draw_bound,
    draw_density,
    draw_power_law,
    draw_push_forward,
    draw_simulation,
    draw_surrogate_error,
    draw_variants,
)


class Takes(Enum):
    """How many runs a figure is drawn from."""

    NO_RUN = "no run"
    ONE_RUN = "exactly one run"
    RUNS = "one run or more"

    def allows(self, count: int) -> bool:
        """Whether so many are right."""
        return {Takes.NO_RUN: count == 0, Takes.ONE_RUN: count == 1, Takes.RUNS: count >= 1}[self]


@dataclass(frozen=True)
class NamedFigure:
    """A figure as `sfa list figures` shows it."""

    description: str
    takes: Takes
    draw: Callable[..., Figure]
    """Called with a :class:`~sfa.figures.run_log.RunLog` per run: ``draw()``, ``draw(run)`` or ``draw(*runs)``."""


FIGURES: dict[str, NamedFigure] = {
    "spectrum": NamedFigure(
        "Singular values of a run's feature maps, before and after the spectral map, over the epochs.",
        Takes.ONE_RUN,
        draw_spectrum_evolution,
    ),
    "alignment": NamedFigure(
        "Distance between the feature maps of the two views over the epochs, of one or several runs.",
        Takes.RUNS,
        draw_alignment,
    ),
    "density": NamedFigure(
        "Law of the share that one call of Algorithm 1 removes of a singular value.", Takes.NO_RUN, draw_density
    ),
    "push-forward": NamedFigure(
        "Where the leading singular value goes in expectation, and its deviation.", Takes.NO_RUN, draw_push_forward
    ),
    "simulation": NamedFigure(
        "Algorithm 1 itself on random matrices, beside the theory.", Takes.NO_RUN, draw_simulation
    ),
    "variants": NamedFigure("Push-forward functions of SFA and of its rivals.", Takes.NO_RUN, draw_variants),
    "bound": NamedFigure(
        "Push-forward function under the paper's bound, which can fail, and under ours.", Takes.NO_RUN, draw_bound
    ),
    "power-law": NamedFigure("How fast directions fade from the power iteration.", Takes.NO_RUN, draw_power_law),
    "surrogate-error": NamedFigure(
        "How far the paper's Gamma surrogate is from the exact law.", Takes.NO_RUN, draw_surrogate_error
    ),
}


def resolve(name: str) -> NamedFigure:
    """The figure called ``name``."""
    if name not in FIGURES:
        raise unknown_name("figure", name, FIGURES)
    return FIGURES[name]
