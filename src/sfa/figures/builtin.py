"""Register the built-in figures, in the order of `sfa list figures`."""

from __future__ import annotations

from sfa.figures.alignment_by_dataset import DATASETS, draw_alignment_by_dataset, tell_of_alignment_by_dataset
from sfa.figures.named import NamedFigure, Takes
from sfa.figures.needed_run import plain_and_spectral
from sfa.figures.run_alignment import draw_alignment, tell_of_alignment
from sfa.figures.run_spectrum import draw_spectrum_evolution, tell_of_spectrum
from sfa.figures.run_time import draw_run_time, tell_of_run_time
from sfa.figures.theory import (
    draw_bound,
    draw_density,
    draw_implicit_steps,
    draw_levelling,
    draw_model,
    draw_power_law,
    draw_push_forward,
    draw_simulation,
    draw_surrogate_error,
    draw_toy,
    draw_variants,
    tell_of_bound,
    tell_of_density,
    tell_of_implicit_steps,
    tell_of_levelling,
    tell_of_model,
    tell_of_power_law,
    tell_of_push_forward,
    tell_of_simulation,
    tell_of_toy,
    tell_of_variants,
)
from sfa.registry import register

_FIGURES: dict[str, NamedFigure] = {
    "implicit-steps": NamedFigure(
        "Two toy views through the layer: unaligned, rebalanced, with noise, aligned.",
        Takes.NO_RUN,
        draw_implicit_steps,
        number="1",
        caption="Singular values of unaligned views are rebalanced, noise is injected, and the singular vectors are "
        "aligned with equalised emphasis.",
        tell=tell_of_implicit_steps,
    ),
    "model": NamedFigure(
        "The model from graph to loss, and a spectrum before and after Algorithm 1.",
        Takes.NO_RUN,
        draw_model,
        number="2",
        caption="Two views, shared encoders, SFA, projection head, contrastive loss; SFA partially equalises the "
        "spectrum of each feature map and injects noise.",
        tell=tell_of_model,
    ),
    "toy": NamedFigure(
        "The toy spectrum: density, push-forward function and Algorithm 1 in one picture.",
        Takes.NO_RUN,
        draw_toy,
        number="3",
        caption="For k = 1 and 1 ≤ σ₁ ≤ 3, φ is around 0.8 with a high deviation; for k ≥ 2 both effects decline; "
        "theory and Algorithm 1 match.",
        tell=tell_of_toy,
    ),
    "density": NamedFigure(
        "Law of the share that one call of Algorithm 1 removes of a singular value.",
        Takes.NO_RUN,
        draw_density,
        number="3a",
        caption="Distribution of z given σ₁ = 2.",
        tell=tell_of_density,
    ),
    "push-forward": NamedFigure(
        "Where the leading singular value goes in expectation, and its deviation.",
        Takes.NO_RUN,
        draw_push_forward,
        number="3b",
        caption="Expected value φ(σ₁, k) and its deviation for 0 ≤ σ₁ ≤ 3.",
        tell=tell_of_push_forward,
    ),
    "simulation": NamedFigure(
        "Algorithm 1 itself on random matrices, beside the theory.",
        Takes.NO_RUN,
        draw_simulation,
        number="3c",
        caption="The same by Algorithm 1 on a random matrix.",
        tell=tell_of_simulation,
    ),
    "run-time": NamedFigure(
        "Seconds per epoch without SFA and with k power iterations.",
        Takes.TIMES,
        draw_run_time,
        number="4",
        caption="Running time per epoch; the cost of SFA for k < 8 is negligible.",
        tell=tell_of_run_time,
    ),
    "spectrum": NamedFigure(
        "Singular values of runs' feature maps, before and after the spectral map, over the epochs.",
        Takes.RUNS,
        draw_spectrum_evolution,
        number="5",
        caption="Spectrum of H̃ when training on Cora with SFA: the gap between consecutive singular values decreases.",
        tell=tell_of_spectrum,
        runs=plain_and_spectral("cora"),
    ),
    "alignment": NamedFigure(
        "Distance between the feature maps of the two views over the epochs, of one or several runs.",
        Takes.RUNS,
        draw_alignment,
        number="6",
        caption="Alignment of the feature maps of two views, lower is better: SFA achieves a better one.",
        tell=tell_of_alignment,
        runs=plain_and_spectral("cora"),
    ),
    "variants": NamedFigure(
        "Push-forward functions of SFA and of its rivals.",
        Takes.NO_RUN,
        draw_variants,
        number="7",
        caption="SFA, MaxExp(F) and Grassmann and the noise they inject; Power Norm. and Power Norm.* resemble "
        "MaxExp(F) and SFA.",
        tell=tell_of_variants,
    ),
    "bound": NamedFigure(
        "Push-forward function under the paper's bound, which can fail, and under ours.",
        Takes.NO_RUN,
        draw_bound,
        number="8",
        caption="φ(σ₁; k) lies below min(σ₁, max of the others).",
        tell=tell_of_bound,
    ),
    "alignment-by-dataset": NamedFigure(
        "Distance between the two views over the epochs, a column for each data set.",
        Takes.RUNS,
        draw_alignment_by_dataset,
        number="9",
        caption="Improved alignment on CiteSeer and WikiCS, lower is better.",
        tell=tell_of_alignment_by_dataset,
        runs=plain_and_spectral(*DATASETS),
    ),
    "power-law": NamedFigure(
        "How fast directions fade from the power iteration.",
        Takes.NO_RUN,
        draw_power_law,
        number="10",
        caption="(σᵢ/σ₁)²ᵏ follows a power law.",
        tell=tell_of_power_law,
    ),
    "levelling": NamedFigure(
        "The same levelling of a spectrum by harsh and by gentle passes of the layer.",
        Takes.NO_RUN,
        draw_levelling,
        tell=tell_of_levelling,
    ),
    "surrogate-error": NamedFigure(
        "How far the paper's Gamma surrogate is from the exact law.", Takes.NO_RUN, draw_surrogate_error
    ),
}

for _name, _figure in _FIGURES.items():
    register("figure", _name, _figure)
