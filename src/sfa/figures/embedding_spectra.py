"""The spectrum of embeddings with and without a spectral map, side by side."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from torch import Tensor

from sfa.evaluate import effective_rank, singular_values
from sfa.figures.style import PLAIN, SPECTRAL, style


@style()
def draw_spectra(pairs: Mapping[str, tuple[Tensor, Tensor]]) -> Figure:
    """One panel per pair ``title → (embeddings without, embeddings with the map)``: σᵢ/σ₁ in falling order."""
    figure = Figure(figsize=(4.6 * len(pairs), 3.4), layout="constrained")
    panels = figure.subplots(1, len(pairs), sharey=True, squeeze=False)[0]
    for panel, (title, embeddings) in zip(panels, pairs.items(), strict=True):
        for h, label, colour in zip(embeddings, ("without SFA", "with SFA"), (PLAIN, SPECTRAL), strict=True):
            sigma = singular_values(h)
            ranks = range(1, len(sigma) + 1)
            text = f"{label} (effective rank {effective_rank(sigma):.0f})"
            panel.plot(ranks, sigma / sigma[0].clamp_min(1e-300), color=colour, label=text, linewidth=1.8)
        panel.set(title=title, xlabel="index i", xscale="log", yscale="log", ylim=(1e-3, 1.3))
        panel.legend(loc="lower left")
    panels[0].set_ylabel("singular value σᵢ / σ₁")
    return figure
