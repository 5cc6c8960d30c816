"""Every figure of the paper, by number or name; one is drawn, and its module imported, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfa.errors import InputError
from sfa.registry import is_path, register, registered, resolve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Takes(Enum):
    """What a figure is drawn from."""

    NO_RUN = "no run"
    RUNS = "one run or more"
    TIMES = "run times in the ledger"


@dataclass(frozen=True)
class NamedFigure:
    """A figure as `sfa list figures` shows it."""

    description: str
    takes: Takes
    draw: Callable[..., Figure]
    """Called with a :class:`~sfa.train.run_log.RunLog` per run, or with the entries of a ledger and what the paper
    publishes, or with nothing."""
    number: str | None = None
    """In the paper: ``3``, or ``3a`` of a part."""
    caption: str | None = None
    """The paper's, in short."""
    tell: Callable[..., str] | None = None
    """Called as ``draw`` is: what is seen, in numbers, and whether that is what the caption says."""
    datasets: tuple[str, ...] = ()
    """Of the paper's runs: GRACE by its authors' settings for each of them, without and with SFA."""


def find_figure(name: str) -> NamedFigure:
    """Return the figure of this name, or of this number in the paper."""
    figures = registered("figure")
    if name not in figures and name[:1].isdigit() and not is_path(name):
        found: list[NamedFigure] = [figure for figure in figures.values() if figure.number == name.lower()]
        if not found:
            numbers = ", ".join(figure.number for figure in figures.values() if figure.number is not None)
            raise InputError(
                f"The paper has no figure {name}, or it is drawn as a part of another: there are {numbers}."
            )
        return found[0]
    figure: NamedFigure = resolve("figure", name)
    return figure


def _register(name: str, module: str, description: str, *, takes: Takes = Takes.NO_RUN, **more: Any) -> None:
    """Register a figure that ``draw_<name>`` of a module draws and, of the paper's, ``tell_of_<name>`` tells of."""

    def later(function: str) -> Callable[..., Any]:
        return lambda *material: getattr(import_module(f"{__name__}.{module}"), function)(*material)

    draw, tell = (later(f"{verb}_{name.replace('-', '_')}") for verb in ("draw", "tell_of"))
    told = None if name == "surrogate-error" else tell
    register("figure", name, NamedFigure(description, takes, draw, tell=told, **more))


_register(
    "implicit-steps",
    "implicit_steps",
    "Two toy views through the layer: unaligned, rebalanced, with noise, aligned.",
    number="1",
    caption="Singular values of unaligned views are rebalanced, noise is injected, and the singular vectors are "
    "aligned with equalised emphasis.",
)
_register(
    "model",
    "model",
    "The model from graph to loss, and a spectrum before and after Algorithm 1.",
    number="2",
    caption="Two views, shared encoders, SFA, projection head, contrastive loss; SFA partially equalises the "
    "spectrum of each feature map and injects noise.",
)
_register(
    "toy",
    "toy",
    "The toy spectrum: density, push-forward function and Algorithm 1 in one picture.",
    number="3",
    caption="For k = 1 and 1 ≤ σ₁ ≤ 3, φ is around 0.8 with a high deviation; for k ≥ 2 both effects decline; "
    "theory and Algorithm 1 match.",
)
_register(
    "density",
    "toy",
    "Law of the share that one call of Algorithm 1 removes of a singular value.",
    number="3a",
    caption="Distribution of z given σ₁ = 2.",
)
_register(
    "push-forward",
    "toy",
    "Where the leading singular value goes in expectation, and its deviation.",
    number="3b",
    caption="Expected value φ(σ₁, k) and its deviation for 0 ≤ σ₁ ≤ 3.",
)
_register(
    "simulation",
    "toy",
    "Algorithm 1 itself on random matrices, beside the theory.",
    number="3c",
    caption="The same by Algorithm 1 on a random matrix.",
)
_register(
    "run-time",
    "run_time",
    "Seconds per epoch without SFA and with k power iterations.",
    takes=Takes.TIMES,
    number="4",
    caption="Running time per epoch; the cost of SFA for k < 8 is negligible.",
)
_register(
    "spectrum",
    "runs",
    "Singular values of runs' feature maps, before and after the spectral map, over the epochs.",
    takes=Takes.RUNS,
    number="5",
    caption="Spectrum of H̃ when training on Cora with SFA: the gap between consecutive singular values decreases.",
    datasets=("cora",),
)
_register(
    "alignment",
    "runs",
    "Distance between the feature maps of the two views over the epochs, of one or several runs.",
    takes=Takes.RUNS,
    number="6",
    caption="Alignment of the feature maps of two views, lower is better: SFA achieves a better one.",
    datasets=("cora",),
)
_register(
    "variants",
    "more_theory",
    "Push-forward functions of SFA and of its rivals.",
    number="7",
    caption="SFA, MaxExp(F) and Grassmann and the noise they inject; Power Norm. and Power Norm.* resemble "
    "MaxExp(F) and SFA.",
)
_register(
    "bound",
    "more_theory",
    "Push-forward function under the paper's bound, which can fail, and under ours.",
    number="8",
    caption="φ(σ₁; k) lies below min(σ₁, max of the others).",
)
_register(
    "alignment-by-dataset",
    "runs",
    "Distance between the two views over the epochs, a column for each data set.",
    takes=Takes.RUNS,
    number="9",
    caption="Improved alignment on CiteSeer and WikiCS, lower is better.",
    datasets=("citeseer", "wikics"),
)
_register(
    "power-law",
    "more_theory",
    "How fast directions fade from the power iteration.",
    number="10",
    caption="(σᵢ/σ₁)²ᵏ follows a power law.",
)
_register("levelling", "more_theory", "The same levelling of a spectrum by harsh and by gentle passes of the layer.")
_register("surrogate-error", "more_theory", "How far the paper's Gamma surrogate is from the exact law.")
